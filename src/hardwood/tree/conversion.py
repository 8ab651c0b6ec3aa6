"""Every conversion between the forms of a tree.

`Tree` has numbers as thresholds and is what is shipped; `IndexTree` has indices into the ends of a problem's boxes and
is what solvers work with. `place` and `to_indices` lead from one to the other. Code that builds a tree from the root
down does so in nested tuples ``(feature, threshold, left, right)`` with class indices as leaves: `tree_from_nested` and
`IndexTree.from_nested` read them, thresholds being numbers for the one and indices for the other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardwood.arrays import BoolArray
from hardwood.errors import InvalidInputError
from hardwood.problem.endpoints import index_of, margin_around, maximum_margin
from hardwood.problem.problem import Problem
from hardwood.tree.reach import reached_nodes
from hardwood.tree.tree import IndexTree, Tree


def place(tree: IndexTree, problem: Problem) -> Tree:
    """Turn indices into thresholds at maximum margin, without changing the reach of any sample.

    Branches that no training box or no point at all reaches are cut off, and a split between two leaves of one class
    becomes that leaf; neither changes which samples are lost, unless a box reached a branch that holds no point. Each
    threshold lies midway between the neighbouring endpoints of the samples that reach its node, or, where that is
    beyond another threshold on the path, midway between that one and the next endpoint.
    """
    ends = problem.endpoints
    tests = (None,) * problem.n_features if problem.encoding is None else problem.encoding.tests
    is_test = [test is not None for test in tests]

    def build(node: int, samples: NDArray[np.intp], inside: dict[int, _Interval]) -> Any:
        if tree.left[node] < 0:
            return int(tree.label[node])
        j, t = int(tree.feature[node]), int(tree.index[node])
        lower, upper = ends.lower_rank[samples, j], ends.upper_rank[samples, j]
        goes_left, goes_right = lower <= t, upper > t
        here = inside.get(j, _Interval(-2, int(ends.n_ranks[j]) + 1, -np.inf, np.inf))
        if is_test[j] and not 0 <= t < ends.n_ranks[j] - 1:
            # Beyond yes and no there is no value, though a missing one counts as reaching there.
            return build(int(tree.right[node] if t < 0 else tree.left[node]), samples, inside)
        if t >= here.last_index or not goes_right.any():
            return build(int(tree.left[node]), samples, inside)
        if t <= here.first_index or not goes_left.any():
            return build(int(tree.right[node]), samples, inside)
        margin = margin_around(t, j, lower, upper, ends)
        low, high = max(margin[0], here.low), min(margin[1], here.high)
        if low >= high:
            # No end lies between this index and the split above, so everybody reaches left, and no point right.
            return build(int(tree.left[node]), samples, inside)
        threshold = maximum_margin(*margin)
        if not here.low < threshold < here.high:
            threshold = maximum_margin(low, high)
        if not here.low < threshold < high:
            # The same with no number left of it.
            return build(int(tree.right[node]), samples, inside)
        left = build(
            int(tree.left[node]),
            samples[goes_left],
            {**inside, j: here._replace(last_index=t, high=threshold)},
        )
        right = build(
            int(tree.right[node]),
            samples[goes_right],
            {**inside, j: here._replace(first_index=t, low=threshold)},
        )
        if not isinstance(left, tuple) and left == right:
            return left
        return (j, threshold, left, right, margin)

    return tree_from_nested(build(0, np.arange(problem.n_samples), {}), problem)


class _Interval(NamedTuple):
    """What the splits above a node leave of a feature: threshold indices and thresholds strictly in between."""

    first_index: int
    last_index: int
    low: float
    high: float


def tree_from_nested(nested: Any, problem: Problem) -> Tree:
    """Build a tree from nested tuples ``(feature, threshold, left, right)`` with class indices as leaves.

    A split may have a fifth entry, its margin as in `Tree`.
    """
    rows: list[list[Any]] = []

    def add(node: Any) -> int:
        position = len(rows)
        if not isinstance(node, tuple):
            rows.append([-1, np.nan, -1, -1, node, (np.nan, np.nan)])
            return position
        rows.append([node[0], node[1], -1, -1, -1, node[4] if len(node) > 4 else (np.nan, np.nan)])
        rows[position][2] = add(node[2])
        rows[position][3] = add(node[3])
        return position

    add(nested)
    feature, threshold, left, right, label, margin = (np.array(column) for column in zip(*rows, strict=True))
    tree = Tree(
        feature,
        threshold,
        left,
        right,
        label,
        problem.classes,
        problem.n_features,
        problem.feature_names,
        margin=margin,
        encoding=problem.encoding,
    )
    return replace(tree, missing_left=_heavier_sides(tree, problem)) if problem.allows_missing else tree


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
        index[node] = index_of(float(tree.threshold[node]), int(tree.feature[node]), problem.endpoints)
    return IndexTree(tree.feature, index, tree.left, tree.right, label)
