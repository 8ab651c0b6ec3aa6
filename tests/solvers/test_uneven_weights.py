"""Weights of very uneven size: what is called optimal is so within the stated tolerance, in exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from hardwood import Problem, Result, Status, solve
from oracle import TinyProblem, optimal_objective

SIZES = [1e-9, 1e-3, 0.1, 1.0, 3.7, 1e5, 1e9, 1e12]
FLOAT_SOLVERS = ["search", "milp", "binary-milp"]


def random_case(seed: int) -> tuple[Problem, Fraction, int]:
    """A tiny problem with weights of any size, and the exact cost of its best tree."""
    rng = np.random.default_rng(seed)
    n, depth = int(rng.integers(4, 9)), int(rng.integers(1, 3))
    X = rng.integers(0, 8, (n, 2))
    y = rng.integers(0, 2, n)
    y[:2] = 0, 1
    weight = rng.choice(SIZES, n) * rng.integers(1, 4, n)
    radius = Fraction(int(rng.integers(0, 3)), 4)
    tiny = TinyProblem(
        tuple(tuple(map(Fraction, map(int, row))) for row in X),
        tuple(map(int, y)),
        tuple(Fraction(float(w)) for w in weight),  # type: ignore[misc]
        ((radius,) * 2,) * 2,
        ((radius,) * 2,) * 2,
    )
    problem = Problem.from_data(X, y, float(radius), depth, sample_weight=weight)
    return problem, Fraction(optimal_objective(tiny, depth)), depth


def check(result: Result, optimum: Fraction, seed: int) -> None:
    objective, bound, tolerance = Fraction(result.objective), Fraction(result.bound), Fraction(result.tolerance)
    rounding = Fraction(1, 10**12) * optimum
    assert objective >= optimum - rounding, seed
    assert bound <= optimum + rounding, seed
    if result.status is Status.OPTIMAL:
        assert objective - optimum <= tolerance + rounding, seed


@pytest.mark.parametrize("block", range(4))
def test_the_search_proves_to_one_part_in_a_billion_of_the_objective(block: int) -> None:
    for seed in range(50 * block, 50 * (block + 1)):
        problem, optimum, _ = random_case(seed)
        result = solve(problem)
        check(result, optimum, seed)
        assert result.status is Status.OPTIMAL, seed
        if problem.has_integer_weights:
            assert result.tolerance == 0
        else:
            assert result.objective - result.bound <= 1.0001e-9 * result.objective, seed


@pytest.mark.parametrize("solver", ["milp", "binary-milp"])
def test_engines_state_the_tolerance_within_which_their_tree_is_optimal(solver: str) -> None:
    for seed in range(1000, 1008):
        problem, optimum, _ = random_case(seed)
        result = solve(problem, solver, time_limit=60)
        check(result, optimum, seed)
        # A sum of weights, cut at what matters, times what an engine may violate a row by.
        assert result.tolerance <= 1e-4 * max(result.objective, 1e-30) or result.objective == 0, seed


@pytest.mark.parametrize("solver", FLOAT_SOLVERS)
def test_a_bound_near_the_incumbent_is_not_lifted_to_it(solver: str) -> None:
    # One of two twins must be lost; the lighter one weighs a millionth of the rest.
    X = [[0.0], [0.0], [1.0], [2.0], [3.0]]
    problem = Problem.from_data(X, [0, 1, 0, 1, 0], 0.1, 2, sample_weight=[1.0, 1.5e-6, 1.0, 1.0, 1.0])
    result = solve(problem, solver)
    assert math.isclose(result.objective, 1.5e-6)
    assert result.bound <= result.objective
    assert result.objective - result.bound <= result.tolerance or result.status is Status.FEASIBLE


def test_the_tolerance_is_said_wherever_optimal_is_shown() -> None:
    problem = Problem.from_data([[0.0], [0.0], [1.0]], [0, 1, 1], 0.1, 1, sample_weight=[0.3, 0.7, 0.5])
    result = solve(problem)
    assert result.status is Status.OPTIMAL
    assert 0 < result.tolerance <= 1e-9
    assert "proven optimal within 3e-10" in result.summary()
    whole = solve(problem.replace(weight=np.ones(3)))
    assert whole.tolerance == 0
    assert "proven optimal," in whole.summary()


def test_weights_may_be_as_small_as_numbers_are() -> None:
    X, y = [[0.0], [0.0], [1.0], [1.0], [1.0], [2.0]], [0, 1, 0, 1, 1, 0]
    for weight in (1e-300, 1e-306):
        result = solve(Problem.from_data(X, y, 0.0, 1, sample_weight=[weight] * 6))
        assert result.failure is None
        assert result.objective == pytest.approx(2 * weight, rel=1e-3)
