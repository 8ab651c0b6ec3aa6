"""Attacks as people write them: on a command line, or in a small TOML file.

One grammar: an entry, what is said of one feature, is the same text here, in a file and in Python;
docs/attack_grammar.md has all of it.

Command line::

    0.1                            L∞ radius in the units of the data
    10%                            fraction of each feature's range
    age=5, income=0:5%, links=>    per feature: a radius, down:up, or one of < > <>; *=... for all others
    links=1; integer: links; minimum: links=0; maximum: links=99; budget: 5 features
    links=9,amount=>; budget: 10, links=1, amount=once 2; group: food, travel, other
    a=1,b=1; relations: a <= b, total = a + b
    "price, net"=5                 a name that holds what separates names stands between quotes

TOML file::

    unit = "raw"             # or "range": plain radii are fractions of each feature's range
    default = 0.0            # features that are not named
    classes = ["spam"]       # optional: the attacker controls these classes only
    integer = ["links"]      # features that are whole numbers; "auto" for all that hold nothing else
    minimum = {links = 0}    # bounds of features, by name; "*" for all others
    maximum = {share = 1}
    relations = ["a <= b"]   # what holds between features; for evaluation
    budget = {features = 5}  # or {total = 10, cost = {links = 1, amount = {once = 2}, "*" = 1}}

    [[group]]                # one-hot columns: exactly one of them is 1
    columns = ["food", "travel", "other"]
    moves = {travel = ["food"]}   # or "<>" for any, which is the default; at_most_one = true: all may be 0

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
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from hardwood.attack.model import AttackModel
from hardwood.attack.quoting import parts_of, unquoted
from hardwood.attack.reading import WORDS, with_words
from hardwood.data.fields import Fields
from hardwood.errors import InvalidInputError
from hardwood.files import read_text
from hardwood.plain_data import as_label

_ATTACK_KEYS = {"unit", "default", "features"}


def attack_from_text(text: str) -> AttackModel:
    """Read an attack from its command-line spelling."""
    radii, *clauses = parts_of(text, ";")
    said = _clauses(clauses, text)
    entries = radii if len(parts_of(radii, "=")) > 1 else f"*={radii}"

    def read() -> AttackModel:
        return with_words(AttackModel.parse(pairs_from_text(entries, "the attack", "radius")), said)

    return _naming(f"the attack {text!r}", read)


def _clauses(clauses: list[str], text: str) -> dict[str, Any]:
    """Read what follows the radii: ``integer: links, length``, ``minimum: links=0``."""
    said: dict[str, Any] = {}
    for clause in clauses:
        word, separator, rest = (part.strip() for part in clause.partition(":"))
        if not separator or word not in WORDS or (word in said and word != "group"):
            raise InvalidInputError(
                f"cannot read {clause!r} in the attack {text!r}; what follows a semicolon is one of "
                f"{', '.join(f'{key}: ...' for key in WORDS)}; but for groups, each at most once"
            )
        if word == "relations":
            said[word] = parts_of(rest, ",")
        elif word == "group":
            said.setdefault("group", []).append({"columns": names_from_text(rest)})
        elif word == "budget":
            said[word] = _budget(rest)
        else:
            said[word] = integers_from_text(rest) if word == "integer" else numbers_from_text(rest, f"the {word}")
    return said


def _budget(text: str) -> dict[str, Any]:
    """Read ``5 features``, or ``10, links=1, length=once 2, *=once``: the total, then prices."""
    first, *prices = parts_of(text, ",")
    try:
        if first.endswith("features") or first.endswith("feature"):
            return {"features": int(first.split()[0])}
        total = float(first)
    except (ValueError, IndexError):
        raise InvalidInputError(
            f"the budget is {text!r}; write '5 features', or a total and prices: '10, links=1, length=once 2'"
        ) from None
    return {"total": total, "cost": pairs_from_text(", ".join(prices), "the budget", "price")}


def integers_from_text(text: str) -> Any:
    """Read features that are whole numbers: names separated by commas, or "auto"."""
    return "auto" if text.strip() == "auto" else names_from_text(text)


def names_from_text(text: str) -> list[str]:
    """Read names separated by commas; one that holds a comma stands between quotes."""
    return [unquoted(name) for name in parts_of(text, ",")]


def pairs_from_text(text: str, what: str, value: str) -> dict[str, str]:
    """Read ``feature=value, feature=value``; a name stands once."""
    found: dict[str, str] = {}
    for entry in parts_of(text, ","):
        first, *rest = parts_of(entry, "=")
        name = unquoted(first)
        if not rest or not name:
            raise InvalidInputError(f"cannot read {entry!r} in {what} {text!r}; write feature={value}")
        if name in found:
            raise InvalidInputError(f"{what} {text!r} names {name!r} twice")
        found[name] = "=".join(rest)
    return found


def numbers_from_text(text: str, what: str) -> dict[str, float]:
    """Read ``feature=number, feature=number``, or one number for all features."""
    found = {}
    pairs = text if len(parts_of(text, "=")) > 1 else f"*={text}"
    for name, said in pairs_from_text(pairs, what, "number").items():
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
    return _naming(given.where, lambda: with_words(model, data))


def _per_class(given: Fields) -> AttackModel:
    given.only({"per_class", *WORDS})
    named = given.table("per_class")
    if not named.data:
        given.refuse("per_class", "a table with at least one class")
    return AttackModel.per_class({label: _from_table(named.table(label).only(_ATTACK_KEYS)) for label in named.data})


def _for_all(given: Fields) -> AttackModel:
    model = _from_table(given.only({*_ATTACK_KEYS, "classes", *WORDS}))
    if "classes" not in given.data:
        return model
    classes = [as_label(label, given.place("classes")) for label in given.items("classes")]
    if not classes:
        given.refuse("classes", "a list with at least one class")
    return _naming(given.where, lambda: model.only(classes))


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
