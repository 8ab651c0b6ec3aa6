"""Every MILP engine takes the same model, and every status it can end with has a meaning."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from hardwood import Problem, SolverError
from hardwood.solvers.engines.child import Job
from hardwood.solvers.engines.linear import MILP_ENGINES, Ending, Optimise, Order, check_ending
from hardwood.solvers.formulations.encoding import encode
from hardwood.solvers.formulations.milp import formulate

ENGINES = [pytest.param(engine, id=engine.name) for engine in MILP_ENGINES if engine.is_installed]


def statuses(name: str) -> set[str]:
    """All statuses of an engine, as it names them."""
    module = importlib.import_module({"highs": "highspy", "scip": "pyscipopt", "gurobi": "gurobipy"}[name])
    if name == "highs":
        return set(module.HighsModelStatus.__members__)
    if name == "scip":
        return {word.lower() for word in dir(module.SCIP_STATUS) if word.isupper()}
    return {word for word in dir(module.GRB.Status) if word.isupper()}


@pytest.mark.parametrize("engine", ENGINES)
def test_every_status_of_an_engine_has_a_meaning(engine: Any) -> None:
    known = importlib.import_module(f"hardwood.solvers.engines.{engine.name}").STATUS
    assert set(known) == statuses(engine.name)
    assert Ending.DONE in known.values()


def test_a_status_that_means_failure_or_is_unknown_is_an_error() -> None:
    known = {"fine": Ending.DONE, "late": Ending.STOPPED, "broken": Ending.FAILED}
    check_ending("Engine", "fine", known)
    check_ending("Engine", "late", known)
    for status in ("broken", "never heard of"):
        with pytest.raises(SolverError, match=f"Engine ended with the status {status}"):
            check_ending("Engine", status, known)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("continuous", [True, False])
def test_an_engine_reports_solution_and_bound_of_one_model(engine: Any, continuous: bool) -> None:
    problem = Problem.from_data([[0.0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], 0.1, 1)
    encoding = encode(problem, strengthen=True)
    formulation = formulate(encoding, continuous=continuous)
    found: list[float] = []
    bounds: list[float] = []
    optimise: Optimise = importlib.import_module(f"hardwood.solvers.engines.{engine.name}").optimise
    optimise(
        Order(
            formulation.model,
            Job(encoding, None, np.inf, np.inf),
            start=None,
            gap=0.5,
            tolerance=1e-6,
            on_solution=lambda x, objective: found.append(encoding.objective(formulation.choice(x))),
            on_bound=bounds.append,
        )
    )
    assert min(found) == 2
    assert 1.5 <= max(bound for bound in bounds if np.isfinite(bound)) <= 2 + 1e-6


@pytest.mark.parametrize("option", [("no_such_option", 1), ("mip_feasibility_tolerance", 1e-20), ("threads", "many")])
def test_an_option_that_highs_does_not_take_is_an_error_and_not_ignored(option: tuple[str, Any]) -> None:
    highspy = pytest.importorskip("highspy")
    from hardwood.solvers.engines.highs import _set_options

    highs = highspy.Highs()
    highs.silent()
    with pytest.raises(SolverError, match=f"HiGHS does not take the option {option[0]}="):
        _set_options(highspy, highs, dict([option]))
