"""The attacker's side: the nearest adversarial example of each sample, and how much attack each sample bears."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood.attack_model import AttackModel
from hardwood.errors import InvalidInputError
from hardwood.problem import as_labels
from hardwood.reachability import BoolArray, FloatArray, IntArray, fooled
from hardwood.tables import as_matrix, check_finite
from hardwood.tree import Tree


@dataclass(frozen=True, eq=False)
class AttackedData:
    """Samples, labels and reach in the terms of one tree; see `hardwood.reachability.fooled`."""

    tree: Tree
    X: FloatArray
    label: IntArray
    down: FloatArray
    up: FloatArray
    group: IntArray

    @classmethod
    def prepare(cls, tree: Tree, X: Any, y: Any, attack: Any) -> AttackedData:
        """Validate data against a tree. A label that the tree does not know gets code -1 and is always wrong."""
        matrix, names = as_matrix(X)
        if matrix.shape[1] != tree.n_features:
            raise InvalidInputError(f"X has {matrix.shape[1]} features, but the tree was learned on {tree.n_features}")
        names = names if names is not None else tree.feature_names
        check_finite(matrix, names)
        label = encode_labels(as_labels(y, len(matrix)), tree.classes)
        model = AttackModel.parse(attack)
        if model.by_class is None:
            down, up = model.reach(tree.n_features, names)
            group = np.zeros(len(matrix), np.int64)
        else:
            down, up = model.reach(tree.n_features, names, tree.classes)
            group = np.maximum(label, 0)
        return cls(tree, matrix, label, down, up, group)

    def fooled(self) -> BoolArray:
        """Whether the attacker can make the tree misclassify each sample."""
        return fooled(self.tree, self.X, self.label, self.down, self.up, self.group)


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
    radius = np.empty(len(data.X))
    walk.robust_factors(*tree.regions(), data.X, data.down, data.up, data.group, data.label, radius)
    return radius
