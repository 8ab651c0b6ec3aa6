"""Recall at a fixed rate of false alarms, when every sample is attacked.

A tree that scores its leaves raises an alarm from some score on. The attacker takes a sample of the positive class to
the reachable leaf with the least score, and any other sample that it controls to the one with the largest. For every
threshold that counts, the share of the others that raise an alarm and the share of the positives that still do follow
from these worst scores; the smallest threshold whose alarms are few enough has the best recall.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hardwood.arrays import FloatArray
from hardwood.data.weights import as_weights
from hardwood.errors import InvalidInputError
from hardwood.tree.attacked import AttackedData
from hardwood.tree.tree import Tree


@dataclass(frozen=True)
class RecallUnderAttack:
    """What a tree still finds when false alarms are limited and everybody is attacked.

    Attributes
    ----------
    recall : float
        Share of the positive class that raises an alarm whatever the attacker does.
    false_positive_rate : float
        Share of the others that the attacker can make raise one; at most what was asked for.
    threshold : float
        Alarms are raised from this score on; infinite if none is.
    """

    recall: float
    false_positive_rate: float
    threshold: float


def adversarial_recall(
    tree: Tree,
    score: Any,
    X: Any,
    y: Any,
    attack: Any,
    *,
    positive: Any,
    false_positive_rate: float = 0.01,
    sample_weight: Any = None,
) -> RecallUnderAttack:
    """Return the best recall under attack at a limited rate of false alarms; exact for a single tree.

    Parameters
    ----------
    tree : Tree
    score : array-like of shape (n_nodes,)
        How much each leaf speaks for the positive class, its probability say; what stands at splits does not matter.
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    attack : anything `AttackModel.parse` takes, or AttackRules
    positive : label
        The class that is to be found.
    false_positive_rate : float
        Largest share of the other samples that may raise an alarm under attack.
    sample_weight : array-like of shape (n_samples,) or None
    """
    if isinstance(false_positive_rate, bool) or not 0 <= false_positive_rate <= 1:
        raise InvalidInputError(f"false_positive_rate={false_positive_rate!r}; it must be a number from 0 to 1")
    values = np.asarray(score, dtype=np.float64)
    if values.shape != (tree.n_nodes,):
        raise InvalidInputError(
            f"score has the shape {values.shape}; the tree has {tree.n_nodes} nodes, one number each"
        )
    if positive not in tree.classes.tolist():
        raise InvalidInputError(f"positive={positive!r}; the classes are {', '.join(map(repr, tree.classes.tolist()))}")
    data = AttackedData.prepare(tree, X, y, attack)
    weight = as_weights(sample_weight, len(data.label))
    is_positive = data.label == tree.classes.tolist().index(positive)
    if not weight[is_positive].any() or not weight[~is_positive].any():
        raise InvalidInputError("recall and false alarms need samples of the positive class and of others")
    low, high = _worst_scores(data, values)
    return _best(low[is_positive], weight[is_positive], high[~is_positive], weight[~is_positive], false_positive_rate)


def _worst_scores(data: AttackedData, score: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the least and the largest score to which the attacker can take each sample."""
    reached = data.reached_regions()
    of_region = score[data.leaf_of_regions()]
    least = np.where(reached, of_region, np.inf).min(axis=1)
    return least, np.where(reached, of_region, -np.inf).max(axis=1)


def _best(
    found: FloatArray, weight: FloatArray, alarm: FloatArray, alarm_weight: FloatArray, rate: float
) -> RecallUnderAttack:
    best = RecallUnderAttack(0.0, 0.0, float("inf"))
    for threshold in np.unique(found)[::-1]:
        false_alarms = float(np.average(alarm >= threshold, weights=alarm_weight))
        if false_alarms > rate:
            break
        best = RecallUnderAttack(float(np.average(found >= threshold, weights=weight)), false_alarms, float(threshold))
    return best
