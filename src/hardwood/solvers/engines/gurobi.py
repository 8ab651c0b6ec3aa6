"""Gurobi as MILP engine; its pip wheel solves models of up to 2,000 columns and rows without a licence."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from hardwood.arrays import FloatArray
from hardwood.errors import MissingEngineError
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
    """Solve a model, reporting solutions and bounds as they come; see `hardwood.solvers.engines.highs.optimise`."""
    from scipy.sparse import csr_matrix

    gurobipy: Any = import_module("gurobipy")
    GRB = gurobipy.GRB

    def callback(solver: Any, where: int) -> None:
        if where == GRB.Callback.MIPSOL:
            on_solution(np.array(solver.cbGetSolution(x.tolist())), solver.cbGet(GRB.Callback.MIPSOL_OBJ))
        elif where == GRB.Callback.MIP:
            on_bound(solver.cbGet(GRB.Callback.MIP_OBJBND))

    try:
        environment = gurobipy.Env(params={"OutputFlag": 0, "LogToConsole": 0})
        solver = gurobipy.Model(env=environment)
        kinds = np.where(model.is_integer, GRB.INTEGER, GRB.CONTINUOUS)
        x = solver.addMVar(model.n_columns, lb=model.lower, ub=model.upper, obj=model.cost, vtype=kinds)
        matrix = csr_matrix((model.value, model.column, model.begin), shape=(model.n_rows, model.n_columns))
        for bound, sense in ((model.row_lower, GRB.GREATER_EQUAL), (model.row_upper, GRB.LESS_EQUAL)):
            some = np.isfinite(bound)
            if some.any():
                solver.addMConstr(matrix[some], x, sense, bound[some])
        solver.Params.Threads, solver.Params.Seed = job.n_jobs, job.seed % 2_000_000_000
        solver.Params.MIPGap, solver.Params.MIPGapAbs = 0.0, gap
        solver.Params.FeasibilityTol = solver.Params.IntFeasTol = max(tolerance, 1e-9)
        if start is not None:
            x.Start = start
        if np.isfinite(job.deadline):
            solver.Params.TimeLimit = job.remaining()
        solver.optimize(callback)
    except gurobipy.GurobiError as error:
        if error.errno not in (GRB.Error.SIZE_LIMIT_EXCEEDED, GRB.Error.NO_LICENSE):
            raise
        raise MissingEngineError(
            f"Gurobi's licence does not allow this model of {model.n_columns} columns and {model.n_rows} rows "
            f"({error}); without a licence it solves up to 2,000 of each. Install a licence "
            "(https://www.gurobi.com/downloads) or use engine='highs'"
        ) from error
    if solver.SolCount:
        on_solution(np.array(x.X), solver.ObjVal)
    on_bound(solver.ObjBound)
