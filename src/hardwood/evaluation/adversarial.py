"""The attacker's side: the nearest adversarial example of each sample, and how much attack each sample bears."""

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


def attack_samples(tree: Tree, X: Any, y: Any, attack: Any) -> FloatArray:
    """Return, for each sample, the nearest point inside its box that the tree gets wrong.

    Parameters
    ----------
    tree : Tree
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    attack : anything `AttackModel.parse` takes

    Returns
    -------
    points : float array of shape (n_samples, n_features)
        Nearest in L∞; ``tree.predict`` misclassifies every row that is not NaN. A row is NaN where no point of the
        box is misclassified. A sample that is wrong as it is stays where it is.
    """
    from hardwood.kernels import walk

    data = AttackedData.prepare(tree, X, y, attack)
    data.require_plain_numbers("attack_samples")
    points = np.empty_like(data.X)
    distance = np.empty(len(points))
    walk.nearest_wrong_points(*tree.regions(), data.X, data.down, data.up, data.group, data.label, points, distance)
    return points


def robust_radius(tree: Tree, X: Any, y: Any, attack: Any = 1.0) -> FloatArray:
    """Return how large an attack each sample bears.

    Parameters
    ----------
    tree : Tree
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    attack : anything `AttackModel.parse` takes
        The unit. With the default, the answer is the largest L∞ radius at which the sample stays right; with any
        other attack it is the largest multiple of that attack.

    Returns
    -------
    radius : float array of shape (n_samples,)
        ``radius >= r`` means that the sample is right under ``attack.scaled(r)``: -inf where it is wrong without any
        attack, inf where no multiple can change it. Exact to one unit in the last place of the threshold.
    """
    from hardwood.kernels import walk

    data = AttackedData.prepare(tree, X, y, attack)
    data.require_plain_numbers("robust_radius")
    radius = np.empty(len(data.X))
    walk.robust_factors(*tree.regions(), data.X, data.down, data.up, data.group, data.label, radius)
    return radius
