"""Merged samples in ranks and units, and the best single split of many weightings at once."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np

from hardwood_checker.reading import Unusable

LARGEST = 1 << 62
"""No sum of weights may reach this."""

NUMBERS_AT_ONCE = 100_000
"""So many are summed up at once: they fit into a processor's cache."""


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

    @cache  # noqa: B019
    def passing(self, left: int, right: int) -> Any:
        """Return, for each feature, whom a rising threshold passes, in order.

        That is a sample i of class `left` when it comes to its upper end: from there on it reaches the left only. And
        one of class `right`, written as n + i, when it comes to its lower end: from there on it reaches the left, too.
        At equal ends the latter come first.
        """
        lefts, rights = np.flatnonzero(self.label == left), np.flatnonzero(self.label == right)
        who = np.concatenate([self.n + rights, lefts])
        ends = np.hstack([self.lower[:, rights], self.upper[:, lefts]])
        return who[np.argsort(ends, axis=1, kind="stable")]

    def leaf_cost(self, weight: Any) -> int:
        """Return what the best single leaf costs."""
        totals = [int(weight[self.label == c].sum()) for c in range(self.n_classes)]
        return sum(totals) - max(totals) + self.penalty


class Stumps:
    """Finds the best tree of depth at most 1 for many weightings, in which only some samples have weight.

    With the left leaf of class a, the right leaf of class c and the threshold t, the weight that is right is that of
    class a which cannot reach right (``upper <= t``) and that of class c which cannot reach left (``lower > t``). Below
    all ends that is all of class c. As t rises it grows by each upper end of class a and falls by each lower end of
    class c that is passed: the best threshold is where the sum of what was passed is largest. (At equal ends those that
    take away come first, so no sum in between is larger than all of those that a threshold has.)
    """

    def __init__(self, samples: Samples, there: Any) -> None:
        self.samples, self.ids = samples, np.flatnonzero(there)
        self.label = samples.label[self.ids]
        self._orders: dict[tuple[int, int], Any] = {}

    def _order(self, pair: tuple[int, int]) -> Any:
        """Return who is passed, as `Samples.passing` says, of those who have weight, by their places among them."""
        if pair not in self._orders:
            s, k = self.samples, len(self.ids)
            place = np.full(2 * s.n, -1)
            place[self.ids], place[s.n + self.ids] = np.arange(k), k + np.arange(k)
            order = place[s.passing(*pair)]
            self._orders[pair] = order[order >= 0].reshape(s.p, -1)
        return self._orders[pair]

    def costs(self, weight: Any) -> Any:
        """Return what the best tree costs for each row of weights, of shape (rows, samples that have weight)."""
        classes = range(self.samples.n_classes)
        totals = [weight[:, self.label == c].sum(axis=1) for c in classes]
        everything, penalty = np.sum(totals, axis=0), self.samples.penalty
        best = everything - np.max(totals, axis=0) + penalty
        for left, right in permutations(classes, 2):
            order = self._order((left, right))
            if order.size:
                at_once = max(1, NUMBERS_AT_ONCE // order.size)
                gained = [_most_passed(weight[k : k + at_once], order) for k in range(0, len(weight), at_once)]
                best = np.minimum(best, everything - totals[right] - np.concatenate(gained) + 2 * penalty)
        return best


def _most_passed(weight: Any, order: Any) -> Any:
    """Return, for each row of weights, the largest sum of what was passed up to some end of some feature."""
    signed = np.hstack([weight, -weight])
    passed = signed.take(order.ravel(), axis=1).reshape(len(weight), *order.shape)
    return passed.cumsum(axis=2, out=passed).max(axis=(1, 2))
