"""HiGHS, the default MILP engine."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from hardwood.errors import SolverError
from hardwood.solvers.engines.linear import Ending, Order, check_ending
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


def optimise(order: Order) -> None:
    """Solve a model, reporting solutions and bounds as they come."""
    highspy: Any = import_module("highspy")
    highs = highspy.Highs()
    highs.silent()
    _set_options(
        highspy,
        highs,
        {
            "threads": order.job.n_jobs,
            "random_seed": order.job.seed % 2**31,
            "mip_abs_gap": order.gap,
            "mip_rel_gap": 0.0,
            "mip_feasibility_tolerance": order.tolerance,
            "primal_feasibility_tolerance": order.tolerance,
        },
    )
    if highs.passModel(_as_lp(highspy, order.model)) == highspy.HighsStatus.kError:
        raise SolverError("HiGHS refused the model")
    if order.start is not None:
        solution = highspy.HighsSolution()
        solution.col_value = order.start
        if highs.setSolution(solution) == highspy.HighsStatus.kError:
            raise SolverError("HiGHS refused the start")
    highs.cbMipImprovingSolution.subscribe(
        lambda event: order.on_solution(np.array(event.data_out.mip_solution), event.data_out.objective_function_value)
    )
    highs.cbMipInterrupt.subscribe(lambda event: order.on_bound(event.data_out.mip_dual_bound))
    if (seconds := order.seconds) is not None:
        _set_options(highspy, highs, {"time_limit": seconds})
    highs.run()
    check_ending("HiGHS", highs.getModelStatus().name, STATUS)
    info = highs.getInfo()
    if info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
        order.on_solution(np.array(highs.getSolution().col_value), info.objective_function_value)
    order.on_bound(info.mip_dual_bound)


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
