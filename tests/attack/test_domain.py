"""Whole numbers and bounds: every answer is that of exact arithmetic over the values that there are."""

from __future__ import annotations

import warnings
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import oracle
from builders import make_tree
from hardwood import (
    AttackModel,
    InvalidInputError,
    Problem,
    RobustTreeClassifier,
    Tree,
    WholeNumbersWarning,
    adversarial_accuracy,
    adversarial_accuracy_bound,
    attack_samples,
    robust_radius,
    robustness,
    solve,
)
from hardwood.attack.spelling import attack_from_toml
from hardwood_checker.checking import check

QUICK, MANY = range(100), range(100, 1100)


class Counted:
    """A random tiny problem with whole numbers and bounds, as the package and as the oracle take it."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        n, p = int(rng.integers(3, 9)), int(rng.integers(1, 4))
        self.integer = rng.random(p) < 0.7
        step = np.where(self.integer, 1, 4)
        quarters = rng.integers(-3 * step, 6 * step + 1, (n, p))
        self.X = quarters / step
        self.y = rng.integers(0, 2, n)
        self.y[:2] = 0, 1
        radii = [Fraction(k, 4) for k in range(9)]
        self.down, self.up = (
            [[inf if rng.random() < 0.05 else radii[rng.integers(9)] for _ in range(p)] for _ in range(2)]
            for _ in range(2)
        )
        low, high = self.X.min(axis=0), self.X.max(axis=0)
        self.minimum = [float(low[j]) - rng.integers(0, 3) / 2 if rng.random() < 0.5 else -inf for j in range(p)]
        self.maximum = [float(high[j]) + rng.integers(0, 3) / 2 if rng.random() < 0.5 else inf for j in range(p)]
        self.tiny = oracle.CountedProblem(
            tuple(tuple(Fraction(float(x)) for x in row) for row in self.X),
            tuple(int(label) for label in self.y),
            (1,) * n,
            tuple(map(tuple, self.down)),
            tuple(map(tuple, self.up)),
            tuple(map(bool, self.integer)),
            tuple(Fraction(m) if m != -inf else m for m in self.minimum),
            tuple(Fraction(m) if m != inf else m for m in self.maximum),
        )
        by_class = {c: {j: (float(self.down[c][j]), float(self.up[c][j])) for j in range(p)} for c in range(2)}
        self.free = AttackModel.per_class(by_class)
        self.attack = self.free.with_integers(np.flatnonzero(self.integer).tolist()).with_bounds(
            {j: m for j, m in enumerate(self.minimum) if m != -inf},
            {j: m for j, m in enumerate(self.maximum) if m != inf},
        )
        self.tree = self._random_tree(rng)

    def _random_tree(self, rng: np.random.Generator) -> Tree:
        p = self.X.shape[1]
        feature = rng.integers(0, p, 3)
        threshold = rng.integers(-16, 30, 3) / 5
        leaf = [-1] * 4
        return make_tree(
            [*feature, *leaf], [*threshold, *[np.nan] * 4], [1, 3, 5, *leaf], [2, 4, 6, *leaf],
            [-1, -1, -1, *rng.integers(0, 2, 4)], np.array([0, 1]), p,
        )  # fmt: skip

    def lost(self, tree: Tree) -> list[bool]:
        boxes = [[self.tiny.box(i, j) for j in range(self.X.shape[1])] for i in range(len(self.X))]
        return [
            oracle.is_fooled(tree, [b[0] for b in box], [b[1] for b in box], int(label), self.tiny.integer)
            for box, label in zip(boxes, self.y, strict=True)
        ]


def check_all(seed: int) -> None:
    case = Counted(seed)
    lost = case.lost(case.tree)
    assert adversarial_accuracy(case.tree, case.X, case.y, case.attack) == pytest.approx(1 - np.mean(lost)), seed
    assert adversarial_accuracy(case.tree, case.X, case.y, case.free) <= 1 - np.mean(lost) + 1e-12, seed
    points = attack_samples(case.tree, case.X, case.y, case.attack)
    for i, point in enumerate(points):
        assert np.isnan(point).any() != lost[i], seed
        if lost[i]:
            assert case.tree.predict(point[None])[0] != case.y[i], seed
            for j, value in enumerate(point):
                low, high = case.tiny.box(i, j)
                assert low <= value <= high, seed
                assert not case.integer[j] or value == round(value), seed
    verdict = robustness(case.tree, case.X, case.y, case.attack)
    assert verdict.is_fooled.tolist() == lost, seed
    assert verdict.is_robust.tolist() == [not one for one in lost], seed
    found = verdict.examples[verdict.is_fooled]
    assert np.all(found[:, case.integer] == np.rint(found[:, case.integer])), seed
    check_learning(case, seed)


def check_learning(case: Counted, seed: int) -> None:
    problem = Problem.from_data(case.X, case.y, case.attack, 2)
    result = solve(problem, "search")
    assert result.objective == oracle.optimal_objective(case.tiny, 2) == sum(case.lost(result.tree)), seed
    splits = result.tree.left >= 0
    between = result.tree.threshold[splits & case.integer[result.tree.feature]]
    assert np.all(between != np.rint(between)), seed
    bound = adversarial_accuracy_bound(case.X, case.y, case.attack)
    assert bound.errors == oracle.fewest_errors(case.tiny), seed


@pytest.mark.parametrize("seed", QUICK)
def test_whole_numbers_and_bounds_are_exact(seed: int) -> None:
    check_all(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", MANY)
def test_whole_numbers_and_bounds_are_exact_on_many_problems(seed: int) -> None:
    check_all(seed)


@pytest.mark.parametrize("seed", range(40))
def test_a_radius_is_the_largest_multiple_that_a_sample_bears(seed: int) -> None:
    case = Counted(seed)
    radius = robust_radius(case.tree, case.X, case.y, case.attack)
    for i, r in enumerate(radius):
        one, label = case.X[[i]], case.y[[i]]
        if r == -inf:
            assert case.tree.predict(one)[0] != label[0]
            continue
        assert adversarial_accuracy(case.tree, one, label, case.attack.scaled(min(r, 1e6))) == 1, seed
        if r < inf:
            assert adversarial_accuracy(case.tree, one, label, case.attack.scaled(r * (1 + 1e-7) + 1e-7)) == 0, seed


def counts() -> tuple[Any, Any]:
    X = np.random.default_rng(0).integers(0, 11, (400, 1)).astype(float)
    return X, (X[:, 0] > 5).astype(int)


def test_no_count_moves_by_one_half() -> None:
    X, y = counts()
    clf = RobustTreeClassifier(max_depth=2, attack=AttackModel.parse(0.5).with_integers([0])).fit(X, y)
    assert clf.adversarial_score(X, y) == 1.0
    assert clf.tree_.threshold[0] == 5.5
    frame = pd.DataFrame(X.astype(int), columns=["count"])
    for attack in ({"count": 0.5, "integer": ["count"]}, "count=0.5; integer: count", "0.5; integer: auto"):
        again = RobustTreeClassifier(max_depth=2, attack=attack).fit(frame, y)
        assert again.tree_.threshold[0] == 5.5
        assert again.adversarial_score(frame, y) == 1.0


def test_whole_numbers_are_never_assumed_but_said() -> None:
    X, y = counts()
    for data, name in ((X, "feature 0"), (pd.DataFrame(X.astype(int), columns=["count"]), "'count'")):
        with pytest.warns(WholeNumbersWarning, match=rf"{name} holds whole numbers only.*with_integers"):
            clf = RobustTreeClassifier(max_depth=2, attack=0.5).fit(data, y)
        assert clf.adversarial_score(data, y) < 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RobustTreeClassifier(max_depth=1, attack=1).fit(X, y)
        RobustTreeClassifier(max_depth=1, attack=0.5).fit(X + 0.25, y)


CONTENT = 'integer = ["a"]\nminimum = {a = 0, b = -1}\nmaximum = {b = 2}\n[features]\na = 1\nb = "0:5%"\n'


def test_a_file_declares_whole_numbers_and_bounds(tmp_path: Path) -> None:
    path = tmp_path / "attack.toml"
    path.write_text(CONTENT)
    expected = AttackModel.parse({"a": 1, "b": "0:5%"}).with_integers(["a"]).with_bounds({"a": 0, "b": -1}, {"b": 2})
    assert attack_from_toml(path) == expected
    assert AttackModel.parse("a=1,b=0:5%; integer: a; minimum: a=0,b=-1; maximum: b=2") == expected
    spec = {"a": 1, "b": ("0", "5%"), "integer": ["a"], "minimum": {"a": 0, "b": -1}, "maximum": {"b": 2}}
    assert AttackModel.parse(spec) == expected
    assert AttackModel.from_dict(expected.to_dict()) == expected
    assert AttackModel.from_dict(expected.only(["x"]).to_dict()) == expected.only(["x"])


@pytest.mark.parametrize(
    ("attack", "said"),
    [
        (AttackModel.parse(1).with_integers([0]), r"feature 0 .*row 2 holds 0\.5"),
        (AttackModel.parse(1).with_bounds({0: 0.25}), "minimum 0.25, but row 0 holds 0"),
        (AttackModel.parse(1).with_bounds(maximum={1: 3}), "maximum 3, but row 1 holds 4"),
        (AttackModel.parse(1).with_bounds({0: 5}, {0: 4}), "at least 5 and at most 4"),
        (AttackModel.parse(1).with_integers([7]), "names feature 7"),
    ],
)
def test_what_is_not_in_the_domain_is_refused(attack: AttackModel, said: str) -> None:
    X = np.array([[0.0, 1.0], [3.0, 4.0], [0.5, 2.0]])
    with pytest.raises(InvalidInputError, match=said):
        Problem.from_data(X, [0, 1, 0], attack)


@pytest.mark.parametrize("features", ["a", 3, None, [True]])
def test_integers_are_given_as_a_list(features: Any) -> None:
    with pytest.raises(InvalidInputError):
        AttackModel.parse(1).with_integers(features)


def test_a_proof_says_which_columns_are_whole_numbers(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    X = rng.integers(0, 9, (60, 2)).astype(float)
    y = (X[:, 0] + rng.normal(0, 2, 60) > 4).astype(int)
    attack = AttackModel.parse(1.5).with_integers([0, 1]).with_bounds({"*": 0}, {1: 8})
    clf = RobustTreeClassifier(max_depth=2, attack=attack, proof=tmp_path / "proof.hwp").fit(X, y)
    verdict = check(tmp_path / "proof.hwp", X, y)
    assert verdict.bound == clf.result_.objective
