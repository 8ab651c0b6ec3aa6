"""The attacker's side: the nearest adversarial example of each sample, and how much attack each sample bears."""

from __future__ import annotations

from typing import Any

from hardwood import _core
from hardwood.arrays import FloatArray
from hardwood.tree.attacked import AttackedData
from hardwood.tree.tree import Tree


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
    data = AttackedData.prepare(tree, X, y, attack)
    data.require_plain_numbers("attack_samples")
    points, _ = _core.nearest_wrong_points(*tree.regions(), data.X, data.down, data.up, data.group, data.label)
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
    data = AttackedData.prepare(tree, X, y, attack)
    data.require_plain_numbers("robust_radius")
    return _core.robust_factors(*tree.regions(), data.X, data.down, data.up, data.group, data.label)
