"""Proofs: what writing and checking them costs beside solving, and how large they are.

Run alone: the times of three programs are compared.
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import hardwood_checker
from benchmarks.report import table
from hardwood import AttackModel, Problem, solve
from hardwood.data import datasets
from hardwood.proofs import write_proof

DEEP = (("haberman", None), ("blood-transfusion", None), ("breast-cancer", None), ("cylinder-bands", 0.45))
"""Instances of depth 4: all radii of three sets, and one of a fourth."""
MORE = ("segment", "page", "bean", "magic")


def run() -> str:
    """Write and check proofs: the paper's 24 instances at depths 1 to 3, some at depth 4, larger sets at depth 2."""
    if not os.environ.get(datasets.DATA_VARIABLE):
        return f"Nothing is measured: set {datasets.DATA_VARIABLE} to the folder of the paper's data sets."
    paper = [(name, radius) for name in datasets.PAPER_RADII for radius in _radii(name)]
    parts = [
        f"## Depth {depth}\n\n" + _measured([(*one, depth) for one in paper if depth < 3 or one[0] != "wine"])
        for depth in (1, 2, 3)
    ]
    deep = [(name, e, 4) for name, only in DEEP for e in _radii(name) if only in (None, e)]
    parts.append("## Depth 4\n\n" + _measured(deep))
    folder = Path(os.environ[datasets.DATA_VARIABLE]) / "more"
    if folder.is_dir():
        parts.append("## Other sets, 5 % of the range, depth 2\n\n" + _measured([(name, None, 2) for name in MORE]))
    return "\n\n".join(parts)


def _wine() -> str:
    """Wine at depth 3 takes minutes to check, and has a page of its own."""
    return _measured([("wine", radius, 3) for radius in _radii("wine")])


def _radii(name: str) -> tuple[float, ...]:
    return tuple(datasets.PAPER_RADII[name])


def _problem(name: str, radius: float | None, depth: int) -> tuple[Any, Any, Problem]:
    if radius is None:
        data = datasets.read_dataset(name, Path(os.environ[datasets.DATA_VARIABLE]) / "more" / f"{name}.csv")
        return data.X, data.y, Problem.from_data(data.X, data.y, AttackModel.fraction_of_range(0.05), depth)
    data = datasets.load(name)
    part = datasets.paper_split(data.X, data.y)
    return part.X_train, part.y_train, Problem.from_data(part.X_train, part.y_train, radius, depth)


def _measured(instances: Sequence[tuple[str, float | None, int]]) -> str:
    rows: list[tuple[Any, ...]] = []
    sums = [0.0, 0.0, 0.0, 0.0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "proof.hwp"
        for name, radius, depth in instances:
            X, y, problem = _problem(name, radius, depth)
            moments = [time.perf_counter()]
            result = solve(problem, "search", time_limit=600)
            moments.append(time.perf_counter())
            write_proof(problem, result.tree, result.bound, path)
            moments.append(time.perf_counter())
            verdict = hardwood_checker.check(path, X, y)
            moments.append(time.perf_counter())
            size = path.stat().st_size
            solved, written, checked = (b - a for a, b in pairwise(moments))
            sums = [total + more for total, more in zip(sums, (solved, written, checked, size), strict=True)]
            rows.append(
                (
                    name,
                    "5 %" if radius is None else radius,
                    f"{float(verdict.objective or 0):g}",
                    f"{float(verdict.bound):g}",
                    f"{solved:.3f}",
                    f"{written:.3f}",
                    f"{checked:.3f}",
                    f"{size / 1000:.1f}",
                )
            )
    rows.append(("**sum**", "", "", "", *(f"{total:.2f}" for total in sums[:3]), f"{sums[3] / 1000:.1f}"))
    columns = ("set", "radius", "the tree loses", "proven bound", "solving s", "writing s", "checking s", "file kB")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    ratio = f"Checking takes {sums[2] / sums[0]:.1f} × the time of solving, writing {sums[1] / sums[0]:.2f} ×"
    return table(columns, rows) + f"\n\n{ratio}; at most {memory:.2f} GB of memory in all."


PARTS = {"wine": _wine}
