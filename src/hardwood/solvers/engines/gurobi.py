"""Gurobi as MILP engine; its pip wheel solves models of up to 2,000 columns and rows without a licence."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from hardwood.errors import MissingEngineError
from hardwood.solvers.engines.linear import Ending, Order, check_ending
from hardwood.solvers.formulations.linear_model import LinearModel

STATUS = {
    "OPTIMAL": Ending.DONE,
    "LOCALLY_OPTIMAL": Ending.STOPPED,
    "SUBOPTIMAL": Ending.STOPPED,
    "CUTOFF": Ending.STOPPED,
    "TIME_LIMIT": Ending.STOPPED,
    "ITERATION_LIMIT": Ending.STOPPED,
    "NODE_LIMIT": Ending.STOPPED,
    "SOLUTION_LIMIT": Ending.STOPPED,
    "USER_OBJ_LIMIT": Ending.STOPPED,
    "WORK_LIMIT": Ending.STOPPED,
    "MEM_LIMIT": Ending.STOPPED,
    "INTERRUPTED": Ending.STOPPED,
    "NUMERIC": Ending.FAILED,
    "LOADED": Ending.FAILED,
    "INPROGRESS": Ending.FAILED,
    "INFEASIBLE": Ending.FAILED,
    "LOCALLY_INFEASIBLE": Ending.FAILED,
    "INF_OR_UNBD": Ending.FAILED,
    "UNBOUNDED": Ending.FAILED,
}
"""Every status of `gurobipy.GRB.Status`."""


def optimise(order: Order) -> None:
    """Solve a model, reporting solutions and bounds as they come."""
    gurobipy: Any = import_module("gurobipy")
    GRB = gurobipy.GRB

    def callback(solver: Any, where: int) -> None:
        if where == GRB.Callback.MIPSOL:
            order.on_solution(np.array(solver.cbGetSolution(x.tolist())), solver.cbGet(GRB.Callback.MIPSOL_OBJ))
        elif where == GRB.Callback.MIP:
            order.on_bound(solver.cbGet(GRB.Callback.MIP_OBJBND))

    try:
        environment = gurobipy.Env(params={"OutputFlag": 0, "LogToConsole": 0})
        solver = gurobipy.Model(env=environment)
        x = _add_model(GRB, solver, order.model)
        _set_parameters(solver, order)
        if order.start is not None:
            x.Start = order.start
        if (seconds := order.seconds) is not None:
            solver.setParam("TimeLimit", seconds)
        solver.optimize(callback)
    except gurobipy.GurobiError as error:
        if error.errno not in (GRB.Error.SIZE_LIMIT_EXCEEDED, GRB.Error.NO_LICENSE):
            raise
        raise MissingEngineError(
            f"Gurobi's licence does not allow this model of {order.model.n_columns} columns and {order.model.n_rows} "
            f"rows ({error}); without a licence it solves up to 2,000 of each. Install a licence "
            "(https://www.gurobi.com/downloads) or use engine='highs'"
        ) from error
    name_of = {getattr(GRB.Status, name): name for name in STATUS}
    check_ending("Gurobi", name_of.get(solver.Status, str(solver.Status)), STATUS)
    if solver.SolCount:
        order.on_solution(np.array(x.X), solver.ObjVal)
    order.on_bound(solver.ObjBound)


def _add_model(GRB: Any, solver: Any, model: LinearModel) -> Any:
    """Write columns and rows, and return the columns."""
    from scipy.sparse import csr_matrix

    kinds = np.where(model.is_integer, GRB.INTEGER, GRB.CONTINUOUS)
    x = solver.addMVar(model.n_columns, lb=model.lower, ub=model.upper, obj=model.cost, vtype=kinds)
    matrix = csr_matrix((model.value, model.column, model.begin), shape=(model.n_rows, model.n_columns))
    for bound, sense in ((model.row_lower, GRB.GREATER_EQUAL), (model.row_upper, GRB.LESS_EQUAL)):
        some = np.isfinite(bound)
        if some.any():
            solver.addMConstr(matrix[some], x, sense, bound[some])
    return x


def _set_parameters(solver: Any, order: Order) -> None:
    """Set parameters; Gurobi raises on a name or a value that it does not take."""
    feasibility = min(max(order.tolerance, 1e-9), 1e-2)
    for name, value in (
        ("Threads", order.job.n_jobs),
        ("Seed", order.job.seed % 2_000_000_000),
        ("MIPGap", 0.0),
        ("MIPGapAbs", order.gap),
        ("FeasibilityTol", feasibility),
        ("IntFeasTol", feasibility),
    ):
        solver.setParam(name, value)
