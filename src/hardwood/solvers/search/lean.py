"""Trees of very large tables, from ranks to numbers and back: only the core has ranks, and none are computed again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hardwood.arrays import BoolArray, FloatArray, IntArray
from hardwood.solvers.search.model import SearchModel
from hardwood.tree.conversion import GapTree, answers_of
from hardwood.tree.index_tree import IndexTree
from hardwood.tree.tree import Tree


@dataclass(frozen=True)
class LeanTrees:
    """Converts trees of a model one feature at a time, in little memory.

    Ranking the ends of a feature again, as `hardwood.tree.conversion` does, takes as much memory as several columns of
    the table; a pass over the ends of the feature, with what the core knows of their ranks, does not.
    """

    model: SearchModel

    def placed(self, tree: IndexTree) -> Tree:
        """Turn indices into thresholds at maximum margin, as `place` does."""
        last, first = np.full((2, len(tree.feature)), np.nan)
        for j in np.unique(tree.feature[tree.left >= 0]):
            ends = self._ends(int(j))
            for node in np.flatnonzero((tree.left >= 0) & (tree.feature == j)):
                left = self.model.core.ends_up_to(int(j), int(tree.index[node]))
                last[node] = max(
                    end.max(where=self._spread(is_left), initial=-np.inf)
                    for end, is_left in zip(ends, left, strict=True)
                )
                first[node] = min(
                    end.min(where=self._spread(~is_left), initial=np.inf)
                    for end, is_left in zip(ends, left, strict=True)
                )
        return GapTree(tree.feature, last, first, tree.left, tree.right, tree.label).placed(self.model.problem)

    def in_indices(self, tree: Tree) -> IndexTree:
        """Express a tree in the ranks of the core, as `to_indices` does but for ends that are one within rounding."""
        index, row = np.full(tree.n_nodes, -1), self.model.row
        for j in np.unique(tree.feature[tree.left >= 0]):
            lower, upper = self._ends(int(j))
            for node in np.flatnonzero((tree.left >= 0) & (tree.feature == j)):
                threshold = tree.threshold[node]
                is_left = (lower <= threshold)[row], (upper <= threshold)[row]
                index[node] = self.model.core.last_rank(int(j), *is_left)
        label: IntArray = answers_of(tree, self.model.problem)
        return IndexTree(tree.feature, index, tree.left, tree.right, label)

    def _ends(self, feature: int) -> tuple[FloatArray, FloatArray]:
        """Return both ends of all samples on one feature."""
        lower, upper = self.model.problem.reach.of_features(np.array([feature])).ends()
        return lower[:, 0], upper[:, 0]

    def _spread(self, is_marked: BoolArray) -> BoolArray:
        """Return marks of merged samples as marks of samples, one of each: ends are longer, and stay where they are."""
        spread = np.zeros(self.model.problem.n_samples, bool)
        spread[self.model.row] = is_marked
        return spread
