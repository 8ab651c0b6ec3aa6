"""Attacks as people write them: on a command line, or in a small TOML file.

Command line::

    0.1                            L∞ radius in the units of the data
    10%                            fraction of each feature's range
    age=5, income=0:100, links=>   per feature: a radius, down:up, or one of < > <>; *=... for all others

TOML file::

    unit = "raw"             # or "range": radii are fractions of each feature's range
    default = 0.0            # features that are not named
    classes = ["spam"]       # optional: the attacker controls these classes only

    [features]
    age = 5
    income = [0, 100]
    links = ">"

    [per_class.spam]         # instead of the above: another attack for each class, with the same keys
    default = 0.1
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterable
from typing import Any

from hardwood.attack.model import AttackModel
from hardwood.data.fields import Fields
from hardwood.errors import InvalidInputError
from hardwood.files import read_text
from hardwood.plain_data import as_label

_ATTACK_KEYS = {"unit", "default", "features"}


def attack_from_text(text: str) -> AttackModel:
    """Read an attack from its command-line spelling."""
    text = text.strip()
    entries = [part.strip() for part in text.split(",")] if "=" in text else [f"*={text}"]
    spec: dict[str, Any] = {}
    units = set()
    for entry in entries:
        name, separator, value = entry.partition("=")
        if not separator or not name.strip():
            raise InvalidInputError(f"cannot read {entry!r} in the attack {text!r}; write feature=radius")
        if name.strip() in spec:
            raise InvalidInputError(f"the attack {text!r} names {name.strip()!r} twice")
        spec[name.strip()], unit = _entry(value.strip(), text)
        units |= unit
    if len(units) > 1:
        raise InvalidInputError(f"the attack {text!r} mixes percentages and plain radii; use one kind")
    return AttackModel.fraction_of_range(spec) if units == {"range"} else AttackModel.parse(spec)


def _entry(value: str, text: str) -> tuple[Any, set[str]]:
    """Return what an entry says, and its unit where it has one."""
    if value in ("", "<", ">", "<>"):
        return value, set()
    parts = value.split(":")
    units = {"range" if part.strip().endswith("%") else "raw" for part in parts}
    try:
        radii = [float(part.strip().removesuffix("%")) / (100 if "%" in part else 1) for part in parts]
    except ValueError:
        radii = []
    if len(radii) not in (1, 2):
        raise InvalidInputError(
            f"cannot read {value!r} in the attack {text!r}; write a radius (0.1), a percentage of the range (10%), "
            "down:up (0:100), '<', '>' or '<>'"
        )
    return (radii[0] if len(radii) == 1 else tuple(radii)), units


def attack_from_toml(path: str | os.PathLike[str]) -> AttackModel:
    """Read an attack from a TOML file."""
    try:
        data = tomllib.loads(read_text(path, "attack file"))
    except tomllib.TOMLDecodeError as error:
        raise InvalidInputError(f"attack file {path} is not valid TOML: {error}") from error
    given = Fields(data, f"attack file {path}")
    if "per_class" in data:
        given.only({"per_class"})
        named = given.table("per_class")
        if not named.data:
            given.refuse("per_class", "a table with at least one class")
        return AttackModel.per_class(
            {label: _from_table(named.table(label).only(_ATTACK_KEYS)) for label in named.data}
        )
    model = _from_table(given.only({*_ATTACK_KEYS, "classes"}))
    if "classes" not in data:
        return model
    classes = [as_label(label, given.place("classes")) for label in given.items("classes")]
    if not classes:
        given.refuse("classes", "a list with at least one class")
    return _naming(given, lambda: model.only(classes))


def _from_table(table: Fields) -> AttackModel:
    unit = table.text("unit", "raw")
    if unit not in ("raw", "range"):
        table.refuse("unit", "'raw' or 'range'")
    spec = {"*": table.data.get("default", 0.0), **table.table("features", {}).data}
    return _naming(table, lambda: AttackModel.fraction_of_range(spec) if unit == "range" else AttackModel.parse(spec))


def _naming(table: Fields, make: Callable[[], AttackModel]) -> AttackModel:
    """Make an attack; an error says in which part of which file the reason stands."""
    try:
        return make()
    except InvalidInputError as error:
        raise InvalidInputError(f"{table.where}: {error}") from error


def read_attack(text: str) -> AttackModel:
    """Read an attack given on the command line, where the name of a .toml file stands for its content."""
    return attack_from_toml(text) if text.strip().endswith(".toml") else attack_from_text(text)


def with_labels_of(model: AttackModel, classes: Iterable[Any]) -> AttackModel:
    """Return the attack with the labels it names, which text files write as text, in the type of the data's classes."""
    if model.by_class is None:
        return model
    by_text = {str(label): label for label in classes}
    return AttackModel.per_class({by_text.get(str(label), label): attack for label, attack in model.by_class})
