"""Tables of millions of numbers: time and memory of each learner, every call in a process of its own.

``python -m benchmarks large`` compares greedy trees with scikit-learn's exact tree of the same depth and grows a
forest; the part ``million`` has more rows, ``classes`` more classes, and ``search`` and ``search_deeper`` let the exact
search run for 45 CPU s.
Tables are uniform numbers with the labels of a tree of depth 3, a fifth of them random; values can be moved by 0.01.

Seconds are wall-clock seconds of the whole ``fit``, memory is the largest resident set of the process less what it was
when everything had been imported and tried on sixty rows; the table itself, as float64, is part of it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

from benchmarks.report import table

SHAPES = ((200_000, 30), (1_000_000, 20))

_WORKER = """
import json, resource, sys, time, warnings
import numpy as np
from sklearn.tree import DecisionTreeClassifier
from hardwood import RobustForestClassifier, RobustTreeClassifier
from hardwood.solvers.stopping import counting_cpu_seconds

which, n, p, n_classes, depth, radius, limit = sys.argv[1], *map(int, sys.argv[2:6]), *map(float, sys.argv[6:8])

def rows(n, p):
    rng = np.random.default_rng([n, p, n_classes, 0])
    X = rng.random((n, p))
    leaf = (X[:, 0] < 0.5) * 4 + (X[:, 1] < 0.4) * 2 + (X[:, 2] < 0.7)
    return X, np.where(rng.random(n) < 0.2, rng.integers(0, n_classes, n), rng.permutation(8)[leaf] % n_classes)

def learner():
    if which == "scikit-learn":
        return DecisionTreeClassifier(max_depth=depth, random_state=0)
    if which == "forest":
        return RobustForestClassifier(50, attack=radius, max_depth=depth, n_jobs=2, random_state=0)
    return RobustTreeClassifier(depth, attack=radius, solver=which, time_limit=limit)

def peak():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

learner().fit(*rows(60, 4))
before = peak()
X, y = rows(n, p)
started, cpu = time.perf_counter(), time.process_time()
with counting_cpu_seconds():
    model = learner().fit(X, y)
answer = {"seconds": time.perf_counter() - started, "cpu": time.process_time() - cpu}
answer["memory"] = (peak() - before) / X.nbytes
if hasattr(model, "result_"):
    answer |= {"objective": model.result_.objective, "bound": model.result_.bound}
print(json.dumps(answer))
"""


def measured(
    which: str, n: int, p: int, depth: int, radius: float, limit: float = 1e9, n_classes: int = 2
) -> dict[str, Any]:
    """Return seconds, memory in multiples of the table and, of a tree, what it costs, from a process of its own."""
    arguments = [str(argument) for argument in (which, n, p, n_classes, depth, radius, limit)]
    done = subprocess.run(
        [sys.executable, "-c", _WORKER, *arguments], stdout=subprocess.PIPE, text=True, check=True
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def run() -> str:
    """Compare greedy trees and forests of depth 6 with scikit-learn's tree on 200,000 rows."""
    return beside_scikit_learn(*SHAPES[0], forest=True)


def beside_scikit_learn(n: int, p: int, n_classes: int = 2, *, forest: bool) -> str:
    """Compare with scikit-learn's tree by CPU seconds, which other work on the machine disturbs less than the clock."""
    rows: list[tuple[Any, ...]] = []
    peer = measured("scikit-learn", n, p, 6, 0.0, n_classes=n_classes)
    learners = [("scikit-learn's tree", "scikit-learn", 0.0)]
    learners += [("greedy, radius 0", "greedy", 0.0), ("greedy, radius 0.01", "greedy", 0.01)]
    learners += [("forest of 50, two jobs", "forest", 0.01)] if forest else []
    for name, which, radius in learners:
        found = peer if which == "scikit-learn" else measured(which, n, p, 6, radius, n_classes=n_classes)
        ratio = f"{found['cpu'] / peer['cpu']:.2f}"
        times = (f"{found['seconds']:.2f}", f"{found['cpu']:.2f}")
        shape = f"{n:,} × {p}" + (f", {n_classes} classes" if n_classes > 2 else "")
        rows.append((shape, name, *times, ratio, f"{found['memory']:.1f}"))
        print(*rows[-1], file=sys.stderr, flush=True)
    columns = ("table", "learner, depth 6", "seconds", "CPU s", "of scikit-learn's CPU s", "memory, times the table")
    return table(columns, rows)


def search(depths: Sequence[int], limit: float = 45.0) -> str:
    """Let the exact search compute for three quarters of a minute, beside the greedy tree of the same depth."""
    rows = []
    for n, p in SHAPES:
        for depth in depths:
            greedy = measured("greedy", n, p, depth, 0.01)
            found = measured("search", n, p, depth, 0.01, limit)
            gap = (found["objective"] - found["bound"]) / found["objective"]
            numbers = (f"{greedy['objective']:g}", f"{found['objective']:g}", f"{found['bound']:g}", f"{gap:.2%}")
            rows.append((f"{n:,} × {p}", depth, *numbers, f"{found['cpu']:.1f}", f"{found['memory']:.1f}"))
            print(*rows[-1], file=sys.stderr, flush=True)
    columns = ("table", "depth", "errors, greedy", "errors", "bound", "gap", "CPU s", "memory, times the table")
    return table(columns, rows)


PARTS = {
    "million": lambda: beside_scikit_learn(*SHAPES[1], forest=False),
    "classes": lambda: beside_scikit_learn(300_000, 10, 12, forest=False),
    "search": lambda: search((2,)),
    "search_deeper": lambda: search((3,)),
}
"""Parts that `run` leaves out: some minutes each."""
