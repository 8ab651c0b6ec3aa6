"""What a MILP engine is: one function, `Optimise`, and a table of what its statuses mean.

To add one: a module ``hardwood/solvers/engines/NAME.py`` with ``optimise`` and ``STATUS``, its line in
`MILP_ENGINES`, its test in the table of ``tests/solvers/test_milp_engines.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from hardwood.arrays import FloatArray
from hardwood.errors import SolverError
from hardwood.solvers.engines.child import Job
from hardwood.solvers.formulations.linear_model import LinearModel
from hardwood.solvers.registry import Engine

MILP_ENGINES = (
    Engine("highs", "highspy"),
    Engine("gurobi", "gurobipy", extra="gurobi"),
    Engine("scip", "pyscipopt", extra="scip"),
)
"""The first is the default."""


class Ending(Enum):
    """What a status of an engine means here."""

    DONE = "done"
    """Optimal, or within the gap that was asked for."""
    STOPPED = "stopped"
    """A limit or an interrupt: what it reported before stands."""
    FAILED = "failed"
    """It cannot be: a model of ours always has a solution and a finite optimum. Nothing that it proved counts."""


@dataclass(frozen=True, eq=False)
class Order:
    """What an engine is asked to do, and where it reports.

    Attributes
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

    model: LinearModel
    job: Job
    start: FloatArray | None
    gap: float
    tolerance: float
    on_solution: Callable[[FloatArray, float], None]
    on_bound: Callable[[float], None]

    @property
    def seconds(self) -> float | None:
        """Seconds left; None if there is no end to them."""
        return self.job.remaining() if math.isfinite(self.job.deadline) else None


Optimise = Callable[[Order], None]
"""Solve a model, reporting solutions and bounds as they come."""


def check_ending(engine: str, status: str, meaning: Mapping[str, Ending]) -> None:
    """Raise if an engine ended in a way that says that something is wrong, or in one that nobody has thought of."""
    if meaning.get(status, Ending.FAILED) is Ending.FAILED:
        raise SolverError(f"{engine} ended with the status {status}")
