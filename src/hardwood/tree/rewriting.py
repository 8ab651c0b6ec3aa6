"""Which samples an attacker with rewriting rules can have misclassified."""

from __future__ import annotations

from hardwood.arrays import BoolArray, FloatArray, IntArray
from hardwood.attack.rules import AttackRules
from hardwood.data.frames import EXACT_DOUBLE
from hardwood.problem.rewriting import reach_under_rules
from hardwood.tree.priced import cheapest_attacks
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
    reach = reach_under_rules(rules, X, tree.feature_names, rounding)
    assert reach.prices is not None
    return cheapest_attacks(tree.regions(), reach.prices, label).affordable
