"""What all trees are: frozen parallel arrays.

A split sends ``x`` left iff ``x[feature] <= threshold``; the root is node 0; a leaf has children -1 and a class index
in ``label``; a split has label -1. Children always stand behind their parent.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardwood.arrays import IntArray
from hardwood.errors import InvalidInputError


def frozen(values: ArrayLike, dtype: type) -> NDArray[Any]:
    """Return a copy that nobody can write to."""
    array: NDArray[Any] = np.array(values, dtype=dtype)
    array.setflags(write=False)
    return array


class Structure:
    """What `Tree` and `IndexTree` share: the shape of the tree."""

    feature: IntArray
    left: IntArray
    right: IntArray
    label: IntArray

    @property
    def n_nodes(self) -> int:
        """Number of splits and leaves."""
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.count_nonzero(self.left < 0))

    @property
    def depth(self) -> int:
        """Number of splits on the longest path."""
        level = np.zeros(self.n_nodes, dtype=np.int64)
        for node in np.flatnonzero(self.left >= 0):
            level[self.left[node]] = level[self.right[node]] = level[node] + 1
        return int(level.max())

    def check_structure(self, split_value: NDArray[Any], n_classes: int | None) -> None:
        """Raise if the arrays are not a tree; `split_value` holds the thresholds in whatever form they are."""
        n = len(self.feature)
        arrays = (self.feature, split_value, self.left, self.right, self.label)
        if n == 0 or any(a.ndim != 1 or len(a) != n for a in arrays):
            raise InvalidInputError("the arrays of a tree must be one-dimensional, of one length, and not empty")
        is_leaf = self.left < 0
        if not np.array_equal(is_leaf, self.right < 0):
            raise InvalidInputError("every node of a tree has two children or none")
        children = np.concatenate([self.left[~is_leaf], self.right[~is_leaf]])
        parents = np.concatenate([np.flatnonzero(~is_leaf)] * 2)
        if not np.array_equal(np.sort(children), np.arange(1, n)) or np.any(children <= parents):
            raise InvalidInputError("every node but the root must be the child of exactly one node before it")
        if np.any(self.feature[~is_leaf] < 0):
            raise InvalidInputError("a split must name a feature")
        if np.any(self.label[is_leaf] < 0) or (n_classes is not None and np.any(self.label >= n_classes)):
            raise InvalidInputError("a leaf must name one of the classes")
