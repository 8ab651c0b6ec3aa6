"""Attackers who pay: prices, budgets, one-hot groups; every answer about a single tree is that of exact arithmetic."""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builders import make_tree
from hardwood import (
    AttackModel,
    AttackRules,
    InvalidInputError,
    Problem,
    RobustForestClassifier,
    RobustTreeClassifier,
    Status,
    adversarial_accuracy,
    adversarial_accuracy_bound,
    attack_cost,
    attack_samples,
    robust_radius,
    robustness,
    solve,
)
from hardwood.attack.rules import AttackRule
from hardwood.attack.spelling import attack_from_toml
from hardwood.evaluation import explain
from priced_cases import PricedCase

KINDS = ("features", "prices", "once", "groups")


def check_evaluation(seed: int, kind: str) -> None:
    case = PricedCase(seed, kind)
    tree, X, y, tiny = case.tree, case.X, case.y, case.tiny
    prices = [tiny.cheapest(tree, i) for i in range(len(y))]
    lost = case.lost(tree)
    assert adversarial_accuracy(tree, X, y, case.attack) == pytest.approx(1 - np.mean(lost)), (kind, seed)
    points = attack_samples(tree, X, y, case.attack)
    assert np.isnan(points).any(axis=1).tolist() == [not one for one in lost], (kind, seed)
    if case.attack.has_budget:
        costs = attack_cost(tree, X, y, case.attack)
        np.testing.assert_allclose(costs.cost, [float(price) for price in prices], rtol=1e-12, atol=1e-12)
        assert costs.accuracy() == pytest.approx(1 - np.mean(lost)), (kind, seed)
        assert costs.examples is not None
        points = costs.examples
    for i, point in enumerate(points):
        if not np.isnan(point).any():
            check_point(case, i, point, float(prices[i]), (kind, seed))
    verdict = robustness(tree, X, y, case.attack)
    assert not (verdict.is_robust & lost).any(), (kind, seed)
    assert not (verdict.is_fooled & ~np.array(lost)).any(), (kind, seed)


def check_point(case: PricedCase, i: int, point: Any, price: float, where: Any) -> None:
    """A point satisfies every constraint, is misclassified and has its price."""
    assert case.tree.predict(point[None])[0] != case.y[i], where
    total = 0.0
    for j in case.tiny.numbers:
        low, high = case.tiny.base.box(i, j)
        assert low <= point[j] <= high, where
        assert not case.integer[j] or point[j] == round(point[j]), where
        moved = abs(point[j] - case.X[i, j])
        unit = float(case.tiny.price[i][j])
        total += (unit if moved else 0) if case.tiny.once[i][j] else unit * moved
    for g, columns in enumerate(case.groups):
        cells = point[list(columns)]
        assert set(cells) <= {0.0, 1.0}, where
        assert cells.sum() <= 1, where
        state = next((j for j in columns if point[j] == 1), None)
        own = case.tiny.category(i, g)
        assert state == own or state in case.tiny.allowed[i][g], where
        total += 0 if state == own else float(case.tiny.group_price[i][g])
    if case.attack.has_budget:
        assert total == pytest.approx(price, rel=1e-9, abs=1e-9), where


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(30))
def test_what_an_attacker_pays_is_exact(seed: int, kind: str) -> None:
    check_evaluation(seed, kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(100, 1100))
def test_what_an_attacker_pays_is_exact_on_many_problems(seed: int, kind: str) -> None:
    check_evaluation(seed, kind)


def check_learning(seed: int, kind: str, depth: int) -> None:
    case = PricedCase(seed, kind)
    problem = Problem.from_data(case.X, case.y, case.attack, depth)
    result = solve(problem, "search")
    assert result.status is Status.OPTIMAL, (kind, seed)
    assert result.objective == sum(case.lost(result.tree)) == case.tiny.optimum(depth), (kind, seed)
    assert solve(problem, "greedy").objective >= result.objective


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(12))
def test_a_tree_learned_under_a_budget_is_the_best_there_is(seed: int, kind: str) -> None:
    check_learning(seed, kind, 1 + seed % 2)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(100, 1100))
def test_trees_learned_under_budgets_are_the_best_there_are_on_many_problems(seed: int, kind: str) -> None:
    check_learning(seed, kind, 1 + seed % 2)


def test_two_samples_may_need_three_splits_on_a_path() -> None:
    """Who changes one of three features does not change their majority, and no tree of depth 2 knows it."""
    X, y = [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]], [0, 1]
    attack = AttackModel.parse(5).with_budget(features=1)
    for depth, errors in ((1, 1), (2, 1), (3, 0), (1000, 0)):
        result = solve(Problem.from_data(X, y, attack, depth))
        assert (result.objective, result.status) == (errors, Status.OPTIMAL)
        assert adversarial_accuracy(result.tree, X, y, attack) == 1 - errors / 2


def test_leaves_may_have_a_price_too() -> None:
    X, y = [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]], [0, 1]
    attack = AttackModel.parse(5).with_budget(features=1)
    for weight, penalty, objective, leaves in ((1, 1, 2, 1), (8, 1, 6, 6), (8, 0.5, 3, 6)):
        problem = Problem.from_data(X, y, attack, 3, sample_weight=[weight] * 2, leaf_penalty=penalty)
        result = solve(problem)
        assert (result.objective, result.status, result.tree.n_leaves) == (objective, Status.OPTIMAL, leaves)


def test_weights_against_attackers_who_pay_may_be_as_small_as_numbers_are() -> None:
    X, y = [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]], [0, 1]
    attack = AttackModel.parse(5).with_budget(features=1)
    for weight in (1e-300, 1e-306):
        result = solve(Problem.from_data(X, y, attack, 3, sample_weight=[weight] * 2))
        assert (result.objective, result.failure) == (0, None)


def test_samples_that_no_threshold_tells_apart_are_no_failure() -> None:
    attack = AttackModel.parse(5).with_budget(features=1)
    result = solve(Problem.from_data([[1.0], [1.0], [1.0]], [0, 1, 1], attack, 3))
    assert (result.objective, result.status, result.failure) == (1, Status.OPTIMAL, None)


def test_trees_deeper_than_the_core_can_search_are_found_without_a_proof() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, 60)
    result = solve(Problem.from_data(X, y, AttackModel.parse(0.5).with_budget(features=1), 50), time_limit=0.5)
    assert result.failure is None
    assert result.status is Status.FEASIBLE
    assert result.bound < result.objective <= min(np.bincount(y))


def test_whole_numbers_beyond_all_fractions_are_moved_past_a_threshold() -> None:
    far = 2.0**53
    tree = make_tree([0, -1, -1], [far, np.nan, np.nan], [1, -1, -1], [2, -1, -1], [-1, 0, 1], np.array([0, 1]), 1)
    attack = AttackModel.parse(8).with_integers([0]).with_budget(features=1)
    points = attack_samples(tree, [[far]], [0], attack)
    assert tree.predict(points) == [1]


@pytest.mark.parametrize("seed", range(30))
def test_more_budget_or_freedom_never_raises_accuracy(seed: int) -> None:
    case = PricedCase(seed, "prices")
    radii = AttackModel.parse(dict(case.attack.features)).with_integers(np.flatnonzero(case.integer).tolist())
    before = 1.0
    for total in (0, 0.5, 1, 2, 4, 8, 100):
        attack = radii.with_budget(total=total, cost=1)
        now = adversarial_accuracy(case.tree, case.X, case.y, attack)
        assert now <= before
        assert now <= adversarial_accuracy(case.tree, case.X, case.y, radii.with_budget(total=total, cost=2))
        assert now <= adversarial_accuracy(case.tree, case.X, case.y, attack.scaled(0.5))
        before = now
    assert before >= adversarial_accuracy(case.tree, case.X, case.y, radii)
    by_features = [
        adversarial_accuracy(case.tree, case.X, case.y, radii.with_budget(features=k))
        for k in range(len(case.X[0]) + 1)
    ]
    assert by_features == sorted(by_features, reverse=True)
    assert by_features[-1] == adversarial_accuracy(case.tree, case.X, case.y, radii)


def test_rules_of_treant_are_one_spelling_of_it() -> None:
    X = np.array([[1.0, 1.0], [2.0, 5.0], [6.0, 2.0], [7.0, 7.0]])
    clf = RobustTreeClassifier(max_depth=2).fit(X, [0, 0, 1, 1])
    rules = AttackRules((AttackRule(0, -2.5, 2.5, 1.0), AttackRule(1, 0.0, 1.0, 0.5)), budget=2.0)
    for tree in (clf.tree_, RobustTreeClassifier(max_depth=1).fit(X, [0, 0, 1, 1]).tree_):
        costs = attack_cost(tree, X, [0, 0, 1, 1], rules)
        assert costs.cost.tolist() == [2.0, 1.0, 1.0, 2.0]  # the threshold is at 4
        assert adversarial_accuracy(tree, X, [0, 0, 1, 1], rules) == 0
    assert clf.adversarial_score(X, [0, 0, 1, 1], attack=rules) == 0
    small = AttackRules(rules.rules, budget=1.0)
    assert clf.adversarial_score(X, [0, 0, 1, 1], attack=small) == 0.5


def test_an_explanation_has_a_price() -> None:
    X, y = [[1.0], [2.0], [8.0], [9.0]], [0, 0, 1, 1]
    clf = RobustTreeClassifier(max_depth=1).fit(X, y)
    attack = AttackModel.parse({0: "<>"}).with_budget(total=4, cost=2)
    found = explain(clf.tree_, [[8.0]], attack)
    assert found.cheapest_change is not None
    assert (found.cheapest_change.price, found.cheapest_change.multiple_of_attack) == (6.0, 1.5)
    assert "for 6, 1.5 times the budget" in found.to_text()
    assert "cannot flip" in found.to_text()
    assert "can flip" in explain(clf.tree_, [[8.0]], attack.with_budget(total=6, cost=2)).to_text()


def test_prices_may_differ_between_classes_and_samples() -> None:
    X, y = np.array([[1.0], [2.0], [8.0], [9.0]]), [0, 0, 1, 1]
    tree = RobustTreeClassifier(max_depth=1).fit(X, y).tree_
    free = AttackModel.parse({0: "<>"})
    by_class = free.with_budget(total={0: 10, 1: 2.5}, cost=1)
    assert adversarial_accuracy(tree, X, y, by_class) == 0.5
    by_sample = free.with_budget(total=[0, 10, 0, 10], cost={0: [1, 1, 1, 9]})
    assert attack_cost(tree, X, y, by_sample).cost.tolist() == [4.0, 3.0, 3.0, 36.0]
    assert adversarial_accuracy(tree, X, y, by_sample) == 0.75
    with pytest.raises(InvalidInputError, match="given for 4 samples, the data has 2"):
        adversarial_accuracy(tree, X[:2], y[:2], by_sample)


def test_ensembles_are_bounded_soundly() -> None:
    rng = np.random.default_rng(1)
    X = rng.integers(0, 9, (60, 3)).astype(float)
    y = (X.sum(axis=1) > 12).astype(int)
    forest = RobustForestClassifier(5, attack=1, random_state=0).fit(X, y)
    box = AttackModel.parse(2).with_integers(["*"])
    accuracy = [robustness(forest, X, y, box.with_budget(features=k)).interval() for k in range(4)]
    whole = robustness(forest, X, y, box).interval()
    assert whole[0] == whole[1]
    assert accuracy[0][0] == accuracy[0][1] == forest.score(X, y)
    for low, high in accuracy:
        assert whole[0] <= low <= high
    found = robustness(forest, X, y, box.with_budget(features=1))
    changed = (found.examples != X).sum(axis=1)[found.is_fooled]
    assert (changed <= 1).all()
    assert (forest.predict(found.examples[found.is_fooled]) != y[found.is_fooled]).all()


TOML = """
[features]
a = 3
b = ">"

[budget]
total = 5
cost = {a = 1, "*" = {once = 2}}

[[group]]
columns = ["x", "y", "z"]
moves = {x = ["y"]}
"""


def test_one_grammar_for_budgets_and_groups(tmp_path: Path) -> None:
    path = tmp_path / "attack.toml"
    path.write_text(TOML)
    expected = (
        AttackModel.parse({"a": 3, "b": ">"})
        .with_group(["x", "y", "z"], {"x": ["y"]})
        .with_budget(total=5, cost={"a": 1, "*": {"once": 2}})
    )
    assert attack_from_toml(path) == expected
    spec = {
        "a": 3,
        "b": ">",
        "group": [{"columns": ["x", "y", "z"], "moves": {"x": ["y"]}}],
        "budget": {"total": 5, "cost": {"a": 1, "*": "once 2"}},
    }
    assert AttackModel.parse(spec) == expected
    free = AttackModel.parse("a=3,b=>; group: x, y, z; budget: 5, a=1, *=once 2")
    assert free == AttackModel.parse({"a": 3, "b": ">"}).with_group(["x", "y", "z"]).with_budget(
        total=5, cost={"a": 1, "*": {"once": 2}}
    )
    assert AttackModel.parse("1; budget: 5 features") == AttackModel.parse({"*": 1}).with_budget(features=5)
    for attack in (expected, expected.only(["spam"]), free):
        assert AttackModel.from_dict(attack.to_dict()) == attack
    assert str(expected) == (
        "a ±3, b -0/+any amount, one of x, y, z: x -> y, for at most 5 in all "
        "(a 1 per unit, every other feature 2 once)"
    )


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: AttackModel.parse(1).with_budget(), "number of features"),
        (lambda: AttackModel.parse(1).with_budget(features=-1), "features=-1"),
        (lambda: AttackModel.parse(1).with_budget(features=2, cost=1), "prices go with total"),
        (lambda: AttackModel.parse(1).with_budget(total=1), "needs prices"),
        (lambda: AttackModel.parse(1).with_budget(total=inf, cost=1), "finite"),
        (lambda: AttackModel.parse(1).with_budget(total=1, cost={"a": -1}), "'a' is -1"),
        (lambda: AttackModel.parse(1).with_group(["a"]), "two or more"),
        (lambda: AttackModel.parse(1).with_group("ab"), "give a list"),
        (lambda: AttackModel.parse(1).with_group(["a", "b"], {"a": ["c"]}), "name 'c'"),
        (lambda: AttackModel.parse(1).with_group(["a", "b"], {"a": [""]}), "at_most_one=True"),
    ],
)
def test_what_makes_no_sense_is_refused(make: Any, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        make()


def test_who_cannot_take_a_budget_says_so() -> None:
    X, y = np.array([[0.5, 1.0], [2.0, 0.0], [3.0, 1.0]]), [0, 1, 1]
    attack = AttackModel.parse(1).with_budget(features=1)
    problem = Problem.from_data(X, y, attack)
    tree = RobustTreeClassifier(max_depth=1).fit(X, y).tree_
    for refused in (
        lambda: solve(problem, "cp-sat"),
        lambda: solve(problem, "milp"),
        lambda: adversarial_accuracy_bound(X, y, attack),
        lambda: robust_radius(tree, X, y, attack),
        lambda: Problem.from_data(X, y, attack, min_samples_leaf=1),
        lambda: Problem.from_data(X, y, attack, min_weight_fraction_leaf=0.1),
        lambda: attack_cost(tree, X, y, 1.0),
    ):
        with pytest.raises(InvalidInputError, match=r"budget|prices"):
            refused()
    with pytest.raises(InvalidInputError, match="no price for it"):
        Problem.from_data(X, y, AttackModel.parse(1).with_budget(total=1, cost={0: 1}))
    with pytest.raises(InvalidInputError, match="exactly one of them must be 1"):
        Problem.from_data(X, y, AttackModel.parse(0).with_group([0, 1]))
