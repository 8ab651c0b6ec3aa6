"""How estimators divide samples to judge what they could learn."""

from __future__ import annotations

from typing import Any

from sklearn.model_selection import check_cv

from hardwood.arrays import IntArray
from hardwood.errors import InvalidInputError
from hardwood.problem.problem import Problem


def folds_of(problem: Problem, cv: Any) -> list[tuple[IntArray, IntArray]]:
    """Return rows to learn from and rows to judge on; a number stands for so many stratified folds."""
    labels = problem.classes[problem.label]
    try:
        splitter = check_cv(cv, labels, classifier=True)
        return list(splitter.split(problem.values, labels))
    except (ValueError, TypeError) as error:
        raise InvalidInputError(f"cv={cv!r} cannot be used: {error}") from error
