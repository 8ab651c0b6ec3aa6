"""Plain data from outside (JSON, TOML), taken field by field; an error names the field, the value and what is right."""

from __future__ import annotations

import math
import reprlib
import sys
from collections.abc import Callable, Mapping
from typing import Any, Never

from hardwood.errors import InvalidInputError

REQUIRED: Any = object()
"""Default of a field that must be there."""


class Fields:
    """A table of named values.

    Parameters
    ----------
    data : object
        What should be a table.
    where : str
        How messages call it.
    """

    def __init__(self, data: Any, where: str) -> None:
        if not isinstance(data, Mapping):
            raise InvalidInputError(f"{where} is {reprlib.repr(data)}; it must be a table of named values")
        self.data = data
        self.where = where

    def refuse(self, name: str, what: str) -> Never:
        """Raise an error about a field: its value, and what it must be."""
        raise InvalidInputError(f"{self.where}: {name} is {reprlib.repr(self.data[name])}; it must be {what}")

    def only(self, known: set[str]) -> Fields:
        """Return itself, unless there is a field that is none of these."""
        unknown = sorted(str(name) for name in set(self.data) - known)
        if unknown:
            raise InvalidInputError(
                f"{self.where} has the entry {unknown[0]!r}, which is not known; known are {', '.join(sorted(known))}"
            )
        return self

    def _take(self, name: str, accepts: Callable[[Any], bool], what: str, default: Any) -> Any:
        if name not in self.data:
            if default is REQUIRED:
                raise InvalidInputError(f"{self.where} has no entry {name!r}")
            return default
        if not accepts(self.data[name]):
            self.refuse(name, what)
        return self.data[name]

    def text(self, name: str, default: Any = REQUIRED) -> Any:
        """Return a text."""
        return self._take(name, lambda value: isinstance(value, str), "text", default)

    def flag(self, name: str, default: Any = REQUIRED) -> Any:
        """Return true or false."""
        return self._take(name, lambda value: isinstance(value, bool), "true or false", default)

    def whole(self, name: str, default: Any = REQUIRED, *, least: int = 0) -> Any:
        """Return a whole number."""
        return self._take(name, lambda value: is_whole(value, least), f"a whole number >= {least}", default)

    def number(self, name: str, default: Any = REQUIRED, *, least: float = -math.inf) -> Any:
        """Return a finite number."""
        what = "a number" if least == -math.inf else f"a number >= {least:g}"
        return self._take(name, lambda value: is_number(value) and value >= least, what, default)

    def number_or_nothing(self, name: str) -> float | None:
        """Return a finite number, or None for null."""
        found: float | None = self._take(
            name, lambda value: value is None or is_number(value), "a number or null", REQUIRED
        )
        return found

    def items(self, name: str, default: Any = REQUIRED) -> Any:
        """Return a list of anything."""
        return self._take(name, lambda value: isinstance(value, list | tuple), "a list", default)

    def texts(self, name: str, default: Any = REQUIRED) -> Any:
        """Return a list of texts."""
        return self._list_of(name, lambda value: isinstance(value, str), "a list of texts", default)

    def numbers(self, name: str, default: Any = REQUIRED, *, least: float = -math.inf) -> Any:
        """Return a list of finite numbers."""
        what = "a list of numbers" if least == -math.inf else f"a list of numbers >= {least:g}"
        return self._list_of(name, lambda value: is_number(value) and value >= least, what, default)

    def wholes(self, name: str, default: Any = REQUIRED, *, least: int = 0) -> Any:
        """Return a list of whole numbers."""
        what = f"a list of whole numbers >= {least}"
        return self._list_of(name, lambda value: is_whole(value, least), what, default)

    def _list_of(self, name: str, accepts: Callable[[Any], bool], what: str, default: Any) -> Any:
        return self._take(
            name, lambda value: isinstance(value, list | tuple) and all(map(accepts, value)), what, default
        )

    def table(self, name: str, default: Any = REQUIRED) -> Fields:
        """Return a table inside this one."""
        found = self._take(name, lambda value: isinstance(value, Mapping), "a table of named values", default)
        return Fields(found, f"{self.where}, {name}")

    def tables(self, name: str) -> list[Fields]:
        """Return a list of tables."""
        return [Fields(item, f"{self.where}, {name}[{k}]") for k, item in enumerate(self.items(name))]


def is_whole(value: Any, least: int) -> bool:
    """Whether a value is a whole number that is large enough."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < 2**63


def is_number(value: Any) -> bool:
    """Whether a value is a finite number."""
    # A whole number beyond all floats is no number here.
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
