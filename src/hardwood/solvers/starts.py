"""Trees to start from, and the depth that a tree can make use of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hardwood.arrays import BoolArray, IntArray
from hardwood.errors import InvalidInputError
from hardwood.problem.problem import Problem
from hardwood.solvers.options import shown
from hardwood.tree.conversion import index_tree_of, to_indices, tree_of
from hardwood.tree.draft import Fork, Leaf, grow
from hardwood.tree.index_tree import IndexTree
from hardwood.tree.tree import Tree

Start = str | Tree | IndexTree | None


def best_leaf(problem: Problem) -> Tree:
    """Return the best tree without a split: the heaviest class. Nothing need be ranked for it."""
    return tree_of(grow(int(np.argmax(problem.class_weight_sums)), Leaf), problem)


def useful_depth(problem: Problem) -> int:
    """Return how many splits a path of the best tree needs at most.

    Where all samples of a node reach one child, that child alone is as good as the split. So every split of some best
    tree leaves each child at least one sample less, and a node with one sample needs no split. Where moves are paid for
    that does not hold: on its way to a child a sample may spend what it would need further down.
    """
    return min(problem.max_depth, problem.n_samples - 1) if problem.prices is None else problem.max_depth


def as_start(start: Start, problem: Problem, grow_greedily: Callable[[Problem], IndexTree]) -> IndexTree | None:
    """Return the tree to start from, or raise if it does not fit the problem.

    Parameters
    ----------
    start : None, "greedy", Tree or IndexTree
    problem : Problem
    grow_greedily : callable
        Returns a greedy tree for a problem without limits on leaves.
    """
    if start is None:
        return None
    if isinstance(start, str) and start == "greedy":
        return repaired(grow_greedily(without_leaf_limits(problem)), problem)
    if isinstance(start, Tree):
        if start.n_features != problem.n_features:
            raise InvalidInputError(
                f"the start tree is for {start.n_features} features, the data has {problem.n_features}"
            )
        tree = to_indices(start, problem)
    elif isinstance(start, IndexTree):
        tree = start
        _check_indices(tree, problem)
    else:
        raise InvalidInputError(f"start={shown(start)}; it must be None, 'greedy' or a Tree")
    if tree.depth > problem.max_depth:
        raise InvalidInputError(f"the start tree has depth {tree.depth}, more than max_depth={problem.max_depth}")
    return tree if tree.depth <= useful_depth(problem) else without_needless_splits(tree, problem)


def _check_indices(tree: IndexTree, problem: Problem) -> None:
    is_split = tree.left >= 0
    if tree.feature[is_split].max(initial=-1) >= problem.n_features:
        raise InvalidInputError(
            f"the start tree splits on feature {tree.feature.max()}, the data has {problem.n_features} features"
        )
    if tree.label[~is_split].max() >= problem.n_classes:
        raise InvalidInputError(
            f"the start tree answers class number {tree.label.max()}, the data has {problem.n_classes} classes"
        )


def without_needless_splits(tree: IndexTree, problem: Problem) -> IndexTree:
    """Replace every split that sends all its samples to one child by that child; no sample is lost in addition."""

    def look(state: tuple[int, IntArray]) -> Leaf | Fork[Any]:
        node, here = state
        while tree.left[node] >= 0:
            j, t = int(tree.feature[node]), int(tree.index[node])
            left, right = _sides(problem, here, j, t)
            below = int(tree.left[node]), int(tree.right[node])
            if not left.all() and not right.all():
                return Fork(j, t, (below[0], here[left]), (below[1], here[right]))
            node = below[0] if left.all() else below[1]
        return Leaf(int(tree.label[node]))

    return index_tree_of(grow((0, np.arange(problem.n_samples)), look))


def without_leaf_limits(problem: Problem) -> Problem:
    """Return the problem with leaves as small and as cheap as anyone likes."""
    return problem.replace(leaf_penalty=0.0, min_samples_leaf=0, min_weight_fraction_leaf=0.0)


def repaired(tree: IndexTree, problem: Problem) -> IndexTree:
    """Turn splits into leaves where a leaf would be too small, or where a split does not pay for its leaves.

    Samples that reach both sides count on both, so a split may go that would just have paid; what is left keeps
    ``min_samples_leaf`` and ``min_weight_fraction_leaf``.
    """
    limit = problem.leaf_limit
    if limit is None and problem.leaf_penalty == 0:
        return tree

    leaf: list[tuple[int, float, bool]] = []  # answer and cost of each node as a leaf, and whether it may be one

    def look(state: tuple[int, IntArray, BoolArray]) -> Leaf | Fork[Any]:
        node, here, certain = state
        weight = np.bincount(problem.label[here], problem.weight[here], problem.n_classes)
        large_enough = node == 0 or limit is None or int(limit.measure[here[certain]].sum()) >= limit.least
        leaf.append((int(np.argmax(weight)), float(weight.sum() - weight.max()) + problem.leaf_penalty, large_enough))
        if tree.left[node] < 0 or not large_enough:
            return Leaf(leaf[-1][0])
        j, t = int(tree.feature[node]), int(tree.index[node])
        left, right = _sides(problem, here, j, t)
        return Fork(
            j,
            t,
            (int(tree.left[node]), here[left], (certain & ~right)[left]),
            (int(tree.right[node]), here[right], (certain & ~left)[right]),
        )

    draft = grow((0, np.arange(problem.n_samples), np.ones(problem.n_samples, bool)), look)
    cost = [own for _, own, _ in leaf]
    for node in range(len(draft) - 1, -1, -1):
        if draft.is_leaf(node):
            continue
        sides = draft.left[node], draft.right[node]
        split_cost = sum(cost[child] for child in sides)
        if (problem.leaf_penalty > 0 and split_cost >= cost[node]) or not all(leaf[child][2] for child in sides):
            draft.cut(node, leaf[node][0])
        else:
            cost[node] = split_cost
    return index_tree_of(draft)


def _sides(problem: Problem, here: IntArray, j: int, t: int) -> tuple[BoolArray, BoolArray]:
    """Return which of some samples reach the left and the right of a threshold index."""
    return problem.lower_rank[here, j] <= t, problem.upper_rank[here, j] > t
