"""HiGHS, the default MILP engine."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from hardwood.arrays import FloatArray
from hardwood.errors import SolverError
from hardwood.solvers.engines.child import Job
from hardwood.solvers.formulations.linear_model import LinearModel


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
    """Solve a model, reporting solutions and bounds as they come.

    Parameters
    ----------
    model : LinearModel
    job : Job
        Its clock, number of threads and seed are used.
    start : array or None
        A complete solution.
    gap : float
        Absolute distance of bound and solution at which the solution is optimal.
    tolerance : float
        Largest violation of a row or of integrality.
    on_solution : callable
        Called with the columns and the objective of each better solution.
    on_bound : callable
        Called with lower bounds.
    """
    highspy: Any = import_module("highspy")
    highs = highspy.Highs()
    highs.silent()
    for option, value in (
        ("threads", job.n_jobs),
        ("random_seed", job.seed % 2**31),
        ("mip_abs_gap", gap),
        ("mip_rel_gap", 0.0),
        ("mip_feasibility_tolerance", tolerance),
        ("primal_feasibility_tolerance", tolerance),
    ):
        highs.setOptionValue(option, value)
    if highs.passModel(_as_lp(highspy, model)) == highspy.HighsStatus.kError:
        raise SolverError("HiGHS refused the model")
    if start is not None:
        solution = highspy.HighsSolution()
        solution.col_value = start
        highs.setSolution(solution)
    highs.cbMipImprovingSolution.subscribe(
        lambda event: on_solution(np.array(event.data_out.mip_solution), event.data_out.objective_function_value)
    )
    highs.cbMipInterrupt.subscribe(lambda event: on_bound(event.data_out.mip_dual_bound))
    if np.isfinite(job.deadline):
        highs.setOptionValue("time_limit", job.remaining())
    highs.run()
    status = highs.getModelStatus()
    if status in (highspy.HighsModelStatus.kInfeasible, highspy.HighsModelStatus.kSolveError):
        raise SolverError(f"HiGHS ended with the status {highs.modelStatusToString(status)}")
    info = highs.getInfo()
    if info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible:
        on_solution(np.array(highs.getSolution().col_value), info.objective_function_value)
    on_bound(info.mip_dual_bound)


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
