"""What it costs to fool a tree: the cheapest attack on each sample, and accuracy as a function of the budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hardwood.arrays import FloatArray
from hardwood.attack.budget import SLACK
from hardwood.attack.model import AttackModel
from hardwood.attack.rules import AttackRules
from hardwood.data.weights import weighted_share
from hardwood.errors import InvalidInputError
from hardwood.tree.attacked import AttackedData
from hardwood.tree.priced import attack_points
from hardwood.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class AttackCosts:
    """The cheapest attack on each sample.

    Attributes
    ----------
    cost : float array of shape (n_samples,)
        What the attacker must spend, whatever the budget: 0 where the sample is wrong as it is, infinite where no move
        within the boxes fools the tree.
    examples : float array of shape (n_samples, n_features) or None
        A misclassified point that has that price; NaN where there is none. None for trees with categorical features,
        whose points are no rows of the table.
    budget : float array of shape (n_samples,)
        What the attacker has.
    """

    cost: FloatArray
    examples: FloatArray | None
    budget: FloatArray

    def accuracy(self, budgets: Any = None, sample_weight: Any = None) -> Any:
        """Return the accuracy under attack for each of some budgets; for the attacker's own by default.

        Parameters
        ----------
        budgets : float, array-like or None
        sample_weight : array-like of shape (n_samples,) or None
        """
        if budgets is None:
            return weighted_share(self.cost > self.budget * (1 + SLACK), sample_weight)
        wanted = np.asarray(budgets, dtype=np.float64)
        shares = [weighted_share(self.cost > float(one) * (1 + SLACK), sample_weight) for one in wanted.ravel()]
        return shares[0] if wanted.ndim == 0 else np.array(shares)


def attack_cost(tree: Tree, X: Any, y: Any, attack: Any) -> AttackCosts:
    """Return the cheapest attack on each sample; exact for a single tree.

    Parameters
    ----------
    tree : Tree
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    attack : AttackModel with a budget, or AttackRules
        Its prices; how much it can spend does not matter here. Rules are looked at up to their budget.

    Examples
    --------
    >>> from hardwood import AttackModel, RobustTreeClassifier
    >>> clf = RobustTreeClassifier(max_depth=1).fit([[1], [2], [8], [9]], [0, 0, 1, 1])
    >>> attack = AttackModel.parse({0: "<>"}).with_budget(total=4, cost=1)
    >>> costs = attack_cost(clf.tree_, [[1.0], [8.0]], [0, 1], attack)
    >>> costs.cost.tolist(), costs.accuracy([2, 3, 5]).tolist()
    ([4.0, 3.0], [1.0, 0.5, 0.0])
    """
    if not isinstance(tree, Tree):
        raise InvalidInputError(
            f"attack_cost is exact for single trees, and a {type(tree).__name__} is none; robustness(model, X, y, "
            "attack) bounds what a budget can do to an ensemble"
        )
    model = attack if isinstance(attack, AttackRules) else AttackModel.parse(attack)
    if isinstance(model, AttackModel) and not model.has_budget:
        raise InvalidInputError("the attack has no prices; give it some: attack.with_budget(total=5, cost={'*': 1})")
    data = AttackedData.prepare(tree, X, y, model)
    found, regions = data.cheapest_attacks(), data.regions()
    points = attack_points(regions, data.prices, data.X, found) if tree.encoding is None else None
    return AttackCosts(found.cost, points, data.prices.budget)
