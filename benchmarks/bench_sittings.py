"""One search, many sittings and machines: what checkpoints cost, what a kill costs, what a second worker brings.

``python -m benchmarks sittings`` gives a short report; with other instances, printed and not kept::

    python -m benchmarks.bench_sittings kills ionosphere,0.2,4 --kills 20            # kill -9, at random moments
    python -m benchmarks.bench_sittings kills ionosphere,0.2,4 --kills 5 --of worker  # or scheduler
    python -m benchmarks.bench_sittings cost wine,0.03,3                              # with and without a checkpoint
    python -m benchmarks.bench_sittings workers wine,0.03,3 banknote-authentication,0.09,4

An instance is a set, a radius ("-": 5 % of the range, for sets in the folder ``more``) and a depth. CPU seconds of all
processes that search, which other work on the machine disturbs less than the wall clock; but a worker without work
costs none, so speed-ups are wall clock.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import hardwood_checker
from benchmarks.bench_proofs import _problem
from benchmarks.report import table
from hardwood import Problem, solve
from hardwood.data import datasets

SEED = 20261116


def run() -> str:
    if not os.environ.get(datasets.DATA_VARIABLE):
        return f"Nothing is measured: set {datasets.DATA_VARIABLE} to the folder of the paper's data sets."
    return "\n\n".join([cost(["ionosphere,0.2,3", "banknote-authentication,0.09,3"]), kills("ionosphere,0.2,3", 5)])


def instance(text: str) -> tuple[Any, Any, Problem]:
    name, radius, depth = text.split(",")
    return _problem(name, None if radius == "-" else float(radius), int(depth))


def search(text: str, path: str, jobs: int, address: str | None) -> None:
    """Search to the end, in a process that may be killed."""
    _, _, problem = instance(text)
    print(f"begins {time.process_time()}", flush=True)
    if address is None:
        result = solve(problem, checkpoint=path, n_jobs=jobs)
    else:
        distributed: Any = import_module("distributed")
        with distributed.Client(address, timeout=30, set_as_default=False) as client:
            result = solve(problem, checkpoint=path, client=client)
    print(f"objective {result.objective:g}, {result.status}, CPU {time.process_time()}", flush=True)
    if result.failure is not None:
        raise SystemExit(3)


def children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Sitting:
    """A process that searches, with what it said."""

    def __init__(self, text: str, path: Path, address: str | None = None) -> None:
        command = [sys.executable, "-m", "benchmarks.bench_sittings", "search", text, "--path", str(path)]
        command += [] if address is None else ["--address", address]
        self._before = children_cpu()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.ready = float(self.process.stdout.readline().split()[1])

    def end(self) -> tuple[str, float]:
        """Return what it said, and its CPU seconds after the data were there."""
        said = self.process.communicate()[0]
        return said, children_cpu() - self._before - self.ready


def kills(text: str, n: int, seed: int = SEED) -> str:
    """Kill the searching process n times in one search; compare the work with that of a search that was left alone."""
    X, y, _ = instance(text)
    rng = random.Random(f"{seed} {text}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.hwp"
        said, whole = Sitting(text, path).end()
        expected = said.split(",")[0]
        whole_path, path = path, Path(folder) / "killed.hwp"
        size = whole_path.stat().st_size
        lives, spent = 0, 0.0
        while lives < n:
            sitting = Sitting(text, path)
            allowance = rng.random() * 2 * whole / (n + 1)
            while sitting.process.poll() is None and _cpu_of(sitting.process.pid) - sitting.ready < allowance:
                time.sleep(0.01)
            sitting.process.kill()
            said, cpu = sitting.end()
            spent += cpu
            if said:
                break
            lives += 1
            print(f"  killed after {cpu:.2f} CPU s", flush=True)
        if not said:
            said, cpu = Sitting(text, path).end()
            spent += cpu
        verdict = hardwood_checker.check(path, X, y)
        rows = [
            (text, f"{whole:.1f}", lives, f"{spent:.1f}", f"{100 * (spent - whole) / max(1, lives) / whole:.1f} %",
             "same" if said.split(",")[0] == expected else f"{said} INSTEAD OF {expected}",
             "accepted" if verdict.is_optimal else "NOT OPTIMAL",
             f"{size / 1e6:.1f}", f"{path.stat().st_size / 1e6:.1f}")
        ]  # fmt: skip
    columns = ("instance", "CPU s of one sitting", "kills", "CPU s of all sittings", "lost per kill",
               "objective", "proof", "MB in one sitting", "MB in all")  # fmt: skip
    return table(columns, rows)


def _cpu_of(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return float("inf")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cost(instances: Sequence[str]) -> str:
    """CPU seconds with and without a checkpoint."""
    rows = []
    for text in instances:
        _, _, problem = instance(text)
        times = []
        for with_checkpoint in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                began = time.process_time()
                result = solve(problem, checkpoint=Path(folder) / "run.hwp" if with_checkpoint else None)
                times.append(time.process_time() - began)
        extra = f"{100 * (times[1] / times[0] - 1):+.1f} %"
        rows.append((text, f"{result.objective:g}", *(f"{t:.2f}" for t in times), extra))
        print(*rows[-1], flush=True)
    return table(("instance", "objective", "CPU s", "CPU s with a checkpoint", "cost"), rows)


def workers(instances: Sequence[str], counts: Sequence[int] = (1, 2)) -> str:
    """Wall clock and CPU seconds of local Dask workers, in processes of one thread each."""
    distributed: Any = import_module("distributed")
    rows: list[tuple[Any, ...]] = []
    for text in instances:
        _, _, problem = instance(text)
        base = None
        for n in counts:
            with (
                distributed.LocalCluster(n_workers=n, threads_per_worker=1, dashboard_address=None) as cluster,
                distributed.Client(cluster, set_as_default=False) as client,
            ):
                client.run(_warm_up)
                before = client.run(time.process_time)
                result = solve(problem, client=client)
                after = client.run(time.process_time)
            used = [after[key] - before[key] for key in before]
            base = base or result.runtime
            rows.append((text, n, f"{result.objective:g}", f"{result.runtime:.2f}", f"{base / result.runtime:.2f}",
                         f"{sum(used):.2f}", f"{max(used):.2f}"))  # fmt: skip
            print(*rows[-1], flush=True)
    columns = ("instance", "workers", "objective", "seconds", "speed-up", "CPU s of all", "CPU s of the busiest")
    return table(columns, rows)


def _warm_up() -> None:
    import hardwood.solvers.search.cluster  # noqa: F401


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["kills", "cost", "workers", "search"])
    parser.add_argument("instances", nargs="+")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--path")
    parser.add_argument("--address")
    parser.add_argument("--counts", type=int, nargs="+", default=[1, 2])
    a = parser.parse_args()
    if a.what == "search":
        search(a.instances[0], a.path, 1, a.address)
    elif a.what == "kills":
        for text in a.instances:
            print(kills(text, a.kills, a.seed))
    elif a.what == "cost":
        print(cost(a.instances))
    else:
        print(workers(a.instances, a.counts))


PARTS = {"workers": lambda: workers(["wine,0.03,3", "banknote-authentication,0.09,4"])}


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main()
