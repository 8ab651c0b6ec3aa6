"""SCIP as MILP engine."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from hardwood.arrays import FloatArray
from hardwood.solvers.engines.linear import Ending, Order, check_ending
from hardwood.solvers.formulations.linear_model import LinearModel

STATUS = {
    "optimal": Ending.DONE,
    "gaplimit": Ending.DONE,
    "timelimit": Ending.STOPPED,
    "userinterrupt": Ending.STOPPED,
    "nodelimit": Ending.STOPPED,
    "totalnodelimit": Ending.STOPPED,
    "stallnodelimit": Ending.STOPPED,
    "memlimit": Ending.STOPPED,
    "sollimit": Ending.STOPPED,
    "bestsollimit": Ending.STOPPED,
    "restartlimit": Ending.STOPPED,
    "primallimit": Ending.STOPPED,
    "duallimit": Ending.STOPPED,
    "unknown": Ending.FAILED,
    "infeasible": Ending.FAILED,
    "unbounded": Ending.FAILED,
    "inforunbd": Ending.FAILED,
}
"""Every status of `pyscipopt.SCIP_STATUS`, as `Model.getStatus` spells it."""


def optimise(order: Order) -> None:
    """Solve a model, reporting solutions and bounds as they come."""
    pyscipopt: Any = import_module("pyscipopt")
    solver = pyscipopt.Model()
    solver.hideOutput()
    model, job = order.model, order.job
    x = [
        solver.addVar(lb=low, ub=high, obj=cost, vtype="I" if whole else "C")
        for low, high, cost, whole in zip(
            model.lower.tolist(), model.upper.tolist(), model.cost.tolist(), model.is_integer.tolist(), strict=True
        )
    ]
    _add_rows(pyscipopt, solver, x, model)
    solver.includeEventhdlr(_reporting(pyscipopt, x, order), "report", "report solutions and bounds")
    # SCIP raises on a name or a value that it does not take.
    solver.setParams(
        {
            "limits/absgap": order.gap,
            "numerics/feastol": max(order.tolerance, 1e-9),
            "randomization/randomseedshift": job.seed % 2**31,
            "parallel/maxnthreads": min(job.n_jobs, 64),
        }
    )
    if order.start is not None:
        _offer_start(solver, x, order.start, order)
    if (seconds := order.seconds) is not None:
        solver.setParam("limits/time", seconds)
    solver.optimize()
    check_ending("SCIP", solver.getStatus(), STATUS)
    if solver.getNSols():
        _report_best(solver, x, order)
    order.on_bound(solver.getDualbound())


def _report_best(solver: Any, x: list[Any], order: Order) -> None:
    best = solver.getBestSol()
    order.on_solution(np.array([solver.getSolVal(best, column) for column in x]), solver.getSolObjVal(best))


def _reporting(pyscipopt: Any, x: list[Any], order: Order) -> Any:
    """Return what SCIP calls when it has a better solution or has solved a node."""

    class Reporting(pyscipopt.Eventhdlr):  # type: ignore[misc]
        def eventinit(self) -> None:
            self.model.catchEvent(pyscipopt.SCIP_EVENTTYPE.BESTSOLFOUND, self)
            self.model.catchEvent(pyscipopt.SCIP_EVENTTYPE.NODESOLVED, self)

        def eventexit(self) -> None:
            self.model.dropEvent(pyscipopt.SCIP_EVENTTYPE.BESTSOLFOUND, self)
            self.model.dropEvent(pyscipopt.SCIP_EVENTTYPE.NODESOLVED, self)

        def eventexec(self, event: Any) -> None:
            if event.getType() == pyscipopt.SCIP_EVENTTYPE.BESTSOLFOUND:
                _report_best(self.model, x, order)
            elif self.model.getDualbound() < self.model.infinity():
                order.on_bound(self.model.getDualbound())

    return Reporting()


def _offer_start(solver: Any, x: list[Any], start: FloatArray, order: Order) -> None:
    solution = solver.createSol()
    for column, value in zip(x, start.tolist(), strict=True):
        solver.setSolVal(solution, column, value)
    # SCIP looks at a start when it begins and says nothing: ask it now.
    if solver.checkSol(solution, printreason=False, original=True):
        order.on_solution(start, float(order.model.cost @ start))
    solver.addSol(solution)


def _add_rows(pyscipopt: Any, solver: Any, x: list[Any], model: LinearModel) -> None:
    begin, column, value = model.begin.tolist(), model.column.tolist(), model.value.tolist()
    for r, (low, high) in enumerate(zip(model.row_lower.tolist(), model.row_upper.tolist(), strict=True)):
        terms = range(begin[r], begin[r + 1])
        total = pyscipopt.quicksum(value[k] * x[column[k]] for k in terms)
        if low == high:
            solver.addCons(total == low)
        elif high == np.inf:
            solver.addCons(total >= low)
        elif low == -np.inf:
            solver.addCons(total <= high)
        else:
            solver.addCons((low <= total) <= high)
