from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score

from hardwood import (
    AttackModel,
    GreedyRobustTreeClassifier,
    InvalidInputError,
    RobustForestClassifier,
    RobustTreeClassifier,
    Tree,
    adversarial_accuracy,
    load_model,
)
from hardwood.data.extremes import extremes


def test_a_frame_with_any_labels_and_an_attack_by_name() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    y = y.map({0: "setosa", 1: "versicolor", 2: "virginica"})
    clf = GreedyRobustTreeClassifier(2, attack={"petal length (cm)": 0.6, "*": 0.3}).fit(X, y)
    assert clf.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert set(clf.predict(X)) <= set(clf.classes_)
    assert clf.feature_names_in_.tolist() == list(X.columns)
    assert clf.adversarial_score(X, y) < clf.score(X, y)
    assert clf.adversarial_score(X, y, attack=0.0) == clf.score(X, y)
    assert "petal" in str(clf.tree_)


def test_fit_changes_no_parameter_and_returns_self() -> None:
    X, y = load_iris(return_X_y=True)
    attack = AttackModel.fraction_of_range(0.1)
    clf = GreedyRobustTreeClassifier(2, attack=attack)
    before = clf.get_params()
    assert clf.fit(X, y) is clf
    assert clf.get_params() == before
    assert clf.attack is attack
    assert clf.attack_.reach(4)[0][0] == pytest.approx(0.1 * (X.max(axis=0) - X.min(axis=0)))
    again = clone(clf).fit(X, y)
    assert again.tree_ == clf.tree_


def test_the_score_under_attack_is_the_exact_one() -> None:
    X, y = load_iris(return_X_y=True)
    clf = GreedyRobustTreeClassifier(3, attack=0.1).fit(X, y)
    assert clf.adversarial_score(X, y) == adversarial_accuracy(clf.tree_, X, y, 0.1)
    assert np.mean(clf.robust_radius(X, y) >= 0.1) == clf.adversarial_score(X, y)
    assert np.mean(np.isnan(clf.attack_samples(X, y)).all(axis=1)) == clf.adversarial_score(X, y)
    assert clf.get_n_leaves() == len(np.unique(clf.apply(X)))


def test_a_saved_tree_is_the_same_tree(tmp_path: Path) -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    clf = GreedyRobustTreeClassifier(3, attack={"petal width (cm)": (0.1, float("inf"))}).fit(X, y)
    clf.save(tmp_path / "model.json")
    model = load_model(tmp_path / "model.json")
    assert model.tree == clf.tree_
    assert model.attack == clf.attack_
    assert model.predict(X).tolist() == clf.predict(X).tolist()
    assert model.training["solver"] == "greedy"
    assert pickle.loads(pickle.dumps(clf)).predict(X).tolist() == clf.predict(X).tolist()


def test_estimators_work_in_cross_validation() -> None:
    X, y = load_iris(return_X_y=True)
    assert cross_val_score(GreedyRobustTreeClassifier(3), X, y).mean() > 0.9


def test_columns_are_named_in_complaints() -> None:
    table = pd.DataFrame({"age": [1.0, 2.0], "city": ["Delft", "Leiden"]})
    with pytest.raises(InvalidInputError, match="column 'city' holds 'Delft'"):
        GreedyRobustTreeClassifier().fit(table, [0, 1])
    table = pd.DataFrame({"age": [1.0, 2.0], "height": [1.0, np.nan]})
    with pytest.raises(InvalidInputError, match="NaN in column 'height', row 1"):
        GreedyRobustTreeClassifier().fit(table, [0, 1])


def test_parameters_of_the_solver_are_checked() -> None:
    X, y = [[0.0], [1.0]], [0, 1]
    with pytest.raises(InvalidInputError, match="no choice of engine"):
        RobustTreeClassifier(solver="greedy", engine="highs").fit(X, y)
    with pytest.raises(InvalidInputError, match="n_jobs=0"):
        RobustTreeClassifier(solver="greedy", n_jobs=0).fit(X, y)
    with pytest.raises(InvalidInputError, match="'quantum' is not known"):
        RobustTreeClassifier(solver="quantum").fit(X, y)


def test_a_random_state_object_is_as_good_as_a_seed() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((50, 9)), rng.integers(0, 2, 50)

    def learned(random_state: object) -> Tree:
        return GreedyRobustTreeClassifier(3, max_features=2, random_state=random_state).fit(X, y).tree_

    # The seed is drawn from the object, so equal states give equal trees and the next draw another one.
    state = np.random.RandomState(4)
    first = learned(state)
    assert first == learned(np.random.RandomState(4))
    assert first == learned(int(np.random.RandomState(4).randint(2**31 - 1)))
    assert any(learned(state) != first for _ in range(20))
    assert learned(None) == learned(0)


def test_the_names_of_papers_are_solvers() -> None:
    X, y = load_iris(return_X_y=True)
    groot = RobustTreeClassifier(2, attack=0.2, solver="GROOT").fit(X, y)
    assert groot.tree_ == GreedyRobustTreeClassifier(2, attack=0.2).fit(X, y).tree_
    chen = RobustTreeClassifier(2, attack=0.2, solver="chen-ig").fit(X, y)
    assert chen.tree_ == GreedyRobustTreeClassifier(2, attack=0.2, criterion="chen", impurity="entropy").fit(X, y).tree_
    with pytest.raises(InvalidInputError, match="'forest' is no solver"):
        RobustTreeClassifier(solver="forest").fit(X, y)


@pytest.mark.parametrize(
    ("estimator", "parameters", "message"),
    [
        (RobustTreeClassifier, {"n_jobs": 100_000}, "n_jobs=100000"),
        (RobustTreeClassifier, {"n_jobs": "all"}, "n_jobs='all'"),
        (RobustTreeClassifier, {"n_jobs": 1.5}, "n_jobs=1.5"),
        (RobustForestClassifier, {"n_jobs": 100_000}, "n_jobs=100000"),
        (RobustForestClassifier, {"n_estimators": 0}, "n_estimators=0"),
        (RobustForestClassifier, {"n_estimators": 1.5}, "n_estimators=1.5"),
        (RobustForestClassifier, {"n_estimators": 10**12}, "n_estimators=1000000000000"),
        (RobustForestClassifier, {"bootstrap": "yes"}, "bootstrap='yes'"),
        (RobustForestClassifier, {"random_state": -1}, "random_state=-1"),
        (RobustTreeClassifier, {"random_state": -1}, "random_state=-1"),
        (RobustTreeClassifier, {"random_state": 2**40}, "random_state="),
        (RobustTreeClassifier, {"time_limit": "soon"}, "time_limit='soon'"),
        (RobustTreeClassifier, {"time_limit": float("nan")}, "time_limit=nan"),
        (RobustTreeClassifier, {"max_gap": "small"}, "max_gap='small'"),
        (RobustTreeClassifier, {"max_depth": "deep"}, "max_depth='deep'"),
        (RobustTreeClassifier, {"solver": None}, "None is not known"),
        (RobustTreeClassifier, {"solver_options": [1]}, "solver_options=[1]"),
        (RobustTreeClassifier, {"class_weight": 5}, "class_weight=5"),
        (RobustTreeClassifier, {"class_weight": {0: "much"}}, "class_weight"),
        (RobustTreeClassifier, {"class_weight": {0: float("inf")}}, "class_weight"),
        (RobustTreeClassifier, {"class_weight": {0: 0, 1: 0}}, "class_weight"),
    ],
)
def test_parameters_of_a_wrong_kind_are_named(estimator: Any, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        estimator(**parameters).fit([[0.0], [1.0], [2.0]], [0, 1, 1])
    assert message in str(caught.value)


@pytest.mark.parametrize("laplace", [-1, float("nan"), float("inf"), "one", None, [1.0]])
def test_laplace_must_be_a_number(laplace: Any) -> None:
    clf = GreedyRobustTreeClassifier(1).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(InvalidInputError, match="laplace="):
        clf.predict_proba([[0.0]], laplace=laplace)


@pytest.mark.parametrize(
    "estimator", [GreedyRobustTreeClassifier(1), RobustForestClassifier(3), RobustTreeClassifier(1)]
)
def test_a_class_without_weight_stays_a_class(estimator: Any) -> None:
    X, y = np.arange(6.0)[:, None], np.array([0, 0, 1, 1, 2, 2])
    clf = estimator.fit(X, y, sample_weight=[1, 1, 1, 1, 0, 0])
    assert clf.classes_.tolist() == [0, 1, 2]
    assert clf.predict_proba(X).shape == (6, 3)
    assert set(clf.predict(X)) <= {0, 1}


BAD_TABLES: dict[str, Any] = {
    "nothing": None,
    "text": "table.csv",
    "bytes": b"1,2",
    "a dict": {"a": [1.0, 2.0]},
    "dates": np.array([["2020-01-01"], ["2020-01-02"]], dtype="datetime64[D]"),
    "a frame of dates": pd.DataFrame({"day": pd.to_datetime(["2020-01-01", "2020-01-02"])}),
    "masked": np.ma.masked_array([[1.0], [2.0]], mask=[[False], [True]]),
    "a number": 5.0,
    "one row": [1.0, 2.0],
}


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize("kind", BAD_TABLES)
@pytest.mark.parametrize("estimator", [GreedyRobustTreeClassifier(1), RobustForestClassifier(2)])
def test_what_is_no_table_of_numbers_is_refused(estimator: Any, kind: str) -> None:
    clf = clone(estimator)
    # Shapes are scikit-learn's to complain about.
    expected = ValueError if kind in ("a number", "one row") else InvalidInputError
    with pytest.raises(expected, match=r"X|column|array"):
        clf.fit(BAD_TABLES[kind], [0, 1])
    clf.fit([[0.0], [1.0]], [0, 1])
    for ask in (clf.predict, lambda X: clf.score(X, [0, 1]), lambda X: clf.adversarial_score(X, [0, 1])):
        with pytest.raises(expected, match=r"X|column|array"):
            ask(BAD_TABLES[kind])


@pytest.mark.parametrize("solver", ["search", "greedy"])
def test_a_fit_leaves_its_data_as_they_are_and_free(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    for most in (10**9, 10):
        monkeypatch.setattr(sys.modules["hardwood.solvers.solve"], "MOST_CELLS_KEPT", most)
        X = rng.random((60, 3))
        y, before = (X[:, 0] > 0.5).astype(int), X.copy()
        clf = RobustTreeClassifier(2, attack=0.01, solver=solver).fit(X, y)
        assert X.flags.writeable
        np.testing.assert_array_equal(X, before)
        kept = clf.result_.problem
        assert (kept is None) == (most == 10)
        if kept is not None:
            X[:] = -1.0
            np.testing.assert_array_equal(kept.values, before)
            assert clf.result_.index_tree.n_nodes == clf.tree_.n_nodes
        else:
            with pytest.raises(InvalidInputError, match="does not hold its data"):
                _ = clf.result_.index_tree


def test_extremes_of_many_rows_are_those_of_all_of_them() -> None:
    X = np.zeros((10_000, 4))
    X[9_000, 0], X[9_500, 0] = 0.5, 0.25  # the first row with decimals is behind many without
    X[0, 1] = -1.5
    X[5, 2], X[6, 2] = np.nan, 3.0
    np.testing.assert_array_equal(extremes(X), [[0, -1.5, 0, 0], [0.5, 0, 3, 0], [0.5, -1.5, 0, 0]])
