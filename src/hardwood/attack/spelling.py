"""Attacks as people write them: on a command line, or in a small TOML file.

One grammar: an entry, what is said of one feature, is the same text here, in a file and in Python;
docs/attack_grammar.md has all of it.

Command line::

    0.1                            L∞ radius in the units of the data
    10%                            fraction of each feature's range
    age=5, income=0:5%, links=>    per feature: a radius, down:up, or one of < > <>; *=... for all others
    links=1; integer: links; minimum: links=0; maximum: links=99

TOML file::

    unit = "raw"             # or "range": plain radii are fractions of each feature's range
    default = 0.0            # features that are not named
    classes = ["spam"]       # optional: the attacker controls these classes only
    integer = ["links"]      # features that are whole numbers; "auto" for all that hold nothing else
    minimum = {links = 0}    # bounds of features, by name; "*" for all others
    maximum = {share = 1}

    [features]
    age = 5
    income = [0, 100]
    share = "5%"
    links = ">"

    [per_class.spam]         # instead of unit, default, classes, features: those of each class
    default = 0.1
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from hardwood.attack.domain import DOMAIN_KEYS
from hardwood.attack.model import AttackModel
from hardwood.data.fields import Fields
from hardwood.errors import InvalidInputError
from hardwood.files import read_text
from hardwood.plain_data import as_label

_ATTACK_KEYS = {"unit", "default", "features"}


def attack_from_text(text: str) -> AttackModel:
    """Read an attack from its command-line spelling."""
    radii, *clauses = (part.strip() for part in text.split(";"))
    said = _clauses(clauses, text)
    entries = radii if "=" in radii else f"*={radii}"

    def read() -> AttackModel:
        return _with_domain(AttackModel.parse(pairs_from_text(entries, "the attack", "radius")), said)

    return _naming(f"the attack {text!r}", read)


def _clauses(clauses: list[str], text: str) -> dict[str, Any]:
    """Read what follows the radii: ``integer: links, length``, ``minimum: links=0``."""
    said: dict[str, Any] = {}
    for clause in clauses:
        word, separator, rest = (part.strip() for part in clause.partition(":"))
        if not separator or word not in DOMAIN_KEYS or word in said:
            raise InvalidInputError(
                f"cannot read {clause!r} in the attack {text!r}; what follows a semicolon is one of "
                f"{', '.join(f'{key}: ...' for key in DOMAIN_KEYS)}, each at most once"
            )
        said[word] = integers_from_text(rest) if word == "integer" else numbers_from_text(rest, f"the {word}")
    return said


def integers_from_text(text: str) -> Any:
    """Read features that are whole numbers: names separated by commas, or "auto"."""
    return "auto" if text.strip() == "auto" else [name.strip() for name in text.split(",")]


def pairs_from_text(text: str, what: str, value: str) -> dict[str, str]:
    """Read ``feature=value, feature=value``; a name stands once."""
    found: dict[str, str] = {}
    for entry in text.split(","):
        name, separator, said = (part.strip() for part in entry.partition("="))
        if not separator or not name:
            raise InvalidInputError(f"cannot read {entry.strip()!r} in {what} {text!r}; write feature={value}")
        if name in found:
            raise InvalidInputError(f"{what} {text!r} names {name!r} twice")
        found[name] = said
    return found


def numbers_from_text(text: str, what: str) -> dict[str, float]:
    """Read ``feature=number, feature=number``, or one number for all features."""
    found = {}
    for name, said in pairs_from_text(text if "=" in text else f"*={text}", what, "number").items():
        try:
            found[name] = float(said)
        except ValueError:
            raise InvalidInputError(f"{what} of {name} is {said!r}; it must be a number") from None
    return found


def attack_from_toml(path: str | os.PathLike[str]) -> AttackModel:
    """Read an attack from a TOML file."""
    try:
        data = tomllib.loads(read_text(path, "attack file"))
    except tomllib.TOMLDecodeError as error:
        raise InvalidInputError(f"attack file {path} is not valid TOML: {error}") from error
    given = Fields(data, f"attack file {path}")
    model = _per_class(given) if "per_class" in data else _for_all(given)
    return _naming(given.where, lambda: _with_domain(model, data))


def _per_class(given: Fields) -> AttackModel:
    given.only({"per_class", *DOMAIN_KEYS})
    named = given.table("per_class")
    if not named.data:
        given.refuse("per_class", "a table with at least one class")
    return AttackModel.per_class({label: _from_table(named.table(label).only(_ATTACK_KEYS)) for label in named.data})


def _for_all(given: Fields) -> AttackModel:
    model = _from_table(given.only({*_ATTACK_KEYS, "classes", *DOMAIN_KEYS}))
    if "classes" not in given.data:
        return model
    classes = [as_label(label, given.place("classes")) for label in given.items("classes")]
    if not classes:
        given.refuse("classes", "a list with at least one class")
    return _naming(given.where, lambda: model.only(classes))


def _with_domain(model: AttackModel, data: Mapping[str, Any]) -> AttackModel:
    if "integer" in data:
        model = model.with_integers(data["integer"])
    return model.with_bounds(data.get("minimum"), data.get("maximum"))


def _from_table(table: Fields) -> AttackModel:
    unit = table.text("unit", "raw")
    if unit not in ("raw", "range"):
        table.refuse("unit", "'raw' or 'range'")
    spec = {"*": table.data.get("default", 0.0), **table.table("features", {}).data}
    read = AttackModel.fraction_of_range if unit == "range" else AttackModel.parse
    return _naming(table.where, lambda: read(spec))


def _naming(where: str, make: Callable[[], AttackModel]) -> AttackModel:
    """Make an attack; an error says in which part of which file the reason stands."""
    try:
        return make()
    except InvalidInputError as error:
        raise InvalidInputError(f"{where}: {error}") from error


def read_attack(text: str) -> AttackModel:
    """Read an attack given on the command line, where the name of a .toml file stands for its content."""
    return attack_from_toml(text) if text.strip().endswith(".toml") else attack_from_text(text)


def with_labels_of(model: AttackModel, classes: Iterable[Any]) -> AttackModel:
    """Return the attack with the labels it names, which text files write as text, in the type of the data's classes."""
    if model.by_class is None:
        return model
    by_text = {str(label): label for label in classes}
    return replace(model, by_class=tuple((by_text.get(str(label), label), attack) for label, attack in model.by_class))
