"""What a table looks like but does not say: counts, and one-hot groups. Nothing is assumed from it, but it is said."""

from __future__ import annotations

import numpy as np

from hardwood.arrays import BoolArray, FloatArray
from hardwood.attack.domain import whole_columns
from hardwood.attack.groups import suspected_groups
from hardwood.problem.problem import Problem

MOST_NAMED = 5
"""So many columns are named in a warning."""


def moved_by_fractions(problem: Problem) -> list[str]:
    """Return the features that hold whole numbers only, are not declared to, and that the attacker moves by a fraction.

    Who counts something should say so, since no count moves by one half.
    """
    if problem.attack is None:
        return []
    undeclared = _numbers(problem)
    if problem.limits is not None:
        undeclared &= ~problem.limits.integer
    found = []
    for j in np.flatnonzero(undeclared & whole_columns(problem.values)):
        x = problem.values[:, j]
        lower, upper = (end[:, 0] for end in problem.reach.of_features(np.array([j])).ends())
        with np.errstate(invalid="ignore"):
            # Infinite ways are no fractions: their difference is no number.
            is_moved = any(_by_fraction(way) for way in (x - lower, upper - x))
        if is_moved:
            found.append(f"feature {j}" if problem.feature_names is None else repr(problem.feature_names[j]))
    return found


def _by_fraction(way: FloatArray) -> bool:
    """Whether any distance is not a whole number; the noise of an end is no fraction."""
    return bool((np.abs(way - np.rint(way)) > 1e-6 * (1 + way)).any())


def _numbers(problem: Problem) -> BoolArray:
    """Return which features are numbers of the table, not tests of categories."""
    if problem.encoding is None:
        return np.ones(problem.n_features, bool)
    return np.array([test is None for test in problem.encoding.tests])


def fractions_text(names: list[str]) -> str:
    """Say which columns look like counts but move by fractions; how to declare them follows."""
    named = ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")
    hold = "holds" if len(names) == 1 else "hold"
    return f"{named} {hold} whole numbers only, and the attack moves them by fractions; if they are counts, declare it:"


def moved_one_by_one(problem: Problem) -> list[tuple[str, ...]]:
    """Return columns that look like one-hot groups, are not declared to be, and that the attacker moves one by one."""
    if problem.attack is None or problem.encoding is not None:
        return []
    declared: set[int] = set()
    if problem.prices is not None:
        declared = {int(j) for part in problem.prices.categories for j in part.columns}
    moved = problem.reach.moves(problem.values).tolist()
    names = problem.feature_names or tuple(str(j) for j in range(problem.n_features))
    suspicious = {name for j, name in enumerate(names) if moved[j] and j not in declared}
    found = suspected_groups(problem.values, problem.feature_names)
    return [group for group in found if not suspicious.isdisjoint(group)]


def one_hot_text(groups: list[tuple[str, ...]]) -> str:
    """Say which columns look like a one-hot group; how to declare it follows."""
    first = ", ".join(groups[0][:MOST_NAMED]) + (", …" if len(groups[0]) > MOST_NAMED else "")
    more = f" (and {len(groups) - 1} more groups)" if len(groups) > 1 else ""
    return (
        f"exactly one of the columns {first} is 1 in every row{more}, and the attack moves them one by one; if they "
        "are one categorical feature, declare it:"
    )
