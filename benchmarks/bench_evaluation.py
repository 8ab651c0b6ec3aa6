"""Prediction and exact evaluation under attack on a million rows, against scikit-learn's own tree."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from benchmarks.report import best_of, table
from hardwood import adversarial_accuracy, attack_samples, robust_radius
from hardwood.export import from_sklearn

ROWS, FEATURES, DEPTH = 1_000_000, 20, 6


def run() -> str:
    """Compare on one data set in one run."""
    rng = np.random.default_rng(0)
    X = rng.random((ROWS, FEATURES))
    y = ((X[:, 0] > 0.5) ^ (X[:, 1] + X[:, 2] > 1) ^ (rng.random(ROWS) < 0.1)).astype(int)
    part = slice(0, 20_000)
    theirs = DecisionTreeClassifier(max_depth=DEPTH, random_state=0).fit(X[part], y[part])
    # The very same tree, so that both do the same work.
    tree = from_sklearn(theirs)
    sklearn_time = best_of(5, lambda: theirs.predict(X))
    predict_time = best_of(5, lambda: tree.predict(X))
    attacked_time = best_of(5, lambda: adversarial_accuracy(tree, X, y, 0.02))
    few, few_y = X[:100_000], y[:100_000]
    sample_time = best_of(3, lambda: attack_samples(tree, few, few_y, 0.02))
    radius_time = best_of(3, lambda: robust_radius(tree, few, few_y))
    assert tree.depth == DEPTH
    what = f"{ROWS:,} x {FEATURES}, depth {DEPTH}, {tree.n_leaves} leaves"
    return "\n\n".join(
        [
            table(
                ("what", "seconds", "ratio", "against"),
                [
                    (f"scikit-learn predict, {what}", f"{sklearn_time:.3f}", "1", ""),
                    (f"predict, {what}", f"{predict_time:.3f}", f"{predict_time / sklearn_time:.2f}", "scikit-learn"),
                    (
                        f"adversarial_accuracy, {what}",
                        f"{attacked_time:.3f}",
                        f"{attacked_time / predict_time:.2f}",
                        "our predict",
                    ),
                    ("attack_samples, 100,000 rows", f"{sample_time:.3f}", "", ""),
                    ("robust_radius, 100,000 rows", f"{radius_time:.3f}", "", ""),
                ],
            ),
            _imports(),
        ]
    )


def _imports() -> str:
    def seconds(code: str) -> float:
        script = f"import time; t = time.perf_counter(); {code}; print(time.perf_counter() - t)"
        return min(float(subprocess.check_output([sys.executable, "-c", script])) for _ in range(5))

    base = seconds("import sklearn.tree")
    both = seconds("import sklearn.tree; import hardwood; hardwood.RobustTreeClassifier")
    alone = seconds("import hardwood")
    return (
        f"Importing scikit-learn's trees takes {base:.2f} s, with hardwood's estimators on top {both:.2f} s "
        f"(+{both - base:.2f} s); `import hardwood` alone {alone:.2f} s."
    )
