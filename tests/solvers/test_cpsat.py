"""CP-SAT on the binary formulation."""

from __future__ import annotations

import numpy as np

from hardwood import Problem, Status, solve

RNG = np.random.default_rng(5)
PROBLEM = Problem.from_data(RNG.random((20, 2)), RNG.integers(0, 3, 20), 0.05, 2)


def test_cp_sat_agrees_with_lsu_and_streams_both_sides() -> None:
    result = solve(PROBLEM, "cp-sat")
    assert result.status is Status.OPTIMAL
    assert result.objective == solve(PROBLEM, "maxsat-lsu").objective
    assert len({point.objective for point in result.trace}) > 1
    assert len({point.bound for point in result.trace}) > 1


def test_a_hint_is_taken() -> None:
    result = solve(PROBLEM, "cp-sat", start="greedy")
    assert result.stats["start_accepted"]
    assert result.status is Status.OPTIMAL


def test_the_seed_and_the_number_of_workers_reach_the_engine() -> None:
    one = solve(PROBLEM, "cp-sat", random_state=3, n_jobs=2)
    assert one.status is Status.OPTIMAL
    assert (one.stats["workers"], one.stats["seed"]) == (2, 3)
