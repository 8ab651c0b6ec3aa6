"""Why a tree decides as it does about one sample, and what it would take to change that."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hardwood.attack.model import AttackModel
from hardwood.errors import InvalidInputError
from hardwood.evaluation.adversarial import attack_samples, robust_radius
from hardwood.tree.attacked import AttackedData
from hardwood.tree.priced import attack_points
from hardwood.tree.tree import Tree


@dataclass(frozen=True)
class PathStep:
    """One split on the path of a sample.

    Attributes
    ----------
    node : int
    condition : str
        What the sample fulfils here, e.g. "length <= 3".
    value : Any
        What the sample has there; None if it is missing.
    margin : float or None
        Distance from the threshold; None for categories and missing values.
    attacker_can_cross : bool
        Whether the attacker can take the sample to the other side of this split.
    """

    node: int
    condition: str
    value: Any
    margin: float | None
    attacker_can_cross: bool


@dataclass(frozen=True)
class Change:
    """A change that flips the decision.

    Attributes
    ----------
    prediction : Any
        What the tree says after it.
    features : tuple of (name, before, after)
        The features that change.
    multiple_of_attack : float
        How many times the attack it takes; at most 1 if the attacker can afford it, inf if no multiple suffices.
    largest_step : float
        The largest change of one feature, in its units.
    price : float or None
        What it costs, for an attacker with a budget; `multiple_of_attack` is then the share of the budget.
    """

    prediction: Any
    features: tuple[tuple[str, float, float], ...]
    multiple_of_attack: float
    largest_step: float
    price: float | None = None


@dataclass(frozen=True)
class Explanation:
    """The decision about one sample.

    Attributes
    ----------
    prediction : Any
    path : tuple of PathStep
    cheapest_change : Change or None
        None where no change of any size flips the decision, or where distances are not defined (categories, missing
        values).
    attacker_succeeds : bool
        Whether the attacker can flip the decision.
    """

    prediction: Any
    path: tuple[PathStep, ...]
    cheapest_change: Change | None
    attacker_succeeds: bool

    def to_text(self) -> str:
        """Return the explanation for people."""
        lines = [f"Decision: {self.prediction}"]
        width = max((len(step.condition) for step in self.path), default=0)
        for step in self.path:
            value = "missing" if step.value is None else f"{step.value:.6g}" if _is_number(step.value) else step.value
            margin = "" if step.margin is None else f", margin {step.margin:.6g}"
            reach = "attacker can cross" if step.attacker_can_cross else "out of the attacker's reach"
            lines.append(f"  {step.condition:<{width}}  value {value}{margin}; {reach}")
        change = self.cheapest_change
        if change is not None:
            shown = ", ".join(f"{name} {before:g} -> {after:.6g}" for name, before, after in change.features)
            cost = (
                _price_text(change)
                if change.price is not None
                else (
                    "no multiple of the attack suffices"
                    if math.isinf(change.multiple_of_attack)
                    else f"{change.multiple_of_attack:.3g} times the attack"
                )
            )
            lines.append(f"Cheapest change to {change.prediction}: {shown} ({cost})")
        verdict = "can" if self.attacker_succeeds else "cannot"
        lines.append(f"The attacker {verdict} flip this decision.")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        change = self.cheapest_change
        return {
            "prediction": self.prediction,
            "path": [vars(step) for step in self.path],
            "cheapest_change": None
            if change is None
            else {
                "prediction": change.prediction,
                "features": [
                    {"feature": name, "before": before, "after": after} for name, before, after in change.features
                ],
                "multiple_of_attack": change.multiple_of_attack,
                "largest_step": change.largest_step,
                **({} if change.price is None else {"price": change.price}),
            },
            "attacker_succeeds": self.attacker_succeeds,
        }


def explain(tree: Tree, row: Any, attack: Any = 0.0, *, label: Any = None) -> Explanation:
    """Explain the decision about one sample.

    Parameters
    ----------
    tree : Tree
    row : table with one row
    attack : anything `AttackModel.parse` takes
        In the units of the data.
    label : Any
        The class of the sample, for an attack that differs between classes; what the tree says by default.
    """
    matrix = tree.rows(row)
    if len(matrix) != 1:
        raise InvalidInputError(f"explain takes one sample, not {len(matrix)}")
    prediction = tree.predict(row)[0]
    model = AttackModel.parse(attack)
    model = model.for_class(prediction if label is None else label)
    said = np.array([prediction])
    data = AttackedData.prepare(tree, row, said, model)
    lower, upper = data.boxes.lower[0], data.boxes.upper[0]
    path = []
    for node in np.flatnonzero(tree.decision_path(row)[0] & (tree.left >= 0)):
        j, b = int(tree.feature[node]), float(tree.threshold[node])
        goes_left = bool(tree.decision_path(row)[0, tree.left[node]])
        value = float(matrix[0, j])
        path.append(
            PathStep(
                int(node),
                tree.condition(int(node), left=goes_left),
                _shown_value(tree, row, j, value),
                None if math.isnan(value) or _is_indicator(tree, j) else abs(value - b),
                bool(upper[j] > b if goes_left else lower[j] <= b),
            )
        )
    if data.reach.prices is None:
        change = _cheapest_change(tree, matrix, said, model) if data.is_plain else None
    else:
        change = _change_with_a_price(data) if data.is_plain else None
    return Explanation(prediction.item(), tuple(path), change, bool(data.fooled()[0]))


def _price_text(change: Change) -> str:
    share = change.multiple_of_attack
    of_budget = "nothing can be spent" if math.isinf(share) else f"{share:.3g} times the budget"
    return f"for {change.price:.6g}, {of_budget}"


def _change_with_a_price(data: AttackedData) -> Change | None:
    """Return the cheapest change, for an attacker who pays."""
    found = data.cheapest_attacks()
    if found.region[0] < 0:
        return None
    point, x = attack_points(data.regions(), data.prices, data.X, found)[0], data.X[0]
    price, budget = float(found.cost[0]), float(data.prices.budget[0])
    share = 0.0 if price == 0 or math.isinf(budget) else price / budget if budget > 0 else math.inf
    return Change(
        data.tree.predict(point[None, :])[0].item(),
        tuple((data.tree.name_of(int(j)), float(x[j]), float(point[j])) for j in np.flatnonzero(point != x)),
        share,
        float(np.abs(point - x).max()),
        price,
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_indicator(tree: Tree, j: int) -> bool:
    return tree.encoding is not None and tree.encoding.tests[j] is not None


def _shown_value(tree: Tree, row: Any, j: int, value: float) -> Any:
    if math.isnan(value):
        return None
    if not _is_indicator(tree, j):
        return value
    assert tree.encoding is not None
    column = int(tree.encoding.source[j])
    cell = row.iloc[0, column] if hasattr(row, "iloc") else row[0, column] if hasattr(row, "shape") else row[0][column]
    return cell.item() if isinstance(cell, np.generic) else cell


def _cheapest_change(tree: Tree, matrix: Any, said: Any, attack: AttackModel) -> Change | None:
    factor = float(robust_radius(tree, matrix, said, attack)[0])
    # Just beyond what the sample bears; where no multiple suffices, the nearest change that anyone could make.
    reach: Any = "<>" if math.isinf(factor) else None
    wanted = AttackModel.parse({"*": reach}) if reach else attack.scaled(factor * (1 + 1e-9) + 1e-12)
    point = attack_samples(tree, matrix, said, wanted)[0]
    if np.isnan(point).any():
        return None
    changed = np.flatnonzero(point != matrix[0])
    return Change(
        tree.predict(point[None, :])[0].item(),
        tuple((tree.name_of(int(j)), float(matrix[0, j]), float(point[j])) for j in changed),
        factor,
        float(np.abs(point - matrix[0]).max()),
    )
