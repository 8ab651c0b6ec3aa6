from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import index_tree, make_tree, nested_of
from hardwood import InvalidInputError, Problem, Tree, adversarial_accuracy, attack_samples, robust_radius
from hardwood.problem.endpoints import candidates
from hardwood.tree.conversion import place, to_indices
from hardwood.tree.reach import certain_sizes, objective, reached_nodes, robust_errors
from oracle import TinyProblem, answer, is_fooled
from strategies import attack_of, problem_of, tiny_problems, trees


@st.composite
def problems_with_trees(draw: st.DrawFn) -> tuple[TinyProblem, Tree]:
    tiny = draw(tiny_problems())
    return tiny, draw(trees(len(tiny.X[0]), len(tiny.down)))


def exact_boxes(problem: Problem, i: int) -> tuple[list[float], list[float]]:
    """The boxes as the package's float64 arithmetic makes them; what is tested here is what follows from them."""
    return problem.lower[i].tolist(), problem.upper[i].tolist()


@settings(max_examples=500)
@given(problems_with_trees())
def test_a_sample_is_lost_iff_some_point_of_its_box_gets_another_answer(case: tuple[TinyProblem, Tree]) -> None:
    tiny, tree = case
    problem = problem_of(tiny, 3)
    lost = robust_errors(tree, problem)
    for i in range(tiny.n):
        assert lost[i] == is_fooled(tree, *exact_boxes(problem, i), tiny.y[i])
    expected = 1 - np.average(lost, weights=problem.weight)
    X = np.array(tiny.X, dtype=float)
    assert adversarial_accuracy(tree, X, np.array(tiny.y), attack_of(tiny), problem.weight) == pytest.approx(expected)


def test_a_sample_that_can_be_moved_across_all_numbers_is_moved() -> None:
    far = 1.797e308
    tree = make_tree([0, -1, -1], [-9e307, np.nan, np.nan], [1, -1, -1], [2, -1, -1], [-1, 0, 1], np.array([0, 1]), 1)
    assert adversarial_accuracy(tree, [[far]], [1], np.inf) == 0
    assert tree.predict(attack_samples(tree, [[far]], [1], np.inf)) == [0]


@settings(max_examples=300)
@given(problems_with_trees())
def test_attack_samples_are_inside_the_box_misclassified_and_nearest(case: tuple[TinyProblem, Tree]) -> None:
    tiny, tree = case
    problem = problem_of(tiny, 3)
    X, y = np.array(tiny.X, dtype=float), np.array(tiny.y)
    points = attack_samples(tree, X, y, attack_of(tiny))
    lost = robust_errors(tree, problem)
    np.testing.assert_array_equal(np.isnan(points).any(axis=1), ~lost)
    np.testing.assert_array_equal(np.isnan(points).all(axis=1), ~lost)
    assert np.all(tree.predict(points[lost]) != y[lost])
    assert np.all((points[lost] >= problem.lower[lost]) & (points[lost] <= problem.upper[lost]))
    for i in np.flatnonzero(lost):
        # No point of the same box that is nearer by more than rounding is misclassified.
        distance = np.abs(points[i] - X[i]).max() * (1 - 1e-9) - 1e-12
        if distance > 0:
            low = np.maximum(problem.lower[i], X[i] - distance)
            high = np.minimum(problem.upper[i], X[i] + distance)
            assert not is_fooled(tree, low.tolist(), high.tolist(), tiny.y[i])


@settings(max_examples=300)
@given(problems_with_trees())
def test_the_robust_radius_is_where_a_growing_attack_first_succeeds(case: tuple[TinyProblem, Tree]) -> None:
    tiny, tree = case
    X, y = np.array(tiny.X, dtype=float), np.array(tiny.y)
    attack = attack_of(tiny)
    radius = robust_radius(tree, X, y, attack)
    for i in range(tiny.n):
        point = tuple(tiny_value for tiny_value in X[i].tolist())
        assert (radius[i] == -np.inf) == (answer(tree, point) != tiny.y[i])
        if radius[i] == -np.inf:
            continue
        one, label = X[[i]], y[[i]]
        assert adversarial_accuracy(tree, one, label, attack.scaled(min(float(radius[i]), 1e6))) == 1
        if np.isfinite(radius[i]):
            assert adversarial_accuracy(tree, one, label, attack.scaled(float(radius[i]) * (1 + 1e-9) + 1e-9)) == 0


@settings(max_examples=300)
@given(tiny_problems(), st.data())
def test_placing_thresholds_keeps_or_lowers_what_the_indices_cost(tiny: TinyProblem, data: st.DataObject) -> None:
    problem = problem_of(tiny, 3)

    def draw_node(depth: int) -> object:
        if depth == 0 or data.draw(st.booleans()):
            return data.draw(st.integers(0, problem.n_classes - 1))
        j = data.draw(st.integers(0, problem.n_features - 1))
        t = data.draw(st.integers(-1, int(problem.n_ranks[j])))
        return (j, t, draw_node(depth - 1), draw_node(depth - 1))

    nested = draw_node(3)

    def lost_by_ranks(node: object, i: int) -> bool:
        if not isinstance(node, tuple):
            return node != tiny.y[i]
        j, t, left, right = node
        return (problem.lower_rank[i, j] <= t and lost_by_ranks(left, i)) or (
            problem.upper_rank[i, j] > t and lost_by_ranks(right, i)
        )

    tree = index_tree(nested)
    assert nested_of(tree) == nested
    placed = place(tree, problem)
    lost = robust_errors(placed, problem)
    by_ranks = np.array([lost_by_ranks(nested, i) for i in range(tiny.n)])
    assert not np.any(lost & ~by_ranks)
    # Only a branch that no point can enter makes a difference, and such branches repeat a feature on a path.
    features = tree.feature[tree.left >= 0]
    if len(set(features.tolist())) == len(features):
        np.testing.assert_array_equal(lost, by_ranks)
    # Every threshold keeps its distance from the ends of the boxes that reach it.
    np.testing.assert_array_equal(robust_errors(place(to_indices(placed, problem), problem), problem), lost)
    assert placed.without_empty_leaves is placed


def test_a_box_that_ends_on_the_threshold_stays_left() -> None:
    tree = make_tree([0, -1, -1], [0.5, np.nan, np.nan], [1, -1, -1], [2, -1, -1], [-1, 0, 1], np.array([0, 1]), 1)
    X = np.array([[0.25], [0.75]])
    # Quarters are what they are: [0, 0.5] is left of the threshold, [0.5, 1] has a point on it, which goes left.
    assert adversarial_accuracy(tree, X, [0, 1], 0.25) == 0.5
    assert adversarial_accuracy(tree, [[0.25]], [0], 0.25) == 1
    assert adversarial_accuracy(tree, X, [0, 1], 0.25 * (1 - 2e-9)) == 1
    np.testing.assert_allclose(robust_radius(tree, X, [0, 1]), [0.25, 0.25], rtol=2e-9)


def test_a_box_that_ends_within_rounding_of_the_threshold_reaches_both_sides() -> None:
    tree = make_tree([0, -1, -1], [0.5, np.nan, np.nan], [1, -1, -1], [2, -1, -1], [-1, 0, 1], np.array([0, 1]), 1)
    X = np.array([[0.4], [0.6]])
    assert adversarial_accuracy(tree, X, [0, 1], 0.1) == 0
    assert adversarial_accuracy(tree, X, [0, 1], 0.1 * (1 - 2e-9)) == 1
    # A sample that cannot be moved is compared as it is.
    assert adversarial_accuracy(tree, [[0.5], [np.nextafter(0.5, 1)]], [0, 1], 0.0) == 1


def test_a_leaf_that_no_point_can_enter_fools_nobody() -> None:
    # Left of 0.3 and then right of 0.5: empty, although the box [0, 1] reaches both sides of both splits.
    nested = [
        [0, 0.3, 1, 4, -1],
        [0, 0.5, 2, 3, -1],
        [-1, np.nan, -1, -1, 0],
        [-1, np.nan, -1, -1, 1],
        [-1, np.nan, -1, -1, 0],
    ]
    columns = [np.array(column) for column in zip(*nested, strict=True)]
    tree = make_tree(*columns, np.array([0, 1]), 1)
    assert adversarial_accuracy(tree, [[0.5]], [0], 0.5) == 1
    assert tree.without_empty_leaves.n_leaves == 2


def test_boxes_that_touch_in_decimals_cannot_be_separated() -> None:
    # 0.30 + 0.05 and 0.40 - 0.05 differ in the last bit.
    assert 0.30 + 0.05 != 0.40 - 0.05
    problem = Problem.from_data([[0.30], [0.40]], [0, 1], 0.05, 1)
    assert problem.upper_rank[0, 0] == problem.lower_rank[1, 0]
    assert len(candidates(problem.lower_rank[:, 0], problem.upper_rank[:, 0])) == 0


@settings(max_examples=300)
@given(tiny_problems(max_features=1))
def test_some_candidate_is_at_least_as_good_as_any_threshold(tiny: TinyProblem) -> None:
    problem = problem_of(tiny, 1)
    lower, upper = problem.lower_rank[:, 0], problem.upper_rank[:, 0]
    chosen = candidates(lower, upper)
    sides = [(set(np.flatnonzero(lower <= t)), set(np.flatnonzero(upper > t))) for t in chosen]
    everyone = set(range(tiny.n))
    for t in range(-1, int(problem.n_ranks[0]) + 1):
        left, right = set(np.flatnonzero(lower <= t)), set(np.flatnonzero(upper > t))
        # Either one child has everybody, which is no better than no split, or a candidate has no more on either side.
        assert everyone in (left, right) or any(a <= left and b <= right for a, b in sides)


@given(tiny_problems(), st.randoms())
def test_row_order_does_not_change_ranks(tiny: TinyProblem, random: object) -> None:
    order = list(range(tiny.n))
    random.shuffle(order)  # type: ignore[attr-defined]
    problem = problem_of(tiny, 1)
    X, y = np.array(tiny.X, dtype=float)[order], np.array(tiny.y)[order]
    shuffled = Problem.from_data(X, y, attack_of(tiny), 1)
    np.testing.assert_array_equal(shuffled.lower_rank, problem.lower_rank[order])
    np.testing.assert_array_equal(shuffled.upper_rank, problem.upper_rank[order])


@settings(max_examples=200)
@given(problems_with_trees())
def test_certain_sizes_are_of_the_samples_that_reach_one_leaf_only(case: tuple[TinyProblem, Tree]) -> None:
    tiny, tree = case
    problem = problem_of(tiny, 3)
    tree = tree.without_empty_leaves
    reached = reached_nodes(tree, problem)
    leaves = np.flatnonzero(tree.left < 0)
    expected = [sum(reached[i, leaf] and reached[i, leaves].sum() == 1 for i in range(tiny.n)) for leaf in leaves]
    assert certain_sizes(tree, problem, np.ones(problem.n_samples, np.int64)).tolist() == expected


def test_a_tree_that_breaks_a_limit_costs_infinitely_much() -> None:
    X, y = [[0.0], [1.0], [2.0]], [0, 1, 0]
    deep = index_tree((0, 0, 0, (0, 1, 1, 0)))
    problem = Problem.from_data(X, y, 0.0, 2)
    assume_ok = place(deep, problem)
    assert objective(assume_ok, problem) == 0
    assert objective(assume_ok, problem.replace(max_depth=1)) == np.inf
    assert objective(assume_ok, problem.replace(min_samples_leaf=1)) == 0
    assert objective(assume_ok, problem.replace(min_samples_leaf=2)) == np.inf
    assert objective(assume_ok, problem.replace(leaf_penalty=0.5)) == 1.5


def test_a_tree_that_answers_other_classes_or_has_other_features_is_refused_as_a_start() -> None:
    problem = Problem.from_data([[0.0], [1.0]], ["a", "b"], 0.0, 1)
    stump = make_tree([0, -1, -1], [0.5, np.nan, np.nan], [1, -1, -1], [2, -1, -1], [-1, 0, 1], np.array(["a", "c"]), 1)
    with pytest.raises(InvalidInputError, match="answers class 'c'; the classes of the data are 'a', 'b'"):
        to_indices(stump, problem)
    with pytest.raises(InvalidInputError, match="for 2 features, the data has 1"):
        to_indices(replace(stump, n_features=2), problem)
    # A class that no leaf answers does no harm.
    unused = replace(stump, classes=np.array(["a", "b", "c"]))
    assert to_indices(unused, problem).label.tolist() == [-1, 0, 1]
