"""Verdicts on ensembles under attack, against every cell of the box and against a mixed-integer program."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from ensemble_judges import cuts_of, least_margin, points_of_all_cells
from ensemble_models import MAKERS, TAKE_MISSING, fitted, own_answers, table
from hardwood import AttackModel, InvalidInputError, as_ensemble, robustness
from hardwood.ensembles import verification
from hardwood.ensembles.scores import Ensemble, Link, Rule, TreeOfScores
from hardwood.ensembles.verification import AttackedSamples, UndecidedAttackWarning

FEW, MANY = 8, int(os.environ.get("HARDWOOD_ENSEMBLES", "50"))


def check_against_all_cells(model: Any, X: Any, y: Any, attack: Any, seed: int) -> int:
    """Judge all samples whose cells can be enumerated; return how many."""
    ensemble = as_ensemble(model)
    found = robustness(model, X, y, attack)
    assert np.array_equal(found.is_robust, ~found.is_fooled), seed
    lower, upper = AttackedSamples.prepare(ensemble, X, y, attack).boxes()
    answers = own_answers if hasattr(model, "predict") else (lambda model, points: ensemble.predict(points))
    cuts = cuts_of(ensemble)
    cells = [points_of_all_cells(cuts, lower[i], upper[i], np.isnan(X[i])) for i in range(len(X))]
    known = {i: points for i, points in enumerate(cells) if points is not None}
    judged = list(known)
    if judged:
        points = np.concatenate(list(known.values()))
        owner = np.repeat(np.array(judged), [len(points) for points in known.values()])
        wrong = np.zeros(len(X), bool)
        wrong[owner[answers(model, points) != y[owner]]] = True
        assert np.array_equal(found.is_fooled[judged], wrong[judged]), seed
    fooled = np.flatnonzero(found.is_fooled)
    if len(fooled):
        examples = found.examples[fooled]
        assert np.all(answers(model, examples) != y[fooled]), seed
        inside = (lower[fooled] <= examples) & (examples <= upper[fooled])
        assert np.all(inside | (np.isnan(examples) & np.isnan(X[fooled]))), seed
    assert np.all(np.isnan(found.examples[~found.is_fooled]))
    return len(judged)


@pytest.mark.parametrize("models", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", MAKERS)
def test_verdicts_are_those_of_every_cell_of_the_box(name: str, models: int) -> None:
    judged = 0
    for seed in range(models):
        rng = np.random.default_rng(seed)
        classes = 2 if seed % 3 and name != "lightgbm one versus rest" else 3
        X, y = table(rng, 60, 3, classes)
        model = fitted(name, X, y, int(rng.integers(1, 7)), int(rng.integers(1, 4)), seed)
        rows = rng.choice(60, 6, replace=False)
        Z = X[rows]
        if name in TAKE_MISSING and as_ensemble(model).takes_missing and seed % 2:
            Z = np.where(rng.random(Z.shape) < 0.3, np.nan, Z)
        judged += check_against_all_cells(model, Z, y[rows], float(rng.choice([0.0, 0.02, 0.05, 0.2])), seed)
    assert judged > 3 * models


def random_ensemble(rng: np.random.Generator, link: Link, n_classes: int, whole: bool, missing: bool) -> Ensemble:
    """Trees that nobody learned: thresholds on a grid, leaves at random, so that bounds are loose and ties frequent."""
    p, n_scores = 3, 1 if link is Link.CUTOFF else n_classes
    trees = []
    for _ in range(int(rng.integers(1, 9))):
        rows: list[list[Any]] = []

        def grow(depth: int, rows: list[list[Any]] = rows) -> int:
            at = len(rows)
            leaf = depth == 0 or rng.random() < 0.15
            value = rng.integers(-2, 3, n_scores).astype(float) if whole else rng.normal(size=n_scores)
            rows.append([int(rng.integers(p)), int(rng.integers(1, 10)) / 10, -1, -1, value, bool(rng.random() < 0.5)])
            if not leaf:
                rows[at][2], rows[at][3] = grow(depth - 1), grow(depth - 1)
            return at

        grow(int(rng.integers(1, 5)))
        trees.append(TreeOfScores.ordered(*(np.array(column) for column in zip(*rows, strict=True))))
    rule = Rule(link, single=bool(rng.random() < 0.5), cutoff=float(rng.choice([0.0, 5e-324, 0.5])))
    base = rng.integers(-1, 2, n_scores).astype(float)
    return Ensemble(trees, base, rule, np.arange(max(2, n_classes)), p, takes_missing=missing)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("link", list(Link))
def test_verdicts_on_random_trees_are_those_of_every_cell(link: Link, whole: bool) -> None:
    judged = 0
    for seed in range(40):
        rng = np.random.default_rng(1000 * int(link) + seed)
        n_classes = 2 if link is Link.CUTOFF else int(rng.integers(2, 4))
        ensemble = random_ensemble(rng, link, n_classes, whole, missing=bool(seed % 2))
        X = rng.integers(0, 21, (8, 3)) / 20
        if ensemble.takes_missing:
            X = np.where(rng.random(X.shape) < 0.2, np.nan, X)
        y = ensemble.predict(X)
        y = np.where(rng.random(8) < 0.1, (y + 1) % n_classes, y)
        judged += check_against_all_cells(ensemble, X, y, float(rng.choice([0.1, 0.3, 0.6])), seed)
    assert judged > 200


def test_a_mixed_integer_program_agrees() -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = table(rng, 120, 5, 2 if seed % 2 else 3)
        name = ["forest", "gradient boosting", "xgboost", "lightgbm"][seed % 4]
        model = fitted(name, X, y, 8, 3, seed)
        ensemble = as_ensemble(model)
        rows = np.flatnonzero(own_answers(model, X) == y)[:6]
        attack = float(rng.choice([0.05, 0.1, 0.2]))
        found = robustness(model, X[rows], y[rows], attack)
        lower, upper = AttackedSamples.prepare(ensemble, X[rows], y[rows], attack).boxes()
        for k in range(len(rows)):
            truth = int(y[rows[k]])
            rivals = [r for r in range(len(ensemble.classes)) if r != truth]
            least = min(least_margin(ensemble, lower[k], upper[k], truth, rival) for rival in rivals)
            # Next to 0 the tolerances of the program decide nothing.
            if abs(least) > 1e-5:
                assert found.is_robust[k] == (least > 0), (seed, k, least)


def test_a_larger_radius_never_makes_a_sample_robust() -> None:
    rng = np.random.default_rng(4)
    X, y = table(rng, 200, 4, 2)
    for name in ("forest", "xgboost", "lightgbm", "ada boost"):
        model = fitted(name, X, y, 15, 4, 0)
        previous = np.ones(40, bool)
        for radius in (0.0, 0.01, 0.02, 0.04, 0.08, 0.16):
            robust = robustness(model, X[:40], y[:40], radius).is_robust
            assert not np.any(robust & ~previous)
            previous = robust
        at_zero = robustness(model, X[:40], y[:40], 0.0)
        assert np.array_equal(at_zero.is_robust, own_answers(model, X[:40]) == y[:40])
        assert set(at_zero.decided_by) <= {"trees", "as it is"}


def test_threads_and_order_of_rows_change_nothing() -> None:
    rng = np.random.default_rng(6)
    X, y = table(rng, 300, 4, 3)
    model = fitted("forest", X, y, 20, 5, 0)
    one = robustness(model, X[:60], y[:60], 0.05)
    many = robustness(model, X[:60][::-1], y[:60][::-1], 0.05, n_jobs=3)
    assert np.array_equal(one.is_robust, many.is_robust[::-1])
    assert np.array_equal(one.examples, many.examples[::-1], equal_nan=True)


def test_attacks_differ_by_feature_class_and_side() -> None:
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(8)
    X, y = table(rng, 200, 3, 2)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = RandomForestClassifier(15, max_depth=4, random_state=0).fit(frame, y)
    attack = AttackModel.per_class({1: {"a": "<", "c": (0, 0.1)}})
    found = robustness(model, frame, y, attack)
    untouched = y == 0
    right = model.predict(frame) == y
    assert np.array_equal(found.is_robust[untouched], right[untouched])
    moved = found.examples[found.is_fooled & right] - X[found.is_fooled & right]
    assert len(moved) > 0
    assert np.all(moved[:, 0] <= 0)
    assert np.all(moved[:, 1] == 0)
    assert np.all((moved[:, 2] >= 0) & (moved[:, 2] <= 0.1 + 1e-9))
    assert np.all(np.isfinite(moved))


def test_a_deadline_leaves_samples_open_and_the_interval_says_so() -> None:
    # Many unrelated trees on many features: nothing decides this in time.
    rng = np.random.default_rng(0)
    X = rng.random((300, 30))
    y = rng.integers(0, 2, 300)
    model = fitted("xgboost", X, y, 400, 8, 0)
    found = robustness(model, X[:40], y[:40], 0.3, time_limit=0.0)
    assert found.is_open.all()
    assert found.interval() == (0.0, 1.0)
    assert set(found.decided_by) == {"open"}
    assert "40 open" in repr(found)


def test_wrong_arguments_are_refused() -> None:
    X, y = table(np.random.default_rng(0), 50, 2, 2)
    model = RandomForestClassifier(3, random_state=0).fit(X, y)
    with pytest.raises(InvalidInputError, match="time_limit"):
        robustness(model, X, y, 0.1, time_limit=-1)
    with pytest.raises(InvalidInputError, match="n_jobs"):
        robustness(model, X, y, 0.1, n_jobs=0)
    with pytest.raises(InvalidInputError, match="3 features"):
        robustness(model, np.zeros((4, 3)), y[:4], 0.1)
    with pytest.raises(InvalidInputError, match="X has 50 samples"):
        robustness(model, X, y[:-1], 0.1)
    unknown = robustness(model, X[:2], [7, 7], 0.0)
    assert unknown.is_fooled.all()
    assert np.array_equal(unknown.examples, X[:2])


def test_random_points_never_fool_what_is_robust() -> None:
    rng = np.random.default_rng(9)
    X, y = table(rng, 300, 5, 3)
    for name in ("forest", "xgboost", "histogram boosting"):
        model = fitted(name, X, y, 25, 4, 0)
        found = robustness(model, X[:60], y[:60], 0.04)
        rows = np.flatnonzero(found.is_robust)
        assert len(rows) > 5
        points = X[rows, None, :] + rng.uniform(-0.04, 0.04, (len(rows), 400, 5))
        points[:, :200] = X[rows, None, :] + 0.04 * rng.choice([-1.0, 1.0], (len(rows), 200, 5))
        answers = own_answers(model, points.reshape(-1, 5)).reshape(len(rows), 400)
        assert np.all(answers == y[rows, None])


def test_a_limit_is_kept_where_every_tree_is_reached_as_a_whole() -> None:
    # Unbounded reach: no split is decided, so even setting the problem up takes long.
    rng = np.random.default_rng(3)
    X = rng.random((1500, 20))
    y = (X[:, 0] + rng.random(1500) > 1).astype(int)
    model = RandomForestClassifier(150, random_state=0).fit(X, y)
    found = robustness(model, X[:30], y[:30], {"*": "<>"}, time_limit=0.3)
    assert found.seconds.sum() < 3
    assert not found.is_robust.any()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_box_with_too_many_leaves_leaves_its_sample_open(n_jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table(np.random.default_rng(2), 80, 4, 2)
    model = RandomForestClassifier(30, random_state=0, n_jobs=1).fit(X, y)
    whole = robustness(model, X, y, 0.1)
    monkeypatch.setattr(verification, "MOST_BYTES", 48 * 200 * n_jobs)
    with pytest.warns(UndecidedAttackWarning, match="samples stay open: their boxes reach more leaves"):
        found = robustness(model, X, y, 0.1, n_jobs=n_jobs)
    assert 0 < found.is_open.sum() < len(y)
    assert not np.any(found.is_robust & ~whole.is_robust)
    assert not np.any(found.is_fooled & ~whole.is_fooled)
    assert robustness(model, X, y, 0.0, n_jobs=n_jobs).is_open.sum() == 0


def test_no_samples_are_no_mistake_of_the_labels() -> None:
    X, y = table(np.random.default_rng(0), 40, 3, 2)
    forest = RandomForestClassifier(3, random_state=0).fit(X, np.where(y == 1, "yes", "no"))
    found = robustness(forest, X[:0], [], 0.1)
    assert len(found.is_robust) == 0
    with pytest.raises(InvalidInputError, match="no samples"):
        found.interval()


def test_splits_that_ask_whether_a_value_is_missing_have_no_far_side_among_numbers() -> None:
    """scikit-learn gives them an infinite threshold; whatever a missing value may be, it is no infinity."""
    seen = 0
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X = rng.standard_cauchy((80, 3)).round(1)
        X[rng.random(X.shape) < 0.3] = np.nan
        y = rng.integers(0, 4, 80)
        forest = RandomForestClassifier(4, max_depth=5, random_state=seed).fit(X, y)
        seen += sum(int(np.isinf(tree.tree_.threshold).sum()) for tree in forest.estimators_)
        rows = rng.choice(80, 8, replace=False)
        check_against_all_cells(forest, X[rows], y[rows], 0.2, seed)
    assert seen > 0
