"""Small problems with known answers, for every solver that proves.

Each is written in exact form; the optimum was found by hand and is checked against the brute-force oracle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any

from hardwood import Problem
from oracle import Number, TinyProblem
from strategies import problem_of

Radius = str | float


@dataclass(frozen=True)
class Case:
    """A problem and the objective of its best tree."""

    name: str
    tiny: TinyProblem
    depth: int
    optimum: int

    def problem(self) -> Problem:
        return problem_of(self.tiny, self.depth)


def _exact(radius: Radius) -> Number:
    return radius if isinstance(radius, float) else Fraction(radius)


def case(
    name: str,
    X: Sequence[Sequence[str]],
    y: Sequence[int],
    depth: int,
    optimum: int,
    *,
    down: Sequence[Radius] | Sequence[Sequence[Radius]] = ("0.1",),
    up: Sequence[Radius] | Sequence[Sequence[Radius]] | None = None,
    weight: Sequence[int] | None = None,
) -> Case:
    """Radii: one for all features, one per feature, or one row per class."""
    p, k = len(X[0]), max(y) + 1

    def by_class(radii: Sequence[Radius] | Sequence[Sequence[Radius]]) -> tuple[tuple[Number, ...], ...]:
        rows: list[Any] = list(radii) if isinstance(radii[0], list | tuple) else [radii] * k
        return tuple(tuple(_exact(r) for r in (row if len(row) == p else list(row) * p)) for row in rows)

    tiny = TinyProblem(
        tuple(tuple(Fraction(value) for value in row) for row in X),
        tuple(y),
        tuple(weight or [1] * len(y)),
        by_class(down),
        by_class(down if up is None else up),
    )
    return Case(name, tiny, depth, optimum)


_LINE = [["0"], ["1"], ["2"], ["3"], ["4"], ["5"]]
_SQUARE = [["0", "0"], ["0", "1"], ["1", "0"], ["1", "1"]]

CASES = [
    case("the paper's three samples", [["2"], ["3"], ["4.5"]], [0, 1, 1], 1, 1, down=("1",)),
    case("xor at depth 2", _SQUARE, [0, 1, 1, 0], 2, 0),
    case("xor is too much for depth 1", _SQUARE, [0, 1, 1, 0], 1, 2),
    case("xor with boxes that touch", _SQUARE, [0, 1, 1, 0], 2, 2, down=("0.5",)),
    case("ties", [["0"], ["0"], ["1"], ["1"], ["1"], ["2"]], [0, 0, 1, 1, 0, 1], 2, 1),
    case("twins of opposite classes", [["0"], ["0"], ["1"]], [0, 1, 1], 2, 1, down=("0",)),
    case("no attacker", _LINE, [0, 1, 0, 1, 0, 1], 2, 1, down=("0",)),
    case("no attacker, deep enough", _LINE, [0, 1, 0, 1, 0, 1], 3, 0, down=("0",)),
    case("deeper than needed", _LINE, [0, 0, 0, 1, 1, 1], 3, 0),
    case("touching boxes conflict", [["0"], ["2"]], [0, 1], 1, 1, down=("1",)),
    case("touching up to float noise", [["0.3"], ["0.4"], ["0.9"]], [0, 1, 1], 2, 1, down=("0.05",)),
    case(
        "ends a hair's breadth apart",
        [["0"], ["0.2000001"], ["0.5"], ["0.7000001"], ["1"]],
        [0, 1, 0, 1, 1],
        3,
        0,
    ),
    case("three classes", _LINE, [0, 0, 1, 1, 2, 2], 2, 0),
    case("three classes at depth 1", _LINE, [0, 0, 1, 1, 2, 2], 1, 2),
    case("four classes", _SQUARE, [0, 1, 2, 3], 2, 0),
    case("weights decide", [["0"], ["1"], ["2"]], [0, 1, 0], 1, 2, weight=[5, 4, 2]),
    case("weights of zero", _LINE, [0, 1, 0, 1, 0, 1], 1, 0, weight=[0, 3, 0, 1, 2, 0]),
    case("large weights", _LINE, [0, 1, 0, 1, 0, 1], 1, 200, weight=[1000, 100, 300, 700, 100, 400]),
    case("one-sided attacker", _LINE, [0, 0, 0, 1, 1, 1], 1, 0, down=("0",), up=("0.9",)),
    case("one-sided attacker who reaches", _LINE, [0, 0, 0, 1, 1, 1], 1, 2, down=("0",), up=("2",)),
    case(
        "unbounded on one feature",
        [["0", "0"], ["1", "0"], ["0", "1"], ["1", "1"]],
        [0, 0, 1, 1],
        2,
        0,
        down=(inf, "0.1"),
    ),
    case("unbounded on all", [["0"], ["1"], ["2"]], [0, 1, 1], 2, 1, down=(inf,)),
    case(
        "attacker of one class",
        _LINE,
        [0, 0, 0, 1, 1, 1],
        1,
        1,
        down=(("0",), ("1.2",)),
    ),
    case(
        "a class that may rise without end",
        [["0"], ["1"], ["2"], ["3"]],
        [1, 0, 0, 1],
        2,
        1,
        down=(("0",), ("0",)),
        up=(("0",), (inf,)),
    ),
    case("nothing to split", [["1"], ["1"], ["1"]], [0, 1, 1], 2, 1, down=("0",)),
    case("depth 0", _LINE, [0, 1, 1, 1, 0, 1], 0, 2),
]
