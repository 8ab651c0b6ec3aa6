"""Trees of very large tables, from ranks to numbers and back: only the core has ranks, and none are computed again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hardwood.arrays import BoolArray, FloatArray, IntArray
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
        is_merged = self._spread(np.ones(self.model.n, bool))
        for j in np.unique(tree.feature[tree.left >= 0]):
            nodes = np.flatnonzero((tree.left >= 0) & (tree.feature == j))
            last[nodes], first[nodes] = -np.inf, np.inf
            left = [self._ends_up_to(int(j), int(tree.index[node])) for node in nodes]
            for rows, ends in self._ends(int(j)):
                for node, marks in zip(nodes, left, strict=True):
                    for end, is_left in zip(ends, marks, strict=True):
                        last[node] = end.max(where=is_left[rows], initial=last[node])
                        first[node] = end.min(where=is_merged[rows] & ~is_left[rows], initial=first[node])
        return GapTree(tree.feature, last, first, tree.left, tree.right, tree.label).placed(self.model.problem)

    def in_indices(self, tree: Tree) -> IndexTree:
        """Express a tree in the ranks of the core, as `to_indices` does but for ends that are one within rounding."""
        index, row = np.full(tree.n_nodes, -1), self.model.row
        for j in np.unique(tree.feature[tree.left >= 0]):
            for node in np.flatnonzero((tree.left >= 0) & (tree.feature == j)):
                is_left = np.empty((2, self.model.problem.n_samples), bool)
                for rows, ends in self._ends(int(j)):
                    for mark, end in zip(is_left, ends, strict=True):
                        mark[rows] = end <= tree.threshold[node]
                index[node] = self.model.core.last_rank(int(j), *(mark[row] for mark in is_left))
        label: IntArray = answers_of(tree, self.model.problem)
        return IndexTree(tree.feature, index, tree.left, tree.right, label)

    def _ends(self, feature: int) -> Iterator[tuple[slice, tuple[FloatArray, FloatArray]]]:
        """Yield rows of the table, and both ends of these on one feature."""
        reach = self.model.problem.reach
        for begin in range(0, self.model.problem.n_samples, ROWS_AT_A_TIME):
            rows = slice(begin, begin + ROWS_AT_A_TIME)
            lower, upper = reach.take(rows).of_features(np.array([feature])).ends()
            yield rows, (lower[:, 0], upper[:, 0])

    def _ends_up_to(self, feature: int, index: int) -> list[BoolArray]:
        """Return which samples, one of each merged one, have their lower, and which their upper, end on the left."""
        return [self._spread(is_left) for is_left in self.model.core.ends_up_to(feature, index)]

    def _spread(self, is_marked: BoolArray) -> BoolArray:
        """Return marks of merged samples as marks of samples, one of each: ends are longer, and stay where they are."""
        spread = np.zeros(self.model.problem.n_samples, bool)
        spread[self.model.row] = is_marked
        return spread
