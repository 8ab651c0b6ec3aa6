"""Every conversion between the forms of a tree.

`Tree` has numbers as thresholds and is what is shipped; `IndexTree` has indices into the ends of a problem's boxes and
is what solvers work with. `place` and `to_indices` lead from one to the other. Code that builds a tree from the root
down does so in a `Draft`, which `tree_of` and `index_tree_of` turn into the one and the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardwood.arrays import BoolArray, IntArray
from hardwood.errors import InvalidInputError
from hardwood.problem.endpoints import index_of, margin_around, maximum_margin
from hardwood.problem.problem import Problem
from hardwood.tree.draft import Draft, Fork, Leaf, grow
from hardwood.tree.index_tree import IndexTree
from hardwood.tree.reach import reached_nodes
from hardwood.tree.tree import Tree


def place(tree: IndexTree, problem: Problem) -> Tree:
    """Turn indices into thresholds at maximum margin, without changing the reach of any sample.

    Branches that no training box or no point at all reaches are cut off, and a split between two leaves of one class
    becomes that leaf; neither changes which samples are lost, unless a box reached a branch that holds no point. Each
    threshold lies midway between the neighbouring endpoints of the samples that reach its node, or, where that is
    beyond another threshold on the path, midway between that one and the next endpoint.
    """
    placing = _Placing(tree, problem)
    draft = grow(_Here(0, np.arange(problem.n_samples), {}), placing.node)
    for node in range(len(draft) - 1, -1, -1):
        if not draft.is_leaf(node):
            left, right = draft.left[node], draft.right[node]
            if draft.is_leaf(left) and draft.is_leaf(right) and draft.answer[left] == draft.answer[right]:
                draft.cut(node, draft.answer[left])
    return tree_of(draft, problem, placing.margin)


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


def tree_of(draft: Draft, problem: Problem, margin: Sequence[tuple[float, float]] | None = None) -> Tree:
    """Return a draft with numbers as thresholds and class indices as answers as a tree.

    Parameters
    ----------
    draft : Draft
        What is below its cuts is left out.
    problem : Problem
        Gives the tree its classes and the names and categories of its features.
    margin : sequence of pairs or None
        That of each node of the draft, see `Tree`.
    """
    kept, origin = draft.reached()
    unknown = (np.nan, np.nan)
    tree = Tree(
        np.array(kept.feature),
        np.array(kept.threshold, np.float64),
        np.array(kept.left),
        np.array(kept.right),
        _labels(kept),
        problem.classes,
        problem.n_features,
        problem.feature_names,
        margin=np.array([unknown if margin is None or kept.is_leaf(k) else margin[i] for k, i in enumerate(origin)]),
        encoding=problem.encoding,
    )
    return replace(tree, missing_left=_heavier_sides(tree, problem)) if problem.allows_missing else tree


def index_tree_of(draft: Draft) -> IndexTree:
    """Return a draft with indices as thresholds and class indices as answers as an index tree."""
    kept, _ = draft.reached()
    index = np.array([-1 if t is None else t for t in kept.threshold])
    return IndexTree(np.array(kept.feature), index, np.array(kept.left), np.array(kept.right), _labels(kept))


def _labels(draft: Draft) -> IntArray:
    return np.array([-1 if answer is None else answer for answer in draft.answer], np.int64)


def in_terms_of(tree: Tree, problem: Problem) -> Tree:
    """Return a tree that was learned from the numbers of a problem, so that it takes the tables they were made of."""
    known = replace(tree, encoding=problem.encoding)
    return replace(known, missing_left=_heavier_sides(known, problem)) if problem.allows_missing else known


def _heavier_sides(tree: Tree, problem: Problem) -> BoolArray:
    """Return, for each split, whether more weight of training samples certainly goes left than right there."""
    reached = reached_nodes(tree, problem)
    is_split = tree.left >= 0
    left, right = reached[:, tree.left[is_split]], reached[:, tree.right[is_split]]
    answer = np.zeros(tree.n_nodes, dtype=bool)
    answer[is_split] = problem.weight @ (left & ~right) >= problem.weight @ (right & ~left)
    return answer


def to_indices(tree: Tree, problem: Problem) -> IndexTree:
    """Express a tree in the ends of a problem, e.g. to start a solver from it.

    It loses no sample that the tree does not lose, and for thresholds that keep away from the ends the same ones.
    Labels are matched by class; a tree that answers a class which the problem does not have is refused.
    """
    if tree.n_features != problem.n_features:
        raise InvalidInputError(f"the tree is for {tree.n_features} features, the data has {problem.n_features}")
    code = {label: i for i, label in enumerate(problem.classes.tolist())}
    is_split = tree.left >= 0
    label = np.full(tree.n_nodes, -1)
    for leaf in np.flatnonzero(~is_split):
        answer = tree.classes[[tree.label[leaf]]].tolist()[0]
        if answer not in code:
            raise InvalidInputError(
                f"the tree answers class {answer!r}; the classes of the data are "
                f"{', '.join(map(repr, problem.classes.tolist()))}"
            )
        label[leaf] = code[answer]
    index = np.full(tree.n_nodes, -1)
    for node in np.flatnonzero(is_split):
        index[node] = index_of(float(tree.threshold[node]), problem.ends_of(int(tree.feature[node])))
    return IndexTree(tree.feature, index, tree.left, tree.right, label)
