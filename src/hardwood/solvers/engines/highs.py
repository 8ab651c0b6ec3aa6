"""HiGHS, the default MILP engine."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from hardwood.arrays import FloatArray
from hardwood.errors import SolverError
from hardwood.solvers.engines.child import Job
from hardwood.solvers.engines.linear import Ending, check_ending
from hardwood.solvers.formulations.linear_model import LinearModel

STATUS = {
    "kOptimal": Ending.DONE,
    "kModelEmpty": Ending.DONE,
    "kObjectiveBound": Ending.STOPPED,
    "kObjectiveTarget": Ending.STOPPED,
    "kTimeLimit": Ending.STOPPED,
    "kIterationLimit": Ending.STOPPED,
    "kSolutionLimit": Ending.STOPPED,
    "kInterrupt": Ending.STOPPED,
    "kHighsInterrupt": Ending.STOPPED,
    "kMemoryLimit": Ending.STOPPED,
    "kUnknown": Ending.STOPPED,
    "kNotset": Ending.FAILED,
    "kLoadError": Ending.FAILED,
    "kModelError": Ending.FAILED,
    "kPresolveError": Ending.FAILED,
    "kSolveError": Ending.FAILED,
    "kPostsolveError": Ending.FAILED,
    "kInfeasible": Ending.FAILED,
    "kUnboundedOrInfeasible": Ending.FAILED,
    "kUnbounded": Ending.FAILED,
}
"""Every `highspy.HighsModelStatus`."""


def optimise(
    model: LinearModel,
    job: Job,
    *,
    start: FloatArray | None,
    gap: float,
    tolerance: float,
    on_solution: Callable[[FloatArray, float], None],
    on_bound: Callable[[float], None],
) -> None:
    """Solve a model, reporting solutions and bounds as they come; see `hardwood.solvers.engines.linear.Optimise`."""
    highspy: Any = import_module("highspy")
    highs = highspy.Highs()
    highs.silent()
    _set_options(
        highspy,
        highs,
        {
            "threads": job.n_jobs,
            "random_seed": job.seed % 2**31,
            "mip_abs_gap": gap,
            "mip_rel_gap": 0.0,
            "mip_feasibility_tolerance": tolerance,
            "primal_feasibility_tolerance": tolerance,
        },
    )
    if highs.passModel(_as_lp(highspy, model)) == highspy.HighsStatus.kError:
        raise SolverError("HiGHS refused the model")
    if start is not None:
        solution = highspy.HighsSolution()
        solution.col_value = start
        if highs.setSolution(solution) == highspy.HighsStatus.kError:
            raise SolverError("HiGHS refused the start")
    highs.cbMipImprovingSolution.subscribe(
        lambda event: on_solution(np.array(event.data_out.mip_solution), event.data_out.objective_function_value)
    )
    highs.cbMipInterrupt.subscribe(lambda event: on_bound(event.data_out.mip_dual_bound))
    if np.isfinite(job.deadline):
        _set_options(highspy, highs, {"time_limit": job.remaining()})
    highs.run()
    check_ending("HiGHS", highs.getModelStatus().name, STATUS)
    info = highs.getInfo()
    if info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
        on_solution(np.array(highs.getSolution().col_value), info.objective_function_value)
    on_bound(info.mip_dual_bound)


def _set_options(highspy: Any, highs: Any, options: dict[str, Any]) -> None:
    """Set options; HiGHS answers a name or a value that it does not take with a status, not with an exception."""
    for name, value in options.items():
        if highs.setOptionValue(name, value) != highspy.HighsStatus.kOk:
            raise SolverError(f"HiGHS does not take the option {name}={value!r}")


def _as_lp(highspy: Any, model: LinearModel) -> Any:
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = model.n_columns, model.n_rows
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = model.cost, model.lower, model.upper
    lp.row_lower_, lp.row_upper_ = model.row_lower, model.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = model.begin.astype(np.int32)
    lp.a_matrix_.index_, lp.a_matrix_.value_ = model.column, model.value
    kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    lp.integrality_ = [kinds[int(whole)] for whole in model.is_integer]
    return lp
