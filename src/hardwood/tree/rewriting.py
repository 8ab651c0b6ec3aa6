"""Which samples an attacker with rewriting rules can have misclassified."""

from __future__ import annotations

import numpy as np

from hardwood.arrays import BoolArray, FloatArray, IntArray
from hardwood.attack.rules import SLACK, AttackRules
from hardwood.data.frames import EXACT_DOUBLE
from hardwood.problem.rewriting import intervals
from hardwood.tree.tree import Tree


def fooled_by_rules(
    tree: Tree, rules: AttackRules, X: FloatArray, label: IntArray, rounding: FloatArray = EXACT_DOUBLE
) -> BoolArray:
    """Return, for each sample, whether the attacker can afford to make the tree misclassify it.

    Parameters
    ----------
    tree : Tree
    rules : AttackRules
    X : float array of shape (n_samples, n_features)
    label : int array of shape (n_samples,)
        Class indices in terms of ``tree.classes``; -1 for a label that the tree does not know.
    rounding : float array of shape (2, n_features) or (2, 1)
        See `hardwood.data.frames.Table`.
    """
    levels = intervals(rules, X, tree.feature_names, rounding)
    region_low, region_high, region_label = tree.regions()
    out = np.zeros(len(X), bool)
    for r in range(len(region_label)):
        price = np.zeros(len(X))
        for j in np.flatnonzero(np.isfinite(region_low[r]) | np.isfinite(region_high[r])):
            cost, low, high = levels[j]
            inside = (low <= region_high[r, j]) & (high > region_low[r, j])
            price += np.where(inside.any(axis=0), cost[np.argmax(inside, axis=0)], np.inf)
        out |= (price <= rules.budget + SLACK) & (region_label[r] != label)
    return out
