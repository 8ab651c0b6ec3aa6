"""Limits end runs of any shape; by how much they are passed is measured by ``python -m benchmarks limits``."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

from hardwood import EndReason, InvalidInputError, Problem, solve
from hardwood._core import Control
from hardwood.data.datasets import read_dataset
from hardwood.errors import StoppedError
from hardwood.solvers import registered_solvers
from hardwood.solvers.engines.child import EngineNotReadyWarning

SHAPES = [(10_888, 16, 7, 3), (20_000, 30, 2, 3), (100_000, 50, 2, 3), (60, 3, 2, 25), (2_000, 400, 3, 2)]
"""Samples, features, classes, depth."""
LIMIT = 3.0

SOLVERS = [name for name, cls in registered_solvers().items() if not cls.engines or cls.engines[0].is_installed]


def made_up(n: int, p: int, n_classes: int, depth: int) -> Problem:
    rng = np.random.default_rng(n)
    X = rng.random((n, p))
    y = np.where(rng.random(n) < 0.2, rng.integers(0, n_classes, n), (X[:, 0] * n_classes).astype(int))
    return Problem.from_data(X, y, 0.05, depth)


def check(problem: Problem, solver: str) -> None:
    result, refusal = None, ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EngineNotReadyWarning)
        try:
            result = solve(problem, solver, time_limit=LIMIT)
        except InvalidInputError as error:
            refusal = str(error)
    if result is None:
        # Too large for memory, or more classes than the solver knows: refused in time as well.
        assert "GB are available" in refusal or "two classes" in refusal
    else:
        assert result.stopped_by in (EndReason.TIME_LIMIT, EndReason.HEURISTIC, EndReason.PROOF)
        assert result.objective <= problem.class_weight_sums.sum() - problem.class_weight_sums.max()


@pytest.mark.slow
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_limit_is_kept_at_any_shape(shape: tuple[int, int, int, int], solver: str) -> None:
    check(made_up(*shape), solver)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bean", "magic"])
def test_a_limit_is_kept_on_large_tables(paper_data: Path, name: str) -> None:
    file = paper_data / "more" / f"{name}.csv"
    if not file.is_file():
        pytest.skip(f"{file} is not here")
    data = read_dataset(name, file)
    check(Problem.from_data(data.X, data.y, 0.05, 3), "search")


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_limit_that_is_over_before_the_ends_are_ranked_leaves_the_best_leaf(solver: str) -> None:
    problem = made_up(200, 3, 2, 2)
    result = solve(problem, solver, time_limit=0)
    assert (result.stopped_by, result.tree.n_leaves) == (EndReason.TIME_LIMIT, 1)
    assert "endpoints" not in problem.__dict__


def test_ranking_that_is_stopped_leaves_nothing() -> None:
    problem, control = made_up(20_000, 4, 2, 2), Control()
    control.request_stop()
    with pytest.raises(StoppedError):
        problem.rank(control)
    assert "endpoints" not in problem.__dict__
