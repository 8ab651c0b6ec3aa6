"""The exact search of the compiled core against that of an earlier checkout of hardwood.

Name the checkout (and the interpreter that has what it needs, if it is another one) in the environment::

    HARDWOOD_BEFORE=../hardwood-0.1 HARDWOOD_BEFORE_PYTHON=venv/bin/python python -m benchmarks core_search

Both solve the paper's instances to the proven optimum, in turns, each set in a process of its own, one thread. Seconds
are CPU seconds of `solve`, ranking included, the least of all runs; what is compiled or loaded at the first call is not
counted. Objective and bound must be equal, or the benchmark fails; whether the trees are equal is in the table.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.report import geometric_mean, table
from hardwood.data import datasets

SOURCE = Path(__file__).resolve().parents[1] / "src"

DEPTH_FOUR = ("blood-transfusion", "breast-cancer", "haberman")
"""Sets whose optima of depth 4 are proven in seconds."""

_WORKER = """
import json, sys, time
import numpy as np
from hardwood import Problem, solve
data, runs = np.load(sys.argv[1]), json.loads(sys.argv[2])
rng = np.random.default_rng(0)
for depth in (2, 3):
    solve(Problem.from_data(rng.random((30, 2)), rng.integers(0, 2, 30), 0.03, depth))
answers = []
for epsilon, depth in runs:
    problem = Problem.from_data(data["X"], data["y"], epsilon, depth)
    started = time.process_time()
    result = solve(problem, "search")
    spent = time.process_time() - started
    answers.append((result.objective, result.bound, result.tree.to_text(), spent))
print(json.dumps(answers))
"""


class Run(NamedTuple):
    """One instance."""

    name: str
    epsilon: float
    depth: int


class Answer(NamedTuple):
    """What a side says of an instance."""

    objective: float
    bound: float
    tree: str
    seconds: float


def run() -> str:
    before = os.environ.get("HARDWOOD_BEFORE")
    if not before or not os.environ.get(datasets.DATA_VARIABLE):
        return f"Not measured: set HARDWOOD_BEFORE to an earlier checkout and {datasets.DATA_VARIABLE} to the data."
    python = os.environ.get("HARDWOOD_BEFORE_PYTHON", sys.executable)
    rows: list[tuple[Any, ...]] = []
    for depth, names, rounds in (
        (2, tuple(datasets.PAPER_RADII), 3),
        (3, tuple(name for name in datasets.PAPER_RADII if name != "wine"), 2),
        (3, ("wine",), 1),
        (4, DEPTH_FOUR, 1),
    ):
        for name in names:
            runs = [Run(name, epsilon, depth) for epsilon in datasets.PAPER_RADII[name]]
            best: dict[str, list[Answer]] = {}
            for _ in range(rounds):
                for side, interpreter, source in (
                    ("before", python, Path(before) / "src"),
                    ("now", sys.executable, SOURCE),
                ):
                    answers = _measure(runs, interpreter, source)
                    least = best.setdefault(side, answers)
                    best[side] = [min(a, b, key=lambda t: t.seconds) for a, b in zip(least, answers, strict=True)]
            rows += [_row(*case) for case in zip(runs, best["before"], best["now"], strict=True)]
    return _report(rows)


def _measure(runs: list[Run], python: str, source: Path) -> list[Answer]:
    data = datasets.load(runs[0].name)
    split = datasets.paper_split(data.X, data.y)
    with tempfile.TemporaryDirectory() as folder:
        arrays = Path(folder) / "data.npz"
        np.savez(arrays, X=split.X_train, y=split.y_train)
        done = subprocess.run(
            [python, "-c", _WORKER, str(arrays), json.dumps([(r.epsilon, r.depth) for r in runs])],
            env={**os.environ, "PYTHONPATH": str(source)},
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise SystemExit(f"{source}: {done.stderr}")
    return [Answer(*answer) for answer in json.loads(done.stdout)]


def _row(case: Run, before: Answer, now: Answer) -> tuple[Any, ...]:
    if (before.objective, before.bound) != (now.objective, now.bound):
        raise SystemExit(
            f"{case}: {now.objective:g} ≥ {now.bound:g} instead of {before.objective:g} ≥ {before.bound:g}"
        )
    same = "yes" if before.tree == now.tree else "no"
    row = (*case, f"{now.objective:g}", same, f"{before.seconds:.3f}", f"{now.seconds:.3f}")
    print(*row, flush=True)
    return (*row, f"{now.seconds / before.seconds:.2f}")


def _report(rows: list[tuple[Any, ...]]) -> str:
    columns = ("data", "radius", "depth", "robust errors", "same tree", "seconds before", "seconds now", "ratio")
    parts = [table(columns, rows)]
    summary = []
    for depth in (2, 3, 4):
        of_depth = [row for row in rows if row[2] == depth]
        before, now = (sum(float(row[k]) for row in of_depth) for k in (5, 6))
        ratios = [float(row[6]) / max(float(row[5]), 1e-3) for row in of_depth]
        summary.append(
            (
                depth,
                len(of_depth),
                f"{before:.2f}",
                f"{now:.2f}",
                f"{now / before:.2f}",
                f"{geometric_mean(ratios):.2f}",
            )
        )
    parts.append(table(("depth", "instances", "before", "now", "ratio of sums", "geometric mean of ratios"), summary))
    return "\n\n".join(parts)
