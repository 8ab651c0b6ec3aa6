"""Which leaves a box reaches, and what follows: robust errors and the objective.

A box reaches left of a threshold iff ``lower <= b`` and right iff ``upper > b``. The comparison itself is compiled
(`src/core/reach.h`), for numbers and for ranks; attackers with a budget, which are no boxes, have theirs in
`hardwood.tree.rewriting`.
"""

from __future__ import annotations

import numpy as np

from hardwood import _core
from hardwood.arrays import BoolArray, IntArray
from hardwood.problem.boxes import Boxes, Reach
from hardwood.problem.problem import Problem
from hardwood.tree.priced import cheapest_attacks
from hardwood.tree.tree import Tree


def fooled(tree: Tree, boxes: Boxes) -> BoolArray:
    """Return, for each sample, whether the attacker can make the tree misclassify it.

    Parameters
    ----------
    tree : Tree
    boxes : Boxes
        With labels in terms of ``tree.classes``; -1 for one that the tree does not know.
    """
    # A path that no point can follow must not count, although a box may reach both sides of each of its splits.
    t = tree.without_empty_leaves
    return _core.fooled(
        t.feature, t.threshold, t.left, t.right, t.label, boxes.lower, boxes.upper, boxes.label
    )  # fmt: skip


def fooled_under_attack(tree: Tree, reach: Reach, label: IntArray) -> BoolArray:
    """Return what `fooled` does, for boxes whose ends are computed only where the tree asks for them."""
    if reach.limits is not None:
        lower, upper = reach.ends()
        return fooled(tree.over_integers(reach.limits.integer), Boxes(lower, upper, label, np.ones(len(label))))
    t = tree.without_empty_leaves
    return _core.fooled_under_attack(t.feature, t.threshold, t.left, t.right, t.label, *reach.arrays, label)


def robust_errors(tree: Tree, problem: Problem) -> BoolArray:
    """Return, for each sample of the problem, whether the attacker can bring it to a leaf of another class."""
    if problem.prices is not None:
        judged = tree if problem.limits is None else tree.over_integers(problem.limits.integer)
        return cheapest_attacks(judged.regions(), problem.prices, problem.label).affordable
    judged = tree if problem.limits is None else tree.over_integers(problem.limits.integer)
    return fooled_under_attack(judged, problem.reach, problem.label)


def reached_nodes(tree: Tree, problem: Problem) -> BoolArray:
    """Return a matrix (n_samples, n_nodes): whether the box of the sample reaches the node."""
    return _core.reached_nodes_under_attack(
        tree.feature, tree.threshold, tree.left, tree.right, *problem.reach.arrays
    )  # fmt: skip


def certain_sizes(tree: Tree, problem: Problem, measure: IntArray) -> IntArray:
    """Return, for each leaf in order of its number, how much the samples measure that reach it and no other leaf."""
    all_alike = np.zeros(len(measure), np.int64)
    certain, *_ = _core.node_sums(
        tree.feature, tree.threshold, tree.left, tree.right, tree.label, *problem.reach.arrays, all_alike,
        measure.astype(np.float64), 1,
    )  # fmt: skip
    return np.asarray(certain[tree.left < 0, 0].astype(np.int64))


def objective(tree: Tree, problem: Problem) -> float:
    """Weighted robust errors plus leaf penalty; infinite if the tree breaks a limit of the problem."""
    if tree.depth > problem.max_depth:
        return float("inf")
    limit = problem.leaf_limit
    if limit is not None and tree.n_leaves > 1 and certain_sizes(tree, problem, limit.measure).min() < limit.least:
        return float("inf")
    lost = float(problem.weight[robust_errors(tree, problem)].sum())
    return lost + problem.leaf_penalty * tree.n_leaves
