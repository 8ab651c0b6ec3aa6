"""Attacks as plain data for JSON, and back: what model files hold. Data from outside are checked entry by entry."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hardwood.attack.budget import Budget
from hardwood.attack.domain import DOMAIN_KEYS, Domain
from hardwood.attack.entries import FeatureKey, Moves, Radii, plain_value
from hardwood.attack.groups import Group
from hardwood.attack.model import AttackModel
from hardwood.errors import InvalidInputError
from hardwood.plain_data import as_entries, as_items, as_label, as_labels, as_number, as_text, as_whole


def attack_to_dict(attack: AttackModel) -> dict[str, Any]:
    """Return plain data; infinite reach is written as the string ``"inf"``."""
    if attack.by_class is not None:
        classes = [[plain_value(label), attack_to_dict(model)] for label, model in attack.by_class]
        return {"by_class": classes, **attack.domain.to_dict()}
    found: dict[str, Any] = {
        "unit": attack.unit,
        "default": _reach_to_json(attack.default),
        "features": [[key, _reach_to_json(reach)] for key, reach in attack.features],
        "n_features": attack.n_features,
        "moves": [[key, [[source, list(targets)] for source, targets in moves]] for key, moves in attack.moves],
    }
    if attack.units:
        found["units"] = [list(pair) for pair in attack.units]
    if attack.shares:
        found["shares"] = [[key, _reach_to_json(reach)] for key, reach in attack.shares]
    if attack.groups:
        found["groups"] = [group.to_dict() for group in attack.groups]
    if attack.budget is not None:
        found["budget"] = attack.budget.to_dict()
    return {**found, **attack.domain.to_dict()}


def attack_from_dict(data: Mapping[str, Any]) -> AttackModel:
    """Inverse of `attack_to_dict`; anything else is refused."""
    where = "the attack"
    if "by_class" not in as_entries(data, where, ()):
        return _of_all(data, where)
    data = as_entries(data, where, ("by_class",), DOMAIN_KEYS)
    models = []
    for k, pair in enumerate(as_items(data["by_class"], "by_class")):
        label, model = as_items(pair, f"by_class[{k}]", 2)
        models.append((as_label(label, f"by_class[{k}]"), _of_all(model, f"the attack on {label!r}")))
    if models:
        as_labels([label for label, _ in models], "by_class")
    return AttackModel(by_class=tuple(models), domain=_domain(data, where))


def _domain(data: Mapping[str, Any], where: str) -> Domain:
    return Domain.from_dict({key: data[key] for key in DOMAIN_KEYS if key in data}, where)


def _of_all(data: Any, where: str) -> AttackModel:
    data = as_entries(
        data,
        where,
        ("unit", "default", "features", "n_features"),
        ("moves", "units", "shares", "groups", "budget", *DOMAIN_KEYS),
    )
    named, moved, units, shares = (_pairs(data, name, where) for name in ("features", "moves", "units", "shares"))
    keys = [key for key, _ in (*named, *moved)]
    if len(set(keys)) < len(keys):
        raise InvalidInputError(f"{where} names a feature twice")
    n_features = data["n_features"]
    return AttackModel(
        default=_reach_from_json(data["default"], f"default of {where}"),
        features=tuple((key, _reach_from_json(reach, f"{where} on feature {key!r}")) for key, reach in named),
        n_features=None if n_features is None else as_whole(n_features, f"n_features of {where}", 1, 2**31),
        unit=_unit(data["unit"], where),
        moves=tuple((key, _moves_from_json(moves, f"{where} on feature {key!r}")) for key, moves in moved),
        units=tuple((key, _unit(unit, where)) for key, unit in units),
        groups=tuple(
            Group.from_dict(group, f"groups[{k}] of {where}")
            for k, group in enumerate(as_items(data.get("groups", ()), where))
        ),
        budget=None if "budget" not in data else Budget.from_dict(data["budget"], f"budget of {where}"),
        shares=tuple((key, _reach_from_json(reach, f"shares of {where}")) for key, reach in shares),
        domain=_domain(data, where),
    )


def _pairs(data: Mapping[str, Any], name: str, where: str) -> list[tuple[FeatureKey, Any]]:
    place = f"{name} of {where}"
    pairs = [as_items(pair, f"{name}[{k}] of {where}", 2) for k, pair in enumerate(as_items(data.get(name, ()), place))]
    return [(_key_from_json(key, where), value) for key, value in pairs]


def _unit(unit: Any, where: str) -> Any:
    if unit not in ("raw", "range"):
        raise InvalidInputError(f"unit of {where} is {unit!r}; it must be 'raw' or 'range'")
    return unit


def _reach_to_json(reach: Radii) -> list[float | str]:
    return ["inf" if math.isinf(r) else r for r in reach]


def _key_from_json(key: Any, where: str) -> FeatureKey:
    where = f"the name or number of a feature in {where}"
    return as_text(key, where) if isinstance(key, str) else as_whole(key, where, 0, 2**31)


def _reach_from_json(reach: Any, where: str) -> Radii:
    down, up = (math.inf if radius == "inf" else as_number(radius, where, 0) for radius in as_items(reach, where, 2))
    return down, up


def _moves_from_json(moves: Any, where: str) -> Moves:
    pairs = [as_items(pair, where, 2) for pair in as_items(moves, where)]
    return tuple(
        (
            None if source is None else as_label(source, where),
            tuple(as_label(target, where) for target in as_items(targets, where)),
        )
        for source, targets in pairs
    )
