"""Solvers: from a `Problem` to a tree and a proof. `solve` runs any of them by name."""

from __future__ import annotations

# Importing a solver's module registers it; none of them loads its library before it runs.
from hardwood.solvers import greedy, relabel, treant  # noqa: F401
from hardwood.solvers.formulations import cpsat, maxsat, milp  # noqa: F401
from hardwood.solvers.registry import get_solver, registered_solvers
from hardwood.solvers.search import solver  # noqa: F401
from hardwood.solvers.solve import solve

__all__ = ["get_solver", "registered_solvers", "solve"]
