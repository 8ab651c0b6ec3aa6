"""From what a user wrote in Python, numbers, sequences, mappings or text, to an `AttackModel`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np

from hardwood.attack.domain import DOMAIN_KEYS
from hardwood.attack.entries import ENTRY_HELP, FeatureKey, Unit, feature_key, parse_entry, parse_moves
from hardwood.attack.model import AttackModel
from hardwood.errors import InvalidInputError
from hardwood.plain_data import as_entries

FORM_KEYS = ("unit", "default", "features", "classes")
"""Keys of the form that attack files have for radii."""
WORDS = (*DOMAIN_KEYS, "group", "budget")
"""Keys beside them: what values there are, and what the attacker can do at once."""
BUDGET_KEYS = {"features", "total", "cost"}


def read_spec(spec: Any) -> AttackModel:
    """Read any spelling of an attack; see `AttackModel.parse`."""
    if isinstance(spec, Mapping):
        return _from_mapping(dict(spec))
    if isinstance(spec, str):
        from hardwood.attack.spelling import attack_from_text

        return attack_from_text(spec)
    if spec is None or isinstance(spec, bool):
        raise InvalidInputError(
            f"attack={spec!r} cannot be read; give a radius such as 0.1, one entry per feature, "
            "or a dict by feature name"
        )
    if isinstance(spec, Real):
        return AttackModel(default=parse_entry(spec, "every feature")[0])
    if isinstance(spec, np.ndarray) and spec.ndim == 0:
        return read_spec(spec.item())
    if isinstance(spec, Iterable):
        entries_in_order = list(spec)
        return replace(read_spec(dict(enumerate(entries_in_order))), n_features=len(entries_in_order))
    raise InvalidInputError(f"attack={spec!r} cannot be read; an attack is made of {ENTRY_HELP}")


def _from_mapping(entries: dict[Any, Any]) -> AttackModel:
    said = {key: entries.pop(key) for key in WORDS if key in entries and _is_word(key, entries[key])}
    if entries.keys() <= set(FORM_KEYS) and isinstance(entries.get("features"), Mapping):
        return _from_form(entries, said)
    default, unit = parse_entry(entries.pop("*", 0.0), "all other features")
    unit = "raw" if unit is None else unit
    by_key = {feature_key(key): entry for key, entry in entries.items()}
    moves = {key: parse_moves(entry) for key, entry in by_key.items()}
    reaches = {key: parse_entry(entry, f"feature {key!r}") for key, entry in by_key.items() if moves[key] is None}
    units: dict[FeatureKey, Unit] = {
        key: own or "raw" for key, (reach, own) in reaches.items() if any(0 < r < np.inf for r in reach)
    }
    model = AttackModel(
        default=default,
        features=tuple((key, reach) for key, (reach, _) in reaches.items()),
        moves=tuple((key, found) for key, found in moves.items() if found is not None),
        unit=unit,
        units=tuple((key, own) for key, own in units.items() if own != unit),
    )
    return with_words(model, said)


def _from_form(form: dict[Any, Any], said: dict[str, Any]) -> AttackModel:
    """Read the form of attack files: unit, default, features, classes."""
    spec = {"*": form.get("default", 0.0), **form["features"]}
    unit = form.get("unit", "raw")
    if unit not in ("raw", "range"):
        raise InvalidInputError(f"unit of the attack is {unit!r}; it must be 'raw' or 'range'")
    model = AttackModel.fraction_of_range(spec) if unit == "range" else read_spec(spec)
    if "classes" in form:
        model = model.only(form["classes"])
    return with_words(model, said)


def with_words(model: AttackModel, said: Mapping[str, Any]) -> AttackModel:
    """Return an attack with what mappings and files say beside radii: see `WORDS`."""
    if "integer" in said:
        model = model.with_integers(said["integer"])
    model = model.with_bounds(said.get("minimum"), said.get("maximum"))
    if "relations" in said:
        model = model.with_relations(said["relations"])
    for k, group in enumerate(said.get("group", ())):
        given = as_entries(group, f"group[{k}]", ("columns",), ("moves", "at_most_one"))
        model = model.with_group(
            given["columns"], given.get("moves", "<>"), at_most_one=given.get("at_most_one", False)
        )
    if "budget" in said:
        if not isinstance(said["budget"], Mapping) or not said["budget"].keys() <= BUDGET_KEYS:
            raise InvalidInputError(
                f"the budget is {said['budget']!r}; it must be a table with features, or total and cost"
            )
        model = model.with_budget(**said["budget"])
    return model


def _is_word(key: str, value: Any) -> bool:
    """Whether an entry of a mapping speaks of all features, rather than of one that happens to be called so."""
    if key == "group":
        return isinstance(value, list | tuple) and all(isinstance(one, Mapping) for one in value)
    if key == "budget":
        return isinstance(value, Mapping) and value.keys() <= BUDGET_KEYS
    if key == "relations":
        return isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)
    if key == "integer":
        is_list = isinstance(value, list | tuple | set)
        return value == "auto" if not is_list else not all(isinstance(number, float) for number in value)
    return isinstance(value, Mapping)
