"""Depth, radius and rounds of ensembles chosen on folds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from ensemble_models import table
from hardwood import (
    InvalidInputError,
    RobustBoostingClassifier,
    RobustForestClassifier,
    RobustTreeClassifier,
    RobustTreeCV,
    load_model,
)
from hardwood.ensembles.boosting import BoostingLearner
from hardwood.ensembles.boosting.selection import certified_curve, smoothed
from hardwood.problem.problem import prepare


def test_rounds_and_depth_of_boosting_are_those_with_the_best_certified_folds(tmp_path: Path) -> None:
    X, y = table(np.random.default_rng(0), 150, 3, 2)
    search = RobustTreeCV(attack=0.05, estimator=RobustBoostingClassifier(12, learning_rate=0.5), max_depths=(1, 2))
    search.fit(X, y)
    best = search.best_params_
    by_hand = []
    for train, test in StratifiedKFold(3).split(X, y):
        model = RobustBoostingClassifier(12, learning_rate=0.5, attack=0.05, max_depth=best["max_depth"])
        model.fit(X[train], y[train])
        by_hand.append(list(model.staged_certified_score(X[test], y[test]))[best["n_estimators"] - 1])
    assert search.best_score_ == pytest.approx(np.mean(by_hand))
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    assert len(search.cv_results_["max_depth"]) == 24
    assert search.best_estimator_.n_estimators_ == best["n_estimators"]
    assert np.array_equal(search.predict(X), search.best_estimator_.predict(X))
    assert search.adversarial_score(X, y) == search.best_estimator_.adversarial_score(X, y, attack=0.05)
    search.save(tmp_path / "model.json")
    assert np.array_equal(load_model(tmp_path / "model.json").predict(X), search.predict(X))


def test_forests_are_chosen_by_depth_and_radius() -> None:
    X, y = table(np.random.default_rng(1), 90, 3, 3)
    forest = RobustForestClassifier(4, base="search", voting="soft", max_features=None)
    search = clone(RobustTreeCV(attack=0.05, estimator=forest, max_depths=(1, 2), radius_factors=(1.0, 1.5)))
    search.fit(X, y)
    assert len(search.cv_results_["mean_test_score"]) == 4
    assert search.training_attack_ == search.attack_.scaled(search.best_params_["radius_factor"])
    assert 0 <= search.adversarial_score(X, y) <= search.score(X, y)


def test_what_cannot_be_chosen_from_is_refused() -> None:
    X, y = table(np.random.default_rng(2), 30, 2, 2)
    with pytest.raises(InvalidInputError, match="estimator=RobustTreeClassifier"):
        RobustTreeCV(estimator=RobustTreeClassifier()).fit(X, y)
    with pytest.raises(InvalidInputError, match="max_depths"):
        RobustTreeCV(estimator=RobustBoostingClassifier(2), max_depths=(0, 1)).fit(X, y)


def test_no_round_at_all_can_be_the_best_choice() -> None:
    """Labels at random: the more common class is certified without any tree."""
    rng = np.random.default_rng(3)
    X, y = rng.random((90, 2)), (rng.random(90) < 0.3).astype(int)
    problem = prepare(X, y, 0.3, 1)
    folds = list(StratifiedKFold(3).split(X, y))
    curves = [certified_curve(BoostingLearner(10), problem.take(a), problem.take(b)) for a, b in folds]
    assert [curve[0] for curve in curves] == [np.mean(y[test] == 0) for _, test in folds]
    assert int(np.argmax(np.mean(curves, axis=0))) == 0


def test_rounds_are_judged_together_with_their_neighbours() -> None:
    curve = np.array([0.5, 0.6, 0.9, 0.6, 0.6])
    assert smoothed(curve, 1) == pytest.approx([1.6 / 3, 2 / 3, 0.7, 0.7, 0.6])
    assert smoothed(curve, 0).tolist() == curve.tolist()
