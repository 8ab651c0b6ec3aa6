"""Kill -9 at random moments: the searching process, the worker of a cluster that searches, or its scheduler.

One search is killed again and again until it ends by itself; then its work is compared with that of a search that was
left alone, its answer too, and its proof is checked. ``python -m benchmarks kills`` gives a short report; others::

    python -m benchmarks.bench_kills wine,0.03,3 --kills 60               # of the searching process; printed
    python -m benchmarks.bench_kills wine,0.03,3 --kills 20 --of worker   # or scheduler
    HARDWOOD_PROOFS=folder python -m benchmarks kills.ionosphere          # checking takes longer than searching: the
    HARDWOOD_PROOFS=folder python -m benchmarks kills.verdicts            # proofs are kept there, and checked later

Work is CPU seconds of whatever searches, from the moment on when it had imported everything and had the data: the
process itself, or the worker and the process that watches it. Lost work is what all sittings together needed more than
one sitting (the median of three), per kill, as a share of that one sitting. With a folder the benchmark, too, goes on
where it was stopped.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any

import hardwood_checker
from benchmarks.bench_sittings import instance
from benchmarks.report import table
from hardwood import solve
from hardwood.data import datasets

SEED = 20261116
COLUMNS = ("instance", "killed", "kills", "CPU s of one sitting", "CPU s of all sittings", "lost per kill", "objective",
           "proof")  # fmt: skip
HERE = "127.0.0.1"
"""Nobody outside has to reach these servers."""
FAILED = 3
TIMES_ALONE = 3
FOLDER = "HARDWOOD_PROOFS"
"""The variable that names the folder where proofs are kept."""


def run() -> str:
    if not os.environ.get(datasets.DATA_VARIABLE):
        return f"Nothing is measured: set {datasets.DATA_VARIABLE} to the folder of the paper's data sets."
    return table(COLUMNS, [kills("banknote-authentication,0.09,3", of, 2, 0.4) for of in ("process", "worker")])


known = cache(instance)


# What runs in processes of their own, which may be killed. Each says how much CPU it used before it was ready.


def search(text: str, path: str, address: str | None) -> None:
    """Search to the end."""
    _, _, problem = known(text)
    client: Any = None
    if address is not None:
        distributed: Any = import_module("distributed")
        client = distributed.Client(address, timeout=30, set_as_default=False)
    print(time.process_time(), flush=True)
    result = solve(problem, checkpoint=path, client=client)
    print(f"{result.objective:g} {result.status.value}", flush=True)
    # Whatever the client still waits for: it must not keep this process.
    os._exit(FAILED if result.failure is not None else 0)


async def serve(address: str | None) -> None:
    """Be a worker with one thread, or a scheduler where no address is given."""
    distributed: Any = import_module("distributed")
    import_module("hardwood.solvers.search.cluster")
    server = (
        distributed.Worker(address, host=HERE, nthreads=1, dashboard_address=f"{HERE}:0")
        if address
        else distributed.Scheduler(host=HERE, port=0, dashboard_address=f"{HERE}:0")
    )
    async with server:
        print(time.process_time(), server.address, flush=True)
        await server.finished()


def _started(arguments: Sequence[str]) -> Any:
    if arguments[0] == "search" and len(arguments) == 4:
        return _Fork(arguments[1], arguments[3])
    command = [sys.executable, "-m", "benchmarks.bench_kills", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


class Child:
    """A process of this module, with its address if it has one, and its CPU seconds since it was ready."""

    def __init__(self, *arguments: str) -> None:
        self.process = _started(arguments)
        before, _, self.address = self.process.stdout.readline().strip().partition(" ")
        self._before = float(before)

    @property
    def used(self) -> float:
        """CPU seconds since it was ready; the last figure of a process that has ended stays."""
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
            self._used = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") - self._before
        except (OSError, IndexError):
            pass
        return self._used

    _used = 0.0

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended yet."""
        # A zombie has its figures still; it is read before it is buried.
        _ = self.used
        return self.process.poll() is None

    def kill(self) -> None:
        """End it at once, and note what it had used."""
        if self.process.poll() is None:
            self.process.kill()
            os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)
            _ = self.used
            self.process.wait()

    def said(self) -> str:
        """Return what it said after the first line."""
        return str(self.process.stdout.read()).strip()


class _Fork:
    """As much of `subprocess.Popen` as is needed, for a copy of this process: nothing has to be imported again."""

    def __init__(self, text: str, path: str) -> None:
        read, write = os.pipe()
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            os.dup2(write, 1)
            try:
                search(text, path, None)
            finally:
                os._exit(FAILED)
        os.close(write)
        self.stdout = os.fdopen(read)

    def poll(self) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self) -> None:
        while self.poll() is None:
            time.sleep(0.01)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)


@dataclass
class Party:
    """Whoever takes part in a search: the searching process and, on a cluster, one worker and a scheduler."""

    text: str
    path: Path
    on_cluster: bool
    spent: float = 0.0
    scheduler: Child | None = None
    worker: Child | None = None
    searcher: Child | None = None

    def begin(self) -> None:
        """Start whatever is missing."""
        if self.on_cluster and self.scheduler is None:
            self.scheduler = Child("scheduler", "-")
        address = [] if self.scheduler is None else ["--address", self.scheduler.address]
        if self.on_cluster and self.worker is None:
            self.worker = Child("worker", "-", *address)
        if self.searcher is None:
            self.searcher = Child("search", self.text, "--path", str(self.path), *address)

    @property
    def used(self) -> float:
        """CPU seconds of all that search and searched."""
        return self.spent + sum(one.used for one in (self.worker, self.searcher) if one is not None)

    def lose(self, name: str) -> None:
        """Kill one, and what cannot live without it."""
        for other in {"searcher": ("searcher",), "worker": ("worker",)}.get(name, ("scheduler", "searcher", "worker")):
            child: Child | None = getattr(self, other)
            if child is None:
                continue
            if other != name:
                _wait(child)  # it notices, and ends by itself
            child.kill()
            self.spent += child.used if other != "scheduler" else 0.0
            setattr(self, other, None)

    def answer(self) -> str:
        """Return what the search ended with, empty if it failed."""
        assert self.searcher is not None
        self.searcher.process.wait()
        return self.searcher.said() if self.searcher.process.returncode == 0 else ""

    def end(self) -> None:
        """Kill all."""
        for name in ("searcher", "worker", "scheduler"):
            self.lose(name)


def _wait(child: Child, seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while child.is_alive and time.monotonic() < until:
        time.sleep(0.01)


class Notes:
    """What is known from a benchmark that was stopped; nothing where no folder is named."""

    def __init__(self, name: str) -> None:
        folder = os.environ.get(FOLDER)
        self._path = None if folder is None else Path(folder) / f"{name}.json"
        is_there = self._path is not None and self._path.exists()
        self.known: dict[str, Any] = json.loads(self._path.read_text()) if self._path and is_there else {}

    def keep(self, **entries: Any) -> None:
        """Write down what to go on with."""
        self.known = entries
        if self._path is not None:
            self._path.write_text(json.dumps(entries))


@cache
def left_alone(text: str, on_cluster: bool) -> tuple[str, float]:
    """Return the answer of searches that nobody kills, and their CPU seconds, the median."""
    notes = Notes(f"{text} alone on a cluster" if on_cluster else f"{text} alone")
    answers, used = list(notes.known.get("answers", [])), list(notes.known.get("used", []))
    while len(used) < TIMES_ALONE:
        answer, seconds = _one_alone(text, on_cluster)
        answers, used = [*answers, answer], [*used, seconds]
        notes.keep(answers=answers, used=used)
    return " or ".join(sorted(set(answers))), median(used)


def _one_alone(text: str, on_cluster: bool) -> tuple[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        party = Party(text, Path(folder) / "alone.hwp", on_cluster)
        party.begin()
        assert party.searcher is not None
        while party.searcher.is_alive:
            time.sleep(0.01)
            _ = party.used
        answer, used = party.answer(), party.used
        party.end()
    return answer, used


def kills(text: str, of: str = "process", n: int = 10, apart: float = 1.0, seed: int = SEED) -> tuple[Any, ...]:
    """Kill n times in one search, so many CPU seconds apart on average; return what came of it."""
    X, y, _ = known(text)
    kept = os.environ.get(FOLDER)
    notes = Notes(f"{text} {of}")
    on_cluster = of != "process"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(kept or folder) / f"{text} {of}.hwp"
        if not notes.known:
            path.unlink(missing_ok=True)
        party = Party(text, path, on_cluster, notes.known.get("spent", 0.0))
        lives, answer = notes.known.get("lives", 0), notes.known.get("answer", "")
        while not answer:
            rng = random.Random(f"{seed} {text} {of} {lives}")
            party.begin()
            assert party.searcher is not None
            until = party.used + rng.random() * 2 * apart if lives < n else float("inf")
            while party.searcher.is_alive and party.used < until:
                time.sleep(0.01)
                notes.keep(lives=lives, spent=party.used)
            if not party.searcher.is_alive and (answer := party.answer()):
                break
            if party.searcher.is_alive:
                lives += 1
                print(f"  {text}: kill {lives} of the {of} after {party.used:.1f} CPU s in all", flush=True)
            party.lose("searcher" if of == "process" else of)
        spent = party.used
        notes.keep(lives=lives, spent=spent, answer=answer)
        party.end()
        expected, whole = left_alone(text, on_cluster)
        proof = "kept" if kept else _verdict(path, X, y)
    lost = f"{100 * (spent - whole) / max(1, lives) / whole:.2f} %"
    same = "same" if answer == expected else f"{answer} INSTEAD OF {expected}"
    return text, of, lives, f"{whole:.1f}", f"{spent:.1f}", lost, same, proof


def _verdict(path: Path, X: Any, y: Any) -> str:
    return "accepted" if hardwood_checker.check(path, X, y).is_optimal else "NOT OPTIMAL"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", help="an instance: set, radius, depth; or alone, search, worker, scheduler")
    parser.add_argument("instance", nargs="?")
    parser.add_argument("--of", choices=["process", "worker", "scheduler"], default="process")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--apart", type=float, default=1.0, help="CPU seconds between two kills, on average")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--path")
    parser.add_argument("--address")
    a = parser.parse_args(arguments)
    if a.what == "search":
        search(a.instance, a.path, a.address)
    elif a.what == "alone":
        print(*left_alone(a.instance, a.of != "process"))
    elif a.what in ("worker", "scheduler"):
        asyncio.run(serve(a.address))
    else:
        print(table(COLUMNS, [kills(a.what, a.of, a.kills, a.apart, a.seed)]))


def _several(*asked: tuple[str, str, int, float]) -> str:
    return table(COLUMNS, [kills(*one) for one in asked])


def _repeated(text: str, apart: float, n_runs: int) -> tuple[Any, ...]:
    """Kill short searches until they are done; return the sums over several of them."""
    rows = [kills(text, "process", 100, apart, SEED + k) for k in range(n_runs)]
    lives, whole, spent = (sum(float(row[k]) for row in rows) for k in (2, 3, 4))
    lost = f"{100 * (spent - whole) / max(1, lives) / (whole / n_runs):.2f} %"
    same, proof = ("; ".join(sorted({str(row[k]) for row in rows})) for k in (6, 7))
    return f"{text}, {n_runs} searches", "process", f"{lives:.0f}", f"{whole:.1f}", f"{spent:.1f}", lost, same, proof


def verdicts() -> str:
    """Check the proofs that were kept; those that were checked already are not checked again."""
    rows = []
    for path in sorted(Path(os.environ[FOLDER]).glob("*.hwp")):
        text, _, of = path.stem.rpartition(" ")
        notes = Notes(f"{path.stem} verdict")
        if not notes.known:
            X, y, _ = instance(text)
            began = time.process_time()
            notes.keep(verdict=_verdict(path, X, y), seconds=time.process_time() - began)
        size = path.stat().st_size / 1e6
        rows.append((text, of, f"{size:.1f}", f"{notes.known['seconds']:.0f}", notes.known["verdict"]))
        print(*rows[-1], flush=True)
    return table(("instance", "killed", "MB", "CPU s to check", "proof"), rows)


PARTS = {
    "ionosphere": lambda: _several(("ionosphere,0.2,4", "process", 44, 0.7)),
    "ionosphere_cluster": lambda: _several(
        ("ionosphere,0.2,4", "worker", 10, 3.0), ("ionosphere,0.2,4", "scheduler", 8, 3.5)
    ),
    "magic": lambda: _several(("magic,-,3", "process", 20, 0.9)),
    "magic_cluster": lambda: _several(("magic,-,3", "worker", 10, 1.7), ("magic,-,3", "scheduler", 8, 2.0)),
    "wine": lambda: _several(
        *(
            ("wine,0.03,3", of, n, apart)
            for of, n, apart in (("process", 4, 1.5), ("worker", 4, 2.0), ("scheduler", 2, 4.0))
        )
    ),
    "small": lambda: table(COLUMNS, [_repeated("banknote-authentication,0.09,3", 0.2, 12)]),
    "verdicts": verdicts,
}


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main()
