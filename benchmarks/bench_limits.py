"""How well time limits are kept, and how soon Ctrl-C answers: solver × size.

The promise is 5 % and a second, for every solver and any shape, and a second for Ctrl-C (``limits.interrupts``). Set
LIMITS (seconds, separated by commas; 2 and 10) to measure others, SOLVERS and SHAPES (their numbers, from 0) to measure
some: the other rows of the table then stay as they were. Shapes are made up, with labels of a depth-2 tree and 15 % of
them wrong, so that proofs take long.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.report import RESULTS, read_tables, table
from hardwood import HardwoodError, Problem, solve

SHAPES = ((600, 10, 2), (10_000, 16, 7), (20_000, 30, 2), (100_000, 50, 2))
"""Samples, features, classes."""

SOLVERS = ("search", "maxsat-lsu", "maxsat-rc2", "milp", "binary-milp", "cp-sat", "greedy", "treant", "relabelled")
DEPTH = 3

PRESSED_AFTER = (0.3, 1.5)
"""Seconds after which Ctrl-C is pressed: while ends are ranked and encoded, and in the midst of the search."""


def chosen_shapes() -> list[tuple[int, int, int]]:
    return [SHAPES[int(k)] for k in os.environ.get("SHAPES", "0,1,2,3").split(",")]


def chosen_solvers() -> list[str]:
    return os.environ.get("SOLVERS", ",".join(SOLVERS)).split(",")


def shaped(n: int, p: int, n_classes: int) -> tuple[Any, Any]:
    """Return samples and labels of one shape."""
    rng = np.random.default_rng(n)
    X = rng.random((n, p))
    y = 2 * (X[:, 0] < 0.5) + np.where(X[:, 0] < 0.5, X[:, 1] < 0.4, X[:, 2] < 0.7)
    return X, np.where(rng.random(n) < 0.15, rng.integers(0, n_classes, n), y % n_classes)


def run() -> str:
    """Measure every solver on every shape at every limit."""
    # A busy machine passes limits through no fault of the solvers.
    load = f"{os.getloadavg()[0]:.0f} on {os.cpu_count()} cores" if hasattr(os, "getloadavg") else "unknown"
    limits = [float(text) for text in os.environ.get("LIMITS", "2,10").split(",")]
    rows: list[tuple[Any, ...]] = []
    for n, p, n_classes in chosen_shapes():
        X, y = shaped(n, p, n_classes)
        for solver in chosen_solvers():
            for limit in limits:
                rows.append((f"{n:,} x {p}, {n_classes} classes", solver, f"{limit:g}", *cells(X, y, solver, limit)))
                print(*rows[-1], flush=True)
    head = f"Depth {DEPTH}, radius 0.02, one thread. Kept is a limit that is passed by at most 5 % + 1 s."
    return f"{head} Load when it began: {load}.\n\n" + table(COLUMNS, with_known("limits", COLUMNS, rows))


COLUMNS = ("shape", "solver", "limit s", "seconds", "passed by", "objective", "gap", "ended by")
INTERRUPT_COLUMNS = ("shape", "solver", "pressed after s", "answered in s", "ended by, objective")


def with_known(name: str, columns: Sequence[str], rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return rows in the order of shapes and solvers, with those of an earlier run that were not measured again."""
    found = {row[:3]: row for row in rows}
    path = RESULTS / f"{name}.md"
    if len(chosen_shapes()) < len(SHAPES) or len(chosen_solvers()) < len(SOLVERS):
        for known in read_tables(path.read_text(encoding="utf-8"))[0] if path.exists() else []:
            row = tuple(known[column] for column in columns)
            found.setdefault(row[:3], row)
    order = [f"{n:,} x {p}, {n_classes} classes" for n, p, n_classes in SHAPES]
    return sorted(found.values(), key=lambda row: (order.index(row[0]), SOLVERS.index(row[1]), float(row[2])))


def cells(X: Any, y: Any, solver: str, limit: float) -> tuple[str, ...]:
    """Return what one run took and left; the clock starts before the problem is built, as in ``fit``."""
    started = time.perf_counter()
    try:
        problem = Problem.from_data(X, y, 0.02, DEPTH)
        result = solve(problem, solver, time_limit=limit, started=started)
    except HardwoodError as error:
        return f"{time.perf_counter() - started:.2f}", "", "", "", f"refused: {str(error).split(';')[0][:80]}"
    seconds = time.perf_counter() - started
    passed = max(0.0, seconds - limit)
    mark = "" if passed <= 0.05 * limit + 1 else " **not kept**"
    ended = str(getattr(result.stopped_by, "value", result.stopped_by))
    return f"{seconds:.2f}", f"{passed:.2f}{mark}", f"{result.objective:g}", f"{result.gap:.1%}", ended


_INTERRUPTED = """
import signal, sys, warnings
warnings.simplefilter("ignore")
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells let what runs in the background ignore it
from benchmarks.bench_limits import DEPTH, shaped
from hardwood import HardwoodError, Problem, solve
n, p, n_classes = map(int, sys.argv[2:])
X, y = shaped(n, p, n_classes)
problem = Problem.from_data(X, y, 0.02, DEPTH)
try:
    print("ready", flush=True)
    result = solve(problem, sys.argv[1])
    print(result.stopped_by.value, f"{result.objective:g}", flush=True)
except KeyboardInterrupt:
    print("interrupted before it began", flush=True)
except HardwoodError as error:
    print("refused:", str(error).split(";")[0][:80], flush=True)
"""


def interrupts() -> str:
    """Press Ctrl-C in the midst of every solver on every shape."""
    rows: list[tuple[str, ...]] = []
    for n, p, n_classes in chosen_shapes():
        for solver in chosen_solvers():
            for after in PRESSED_AFTER:
                answer = seconds_to_answer(solver, (n, p, n_classes), after)
                rows.append((f"{n:,} x {p}, {n_classes} classes", solver, f"{after:g}", *answer))
                print(*rows[-1], flush=True)
    head = f"Depth {DEPTH}, radius 0.02, one thread, no time limit. Seconds from Ctrl-C to the result."
    return f"{head}\n\n" + table(INTERRUPT_COLUMNS, with_known("limits-interrupts", INTERRUPT_COLUMNS, rows))


def seconds_to_answer(solver: str, shape: tuple[int, ...], after: float) -> tuple[str, str]:
    command = [sys.executable, "-c", _INTERRUPTED, solver, *map(str, shape)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    try:
        child.stdout.readline()
        time.sleep(after)
        pressed = time.perf_counter()
        if child.poll() is None:
            child.send_signal(signal.SIGINT)
        answer = child.stdout.readline().strip()
        seconds = time.perf_counter() - pressed
    finally:
        child.kill()
        child.wait()
    mark = "" if seconds <= 1 else " **not kept**"
    return ("done before", answer) if not answer.startswith("interrupt") else (f"{seconds:.2f}{mark}", answer)


PARTS = {"interrupts": interrupts}
