"""Tables of named values from outside (JSON, TOML), taken field by field; checked as `hardwood.plain_data` says."""

from __future__ import annotations

import math
from typing import Any, Never

from hardwood.errors import InvalidInputError
from hardwood.plain_data import as_entries, as_flag, as_items, as_number, as_text, as_texts, as_whole, wrong

REQUIRED: Any = object()
"""Default of a field that must be there."""
MOST = 2**53
"""Whole numbers up to here are the same as floats."""


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
        self.data = as_entries(data, where, ())
        self.where = where

    def place(self, name: str) -> str:
        """Return how messages call a field."""
        return f"{name} of {self.where}"

    def refuse(self, name: str, right: str) -> Never:
        """Raise an error about a field: its value, and what it must be."""
        raise wrong(self.data[name], self.place(name), right)

    def only(self, known: set[str]) -> Fields:
        """Return itself, unless there is a field that is none of these."""
        as_entries(self.data, self.where, (), known)
        return self

    def is_given(self, name: str) -> bool:
        """Whether there is such a field, and not null."""
        return self.data.get(name) is not None

    def _given(self, name: str, default: Any) -> bool:
        if name not in self.data and default is REQUIRED:
            raise InvalidInputError(f"{self.where} has no entry {name!r}")
        return name in self.data

    def text(self, name: str, default: Any = REQUIRED) -> Any:
        """Return a text."""
        return as_text(self.data[name], self.place(name)) if self._given(name, default) else default

    def flag(self, name: str, default: Any = REQUIRED) -> Any:
        """Return true or false."""
        return as_flag(self.data[name], self.place(name)) if self._given(name, default) else default

    def whole(self, name: str, default: Any = REQUIRED, *, least: int = 0) -> Any:
        """Return a whole number."""
        return as_whole(self.data[name], self.place(name), least, MOST) if self._given(name, default) else default

    def number(self, name: str, default: Any = REQUIRED, *, least: float = -math.inf) -> Any:
        """Return a finite number."""
        return as_number(self.data[name], self.place(name), least) if self._given(name, default) else default

    def number_or_nothing(self, name: str) -> float | None:
        """Return a finite number, or None for null."""
        self._given(name, REQUIRED)
        return None if self.data[name] is None else as_number(self.data[name], self.place(name))

    def items(self, name: str, default: Any = REQUIRED) -> Any:
        """Return a list of anything."""
        return as_items(self.data[name], self.place(name)) if self._given(name, default) else default

    def texts(self, name: str, default: Any = REQUIRED) -> Any:
        """Return a tuple of texts."""
        return as_texts(self.data[name], self.place(name)) if self._given(name, default) else default

    def numbers(self, name: str, default: Any = REQUIRED, *, least: float = -math.inf) -> Any:
        """Return a tuple of finite numbers."""
        if not self._given(name, default):
            return default
        place = self.place(name)
        return tuple(as_number(item, f"{place}, entry {k}", least) for k, item in enumerate(self.items(name)))

    def wholes(self, name: str, default: Any = REQUIRED, *, least: int = 0) -> Any:
        """Return a tuple of whole numbers."""
        if not self._given(name, default):
            return default
        place = self.place(name)
        return tuple(as_whole(item, f"{place}, entry {k}", least, MOST) for k, item in enumerate(self.items(name)))

    def table(self, name: str, default: Any = REQUIRED) -> Fields:
        """Return a table inside this one."""
        return Fields(self.data[name] if self._given(name, default) else default, self.place(name))

    def tables(self, name: str) -> list[Fields]:
        """Return a list of tables."""
        return [Fields(item, f"{name}[{k}] of {self.where}") for k, item in enumerate(self.items(name))]
