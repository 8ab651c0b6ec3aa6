from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from hardwood import GreedyRobustTreeClassifier, InvalidInputError, Problem, Status, solve
from hardwood.data import datasets
from hardwood.tree.reach import objective
from oracle import TinyProblem, optimal_objective
from strategies import problem_of, tiny_problems


@settings(max_examples=300)
@given(tiny_problems())
def test_greedy_trees_are_valid_and_never_below_the_optimum(tiny: TinyProblem) -> None:
    for depth in (0, 1, 3):
        problem = problem_of(tiny, depth)
        result = solve(problem, "greedy")
        assert result.tree.depth <= depth
        assert result.objective == objective(result.tree, problem) >= optimal_objective(tiny, depth)
        assert result.status is Status.FEASIBLE or result.objective == 0


def test_without_an_attacker_the_split_with_the_least_gini_impurity_is_taken() -> None:
    # Feature 1 separates the classes, feature 0 nearly does.
    X = np.array([[0.0, 5.0], [1.0, 1.0], [2.0, 4.0], [3.0, 2.0], [4.0, 6.0]])
    y = ["a", "b", "a", "b", "a"]
    tree = GreedyRobustTreeClassifier(1).fit(X, y).tree_
    assert (tree.feature[0], tree.threshold[0]) == (1, 3.0)
    assert tree.predict(X).tolist() == y


@pytest.mark.filterwarnings("ignore::hardwood.WholeNumbersWarning")
def test_the_attacker_moves_samples_to_where_the_impurity_is_worst() -> None:
    """By hand: four samples at 0, 1, 2, 3 with classes 0 0 1 1 and radius 0.6.

    Between 1 and 2 the boxes [0.4, 1.6] and [1.4, 2.6] overlap. At 1.5 both middle samples are movable: certainly left
    one of class 0, certainly right one of class 1. Both children would have the parent's shares if the two movable
    samples swapped sides: impurity 1/2, no better than no split. At 1.0 (between 0.6 and 1.4) only the second sample,
    whose box is [0.4, 1.6], is movable: left 0, right 1 1, movable 0. Left alone {0} and {0, 1, 1}: impurity
    3/4 * 4/9 = 1/3; moved {0, 0}, {1, 1}: 0. The attacker takes 1/3, the split is worth it; so is its
    mirror image at 2.0.
    """
    X = np.arange(4.0).reshape(-1, 1)
    tree = GreedyRobustTreeClassifier(1, attack=0.6).fit(X, [0, 0, 1, 1]).tree_
    assert tree.threshold[0] in (1.0, 2.0)


def test_a_feature_the_attacker_controls_is_of_no_use() -> None:
    X = np.array([[0.0, 0.1], [0.1, 0.9], [0.9, 0.2], [1.0, 0.8], [0.2, 0.0], [0.8, 1.0]])
    y = [0, 0, 1, 1, 0, 1]
    attacked = GreedyRobustTreeClassifier(2, attack=["<>", 0.0]).fit(X, y)
    assert 0 not in attacked.tree_.feature
    assert GreedyRobustTreeClassifier(1).fit(X, y).tree_.feature[0] == 0
    # robust_weight=0 learns as if nobody attacked.
    assert GreedyRobustTreeClassifier(1, attack=["<>", 0.0], robust_weight=0.0).fit(X, y).tree_.feature[0] == 0


def test_weights_count_like_repeated_samples() -> None:
    rng = np.random.default_rng(7)
    X, y = rng.integers(0, 8, (40, 3)) / 8, rng.integers(0, 3, 40)
    times = rng.integers(1, 4, 40)
    weighted = GreedyRobustTreeClassifier(1, attack=0.0).fit(X, y, sample_weight=times)
    repeated = GreedyRobustTreeClassifier(1, attack=0.0).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert weighted.tree_ == repeated.tree_


def test_a_random_subset_of_features_follows_the_seed() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.random((60, 12)), rng.integers(0, 2, 60)

    def grown(seed: int) -> object:
        return GreedyRobustTreeClassifier(3, attack=0.02, max_features="sqrt", random_state=seed).fit(X, y).tree_

    assert grown(0) == grown(0)
    assert any(grown(0) != grown(seed) for seed in range(1, 5))


def test_leaves_and_nodes_can_be_required_to_be_large() -> None:
    rng = np.random.default_rng(5)
    X, y = rng.random((100, 4)), rng.integers(0, 2, 100)
    free = GreedyRobustTreeClassifier(6).fit(X, y)
    assert GreedyRobustTreeClassifier(6, min_samples_split=101).fit(X, y).get_n_leaves() == 1
    large = GreedyRobustTreeClassifier(6, min_samples_leaf=20).fit(X, y)
    assert np.bincount(large.apply(X))[np.unique(large.apply(X))].min() >= 20
    assert large.get_n_leaves() < free.get_n_leaves()


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"criterion": "magic"}, "'magic'"),
        ({"robust_weight": 1.5}, "1.5"),
        ({"min_samples_split": 1}, "min_samples_split=1"),
        ({"min_samples_leaf": 0}, "min_samples_leaf=0"),
        ({"max_features": 0}, "max_features=0"),
        ({"max_features": "all"}, "'all'"),
        ({"max_depth": -1}, "max_depth=-1"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        GreedyRobustTreeClassifier(**parameters).fit([[0.0], [1.0]], [0, 1])  # type: ignore[arg-type]


def test_errors_on_the_papers_data_are_those_of_the_published_code(
    paper_data: object, known_answers: list[dict[str, str]]
) -> None:
    ours, published = [], []
    for row in known_answers:
        data = datasets.load(row["dataset"], paper_data)  # type: ignore[arg-type]
        part = datasets.paper_split(data.X, data.y)
        for depth in (1, 2, 3, 4):
            problem = Problem.from_data(part.X_train, part.y_train, float(row["epsilon"]), depth)
            ours.append(solve(problem, "greedy").objective)
            published.append(float(row[f"groot_depth{depth}"]))
    assert np.mean(np.equal(ours, published)) > 0.5
    assert sum(ours) <= 1.02 * sum(published)
