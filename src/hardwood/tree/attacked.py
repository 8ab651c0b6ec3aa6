"""Samples under attack as one tree sees them: the same boxes for every question that is asked of a fitted tree."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hardwood import _core
from hardwood.arrays import BoolArray, FloatArray, IntArray
from hardwood.attack.model import AttackModel
from hardwood.attack.relations import Relation
from hardwood.attack.rules import AttackRules
from hardwood.data.frames import column_names, has_missing
from hardwood.data.labels import as_labels, encode_labels
from hardwood.data.weights import as_weights
from hardwood.errors import InvalidInputError
from hardwood.problem.boxes import Boxes, Reach, reach_under_attack
from hardwood.problem.prices import BoxPrices, Prices
from hardwood.problem.rewriting import reach_under_rules
from hardwood.tree.priced import CheapestAttacks, cheapest_attacks, reached_boxes
from hardwood.tree.reach import fooled_under_attack
from hardwood.tree.related import RelatedAttacks, related_attacks
from hardwood.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class AttackedData:
    """Samples and their boxes in the terms of one tree.

    Attributes
    ----------
    tree : Tree
    X : float array of shape (n_samples, n_features)
        The samples as the tree compares them.
    rounding : float array of shape (2, n_features)
        See `hardwood.data.frames.Table`.
    attack : AttackModel or AttackRules
    names : tuple of str or None
        How the attack may call features.
    label, weight : array of shape (n_samples,)
        Class indices and weights. A label that the tree does not know has code -1 and is always wrong.
    reach : Reach
        What makes the boxes.
    """

    tree: Tree
    X: FloatArray
    rounding: FloatArray
    attack: AttackModel | AttackRules
    names: tuple[str, ...] | None
    label: IntArray
    weight: FloatArray
    reach: Reach

    @classmethod
    def prepare(cls, tree: Tree, X: Any, y: Any, attack: Any, sample_weight: Any = None) -> AttackedData:
        """Validate data against a tree."""
        table = tree.table(X)
        names = column_names(X) or tree.feature_names
        label = encode_labels(as_labels(y, len(table)), tree.classes)
        weight = as_weights(sample_weight, len(table))
        if isinstance(attack, AttackRules):
            if tree.encoding is not None or has_missing(table.values):
                raise InvalidInputError("rewriting rules are about numbers that are there, not categories or gaps")
            reach = reach_under_rules(attack, table.values, names, table.rounding)
            return cls(tree, table.values, table.rounding, attack, names, label, weight, reach)
        model = AttackModel.parse(attack)
        classes, group = _groups(model, tree, label)
        reach = reach_under_attack(table.values, model, names, classes, group, tree.encoding, table.rounding)
        return cls(tree, table.values, table.rounding, model, names, label, weight, reach)

    @cached_property
    def boxes(self) -> Boxes:
        """The boxes, with labels and weights."""
        return Boxes(*self.reach.ends(), self.label, self.weight)

    def fooled(self) -> BoolArray:
        """Whether the attacker can make the tree misclassify each sample."""
        if self.relations:
            return self.related_attacks().fooled
        if self.reach.prices is not None:
            return self.cheapest_attacks().affordable
        return fooled_under_attack(self.tree, self.reach, self.label)

    @property
    def relations(self) -> tuple[Relation, ...]:
        """What holds between features, whatever the attacker does."""
        return self.attack.domain.relations if isinstance(self.attack, AttackModel) else ()

    def related_attacks(self, deadline: float = math.inf) -> RelatedAttacks:
        """Return attacks that hold to the relations, found until a moment of `time.monotonic`."""
        return related_attacks(self, self.relations, deadline)

    def cheapest_attacks(self) -> CheapestAttacks:
        """Return the cheapest way of each sample to a wrong leaf, for attackers who pay."""
        return cheapest_attacks(self.regions(), self.prices, self.label)

    @property
    def prices(self) -> Prices:
        """What moves cost; where nothing was said, everything in the box is free."""
        if self.reach.prices is not None:
            return self.reach.prices
        integer = np.zeros(self.tree.n_features, bool) if self.reach.limits is None else self.reach.limits.integer
        free = np.zeros(self.X.shape)
        return BoxPrices(self.X, self.boxes.lower, self.boxes.upper, free, free == 0, integer, np.zeros(len(free)), ())

    def regions(self) -> tuple[FloatArray, FloatArray, IntArray]:
        """Return the leaves of the tree as half-open boxes ``(low, high]`` with their classes.

        Where a feature is a whole number, the largest and the number next above `low` are whole numbers.
        """
        limits = self.reach.limits
        if limits is None:
            return self.tree.regions()
        low, high, label = self.tree.over_integers(limits.integer).regions()
        before_next = np.maximum(low, np.nextafter(low + 1, -np.inf))
        return np.where(limits.integer, before_next, low), high, label

    def reached_regions(self) -> BoolArray:
        """Return which leaves (`regions`) the attacker can bring each sample to, of shape (n_samples, n_leaves)."""
        if self.reach.prices is not None:
            return reached_boxes(self.regions(), self.prices)
        low, high, label = self.regions()
        reached = [
            np.all((self.boxes.lower <= high[r]) & (self.boxes.upper > low[r]), axis=1) for r in range(len(label))
        ]
        return np.column_stack(reached)

    def leaf_of_regions(self) -> IntArray:
        """Return the node of the tree that each of the leaves (`regions`) is."""
        low, high, _ = self.regions()
        with np.errstate(invalid="ignore"):
            above = np.where(np.isfinite(low), np.nextafter(low, np.inf), 0.0)
        points = np.ascontiguousarray(np.where(np.isfinite(high), high, above))
        tree = self.tree
        return _core.apply(tree.feature, tree.threshold, tree.left, tree.right, points)

    @property
    def is_plain(self) -> bool:
        """Whether all features are numbers that are there, so that distances make sense."""
        return self.tree.encoding is None and not has_missing(self.X)

    def require_box(self, what: str) -> None:
        """Raise for attackers who cannot use all of a box at once."""
        if isinstance(self.attack, AttackRules):
            raise InvalidInputError(f"{what} takes an AttackModel, not rewriting rules")
        self.attack.require_box(what)

    def require_plain_numbers(self, what: str) -> None:
        """Raise where distances make no sense: for categories and missing values."""
        if self.tree.encoding is not None:
            raise InvalidInputError(f"{what} measures distances, which categorical features do not have")
        if not self.is_plain:
            raise InvalidInputError(f"{what} measures distances from the samples, and some values are missing")


def _groups(model: AttackModel, tree: Tree, label: IntArray) -> tuple[Any, IntArray]:
    """Return the classes that an attack tells apart, and which of them each sample belongs to."""
    if model.by_class is None:
        return None, np.zeros(len(label), np.int64)
    return tree.classes, np.maximum(label, 0)
