"""Times of the exact search; `run` gives the short report, ``python -m benchmarks search.PART`` keeps one of `PARTS`.

With other sets, depths and limits, printed and not kept::

    python -m benchmarks.bench_search table --depths 1 2 3 4   # the paper's 24 instances
    python -m benchmarks.bench_search zero                     # no attacker, against pycontree
    python -m benchmarks.bench_search lsu --time-limit 60      # against LSU-MaxSAT, where that finishes
    python -m benchmarks.bench_search anytime --depths 3 4     # what is known after a second
    python -m benchmarks.bench_search growth                   # time against the numbers of samples and features
    python -m benchmarks.bench_search ablation                 # what each bound saves
    python -m benchmarks.bench_search profile diabetes --epsilon 0.07 --depths 3   # where the work goes

One thread. CPU seconds are those of the whole process and are less
disturbed by other work on the machine than the wall clock. Objectives are checked against the known answers.
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import read_tables, table
from hardwood import Problem
from hardwood.data import datasets
from hardwood.solvers import solve
from hardwood.solvers.result import Result, Status

SWITCHES = (
    "use_memory",
    "use_ranges",
    "use_pool",
    "use_lazy_scan",
    "use_carry",
    "use_witness",
    "use_early_join",
    "use_blocks",
    "use_resplit",
    "use_late_branching",
    "use_coarse_scan",
    "use_doubtful_first",
    "use_room",
    "use_deep_steps",
    "use_shifts",
    "use_even_roots",
    "use_solved",
)
ABLATION = (("blood-transfusion", 0.02), ("diabetes", 0.07), ("ionosphere", 0.28), ("banknote-authentication", 0.07))
WIDTHS = (5, 10, 20, 40, 80, 160)
SIZES = (500, 1000, 2000, 5000, 10_000, 30_000, 100_000)


def run() -> str:
    if not os.environ.get(datasets.DATA_VARIABLE):
        return f"Not measured: set {datasets.DATA_VARIABLE} to the folder of the paper's data sets."
    rows = paper_table((), (1, 2, 3), 1800)
    return "\n\n".join([by_depth(read_tables(rows)[0]), rows, no_attacker((), (2, 3), 1800)])


def deep() -> str:
    rows = paper_table((), (4,), 150)
    return "\n\n".join([by_depth(read_tables(rows)[0]), rows])


def by_depth(rows: Sequence[dict[str, str]]) -> str:
    """Put the depths of `paper_table` side by side: errors, the bound where it is another, and CPU seconds."""
    depths = sorted({row["depth"] for row in rows})
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        if row["data"] != "all":
            bound = "" if row["bound"] == row["robust errors"] else f" ≥ {row['bound']}"
            cell = f"{row['robust errors']}{bound} ({row['CPU seconds']} s)"
            cells.setdefault((row["data"], row["radius"]), {})[row["depth"]] = cell
    lines = [(*instance, *(by.get(depth, "") for depth in depths)) for instance, by in cells.items()]
    sums = [row["CPU seconds"] for row in rows if row["data"] == "all"]
    columns = ("data", "radius", *(f"depth {depth}" for depth in depths))
    return table(columns, [*lines, ("all, CPU seconds", "", *sums)])


@cache
def training_set(name: str) -> tuple[Any, Any]:
    data = datasets.load(name)
    split = datasets.paper_split(data.X, data.y)
    return split.X_train, split.y_train


@cache
def known_optima() -> dict[tuple[str, float, int], float]:
    path = Path(__file__).parents[1] / "tests" / "data" / "known.csv"
    with path.open() as stream:
        rows = list(csv.DictReader(stream))
    return {(r["dataset"], float(r["epsilon"]), d): float(r[f"optimal_depth{d}"]) for r in rows for d in (1, 2)}


def measured(problem: Problem, time_limit: float, **options: object) -> tuple[Result, float]:
    cpu = time.process_time()
    result = solve(problem, "search", time_limit=time_limit, options=options)
    return result, time.process_time() - cpu


def instances(names: Sequence[str]) -> Iterator[tuple[str, float]]:
    for name in names or datasets.PAPER_RADII:
        for epsilon in datasets.PAPER_RADII[name]:
            yield name, epsilon


def paper_table(names: Sequence[str], depths: Sequence[int], time_limit: float) -> str:
    rows: list[tuple[Any, ...]] = []
    for depth in depths:
        total = 0.0
        for name, epsilon in instances(names):
            result, cpu = measured(Problem.from_data(*training_set(name), epsilon, depth), time_limit)
            expected = known_optima().get((name, epsilon, depth), result.objective)
            if result.objective != expected:
                raise SystemExit(f"{name} {epsilon} depth {depth}: {result.objective:g} instead of {expected:g}")
            total += cpu
            rows.append(
                (
                    name,
                    epsilon,
                    depth,
                    f"{result.objective:g}",
                    f"{result.bound:g}",
                    f"{result.runtime:.3f}",
                    f"{cpu:.3f}",
                )
            )
            print(*rows[-1], flush=True)
        rows.append(("all", "", depth, "", "", "", f"{total:.1f}"))
    return table(("data", "radius", "depth", "robust errors", "bound", "seconds", "CPU seconds"), rows)


def against_lsu(depths: Sequence[int], time_limit: float) -> str:
    """Compare the wall clocks of both on the instances with known answers."""
    rows: list[tuple[Any, ...]] = []
    for name, epsilon, depth in known_optima():
        if depth not in depths:
            continue
        problem = Problem.from_data(*training_set(name), epsilon, depth)
        ours, _ = measured(problem, time_limit)
        theirs = solve(problem, "maxsat-lsu", time_limit=time_limit)
        proven = theirs.status is Status.OPTIMAL
        seconds = f"{theirs.runtime:.2f}" if proven else f"> {time_limit:g}"
        ratio = f"{theirs.runtime / ours.runtime:.0f}" if proven else f"> {time_limit / ours.runtime:.0f}"
        rows.append((name, epsilon, depth, f"{ours.objective:g}", f"{ours.runtime:.3f}", seconds, ratio))
        print(*rows[-1], flush=True)
    return table(("data", "radius", "depth", "robust errors", "seconds", "LSU seconds", "ratio"), rows)


def anytime(names: Sequence[str], depths: Sequence[int], time_limit: float) -> str:
    """Show what is known after one second, beside the best greedy tree of depths 1 to 4 and what `time_limit` gives."""
    rows: list[tuple[Any, ...]] = []
    for depth in depths:
        for name, epsilon in instances(names):
            problem = Problem.from_data(*training_set(name), epsilon, depth)
            greedy = min(solve(problem.replace(max_depth=d), "greedy").objective for d in (1, 2, 3, 4))
            early, _ = measured(problem, 1.0)
            late = early if early.status is Status.OPTIMAL else measured(problem, time_limit)[0]
            rows.append((name, epsilon, depth, f"{greedy:g}", f"{early.objective:g}", f"{late.objective:g}",
                         late.status.value, f"{100 * (early.objective / late.objective - 1):.1f} %"))  # fmt: skip
            print(*rows[-1], flush=True)
    columns = ("data", "radius", "depth", "best greedy", "after 1 s", f"within {time_limit:g} s", "status", "excess")
    return table(columns, rows)


def no_attacker(names: Sequence[str], depths: Sequence[int], time_limit: float) -> str:
    from pycontree import ConTree

    rows: list[tuple[Any, ...]] = []
    for depth in depths:
        ours = theirs = 0.0
        for name in names or datasets.PAPER_RADII:
            X, y = training_set(name)
            result, cpu = measured(Problem.from_data(X, y, 0.0, depth), time_limit)
            peer = ConTree(max_depth=depth, time_limit=time_limit)
            started = time.process_time()
            peer.fit(X, y)
            peer_cpu = time.process_time() - started
            errors = int(np.sum(np.asarray(peer.predict(X)) != y))
            ours, theirs = ours + cpu, theirs + peer_cpu
            rows.append((name, depth, f"{result.objective:g}", errors, f"{cpu:.3f}", f"{peer_cpu:.3f}"))
            print(*rows[-1], flush=True)
        rows.append(("all", depth, "", "", f"{ours:.2f}", f"{theirs:.2f}"))
        print(*rows[-1], flush=True)
    return table(("data", "depth", "errors", "errors pycontree", "CPU seconds", "CPU seconds pycontree"), rows)


def noisy_tree(n: int, p: int) -> Problem:
    """Labels of a tree of depth 2 on three of p uniform features, 15 % of them wrong."""
    rng = np.random.default_rng(n)
    X = rng.random((n, p))
    y = np.where(X[:, 0] < 0.5, X[:, 1] < 0.4, X[:, 2] < 0.7) ^ (rng.random(n) < 0.15)
    return Problem.from_data(X, y.astype(int), 0.02, 2)


def growth(shapes: Sequence[tuple[int, int]], time_limit: float) -> str:
    rows = []
    for n, p in shapes:
        result, cpu = measured(noisy_tree(n, p), time_limit)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        gap = f"{result.gap:.3%}"
        rows.append((n, p, f"{result.objective:g}", gap, f"{result.runtime:.2f}", f"{cpu:.2f}", memory))
        print(*rows[-1], flush=True)
    return table(("samples", "features", "robust errors", "gap", "seconds", "CPU seconds", "peak memory MB"), rows)


def ablation(time_limit: float) -> str:
    rows = []
    for name, epsilon in ABLATION:
        cells = []
        for off in (None, *SWITCHES):
            options = {off: False} if off else {}
            result, cpu = measured(Problem.from_data(*training_set(name), epsilon, 3), time_limit, **options)
            cells.append(f"{cpu:.2f}" if result.gap == 0 else f"> {cpu:.0f} (gap {result.gap:.1%})")
        rows.append((name, epsilon, *cells))
        print(*rows[-1], flush=True)
    return table(("data", "radius", "all", *(f"without {s[4:]}" for s in SWITCHES)), rows)


def profile(name: str, epsilon: float, depth: int, time_limit: float) -> str:
    result, cpu = measured(Problem.from_data(*training_set(name), epsilon, depth), time_limit)
    lines = [f"{result.summary()}; CPU {cpu:.2f} s"]
    lines += [f"{level}: {counters}" for level, counters in result.stats.items()]
    lines += [f"{p.seconds:8.3f} s  objective {p.objective:g}  bound {p.bound:g}" for p in result.trace]
    return "\n".join(lines)


PARTS = {
    "deep": deep,
    "lsu": lambda: against_lsu((2,), 20.0),
    "anytime": lambda: anytime((), (3, 4), 6.0),
    "growth": lambda: growth([(n, 10) for n in SIZES] + [(2000, p) for p in WIDTHS], 600.0),
    "ablation": lambda: ablation(20.0),
}
"""Parts that `run` leaves out because they take long."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["table", "zero", "lsu", "anytime", "growth", "ablation", "profile"])
    parser.add_argument("names", nargs="*", help="data sets; all by default")
    parser.add_argument("--depths", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--epsilon", type=float, default=0.03)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--time-limit", type=float, default=1800.0)
    a = parser.parse_args()
    if a.what == "table":
        print(paper_table(a.names, a.depths, a.time_limit))
    elif a.what == "zero":
        print(no_attacker(a.names, [d for d in a.depths if d > 1], a.time_limit))
    elif a.what == "lsu":
        print(against_lsu(a.depths, a.time_limit))
    elif a.what == "anytime":
        print(anytime(a.names, a.depths, a.time_limit))
    elif a.what == "growth":
        print(growth([(n, 10) for n in a.sizes] + [(2000, p) for p in WIDTHS], a.time_limit))
    elif a.what == "ablation":
        print(ablation(a.time_limit))
    else:
        print(profile(a.names[0], a.epsilon, a.depths[-1], a.time_limit))


if __name__ == "__main__":
    main()
