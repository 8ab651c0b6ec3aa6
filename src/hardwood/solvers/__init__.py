"""Solvers: from a `Problem` to a tree and a proof. `solve` runs any of them by name."""

from __future__ import annotations

from hardwood.solvers import cpsat as _cpsat
from hardwood.solvers import greedy as _greedy
from hardwood.solvers import maxsat as _maxsat
from hardwood.solvers import milp as _milp
from hardwood.solvers.base import get_solver, registered_solvers, solve

__all__ = ["get_solver", "registered_solvers", "solve"]

# Importing a solver's module registers it; none of them loads its library before it runs.
_modules = (_cpsat, _greedy, _maxsat, _milp)
