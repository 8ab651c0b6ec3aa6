"""A least weight of leaves: the exact search against brute force, the greedy learner against the definition."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hardwood import (
    GreedyRobustTreeClassifier,
    InvalidInputError,
    Problem,
    RobustForestClassifier,
    RobustTreeClassifier,
    RobustTreeCV,
    solve,
)
from hardwood.problem.leaf_limit import leaf_limit
from hardwood.solvers import registered_solvers
from hardwood.solvers.result import Status
from oracle import TinyProblem, optimal_objective
from search_cases import assert_sound, random_tiny
from strategies import problem_of

SHARES = ("0.05", "0.1", "0.2", "0.25", "0.3", "0.5")


def certain_weights(problem: Problem, tree: object) -> list[float]:
    """Weight that reaches each leaf and no other, walked box by box."""
    held: dict[int, float] = {}
    for low, high, weight in zip(problem.lower, problem.upper, problem.weight, strict=True):
        nodes, reached = [0], []
        while nodes:
            node = nodes.pop()
            if tree.left[node] < 0:  # type: ignore[attr-defined]
                reached.append(node)
                held.setdefault(node, 0.0)
                continue
            j, b = tree.feature[node], tree.threshold[node]  # type: ignore[attr-defined]
            nodes += [int(tree.left[node])] if low[j] <= b else []  # type: ignore[attr-defined]
            nodes += [int(tree.right[node])] if high[j] > b else []  # type: ignore[attr-defined]
        if len(reached) == 1:
            held[reached[0]] += float(weight)
    return [held.get(int(node), 0.0) for node in np.flatnonzero(tree.left < 0)]  # type: ignore[attr-defined]


def random_case(seed: int) -> tuple[TinyProblem, int, str, Fraction]:
    """A tiny problem with weights, a depth, a share, and the least weight of a leaf."""
    rng = np.random.default_rng([seed, 18])
    depth = int(rng.choice([1, 2, 3], p=[0.2, 0.45, 0.35]))
    tiny = random_tiny(rng, 7 if depth == 3 else 10)
    weight = rng.integers(0, 5, tiny.n)
    weight[0] = max(1, weight[0])
    tiny = replace(tiny, weight=tuple(map(int, weight)))
    share = SHARES[int(rng.integers(len(SHARES)))]
    return tiny, depth, share, Fraction(share) * sum(tiny.weight)


@pytest.mark.parametrize("block", range(6))
def test_search_finds_what_brute_force_finds(block: int) -> None:
    for seed in range(100 * block, 100 * (block + 1)):
        tiny, depth, share, least = random_case(seed)
        penalty = int(np.random.default_rng(seed).choice([0, 0, 1]))
        problem = problem_of(tiny, depth, leaf_penalty=penalty, min_weight_fraction_leaf=float(share))
        result = solve(problem, "search")
        optimum = optimal_objective(tiny, depth, leaf_penalty=penalty, min_weight_leaf=least)
        assert (result.objective, result.status) == (optimum, Status.OPTIMAL), f"seed {seed}"
        assert_sound(result, optimum)
        if result.tree.n_leaves > 1:
            assert min(certain_weights(problem, result.tree)) >= least, f"seed {seed}"


def test_weights_that_are_not_whole_numbers_are_measured_alike() -> None:
    for seed in range(1000, 1100):
        tiny, depth, share, least = random_case(seed)
        unit = float(np.random.default_rng(seed).choice([0.1, 0.37, 1 / 3, 1e-9, 1e7 / 3]))
        weight = unit * np.array(tiny.weight)
        problem = problem_of(tiny, depth, min_weight_fraction_leaf=float(share)).replace(weight=weight)
        optimum = optimal_objective(tiny, depth, min_weight_leaf=least)
        assert solve(problem, "search").objective == pytest.approx(unit * optimum, rel=1e-6), f"seed {seed}"


def test_the_share_is_of_weights_as_given_also_where_the_search_cuts_down_heavy_ones() -> None:
    """A heavy sample fills a leaf although no tree can gain all of its weight."""
    X, y = [[0.0], [1.0], [1.0]], [0, 1, 0]
    for unit in (1.0, 2.0):
        problem = Problem.from_data(
            X, y, 0.0, 1, sample_weight=unit * np.array([10, 4.5, 4]), min_weight_fraction_leaf=0.45
        )
        result = solve(problem, "search")
        assert (result.objective, result.status) == (4 * unit, Status.OPTIMAL)


def test_class_weights_count() -> None:
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    light: dict[str, Any] = {"class_weight": {0: 1000, 1: 0.001}}
    for learner in (RobustTreeClassifier, GreedyRobustTreeClassifier):
        assert learner(2, **light).fit(X, y).predict(X).tolist() == y
        assert not learner(2, min_weight_fraction_leaf=0.01, **light).fit(X, y).predict(X).any()


def test_the_share_is_the_number_that_is_written() -> None:
    """7 of 100 samples are 0.07 of them, although 0.07 * 100 is more than 7 in binary numbers."""
    X, y = np.arange(100.0)[:, None], np.arange(100) < 7
    for share, errors in ((0.07, [0, 0]), (0.0701, [1, 7])):  # the greedy learner makes its best split or none
        problem = Problem.from_data(X, y, 0.1, 1, min_weight_fraction_leaf=share)
        assert [solve(problem, solver).objective for solver in ("search", "greedy")] == errors
    limit = leaf_limit(0, 0.07, np.full(100, 0.1))
    assert limit is not None
    assert limit.least <= 7 * limit.measure[0]


@pytest.mark.parametrize("criterion", ["groot", "chen", "adversarial-error"])
def test_a_greedy_tree_keeps_the_limits_of_a_problem(criterion: str) -> None:
    splits = 0
    for seed in range(120):
        rng = np.random.default_rng([seed, 19])
        n = int(rng.integers(10, 60))
        X, y = rng.integers(0, 12, (n, 3)) / 10, rng.integers(0, 3, n)
        y[:2] = 0, 1
        attack, weight = float(rng.choice([0, 0.05, 0.15])), rng.integers(0, 4, n) + (np.arange(n) == 0)
        limits = {"min_samples_leaf": 4} if seed % 3 == 0 else {"min_weight_fraction_leaf": 0.15}
        problem = Problem.from_data(X, y, attack, 4, sample_weight=weight, **limits)
        tree = solve(problem, "greedy", options={"criterion": criterion}).tree
        if tree.n_leaves == 1:
            continue
        splits += 1
        if seed % 3 == 0:
            assert min(certain_weights(problem.replace(weight=np.ones(n)), tree)) >= 4, f"seed {seed}"
        else:
            assert min(certain_weights(problem, tree)) >= 0.15 * weight.sum() * (1 - 1e-9), f"seed {seed}"
    assert splits > 30


def test_without_an_attacker_greedy_leaves_hold_what_stands_in_them() -> None:
    rng = np.random.default_rng(5)
    X, y, weight = rng.random((200, 4)), rng.integers(0, 2, 200), rng.random(200)
    free = GreedyRobustTreeClassifier(6).fit(X, y, weight)
    clf = GreedyRobustTreeClassifier(6, min_weight_fraction_leaf=0.1).fit(X, y, weight)
    held = np.bincount(clf.apply(X), weight)
    assert held[held > 0].min() >= 0.1 * weight.sum()
    assert 1 < clf.get_n_leaves() < free.get_n_leaves()


def test_cross_validation_hands_it_on() -> None:
    rng = np.random.default_rng(2)
    X, y = rng.random((60, 3)), rng.integers(0, 2, 60)
    for solver in ("search", "greedy"):
        cv = RobustTreeCV(max_depths=(2, 3), solver=solver, min_weight_fraction_leaf=0.2).fit(X, y)
        assert np.unique(cv.apply(X), return_counts=True)[1].min() >= 12


def test_who_cannot_keep_it_says_so() -> None:
    problem = Problem.from_data([[0.0], [1.0], [2.0]], [0, 1, 1], 0.1, 1, min_weight_fraction_leaf=0.2)
    for name in set(registered_solvers()) - {"search", "greedy"}:
        with pytest.raises(InvalidInputError, match=f"'{name}' does not support min_weight_fraction_leaf"):
            solve(problem, name)


@pytest.mark.parametrize("base", ["greedy", "search"])
def test_trees_of_a_forest_keep_it_on_their_own_samples(base: str) -> None:
    rng = np.random.default_rng(8)
    X, y = rng.random((80, 3)), rng.integers(0, 2, 80)
    forest = RobustForestClassifier(
        5, max_depth=2, base=base, bootstrap=False, max_features=None, min_weight_fraction_leaf=0.3
    ).fit(X, y)
    for tree in forest.trees_:
        assert np.unique(tree.apply(X), return_counts=True)[1].min() >= 24
    with pytest.raises(InvalidInputError, match="min_weight_fraction_leaf"):
        RobustForestClassifier(base=base, min_weight_fraction_leaf=0.7).fit(X, y)
