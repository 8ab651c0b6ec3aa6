"""Linear relations between features: attacks hold to them, and evaluation is exact."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest

from builders import make_tree
from hardwood import AttackModel, InvalidInputError, adversarial_accuracy, attack_samples
from hardwood.attack.relations import Relation
from hardwood.ensembles.verification import UndecidedAttackWarning


class Related:
    """Three counts with a relation between them, a random tree, and a budget in some cases."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        n = 6
        X = rng.integers(0, 5, (n, 3)).astype(float)
        kind = seed % 3
        if kind == 0:
            self.relations = ["x <= y"]
            X[:, :2] = np.sort(X[:, :2], axis=1)
        elif kind == 1:
            self.relations = ["z = x + y"]
            X[:, 2] = X[:, 0] + X[:, 1]
        else:
            self.relations = ["2*x - y <= 4", "y + z >= 1"]
            X[:, 2] += 1
            X[:, 0] = np.minimum(X[:, 0], 2)
        self.X, self.names = X, ("x", "y", "z")
        self.y = rng.integers(0, 2, n)
        self.radius = int(rng.integers(1, 3))
        self.budget = int(rng.integers(1, 5)) if rng.random() < 0.5 else None
        self.free = AttackModel.parse(self.radius).with_integers(["*"])
        if self.budget is not None:
            self.free = self.free.with_budget(total=self.budget, cost={"x": 1, "y": {"once": 2}, "z": 0.5})
        self.attack = self.free.with_relations(self.relations)
        leaf = [-1] * 4
        self.tree = make_tree(
            [*rng.integers(0, 3, 3), *leaf], [*(rng.integers(0, 6, 3) + 0.5), *[np.nan] * 4], [1, 3, 5, *leaf],
            [2, 4, 6, *leaf], [-1, -1, -1, *rng.integers(0, 2, 4)], np.array([0, 1]), 3, self.names,
        )  # fmt: skip

    def holds(self, point: Any) -> bool:
        x, y, z = point
        return bool({1: x <= y, 2: z == x + y}.get((len(self.relations) == 1) * (1 + (self.relations[0][0] == "z")),
                                                   2 * x - y <= 4 and y + z >= 1))  # fmt: skip

    def price(self, i: int, point: Any) -> float:
        move = np.abs(np.array(point) - self.X[i])
        return float(move[0] + 2 * (move[1] > 0) + 0.5 * move[2])

    def lost(self, i: int) -> bool:
        steps = range(-self.radius, self.radius + 1)
        for step in product(steps, repeat=3):
            point = self.X[i] + np.array(step)
            affordable = self.budget is None or self.price(i, point) <= self.budget
            if self.holds(point) and affordable and self.tree.predict(point[None])[0] != self.y[i]:
                return True
        return False


def check(seed: int) -> None:
    case = Related(seed)
    lost = [case.lost(i) for i in range(len(case.y))]
    score = adversarial_accuracy(case.tree, case.X, case.y, case.attack)
    assert score == pytest.approx(1 - np.mean(lost)), seed
    assert score >= adversarial_accuracy(case.tree, case.X, case.y, case.free), seed
    points = attack_samples(case.tree, case.X, case.y, case.attack)
    for i, point in enumerate(points):
        assert np.isnan(point).any() != lost[i], seed
        if lost[i]:
            assert case.holds(point), seed
            assert np.all(np.abs(point - case.X[i]) <= case.radius), seed
            assert case.budget is None or case.price(i, point) <= case.budget + 1e-6, seed
            assert case.tree.predict(point[None])[0] != case.y[i], seed


@pytest.mark.parametrize("seed", range(60))
def test_evaluation_holds_to_relations(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 1100))
def test_evaluation_holds_to_relations_on_many_problems(seed: int) -> None:
    check(seed)


def test_without_time_the_box_is_the_answer_and_it_says_so() -> None:
    case = next(c for c in map(Related, range(100)) if any(c.lost(i) for i in range(6)))
    with pytest.warns(UndecidedAttackWarning, match="count as lost"):
        score = adversarial_accuracy(case.tree, case.X, case.y, case.attack, time_limit=0.0)
    assert score == adversarial_accuracy(case.tree, case.X, case.y, case.free)


@pytest.mark.parametrize(
    ("text", "terms", "low", "high"),
    [
        ("open <= total", {"open": 1, "total": -1}, -np.inf, 0),
        ("total = a + b", {"total": 1, "a": -1, "b": -1}, 0, 0),
        ("2*`my name` - b >= 3 + 1", {"my name": 2, "b": -1}, 4, np.inf),
        ("-a == 1.5e1", {"a": -1}, 15, 15),
    ],
)
def test_relations_are_read(text: str, terms: dict[str, float], low: float, high: float) -> None:
    found = Relation.parse(text)
    assert dict(found.terms) == terms
    assert (found.low, found.high) == (low, high)


@pytest.mark.parametrize(
    "text", ["a", "a < b", "a <= b <= c", "a b <= 3", "a <= ", "3 <= 4", "a <= a", "2 a <= 3", None]
)
def test_what_is_no_relation_is_refused(text: Any) -> None:
    with pytest.raises(InvalidInputError):
        Relation.parse(text)


def test_relations_are_part_of_the_grammar() -> None:
    expected = AttackModel.parse({"a": 1}).with_relations(["a <= b"])
    assert AttackModel.parse("a=1; relations: a <= b") == expected
    assert AttackModel.parse({"a": 1, "relations": ["a <= b"]}) == expected
    assert AttackModel.from_dict(expected.to_dict()) == expected
    assert str(expected) == "a ±1; holding to a <= b (in evaluation)"
    case = Related(0)
    with pytest.raises(InvalidInputError, match="row 0 does not hold"), warnings.catch_warnings():
        adversarial_accuracy(case.tree, case.X, case.y, case.free.with_relations(["x >= 100"]))
