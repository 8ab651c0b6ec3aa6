"""CP-SAT (OR-Tools) on the paper's binary formulation: a modern seventh method.

The clauses are those of MaxSAT; the weighted sum of e is minimised by CP-SAT itself, which learns clauses like a SAT
solver and keeps a linear relaxation besides (Perron, Didier & Gay, "The CP-SAT-LP Solver", CP 2023).
"""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any

import numpy as np

from hardwood.solvers.engines.child import Built, Found, Job, Proved, Send
from hardwood.solvers.engines.linear import Ending, check_ending
from hardwood.solvers.engines.solver import EngineSolver
from hardwood.solvers.formulations.clauses import Layout, count_literals, formula
from hardwood.solvers.formulations.descent import descend
from hardwood.solvers.formulations.encoding import Encoding
from hardwood.solvers.registry import Engine, register

STATUS = {
    "OPTIMAL": Ending.DONE,
    "FEASIBLE": Ending.STOPPED,
    "UNKNOWN": Ending.STOPPED,
    "INFEASIBLE": Ending.FAILED,
    "MODEL_INVALID": Ending.FAILED,
}
"""Every status of CP-SAT."""

BYTES_PER_LITERAL = 400
"""Measured: memory of the child per literal, the model and CP-SAT's copies included."""


@register
class CpSatSolver(EngineSolver):
    """Clauses and a linear objective in OR-Tools' CP-SAT."""

    name = "cp-sat"
    summary = "CP-SAT (OR-Tools) on the binary formulation"
    engines = (Engine("ortools", "ortools", extra="cpsat"),)
    supports_float_weights = False

    def _target(self, engine: Engine) -> str:
        return "hardwood.solvers.formulations.cpsat:optimise"

    def _bytes_needed(self, encoding: Encoding) -> int:
        return BYTES_PER_LITERAL * count_literals(encoding)


def optimise(job: Job, send: Send) -> None:
    """Engine: build the model and run CP-SAT."""
    cp_model: Any = import_module("ortools.sat.python.cp_model")
    started = time.perf_counter()
    encoding = job.encoding
    layout = Layout(encoding)
    constraints = formula(layout)
    model = cp_model.CpModel()
    variable = [model.new_bool_var("") for _ in range(layout.n_variables)]
    literal = [None, *variable, *(x.negated() for x in reversed(variable))]
    for block in constraints.clauses:
        for clause in block.tolist():
            model.add_bool_or([literal[x] for x in clause])
    for group in constraints.exactly_one:
        model.add_exactly_one([literal[x] for x in group.tolist()])
    lost = [literal[x] for x in layout.e.tolist()]
    weight = encoding.weight.astype(np.int64).tolist()
    total = cp_model.LinearExpr.weighted_sum(lost, weight)
    model.minimize(total)
    if encoding.least > 0:
        model.add(total >= int(np.ceil(encoding.least)))
    if job.start is not None:
        for x, value in zip(variable, layout.assignment(job.start).tolist(), strict=True):
            model.add_hint(x, value)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = job.n_jobs
    solver.parameters.random_seed = job.seed % 2**31
    send(
        Built(
            {
                "build_seconds": time.perf_counter() - started,
                "variables": layout.n_variables,
                "clauses": sum(map(len, constraints.clauses)),
                "workers": solver.parameters.num_workers,
                "seed": solver.parameters.random_seed,
            }
        )
    )

    class Reporting(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]
        def on_solution_callback(self) -> None:
            choice = layout.choice(np.array([self.boolean_value(x) for x in variable]))
            send(Found(choice, self.objective_value))
            if encoding.strengthened:
                better = descend(encoding, choice)
                send(Found(better, encoding.objective(better)))

    if np.isfinite(job.deadline):
        solver.parameters.max_time_in_seconds = job.remaining()
    solver.best_bound_callback = lambda bound: send(Proved(bound))
    status = solver.solve(model, Reporting()).name
    check_ending("CP-SAT", status, STATUS)
    if status == "OPTIMAL":
        send(Proved(solver.objective_value))
