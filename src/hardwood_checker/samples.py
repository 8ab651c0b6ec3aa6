"""Merged samples in ranks and units, and the best single split of many weightings at once."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from hardwood_checker.reading import Unusable

LARGEST = 1 << 62
"""No sum of weights may reach this."""


class Samples:
    """Rows of one class whose ends have the same ranks are one sample, numbered in the order of first appearance.

    With threshold index t a sample reaches left iff ``lower <= t`` and right iff ``upper > t``; `lower` and `upper` are
    of shape (features, samples). `weight`, `penalty` (of a leaf) and `heavy` (of a sample not to be lost) are in units.
    """

    def __init__(self, lower: Any, upper: Any, label: Any, weights: list[Fraction], penalty: Fraction, scale: Fraction,
                 heavy: int) -> None:  # fmt: skip
        rank = np.empty((2, lower.shape[1], len(label)), np.int64)
        n_ranks = []
        for f in range(lower.shape[1]):
            both = np.stack([lower[:, f], upper[:, f]])
            values = np.unique(both[np.isfinite(both)])
            rank[:, f] = np.where(both == -np.inf, -1, np.searchsorted(values, both))
            n_ranks.append(len(values))
        groups: dict[bytes, int] = {}
        keys = np.ascontiguousarray(np.vstack([*rank, label]).T)
        group = np.array([groups.setdefault(key.tobytes(), len(groups)) for key in keys])
        first = np.unique(group, return_index=True)[1]
        self.n, self.p = len(first), lower.shape[1]
        self.lower, self.upper = np.ascontiguousarray(rank[0][:, first]), np.ascontiguousarray(rank[1][:, first])
        self.n_ranks, self.label, self.heavy = np.array(n_ranks), label[first], heavy
        self.n_classes = int(label.max()) + 1
        self.is_whole = all(w.denominator == 1 for w in (*weights, penalty))
        units = [Fraction(0)] * self.n
        for g, w in zip(group.tolist(), weights, strict=True):
            units[g] += w * scale if self.is_whole else w * scale // 1
        if self.is_whole and any(u.denominator != 1 for u in (*units, penalty * scale)):
            raise Unusable("the scale of the header does not turn weights and penalty into whole numbers")
        self.penalty = int(penalty * scale // 1)
        if max(sum(units), heavy, self.penalty) >= LARGEST // (self.n + 2) or heavy <= 0:
            raise Unusable("the header's scale, 'heavy' or penalty is out of range")
        self.weight = np.array([int(u) for u in units], dtype=np.int64)
        self.by_lower, self.by_upper = np.argsort(self.lower, axis=1), np.argsort(self.upper, axis=1)

    def leaf_cost(self, weight: Any) -> int:
        """Return what the best single leaf costs."""
        totals = [int(weight[self.label == c].sum()) for c in range(self.n_classes)]
        return sum(totals) - max(totals) + self.penalty


class Stumps:
    """Finds the best tree of depth at most 1 for many weightings, in which only some samples have weight.

    With the left leaf of class a, the right leaf of class c and the threshold t, the weight that is right is
    ``A[a](t) + C[c](t)``: of class a what cannot reach right (``upper <= t``), of class c what cannot reach left
    (``lower > t``). The best a and the best c are chosen independently: with a = c the sum is at most what a single
    leaf gets right, which is looked at anyway. As t grows A only grows, so the largest of all classes is a running
    maximum; likewise C as t falls.
    """

    def __init__(self, samples: Samples, there: Any) -> None:
        self.samples, self.ids = samples, np.flatnonzero(there)
        self.orders = []
        for f in range(samples.p if self.ids.size else 0):
            up = samples.by_upper[f][there[samples.by_upper[f]]]
            down = samples.by_lower[f][there[samples.by_lower[f]]][::-1]
            # How many lower ends lie above each upper end.
            above = len(down) - np.searchsorted(samples.lower[f, down[::-1]], samples.upper[f, up], side="right")
            self.orders.append((*self._by_class(up), *self._by_class(down), above))

    def _by_class(self, order: Any) -> tuple[Any, Any, Any]:
        label = self.samples.label[order]
        place = np.argsort(label, kind="stable")
        return order[place], place, np.searchsorted(label[place], np.arange(self.samples.n_classes + 1))

    def costs(self, weight: Any) -> Any:
        """Return what the best tree costs for each row of weights, of shape (rows, samples)."""
        label = self.samples.label[self.ids]
        totals = [weight[:, self.ids[label == c]].sum(axis=1) for c in range(self.samples.n_classes)]
        everything, penalty = np.sum(totals, axis=0), self.samples.penalty
        best = everything - np.max(totals, axis=0) + penalty
        none = np.zeros((len(weight), 1), np.int64)
        for up, up_place, up_starts, down, down_place, down_starts, above in self.orders:
            left = _running_maximum(weight, up, up_place, up_starts)
            right = np.hstack([none, _running_maximum(weight, down, down_place, down_starts)])
            best = np.minimum(best, everything - (left + right[:, above]).max(axis=1) + 2 * penalty)
        return best


def _running_maximum(weight: Any, by_class: Any, place: Any, starts: Any) -> Any:
    """Return, after each end in order, the largest weight that one class has passed so far."""
    passed = np.cumsum(weight[:, by_class], axis=1)
    result = np.empty_like(passed)
    for start, end in pairwise(starts):
        if start < end:
            result[:, place[start:end]] = passed[:, start:end] - (passed[:, start - 1 : start] if start else 0)
    return np.maximum.accumulate(result, axis=1, out=result)
