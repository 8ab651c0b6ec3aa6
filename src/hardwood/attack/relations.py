"""Linear relations between features, which no attack can break: ``open <= total``, ``total = a + b``, ``2*a - b >= 3``.

Names stand as they are, or between backticks where they hold spaces or signs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hardwood.arrays import FloatArray
from hardwood.attack.entries import position
from hardwood.errors import InvalidInputError

TOLERANCE = 1e-6
"""By so much, relative to the size of its terms, a row may miss a relation: rounding, and that of linear programs."""

_SIGN = re.compile(r"<=|>=|==|=")
_TERM = re.compile(
    r"\s*(?P<sign>[+-]?)\s*(?:(?P<number>\d[\d.]*(?:[eE][+-]?\d+)?)\s*(?P<times>\*?)\s*)?(?P<name>`[^`]+`|[^\s+\-*`]+)?"
)


@dataclass(frozen=True)
class Relation:
    """``low <= sum of factor * feature <= high``.

    Parameters
    ----------
    text : str
        As it was written.
    terms : tuple of (name, factor)
    low, high : float
    """

    text: str
    terms: tuple[tuple[str, float], ...]
    low: float
    high: float

    @classmethod
    def parse(cls, text: Any) -> Relation:
        """Read a relation."""
        if isinstance(text, Relation):
            return text
        sides = _SIGN.split(text) if isinstance(text, str) else []
        if len(sides) != 2:
            raise InvalidInputError(
                f"the relation {text!r} cannot be read; write it like 'open <= total' or 'total = a + b'"
            )
        left, right = (_side(side, text) for side in sides)
        terms: dict[str, float] = {}
        for name, factor in (*left[0], *((name, -factor) for name, factor in right[0])):
            terms[name] = terms.get(name, 0.0) + factor
        terms = {name: factor for name, factor in terms.items() if factor != 0}
        if not terms:
            raise InvalidInputError(f"the relation {text!r} names no feature that matters")
        bound = right[1] - left[1]
        sign = _SIGN.findall(text)[0]
        low = -math.inf if sign == "<=" else bound
        high = math.inf if sign == ">=" else bound
        return cls(text.strip(), tuple(terms.items()), low, high)

    def row(self, n_features: int, names: Sequence[str] | None) -> FloatArray:
        """Return the factor of each feature."""
        found = np.zeros(n_features)
        for name, factor in self.terms:
            found[position(name, n_features, names)] += factor
        return found

    def check(self, matrix: FloatArray, names: Sequence[str] | None) -> None:
        """Refuse samples that do not hold to the relation; a missing value can be anything."""
        row = self.row(matrix.shape[1], names)
        value, size = matrix[:, row != 0] @ row[row != 0], np.abs(matrix[:, row != 0]) @ np.abs(row[row != 0])
        slack = TOLERANCE * (1 + size)
        wrong = np.flatnonzero((value < self.low - slack) | (value > self.high + slack))
        if len(wrong):
            raise InvalidInputError(f"row {wrong[0]} does not hold to the relation {self.text!r}")


def _side(text: str, whole: str) -> tuple[list[tuple[str, float]], float]:
    """Return the terms of one side, and the sum of its numbers."""
    terms: list[tuple[str, float]] = []
    constant, place = 0.0, 0
    text = text.strip()
    while place < len(text):
        match = _TERM.match(text, place)
        number, name = (None, None) if match is None else (match["number"], match["name"])
        is_joined = match is not None and (place == 0 or match["sign"] != "")
        if (
            match is None
            or match.end() == place
            or not is_joined
            or (number is None and name is None)
            or (name is not None and number is not None and not match["times"])
        ):
            raise InvalidInputError(
                f"the relation {whole!r} cannot be read at {text[place:]!r}; write it like '2*a + b <= 3'"
            )
        factor = (-1.0 if match["sign"] == "-" else 1.0) * float(number or 1)
        if name is None:
            constant += factor
        else:
            terms.append((name.strip("`"), factor))
        place = match.end()
    if not text:
        raise InvalidInputError(f"the relation {whole!r} has nothing on one side")
    return terms, constant
