"""Trees with indices of ends as thresholds: what solvers return."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hardwood.arrays import IntArray
from hardwood.tree.structure import Structure, frozen


@dataclass(frozen=True, eq=False)
class IndexTree(Structure):
    """A tree whose thresholds are indices into the sorted endpoints of each feature: what solvers return.

    ``index = t`` on feature ``j`` stands for any threshold strictly between endpoint clusters ``t`` and ``t + 1``;
    `hardwood.tree.conversion.place` turns it into a number.
    """

    feature: IntArray
    index: IntArray
    left: IntArray
    right: IntArray
    label: IntArray

    def __post_init__(self) -> None:
        for name in ("feature", "index", "left", "right", "label"):
            object.__setattr__(self, name, frozen(getattr(self, name), np.int64))
        self.check_structure(self.index, None)

    @classmethod
    def leaf(cls, label: int) -> IndexTree:
        """Build the tree that always answers class index ``label``."""
        return cls(*(np.array([value]) for value in (-1, -1, -1, -1, label)))
