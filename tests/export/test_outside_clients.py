"""Judgement by others: what outside libraries say of our trees must agree with what we claim."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardwood import GreedyRobustTreeClassifier, Tree, attack_samples, robust_radius
from hardwood.data import datasets
from hardwood.export import from_sklearn

pytestmark = pytest.mark.slow
SETS = {"haberman": 0.05, "diabetes": 0.05, "banknote-authentication": 0.07}


def fitted(name: str, folder: Path) -> tuple[GreedyRobustTreeClassifier, Any, Any]:
    data = datasets.load(name, folder)
    X, X_test, y, y_test = datasets.paper_split(data.X, data.y)
    clf = GreedyRobustTreeClassifier(4, attack=SETS[name]).fit(X, y)
    return clf, np.concatenate([X_test, X]), np.concatenate([y_test, y])


@pytest.mark.parametrize("name", SETS)
def test_the_adversarial_robustness_toolbox_cannot_do_more_than_we_say(name: str, paper_data: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        evasion = pytest.importorskip("art.attacks.evasion")
        wrappers = pytest.importorskip("art.estimators.classification.scikitlearn")
    clf, X, y = fitted(name, paper_data)
    model = clf.to_sklearn()
    X, y = X[:150].astype(np.float32).astype(np.float64), y[:150]
    right = model.predict(X) == y
    X, y = X[right], y[right]
    wrapped = wrappers.ScikitlearnDecisionTreeClassifier(model)
    moved = evasion.DecisionTreeAttack(wrapped, offset=1e-4, verbose=False).generate(X)
    succeeded = model.predict(moved) != y
    assert succeeded.sum() > len(y) / 2
    # Every success of the toolbox took at least the radius that we say the sample bears.
    tree = from_sklearn(model)
    radius = robust_radius(tree, X, y)
    distance = np.abs(moved - X).max(axis=1)
    assert np.all(distance[succeeded] > radius[succeeded])
    # And what we say is reachable misleads the toolbox' model, too.
    points = attack_samples(tree, X, y, SETS[name])
    reachable = ~np.isnan(points).any(axis=1)
    assert reachable.tolist() == (radius < SETS[name]).tolist()
    assert reachable.any()
    answers = wrapped.predict(points[reachable]).argmax(axis=1)
    assert np.all(wrapped.model.classes_[answers] != y[reachable])


def as_veritas(veritas: Any, tree: Tree, sign: float) -> Any:
    """The tree as veritas writes trees, with a positive output for class 1 if the sign is positive."""
    ensemble = veritas.AddTree(1, veritas.AddTreeType.REGR)
    other = ensemble.add_tree()

    def copy(node: int, target: int) -> None:
        if tree.left[node] < 0:
            other.set_leaf_value(target, 0, sign if tree.label[node] == 1 else -sign)
            return
        # There, left is x < value.
        other.split(target, int(tree.feature[node]), float(np.nextafter(tree.threshold[node], np.inf)))
        copy(int(tree.left[node]), other.left(target))
        copy(int(tree.right[node]), other.right(target))

    copy(0, other.root())
    return ensemble


def test_veritas_finds_the_same_radius_for_every_sample(paper_data: Path) -> None:
    veritas = pytest.importorskip("veritas")
    clf, X, y = fitted("diabetes", paper_data)
    X, y = X[:500], y[:500]
    radius = robust_radius(clf.tree_, X, y)
    towards = {label: as_veritas(veritas, clf.tree_, 1.0 if label == 0 else -1.0) for label in (0, 1)}
    checked = 0
    for x, label, ours in zip(X, y, radius, strict=True):
        if ours < 0:
            assert clf.tree_.predict(x[None, :])[0] != label
            continue
        search = veritas.VeritasRobustnessSearch(
            x, 1.5, None, towards[int(label)], num_steps=40, max_time=20.0, silent=True
        )
        _, lower, upper = search.search()
        assert lower - 1e-4 <= ours <= upper + 1e-4
        assert upper - lower < 1e-3
        checked += 1
    assert checked > 300
