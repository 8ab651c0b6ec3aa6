"""Greedy robust trees: no proof, but a tree in milliseconds.

GROOT (Vos & Verwer, "Efficient Training of Robust Decision Trees Against Adversarial Examples", ICML 2021) grows a
tree top-down. A split is scored by the worst weighted Gini impurity that the attacker can force by choosing a side for
every sample that can reach both; the samples are then distributed in that worst way and each child grows from its
share. The published code is for two classes of equal weight; here the same rule holds for any number of classes and
any weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardwood.errors import InvalidInputError
from hardwood.problem import Problem
from hardwood.solvers.base import Run, Solver, register
from hardwood.thresholds import cluster, index_of
from hardwood.tree import IndexTree

CRITERIA = ("groot",)


@register
class GreedySolver(Solver):
    """Grow a tree split by split on the impurity under attack."""

    name = "greedy"
    summary = "GROOT: greedy on the worst-case Gini impurity; no proof, milliseconds"
    proves = False
    defaults: ClassVar[Mapping[str, Any]] = {
        "criterion": "groot",
        "min_samples_split": 2,
        "min_samples_leaf": 1,
        "max_features": None,
        "robust_weight": 1.0,
    }

    def _run(self, problem: Problem, run: Run) -> None:
        run.report(grow(problem, random_state=run.random_state, **run.options))


def grow(
    problem: Problem,
    *,
    criterion: str = "groot",
    min_samples_split: int = 2,
    min_samples_leaf: int = 1,
    max_features: int | float | str | None = None,
    robust_weight: float = 1.0,
    random_state: int = 0,
) -> IndexTree:
    """Grow a greedy tree on a problem.

    Parameters
    ----------
    problem : Problem
    criterion : {"groot"}
    min_samples_split : int
        A node with fewer samples becomes a leaf.
    min_samples_leaf : int
        A split that leaves fewer samples on one side, as the attacker distributes them, is not made.
    max_features : None, "sqrt", "log2", int or float
        How many features, drawn at random, each split may choose from; None for all.
    robust_weight : float
        Share of the movable samples that the attacker really moves; 0 learns without an attacker, 1 with a full one.
    random_state : int
        Seed of the draw of features.
    """
    from hardwood.kernels import greedy as kernel

    if criterion not in CRITERIA:
        raise InvalidInputError(f"criterion={criterion!r}; it must be one of {', '.join(map(repr, CRITERIA))}")
    if not 0 <= robust_weight <= 1:
        raise InvalidInputError(f"robust_weight={robust_weight!r}; it must be between 0 and 1")
    for value, name, least in (
        (min_samples_split, "min_samples_split", 2), (min_samples_leaf, "min_samples_leaf", 1),
    ):  # fmt: skip
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise InvalidInputError(f"{name}={value!r}; it must be a whole number >= {least}")
    n, p = problem.values.shape
    events, ranks = np.empty((p, 3 * n), np.int32), np.empty((p, 3 * n), np.int32)
    first: list[NDArray[np.float64]] = []
    last: list[NDArray[np.float64]] = []
    for j in range(p):
        clusters = cluster(np.concatenate([problem.lower[:, j], problem.values[:, j], problem.upper[:, j]]))
        events[j], ranks[j] = clusters.order, clusters.rank[clusters.order]
        first.append(clusters.first)
        last.append(clusters.last)
    # A binary tree with a sample in every leaf has at most 2 n - 1 nodes.
    capacity = min(2 ** (min(problem.max_depth, 40) + 1), 2 * n) + 1
    feature, rank, left, right, label = (np.empty(capacity, np.int64) for _ in range(5))
    size = kernel.grow(
        events,
        ranks,
        np.array([len(values) for values in first], dtype=np.int64),
        problem.label,
        problem.weight,
        problem.n_classes,
        problem.max_depth,
        min_samples_split,
        min_samples_leaf,
        _count_features(max_features, p),
        robust_weight,
        kernel.GROOT,
        bool(np.all(problem.weight == 1)),
        np.random.default_rng(random_state),
        feature,
        rank,
        left,
        right,
        label,
    )
    index = np.full(size, -1)
    for node in np.flatnonzero(left[:size] >= 0):
        j, r = int(feature[node]), int(rank[node])
        index[node] = index_of((last[j][r] + first[j][r + 1]) / 2, j, problem.endpoints)
    return IndexTree(feature[:size], index, left[:size], right[:size], label[:size])


def _count_features(max_features: int | float | str | None, n_features: int) -> int:
    if max_features is None:
        return n_features
    if max_features == "sqrt":
        return max(1, int(np.sqrt(n_features)))
    if max_features == "log2":
        return max(1, int(np.log2(n_features)))
    if isinstance(max_features, int | np.integer) and not isinstance(max_features, bool) and max_features >= 1:
        return min(int(max_features), n_features)
    if isinstance(max_features, float) and 0 < max_features <= 1:
        return max(1, int(max_features * n_features))
    raise InvalidInputError(
        f"max_features={max_features!r}; it must be None, 'sqrt', 'log2', a whole number >= 1 or a share in (0, 1]"
    )
