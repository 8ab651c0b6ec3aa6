"""Worst-case margins of samples while trees are added up.

The margin of sample i (sign y = +1 or -1) is ``min_{x in box i} y F(x)`` for the score ``F = base + sum_t f_t``. Two
ways to keep it:

- `TreeMargins`: the sum over the trees of the worst leaf that the box reaches. Each tree takes its minimum at a point
  of its own, so this is a lower bound, exact for one tree.
- `StumpMargins`: stumps on one feature add up to a step function of that feature alone, and a box is a product of
  intervals, so ``min y F = y base + sum_j min_{x_j} y f_j(x_j)``. This is exact, however many stumps there are
  (Andriushchenko & Hein, "Provably robust boosted decision stumps and trees against adversarial attacks", NeurIPS
  2019).

Both say what a further tree would change (`leaves_of`), in the form in which the core fits its leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hardwood import _core
from hardwood.arrays import BoolArray, FloatArray, Int32Array, IntArray
from hardwood.tree.tree import Tree

SignArray = NDArray[np.int8]
ALL = slice(None)


@dataclass(frozen=True, eq=False)
class ReachedLeaves:
    """Margins as functions of the values v of a new tree's leaves.

    ``margin_i(v) = rest[i] + min over k in start[i] .. start[i + 1] - 1 of (offset[k] + sign_i v[leaf[k]])``. Leaves
    are numbered by the labels of the tree.
    """

    rest: FloatArray
    start: IntArray
    leaf: Int32Array
    offset: FloatArray

    @classmethod
    def of(
        cls, rest: FloatArray, reached: BoolArray, leaf: IntArray, offset: FloatArray | None = None
    ) -> ReachedLeaves:
        """Collect what a matrix (n_samples, n_leaves) says is reached; `offset` is of the same shape."""
        row, column = np.nonzero(reached)
        start = np.concatenate([[0], np.cumsum(reached.sum(axis=1))]).astype(np.int64)
        taken = np.zeros(len(row)) if offset is None else np.ascontiguousarray(offset[row, column])
        return cls(rest, start, leaf[column].astype(np.int32), taken)

    def margins(self, value: FloatArray, sign: SignArray) -> FloatArray:
        """Return the margins with these values."""
        each = self.offset + np.repeat(sign, np.diff(self.start)) * value[self.leaf]
        return np.asarray(self.rest + np.minimum.reduceat(each, self.start[:-1]))


class Margins(Protocol):
    """Worst-case margins of some samples."""

    total: FloatArray
    sign: SignArray

    def leaves_of(self, tree: Tree, some: slice = ALL) -> ReachedLeaves:
        """Return what adding a tree would change, for some of the samples."""

    def add(self, tree: Tree, value: FloatArray) -> None:
        """Add a tree whose leaf of label k has the value ``value[k]``."""


class TreeMargins:
    """Sums of the worst reached leaves of all trees."""

    def __init__(self, lower: FloatArray, upper: FloatArray, sign: SignArray, base: float) -> None:
        self.lower, self.upper, self.sign = lower, upper, sign
        self.total: FloatArray = sign * np.float64(base)

    def leaves_of(self, tree: Tree, some: slice = ALL) -> ReachedLeaves:
        """Return what adding a tree would change, for some of the samples."""
        leaves = np.flatnonzero(tree.left < 0)
        ends = (np.ascontiguousarray(end[some]) for end in (self.lower, self.upper))
        reached = _core.reached_nodes(tree.feature, tree.threshold, tree.left, tree.right, *ends)
        return ReachedLeaves.of(self.total[some].copy(), np.asarray(reached, bool)[:, leaves], tree.label[leaves])

    def add(self, tree: Tree, value: FloatArray) -> None:
        """Add a tree."""
        self.total = self.leaves_of(tree).margins(value, self.sign)


class StumpMargins:
    """Exact margins of stumps: feature by feature, the least value of a step function over an interval."""

    def __init__(self, lower: FloatArray, upper: FloatArray, sign: SignArray, base: float) -> None:
        self.lower, self.upper, self.sign = lower, upper, sign
        self.total: FloatArray = sign * np.float64(base)
        self._cut: dict[int, FloatArray] = {}
        self._value: dict[int, FloatArray] = {}
        self._least: dict[int, FloatArray] = {}

    def leaves_of(self, tree: Tree, some: slice = ALL) -> ReachedLeaves:
        """Return what adding a stump would change for some of the samples, given the other stumps on its feature."""
        total = self.total[some].copy()
        if tree.n_nodes == 1:
            return ReachedLeaves.of(total, np.ones((len(total), 1), bool), tree.label[:1])
        j, b = int(tree.feature[0]), float(tree.threshold[0])
        lower, upper = self.lower[some, j], self.upper[some, j]
        reached = np.stack([lower <= b, upper > b], axis=1)
        label = tree.label[[tree.left[0], tree.right[0]]]
        if j not in self._cut:
            return ReachedLeaves.of(total, reached, label)
        left = self._least_over(j, lower, np.minimum(upper, b), some)
        right = self._least_over(j, np.maximum(lower, np.nextafter(b, np.inf)), upper, some)
        return ReachedLeaves.of(total - self._least[j][some], reached, label, np.stack([left, right], axis=1))

    def add(self, tree: Tree, value: FloatArray) -> None:
        """Add a stump."""
        if tree.n_nodes == 1:
            self.total = self.total + self.sign * value[tree.label[0]]
            return
        j, b = int(tree.feature[0]), float(tree.threshold[0])
        on_left, on_right = value[tree.label[[tree.left[0], tree.right[0]]]]
        cut, steps = self._cut.get(j, np.empty(0)), self._value.get(j, np.zeros(1))
        place = int(np.searchsorted(cut, b))
        if place == len(cut) or cut[place] != b:
            cut, steps = np.insert(cut, place, b), np.insert(steps, place, steps[place])
        self._cut[j] = cut
        self._value[j] = steps + np.where(np.arange(len(steps)) <= place, on_left, on_right)
        before = self._least.get(j, np.zeros(len(self.total)))
        self._least[j] = self._least_over(j, self.lower[:, j], self.upper[:, j])
        self.total = self.total - before + self._least[j]

    def _least_over(self, j: int, lower: FloatArray, upper: FloatArray, some: slice = ALL) -> FloatArray:
        """Return the least of ``y f_j`` over intervals of some of the samples."""
        least, largest = _core.step_extremes(
            self._cut[j], self._value[j], np.ascontiguousarray(lower), np.ascontiguousarray(upper)
        )
        return np.where(self.sign[some] > 0, least, -largest)
