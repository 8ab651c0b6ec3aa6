"""Where the trees of robust boosting split: greedily by what the loss gains, or optimally by what an attacker leaves.

Both work on the ranks of a problem and return trees whose leaves are numbered (label k is leaf k); values come later.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hardwood import _core
from hardwood.arrays import FloatArray, Int32Array, IntArray
from hardwood.ensembles.boosting.margins import SignArray
from hardwood.errors import StoppedError
from hardwood.problem.problem import Problem
from hardwood.solvers.parallel import in_threads
from hardwood.solvers.result import EndReason
from hardwood.solvers.solve import solve
from hardwood.tree.conversion import to_indices
from hardwood.tree.index_tree import IndexTree

CANDIDATES = 3
"""So many features' best stumps are fitted exactly, and the best of them is taken."""
MANY_SAMPLES = 20_000
"""From so many on, thresholds are looked for among at most `MOST_BINS` of each feature."""
MOST_BINS = 1000
RESOLUTION = 1000
"""Weights of the optimal trees are whole shares of the largest, in so many steps."""
_NO_GAIN = 1e-12


@dataclass(frozen=True, eq=False)
class Priced:
    """What a round of boosting asks for: derivatives of the loss of the worst-case margins.

    `gradient` is minus the first derivative, `curvature` the second; both are zero for samples that are left out.
    """

    sign: SignArray
    gradient: FloatArray
    curvature: FloatArray


@dataclass(frozen=True, eq=False)
class GreedyTrees:
    """Trees grown level by level on the second-order gain (`src/core/boosting/split_scan.h`).

    A sample that reaches both sides of a split goes on where its margin would be the smaller one.
    """

    problem: Problem
    max_depth: int
    l2: float
    control: _core.Control
    n_jobs: int = 1

    @cached_property
    def _ends(self) -> tuple[Int32Array, Int32Array, Int32Array, Int32Array]:
        """Ranks of lower ends in order, whose they are, and the same of upper ends; a row for each feature."""
        found = []
        for rank in (self.problem.lower_rank, self.problem.upper_rank):
            sorted_rank, order = (np.empty(rank.shape[::-1], np.int32) for _ in range(2))
            for j in each_feature(self.problem, self.control):
                column = np.ascontiguousarray(rank[:, j])
                order[j] = np.argsort(column, kind="stable")
                np.take(column, order[j], out=sorted_rank[j])
            found += [sorted_rank, order]
        return found[0], found[1], found[2], found[3]

    def candidates(self, priced: Priced, features: IntArray) -> list[IndexTree]:
        """Return trees to choose from, the most promising first; none where no split gains anything."""
        node = np.where(priced.curvature > 0, 0, -1).astype(np.int32)
        if self.max_depth == 1:
            gain, index, _ = self._scan(priced, node, 1, features)
            best = np.argsort(-_rounded(gain[0]), kind="stable")[:CANDIDATES]
            return [_stump(int(features[k]), int(index[0, k])) for k in best if index[0, k] >= 0]
        tree = self._grow(priced, node, features)
        return [] if tree.n_nodes == 1 else [tree]

    def _grow(self, priced: Priced, node: Int32Array, features: IntArray) -> IndexTree:
        columns: tuple[list[int], ...] = ([-1], [-1], [-1], [-1])
        feature, index, left, right = columns
        open_nodes = [0]
        for _ in range(self.max_depth):
            gain, at, rising = self._scan(priced, node, len(open_nodes), features)
            if self.control.stopped:
                break
            enough = self._gain_of_leaves(priced, node, len(open_nodes))
            children: list[int] = []
            following = np.full_like(node, -1)
            for k, parent in enumerate(open_nodes):
                best = int(np.argmax(_rounded(gain[k])))
                if at[k, best] < 0 or gain[k, best] <= enough[k] * (1 + _NO_GAIN):
                    continue
                feature[parent], index[parent] = int(features[best]), int(at[k, best])
                for column in columns:
                    column.extend([-1, -1])
                left[parent], right[parent] = len(feature) - 2, len(feature) - 1
                here = np.flatnonzero(node == k)
                goes_right = self._worse_side(priced, here, feature[parent], index[parent], bool(rising[k, best]))
                following[here] = len(children) + goes_right
                children += [left[parent], right[parent]]
            node, open_nodes = following, children
            if not children:
                break
        arrays = [np.array(column) for column in columns]
        return numbered(IndexTree(arrays[0], arrays[1], arrays[2], arrays[3], np.zeros(len(feature), np.int64)))

    def _worse_side(self, priced: Priced, here: IntArray, j: int, t: int, rising: bool) -> IntArray:
        """Return 1 where a sample goes on to the right: it cannot go left, or right is worse for it."""
        goes_left = self.problem.lower_rank[here, j] <= t
        goes_right = self.problem.upper_rank[here, j] > t
        right_is_worse = (priced.sign[here] < 0) == rising
        return np.asarray(goes_right & (~goes_left | right_is_worse), dtype=np.int64)

    def _gain_of_leaves(self, priced: Priced, node: Int32Array, count: int) -> FloatArray:
        inside = node >= 0
        slope = np.bincount(node[inside], (priced.sign * priced.gradient)[inside], count)
        curvature = np.bincount(node[inside], priced.curvature[inside], count) + self.l2
        return np.asarray(np.divide(slope**2, 2 * curvature, out=np.zeros(count), where=curvature > 0))

    @cached_property
    def _bins(self) -> Bins:
        return Bins.of(self.problem, self.control)

    def _scan(
        self, priced: Priced, node: Int32Array, count: int, features: IntArray
    ) -> tuple[FloatArray, Int32Array, NDArray[np.uint8]]:
        """Return gain, threshold and order of values for the best split of each node on each feature."""
        sign, gradient, curvature, control = priced.sign, priced.gradient, priced.curvature, self.control
        binned = len(node) >= MANY_SAMPLES

        def scan(part: IntArray) -> tuple[FloatArray, Int32Array, NDArray[np.uint8]]:
            if not binned:
                return _core.scan_splits(*self._ends, sign, gradient, curvature, node, count, self.l2, part, control)
            bins = self._bins
            return _core.scan_bins(
                bins.enters, bins.leaves, bins.counts, sign, gradient, curvature, node, count, self.l2, part, control
            )

        self._bins if binned else self._ends  # noqa: B018  # before the threads start
        parts = [part for part in np.array_split(features, min(self.n_jobs, len(features))) if len(part)]
        found = in_threads(scan, ((part,) for part in parts), len(parts))
        gain, index, rising = (np.concatenate(column, axis=1) for column in zip(*found, strict=True))
        return gain, self._bins.index_of(index, features) if binned else index, rising


@dataclass(frozen=True, eq=False)
class Bins:
    """Every sample's place between some thresholds of each feature (`src/core/boosting/binned_scan.h`).

    Attributes
    ----------
    threshold : tuple of arrays
        Ranks of the thresholds of each feature: all upper ends, or quantiles of them where there are more.
    enters, leaves : array of shape (n_features, n_samples)
        The first threshold that a sample reaches left of, and how many it reaches right of.
    """

    threshold: tuple[Int32Array, ...]
    enters: NDArray[np.uint16]
    leaves: NDArray[np.uint16]

    @classmethod
    def of(cls, problem: Problem, control: _core.Control) -> Bins:
        """Choose thresholds and place the samples of a problem; `StoppedError` where the control stops it."""
        shape = (problem.n_features, problem.n_samples)
        enters, leaves = np.empty(shape, np.uint16), np.empty(shape, np.uint16)
        chosen = []
        for j in each_feature(problem, control):
            lower, upper = (np.ascontiguousarray(rank[:, j]) for rank in (problem.lower_rank, problem.upper_rank))
            order = np.sort(upper)
            ends = _distinct(order)
            if len(ends) > MOST_BINS:
                ends = _distinct(order[np.linspace(0, len(order) - 1, MOST_BINS).astype(np.int64)])
            # What a rank amounts to is looked up: ranks are few, and searching for each sample would take longer.
            place = np.searchsorted(ends, np.arange(int(max(lower.max(), upper.max())) + 1)).astype(np.uint16)
            enters[j], leaves[j] = place[np.maximum(lower, 0)], place[upper]
            chosen.append(ends.astype(np.int32))
        return cls(tuple(chosen), enters, leaves)

    @cached_property
    def counts(self) -> IntArray:
        """How many thresholds each feature has."""
        return np.array([len(ends) for ends in self.threshold], dtype=np.int64)

    def index_of(self, chosen: Int32Array, features: IntArray) -> Int32Array:
        """Return the ranks of chosen thresholds, column k of feature ``features[k]``; -1 stays."""
        found = np.full_like(chosen, -1)
        for k, j in enumerate(features):
            is_any = chosen[:, k] >= 0
            found[is_any, k] = self.threshold[j][chosen[is_any, k]]
        return found


@dataclass(frozen=True, eq=False)
class OptimalTrees:
    """Trees that lose the least gradient to the attacker, by the exact search.

    Samples are weighted by the derivative of the loss, as in AdaBoost over robust trees (Guo, Teng, Gao & Zhou, "Fast
    Provably Robust Decision Trees and Boosting", ICML 2022), where the tree was a greedy one. `problem` has two
    classes, the second of which is the one of sign +1.
    """

    problem: Problem
    max_depth: int
    time_limit: float
    control: _core.Control
    n_jobs: int = 1

    def candidates(self, priced: Priced, features: IntArray) -> list[IndexTree]:
        """Return the best tree found in time; none where a leaf is as good."""
        largest = float(priced.gradient.max(initial=0.0))
        if largest <= 0:
            return []
        weight = np.round(priced.gradient * (RESOLUTION / largest))
        if not weight.any():
            return []
        asked = self.problem.replace(weight=weight, max_depth=self.max_depth)
        if len(features) < self.problem.n_features:
            asked = asked.without_features(np.setdiff1d(np.arange(asked.n_features), features))
        time_limit = min(self.time_limit, self.control.time_left)
        result = solve(asked, "search", time_limit=time_limit, n_jobs=self.n_jobs)
        if result.stopped_by is EndReason.INTERRUPT:
            raise KeyboardInterrupt
        tree = numbered(to_indices(result.tree, self.problem))
        return [] if tree.n_nodes == 1 else [tree]


def each_feature(problem: Problem, control: _core.Control) -> Iterator[int]:
    """Go through the features; `StoppedError` where the control stops that."""
    for j in range(problem.n_features):
        if control.stopped:
            raise StoppedError("stopped while boosting was prepared")
        yield j


def _distinct(ordered: Int32Array) -> Int32Array:
    return np.asarray(ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])])


def _rounded(gain: FloatArray) -> FloatArray:
    """Make gains equal that differ only by the order of summation, so that the first of them is taken."""
    return np.round(gain / max(float(gain.max(initial=0.0)), 1e-300), 9)


def numbered(tree: IndexTree) -> IndexTree:
    """Return a tree whose leaves have their own numbers as labels."""
    is_leaf = tree.left < 0
    label = np.where(is_leaf, np.cumsum(is_leaf) - 1, -1)
    return IndexTree(tree.feature, tree.index, tree.left, tree.right, label)


def _stump(feature: int, index: int) -> IndexTree:
    columns = ([feature, -1, -1], [index, -1, -1], [1, -1, -1], [2, -1, -1], [-1, 0, 1])
    return IndexTree(*(np.array(column) for column in columns))
