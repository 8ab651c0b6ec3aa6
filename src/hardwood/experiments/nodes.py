"""What happens at each node of a tree under attack, as plain data for the report."""

from __future__ import annotations

from typing import Any

import numpy as np

from hardwood.arrays import BoolArray
from hardwood.problem.problem import Problem
from hardwood.tree.reach import reached_nodes, robust_errors
from hardwood.tree.tree import Tree

MOST_SAMPLES_LISTED = 25
"""Of the samples that can be pushed across a split, so many are listed, those nearest to the threshold first."""


def describe_nodes(tree: Tree, problem: Problem) -> list[dict[str, Any]]:
    """Describe every node.

    Returns
    -------
    list of dict
        Each with ``reach``: how many samples of each class can be made to come by. A split also has ``left``,
        ``right`` and ``both`` (by class: which children those samples reach), ``margin`` (how far the nearest box that
        lies on one side is from the threshold) and ``across``: ``[sample, class, value, lost]`` of samples that the
        attacker can push across. A leaf also has ``certain`` (by class: samples that reach no other leaf) and ``lost``
        (samples of another class that reach it).
    """
    reached = reached_nodes(tree, problem)
    is_leaf = tree.left < 0
    leaf_count = reached[:, is_leaf].sum(axis=1)
    lost = robust_errors(tree, problem)
    described = []
    for node in range(tree.n_nodes):
        here = reached[:, node]
        entry: dict[str, Any] = {"reach": _by_class(here, problem)}
        if is_leaf[node]:
            entry["certain"] = _by_class(here & (leaf_count == 1), problem)
            entry["lost"] = int((here & (problem.label != tree.label[node])).sum())
        else:
            entry |= _describe_split(tree, problem, node, here, reached, lost)
        described.append(entry)
    return described


def _describe_split(
    tree: Tree, problem: Problem, node: int, here: BoolArray, reached: BoolArray, lost: BoolArray
) -> dict[str, Any]:
    j, threshold = int(tree.feature[node]), float(tree.threshold[node])
    left, right = here & reached[:, tree.left[node]], here & reached[:, tree.right[node]]
    both = left & right
    distance = np.concatenate([threshold - problem.upper[left & ~both, j], problem.lower[right & ~both, j] - threshold])
    value = problem.values[:, j]
    nearest = np.flatnonzero(both)[np.argsort(np.abs(value[both] - threshold), kind="stable")][:MOST_SAMPLES_LISTED]
    return {
        "left": _by_class(left & ~both, problem),
        "right": _by_class(right & ~both, problem),
        "both": _by_class(both, problem),
        "margin": float(distance.min()) if len(distance) else None,
        "across": [[int(i), int(problem.label[i]), round(float(value[i]), 9), bool(lost[i])] for i in nearest],
    }


def _by_class(chosen: BoolArray, problem: Problem) -> list[int]:
    return [int(count) for count in np.bincount(problem.label[chosen], minlength=problem.n_classes)]
