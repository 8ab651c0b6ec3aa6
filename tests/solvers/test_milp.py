"""The two MILP formulations: exact on ranks, strengthened without losing a tree, started from a tree."""

from __future__ import annotations

import numpy as np
import pytest

from hardwood import MissingEngineError, Problem, Status, solve
from hardwood.solvers.engines.child import Built, Found, Job, Proved
from hardwood.solvers.formulations.encoding import encode
from hardwood.solvers.formulations.milp import binary, continuous, count_terms, formulate

RNG = np.random.default_rng(11)
X, Y = RNG.random((30, 3)), RNG.integers(0, 2, 30)
PROBLEM = Problem.from_data(X, Y, 0.05, 1)


def messages_of(engine: object, problem: Problem, strengthen: bool, start: bool = False) -> list[object]:
    encoding = encode(problem, strengthen=strengthen)
    choice = encoding.to_choice(solve(problem, "greedy").index_tree) if start else None
    best = float(problem.class_weight_sums.min()) if choice is None else encoding.objective(choice)
    found: list[object] = []
    # A start is taken before anything is searched; the proof at depth 2 may take minutes.
    deadline = 0.0 if start else np.inf
    engine(Job(encoding, choice, best, deadline, options={"engine": "highs"}), found.append)  # type: ignore[operator]
    return found


@pytest.mark.parametrize("strengthen", [True, False])
@pytest.mark.parametrize("engine", [continuous, binary])
def test_an_engine_reports_its_size_then_trees_then_the_proof(engine: object, strengthen: bool) -> None:
    messages = messages_of(engine, PROBLEM, strengthen)
    assert isinstance(messages[0], Built)
    assert messages[0].stats["rows"] > 0
    claims = [message.claim for message in messages if isinstance(message, Found)]
    bounds = [message.bound for message in messages if isinstance(message, Proved)]
    assert bounds == sorted(bounds)
    assert np.ceil(bounds[-1] - 1e-6) == min(claims) == solve(PROBLEM, "maxsat-lsu").objective


@pytest.mark.parametrize("strengthen", [True, False])
@pytest.mark.parametrize("engine", [continuous, binary])
def test_highs_takes_the_start(engine: object, strengthen: bool) -> None:
    problem = PROBLEM.replace(max_depth=2)
    greedy = solve(problem, "greedy").objective
    claims = [m.claim for m in messages_of(engine, problem, strengthen, start=True) if isinstance(m, Found)]
    assert claims[0] == greedy


def test_the_linear_relaxation_of_the_strengthened_binary_form_is_tight_at_depth_1() -> None:
    import highspy

    from hardwood.solvers.engines.highs import _as_lp

    model = formulate(encode(PROBLEM, strengthen=True), continuous=False).model
    lp = _as_lp(highspy, model)
    lp.integrality_ = []
    highs = highspy.Highs()
    highs.silent()
    highs.passModel(lp)
    highs.run()
    assert highs.getInfo().objective_function_value == pytest.approx(solve(PROBLEM, "maxsat-lsu").objective)


@pytest.mark.parametrize("solver", ["milp", "binary-milp"])
@pytest.mark.parametrize("strengthen", [True, False])
def test_no_tolerance_misplaces_a_sample(solver: str, strengthen: bool) -> None:
    # Ends of neighbours lie 1e-7 apart, classes alternate: any slack on the strict side would lose or gain samples.
    x = np.cumsum(np.full(4, 0.2 + 1e-7))
    problem = Problem.from_data(x[:, None], np.arange(4) % 2, 0.1, 2)
    result = solve(problem, solver, options={"strengthen": strengthen})
    assert (result.objective, result.status) == (0, Status.OPTIMAL)
    touching = Problem.from_data(np.arange(4)[:, None] * 0.2, np.arange(4) % 2, 0.1, 2)
    assert solve(touching, solver, options={"strengthen": strengthen}).bound == 2


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_estimate_of_terms_is_near_the_truth_and_not_below(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    problem = Problem.from_data(rng.random((60, 4)), np.arange(60) % n_classes, 0.02, 2)
    for strengthen in (True, False):
        encoding = encode(problem, strengthen=strengthen)
        for is_continuous in (True, False):
            truth = len(formulate(encoding, continuous=is_continuous).model.value)
            assert truth <= 1.1 * count_terms(encoding, continuous=is_continuous) + 1000
            assert count_terms(encoding, continuous=is_continuous) <= 4 * truth


def test_a_licence_that_is_too_small_says_what_to_do() -> None:
    rng = np.random.default_rng(0)
    large = Problem.from_data(rng.random((700, 5)), rng.integers(0, 2, 700), 0.001, 2)
    with pytest.raises(MissingEngineError, match=r"Gurobi's licence does not allow .* use engine='highs'"):
        solve(large, "binary-milp", options={"engine": "gurobi"})


@pytest.mark.parametrize("engine", ["highs", "gurobi", "scip"])
@pytest.mark.parametrize("solver", ["milp", "binary-milp"])
def test_a_warm_start_is_accepted_by_every_engine(solver: str, engine: str) -> None:
    result = solve(PROBLEM, solver, start="greedy", options={"engine": engine, "strengthen": False}, time_limit=20)
    assert result.stats["start_accepted"]
    assert result.objective <= solve(PROBLEM, "greedy").objective
