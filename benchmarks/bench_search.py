"""Times of the exact search: `python benchmarks/bench_search.py --help`.

    table     the paper's 24 instances at given depths, one core, kernels compiled before
    zero      no attacker, against pycontree, depths 2 and 3, same data, same process
    growth    time against the number of samples (depth 2, 10 features)
    ablation  what each bound saves: the same instances with one of them switched off
    profile   counters per depth of one instance

Every line is printed as it is measured. Objectives of `table` are checked against the known answers where there are
some. CPU seconds are those of the whole process, so they include the worker thread.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hardwood import Problem
from hardwood.result import Result
from hardwood.solvers import solve

RADII: dict[str, tuple[float, ...]] = {
    "banknote-authentication": (0.07, 0.09, 0.11),
    "blood-transfusion": (0.01, 0.02, 0.03),
    "breast-cancer": (0.28, 0.39, 0.45),
    "cylinder-bands": (0.23, 0.28, 0.45),
    "diabetes": (0.05, 0.07, 0.09),
    "haberman": (0.02, 0.03, 0.05),
    "ionosphere": (0.2, 0.28, 0.36),
    "wine": (0.02, 0.03, 0.04),
}
SWITCHES = ("use_memory", "use_ranges", "use_pool", "use_lazy_scan", "use_carry")
ABLATION = (("blood-transfusion", 0.02, 3), ("diabetes", 0.07, 3), ("banknote-authentication", 0.07, 3),
            ("ionosphere", 0.28, 3))  # fmt: skip


def data_folder() -> Path:
    named = os.environ.get("HARDWOOD_DATA")
    return Path(named) if named else Path(__file__).resolve().parents[2] / "shared" / "data"


def training_set(name: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the paper's 80 % training part, scaled to [0, 1]."""
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import MinMaxScaler

    table = np.genfromtxt(data_folder() / f"{name}.csv", delimiter=",", skip_header=1)
    X, y = table[:, :-1], table[:, -1].astype(np.int64)
    X, _, y, _ = train_test_split(X, y, stratify=y, test_size=0.2, random_state=0)
    return MinMaxScaler().fit_transform(X), y


def known_optima() -> dict[tuple[str, float, int], int]:
    path = data_folder().parent / "reference" / "known.csv"
    if not path.is_file():
        return {}
    with path.open() as stream:
        rows = list(csv.DictReader(stream))
    return {
        (row["dataset"], float(row["epsilon"]), depth): int(row[f"optimal_depth{depth}"])
        for row in rows
        for depth in (1, 2)
    }


def measured(problem: Problem, time_limit: float | None, **options: object) -> tuple[Result, float]:
    cpu = time.process_time()
    result = solve(problem, "search", time_limit=time_limit, options=options)
    return result, time.process_time() - cpu


def compile_kernels() -> None:
    X, y = training_set("haberman")
    for depth in (1, 2, 3):
        measured(Problem.from_data(X, y, 0.03, depth), None)


def instances(names: list[str]) -> Iterator[tuple[str, float, NDArray[np.float64], NDArray[np.int64]]]:
    for name in names or RADII:
        X, y = training_set(name)
        for epsilon in RADII[name]:
            yield name, epsilon, X, y


def table(names: list[str], depths: list[int], time_limit: float) -> None:
    compile_kernels()
    known = known_optima()
    print("| data set | radius | depth | robust errors | bound | status | seconds | CPU seconds |")
    print("| --- | ---: | ---: | ---: | ---: | --- | ---: | ---: |")
    for depth in depths:
        total = 0.0
        for name, epsilon, X, y in instances(names):
            result, cpu = measured(Problem.from_data(X, y, epsilon, depth), time_limit)
            total += cpu
            expected = known.get((name, epsilon, depth))
            if expected is not None and result.objective != expected:
                raise SystemExit(f"{name} {epsilon} depth {depth}: {result.objective:g}, known is {expected}")
            print(
                f"| {name} | {epsilon} | {depth} | {result.objective:g} | {result.bound:g} | {result.status.value} "
                f"| {result.runtime:.3f} | {cpu:.3f} |",
                flush=True,
            )
        print(f"| all | | {depth} | | | | | {total:.1f} |", flush=True)


def zero(names: list[str], depths: list[int], time_limit: float) -> None:
    """Compare with pycontree where there is no attacker."""
    from pycontree import ConTree

    compile_kernels()
    print("| data set | depth | errors | errors pycontree | CPU seconds | CPU seconds pycontree |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for depth in depths:
        ours = theirs = 0.0
        for name in names or RADII:
            X, y = training_set(name)
            result, cpu = measured(Problem.from_data(X, y, 0.0, depth), time_limit)
            peer = ConTree(max_depth=depth, time_limit=int(time_limit), verbose=False)
            started = time.process_time()
            peer.fit(X, y)
            peer_cpu = time.process_time() - started
            errors = int(np.sum(np.asarray(peer.predict(X)) != y))
            ours, theirs = ours + cpu, theirs + peer_cpu
            print(f"| {name} | {depth} | {result.objective:g} | {errors} | {cpu:.3f} | {peer_cpu:.3f} |", flush=True)
        print(f"| all | {depth} | | | {ours:.2f} | {theirs:.2f} |", flush=True)


def growth(sizes: list[int], time_limit: float) -> None:
    """Noisy labels of a depth-2 tree: time against the number of samples."""
    import resource

    compile_kernels()
    print("| samples | robust errors | gap | seconds | CPU seconds | peak memory MB |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    for n in sizes:
        rng = np.random.default_rng(n)
        X = rng.random((n, 10))
        y = np.where(X[:, 0] < 0.5, X[:, 1] < 0.4, X[:, 2] < 0.7) ^ (rng.random(n) < 0.15)
        result, cpu = measured(Problem.from_data(X, y.astype(int), 0.02, 2), time_limit)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"| {n} | {result.objective:g} | {result.gap:.3%} | {result.runtime:.2f} | {cpu:.2f} | {memory:.0f} |",
            flush=True,
        )


def ablation(time_limit: float) -> None:
    compile_kernels()
    print("| data set | radius | depth | " + " | ".join(["all bounds", *(f"no {s[4:]}" for s in SWITCHES)]) + " |")
    print("| --- | ---: | ---: |" + " ---: |" * (1 + len(SWITCHES)))
    for name, epsilon, depth in ABLATION:
        X, y = training_set(name)
        cells = []
        for off in (None, *SWITCHES):
            options = {off: False} if off else {}
            result, cpu = measured(Problem.from_data(X, y, epsilon, depth), time_limit, **options)
            cells.append(f"{cpu:.2f}" if result.gap == 0 else f"> {cpu:.0f} (gap {result.gap:.1%})")
        print(f"| {name} | {epsilon} | {depth} | " + " | ".join(cells) + " |", flush=True)


def profile(name: str, epsilon: float, depth: int, time_limit: float) -> None:
    compile_kernels()
    X, y = training_set(name)
    result, cpu = measured(Problem.from_data(X, y, epsilon, depth), time_limit)
    print(result.summary(), f"CPU {cpu:.2f} s")
    for level, counters in result.stats.items():
        print(level, counters)
    for point in result.trace:
        print(f"{point.seconds:8.3f} s  objective {point.objective:g}  bound {point.bound:g}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["table", "zero", "growth", "ablation", "profile"])
    parser.add_argument("names", nargs="*", help="data sets; all by default")
    parser.add_argument("--depths", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--epsilon", type=float, default=0.03)
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000]
    )
    parser.add_argument("--time-limit", type=float, default=1800.0)
    a = parser.parse_args()
    if a.what == "table":
        table(a.names, a.depths, a.time_limit)
    elif a.what == "zero":
        zero(a.names, [d for d in a.depths if d > 1], a.time_limit)
    elif a.what == "growth":
        growth(a.sizes, a.time_limit)
    elif a.what == "ablation":
        ablation(a.time_limit)
    else:
        profile(a.names[0], a.epsilon, a.depths[-1], a.time_limit)


if __name__ == "__main__":
    main()
