"""The exact search against other solvers on problems that brute force cannot reach."""

from __future__ import annotations

import numpy as np
import pytest

from hardwood import Problem
from hardwood.solvers import solve
from hardwood.solvers.result import Status

pytestmark = pytest.mark.slow


def random_problem(seed: int, n: int, depth: int, n_classes: int) -> Problem:
    """Labels of a random tree with noise, few decimals so that end points tie, weights in every second problem."""
    rng = np.random.default_rng([seed, n, depth])
    X = rng.integers(0, 20, (n, 3)) / 20
    y = (X[:, 0] > 0.5).astype(int) + (X[:, 1] > X[:, 2])
    y = np.where(rng.random(n) < 0.2, rng.integers(0, n_classes, n), y % n_classes)
    y[:n_classes] = np.arange(n_classes)
    weight = rng.integers(1, 4, n).astype(float) if seed % 2 else None
    return Problem.from_data(X, y, float(rng.choice([0.0, 0.05, 0.1])), depth, sample_weight=weight)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("n", "depth"), [(80, 2), (40, 3)])
def test_cp_sat_agrees(seed: int, n: int, depth: int) -> None:
    pytest.importorskip("ortools")
    problem = random_problem(seed, n, depth, 2 + seed % 2)
    ours = solve(problem, "search")
    theirs = solve(problem, "cp-sat", time_limit=120)
    assert ours.status is Status.OPTIMAL
    assert theirs.bound <= ours.objective <= theirs.objective
    if theirs.status is Status.OPTIMAL:
        assert theirs.objective == ours.objective


@pytest.mark.parametrize("seed", range(4))
def test_maxsat_agrees_at_depth_two(seed: int) -> None:
    problem = random_problem(seed, 50, 2, 2)
    ours = solve(problem, "search")
    theirs = solve(problem, "maxsat-rc2", time_limit=120)
    assert theirs.bound <= ours.objective <= theirs.objective
    if theirs.status is Status.OPTIMAL:
        assert theirs.objective == ours.objective


@pytest.mark.parametrize("seed", range(20))
def test_depth_four_is_the_same_with_and_without_bounds_that_save_work(seed: int) -> None:
    problem = random_problem(seed, 40, 4, 2 + seed % 3)
    plain = {"use_memory": False, "use_ranges": False, "use_lazy_scan": False, "restarts": 0, "stages": ()}
    assert solve(problem, "search").objective == solve(problem, "search", options=plain).objective
