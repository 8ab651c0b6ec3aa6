"""How good a tree is, with and without an attacker."""

from __future__ import annotations

from typing import Any

from hardwood.data.weights import weighted_share
from hardwood.tree.attacked import AttackedData
from hardwood.tree.tree import Tree


def adversarial_accuracy(tree: Tree, X: Any, y: Any, attack: Any, sample_weight: Any = None) -> float:
    """Share of the samples that no move of the attacker can make the tree misclassify. Exact.

    Parameters
    ----------
    tree : Tree
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    attack : anything `AttackModel.parse` takes
        In the units of X.
    sample_weight : array-like of shape (n_samples,) or None
    """
    right = ~AttackedData.prepare(tree, X, y, attack).fooled()
    return weighted_share(right, sample_weight)


def accuracy(tree: Tree, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Share of the samples that the tree classifies correctly as they are; missing values go where it sends them."""
    label = AttackedData.prepare(tree, X, y, 0.0).label
    right = tree.label[tree.apply(X)] == label
    return weighted_share(right, sample_weight)
