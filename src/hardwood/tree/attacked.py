"""Samples under attack as one tree sees them: the same boxes for every question that is asked of a fitted tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood.arrays import BoolArray, FloatArray, IntArray
from hardwood.attack.model import AttackModel
from hardwood.data.frames import column_names
from hardwood.errors import InvalidInputError
from hardwood.problem.problem import as_labels, reach_of
from hardwood.tree.reach import fooled
from hardwood.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class AttackedData:
    """Samples, labels and reach in the terms of one tree; see `hardwood.tree.reach.fooled`."""

    tree: Tree
    X: FloatArray
    low: FloatArray
    high: FloatArray
    label: IntArray
    down: FloatArray
    up: FloatArray
    group: IntArray

    @classmethod
    def prepare(cls, tree: Tree, X: Any, y: Any, attack: Any) -> AttackedData:
        """Validate data against a tree. A label that the tree does not know gets code -1 and is always wrong."""
        matrix = tree.rows(X)
        names = column_names(X) or tree.feature_names
        label = encode_labels(as_labels(y, len(matrix)), tree.classes)
        model = AttackModel.parse(attack)
        group = np.zeros(len(matrix), np.int64) if model.by_class is None else np.maximum(label, 0)
        classes = None if model.by_class is None else tree.classes
        low, high, down, up = reach_of(matrix, model, names, classes, group, tree.encoding)
        return cls(tree, matrix, low, high, label, down, up, group)

    def fooled(self) -> BoolArray:
        """Whether the attacker can make the tree misclassify each sample."""
        return fooled(self.tree, self.low, self.high, self.down, self.up, self.group, self.label)

    def require_plain_numbers(self, what: str) -> None:
        """Raise where distances make no sense: for categories and missing values."""
        if self.tree.encoding is not None:
            raise InvalidInputError(f"{what} measures distances, which categorical features do not have")
        if self.low is not self.X:
            raise InvalidInputError(f"{what} measures distances from the samples, and some values are missing")


def encode_labels(labels: NDArray[Any], classes: NDArray[Any]) -> IntArray:
    """Return the index of each label in sorted `classes`, or -1 where it is none of them."""
    if (labels.dtype.kind in "OUS") != (classes.dtype.kind in "OUS"):
        raise InvalidInputError(
            f"y holds labels such as {labels[:1].tolist()}, but the classes of the tree are {classes.tolist()}"
        )
    position = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    return np.where(classes[position] == labels, position, -1).astype(np.int64, copy=False)
