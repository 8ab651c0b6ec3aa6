"""Every way to combine units, classes and features gives the boxes that exact arithmetic gives, or a clear error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import inf
from typing import Any

import numpy as np
import pytest

from builders import make_tree
from hardwood import AttackModel, InvalidInputError, Problem, adversarial_accuracy

NAMES = ("age", "income", "flag")
VALUES = [["10", "-200", "3"], ["20", "800", "3"], ["30", "50.5", "3"], ["60", "0", "3"]]
LABELS = ["ham", "spam", "spam", "virus"]
CLASSES = ("ham", "spam", "virus")
RANGE = (Fraction(50), Fraction(1000), Fraction(0))

Pair = tuple[str, str]


@dataclass(frozen=True)
class Features:
    """A spelling of the attack on three features, and what it says of each: (down, up) as decimal text."""

    name: str
    spec: Any
    means: tuple[Pair, Pair, Pair]


FEATURES = [
    Features("one number", 0.1, (("0.1", "0.1"),) * 3),
    Features("nothing", 0, (("0", "0"),) * 3),
    Features("sequence", [0.1, (0.2, 0.3), ""], (("0.1", "0.1"), ("0.2", "0.3"), ("0", "0"))),
    Features("array", np.array([0.1, 0.2, 0.3]), (("0.1", "0.1"), ("0.2", "0.2"), ("0.3", "0.3"))),
    Features("by name", {"income": (0, 0.25)}, (("0", "0"), ("0", "0.25"), ("0", "0"))),
    Features("by number", {1: 0.25, "*": 0.5}, (("0.5", "0.5"), ("0.25", "0.25"), ("0.5", "0.5"))),
    Features("one-sided", {"*": (0.5, 0)}, (("0.5", "0"),) * 3),
    Features("unbounded", ["<", ">", "<>"], (("inf", "0"), ("0", "inf"), ("inf", "inf"))),
    Features("half bounded", {"age": (inf, 0.1), "*": ""}, (("inf", "0.1"), ("0", "0"), ("0", "0"))),
]

UNITS: dict[str, Callable[[Any], AttackModel]] = {
    "raw": AttackModel.parse,
    "range": AttackModel.fraction_of_range,
}


@dataclass(frozen=True)
class Combination:
    """An attack, and the radii by class that it means in the given unit."""

    name: str
    attack: AttackModel
    unit: dict[str, str]
    features: dict[str, Features]


def combinations() -> list[Combination]:
    found = []
    for first, unit in product(FEATURES, UNITS):
        make = UNITS[unit]
        second = FEATURES[(FEATURES.index(first) + 2) % len(FEATURES)]
        same = dict.fromkeys(CLASSES, first)
        units = dict.fromkeys(CLASSES, unit)
        mixed = {"ham": first, "virus": second}
        both = {"spam": first, "ham": second}
        found += [
            Combination("all classes", make(first.spec), units, same),
            Combination("only some", make(first.spec).only(["spam", "ham"]), units, {"spam": first, "ham": first}),
            Combination(
                "units inside per class",
                AttackModel.per_class({label: make(features.spec) for label, features in mixed.items()}),
                units,
                mixed,
            ),
            Combination(
                "units around per class",
                make(AttackModel.per_class({label: features.spec for label, features in mixed.items()})),
                units,
                mixed,
            ),
            Combination(
                "units around only", make(AttackModel.parse(first.spec).only(["virus"])), units, {"virus": first}
            ),
            Combination(
                "only of per class",
                make(AttackModel.per_class({label: features.spec for label, features in both.items()})).only(["spam"]),
                units,
                {"spam": first},
            ),
            Combination(
                "units that differ",
                AttackModel.per_class({"spam": make(first.spec), "ham": AttackModel.fraction_of_range(second.spec)}),
                {"spam": unit, "ham": "range"},
                both,
            ),
            Combination(
                "scaled",
                make(Features("", first.spec, first.means).spec).scaled(2).scaled(0.5).only(["ham"]),
                units,
                {"ham": first},
            ),
        ]
    return [c for c in found if not (c.name == "units around per class" and c.unit["ham"] == "raw")]


def exact_radius(text: str, unit: str, j: int) -> Fraction | float:
    if text == "inf":
        return inf
    return Fraction(text) * (RANGE[j] if unit == "range" else 1)


@pytest.mark.parametrize(
    "combination", combinations(), ids=lambda c: f"{c.name}-{'-'.join(sorted(set(c.unit.values())))}"
)
def test_boxes_are_those_of_exact_arithmetic(combination: Combination) -> None:
    X = np.array(VALUES, dtype=float)
    problem = Problem.from_data(X, LABELS, combination.attack, 1, feature_names=NAMES)
    for i, label in enumerate(LABELS):
        for j in range(3):
            down, up = ("0", "0")
            if label in combination.features:
                down, up = combination.features[label].means[j]
            unit = combination.unit.get(label, "raw")
            for end, radius, sign in ((problem.lower[i, j], down, -1), (problem.upper[i, j], up, 1)):
                reach = exact_radius(radius, unit, j)
                if reach == inf:
                    assert end == sign * inf
                    continue
                exact = Fraction(VALUES[i][j]) + sign * Fraction(reach)
                slack = 2 * max(Fraction(reach) / 10**9, Fraction(1, 10**12)) if reach else 0
                assert 0 <= sign * (Fraction(float(end)) - exact) <= slack


@pytest.mark.parametrize("combination", combinations(), ids=lambda c: c.name)
def test_evaluation_sees_the_boxes_of_training(combination: Combination) -> None:
    X = np.array(VALUES, dtype=float)
    problem = Problem.from_data(X, LABELS, combination.attack, 1, feature_names=NAMES)
    assert problem.attack is not None
    assert not problem.attack.is_relative
    for j, b in ((0, 25.0), (1, 40.0), (2, 3.0)):
        tree = make_tree(
            [j, -1, -1], [b, np.nan, np.nan], [1, -1, -1], [2, -1, -1], [-1, 0, 1], np.array(CLASSES), 3, NAMES
        )
        left, right = problem.lower[:, j] <= b, problem.upper[:, j] > b
        lost = (left & (problem.label != 0)) | (right & (problem.label != 1))
        assert adversarial_accuracy(tree, X, LABELS, problem.attack) == 1 - lost.mean()


def test_a_range_that_is_wider_than_the_largest_number_has_fractions() -> None:
    X = np.array([[-1.5e308], [1.5e308], [0.0]])
    down, _ = AttackModel.fraction_of_range(0.1).fit(X).reach(1)
    assert down[0, 0] == pytest.approx(3e307)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: AttackModel(by_class=(("a", AttackModel()),), unit="range"), "inside by_class"),
        (lambda: AttackModel(by_class=(("a", AttackModel()),), default=(1.0, 1.0)), "inside by_class"),
        (lambda: AttackModel.per_class({"a": AttackModel.per_class({"b": 1})}), "itself given per class"),
        (lambda: AttackModel.parse(1).only("spam"), r"such as \['spam'\]"),
        (lambda: AttackModel.parse({"age": 1, 0: 2}).reach(3, NAMES), "twice"),
        (lambda: AttackModel.fraction_of_range({"age": 1, 0: 2}).fit(np.eye(3), NAMES), "twice"),
        (lambda: AttackModel.fraction_of_range([0.1, 0.2]).fit(np.eye(3)), "2 entries"),
        (lambda: AttackModel.fraction_of_range(True), "True"),
        (lambda: AttackModel.parse([True, 1]), "True"),
        (lambda: AttackModel.per_class({"spam": 1}).reach(3, NAMES), "no classes are known here"),
        (
            lambda: AttackModel.fraction_of_range(AttackModel.per_class({"a": 1})).reach(3, NAMES, ["a"]),
            "call attack.fit",
        ),
    ],
)
def test_what_cannot_be_combined_is_refused(make: Callable[[], object], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        make()
