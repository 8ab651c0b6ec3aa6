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

_ONE_PARENT = "every node but the root must be the child of exactly one node before it"


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
        has_parent = bytearray(n)
        # A loop, since most trees are small: it takes a tenth of the time of array operations.
        nodes = zip(*(a.tolist() for a in (self.feature, self.left, self.right, self.label)), strict=True)
        for node, (feature, left, right, label) in enumerate(nodes):
            if (left < 0) != (right < 0):
                raise InvalidInputError("every node of a tree has two children or none")
            if (left < 0 and label < 0) or (n_classes is not None and label >= n_classes):
                raise InvalidInputError("a leaf must name one of the classes")
            if left < 0:
                continue
            if feature < 0:
                raise InvalidInputError("a split must name a feature")
            for child in (left, right):
                if not node < child < n or has_parent[child]:
                    raise InvalidInputError(_ONE_PARENT)
                has_parent[child] = 1
        if sum(has_parent) != n - 1:
            raise InvalidInputError(_ONE_PARENT)
