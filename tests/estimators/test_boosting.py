"""Robust boosting: its objective counted anew, its certificates against every cell, its file, stages and limits."""

from __future__ import annotations

import time
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from hardwood import InvalidInputError, RobustBoostingClassifier, as_ensemble, load_model, robustness
from hardwood.ensembles.boosting import learner, weak
from hardwood.ensembles.boosting.learner import best_constant
from hardwood.ensembles.verification import AttackedSamples

KINDS: dict[str, dict[str, Any]] = {
    "stumps": {},
    "exponential": {"loss": "exponential"},
    "sigmoid": {"loss": "sigmoid", "max_depth": 2},
    "trees": {"max_depth": 2},
    "deep": {"max_depth": 3, "subsample": 0.7, "max_features": "sqrt"},
    "optimal stumps": {"base": "search"},
    "optimal trees": {"base": "search", "max_depth": 2, "loss": "exponential"},
}

BLEND: dict[str, Any] = {
    "members": [{}, {"max_depth": 2, "loss": "sigmoid"}, {"max_depth": 3, "subsample": 0.7, "max_features": "sqrt"}]
}


def table(seed: int, n: int = 60, p: int = 3, classes: int = 2) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.random((n, p)).round(2)
    score = X[:, 0] + X[:, 1] * X[:, -1] + 0.2 * rng.random(n)
    return X, np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))


def cells(model: RobustBoostingClassifier, low: Any, high: Any) -> np.ndarray[Any, Any]:
    """One point of every cell of a box."""
    axes = []
    for j in range(len(low)):
        cuts = {float(b) for t in model.ensemble_.trees for f, b in zip(t.feature, t.threshold, strict=True) if f == j}
        axes.append([low[j], *(float(np.nextafter(b, np.inf)) for b in sorted(cuts) if low[j] <= b < high[j])])
    return np.array(list(product(*axes)))


@pytest.fixture(autouse=True)
def few_rounds_of_warming_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learner, "WARM_UP", 2)


def loss_of(margin: Any, loss: str) -> Any:
    formulas = {"exponential": np.exp(-margin), "sigmoid": 1 / (1 + np.exp(margin))}
    return formulas.get(loss, np.logaddexp(0, -margin))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", [*KINDS, "blend"])
def test_no_point_of_a_certified_box_is_misclassified(kind: str, classes: int) -> None:
    given = KINDS.get(kind, BLEND)
    for seed in range(3):
        X, y = table(seed, classes=classes)
        model = RobustBoostingClassifier(6, attack=0.05, learning_rate=0.5, random_state=seed, **given).fit(X, y)
        found = robustness(model, X, y, 0.05)
        low, high = AttackedSamples.prepare(model.ensemble_, X, y, 0.05).boxes()
        truth = [bool(np.all(model.predict(cells(model, low[i], high[i])) == y[i])) for i in range(len(X))]
        assert found.is_robust.tolist() == truth
        certified = list(model.staged_certified_score(X, y))
        assert len(certified) == model.n_estimators_
        assert certified[-1] <= np.mean(truth) == model.adversarial_score(X, y)
        if kind != "blend" and given.get("max_depth", 1) == 1 and classes == 2:
            assert certified[-1] == np.mean(truth)


@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_is_that_of_the_worst_point_of_every_box(kind: str) -> None:
    """Exact for stumps; for deeper trees what is minimised is never below the loss that an attacker forces."""
    for seed in range(3):
        X, y = table(seed, 40)
        options = {"learning_rate": 0.4, "l2_regularization": 0.1, **KINDS[kind]}
        model = RobustBoostingClassifier(5, attack=0.08, random_state=seed, **options).fit(X, y)
        low, high = AttackedSamples.prepare(model.ensemble_, X, y, 0.08).boxes()
        sign = np.where(y == 1, 1, -1)
        margin = np.array(
            [(sign[i] * model.decision_function(cells(model, low[i], high[i]))).min() for i in range(len(X))]
        )
        forced = np.mean(loss_of(margin, model.loss))
        claimed = model.history_[-1].loss
        assert claimed >= forced - 1e-9
        if model.max_depth == 1:
            assert claimed == pytest.approx(forced, rel=1e-9)
        losses = [state.loss for state in model.history_]
        if model.subsample == 1.0:
            assert all(b < a for a, b in pairwise(losses))


@pytest.mark.parametrize("depth", [1, 3])
def test_the_sigmoid_loss_gives_up_what_cannot_be_won(depth: int) -> None:
    """It falls round by round after the warm-up, and ends below what the logistic loss leaves of it."""
    ends = []
    for seed in range(4):
        X, y = table(seed, 80)
        y = np.where(np.random.default_rng(seed).random(len(y)) < 0.2, 1 - y, y)
        options: dict[str, Any] = {"attack": 0.06, "max_depth": depth, "learning_rate": 0.5}
        model = RobustBoostingClassifier(30, loss="sigmoid", **options).fit(X, y)
        losses = [state.loss for state in model.history_]
        assert all(b < a for a, b in pairwise(losses[2:])), seed
        other = RobustBoostingClassifier(30, **options).fit(X, y)
        low, high = AttackedSamples.prepare(other.ensemble_, X, y, 0.06).boxes()
        sign = np.where(y == 1, 1, -1)
        forced = [(sign[i] * other.decision_function(cells(other, low[i], high[i]))).min() for i in range(len(X))]
        ends.append((losses[-1], np.mean(loss_of(np.array(forced), "sigmoid"))))
    assert np.mean([ours < theirs for ours, theirs in ends]) > 0.5, ends


def test_weights_count_like_copies() -> None:
    X, y = table(0)
    weight = np.random.default_rng(0).integers(0, 3, len(X))
    copies = np.repeat(np.arange(len(X)), weight)
    one = RobustBoostingClassifier(8, attack=0.05).fit(X, y, weight)
    two = RobustBoostingClassifier(8, attack=0.05).fit(X[copies], y[copies])
    assert np.allclose(one.decision_function(X), two.decision_function(X), atol=1e-5)


def test_without_rounds_to_gain_the_prior_is_left() -> None:
    model = RobustBoostingClassifier(5, attack=10.0).fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    assert model.stopped_by_ == "no progress"
    assert model.n_estimators_ == 0
    assert model.predict([[0.0]]).tolist() == ["b"]
    assert model.decision_function([[0.0]])[0] == pytest.approx(np.log(2), abs=1e-6)
    assert best_constant(np.array([1, 1, -1], np.int8), np.ones(3), "exponential") == pytest.approx(np.log(2) / 2)


def test_a_drawn_feature_that_is_of_no_use_does_not_end_boosting() -> None:
    rng = np.random.default_rng(8)
    X = np.zeros((200, 6))  # five features that tell nothing
    X[:, 0] = rng.random(200)
    y = (X[:, 0] > 0.5).astype(int)
    model = RobustBoostingClassifier(30, attack=0.01, max_features=1, random_state=0).fit(X, y)
    assert (model.stopped_by_, model.n_estimators_) == ("rounds", 30)
    useless = RobustBoostingClassifier(30, attack=0.01, max_features=1, random_state=0).fit(X[:, 1:], y)
    assert useless.stopped_by_ == "no progress"


@pytest.mark.parametrize("given", [{}, BLEND])
def test_early_stopping_keeps_the_rounds_up_to_the_best_on_what_was_held_out(given: dict[str, Any]) -> None:
    X, y = table(1, 300)
    model = RobustBoostingClassifier(60, attack=0.05, n_iter_no_change=5, validation_fraction=0.3, **given).fit(X, y)
    scores = [state.validation for state in model.history_]
    assert scores[-1] == max(scores)
    assert scores.index(max(scores)) == len(scores) - 1
    assert model.n_estimators_ == len(scores) <= 60
    with pytest.raises(InvalidInputError, match="validation_fraction"):
        RobustBoostingClassifier(5, n_iter_no_change=1, validation_fraction=0.01).fit(X[:4], [0, 1, 0, 1])


@pytest.mark.parametrize("classes", [2, 3])
def test_the_score_of_members_is_the_mean_of_their_scores(classes: int) -> None:
    X, y = table(3, 80, classes=classes)
    given: dict[str, Any] = {"attack": 0.04, "learning_rate": 0.3, "random_state": 5}
    members: list[dict[str, Any]] = [
        {"max_depth": 1},
        {"max_depth": 2, "loss": "sigmoid"},
        {"max_depth": 3, "learning_rate": 0.5},
    ]
    blend = RobustBoostingClassifier(6, members=members, **given).fit(X, y)
    alone = [RobustBoostingClassifier(6, **{**given, **member}).fit(X, y) for member in members]
    expected = np.mean([model.decision_function(X) for model in alone], axis=0)
    # Values of leaves are rounded to multiples of 2^-24, once more after the division.
    assert np.allclose(blend.decision_function(X), expected, rtol=0, atol=(3 * 6 + 1) * 2.0**-24)
    assert blend.ensemble_.n_trees == sum(model.ensemble_.n_trees for model in alone)
    loss = np.mean([model.history_[-1].loss for model in alone])
    assert blend.history_[-1].loss == pytest.approx(loss)
    assert blend.history_[-1].certified <= blend.adversarial_score(X, y)
    # No two members draw the same: the mean of two that do is the model of one.
    drawing = RobustBoostingClassifier(6, members=[{}, {}], subsample=0.5, max_features=1, **given).fit(X, y)
    one = RobustBoostingClassifier(6, subsample=0.5, max_features=1, **given).fit(X, y)
    assert not np.allclose(drawing.decision_function(X), one.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("given", [{"max_depth": 2}, BLEND])
def test_stages_end_with_the_model(given: dict[str, Any]) -> None:
    X, y = table(2, classes=3)
    model = RobustBoostingClassifier(7, attack=0.03, **given).fit(X, y)
    assert np.array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    assert np.array_equal(list(model.staged_decision_function(X))[-1], model.decision_function(X))
    assert list(model.staged_score(X, y))[-1] == model.score(X, y)
    shares = model.predict_proba(X)
    assert np.allclose(shares.sum(axis=1), 1)
    assert np.array_equal(model.classes_[shares.argmax(axis=1)], model.predict(X))


def test_a_saved_model_answers_the_same(tmp_path: Path) -> None:
    X, y = table(3, classes=3)
    names = [f"f{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    model = RobustBoostingClassifier(6, attack={"f0": 0.05}, max_depth=2).fit(frame, y)
    model.save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    points = pd.DataFrame(np.random.default_rng(0).random((500, 3)).round(3), columns=names)
    assert np.array_equal(again.predict(points), model.predict(points))
    assert np.array_equal(again.ensemble.scores(points), model.ensemble_.scores(points))
    assert again.attack == model.attack_
    assert again.training["solver"] == "boosting"
    assert np.array_equal(as_ensemble(tmp_path / "model.json").predict(points), model.predict(points))


def test_missing_values_may_be_anything() -> None:
    X, y = table(4, 120)
    X = np.where(np.random.default_rng(4).random(X.shape) < 0.1, np.nan, X)
    model = RobustBoostingClassifier(8, attack=0.02, missing="reachable", learning_rate=0.5).fit(X, y)
    found = model.robustness(X, y)
    for i in np.flatnonzero(found.is_robust & np.isnan(X).any(axis=1)):
        points = np.tile(X[i], (50, 1))
        gaps = np.isnan(points)
        points[gaps] = np.random.default_rng(int(i)).random(int(gaps.sum())) * 3 - 1
        assert np.all(model.predict(points) == y[i])
        assert model.predict(X[[i]])[0] == y[i]
    with pytest.raises(InvalidInputError, match="NaN"):
        RobustBoostingClassifier(2).fit(X, y)


def test_categories_are_asked_for_and_what_may_become_what_is_respected() -> None:
    rng = np.random.default_rng(5)
    shop = rng.choice(["food", "games", "travel"], 90)
    amount = rng.random(90).round(2)
    y = np.where(shop == "travel", "check", np.where(amount > 0.6, "check", "ok"))
    frame = pd.DataFrame({"shop": pd.Categorical(shop), "amount": amount})
    attack = {"shop": {"travel": ["food"]}, "amount": 0.05}
    model = RobustBoostingClassifier(12, attack=attack, learning_rate=0.5).fit(frame, y)
    assert model.score(frame, y) > 0.8
    found = model.robustness(frame, y)
    disguised = frame.assign(
        shop=pd.Categorical(np.where(shop == "travel", "food", shop), frame["shop"].cat.categories)
    )
    assert np.all(model.predict(disguised)[found.is_robust] == y[found.is_robust])
    assert not found.is_robust[(shop == "travel") & (amount < 0.5)].any()


def test_a_time_limit_keeps_what_there_is() -> None:
    X, y = table(6, 4000, 10)
    started = time.monotonic()
    model = RobustBoostingClassifier(100_000, attack=0.01, time_limit=0.5).fit(X, y)
    assert time.monotonic() - started < 20
    assert model.stopped_by_ == "time limit"
    assert model.n_estimators_ == len(model.history_)


def test_an_optimal_tree_takes_no_more_than_the_time_that_is_left() -> None:
    X, y = table(0, n=3000, p=12, classes=3)
    model = RobustBoostingClassifier(5, attack=0.05, base="search", max_depth=4, tree_time_limit=1e6, time_limit=1.0)
    assert model.fit(X, y).stopped_by_ == "time limit"


def test_a_table_that_takes_longer_to_sort_than_there_is_time_gets_a_constant() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((3000, 400))
    model = RobustBoostingClassifier(5, attack=0.05, time_limit=0.01).fit(X, X[:, 0] > 0.3)
    assert (model.n_estimators_, model.stopped_by_) == (0, "time limit")
    assert model.predict(X).all()


def test_the_seed_decides_and_the_threads_do_not() -> None:
    X, y = table(7, 200)
    options: dict[str, Any] = {"attack": 0.02, "subsample": 0.5, "max_features": 2}
    one, two, other = (
        RobustBoostingClassifier(6, random_state=seed, n_jobs=jobs, **options).fit(X, y).decision_function(X)
        for seed, jobs in ((0, 1), (0, 2), (1, 1))
    )
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


def test_progress_is_told_round_by_round(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = table(8)
    RobustBoostingClassifier(3, attack=0.05, verbose=1).fit(X, y)
    assert [line.split(":")[0] for line in capsys.readouterr().err.splitlines()] == ["round 1", "round 2", "round 3"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_estimators": 0},
        {"learning_rate": 0.0},
        {"learning_rate": 1.5},
        {"max_depth": 0},
        {"loss": "hinge"},
        {"base": "best"},
        {"l2_regularization": -1.0},
        {"subsample": 0.0},
        {"max_features": "some"},
        {"n_iter_no_change": 0},
        {"time_limit": -1},
        {"members": []},
        {"members": "all"},
        {"members": {"max_depth": 1}},
        {"members": [3]},
        {"members": [{"n_estimators": 3}]},
    ],
)
def test_what_makes_no_sense_is_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(wrong))):
        RobustBoostingClassifier(**wrong).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("kind", ["stumps", "trees", "deep"])
def test_with_many_samples_some_thresholds_do_nearly_as_well_as_all(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table(3, n=400)
    X[:5, 0] = X[0, 0]
    attack = {0: (0.05, 0.03), 1: (float("inf"), 0.0), 2: 0.02}
    model = RobustBoostingClassifier(12, attack=attack, learning_rate=0.5, **KINDS[kind])
    exact = model.fit(X, y).history_[-1].loss
    monkeypatch.setattr(weak, "MANY_SAMPLES", 1)
    assert model.fit(X, y).history_[-1].loss == pytest.approx(exact, rel=0.05)
    assert model.history_[-1].certified <= model.adversarial_score(X, y)
    monkeypatch.setattr(weak, "MOST_BINS", 5)
    model.fit(X, y)
    thresholds = {float(b) for tree in model.ensemble_.trees for b in tree.threshold[tree.feature == 0]}
    assert len(thresholds) <= 5
    assert model.history_[-1].loss == pytest.approx(exact, rel=0.2)
    history = repr(model.history_)
    assert repr(model.set_params(n_jobs=2).fit(X, y).history_) == history
