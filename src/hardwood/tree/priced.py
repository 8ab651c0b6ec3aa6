"""What it costs an attacker to have a tree misclassify a sample; exact for a single tree.

The leaves of a tree are boxes, and the price of entering one is the sum of the prices of its features
(`hardwood.problem.prices`): a sample is lost iff some leaf of another class is affordable.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hardwood.arrays import BoolArray, FloatArray, IntArray
from hardwood.problem.prices import AFFORDABLE, Prices, in_units

LeafBoxes = tuple[FloatArray, FloatArray, IntArray]


@dataclass(frozen=True, eq=False)
class CheapestAttacks:
    """The cheapest way to a wrong leaf, for each sample.

    Attributes
    ----------
    cost : float array of shape (n_samples,)
        Whatever the budget; 0 where the sample is wrong as it is, infinite where no move leads to a wrong leaf.
    region : int array of shape (n_samples,)
        The leaf that it leads to; -1 where there is none.
    affordable : bool array of shape (n_samples,)
        Whether the budget suffices for some wrong leaf.
    """

    cost: FloatArray
    region: IntArray
    affordable: BoolArray


def cheapest_attacks(regions: LeafBoxes, prices: Prices, label: IntArray) -> CheapestAttacks:
    """Find the cheapest way of each sample to a leaf of another class.

    Parameters
    ----------
    regions : low, high, label
        The leaves, as `Tree.regions` returns them.
    prices : Prices
    label : int array of shape (n_samples,)
    """
    low, high, leaf_label = regions
    n = len(label)
    best, region = np.full(n, np.inf), np.full(n, -1, np.int64)
    affordable = np.zeros(n, bool)
    grouped = {int(j) for part in prices.categories for j in part.columns}
    for r in range(len(leaf_label)):
        cost, units = np.zeros(n), np.zeros(n, np.int64)
        for j in np.flatnonzero(np.isfinite(low[r]) | np.isfinite(high[r])):
            if int(j) in grouped:
                continue
            left, right = prices.sides(int(j), np.array([high[r, j], low[r, j]]))
            _add(np.maximum(left[:, 0], right[:, 1]), prices.budget, cost, units)
        for part in prices.categories:
            admitted = part.admitted(low[r], high[r])
            if not admitted.all():
                _add(np.where(admitted, part.cost, np.inf).min(axis=1), prices.budget, cost, units)
        wrong = leaf_label[r] != label
        affordable |= wrong & (units <= AFFORDABLE) & np.isfinite(cost)
        better = wrong & (cost < best)
        best[better], region[better] = cost[better], r
    return CheapestAttacks(best, region, affordable)


def reached_boxes(regions: LeafBoxes, prices: Prices) -> BoolArray:
    """Return which leaves each sample can be brought to, of shape (n_samples, n_leaves)."""
    low, high, label = regions
    nobody = np.full(len(prices.budget), -1)
    reached = [
        # Nobody has this label, so every leaf is a wrong one.
        cheapest_attacks((low[[r]], high[[r]], label[[r]]), prices, nobody).affordable
        for r in range(len(label))
    ]
    return np.column_stack(reached)


def _add(more: FloatArray, budget: FloatArray, cost: FloatArray, units: IntArray) -> None:
    cost += more
    units += in_units(more, budget)


def attack_points(regions: LeafBoxes, prices: Prices, X: FloatArray, found: CheapestAttacks) -> FloatArray:
    """Return a point of the cheapest wrong leaf of each sample, at that price; NaN where there is none."""
    low, high, _ = regions
    points = np.full(X.shape, np.nan)
    grouped = {int(j) for part in prices.categories for j in part.columns}
    for i in np.flatnonzero(found.region >= 0):
        r = found.region[i]
        points[i] = X[i]
        for j in np.flatnonzero(np.isfinite(low[r]) | np.isfinite(high[r])):
            if int(j) not in grouped:
                points[i, j] = prices.moved_to(int(j), int(i), float(low[r, j]), float(high[r, j]))
        for part in prices.categories:
            cost = np.where(part.admitted(low[r], high[r]), part.cost[i], np.inf)
            points[i, part.columns] = part.point(int(np.argmin(cost)))
    return points
