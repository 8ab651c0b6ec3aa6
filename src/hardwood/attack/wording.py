"""Attacks in plain words: what the attacker can do, features that are treated alike named together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from hardwood.attack.budget import amount_to_text
from hardwood.attack.domain import EVERY
from hardwood.attack.entries import FeatureKey, Moves, Radii, Unit
from hardwood.plain_data import printable

if TYPE_CHECKING:
    from hardwood.attack.model import AttackModel

MOST_NAMES = 3
"""Of more features that are treated alike, only the number is said."""


def describe(attack: AttackModel, names: Sequence[str] | None = None) -> str:
    """Say in words what an attacker can do; features given by index are called by name where names are known."""
    if attack.by_class is not None:
        parts = [f"class {printable(label)}: {_one(model, names)}" for label, model in attack.by_class]
        said = "; ".join(parts) or "no attack"
    else:
        said = _one(attack, names)
    return "; ".join([said, *_domain(attack, names)])


def _one(attack: AttackModel, names: Sequence[str] | None) -> str:
    """Say what may happen to the samples of one class."""
    parts = [_radii(attack, names)]
    for group in attack.groups:
        moves = "any" if group.moves is None else moves_to_text(group.moves) or "untouchable"
        parts.append(f"one of {_listed(group.columns, names)}: {moves}")
    budget = attack.budget
    if budget is not None and budget.counts_features:
        parts.append(f"at most {amount_to_text(budget.total)} feature{'' if budget.total == 1 else 's'} at once")
    elif budget is not None:
        prices = [
            f"{'every other feature' if key == EVERY else name_of(key, names)} {amount_to_text(price.amount)} "
            f"{'once' if price.once else 'per unit'}"
            for key, price in budget.cost
        ]
        shown = ", ".join(prices[:MOST_NAMES]) + (
            f" and {len(prices) - MOST_NAMES} more prices" if len(prices) > MOST_NAMES else ""
        )
        parts.append(f"for at most {amount_to_text(budget.total)} in all ({shown})")
    return ", ".join(parts)


def _radii(attack: AttackModel, names: Sequence[str] | None) -> str:
    alike: dict[str, list[FeatureKey]] = {}
    shares = dict(attack.shares)
    for key, reach in attack.features:
        text = reach_to_text(shares[key], "range") if key in shares else reach_to_text(reach, attack.unit_of(key))
        alike.setdefault(text, []).append(key)
    if attack.n_features is not None and not attack.moves and len(alike) == 1:
        return f"every feature {next(iter(alike))}"
    untouchable = alike.pop("untouchable", [])
    parts = [_of_features(keys, text, attack.n_features, names) for text, keys in alike.items()]
    parts += [f"{name_of(key, names)}: {moves_to_text(moves)}" for key, moves in attack.moves]
    if untouchable:
        if not parts or len(untouchable) <= MOST_NAMES or attack.n_features is None:
            parts.append(_of_features(untouchable, "untouchable", attack.n_features, names))
        else:
            parts.append("others untouchable")
    if attack.n_features is None and (attack.default != (0.0, 0.0) or not parts):
        text = reach_to_text(attack.default, attack.unit)
        parts.append(f"others {text}" if parts else f"every feature {text}")
    return ", ".join(parts)


def _of_features(keys: list[FeatureKey], text: str, n_features: int | None, names: Sequence[str] | None) -> str:
    if len(keys) <= MOST_NAMES:
        text = text if len(keys) == 1 else text.replace("its range", "their range")
        return f"{' and '.join(name_of(key, names) for key in keys)} {text}"
    if len(keys) == n_features:
        return f"every feature {text}"
    return f"{len(keys)} features {text.replace('its range', 'their range')}"


def _domain(attack: AttackModel, names: Sequence[str] | None) -> list[str]:
    domain = attack.domain
    parts = []
    if domain.integer == "auto":
        parts.append("whole numbers where the data has nothing else")
    elif domain.integer:
        parts.append(f"whole numbers: {_listed(domain.integer, names)}")
    for word, bounds in (("at least", domain.minimum), ("at most", domain.maximum)):
        alike: dict[float, list[FeatureKey]] = {}
        for key, bound in bounds:
            alike.setdefault(bound, []).append(key)
        parts += [f"{_listed(keys, names)} {word} {bound:g}" for bound, keys in alike.items()]
    return parts + [f"holding to {printable(relation.text)} (in evaluation)" for relation in domain.relations]


def _listed(keys: Iterable[FeatureKey], names: Sequence[str] | None) -> str:
    keys = list(keys)
    if EVERY in keys:
        return "every feature"
    return ", ".join(name_of(key, names) for key in keys) if len(keys) <= MOST_NAMES else f"{len(keys)} features"


def name_of(key: FeatureKey, names: Sequence[str] | None) -> str:
    """Return how a feature is called."""
    if isinstance(key, int):
        return printable(names[key]) if names is not None and key < len(names) else f"feature {key}"
    return printable(key)


def moves_to_text(moves: Moves) -> str:
    """Say what categories may become."""

    def one(source: Any) -> str:
        return "any" if source is None else printable(source)

    return "; ".join(f"{one(source)} -> {' or '.join(map(printable, targets))}" for source, targets in moves)


def reach_to_text(reach: Radii, unit: Unit) -> str:
    """Say how far a feature can be moved."""

    def one(radius: float) -> str:
        if math.isinf(radius):
            return "any amount"
        return f"{100 * radius:g} % of its range" if unit == "range" else f"{radius:g}"

    down, up = reach
    if down == up:
        return "untouchable" if down == 0 else f"±{one(down)}"
    return f"-{one(down)}/+{one(up)}"
