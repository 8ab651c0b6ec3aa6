"""Two judges of ensembles under attack that share nothing with the package: every cell, and a mixed-integer program."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import lil_array

MOST_CELLS = 3_000


def cuts_of(ensemble: Any) -> list[NDArray[Any]]:
    """Thresholds of each feature, sorted."""
    feature = np.concatenate([tree.feature for tree in ensemble.trees])
    threshold = np.concatenate([tree.threshold for tree in ensemble.trees])
    return [np.unique(threshold[feature == j]) for j in range(ensemble.n_features)]


def points_of_all_cells(
    cuts: list[NDArray[Any]], lower: NDArray[Any], upper: NDArray[Any], missing: NDArray[Any]
) -> NDArray[Any] | None:
    """One point for each combination of cells that the box meets; None if there are too many."""
    axes = []
    for j, values in enumerate(cuts):
        # Beyond the largest number there is none.
        inside = values[(values >= lower[j]) & (values < min(upper[j], np.finfo(float).max)) & np.isfinite(values)]
        low = lower[j] if np.isfinite(lower[j]) else (inside[0] if len(inside) else 0.0) - 1.0
        axis = [low, *np.nextafter(inside, np.inf)] if len(inside) else [low]
        # The first cell holds the lower end; every other begins just above a threshold.
        axes.append([*axis, np.nan] if missing[j] else axis)
    if np.prod([len(axis) for axis in axes], dtype=float) > MOST_CELLS:
        return None
    return np.array(list(product(*axes)))


def least_margin(ensemble: Any, lower: NDArray[Any], upper: NDArray[Any], truth: int, rival: int) -> float:
    """Least margin of one class over another in a box, by Kantchelian, Tygar & Joseph's program (ICML 2016) on HiGHS.

    Binary p[j, b] says x[j] <= b; p grows with b. Of each tree one leaf is taken; the leaves left of a split (j, b) sum
    to at most p[j, b], those right of it to at most 1 - p[j, b].
    """
    splits: dict[tuple[int, float], int] = {}
    rows: list[tuple[list[int], list[float], float, float]] = []
    objective: list[float] = []

    def column(gain: float) -> int:
        objective.append(gain)
        return len(objective) - 1

    def margin(value: NDArray[Any]) -> float:
        if len(value) == 1:
            return float(value[0]) * (1 if truth == 1 else -1)
        return float(value[truth] - value[rival])

    def leaves(tree: Any, node: int) -> list[int]:
        if tree.left[node] < 0:
            return [column(margin(tree.value[node]))]
        j, b = int(tree.feature[node]), float(tree.threshold[node])
        if lower[j] > b:
            return leaves(tree, int(tree.right[node]))
        if upper[j] <= b:
            return leaves(tree, int(tree.left[node]))
        if (j, b) not in splits:
            splits[j, b] = column(0.0)
        left, right = leaves(tree, int(tree.left[node])), leaves(tree, int(tree.right[node]))
        rows.append(([*left, splits[j, b]], [1.0] * len(left) + [-1.0], -np.inf, 0.0))
        rows.append(([*right, splits[j, b]], [1.0] * len(right) + [1.0], -np.inf, 1.0))
        return left + right

    for tree in ensemble.trees:
        found = leaves(tree, 0)
        rows.append((found, [1.0] * len(found), 1.0, 1.0))
    for j in {j for j, _ in splits}:
        for a, b in pairwise(sorted(b for k, b in splits if k == j)):
            rows.append(([splits[j, a], splits[j, b]], [1.0, -1.0], -np.inf, 0.0))
    matrix = lil_array((len(rows), len(objective)))
    for i, (columns, values, _, _) in enumerate(rows):
        for k, value in zip(columns, values, strict=True):
            matrix[i, k] = value
    integer = np.zeros(len(objective), int)
    integer[list(splits.values())] = 1
    answer = milp(
        np.array(objective),
        integrality=integer,
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(matrix.tocsr(), [row[2] for row in rows], [row[3] for row in rows]),
        options={"mip_rel_gap": 0.0},
    )
    assert answer.status == 0, answer.message
    return float(answer.fun) + margin(ensemble.base)
