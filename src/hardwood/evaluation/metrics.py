"""How good a model is, with and without an attacker."""

from __future__ import annotations

import warnings
from typing import Any

from hardwood.data.weights import weighted_share
from hardwood.tree.attacked import AttackedData
from hardwood.tree.tree import Tree


def adversarial_accuracy(
    model: Any, X: Any, y: Any, attack: Any, sample_weight: Any = None, *, time_limit: float | None = None
) -> float:
    """Share of the samples that no move of the attacker can make the model misclassify. Exact.

    Parameters
    ----------
    model : Tree, or anything `hardwood.as_ensemble` takes
        A tree, a fitted forest, boosted trees, a pipeline, a saved model.
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    attack : anything `AttackModel.parse` takes
        In the units of X.
    sample_weight : array-like of shape (n_samples,) or None
    time_limit : float or None
        Seconds, for ensembles; a single tree needs none. Samples that are undecided when they are over count as lost,
        and a warning says how many; `hardwood.robustness` tells them apart.
    """
    if not isinstance(model, Tree):
        return _of_ensemble(model, X, y, attack, sample_weight, time_limit)
    right = ~AttackedData.prepare(model, X, y, attack).fooled()
    return weighted_share(right, sample_weight)


def _of_ensemble(model: Any, X: Any, y: Any, attack: Any, sample_weight: Any, time_limit: float | None) -> float:
    from hardwood.ensembles.verification import UndecidedAttackWarning, robustness

    found = robustness(model, X, y, attack, time_limit=time_limit)
    undecided = int(found.is_open.sum())
    if undecided:
        warnings.warn(
            f"{undecided} of {len(found.is_open)} samples were not decided in time; they count as lost",
            UndecidedAttackWarning,
            stacklevel=3,
        )
    return found.interval(sample_weight)[0]


def accuracy(tree: Tree, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Share of the samples that the tree classifies correctly as they are; missing values go where it sends them."""
    label = AttackedData.prepare(tree, X, y, 0.0).label
    right = tree.label[tree.apply(X)] == label
    return weighted_share(right, sample_weight)
