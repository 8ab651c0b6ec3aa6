"""What rewriting rules let an attacker do to samples: intervals that grow with the cost, in numbers and in ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hardwood.arrays import BoolArray, FloatArray, IntArray, RankArray
from hardwood.attack.rules import SLACK, AttackRules
from hardwood.data.frames import EXACT_DOUBLE
from hardwood.problem.boxes import Reach, noise
from hardwood.problem.endpoints import rank_ends
from hardwood.problem.prices import CategoryPrices
from hardwood.problem.problem import Problem

Levels = list[tuple[FloatArray, FloatArray, FloatArray]]


def intervals(
    rules: AttackRules,
    X: FloatArray,
    feature_names: Sequence[str] | None = None,
    rounding: FloatArray = EXACT_DOUBLE,
) -> Levels:
    """Return, per feature, where the attacker can put each sample at each cost, a rounding error included.

    The same as `AttackRules.intervals`, each end moved outwards by its noise as those of boxes are
    (`hardwood.problem.boxes`).
    """
    found = []
    for j, (cost, low, high) in enumerate(rules.intervals(X, feature_names)):
        x, of_feature = X[:, j], _of_feature(rounding, j)[:, 0]
        with np.errstate(over="ignore"):
            down, up = low - noise(x, x - low, of_feature), high + noise(x, high - x, of_feature)
        found.append((cost, down, up))
    return found


def _of_feature(rounding: FloatArray, j: int) -> FloatArray:
    return rounding[:, [j]] if rounding.shape[1] > 1 else rounding


def boxes_under_rules(
    rules: AttackRules,
    X: FloatArray,
    feature_names: Sequence[str] | None = None,
    rounding: FloatArray = EXACT_DOUBLE,
) -> tuple[FloatArray, FloatArray]:
    """Return the smallest boxes that hold all that the attacker can do; on several features it may do less."""
    levels = intervals(rules, X, feature_names, rounding)
    return (
        np.column_stack([low[-1] for _, low, _ in levels]),
        np.column_stack([high[-1] for _, _, high in levels]),
    )


@dataclass(frozen=True, eq=False)
class RulePrices:
    """Prices of rewriting rules: intervals that grow with the cost.

    Attributes
    ----------
    X : float array of shape (n_samples, n_features)
    levels : per feature, costs and the ends of the intervals they open, as `intervals` returns them
    budget : float array of shape (n_samples,)
    """

    X: FloatArray
    levels: Levels
    budget: FloatArray
    categories: tuple[CategoryPrices, ...] = ()

    def sides(self, feature: int, thresholds: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the prices of getting to at most each threshold, and above it, of shape (n_samples, n_thresholds)."""
        cost, low, high = self.levels[feature]
        b = np.asarray(thresholds, dtype=np.float64)[None, None, :]

        def first(inside: BoolArray) -> FloatArray:
            return np.where(inside.any(axis=0), cost[np.argmax(inside, axis=0)], np.inf)

        return first(low[:, :, None] <= b), first(high[:, :, None] > b)

    def moved_to(self, feature: int, row: int, low: float, high: float) -> float:
        """Return the value at which a sample enters ``(low, high]``."""
        x = float(self.X[row, feature])
        if low < x <= high:
            return x
        return high if x > high else float(np.nextafter(low, np.inf))

    def take(self, rows: Any) -> RulePrices:
        """Return the prices of some of the samples."""
        levels = [(cost, low[:, rows], high[:, rows]) for cost, low, high in self.levels]
        return RulePrices(self.X[rows], levels, self.budget[rows])


def reach_under_rules(
    rules: AttackRules, X: FloatArray, feature_names: Sequence[str] | None, rounding: FloatArray = EXACT_DOUBLE
) -> Reach:
    """Return what rules let an attacker do: their prices, and the box that holds all of it."""
    levels = intervals(rules, X, feature_names, rounding)
    nothing = np.zeros((1, X.shape[1]))
    return Reach(
        np.column_stack([low[-1] for _, low, _ in levels]),
        np.column_stack([high[-1] for _, _, high in levels]),
        nothing,
        nothing,
        np.zeros(len(X), np.int64),
        rounding,
        None,
        RulePrices(X, levels, np.full(len(X), rules.budget)),
    )


@dataclass(frozen=True, eq=False)
class Options:
    """What the attacker can do to each sample, in ranks: per feature, intervals that grow with the cost.

    Attributes
    ----------
    cost : tuple of float arrays of shape (n_levels,)
    low, high : tuple of int32 arrays of shape (n_levels, n_samples)
        Per feature; a sample reaches left of threshold index t iff ``low <= t`` and right iff ``high > t``.
    budget : float
    first, last : tuple of float arrays
        The values behind the ranks.
    """

    cost: tuple[FloatArray, ...]
    low: tuple[RankArray, ...]
    high: tuple[RankArray, ...]
    budget: float
    first: tuple[FloatArray, ...]
    last: tuple[FloatArray, ...]

    @classmethod
    def boxes(cls, problem: Problem) -> Options:
        """Return what the boxes of a problem allow: any move inside them, free of charge."""
        ends = problem.endpoints
        p = problem.n_features
        numbers = ends.numbers()
        return cls(
            cost=(np.zeros(1),) * p,
            low=tuple(ends.lower_rank[:, j][None, :] for j in range(p)),
            high=tuple(ends.upper_rank[:, j][None, :] for j in range(p)),
            budget=0.0,
            first=tuple(np.split(numbers.first, numbers.offset[1:-1])),
            last=tuple(np.split(numbers.last, numbers.offset[1:-1])),
        )

    @classmethod
    def rules(
        cls,
        rules: AttackRules,
        X: FloatArray,
        feature_names: Sequence[str] | None,
        rounding: FloatArray = EXACT_DOUBLE,
    ) -> Options:
        """Return what the rules allow within their budget."""
        costs, lows, highs = [], [], []
        first: list[FloatArray] = []
        last: list[FloatArray] = []
        for j, (cost, low, high) in enumerate(intervals(rules, X, feature_names, rounding)):
            values = np.tile(X[:, j], len(cost))
            ends = rank_ends(low.reshape(-1, 1), high.reshape(-1, 1), values[:, None], _of_feature(rounding, j))
            costs.append(cost)
            lows.append(ends.lower_rank.reshape(low.shape))
            highs.append(ends.upper_rank.reshape(high.shape))
            numbers = ends.numbers()
            first.append(numbers.first)
            last.append(numbers.last)
        return cls(tuple(costs), tuple(lows), tuple(highs), rules.budget, tuple(first), tuple(last))

    def n_ranks(self, j: int) -> int:
        """Return the number of different finite ends of feature j."""
        return len(self.first[j])

    def interval(self, samples: IntArray, j: int, region: Mapping[int, tuple[int, int]]) -> tuple[RankArray, RankArray]:
        """Return how far the attacker can move feature j of samples that it brings into a region.

        What the other features cost in order to be in the region is no longer there to spend.
        """
        if self.budget == 0:
            return (
                np.ascontiguousarray(self.low[j][-1][samples]),
                np.ascontiguousarray(self.high[j][-1][samples]),
            )
        left_over = np.full(len(samples), self.budget + SLACK)
        for f, (lowest, highest) in region.items():
            if f != j:
                inside = (self.low[f][:, samples] <= highest) & (self.high[f][:, samples] > lowest)
                left_over -= self.cost[f][np.argmax(inside, axis=0)]
        level = np.searchsorted(self.cost[j], left_over, side="right") - 1
        return self.low[j][level, samples], self.high[j][level, samples]
