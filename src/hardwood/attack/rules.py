"""Attackers as rewriting rules with a budget, after TREANT.

A rule says: a sample whose feature lies in an interval can have it changed by any amount within limits, at a cost
(Calzavara et al., "TREANT: Training Evasion-Aware Decision Trees", 2020, "Threat model"). Rules may be applied in turn,
also repeatedly, as long as the total cost on a sample stays within the budget.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hardwood.arrays import FloatArray
from hardwood.attack.entries import position
from hardwood.attack.model import AttackModel
from hardwood.errors import InvalidInputError
from hardwood.files import read_text
from hardwood.plain_data import as_entries, as_items, as_number, as_text, as_whole, parse_json

MOST_LEVELS = 1000
"""An attacker whose budget allows more different costs than this on one feature is refused."""
SLACK = 1e-9
"""A sum of costs may be above the budget by this much, which is rounding."""


@dataclass(frozen=True)
class AttackRule:
    """Change `feature` by an amount in ``[down, up]`` if it lies in ``[low, high]``, for `cost`.

    Parameters
    ----------
    feature : str or int
        Name or index.
    down, up : float
        Limits of the change, ``down <= 0 <= up``.
    cost : float
    low, high : float
        Precondition; by default there is none.
    """

    feature: str | int
    down: float
    up: float
    cost: float = 1.0
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        where = f"the rule on feature {self.feature!r}"
        if not self.down <= 0 <= self.up:
            raise InvalidInputError(f"{where} changes by [{self.down}, {self.up}]; the interval must contain 0")
        if not 0 <= self.cost < math.inf:
            raise InvalidInputError(f"{where} costs {self.cost!r}; a cost is a number >= 0")
        if not self.low <= self.high:
            raise InvalidInputError(f"{where} applies within [{self.low}, {self.high}], which is empty")


@dataclass(frozen=True)
class AttackRules:
    """An attacker who may apply rewriting rules up to a budget.

    Parameters
    ----------
    rules : sequence of AttackRule
    budget : float
        What all changes to one sample may cost together.
    max_per_feature : int or None
        How often rules may be applied to one feature of a sample; None for as often as the budget allows.
    """

    rules: tuple[AttackRule, ...]
    budget: float
    max_per_feature: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rules", tuple(self.rules))
        if not 0 <= self.budget < math.inf:
            raise InvalidInputError(f"budget={self.budget!r}; it must be a number >= 0")
        if self.max_per_feature is not None and (
            isinstance(self.max_per_feature, bool)
            or not isinstance(self.max_per_feature, int)
            or self.max_per_feature < 1
        ):
            raise InvalidInputError(f"max_per_feature={self.max_per_feature!r}; it must be a whole number >= 1 or None")
        free = [rule for rule in self.rules if rule.cost == 0]
        if free and self.max_per_feature is None:
            raise InvalidInputError(
                f"the rule on feature {free[0].feature!r} costs nothing and may be applied without end; "
                "give it a cost or set max_per_feature"
            )

    @classmethod
    def from_attack_model(cls, attack: Any, n_features: int, feature_names: Sequence[str] | None = None) -> AttackRules:
        """Express an L∞ or box attack as rules: one per feature, to be applied once, all of them affordable."""
        down, up = AttackModel.parse(attack).reach(n_features, feature_names)
        if len(down) != 1:
            raise InvalidInputError("an attack that differs between classes cannot be written as rules")
        rules = [
            AttackRule(j, -float(down[0, j]), float(up[0, j])) for j in range(n_features) if down[0, j] + up[0, j] > 0
        ]
        return cls(tuple(rules), budget=float(len(rules)), max_per_feature=1)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> AttackRules:
        """Read plain data; see `load` for the format."""
        if not isinstance(data, Mapping) or "rules" not in data or "budget" not in data:
            raise InvalidInputError('attacker rules need the entries "budget" and "rules"')
        as_entries(data, "the attacker's rules", ("rules", "budget"), ("max_per_feature",))
        rules = [_rule(entry, f"rule {k}") for k, entry in enumerate(as_items(data["rules"], "rules"))]
        return cls(tuple(rules), as_number(data["budget"], "budget"), data.get("max_per_feature"))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; None stands for no limit."""

        def plain(value: float) -> float | None:
            return None if math.isinf(value) else value

        return {
            "budget": self.budget,
            "max_per_feature": self.max_per_feature,
            "rules": [
                {
                    "feature": rule.feature,
                    "within": [plain(rule.low), plain(rule.high)],
                    "magnitude": [plain(rule.down), plain(rule.up)],
                    "cost": rule.cost,
                }
                for rule in self.rules
            ],
        }

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> AttackRules:
        """Read rules from a JSON file.

        ::

            {"budget": 3,
             "rules": [{"feature": "income", "within": [0, 50000], "magnitude": 2000, "cost": 1},
                       {"feature": "hours", "magnitude": [-5, 5], "cost": 2}]}

        ``magnitude`` is the largest change, or its two limits; ``within``, where the rule applies (everywhere without
        it; null for no limit); ``cost`` is 1 by default.
        """
        content = read_text(path, "attacker rules")
        try:
            return cls.from_dict(parse_json(content))
        except InvalidInputError as error:
            raise InvalidInputError(f"{path} does not hold attacker rules: {error}") from error

    def intervals(
        self, X: FloatArray, feature_names: Sequence[str] | None = None
    ) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
        """Return, per feature, where the attacker can put each sample at each cost.

        Since every change may also be smaller, what can be reached within a cost is one interval around the value.

        Returns
        -------
        list of (cost, low, high)
            For each feature the costs at which more becomes possible, in increasing order and starting with 0, and the
            ends of the intervals, of shape (n_levels, n_samples).
        """
        by_feature: list[list[AttackRule]] = [[] for _ in range(X.shape[1])]
        for rule in self.rules:
            by_feature[position(rule.feature, X.shape[1], feature_names)].append(rule)
        return [self._reach(X[:, j], rules) for j, rules in enumerate(by_feature)]

    def _reach(self, values: FloatArray, rules: list[AttackRule]) -> tuple[FloatArray, FloatArray, FloatArray]:
        reached = {0.0: (values, values)}
        # Costs at which the last application reached something new.
        news = {0.0}
        applications = 0
        while news and (self.max_per_feature is None or applications < self.max_per_feature):
            applications += 1
            extended = dict(reached)
            before, news = news, set()
            for cost in before:
                low, high = reached[cost]
                for rule in rules:
                    total = round(cost + rule.cost, 9)
                    if total > self.budget + SLACK:
                        continue
                    start, end = np.maximum(low, rule.low), np.minimum(high, rule.high)
                    applies = start <= end
                    old_low, old_high = extended.get(total, (low, high))
                    new_low = np.where(applies, np.minimum(old_low, start + rule.down), old_low)
                    new_high = np.where(applies, np.maximum(old_high, end + rule.up), old_high)
                    if total not in extended or (new_low < old_low).any() or (new_high > old_high).any():
                        extended[total] = (new_low, new_high)
                        news.add(total)
            if len(extended) > MOST_LEVELS:
                raise InvalidInputError(
                    f"the budget of {self.budget:g} allows more than {MOST_LEVELS} different costs on one feature; "
                    "use coarser costs or a smaller budget"
                )
            reached = extended
        costs = np.array(sorted(reached))
        low = np.minimum.accumulate(np.array([reached[cost][0] for cost in costs]), axis=0)
        high = np.maximum.accumulate(np.array([reached[cost][1] for cost in costs]), axis=0)
        more = np.concatenate(
            [[True], (np.diff(low, axis=0) < 0).any(axis=1) | (np.diff(high, axis=0) > 0).any(axis=1)]
        )
        return costs[more], low[more], high[more]


def _rule(entry: Any, where: str) -> AttackRule:
    entry = as_entries(entry, where, ("feature", "magnitude"), ("within", "cost"))
    feature = entry["feature"]
    magnitude = entry["magnitude"]
    if isinstance(magnitude, list | tuple):
        down, up = _ends(magnitude, f"magnitude of {where}")
    else:
        down, up = sorted((0.0, as_number(magnitude, f"magnitude of {where}")))
    low, high = _ends(entry.get("within", (None, None)), f"within of {where}")
    return AttackRule(
        feature=as_text(feature, f"feature of {where}")
        if isinstance(feature, str)
        else as_whole(feature, f"feature of {where}", 0, 2**31),
        down=down,
        up=up,
        cost=as_number(entry.get("cost", 1.0), f"cost of {where}"),
        low=low,
        high=high,
    )


def _ends(value: Any, where: str) -> tuple[float, float]:
    """Return the two limits of an interval, of which null stands for none."""
    low, high = as_items(value, where, 2)
    return -math.inf if low is None else as_number(low, where), math.inf if high is None else as_number(high, where)
