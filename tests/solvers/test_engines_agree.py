"""All solvers that prove agree with known answers, with the brute-force oracle and with each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from hardwood import Problem, Status, solve
from hardwood.solvers import registered_solvers
from hardwood.solvers.engines import solver as engine
from hardwood.tree.reach import objective
from oracle import TinyProblem, optimal_objective
from persistent_child import Workers
from search_cases import random_tiny
from solver_cases import CASES, Case
from strategies import problem_of

PROVING = sorted(name for name, cls in registered_solvers().items() if cls.proves)
ON_ENGINES = sorted(n for n, cls in registered_solvers().items() if issubclass(cls, engine.EngineSolver))
VARIANTS: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in PROVING] + [
    (name, {"strengthen": False}) for name in ON_ENGINES
]
EXTRA_ENGINES: list[tuple[str, dict[str, Any]]] = [
    (name, {"engine": extra}) for name in ("milp", "binary-milp") for extra in ("gurobi", "scip")
]


def _id(variant: tuple[str, dict[str, Any]]) -> str:
    return " ".join([variant[0], *(f"{key}={value}" for key, value in variant[1].items())])


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    started = Workers()
    yield started
    started.close()


@pytest.fixture(autouse=True)
def engines_stay_alive(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "run_child", workers.run_child)


def tiny_and_depth(seed: int) -> tuple[TinyProblem, int]:
    rng = np.random.default_rng(seed)
    return random_tiny(rng, 8), int(rng.integers(1, 3))


def assert_proves(problem: Problem, optimum: int, variant: tuple[str, dict[str, Any]], **others: Any) -> None:
    result = solve(problem, variant[0], options=variant[1], **others)
    assert (result.objective, result.bound, result.status) == (optimum, optimum, Status.OPTIMAL)
    assert objective(result.tree, problem) == optimum


def test_the_cases_are_what_the_oracle_says() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 15
    assert {case.name: optimal_objective(case.tiny, case.depth) for case in CASES} == {
        case.name: case.optimum for case in CASES
    }


@pytest.mark.parametrize("variant", VARIANTS + EXTRA_ENGINES, ids=_id)
def test_every_solver_proves_every_case(variant: tuple[str, dict[str, Any]]) -> None:
    for case in CASES:
        try:
            assert_proves(case.problem(), case.optimum, variant)
        except AssertionError as error:
            raise AssertionError(case.name) from error


@pytest.mark.parametrize("variant", VARIANTS, ids=_id)
def test_every_solver_agrees_with_brute_force(variant: tuple[str, dict[str, Any]]) -> None:
    # 200 problems, dealt out over the variants; the slow test gives all of them to each.
    share = range(VARIANTS.index(variant), 200, len(VARIANTS))
    for seed in share:
        _check_seed(seed, variant)


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS + EXTRA_ENGINES, ids=_id)
def test_every_solver_agrees_with_brute_force_on_all(variant: tuple[str, dict[str, Any]]) -> None:
    for seed in range(200):
        _check_seed(seed, variant)


def _check_seed(seed: int, variant: tuple[str, dict[str, Any]]) -> None:
    tiny, depth = tiny_and_depth(seed)
    start = "greedy" if seed % 3 == 0 else None
    try:
        assert_proves(problem_of(tiny, depth), optimal_objective(tiny, depth), variant, start=start)
    except Exception as error:
        raise AssertionError(f"seed {seed}, depth {depth}, start {start}: {tiny}") from error


@pytest.mark.parametrize("name", [n for n in PROVING if registered_solvers()[n].supports_float_weights])
def test_float_weights_agree_with_brute_force(name: str) -> None:
    for seed in range(1000, 1010):
        tiny, depth = tiny_and_depth(seed)
        problem = problem_of(tiny, depth)
        # A third of a whole number: the optimum is a third of the whole problem's, but nothing is whole.
        result = solve(problem.replace(weight=problem.weight / 3), name)
        assert result.status is Status.OPTIMAL, seed
        assert result.objective == pytest.approx(optimal_objective(tiny, depth) / 3), seed


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_greedy_start_changes_no_answer(case: Case) -> None:
    assert_proves(case.problem(), case.optimum, ("maxsat-lsu", {}), start="greedy")
    assert_proves(case.problem(), case.optimum, ("binary-milp", {}), start="greedy")
