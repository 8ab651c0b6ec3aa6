"""The compiled core against an earlier checkout of hardwood, e.g. the last one whose kernels were numba's.

Name the checkout (and the interpreter that has what it needs, if it is another one) in the environment::

    HARDWOOD_BEFORE=../hardwood-0.1 HARDWOOD_BEFORE_PYTHON=venv/bin/python python -m benchmarks core_kernels

Both run the same calls on the same arrays, in turns, each in a process of its own, one thread. Seconds are CPU seconds,
the least of all runs, which go on for 0.1 s at least: other work on the machine disturbs them less than the clock on
the wall. Whatever is compiled or loaded at the first call is not counted, except in the last table, which is about
nothing else. Each takes turns ROUNDS times (3).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import geometric_mean, table
from hardwood.data import datasets

SOURCE = Path(__file__).resolve().parents[1] / "src"
ROUNDS = int(os.environ.get("ROUNDS", "3"))

_WORKER = """
import json, sys, time
import numpy as np
import hardwood
from hardwood import Problem, adversarial_accuracy, adversarial_accuracy_bound, relabel, solve
data, instances, is_large = np.load(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3] == "large"
spent = {}
def measure(name, action, repeats):
    action()
    best, total = float("inf"), 0.0
    while repeats > 0 or total < 0.1:
        repeats -= 1
        started = time.process_time()
        action()
        seconds = time.process_time() - started
        best, total = min(best, seconds), total + seconds
    spent[name] = best
for name, epsilon in ({} if is_large else instances).items():
    X, y = data[name + "_X"], data[name + "_y"]
    problem = Problem.from_data(X, y, epsilon, 4)
    problem.endpoints
    for criterion in ("groot", "chen", "adversarial-error"):
        measure(f"greedy {criterion}, depth 4|{name}",
                lambda: solve(problem, "greedy", options={"criterion": criterion}), 3)
    tree = solve(problem, "greedy").tree
    measure(f"matching bound|{name}", lambda: adversarial_accuracy_bound(X, y, epsilon), 1 if len(X) > 3000 else 3)
    measure(f"relabel, depth 4|{name}", lambda: relabel(tree, problem), 3)
    if len(X) < 1500:
        measure(f"TREANT, depth 3|{name}", lambda: solve(problem.replace(max_depth=3), "treant"), 1)
        forest = hardwood.RobustForestClassifier(20, attack=epsilon, max_depth=4, random_state=0).fit(X, y)
        measure(f"forest of 20, fit|{name}", lambda: forest.fit(X, y), 1)
        measure(f"forest of 20, predict|{name}", lambda: forest.predict(X), 3)
        measure(f"forest of 20, score under attack|{name}",
                lambda: forest.adversarial_score_bounds(X, y), 1)
if is_large:
    rng = np.random.default_rng(0)
    X = rng.random((200_000, 30))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.random(len(X)) > 0.9).astype(int)
    problem = Problem.from_data(X, y, 0.02, 6)
    problem.endpoints
    for criterion in ("groot", "chen", "adversarial-error"):
        measure(f"greedy {criterion}|200,000 x 30, depth 6",
                lambda: solve(problem, "greedy", options={"criterion": criterion}), 1)
    del problem, X
    X = rng.random((1_000_000, 20))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.random(len(X)) > 0.9).astype(int)
    tree = solve(Problem.from_data(X[:50_000], y[:50_000], 0.02, 6), "greedy").tree
    measure("predict|1,000,000 x 20, depth 6", lambda: tree.predict(X), 3)
    measure("adversarial accuracy|1,000,000 x 20, depth 6", lambda: adversarial_accuracy(tree, X, y, 0.02), 3)
print(json.dumps(spent))
"""

_IMPORTS = {
    "import sklearn.tree, sklearn.base": "import sklearn.tree, sklearn.base",
    "import of the estimators": "from hardwood import RobustTreeClassifier",
    "and a first fit of depth 3": (
        "from hardwood import RobustTreeClassifier; import numpy as np; X = np.arange(60.0)[:, None]; "
        "RobustTreeClassifier(max_depth=3, attack=0.1).fit(X, (X[:, 0] % 7 > 3).astype(int))"
    ),
}


def checkouts() -> dict[str, tuple[str, Path]]:
    """Return interpreter and source folder of what is compared."""
    found = {"now": (sys.executable, SOURCE)}
    if "HARDWOOD_BEFORE" in os.environ:
        before = Path(os.environ["HARDWOOD_BEFORE"]) / "src"
        found["before"] = (os.environ.get("HARDWOOD_BEFORE_PYTHON", sys.executable), before)
    return found


def call(python: str, source: Path, code: str, *arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    done = subprocess.run([python, "-c", code, *arguments], env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def instances() -> dict[str, float]:
    return {name: sorted(radii)[-1] for name, radii in datasets.PAPER_RADII.items()}


def spent_on_calls(size: str) -> dict[str, dict[str, float]]:
    """Return the least seconds of each call on small or large tables, by checkout."""
    chosen = instances()
    best: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.npz"
        arrays: dict[str, Any] = {}
        for name in chosen:
            dataset = datasets.load(name)
            arrays |= {name + "_X": dataset.X, name + "_y": dataset.y}
        np.savez(path, **arrays)
        for _ in range(ROUNDS):
            for which, (python, source) in checkouts().items():
                seconds = json.loads(call(python, source, _WORKER, str(path), json.dumps(chosen), size))
                known = best.setdefault(which, seconds)
                known |= {name: min(known[name], value) for name, value in seconds.items()}
    return best


def import_table() -> str:
    rows = []
    for title, code in _IMPORTS.items():
        row = [title]
        for python, source in checkouts().values():
            seconds = []
            for _ in range(3):
                started = time.perf_counter()
                call(python, source, code)
                seconds.append(time.perf_counter() - started)
            row.append(f"{min(seconds):.2f}")
        rows.append(row)
    return table(["a fresh process, wall-clock s, least of 3", *checkouts()], rows)


def run() -> str:
    """Return the tables: every call on the paper's sets, and what a fresh process costs."""
    return calls_table("small") + "\n\n" + import_table()


def calls_table(size: str) -> str:
    """Return the table of all calls, and the means of each kind."""
    spent = spent_on_calls(size)
    if "before" not in spent:
        rows = [[*name.split("|"), f"{value:.4f}"] for name, value in spent["now"].items()]
        return table(["call", "data", "CPU s"], rows)
    now, before = spent["now"], spent["before"]
    rows = [
        [*name.split("|"), f"{before[name]:.4f}", f"{now[name]:.4f}", f"{now[name] / before[name]:.2f}"]
        for name in sorted(now)
    ]
    kinds = sorted({name.split("|")[0] for name in now})
    by_kind = [
        [kind, f"{geometric_mean([now[n] / before[n] for n in now if n.split('|')[0] == kind]):.2f}"] for kind in kinds
    ]
    return "\n\n".join(
        [
            table(["call", "CPU time, now / before, geometric mean"], by_kind),
            table(["call", "data", "before, CPU s", "now, CPU s", "now / before"], rows),
        ]
    )


PARTS = {"large": lambda: calls_table("large")}
"""Tables of millions of numbers, which take minutes."""
