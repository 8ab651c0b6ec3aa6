"""SCIP as MILP engine."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

from hardwood.arrays import FloatArray
from hardwood.solvers.engines.child import Job
from hardwood.solvers.engines.linear import Ending, check_ending
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
    pyscipopt: Any = import_module("pyscipopt")
    solver = pyscipopt.Model()
    solver.hideOutput()
    x = [
        solver.addVar(lb=low, ub=high, obj=cost, vtype="I" if whole else "C")
        for low, high, cost, whole in zip(
            model.lower.tolist(), model.upper.tolist(), model.cost.tolist(), model.is_integer.tolist(), strict=True
        )
    ]
    _add_rows(pyscipopt, solver, x, model)

    class Reporting(pyscipopt.Eventhdlr):  # type: ignore[misc]
        def eventinit(self) -> None:
            self.model.catchEvent(pyscipopt.SCIP_EVENTTYPE.BESTSOLFOUND, self)
            self.model.catchEvent(pyscipopt.SCIP_EVENTTYPE.NODESOLVED, self)

        def eventexit(self) -> None:
            self.model.dropEvent(pyscipopt.SCIP_EVENTTYPE.BESTSOLFOUND, self)
            self.model.dropEvent(pyscipopt.SCIP_EVENTTYPE.NODESOLVED, self)

        def eventexec(self, event: Any) -> None:
            if event.getType() == pyscipopt.SCIP_EVENTTYPE.BESTSOLFOUND:
                report_best(self.model)
            elif self.model.getDualbound() < self.model.infinity():
                on_bound(self.model.getDualbound())

    def report_best(solver: Any) -> None:
        best = solver.getBestSol()
        on_solution(np.array([solver.getSolVal(best, column) for column in x]), solver.getSolObjVal(best))

    solver.includeEventhdlr(Reporting(), "report", "report solutions and bounds")
    # SCIP raises on a name or a value that it does not take.
    solver.setParams(
        {
            "limits/absgap": gap,
            "numerics/feastol": max(tolerance, 1e-9),
            "randomization/randomseedshift": job.seed % 2**31,
            "parallel/maxnthreads": min(job.n_jobs, 64),
        }
    )
    if start is not None:
        solution = solver.createSol()
        for column, value in zip(x, start.tolist(), strict=True):
            solver.setSolVal(solution, column, value)
        # SCIP looks at a start when it begins and says nothing: ask it now.
        if solver.checkSol(solution, printreason=False, original=True):
            on_solution(start, float(model.cost @ start))
        solver.addSol(solution)
    if np.isfinite(job.deadline):
        solver.setParam("limits/time", job.remaining())
    solver.optimize()
    check_ending("SCIP", solver.getStatus(), STATUS)
    if solver.getNSols():
        report_best(solver)
    on_bound(solver.getDualbound())


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
