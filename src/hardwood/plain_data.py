"""Plain data from outside, such as a parsed JSON file: looked at value by value, and refused by name.

Every function takes a value and where it stands, and returns it as what it should be. What is wrong is said with the
place, the value and what would be right: ``tree.left[3] is 'x'; it must be a whole number from -1 to 6``.
"""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from hardwood.arrays import IntArray
from hardwood.errors import InvalidInputError

DEEPEST = 32
"""Data nested deeper than this are refused: nothing that we write is, and code that walks them may recurse."""
_LONGEST_NUMBER = 400
Label = str | bool | int | float


def parse_json(text: str) -> Any:
    """Read JSON as its standard says: no NaN, no infinities, no key twice, numbers that float64 can hold."""
    try:
        return json.loads(
            text,
            parse_constant=_no_number,
            parse_float=_float,
            parse_int=_int,
            object_pairs_hook=_distinct_keys,
        )
    except json.JSONDecodeError as error:
        raise InvalidInputError(f"truncated or not JSON (line {error.lineno}: {error.msg})") from error
    except RecursionError as error:
        raise InvalidInputError("it is nested too deeply") from error


def _no_number(word: str) -> Any:
    raise InvalidInputError(f"it holds {word}, which is no number of JSON")


def _float(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise InvalidInputError(f"it holds the number {_short(digits)}, which float64 cannot hold")
    return value


def _int(digits: str) -> int:
    if len(digits) > _LONGEST_NUMBER:
        raise InvalidInputError(f"it holds a number of {len(digits)} digits")
    return int(digits)


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        repeated = next(key for key in keys if keys.count(key) > 1)
        raise InvalidInputError(f"it holds the key {_short(repeated)} twice in one place")
    return found


def as_entries(
    value: Any, where: str, required: Iterable[str], optional: Iterable[str] | None = None
) -> Mapping[str, Any]:
    """Return an object with at least the required keys and, if `optional` is given, no other than these."""
    if not isinstance(value, Mapping):
        raise wrong(value, where, "an object")
    for key in required:
        if key not in value:
            raise InvalidInputError(f"{where} has no entry {key!r}")
    if optional is not None:
        known = {*required, *optional}
        for key in value:
            if key not in known:
                raise InvalidInputError(f"{where} has the entry {_short(key)}; known are {', '.join(sorted(known))}")
    return value


def as_items(value: Any, where: str, count: int | None = None) -> list[Any]:
    """Return a list, of `count` entries if that is given."""
    if not isinstance(value, list | tuple):
        raise wrong(value, where, "a list")
    if count is not None and len(value) != count:
        raise InvalidInputError(f"{where} has {len(value)} entries; it must have {count}")
    return list(value)


def as_text(value: Any, where: str) -> str:
    """Return text that can be written as UTF-8."""
    if not isinstance(value, str):
        raise wrong(value, where, "text")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInputError(
            f"{where} is {_short(value)}, which holds half a character (a lone surrogate)"
        ) from error
    return str(value)


def as_texts(value: Any, where: str, count: int | None = None) -> tuple[str, ...]:
    """Return a list of texts."""
    return tuple(as_text(entry, f"{where}[{k}]") for k, entry in enumerate(as_items(value, where, count)))


def as_whole(value: Any, where: str, least: int, most: int) -> int:
    """Return a whole number within limits."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise wrong(value, where, f"a whole number from {least} to {most}")
    return int(value)


def as_wholes(value: Any, where: str, count: int | None, least: int, most: int) -> IntArray:
    """Return a list of whole numbers within limits as an array."""
    listed = as_items(value, where, count)
    if not all(type(entry) is int and least <= entry <= most for entry in listed):
        for k, entry in enumerate(listed):
            as_whole(entry, f"{where}[{k}]", least, most)
    return np.array(listed, dtype=np.int64)


def as_number(value: Any, where: str, least: float = -math.inf, most: float = math.inf) -> float:
    """Return a finite number within limits."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong(value, where, "a number")
    try:
        result = float(value)
    except OverflowError as error:
        raise InvalidInputError(f"{where} is a number that float64 cannot hold") from error
    if not math.isfinite(result) or not least <= result <= most:
        limits = "".join(f" {sign} {end:g}" for sign, end in ((">=", least), ("<=", most)) if math.isfinite(end))
        raise wrong(value, where, f"a finite number{limits}")
    return result


def as_flag(value: Any, where: str) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise wrong(value, where, "true or false")
    return value


def as_label(value: Any, where: str) -> Label:
    """Return the label of a class or a category: text, a finite number, true or false."""
    if isinstance(value, str):
        return as_text(value, where)
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        as_number(value, where)
        return value
    raise wrong(value, where, "text, a number, true or false")


def as_labels(value: Any, where: str) -> list[Label]:
    """Return labels of one kind, each once: all text, all numbers, or true and false."""
    found = [as_label(entry, f"{where}[{k}]") for k, entry in enumerate(as_items(value, where))]
    if not found:
        raise InvalidInputError(f"{where} is empty")
    kinds = {"text" if isinstance(one, str) else "truth" if isinstance(one, bool) else "number" for one in found}
    if len(kinds) > 1:
        raise InvalidInputError(f"{where} mixes labels of different types: {_short(found)}")
    if len(set(found)) < len(found):
        repeated = next(one for k, one in enumerate(found) if one in found[:k])
        raise InvalidInputError(f"{where} holds {_short(repeated)} twice")
    return found


def label_array(found: list[Label]) -> Any:
    """Return labels as an array that holds them as they are."""
    # NumPy's own text drops NUL at the end, and whole numbers beyond 64 bits are objects anyway.
    as_objects = any(isinstance(one, str) and one.endswith("\0") for one in found)
    return np.array(found, dtype=object if as_objects else None)


def plain(value: Any, where: str, depth: int = 0) -> Any:
    """Check data of any form: objects, lists, text, finite numbers, true, false and null, not nested without end."""
    if depth > DEEPEST:
        raise InvalidInputError(f"{where} is nested too deeply")
    if isinstance(value, Mapping):
        for key, entry in value.items():
            plain(entry, f"{where}[{_short(as_text(key, f'a key of {where}'))}]", depth + 1)
    elif isinstance(value, list | tuple):
        for k, entry in enumerate(value):
            plain(entry, f"{where}[{k}]", depth + 1)
    elif value is not None:
        as_label(value, where)
    return value


def printable(value: Any) -> str:
    """Return a value as text in which every character shows; what would move a cursor or hide becomes an escape."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii") for letter in str(value)
    )


def _short(value: Any) -> str:
    shortener = reprlib.Repr()
    shortener.maxstring = shortener.maxother = 60
    try:
        return shortener.repr(value)
    except ValueError:
        return "a number of thousands of digits"


def wrong(value: Any, where: str, right: str) -> InvalidInputError:
    """Return the error about a value: its place, the value, and what it must be."""
    return InvalidInputError(f"{where} is {_short(value)}; it must be {right}")
