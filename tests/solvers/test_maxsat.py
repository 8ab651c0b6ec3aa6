"""LSU and RC2, and the totalizer that LSU counts with."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from pysat.solvers import Solver

from hardwood import InvalidInputError, Problem, Status, solve
from hardwood.solvers.engines.child import Built, Found, Job, Proved
from hardwood.solvers.formulations.encoding import encode
from hardwood.solvers.formulations.maxsat import build, lsu, rc2
from hardwood.solvers.formulations.totalizer import count_literals, totalizer

RNG = np.random.default_rng(7)
X, Y = RNG.random((40, 3)), RNG.integers(0, 2, 40)
PROBLEM = Problem.from_data(X, Y, 0.05, 2)


def job(problem: Problem = PROBLEM, strengthen: bool = True, **others: object) -> Job:
    encoding = encode(problem, strengthen=strengthen)
    options = {"engine": "glucose4", **others}
    return Job(encoding, None, float(problem.class_weight_sums.min()), np.inf, options=options)


@pytest.mark.parametrize("weight", [[1, 1, 1, 1, 1], [2, 3, 2, 7, 1], [5, 5, 10, 5, 20]])
@pytest.mark.parametrize("limit", [1, 3, 4, 9, 50])
def test_the_totalizer_allows_exactly_the_sums_below_its_limit(weight: list[int], limit: int) -> None:
    terms = np.arange(1, 6)
    sums, clauses = totalizer(terms, np.array(weight), limit, 5)
    with Solver(name="glucose4", bootstrap_with=[c for block in clauses for c in block.tolist()]) as solver:
        for truth in product([False, True], repeat=5):
            total = sum(w for w, is_true in zip(weight, truth, strict=True) if is_true)
            assumed = [x if is_true else -x for x, is_true in zip(terms.tolist(), truth, strict=True)]
            assert solver.solve(assumptions=assumed) == (total < limit)
            for tighter in range(1, limit):
                forbidden = sums.forbid_from(tighter).ravel().tolist()
                assert solver.solve(assumptions=assumed + forbidden) == (total < tighter)


def test_the_estimate_of_the_totalizer_is_no_less_than_the_truth() -> None:
    for n, limit in ((1, 1), (7, 3), (50, 20), (100, 100)):
        _, clauses = totalizer(np.arange(1, n + 1), np.ones(n, np.int64), limit, n)
        assert sum(block.size for block in clauses) <= count_literals(n, limit) + n


def test_known_pairs_leave_a_smaller_sum() -> None:
    plain, strong = (build(encode(PROBLEM, strengthen=s)) for s in (False, True))
    assert plain.constant == 0
    assert strong.constant == encode(PROBLEM, strengthen=True).least > 0
    assert len(strong.literal) == len(plain.literal) - strong.constant


@pytest.mark.parametrize("strengthen", [True, False])
def test_lsu_streams_trees_that_get_better_and_then_the_proof(strengthen: bool) -> None:
    messages: list[object] = []
    lsu(job(strengthen=strengthen), messages.append)
    assert sum(isinstance(message, Built) for message in messages) == 1
    costs = [message.claim for message in messages if isinstance(message, Found)]
    assert costs == sorted(set(costs), reverse=True)
    assert messages[-1] == Proved(costs[-1])
    assert costs[-1] == solve(PROBLEM, "maxsat-rc2").objective


def test_rc2_streams_a_bound_that_rises_to_the_first_tree() -> None:
    messages: list[object] = []
    rc2(job(), messages.append)
    bounds = [message.bound for message in messages if isinstance(message, Proved)]
    found = [message for message in messages if isinstance(message, Found)]
    assert bounds == sorted(bounds)
    assert len(bounds) > 2
    assert [message.claim for message in found] == [bounds[-1]]


def test_a_common_divisor_of_the_weights_costs_nothing() -> None:
    heavy = PROBLEM.replace(weight=np.full(40, 1000.0))
    model = build(encode(heavy, strengthen=True))
    assert model.scale == 1000
    assert solve(heavy, "maxsat-lsu").objective == 1000 * solve(PROBLEM, "maxsat-lsu").objective


@pytest.mark.parametrize("engine", ["cadical103", "cadical195", "minisat22"])
def test_other_sat_solvers_find_the_same(engine: str) -> None:
    messages: list[object] = []
    lsu(job(engine=engine), messages.append)
    reference: list[object] = []
    lsu(job(), reference.append)
    assert messages[-1] == reference[-1]


@pytest.mark.parametrize("solver", ["maxsat-lsu", "maxsat-rc2", "cp-sat"])
def test_float_weights_are_refused_with_advice(solver: str) -> None:
    with pytest.raises(InvalidInputError, match="does not support weights that are not whole numbers; use solver="):
        solve(PROBLEM.replace(weight=np.full(40, 0.5)), solver)


def test_rc2_stopped_early_keeps_its_bound_and_the_best_leaf() -> None:
    rng = np.random.default_rng(3)
    hard = Problem.from_data(rng.random((150, 3)), rng.integers(0, 2, 150), 0.05, 3)
    result = solve(hard, "maxsat-rc2", time_limit=10)
    assert result.status is Status.FEASIBLE
    assert result.tree.n_leaves == 1
    assert 0 < result.bound < result.objective == hard.class_weight_sums.min()
    assert result.stopped_by == "time limit"


def test_lsu_starts_below_the_start_it_is_given() -> None:
    greedy = solve(PROBLEM, "greedy")
    result = solve(PROBLEM, "maxsat-lsu", start="greedy")
    assert result.trace[0].objective <= PROBLEM.class_weight_sums.min()
    assert result.objective <= greedy.objective
    assert result.status is Status.OPTIMAL
