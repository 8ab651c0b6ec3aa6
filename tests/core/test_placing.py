"""Thresholds at maximum margin: the core against the same rules in Python, and gaps against indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from hardwood import Problem, _core
from hardwood.arrays import RankArray
from hardwood.attack.model import AttackModel
from hardwood.problem.endpoints import FeatureEnds, maximum_margin
from hardwood.solvers.greedy import GreedyLearner
from hardwood.tree.conversion import place, tree_of
from hardwood.tree.draft import Fork, Leaf, grow
from hardwood.tree.index_tree import IndexTree
from hardwood.tree.reach import objective
from hardwood.tree.tree import Tree


def margin_around(index: int, lower_rank: RankArray, upper_rank: RankArray, ends: FeatureEnds) -> tuple[float, float]:
    """Return the endpoints next to ``index`` as far as the given samples see it; infinite where there is none.

    Parameters
    ----------
    index : int
        Of the threshold.
    lower_rank, upper_rank : array of shape (m,)
        Ranks of the samples that reach the node.
    ends : FeatureEnds
        Those of all samples on the feature of the split.
    """
    ranks = np.concatenate([lower_rank, upper_rank])
    ranks = ranks[(ranks >= 0) & (ranks < ends.n_ranks)]
    below, above = ranks[ranks <= index], ranks[ranks > index]
    # Where the node's own samples have no end on one side, the ends of all samples decide.
    under = int(below.max()) if len(below) else min(index, ends.n_ranks - 1)
    over = int(above.min()) if len(above) else max(index + 1, 0)
    return (
        float(ends.last[under]) if under >= 0 and ends.n_ranks > 0 else -np.inf,
        float(ends.first[over]) if over < ends.n_ranks else np.inf,
    )


def placed_plainly(tree: IndexTree, problem: Problem) -> Tree:
    """Return what `place` returns, but for margins."""
    placing = _Placing(tree, problem)
    draft = grow(_Here(0, np.arange(problem.n_samples), {}), placing.node)
    for node in range(len(draft) - 1, -1, -1):
        if not draft.is_leaf(node):
            left, right = draft.left[node], draft.right[node]
            if draft.is_leaf(left) and draft.is_leaf(right) and draft.answer[left] == draft.answer[right]:
                draft.cut(node, draft.answer[left])
    return tree_of(draft, problem)


def _placed(low: float, high: float, integer: bool) -> float:
    """Return a threshold midway between two ends; between whole numbers where the feature has no others."""
    middle = maximum_margin(low, high)
    between = np.floor(middle) + 0.5
    return float(between) if integer and low <= between < high else middle


class _Interval(NamedTuple):
    """What the splits above a node leave of a feature: threshold indices and thresholds strictly in between."""

    first_index: int
    last_index: int
    low: float
    high: float


class _Here(NamedTuple):
    """A node of an `IndexTree`, the samples that reach it, and what its path leaves of the features."""

    node: int
    samples: NDArray[np.intp]
    inside: dict[int, _Interval]


class _Placing:
    """Finds the thresholds of one tree, and collects the margin of each node."""

    def __init__(self, tree: IndexTree, problem: Problem) -> None:
        self.tree = tree
        self.problem = problem
        tests = (None,) * problem.n_features if problem.encoding is None else problem.encoding.tests
        self.is_test = [test is not None for test in tests]
        self.integer = np.zeros(problem.n_features, bool) if problem.limits is None else problem.limits.integer
        self.margin: list[tuple[float, float]] = []

    def node(self, here: _Here) -> Leaf | Fork[_Here]:
        """Return the first split from here on that is needed, with its threshold, or the leaf."""
        tree, node = self.tree, here.node
        while tree.left[node] >= 0:
            split = self._split(_Here(node, here.samples, here.inside))
            if isinstance(split, Fork):
                return split
            node = split
        self.margin.append((np.nan, np.nan))
        return Leaf(int(tree.label[node]))

    def _split(self, here: _Here) -> Fork[_Here] | int:
        """Return the split at a node, or the child that takes its place where the other one is not needed."""
        node, samples, inside = here
        j, t = int(self.tree.feature[node]), int(self.tree.index[node])
        ends = self.problem.ends_of(j)
        left, right = int(self.tree.left[node]), int(self.tree.right[node])
        lower, upper = ends.lower_rank[samples], ends.upper_rank[samples]
        goes_left, goes_right = lower <= t, upper > t
        above = inside.get(j, _Interval(-2, ends.n_ranks + 1, -np.inf, np.inf))
        if self.is_test[j] and not 0 <= t < ends.n_ranks - 1:
            # Beyond yes and no there is no value, though a missing one counts as reaching there.
            return right if t < 0 else left
        if t >= above.last_index or not goes_right.any():
            return left
        if t <= above.first_index or not goes_left.any():
            return right
        margin = margin_around(t, lower, upper, ends)
        low, high = max(margin[0], above.low), min(margin[1], above.high)
        if low >= high:
            # No end lies between this index and the split above, so everybody reaches left, and no point right.
            return left
        threshold = _placed(*margin, self.integer[j])
        if not above.low < threshold < above.high:
            threshold = _placed(low, high, self.integer[j])
        if not above.low < threshold < high:
            # The same with no number left of it.
            return right
        self.margin.append(margin)
        return Fork(
            j,
            threshold,
            _Here(left, samples[goes_left], {**inside, j: above._replace(last_index=t, high=threshold)}),
            _Here(right, samples[goes_right], {**inside, j: above._replace(first_index=t, low=threshold)}),
        )


def random_table(rng: np.random.Generator) -> Problem:
    """Tables on grids, where ends are a hair apart, of whole numbers, with gaps and with categories."""
    n, p = int(rng.integers(4, 60)), int(rng.integers(1, 4))
    decimals = int(rng.integers(0, 4))
    X = np.round(rng.random((n, p)) * rng.choice([1, 10, 1000]), decimals).astype(rng.choice(["float64", "float32"]))
    y = rng.integers(0, 3, n)
    y[:2] = 0, 1
    radius = float(rng.choice([0.0, 0.05, 0.1, 0.3, 2.0]))
    kind = rng.integers(0, 4)
    if kind == 0:
        X[rng.random((n, p)) < 0.1] = np.nan
        return Problem.from_data(X, y, radius, 3, missing="reachable")
    if kind == 1:
        X[:, 0] = rng.integers(0, 3, n)
        return Problem.from_data(X, y, radius, 3, categorical_features=[0])
    if kind == 2:
        return Problem.from_data(np.rint(X), y, AttackModel.parse(radius).with_integers([0]), 3)
    return Problem.from_data(X, y, {0: radius} if rng.random() < 0.3 else radius, 3)


def random_index_tree(problem: Problem, rng: np.random.Generator) -> IndexTree:
    """Any splits at all, also beyond the ends and twice the same."""

    def node(depth: int) -> Leaf | Fork[int]:
        if depth == 0 or rng.random() < 0.1:
            return Leaf(int(rng.integers(0, problem.n_classes)))
        j = int(rng.integers(0, problem.n_features))
        return Fork(j, int(rng.integers(-1, problem.n_ranks[j] + 1)), depth - 1, depth - 1)

    draft = grow(int(rng.integers(1, 6)), node)
    index = np.array([-1 if t is None else t for t in draft.threshold])
    label = np.array([-1 if answer is None else answer for answer in draft.answer])
    return IndexTree(np.array(draft.feature), index, np.array(draft.left), np.array(draft.right), label)


@pytest.mark.parametrize("seed", range(150))
def test_indices_are_placed_as_in_python(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_table(rng)
    tree = random_index_tree(problem, rng)
    expected = placed_plainly(tree, problem)
    assert place(tree, problem) == expected
    unranked = problem.replace(reach=problem.reach)
    assert not unranked.is_ranked
    assert place(tree, unranked) == expected


@pytest.mark.parametrize("seed", range(150))
def test_gaps_are_placed_as_the_indices_that_they_stand_for(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_table(rng)
    learner = GreedyLearner(criterion=str(rng.choice(["groot", "chen"])), min_samples_leaf=int(rng.integers(1, 3)))
    fast = learner.grow_tree(problem, np.random.default_rng(0))
    exact = place(learner.grow(problem, np.random.default_rng(0)), problem)
    assert fast == exact
    assert objective(fast, problem) == objective(exact, problem)


def test_what_is_no_tree_of_these_samples_is_refused() -> None:
    problem = Problem.from_data([[0.0], [1.0], [2.0]], [0, 1, 0], 0.1, 2)
    leaf, no = np.array([-1]), np.zeros(1, bool)
    boxes = (*problem.reach.arrays, problem.values)
    ranks = (problem.lower_rank, problem.upper_rank, problem.n_ranks, np.array([0]))
    split = np.array([0, -1, -1]), np.array([0, -1, -1]), np.array([1, -1, -1]), np.array([2, -1, -1])
    label = np.array([-1, 0, 1])
    assert len(_core.place_ranks(*split, label, *ranks, *boxes, no, no)[0]) == 3
    wrongs: list[Callable[[], object]] = [
        lambda: _core.place_ranks(*split, label[:2], *ranks, *boxes, no, no),
        lambda: _core.place_ranks(split[0] + 1, *split[1:], label, *ranks, *boxes, no, no),
        lambda: _core.place_ranks(*split, label, *ranks[:3], leaf, *boxes, no, no),
        lambda: _core.place_ranks(*split, label, *ranks, *boxes, no, np.zeros(2, bool)),
        lambda: _core.place_gaps(split[0], np.zeros(3), np.zeros(2), *split[2:], label, *boxes, no, no),
    ]
    for wrong in wrongs:
        with pytest.raises(ValueError):
            wrong()
