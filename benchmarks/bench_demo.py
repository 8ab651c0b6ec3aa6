"""What the README shows, over ten splits: accuracy under attack on held-out data that comes with scikit-learn.

All classification sets of scikit-learn that need no download and have measured features are here, at two radii, so that
anyone sees what the one of the README was chosen from.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from benchmarks.report import table
from hardwood import AttackModel, GreedyRobustTreeClassifier, RobustTreeClassifier, adversarial_accuracy
from hardwood.errors import WholeNumbersWarning
from hardwood.export import from_sklearn

SETS = {"breast cancer": load_breast_cancer, "wine": load_wine, "iris": load_iris}
RADII, DEPTH, SPLITS = (0.05, 0.07), 2, 10


def run() -> str:
    """Measure all sets."""
    rows = [_row(name, load(return_X_y=True), radius) for name, load in SETS.items() for radius in RADII]
    columns = ("data", "radius", "CART", "GROOT", "optimal", "optimal beats CART", "optimal beats GROOT")
    note = (
        f"Accuracy as is / under attack on 30 % held out, means over {SPLITS} stratified splits (seeds 0 to "
        f"{SPLITS - 1}), depth {DEPTH}; the attacker may move every feature by the radius, a share of its range in the "
        "training part. Wins are splits in which the accuracy under attack is higher."
    )
    return f"{note}\n\n{table(columns, rows)}"


def _row(name: str, data: tuple[Any, Any], radius: float) -> tuple[str, ...]:
    scores = np.array([_scores(*data, radius, seed) for seed in range(SPLITS)])
    means = scores.mean(axis=0)
    shown = [f"{100 * means[k, 0]:.1f} / {100 * means[k, 1]:.1f} %" for k in range(3)]
    wins = [f"{int((scores[:, 2, 1] > scores[:, k, 1]).sum())} of {SPLITS}" for k in (0, 1)]
    return (name, f"{100 * radius:g} %", *shown, *wins)


def _scores(X: Any, y: Any, radius: float, seed: int) -> list[tuple[float, float]]:
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)
    attack = AttackModel.fraction_of_range(radius).fit(X_train)
    with warnings.catch_warnings():
        # Two features of wine are whole numbers; the attack is the same for all three trees.
        warnings.simplefilter("ignore", WholeNumbersWarning)
        trees = [
            from_sklearn(DecisionTreeClassifier(max_depth=DEPTH, random_state=0).fit(X_train, y_train)),
            GreedyRobustTreeClassifier(DEPTH, attack=attack).fit(X_train, y_train).tree_,
            RobustTreeClassifier(DEPTH, attack=attack, time_limit=60).fit(X_train, y_train).tree_,
        ]
    return [
        (float(np.mean(tree.predict(X_test) == y_test)), adversarial_accuracy(tree, X_test, y_test, attack))
        for tree in trees
    ]
