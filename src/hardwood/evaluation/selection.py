"""Cross validation: what there is to choose from, and which of it is best. The only rule for ties is here.

The best mean accuracy under attack over the folds wins (Vos & Verwer, AAAI 2022). Of equally good candidates the
simplest does: the shallowest tree, then the training radius nearest to the real one (of two equally near the smaller),
then the smallest penalty per leaf.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


class Candidate(NamedTuple):
    """One combination of what cross validation chooses.

    Attributes
    ----------
    max_depth : int
    radius_factor : float
        The tree is trained against this multiple of the attack; it is scored against the attack itself.
    leaf_penalty : float
    """

    max_depth: int
    radius_factor: float = 1.0
    leaf_penalty: float = 0.0


def combinations(
    max_depths: Iterable[int], radius_factors: Iterable[float] = (1.0,), leaf_penalties: Iterable[float] = (0.0,)
) -> list[Candidate]:
    """Return all combinations, the preferred of equals first.

    A tree without a split is the same whatever it is trained against, so depth 0 comes with one radius and one penalty.
    """
    factors = sorted(set(radius_factors), key=lambda factor: (abs(factor - 1), factor))
    penalties = sorted(set(leaf_penalties))
    return [
        Candidate(depth, factor, penalty)
        for depth in sorted(set(max_depths))
        for factor in (factors if depth > 0 else factors[:1])
        for penalty in (penalties if depth > 0 else penalties[:1])
    ]


def mean_score(scores: Sequence[float]) -> float:
    """Return the mean over the folds, rounded so that the order of summation does not break ties."""
    return round(sum(scores) / len(scores), 12)


def best_candidate(scores: Mapping[Candidate, Sequence[float]]) -> Candidate | None:
    """Return the candidate with the best mean score, the first in the mapping of several; None if there is none.

    Parameters
    ----------
    scores : mapping of Candidate to sequence of float
        Scores on the folds, candidates in the order of `combinations`.
    """
    return max(scores, key=lambda candidate: mean_score(scores[candidate]), default=None)
