"""All greedy learners on the paper's eight instances, TREANT against its published code, relabelling, and forests.

The published TREANT comes with ``groot-trees``; see `benchmarks.bench_greedy` for how to have it measured.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from benchmarks.bench_greedy import INSTANCES
from benchmarks.report import best_of, table
from hardwood import Problem, RobustForestClassifier, relabel, solve
from hardwood.data import datasets
from hardwood.export import from_sklearn
from hardwood.tree.reach import robust_errors

LEARNERS: dict[str, tuple[str, dict[str, Any]]] = {
    "Chen, Gini": ("greedy", {"criterion": "chen"}),
    "Chen, entropy": ("greedy", {"criterion": "chen", "impurity": "entropy"}),
    "GROOT": ("greedy", {}),
    "FPRDT": ("greedy", {"criterion": "adversarial-error"}),
    "TREANT": ("treant", {}),
}
PEER_LIMIT = 60.0
"""Seconds that the published TREANT gets for one instance."""

_PEER = """
import json, sys, time
import numpy as np
from groot.treant import Attacker, AttackerRule, RobustDecisionTree
from groot.adversary import DecisionTreeAdversary
data = np.load(sys.argv[1])
X, y, epsilon = data["X"], data["y"], float(sys.argv[2])
p = X.shape[1]
rules = [AttackerRule((j, (-1.0, 2.0)), (j, way * epsilon), cost=1) for j in range(p) for way in (-1, 1)]
started = time.perf_counter()
tree = RobustDecisionTree(attacker=Attacker(rules, p), max_depth=2, min_instances_per_node=2, affine=False)
tree.fit(X, y)
seconds = time.perf_counter() - started
def lost(node, low, high, label):
    if node.is_leaf():
        return (node.prediction_score > 0.5) != bool(label)
    j, b = node.best_split_feature_id, node.best_split_feature_value
    return (low[j] <= b and lost(node.left, low, high, label)) or (high[j] > b and lost(node.right, low, high, label))
errors = sum(lost(tree.root, x - epsilon, x + epsilon, label) for x, label in zip(X, y))
print(json.dumps([seconds, int(errors)]))
"""


def run() -> str:
    """Measure everything; the parts that need data or the published code say so when it is missing."""
    return "\n\n".join([_on_the_papers_sets(), _relabelling(), _forest()])


def _on_the_papers_sets() -> str:
    if not os.environ.get(datasets.DATA_VARIABLE):
        return f"Learners not measured: set {datasets.DATA_VARIABLE} to the folder of the paper's data sets."
    rows, treant_rows = [], []
    totals = {(name, depth): 0.0 for name in LEARNERS for depth in (2, 3, 4)}
    for name, epsilon in INSTANCES.items():
        data = datasets.load(name)
        part = datasets.paper_split(data.X, data.y)
        for depth in (2, 3, 4):
            problem = Problem.from_data(part.X_train, part.y_train, epsilon, depth)
            cells = []
            for learner, (solver, options) in LEARNERS.items():
                errors = solve(problem, solver, options=options).objective
                seconds = best_of(3, lambda p=problem, s=solver, o=options: solve(p, s, options=o))  # type: ignore[misc]
                totals[learner, depth] += errors
                cells.append(f"{errors:g} ({1e3 * seconds:.1f})")
                if (learner, depth) == ("TREANT", 2):
                    theirs = _published_treant(part.X_train, part.y_train, epsilon)
                    treant_rows.append((name, epsilon, f"{errors:g}", f"{seconds:.4f}", *theirs))
            rows.append((name, epsilon, depth, *cells))
    sums = [("all", "", depth, *(f"{totals[learner, depth]:g}" for learner in LEARNERS)) for depth in (2, 3, 4)]
    overall = ("all", "", "2-4", *(f"{sum(totals[n, d] for d in (2, 3, 4)):g}" for n in LEARNERS))
    return "\n\n".join(
        [
            "Robust training errors of the paper's 80 % parts (milliseconds of `solve`):",
            table(("data", "radius", "depth", *LEARNERS), [*rows, *sums, overall]),
            "TREANT at depth 2 against its published code:",
            table(("data", "radius", "errors", "seconds", "published errors", "published seconds"), treant_rows),
        ]
    )


def _published_treant(X: Any, y: Any, epsilon: float) -> tuple[str, str]:
    interpreter = os.environ.get("GROOT_PYTHON")
    if not interpreter:
        return "", "not measured"
    with tempfile.TemporaryDirectory() as folder:
        # The published module writes its log to out/ in the working directory.
        (Path(folder) / "out").mkdir()
        np.savez(Path(folder) / "part.npz", X=X, y=y)
        command = [interpreter, "-W", "ignore", "-c", _PEER, "part.npz", str(epsilon)]
        try:
            answer = subprocess.run(command, cwd=folder, timeout=PEER_LIMIT, capture_output=True, check=True).stdout
        except subprocess.TimeoutExpired:
            return "", f"more than {PEER_LIMIT:g}"
    seconds, errors = json.loads(answer.splitlines()[-1])
    return str(errors), f"{seconds:.1f}"


def _relabelling() -> str:
    rng = np.random.default_rng(0)
    X = rng.random((1_000_000, 10))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(len(X)) > 0.9).astype(int)
    cart = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X[:100_000], y[:100_000])
    tree = from_sklearn(cart)
    rows = []
    for radius in (0.01, 0.05, 0.2):
        problem = Problem.from_data(X, y, radius, 6)
        seconds = best_of(2, lambda problem=problem: relabel(tree, problem))  # type: ignore[misc]
        before = int(robust_errors(tree, problem).sum())
        after = int(robust_errors(relabel(tree, problem), problem).sum())
        rows.append((radius, tree.n_leaves, f"{before:,}", f"{after:,}", f"{seconds:.2f}"))
    columns = ("radius", "leaves", "errors of CART", "relabelled", "seconds")
    return "Relabelling a CART tree of depth 6 on 1,000,000 rows, 10 features:\n\n" + table(columns, rows)


def _forest() -> str:
    if not os.environ.get(datasets.DATA_VARIABLE):
        return f"Forest not measured: set {datasets.DATA_VARIABLE} to the folder of the paper's data sets."
    data = datasets.load("wine")
    part = datasets.paper_split(data.X, data.y)
    model = RobustForestClassifier(100, max_depth=6, attack=0.03, n_jobs=2)
    fit_seconds = best_of(2, lambda: model.fit(part.X_train, part.y_train))
    bound_seconds = best_of(3, lambda: model.adversarial_score_bounds(part.X_test, part.y_test))
    low, high = model.adversarial_score_bounds(part.X_test, part.y_test)
    small = RobustForestClassifier(10, max_depth=4, attack=0.03).fit(part.X_train, part.y_train)
    exact_seconds = best_of(1, lambda: small.adversarial_score(part.X_test, part.y_test))
    exact = small.adversarial_score(part.X_test, part.y_test)
    rows = [
        ("fit 100 trees of depth 6, n_jobs=2", f"{fit_seconds:.2f}", ""),
        ("bounds on the accuracy under attack, 1300 held-out rows", f"{bound_seconds:.3f}", f"{low:.4f} to {high:.4f}"),
        ("exact accuracy under attack of 10 trees of depth 4", f"{exact_seconds:.2f}", f"{exact:.4f}"),
    ]
    return "Forests on wine, radius 0.03:\n\n" + table(("what", "seconds", "result"), rows)


def side_by_side() -> str:
    """Return what ``hardwood compare`` prints for the paper's diabetes set."""
    if not os.environ.get(datasets.DATA_VARIABLE):
        return f"Not measured: set {datasets.DATA_VARIABLE} to the folder of the paper's data sets."
    path = Path(os.environ[datasets.DATA_VARIABLE]) / "diabetes.csv"
    command = ["compare", str(path), "--target", "target", "--attack", "7%", "--depth", "2"]
    answer = subprocess.run([sys.executable, "-m", "hardwood", *command], capture_output=True, text=True, check=True)
    return f"```text\n{answer.stdout.strip()}\n```"


PARTS = {"compare": side_by_side}
