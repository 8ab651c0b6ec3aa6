"""One search, many sittings and machines: what checkpoints cost, what a second worker brings; kills: `bench_kills`.

``python -m benchmarks sittings`` gives a short report; with other instances, printed and not kept::

    python -m benchmarks.bench_sittings cost wine,0.03,3                              # with and without a checkpoint
    python -m benchmarks.bench_sittings workers wine,0.03,3 banknote-authentication,0.09,4

An instance is a set, a radius ("-": 5 % of the range, for sets in the folder ``more``) and a depth. CPU seconds of all
processes that search, which other work on the machine disturbs less than the wall clock; but a worker without work
costs none, so speed-ups are wall clock.
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean, median
from typing import Any

from benchmarks.bench_proofs import _problem
from benchmarks.report import table
from hardwood import Problem, solve
from hardwood.data import datasets

TURNS = 9


def run() -> str:
    if not os.environ.get(datasets.DATA_VARIABLE):
        return f"Nothing is measured: set {datasets.DATA_VARIABLE} to the folder of the paper's data sets."
    return cost(["wine,0.03,3"])


def instance(text: str) -> tuple[Any, Any, Problem]:
    name, radius, depth = text.split(",")
    return _problem(name, None if radius == "-" else float(radius), int(depth))


def cost(instances: Sequence[str], turns: int = TURNS) -> str:
    """CPU seconds with and without a checkpoint, in turns; the median of each."""
    rows = []
    for text in instances:
        _, _, problem = instance(text)
        times: tuple[list[float], list[float]] = ([], [])
        for turn in range(2 * turns):
            with tempfile.TemporaryDirectory() as folder:
                began = time.process_time()
                result = solve(problem, checkpoint=Path(folder) / "run.hwp" if turn % 2 else None)
                times[turn % 2].append(time.process_time() - began)
                print(text, "with" if turn % 2 else "without", f"{times[turn % 2][-1]:.2f}", flush=True)
        without, with_ = map(median, times)
        extra = f"{100 * (with_ / without - 1):+.1f} %"
        rows.append((text, f"{result.objective:g}", f"{without:.2f}", f"{with_:.2f}", extra))
        print(*rows[-1], flush=True)
    return table(("instance", "objective", "CPU s", "CPU s with a checkpoint", "cost"), rows)


def workers(instances: Sequence[str], counts: Sequence[int] = (1, 2), turns: int = TURNS) -> str:
    """Wall clock and CPU seconds of local Dask workers, one thread each; the medians of several turns.

    Beside them what the machine can give: as many searches of their own at the same time, each with one worker, which
    have nothing to tell each other. Speed-ups are of each turn, since the machine is faster in some than in others.
    """
    rows: list[tuple[Any, ...]] = []
    for text in instances:
        _, _, problem = instance(text)
        measured: dict[tuple[int, str], list[tuple[float, ...]]] = {}
        for _ in range(turns):
            for n in counts:
                measured.setdefault((n, "one search"), []).append(_spread(problem, n))
                if n > 1:
                    measured.setdefault((n, "searches of their own"), []).append(_side_by_side(text, n))
            print(text, *(f"{n} {what} {all_[-1][0]:.2f}" for (n, what), all_ in measured.items()), flush=True)
        base = [one[0] for one in measured[counts[0], "one search"]]
        for (n, what), all_ in measured.items():
            seconds, objective, everything, busiest = (median(column) for column in zip(*all_, strict=True))
            n_searches = 1 if what == "one search" else n
            gains = [n_searches * one / other[0] for one, other in zip(base, all_, strict=True)]
            speed_up = f"{median(gains):.2f}"
            rows.append(
                (
                    text,
                    f"{n}, {what}",
                    f"{objective:g}",
                    f"{seconds:.2f}",
                    speed_up,
                    f"{everything:.2f}",
                    f"{busiest:.2f}",
                )
            )
    columns = ("instance", "workers", "objective", "seconds", "speed-up", "CPU s of all", "CPU s of the busiest")
    return table(columns, rows)


def _side_by_side(text: str, n: int) -> tuple[float, float, float, float]:
    """Search so many times at once, each time with a worker of its own; the means, and the CPU seconds as above."""
    processes = get_context("spawn")
    with ProcessPoolExecutor(n, processes, _meet_at, (processes.Barrier(n),)) as pool:
        measured = list(pool.map(_alone, n * [text]))
    seconds, objective, everything, busiest = zip(*measured, strict=True)
    return fmean(seconds), fmean(objective), sum(everything), max(busiest)


_meeting: list[Any] = []


def _meet_at(barrier: Any) -> None:
    _meeting.append(barrier)


def _alone(text: str) -> tuple[float, float, float, float]:
    _, _, problem = instance(text)
    return _spread(problem, 1, _meeting[0].wait)


def _spread(problem: Problem, n: int, wait: Callable[[], object] = lambda: None) -> tuple[float, float, float, float]:
    """Search with so many workers; return seconds, objective, and the CPU seconds of all workers and of the busiest."""
    distributed: Any = import_module("distributed")
    with (
        distributed.LocalCluster(n_workers=n, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        client.run(_warm_up)
        wait()
        before = client.run(time.process_time)
        result = solve(problem, client=client)
        after = client.run(time.process_time)
    used = [after[key] - before[key] for key in before]
    return result.runtime, result.objective, sum(used), max(used)


def _warm_up() -> None:
    import hardwood.solvers.search.cluster  # noqa: F401


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["cost", "workers"])
    parser.add_argument("instances", nargs="+")
    parser.add_argument("--counts", type=int, nargs="+", default=[1, 2])
    a = parser.parse_args()
    print(cost(a.instances) if a.what == "cost" else workers(a.instances, a.counts))


PARTS = {
    "deep": lambda: cost(["banknote-authentication,0.09,4"]),
    "workers": lambda: workers(["wine,0.03,3", "banknote-authentication,0.09,4"]),
}


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main()
