"""What the search will do on a very large table, said before it is done."""

from __future__ import annotations

from math import isinf

from hardwood.problem.problem import Problem
from hardwood.solvers.search.first_trees import SAMPLE, looks_first
from hardwood.solvers.search.parts import SIZE


def plan_of(problem: Problem, seconds: float) -> str | None:
    """Return in two sentences what is done in so many seconds; None where it is nothing that needs to be known."""
    if not looks_first(problem):
        return None
    plan = (
        f"{problem.n_samples:,} samples, {problem.n_features} features: the best tree for {SAMPLE:,} of them "
        "first, which is improved on all, "
    )
    if isinf(seconds):
        plan += "then the search on all"
    elif problem.max_depth > 2:
        plan += f"then bounds of parts of {SIZE:,} that add up, then the search on all"
    else:
        plan += f"then the search on all, and, where that takes too long, bounds of parts of {SIZE:,} that add up"
    return f"{plan}. Trees are judged and bounds hold on all samples."
