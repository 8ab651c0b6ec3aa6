"""The estimators around TREANT and relabelling."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeClassifier

from hardwood import (
    InvalidInputError,
    RobustRelabeler,
    TreantClassifier,
    adversarial_accuracy,
)
from hardwood.export import from_sklearn


@pytest.fixture(scope="module")
def tumours() -> tuple[np.ndarray, np.ndarray]:
    bunch = load_breast_cancer()
    scaled = (bunch.data - bunch.data.min(axis=0)) / (bunch.data.max(axis=0) - bunch.data.min(axis=0))
    return scaled, bunch.target_names[bunch.target]


def test_a_fitted_tree_keeps_its_splits_and_becomes_more_robust(tumours: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = tumours
    cart = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    robust = RobustRelabeler(cart, attack=0.05).fit(X, y)
    plain = from_sklearn(cart)
    assert robust.estimator_ is cart
    assert robust.tree_.feature.tolist() == plain.feature.tolist()
    assert np.array_equal(robust.tree_.threshold, plain.threshold, equal_nan=True)
    before = adversarial_accuracy(plain, X, y, 0.05)
    assert robust.adversarial_score(X, y) > before
    first, last = robust.result_.trace
    assert (first.objective, last.objective) == (round((1 - before) * len(y)), robust.result_.objective)


def test_an_unfitted_tree_is_fitted_on_a_copy(tumours: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = tumours
    cart = DecisionTreeClassifier(max_depth=2, random_state=0)
    robust = RobustRelabeler(cart, attack=0.05).fit(X, y)
    assert not hasattr(cart, "tree_")
    assert robust.get_depth() <= 2
    assert cross_val_score(RobustRelabeler(cart, attack=0.05), X, y, cv=3).min() > 0.6


def test_without_an_attacker_relabelling_changes_no_error(tumours: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = tumours
    cart = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    assert RobustRelabeler(cart).fit(X, y).score(X, y) == cart.score(X, y)


def test_what_is_no_tree_cannot_be_relabelled(tumours: tuple[np.ndarray, np.ndarray]) -> None:
    from sklearn.linear_model import LogisticRegression

    X, y = tumours
    with pytest.raises(InvalidInputError, match="decision tree"):
        RobustRelabeler(LogisticRegression(max_iter=1000), attack=0.1).fit(X, y)


@pytest.mark.parametrize("estimator", [TreantClassifier(2, attack=0.05), RobustRelabeler(attack=0.05)])
def test_fits_can_be_repeated_and_pickled(estimator: object, tumours: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = tumours
    first = estimator.fit(X, y).tree_  # type: ignore[attr-defined]
    assert estimator.fit(X, y).tree_ == first  # type: ignore[attr-defined]
    assert pickle.loads(pickle.dumps(estimator)).tree_ == first
