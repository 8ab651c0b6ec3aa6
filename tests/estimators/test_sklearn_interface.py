from __future__ import annotations

import pickle
import warnings
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from hardwood import (
    AttackModel,
    GreedyRobustTreeClassifier,
    InvalidInputError,
    Problem,
    RobustBoostingClassifier,
    RobustForestClassifier,
    RobustRelabeler,
    RobustTreeClassifier,
    RobustTreeCV,
    TreantClassifier,
    Tree,
    adversarial_accuracy,
    as_ensemble,
    make_adversarial_scorer,
)
from hardwood.export import from_sklearn
from hardwood.tree.reach import robust_errors

# The check expects a class of weight 0.0001 to be given up. Trees do so, scikit-learn's too, because the check sets
# their min_weight_fraction_leaf; one that minimises errors without it keeps what costs nothing to keep.
NO_LEAST_WEIGHT = {"check_class_weight_classifiers": "asks for a least weight per leaf"}
FAST = [
    RobustTreeClassifier(),
    GreedyRobustTreeClassifier(missing="reachable"),
    GreedyRobustTreeClassifier(criterion="chen", impurity="entropy"),
    GreedyRobustTreeClassifier(criterion="adversarial-error"),
    RobustTreeCV(solver="greedy"),
    RobustRelabeler(),
    TreantClassifier(max_depth=2),
    RobustForestClassifier(n_estimators=5),
    RobustForestClassifier(n_estimators=8, max_depth=2, base="search", voting="soft", max_features=None),
    RobustBoostingClassifier(n_estimators=20),
    RobustBoostingClassifier(n_estimators=8, max_depth=2, loss="exponential", missing="reachable"),
]


# Folds and bootstrap samples are drawn from the rows: a row of weight 2 is not two rows. scikit-learn exempts its own
# forests and cross-validated estimators for the same reason.
DRAWS_ROWS = {"check_sample_weight_equivalence_on_dense_data": "folds and bootstrap samples are drawn from rows"}


def expected_failures(estimator: object) -> dict[str, str]:
    draws = isinstance(estimator, RobustTreeCV | RobustForestClassifier)
    if isinstance(estimator, RobustTreeClassifier):
        keeps_all = estimator.solver not in ("search", "greedy")  # the others refuse a least weight
    else:
        # Boosting weighs what it gives up by the loss, so that a class of next to no weight is given up.
        gives_up = hasattr(estimator, "min_weight_fraction_leaf") or isinstance(estimator, RobustBoostingClassifier)
        keeps_all = not gives_up
    return {**(NO_LEAST_WEIGHT if keeps_all else {}), **(DRAWS_ROWS if draws else {})}


@parametrize_with_checks(FAST, expected_failed_checks=expected_failures)
def test_scikit_learn_finds_nothing_to_complain_about(estimator: object, check: object) -> None:
    with warnings.catch_warnings():
        # scikit-learn's own checks warn about arrays and joblib set-ups that are none of our business.
        warnings.simplefilter("ignore")
        check(estimator)  # type: ignore[operator]


# Engines in child processes, one per fit, which takes its time.
@pytest.mark.slow
@parametrize_with_checks(
    [
        RobustTreeClassifier(max_depth=2, solver=solver, time_limit=10)
        for solver in ("milp", "binary-milp", "maxsat-lsu", "maxsat-rc2", "treant")
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learn_finds_nothing_to_complain_about_in_any_solver(estimator: object, check: object) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)  # type: ignore[operator]


@pytest.fixture
def iris() -> tuple[pd.DataFrame, pd.Series]:
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, y


def test_probabilities_are_shares_of_the_weight_that_certainly_reaches_the_leaf() -> None:
    X = np.array([[0.0], [0.2], [0.9], [1.0], [2.0], [2.1], [1.45]])
    y = np.array(["a", "a", "b", "a", "b", "b", "b"])
    weight = np.array([1.0, 1, 2, 1, 1, 1, 5])
    clf = GreedyRobustTreeClassifier(1, attack=0.1).fit(X, y, weight)
    (split,) = clf.tree_.threshold[clf.tree_.left >= 0]
    certainly_left = X[:, 0] + 0.1 <= split
    for side, point in ((certainly_left, [[-5.0]]), (X[:, 0] - 0.1 > split, [[5.0]])):
        total = weight[side].sum()
        share = weight[side & (y == "a")].sum() / total
        assert clf.predict_proba(point)[0] == pytest.approx([share, 1 - share])
        smoothed = (weight[side & (y == "a")].sum() + 1) / (total + 2)
        assert clf.predict_proba(point, laplace=1.0)[0] == pytest.approx([smoothed, 1 - smoothed])
    with pytest.raises(InvalidInputError, match="laplace=-1"):
        clf.predict_proba(X, laplace=-1)


@pytest.mark.filterwarnings("ignore::hardwood.WholeNumbersWarning")
def test_a_leaf_that_nobody_reaches_for_certain_says_its_own_class() -> None:
    X = [[0.0], [1.0]]
    clf = GreedyRobustTreeClassifier(1, attack=0.2).fit(X, [0, 1])
    wide = RobustTreeClassifier(0, solver="greedy", attack=10).fit(X, [0, 1])
    assert clf.predict_proba([[0.0], [1.0]]).tolist() == [[1, 0], [0, 1]]
    assert wide.predict_proba([[0.0]]).tolist() == [[0.5, 0.5]]
    clf.leaf_weight_ = np.zeros_like(clf.leaf_weight_)
    assert clf.predict_proba([[0.0], [1.0]]).tolist() == [[1, 0], [0, 1]]
    assert clf.predict_proba([[0.0], [1.0]], laplace=1).tolist() == [[0.5, 0.5], [0.5, 0.5]]


def test_importances_count_what_is_lost_without_a_split(iris: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = iris
    clf = GreedyRobustTreeClassifier(3, attack=0.2).fit(X, y)
    problem = Problem.from_data(X, y, 0.2, 3)
    tree = clf.tree_
    errors = robust_errors(tree, problem).sum()
    saved = np.zeros(4)
    for node in np.flatnonzero(tree.left >= 0):
        collapsed = []
        for answer in range(3):
            # Every leaf below the node gets the same answer, which makes the subtree a leaf.
            below = np.isin(np.arange(tree.n_nodes), _subtree(tree, int(node)))
            label = np.where(below & (tree.left < 0), answer, tree.label)
            collapsed.append(robust_errors(replace(tree, label=label), problem).sum())
        saved[tree.feature[node]] += max(0, min(collapsed) - errors)
    assert clf.feature_importances_ == pytest.approx(saved / saved.sum())
    assert clf.feature_importances_.sum() == pytest.approx(1)


def _subtree(tree: Tree, node: int) -> list[int]:
    if tree.left[node] < 0:
        return [node]
    return [node, *_subtree(tree, int(tree.left[node])), *_subtree(tree, int(tree.right[node]))]


def test_decision_paths_lead_from_the_root_to_the_leaf(iris: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = iris
    clf = GreedyRobustTreeClassifier(3).fit(X, y)
    path = clf.decision_path(X)
    leaf = clf.apply(X)
    assert path.shape == (150, clf.tree_.n_nodes)
    for i in range(0, 150, 10):
        nodes = np.flatnonzero(path[[i]].toarray()[0])
        assert nodes[0] == 0
        assert nodes[-1] == leaf[i]
        for node, following in pairwise(nodes):
            assert following in (clf.tree_.left[node], clf.tree_.right[node])


def test_the_scorer_scores_against_its_own_attack(iris: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = iris
    scorer = make_adversarial_scorer(0.2)
    for clf in (GreedyRobustTreeClassifier(2, attack=0.5).fit(X, y), DecisionTreeClassifier(max_depth=2).fit(X, y)):
        tree = clf.tree_ if hasattr(clf, "attack") else from_sklearn(clf)
        assert scorer(clf, X, y) == adversarial_accuracy(tree, X, y, 0.2)
    search = GridSearchCV(
        GreedyRobustTreeClassifier(), {"max_depth": [1, 2], "attack": [0.0, 0.2, 0.4]}, scoring=scorer, cv=3
    ).fit(X, y)
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()
    assert scorer(search, X, y) == scorer(search.best_estimator_, X, y)
    assert cross_val_score(RobustTreeClassifier(solver="greedy"), X, y, scoring=scorer).shape == (5,)
    # The attack is carried through the scaler, into units in which the tree sees another radius for each feature.
    piped = make_pipeline(StandardScaler(), GreedyRobustTreeClassifier(2, attack=0.5)).fit(X, y)
    scale = piped[0].scale_
    assert scorer(piped, X, y) == adversarial_accuracy(piped[1].tree_, piped[0].transform(X), y, 0.2 / scale)
    with pytest.raises(InvalidInputError, match="LogisticRegression cannot be converted"):
        scorer(LogisticRegression(max_iter=1000).fit(X, y), X, y)


def test_weights_are_routed_to_fit_and_to_the_scorer(iris: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = iris
    weight = np.where(y == 0, 0.001, 1.0)
    seen = []

    class Spy(GreedyRobustTreeClassifier):
        def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
            seen.append(sample_weight)
            return super().fit(X, y, sample_weight)

    with sklearn.config_context(enable_metadata_routing=True):
        clf = Spy(1).set_fit_request(sample_weight=True)
        scorer = make_adversarial_scorer(0.1).set_score_request(sample_weight=True)
        weighted = cross_val_score(clf, X, y, scoring=scorer, params={"sample_weight": weight}, cv=3)
        plain = cross_val_score(Spy(1), X, y, scoring=make_adversarial_scorer(0.1), cv=3)
    assert all(w is not None for w in seen[:3])
    assert all(w is None for w in seen[3:])
    assert weighted.tolist() != plain.tolist()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_of_either_kind_give_names_and_the_same_tree(iris: tuple[pd.DataFrame, pd.Series], frame: type) -> None:
    X, y = iris
    table = frame({name: X[name].to_numpy() for name in X})
    clf = RobustTreeClassifier(2, solver="greedy", attack={"petal width (cm)": 0.1}).fit(table, y.to_numpy())
    assert clf.feature_names_in_.tolist() == list(X.columns)
    assert clf.tree_ == RobustTreeClassifier(2, solver="greedy", attack=[0, 0, 0, 0.1]).fit(X, y).tree_
    assert clf.predict(table).tolist() == clf.predict(X).tolist()


@pytest.mark.parametrize("labels", [["no", "yes", "maybe"], [True, False, True], [2.0, -1.0, 7.0], [10, 20, 30]])
def test_labels_of_any_type_come_back_as_they_are(iris: tuple[pd.DataFrame, pd.Series], labels: list[object]) -> None:
    X, code = iris
    y = np.array(labels)[code]
    clf = GreedyRobustTreeClassifier(2).fit(X, y)
    assert clf.classes_.tolist() == np.unique(y).tolist()
    assert clf.predict(X).dtype == y.dtype
    assert clf.predict_proba(X).shape == (150, len(clf.classes_))


def test_a_clone_and_a_pickle_are_as_good_as_the_original(iris: tuple[pd.DataFrame, pd.Series], tmp_path: Path) -> None:
    X, y = iris
    clf = RobustTreeCV(attack=0.2, solver="greedy", max_depths=(1, 2)).fit(X, y)
    assert clone(clf).get_params() == clf.get_params()
    joblib.dump(clf, tmp_path / "clf.joblib")
    for copy in (pickle.loads(pickle.dumps(clf)), joblib.load(tmp_path / "clf.joblib")):
        assert copy.predict_proba(X).tolist() == clf.predict_proba(X).tolist()
        assert copy.tree_ == clf.tree_


def test_tags_say_what_the_estimators_take() -> None:
    tags = sklearn.utils.get_tags(RobustTreeClassifier(missing="reachable"))
    assert tags.input_tags.allow_nan
    assert tags.input_tags.categorical
    assert not sklearn.utils.get_tags(RobustTreeClassifier()).input_tags.allow_nan
    assert not sklearn.utils.get_tags(TreantClassifier()).input_tags.categorical
    assert not sklearn.utils.get_tags(TreantClassifier()).classifier_tags.multi_class


def test_notebooks_show_parameters_tree_and_proof(iris: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = iris
    clf = RobustTreeClassifier(2, attack=0.1, solver="greedy")
    assert repr(clf) == "RobustTreeClassifier(attack=0.1, max_depth=2, solver='greedy')"
    assert "hardwood-fitted" not in clf._repr_html_()
    clf.fit(X, y)
    for shown in (clf._repr_html_(), clf._repr_mimebundle_()["text/html"]):
        assert "petal length (cm) &lt;=" in shown
        assert "<svg role='img'" in shown
        assert "of 150 training weight" in shown
        assert "none: learned by a heuristic" in shown
    with sklearn.config_context(display="text"):
        assert not hasattr(clf, "_repr_html_")
        assert "text/html" not in clf._repr_mimebundle_()


@pytest.mark.parametrize("calibrated", [False, True])
@pytest.mark.parametrize("scaler", [None, StandardScaler(), MinMaxScaler()])
def test_fractions_of_the_range_are_those_of_each_training_fold(
    calibrated: bool, scaler: Any, iris: tuple[pd.DataFrame, pd.Series]
) -> None:
    X, y = iris[0].to_numpy(), iris[1].to_numpy()
    relative = AttackModel.fraction_of_range(0.05)
    tree = GreedyRobustTreeClassifier(2, attack=relative)
    estimator = CalibratedClassifierCV(tree, ensemble=False) if calibrated else tree
    model = estimator if scaler is None else make_pipeline(scaler, estimator)
    folds = StratifiedKFold(3)
    scores = cross_val_score(model, X, y, scoring=make_adversarial_scorer(relative), cv=folds)
    for score, (train, test) in zip(scores, folds.split(X, y), strict=True):
        fitted = clone(model).fit(X[train], y[train])
        expected = adversarial_accuracy(fitted, X[test], y[test], relative.fit(X[train]))
        assert score == pytest.approx(expected)


def test_who_does_not_know_the_ranges_says_so(iris: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = iris
    scorer = make_adversarial_scorer(AttackModel.fraction_of_range(0.1))
    with pytest.raises(InvalidInputError, match="does not know the ranges"):
        scorer(DecisionTreeClassifier(max_depth=2).fit(X, y), X, y)


def test_calibrated_trees_are_converted_with_the_same_answers(iris: tuple[pd.DataFrame, pd.Series]) -> None:
    X, y = iris[0].to_numpy(), iris[1].to_numpy()
    points = np.random.default_rng(0).uniform(X.min(0) - 1, X.max(0) + 1, (2000, 4))
    for inner in (GreedyRobustTreeClassifier(3, attack=0.1), DecisionTreeClassifier(max_depth=3, random_state=0)):
        for method in ("sigmoid", "isotonic"):
            model = CalibratedClassifierCV(inner, method=method, cv=3).fit(X, y)
            ensemble = as_ensemble(model)
            assert ensemble.predict(points).tolist() == model.predict(points).tolist()
    with pytest.raises(InvalidInputError, match="only of single trees"):
        as_ensemble(CalibratedClassifierCV(RandomForestClassifier(3)).fit(X, y))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # names of columns are no reason for remarks
        as_ensemble(CalibratedClassifierCV(GreedyRobustTreeClassifier(2), cv=3).fit(*iris))


class TestRobustTreeCV:
    def test_it_chooses_what_a_grid_search_would(self, iris: tuple[pd.DataFrame, pd.Series]) -> None:
        X, y = iris
        attack = AttackModel.fraction_of_range(0.1).fit(X.to_numpy())
        clf = RobustTreeCV(attack=attack, solver="greedy", max_depths=(3, 1, 2), radius_factors=(1, 1.5), n_jobs=2)
        clf.fit(X, y)
        search = GridSearchCV(
            RobustTreeClassifier(solver="greedy"),
            {"max_depth": [1, 2, 3], "attack": [attack, attack.scaled(1.5)]},
            scoring=make_adversarial_scorer(attack),
            cv=3,
        ).fit(X, y)
        scores = {
            (params["max_depth"], 1 if params["attack"] == attack else 1.5): mean
            for params, mean in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True)
        }
        ours = dict(
            zip(
                zip(clf.cv_results_["max_depth"], clf.cv_results_["radius_factor"], strict=True),
                clf.cv_results_["mean_test_score"],
                strict=True,
            )
        )
        assert {key: round(value, 12) for key, value in ours.items()} == pytest.approx(scores)
        assert clf.best_score_ == pytest.approx(search.best_score_)
        assert clf.tree_ == clf.best_estimator_.tree_
        assert clf.attack_ == attack

    @pytest.mark.filterwarnings("ignore::hardwood.WholeNumbersWarning")
    def test_of_equally_good_choices_it_takes_the_simplest(self) -> None:
        X = np.random.default_rng(0).permutation(np.arange(60.0))[:, None]
        y = (X[:, 0] >= 30).astype(int)
        X[y == 1] += 20
        clf = RobustTreeCV(solver="greedy", max_depths=(3, 2, 1), radius_factors=(1.2, 1), attack=0.1).fit(X, y)
        assert clf.best_params_ == {"max_depth": 1, "radius_factor": 1, "leaf_penalty": 0.0}
        assert clf.best_score_ == 1

    def test_classes_may_weigh_differently_but_accuracy_is_accuracy(self, iris: tuple[pd.DataFrame, pd.Series]) -> None:
        X, y = iris
        clf = RobustTreeCV(attack=0.2, solver="greedy", class_weight={0: 1, 1: 50, 2: 1}, max_depths=(1,)).fit(X, y)
        tree = GreedyRobustTreeClassifier(1, attack=0.2, class_weight={0: 1, 1: 50, 2: 1})
        by_hand = cross_val_score(tree, X, y, scoring=make_adversarial_scorer(0.2), cv=3)
        assert clf.cv_results_["split_test_scores"][0] == pytest.approx(by_hand)

    @pytest.mark.parametrize(
        "bad", [{"max_depths": ()}, {"max_depths": 3}, {"radius_factors": (-1,)}, {"leaf_penalties": "none"}]
    )
    def test_choices_that_are_none_are_refused(self, bad: dict[str, Any]) -> None:
        with pytest.raises(InvalidInputError, match=next(iter(bad))):
            RobustTreeCV(solver="greedy", **bad).fit([[0.0], [1.0]], [0, 1])
