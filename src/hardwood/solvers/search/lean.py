"""Trees of very large tables, from ranks to numbers and back: only the core has ranks, and none are computed again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hardwood.arrays import FloatArray, IntArray
from hardwood.solvers.search.model import SearchModel
from hardwood.tree.conversion import GapTree, answers_of
from hardwood.tree.index_tree import IndexTree
from hardwood.tree.tree import Tree

ROWS_AT_A_TIME = 1 << 16
"""Samples whose ends are computed together."""


@dataclass(frozen=True)
class LeanTrees:
    """Converts trees of a model one feature at a time, in little memory.

    Ranking the ends of a feature again, as `hardwood.tree.conversion` does, takes as much memory as several columns of
    the table; a pass over the ends of the feature, some rows at a time, with what the core knows of their ranks, does
    not.
    """

    model: SearchModel

    def placed(self, tree: IndexTree) -> Tree:
        """Turn indices into thresholds at maximum margin, as `place` does."""
        last, first = np.full(len(tree.feature), np.nan), np.full(len(tree.feature), np.nan)
        for j in np.unique(tree.feature[tree.left >= 0]):
            nodes = np.flatnonzero((tree.left >= 0) & (tree.feature == j))
            index, of_node = np.unique(tree.index[nodes], return_inverse=True)
            last[nodes], first[nodes] = (side[of_node] for side in self._gaps(int(j), index))
        return GapTree(tree.feature, last, first, tree.left, tree.right, tree.label).placed(self.model.problem)

    def _gaps(self, feature: int, index: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the last end up to each of some thresholds, which rise, and the first one behind it."""
        # Where each end lies between the thresholds: the number of those that it is behind.
        kind = _place_type(len(index))
        place = np.zeros((2, self.model.n), kind)
        for k in index:
            for behind, is_left in zip(place, self.model.core.ends_up_to(feature, int(k)), strict=True):
                behind += ~is_left
        greatest, least = np.full(len(index) + 2, -np.inf), np.full(len(index) + 2, np.inf)
        # Samples that were merged with another one lie in a place of their own, behind all thresholds.
        place_of_sample = np.full((2, self.model.problem.n_samples), len(index) + 1, kind)
        for of_sample, behind in zip(place_of_sample, place, strict=True):
            of_sample[self.model.row] = behind
        for rows, ends in self._ends(feature):
            for end, behind in zip(ends, place_of_sample, strict=True):
                np.maximum.at(greatest, behind[rows], end)
                np.minimum.at(least, behind[rows], end)
        return np.maximum.accumulate(greatest[:-2]), np.minimum.accumulate(least[-2::-1])[-2::-1]

    def in_indices(self, tree: Tree) -> IndexTree:
        """Express a tree in the ranks of the core, as `to_indices` does but for ends that are one within rounding."""
        index = np.full(tree.n_nodes, -1)
        place = np.empty((2, self.model.problem.n_samples), _place_type(tree.n_nodes))
        for j in np.unique(tree.feature[tree.left >= 0]):
            nodes = np.flatnonzero((tree.left >= 0) & (tree.feature == j))
            threshold, of_node = np.unique(tree.threshold[nodes], return_inverse=True)
            for rows, ends in self._ends(int(j)):
                for behind, end in zip(place, ends, strict=True):
                    behind[rows] = np.searchsorted(threshold, end)
            lower, upper = (behind[self.model.row] for behind in place)
            last = self.model.core.last_ranks(int(j), lower, upper, len(threshold))
            index[nodes] = np.maximum.accumulate(last)[of_node]
        label: IntArray = answers_of(tree, self.model.problem)
        return IndexTree(tree.feature, index, tree.left, tree.right, label)

    def _ends(self, feature: int) -> Iterator[tuple[slice, tuple[FloatArray, FloatArray]]]:
        """Yield rows of the table, and both ends of these on one feature."""
        reach = self.model.problem.reach
        for begin in range(0, self.model.problem.n_samples, ROWS_AT_A_TIME):
            rows = slice(begin, begin + ROWS_AT_A_TIME)
            lower, upper = reach.take(rows).of_features(np.array([feature])).ends()
            yield rows, (lower[:, 0], upper[:, 0])


def _place_type(n_thresholds: int) -> type[np.uint16] | type[np.int32]:
    """Return a small type for places between so many thresholds."""
    return np.uint16 if n_thresholds < np.iinfo(np.uint16).max - 2 else np.int32
