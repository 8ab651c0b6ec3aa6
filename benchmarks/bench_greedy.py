"""The greedy learner against the published GROOT code, and its growth with the number of rows.

The published package (``groot-trees``) does not run with numpy 2, so it gets a virtual environment of its own; name
its interpreter in the environment variable GROOT_PYTHON to have it measured::

    python3 -m venv groot-venv && groot-venv/bin/pip install 'numpy<2' groot-trees
    GROOT_PYTHON=groot-venv/bin/python make bench
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from typing import Any

import numpy as np

from benchmarks.report import best_of, table
from hardwood import Problem, solve
from hardwood.data import datasets
from hardwood.estimators.trees import GreedyRobustTreeClassifier

INSTANCES = {
    "banknote-authentication": 0.09,
    "blood-transfusion": 0.02,
    "breast-cancer": 0.39,
    "cylinder-bands": 0.28,
    "diabetes": 0.07,
    "haberman": 0.03,
    "ionosphere": 0.28,
    "wine": 0.03,
}

_PEER = """
import json, sys, time
import numpy as np
from groot.model import GrootTreeClassifier
from groot.adversary import DecisionTreeAdversary
data = np.load(sys.argv[1])
answers = {}
for name, epsilon in json.loads(sys.argv[2]).items():
    X, y = data[name + "_X"], data[name + "_y"]
    for depth in (1, 2, 3, 4):
        def fit():
            attack = [epsilon] * X.shape[1]
            model = GrootTreeClassifier(max_depth=depth, attack_model=attack, min_samples_split=2, random_state=1)
            return model.fit(X, y)
        fit()
        best = min(timed for timed in (
            (lambda t: (fit(), time.perf_counter() - t)[1])(time.perf_counter()) for _ in range(5)))
        answers[f"{name} {depth}"] = best
print(json.dumps(answers))
"""


def run() -> str:
    """Compare errors and times on eight instances, then grow on up to a million rows."""
    if not os.environ.get(datasets.DATA_VARIABLE):
        return f"Not measured: set {datasets.DATA_VARIABLE} to the folder of the paper's data sets."
    parts = {}
    for name in INSTANCES:
        data = datasets.load(name)
        parts[name] = datasets.paper_split(data.X, data.y)
    theirs = _published(parts)
    rows = []
    for name, epsilon in INSTANCES.items():
        part = parts[name]
        for depth in (1, 2, 3, 4):
            model = GreedyRobustTreeClassifier(depth, attack=epsilon)
            seconds = best_of(5, lambda model=model, part=part: model.fit(part.X_train, part.y_train))  # type: ignore[misc]
            errors = solve(Problem.from_data(part.X_train, part.y_train, epsilon, depth), "greedy").objective
            peer = theirs.get(f"{name} {depth}")
            rows.append((name, epsilon, depth, errors, 1e3 * seconds, None if peer is None else 1e3 * peer))
    text = table(
        ("data", "radius", "depth", "errors", "ms", "groot-trees ms", "ratio"),
        [
            (name, e, d, f"{errors:g}", f"{ms:.1f}", "" if peer is None else f"{peer:.1f}",
             "" if peer is None else f"{ms / peer:.2f}")
            for name, e, d, errors, ms, peer in rows
        ],
    )  # fmt: skip
    measured = [(ms, peer) for *_, ms, peer in rows if peer is not None]
    total = f"\n\nTotal: {sum(ms for *_, ms, _ in rows):.0f} ms"
    if measured:
        ratio = sum(ms for ms, _ in measured) / sum(peer for _, peer in measured)
        total += f", {ratio:.2f} times the published code (whole `fit`, both compiled)"
    return text + total + ".\n\n" + _growth()


def _published(parts: dict[str, datasets.Split]) -> dict[str, float]:
    interpreter = os.environ.get("GROOT_PYTHON")
    if not interpreter:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "parts.npz")
        arrays: dict[str, Any] = {f"{name}_X": part.X_train for name, part in parts.items()}
        arrays |= {f"{name}_y": part.y_train for name, part in parts.items()}
        np.savez(path, **arrays)
        answer = subprocess.check_output([interpreter, "-W", "ignore", "-c", _PEER, path, json.dumps(INSTANCES)])
    found: dict[str, float] = json.loads(answer.splitlines()[-1])
    return found


def _growth() -> str:
    rng = np.random.default_rng(0)
    rows = []
    for n in (10_000, 100_000, 1_000_000):
        X = rng.random((n, 20))
        y = (X[:, :4].sum(axis=1) + 0.3 * rng.standard_normal(n) > 2).astype(int)
        started = time.perf_counter()
        model = GreedyRobustTreeClassifier(6, attack=0.02).fit(X, y)
        seconds = time.perf_counter() - started
        rows.append((f"{n:,}", model.get_n_leaves(), f"{seconds:.2f}", f"{1e9 * seconds / (n * np.log2(n)):.0f}"))
    return table(("rows (20 features, depth 6)", "leaves", "seconds", "ns per row and log2(rows)"), rows)
