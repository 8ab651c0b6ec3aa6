"""Boosting or something simpler: judged on folds, and a tree in the place of boosting answers as the tree does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold

from hardwood import InvalidInputError, RobustBoostingClassifier, RobustTreeClassifier, load_model, robustness


def table(seed: int, n: int = 90, classes: int = 2, noise: float = 0.5) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3)).round(2)
    score = X[:, 0] + noise * rng.normal(size=n)
    return X, np.digitize(score, np.quantile(score, np.arange(1, classes) / classes + 0.1))


def counted_anew(X: Any, y: Any, splitter: Any, depths: int, **boosting: Any) -> dict[int | None, float]:
    shares: dict[int | None, list[float]] = {**{depth: [] for depth in range(depths + 1)}, None: []}
    for a, b in splitter.split(X, y):
        constant = np.argmax(np.bincount(y[a]))
        shares[0].append(float(np.mean(y[b] == constant)))
        for depth in range(1, depths + 1):
            tree = RobustTreeClassifier(max_depth=depth, attack=0.05).fit(X[a], y[a])
            shares[depth].append(tree.adversarial_score(X[b], y[b]))
        model = RobustBoostingClassifier(attack=0.05, **boosting).fit(X[a], y[a])
        shares[None].append(list(model.staged_certified_score(X[b], y[b]))[-1])
    return {depth: float(np.mean(of)) for depth, of in shares.items()}


@pytest.mark.parametrize("classes", [2, 3])
def test_the_simplest_of_the_best_on_the_folds_is_learned(classes: int) -> None:
    boosting: dict[str, Any] = {"n_estimators": 8, "learning_rate": 0.5, "max_depth": 2}
    taken = set()
    for seed in range(8):
        X, y = table(seed, classes=classes, noise=(0.1, 0.5, 2.0)[seed % 3])
        cv = RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=seed) if seed % 2 else 3
        model = RobustBoostingClassifier(attack=0.05, rivals=2, cv=cv, **boosting).fit(X, y)
        expected = counted_anew(X, y, StratifiedKFold(3) if cv == 3 else cv, 2, **boosting)
        assert model.rival_scores_ == pytest.approx(expected)
        best = max(expected.values())
        first = next(depth for depth in (0, 1, 2, None) if expected[depth] > best - 1e-9)
        assert model.rival_depth_ == first
        taken.add(first)
        if first is None:
            alone = RobustBoostingClassifier(attack=0.05, **boosting).fit(X, y)
            assert np.array_equal(alone.decision_function(X), model.decision_function(X))
            assert model.stopped_by_ == alone.stopped_by_
    assert len(taken) > 1


@pytest.mark.parametrize("classes", [2, 3])
def test_a_tree_in_the_place_of_boosting_answers_as_the_tree_does(classes: int, tmp_path: Path) -> None:
    seen = set()
    for seed in range(12):
        X, y = table(seed, classes=classes, noise=(0.3, 1.0)[seed % 2])
        names = np.array(["no", "perhaps", "yes"])[y]
        model = RobustBoostingClassifier(2, attack=0.05, learning_rate=0.01, rivals=2).fit(X, names)
        depth = model.rival_depth_
        seen.add(depth)
        if depth is None:
            continue
        assert model.stopped_by_ == "rival"
        assert model.n_estimators_ == 1
        tree = RobustTreeClassifier(max_depth=depth, attack=0.05).fit(X, names)
        assert np.array_equal(model.predict(X), tree.predict(X))
        certified = tree.adversarial_score(X, names)
        assert model.adversarial_score(X, names) == pytest.approx(certified)
        assert list(model.staged_certified_score(X, names)) == pytest.approx([certified])
        if classes == 2:  # how certain it is: the share that it certifies
            assert model.predict_proba(X).max(axis=1) == pytest.approx(np.full(len(X), max(certified, 0.5)), abs=1e-6)
        assert np.array_equal(list(model.staged_predict(X))[-1], model.predict(X))
        model.save(tmp_path / "model.json")
        saved = load_model(tmp_path / "model.json")
        assert np.array_equal(saved.predict(X), model.predict(X))
        assert saved.training["rival_depth"] == depth
        assert robustness(saved, X, names, 0.05).interval()[0] == pytest.approx(certified)
    assert {0, 1} <= seen


def test_where_time_is_short_boosting_is_taken_unjudged() -> None:
    X, y = table(0, n=300)
    model = RobustBoostingClassifier(10**6, max_depth=3, learning_rate=1e-3, attack=0.05, rivals=1, time_limit=0.4)
    model.fit(X, y)
    assert model.rival_scores_ == {}
    assert model.rival_depth_ is None
    assert model.stopped_by_ == "time limit"


def test_trees_that_would_take_hours_end_with_the_time_limit() -> None:
    rng = np.random.default_rng(5)
    X, y = rng.random((3000, 12)), rng.integers(0, 2, 3000)
    model = RobustBoostingClassifier(2, attack=0.01, rivals=6, tree_time_limit=1e6, time_limit=0.5).fit(X, y)
    assert model.rival_scores_ == {}
    assert model.rival_depth_ is None


def test_wrong_rivals_are_refused() -> None:
    X, y = table(0)
    with pytest.raises(InvalidInputError, match="rivals=-1"):
        RobustBoostingClassifier(2, attack=0.05, rivals=-1).fit(X, y)
    with pytest.raises(InvalidInputError, match="n_iter_no_change"):
        RobustBoostingClassifier(2, attack=0.05, rivals=1, n_iter_no_change=3).fit(X, y)
    with pytest.raises(InvalidInputError, match="cv=1 cannot be used"):
        RobustBoostingClassifier(2, attack=0.05, rivals=1, cv=1).fit(X, y)
    with pytest.raises(InvalidInputError, match="'rivals' is not a parameter of a member"):
        RobustBoostingClassifier(2, attack=0.05, members=[{"rivals": 1}]).fit(X, y)
