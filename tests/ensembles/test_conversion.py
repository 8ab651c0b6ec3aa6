"""An ensemble answers what the library's own predict answers, to the last tie."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC

from ensemble_models import MAKERS, TAKE_MISSING, fitted, near_thresholds, own_answers, table
from hardwood import InvalidInputError, as_ensemble, robustness
from hardwood.export import from_lightgbm


def cuts_of(ensemble: Any) -> list[Any]:
    feature = np.concatenate([tree.feature for tree in ensemble.trees])
    threshold = np.concatenate([tree.threshold for tree in ensemble.trees])
    return [np.unique(threshold[feature == j]) for j in range(ensemble.n_features)]


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("name", MAKERS)
def test_answers_are_the_librarys_on_random_training_and_boundary_points(name: str, classes: int) -> None:
    rng = np.random.default_rng(classes)
    X, y = table(rng, 400, 4, classes)
    model = fitted(name, X, y, 12, 4, seed=0)
    ensemble = as_ensemble(model)
    points = np.concatenate(
        [X, rng.random((5_000, 4)), rng.normal(0.5, 3, (600, 4)), near_thresholds(rng, cuts_of(ensemble), 4_000)]
    )
    assert len(points) == 10_000
    assert np.array_equal(ensemble.predict(points), own_answers(model, points))
    if name in TAKE_MISSING and ensemble.takes_missing:
        gaps = np.where(rng.random(points.shape) < 0.2, np.nan, points)
        assert np.array_equal(ensemble.predict(gaps), own_answers(model, gaps))


@pytest.mark.parametrize("name", ["forest", "histogram boosting", "xgboost", "lightgbm", "catboost"])
def test_missing_values_go_where_the_library_learned_to_send_them(name: str) -> None:
    rng = np.random.default_rng(7)
    X, y = table(rng, 400, 3, 2)
    X = np.where((rng.random(X.shape) < 0.3) & (y[:, None] == 1), np.nan, X)
    model = fitted(name, X, y, 10, 4, seed=0)
    points = np.where(rng.random((5_000, 3)) < 0.3, np.nan, rng.random((5_000, 3)))
    assert np.array_equal(as_ensemble(model).predict(points), own_answers(model, points))


@pytest.mark.parametrize("name", ["forest", "full forest", "bagging", "ada boost", "own forest"])
def test_ties_between_classes_are_broken_as_the_library_breaks_them(name: str) -> None:
    # Labels at random on few values: an even number of trees ties on a good part of the grid.
    rng = np.random.default_rng(3)
    X = rng.integers(0, 4, (60, 2)).astype(float)
    y = rng.choice(["a", "b", "c"], 60)
    grid = np.stack(np.meshgrid(np.arange(-1, 5, 0.25), np.arange(-1, 5, 0.25)), axis=-1).reshape(-1, 2)
    for seed in range(10):
        model = fitted(name, X, y, 4, 2, seed=seed)
        assert np.array_equal(as_ensemble(model).predict(grid), own_answers(model, grid)), seed


def test_lightgbm_takes_numbers_next_to_zero_for_zero() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, (200, 2)).astype(float)
    y = (X[:, 0] >= 0) ^ (X[:, 1] > 0)
    model = lightgbm.LGBMClassifier(n_estimators=5, num_leaves=4, n_jobs=1, verbose=-1).fit(X, y)
    ensemble = as_ensemble(model)
    one = lightgbm.LGBMClassifier(n_estimators=1, num_leaves=4, n_jobs=1, verbose=-1).fit(X, y)
    zero = float(np.float32(1e-35))
    ends = [0.0, zero, np.nextafter(zero, 1), np.nextafter(zero, 0), 1e-40, 0.5]
    points = np.array([[a, b] for a in [*ends, *np.negative(ends)] for b in [*ends, *np.negative(ends)]])
    assert np.array_equal(ensemble.predict(points), model.predict(points))
    assert np.array_equal(from_lightgbm(one).predict(points), one.predict(points))
    found = robustness(model, X, y, 1.0)
    assert (found.is_robust | found.is_fooled).all()


def test_xgboosts_cutoff_is_where_its_probability_passes_one_half() -> None:
    xgb = pytest.importorskip("xgboost")
    model = fitted("xgboost", np.array([[0.0], [1.0]] * 5), np.array([0, 1] * 5), 1, 1, seed=0)
    cutoff = as_ensemble(model).rule.cutoff
    around = np.array([np.float32(cutoff)] * 7)
    for i in range(7):
        for _ in range(abs(i - 3)):
            around[i] = np.nextafter(around[i], np.float32(np.sign(i - 3)))
    booster = model.get_booster()
    flat = booster.predict(xgb.DMatrix(np.zeros((7, 1)), base_margin=np.zeros(7)), output_margin=True)[0]
    probability = booster.predict(xgb.DMatrix(np.zeros((7, 1)), base_margin=around - flat))
    margin = booster.predict(xgb.DMatrix(np.zeros((7, 1)), base_margin=around - flat), output_margin=True)
    assert np.array_equal(probability > 0.5, margin >= np.float32(cutoff))


@pytest.mark.parametrize("classes", [2, 3])
def test_margins_of_xgboost_are_equal_to_the_last_bit(classes: int) -> None:
    pytest.importorskip("xgboost")
    rng = np.random.default_rng(5)
    X, y = table(rng, 500, 5, classes)
    model = fitted("xgboost", X, y, 60, 5, seed=0)
    points = rng.random((3_000, 5))
    theirs = model.predict(points, output_margin=True).reshape(len(points), -1)
    assert np.array_equal(as_ensemble(model).scores(points), theirs.astype(np.float64))


def test_boosters_and_saved_files_give_the_same_answers(tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    points = rng.random((1_000, 4))
    for classes in (2, 3):
        X, y = table(rng, 300, 4, classes)
        xgb = fitted("xgboost", X, y, 8, 3, seed=0)
        xgb.save_model(tmp_path / "xgb.json")
        lgb = fitted("lightgbm", X, y, 8, 3, seed=0)
        lgb.booster_.save_model(tmp_path / "lgb.txt")
        (tmp_path / "lgb.json").write_text(json.dumps(lgb.booster_.dump_model()))
        for model, others in (
            (xgb, [xgb.get_booster(), tmp_path / "xgb.json"]),
            (lgb, [lgb.booster_, tmp_path / "lgb.txt", str(tmp_path / "lgb.json")]),
        ):
            for other in others:
                assert np.array_equal(as_ensemble(other).predict(points), own_answers(model, points))


def test_a_catboost_file_without_the_library_is_read(tmp_path: Path) -> None:
    # x0 > 0.5 is bit 0, x1 > 0.25 is bit 1; leaves sum to 0 at (0, 0), where the first class is answered.
    tree = {
        "splits": [
            {"border": 0.5, "float_feature_index": 0, "split_type": "FloatFeature"},
            {"border": 0.25, "float_feature_index": 1, "split_type": "FloatFeature"},
        ],
        "leaf_values": [0, 1, -2, 3],
    }
    features = [
        {"feature_index": j, "flat_feature_index": j, "feature_id": "", "nan_value_treatment": "AsIs"} for j in range(2)
    ]
    data = {
        "features_info": {"float_features": features},
        "model_info": {"class_params": {"class_names": ["no", "yes"]}},
        "oblivious_trees": [tree],
        "scale_and_bias": [1, [0]],
    }
    (tmp_path / "cat.json").write_text(json.dumps(data))
    answers = as_ensemble(tmp_path / "cat.json").predict([[0, 0], [1, 0], [0, 1], [1, 1], [0.5, 0.25]])
    assert answers.tolist() == ["no", "yes", "no", "yes", "no"]


def test_early_stopping_counts_as_the_classifier_counts() -> None:
    pytest.importorskip("xgboost")
    from xgboost import XGBClassifier

    rng = np.random.default_rng(2)
    X, y = table(rng, 400, 3, 2)
    y = np.where(rng.random(400) < 0.3, 1 - y, y)
    model = XGBClassifier(n_estimators=60, max_depth=5, early_stopping_rounds=3, n_jobs=1)
    model.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], verbose=False)
    ensemble = as_ensemble(model)
    assert ensemble.n_trees == model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    assert np.array_equal(ensemble.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "holds no model"),
        ('{"learner": {}}', "not a model that can be used"),
        ("tree\nnum_class=1\n", "no tree"),
        ("{" * 100_000, "not a model that can be used"),
    ],
)
def test_files_that_are_no_models_are_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "model.json"
    path.write_text(content)
    with pytest.raises(InvalidInputError, match=message):
        as_ensemble(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tree: tree["left_children"].__setitem__(0, 0), "two parents"),
        (lambda tree: tree["left_children"].__setitem__(0, 999), "does not exist"),
        (lambda tree: tree["split_indices"].__setitem__(0, 77), "feature 77"),
        (lambda tree: tree["split_conditions"].__setitem__(0, float("nan")), "threshold"),
        (lambda tree: tree["split_type"].__setitem__(0, 1), "categories"),
        (lambda tree: tree["right_children"].pop(), "one length"),
    ],
)
def test_a_file_with_a_broken_tree_is_refused(tmp_path: Path, change: Any, message: str) -> None:
    pytest.importorskip("xgboost")
    X, y = table(np.random.default_rng(0), 100, 3, 2)
    data = json.loads(bytes(fitted("xgboost", X, y, 2, 3, seed=0).get_booster().save_raw("json")))
    change(data["learner"]["gradient_booster"]["model"]["trees"][0])
    (tmp_path / "model.json").write_text(json.dumps(data))
    with pytest.raises(InvalidInputError, match=message):
        as_ensemble(tmp_path / "model.json")


def test_what_cannot_be_converted_says_why() -> None:
    X, y = table(np.random.default_rng(0), 60, 3, 2)
    cases = [
        (LogisticRegression().fit(X, y), "LogisticRegression cannot be converted"),
        (RandomForestClassifier(), "not fitted"),
        (GradientBoostingClassifier(init=LogisticRegression(), n_estimators=2).fit(X, y), "LogisticRegression"),
        (AdaBoostClassifier(SVC(), n_estimators=2).fit(X, y), "SVC"),
        (make_pipeline(PolynomialFeatures(), RandomForestClassifier(2)).fit(X, y), "PolynomialFeatures"),
        (RandomForestClassifier(2).fit(X, np.stack([y, y], axis=1)), "2 outputs"),
    ]
    for model, message in cases:
        with pytest.raises(InvalidInputError, match=message):
            as_ensemble(model)


def test_an_ensemble_checks_the_rows_it_is_given() -> None:
    pd = pytest.importorskip("pandas")
    X, y = table(np.random.default_rng(0), 60, 3, 2)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    ensemble = as_ensemble(make_pipeline(StandardScaler(), GradientBoostingClassifier(n_estimators=2)).fit(frame, y))
    assert ensemble.feature_names == ("a", "b", "c")
    with pytest.raises(InvalidInputError, match="2 features"):
        ensemble.predict(X[:, :2])
    with pytest.raises(InvalidInputError, match="column 0 of X is 'c'"):
        ensemble.predict(frame[["c", "b", "a"]])
    with pytest.raises(InvalidInputError, match="NaN"):
        ensemble.predict(np.where(X < 0.1, np.nan, X))
