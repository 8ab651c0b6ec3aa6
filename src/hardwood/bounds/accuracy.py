"""How accurate any model can be under attack: the matching bound.

Samples of different classes whose boxes share a point cannot both be right, whatever the model. So the errors of every
model are at least the weight of a largest packing of disjoint conflicting pairs (Theorem 2 of Vos & Verwer, "Robust
Optimal Classification Trees against Adversarial Examples", AAAI 2022), which by König's theorem is the weight of a
smallest set of samples that touches every conflict.

>>> result = adversarial_accuracy_bound([[0.0], [1.0], [5.0]], ["a", "b", "b"], attack=0.5)
>>> round(result.bound, 4), result.matching.tolist(), result.check()
(0.6667, [[0, 1]], True)
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np

from hardwood import _core
from hardwood.arrays import FloatArray, IntArray
from hardwood.bounds.conflict_index import RankedBoxes
from hardwood.bounds.conflicts import BYTES_PER_PAIR, Vertices, estimate_conflicts, first_conflict
from hardwood.bounds.cover_search import MEMORY_LIMIT
from hardwood.bounds.vertex_cover import ConflictGraph, Cover, whole_weights
from hardwood.errors import SolverError, StoppedError
from hardwood.markup import card, facts
from hardwood.problem.merged import WholeWeights
from hardwood.problem.problem import Problem, prepare

PART = 20_000
"""Samples of a part of a table that is too large for its conflicts to be looked for at once."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False, repr=False)
class AccuracyBound:
    """An upper bound on the adversarial accuracy of every model, with its proof.

    Attributes
    ----------
    problem : Problem
        The samples and their boxes.
    errors : float
        Weight of the samples that every model gets wrong under attack; never more than the truth.
    matching : int array of shape (m, 2)
        Pairs of samples that cannot both be right. With unit weights and two classes they are disjoint and their
        number is `errors`.
    matching_weight : float array of shape (m,)
        How much of its two samples' weight each pair uses. No sample is used beyond its weight.
    cover : int array
        Samples to give up: without them no two samples conflict. Sorted.
    exact : bool
        Whether the cover weighs no more than `errors` (up to rounding of float weights): then a model that gets
        everything else right exists, and `errors` is the truth. Always so for two classes that fit in memory.
    complete : bool
        False if the memory for conflicts ran out. Then `errors` is a lower estimate: the bound on the accuracy
        holds, but a tighter one may exist.
    """

    problem: Problem
    errors: float
    matching: IntArray
    matching_weight: FloatArray
    cover: IntArray
    exact: bool
    complete: bool

    @property
    def total_weight(self) -> float:
        """Weight of all samples."""
        return float(self.problem.weight.sum())

    @property
    def bound(self) -> float:
        """No model has a higher (weighted) adversarial accuracy on these samples."""
        return (self.total_weight - self.errors) / self.total_weight

    @property
    def cover_weight(self) -> float:
        """Weight of the samples to give up."""
        return float(self.problem.weight[self.cover].sum())

    @property
    def majority_share(self) -> float:
        """Accuracy of always predicting the heaviest class, which no attacker can lower."""
        return float(self.problem.class_weight_sums.max()) / self.total_weight

    def __float__(self) -> float:
        return self.bound

    def __str__(self) -> str:
        claim = "exact" if self.exact else "an upper bound; the truth may be lower"
        return (
            f"No model has an adversarial accuracy above {self.bound:.4f} ({claim}): at least {self.errors:g} of "
            f"{self.total_weight:g} are wrong. Predicting the majority class scores {self.majority_share:.4f}."
        )

    def __repr__(self) -> str:
        return f"AccuracyBound({self})"

    def _repr_html_(self) -> str:
        """Return what notebooks show: the bound and what it rests on."""
        rows = {
            "accuracy under attack, at most": f"{self.bound:.1%}",
            "errors that no model avoids": f"{self.errors:g} of {self.total_weight:g}",
            "always predicting the majority class": f"{self.majority_share:.1%}",
            "the bound is": "exact" if self.exact else "valid; the truth may be lower",
            "pairs that exclude each other": len(self.matching),
        }
        return card("What any model can reach", facts(rows))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "bound": self.bound,
            "errors": self.errors,
            "total_weight": self.total_weight,
            "majority_share": self.majority_share,
            "exact": self.exact,
            "complete": self.complete,
            "matching": self.matching.tolist(),
            "matching_weight": self.matching_weight.tolist(),
            "cover": self.cover.tolist(),
            "cover_weight": self.cover_weight,
        }

    def check(self) -> bool:
        """Recount the proof from the boxes alone.

        Every pair is in conflict, no sample is used beyond its weight, the cover touches every conflict, and the
        three weights stand in the right order: pairs <= errors <= cover.

        Returns
        -------
        bool
            True.

        Raises
        ------
        SolverError
            If one of these does not hold.
        """
        problem = self.problem
        first, second = self.matching[:, 0], self.matching[:, 1]
        meet = np.all(
            (problem.lower_rank[first] <= problem.upper_rank[second])
            & (problem.lower_rank[second] <= problem.upper_rank[first]),
            axis=1,
        )
        wrong = np.flatnonzero(~meet | (problem.label[first] == problem.label[second]))
        if len(wrong):
            raise SolverError(f"samples {self.matching[wrong[0]].tolist()} are matched, but do not conflict")
        used = np.bincount(
            self.matching.ravel(), weights=np.repeat(self.matching_weight, 2), minlength=problem.n_samples
        )
        slack = 1e-9 * self.total_weight
        if np.any(used > problem.weight + slack):
            raise SolverError(f"sample {int(np.argmax(used - problem.weight))} is matched beyond its weight")
        uncovered = problem.weight > 0
        uncovered[self.cover] = False
        missed = first_conflict(problem, np.flatnonzero(uncovered))
        if missed is not None:
            raise SolverError(f"samples {missed[0]} and {missed[1]} conflict, but neither is in the cover")
        if not self.matching_weight.sum() - slack <= self.errors <= self.cover_weight + slack:
            raise SolverError(
                f"{self.errors:g} errors are claimed, but the pairs prove {self.matching_weight.sum():g} "
                f"and the cover shows that {self.cover_weight:g} suffice"
            )
        if self.exact and self.cover_weight > self.errors + slack:
            raise SolverError(f"{self.errors:g} errors are not the weight of the cover, {self.cover_weight:g}")
        return True


def adversarial_accuracy_bound(
    X: Any,
    y: Any,
    attack: Any,
    sample_weight: Any = None,
    *,
    feature_names: tuple[str, ...] | None = None,
    missing: str = "error",
    categorical_features: Any = None,
    memory_limit: int = MEMORY_LIMIT,
) -> AccuracyBound:
    """Bound the adversarial accuracy that any model can reach on these samples.

    Parameters
    ----------
    X : array-like or frame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
        Labels, any number of classes.
    attack : anything `AttackModel.parse` takes
    sample_weight : array-like of shape (n_samples,) or None
        Whole numbers are computed with exactly. Others are rounded down to a multiple of about 2^-60 of their sum,
        so that `errors` is never above the truth.
    feature_names : tuple of str or None
        Names of the columns, where X does not carry them itself.
    missing, categorical_features
        As in `RobustTreeClassifier`; by default there are neither gaps nor categories.
    memory_limit : int
        Bytes that conflicts may take. Conflicts are looked up as they are needed and few are kept, so that this
        is hardly ever reached; if it is, the result says so (`complete`).

    Returns
    -------
    AccuracyBound
        Exact for two classes. For more, finding the truth is NP-hard: `errors` comes from the half-integral
        relaxation, raised by odd cycles and cliques where that is cheap, and `exact` tells whether it is the truth.
    """
    problem = prepare(
        X,
        y,
        attack,
        max_depth=0,
        sample_weight=sample_weight,
        feature_names=feature_names,
        missing=missing,
        categorical_features=categorical_features,
    )
    return bound_problem(problem, memory_limit=memory_limit)


def bound_problem(
    problem: Problem, *, memory_limit: int = MEMORY_LIMIT, control: _core.Control | None = None
) -> AccuracyBound:
    """Bound the accuracy of every model on the samples of a problem; see `adversarial_accuracy_bound`.

    Where `control` stops it, `errors` and `matching` are what was found by then, which is less, but valid.
    """
    if problem.prices is not None:
        problem.known_attack.require_box("the bound of any model")
    try:
        weights, vertices, graph, cover = _cover(problem, memory_limit, control)
    except StoppedError:
        return _nothing_proven(problem)
    pair, amount = _pairs_of_samples(graph, vertices, weights)
    chosen = vertices.members_of(np.flatnonzero(cover.vertices))
    return AccuracyBound(
        problem=problem,
        errors=float(weights.real(cover.weight)),
        matching=pair,
        matching_weight=amount,
        cover=chosen,
        exact=int(weights.value[chosen].sum()) == cover.weight,
        complete=cover.complete,
    )


def matching_bound(problem: Problem, control: _core.Control | None = None) -> float:
    """Lower bound on the weighted robust errors of every model (Theorem 2), for solvers.

    Where `control` stops it, what was found by then: a smaller bound, but a valid one.
    """
    try:
        weights, _, _, cover = _cover(problem, MEMORY_LIMIT, control)
    except StoppedError:
        return 0.0
    return float(weights.real(cover.weight))


def matching_bound_of_parts(problem: Problem, control: _core.Control | None = None) -> float:
    """Lower bound as `matching_bound`, for tables that are too large to be ranked for it.

    Errors of disjoint sets of samples add up, so the bounds of parts do. Conflicts between samples of two parts are not
    seen. Where the first part has no conflict at all, the others are not looked at.
    """
    n_parts = -(-problem.n_samples // PART)
    total = 0.0
    for k in range(n_parts):
        rows = np.arange(k, problem.n_samples, n_parts)
        bound = matching_bound(problem.take(rows), control) if problem.weight[rows].any() else 0.0
        total += bound
        if bound == 0 or (control is not None and control.stopped):
            break
    return total


def _nothing_proven(problem: Problem) -> AccuracyBound:
    """Return the bound that needs no work: no pairs, and all classes but the heaviest given up."""
    given_up = (problem.label != int(np.argmax(problem.class_weight_sums))) & (problem.weight > 0)
    return AccuracyBound(
        problem=problem,
        errors=0.0,
        matching=np.empty((0, 2), np.int64),
        matching_weight=np.empty(0),
        cover=np.flatnonzero(given_up),
        exact=False,
        complete=False,
    )


def _cover(
    problem: Problem, memory_limit: int, control: _core.Control | None = None
) -> tuple[WholeWeights, Vertices, ConflictGraph, Cover]:
    weights = whole_weights(problem.weight)
    ends = (problem.lower_rank, problem.upper_rank, problem.label)
    if np.all(problem.weight > 0):
        vertices = Vertices.of_merged(problem.merge(control), *ends, control)
    else:
        vertices = Vertices.of(*ends, np.flatnonzero(problem.weight > 0), control)
    graph = ConflictGraph(vertices, vertices.total(weights.value), memory_limit)
    boxes = RankedBoxes(problem.lower_rank, problem.upper_rank).take(vertices.first_member)
    _announce_size(graph, boxes, memory_limit, control)
    return weights, vertices, graph, graph.cover(boxes, control=control)


def _announce_size(graph: ConflictGraph, boxes: RankedBoxes, memory_limit: int, control: _core.Control | None) -> None:
    """Say so, before the work begins, if all conflicts together would not fit in memory."""
    if graph.n_rows * graph.n_columns * BYTES_PER_PAIR <= memory_limit:
        return
    estimate = estimate_conflicts(graph.index(boxes), graph.n_rows, graph.n_columns, control)
    if estimate * BYTES_PER_PAIR > memory_limit:
        _logger.warning(
            "about %.2g conflicts (estimated from some samples) would take %.1f GB; the bound is computed without "
            "listing them and stays exact unless the result says complete=False (then it errs on the safe side)",
            estimate,
            estimate * BYTES_PER_PAIR / 1e9,
        )


def _pairs_of_samples(graph: ConflictGraph, vertices: Vertices, weights: WholeWeights) -> tuple[IntArray, FloatArray]:
    """Hand the packing of vertices down to their samples, whose weights are used up one after the other."""
    vertex_pair, vertex_amount = graph.packing()
    pair, amount = _core.hand_down(vertex_pair, vertex_amount, vertices.start, vertices.member, 2 * weights.value)
    pair = np.sort(pair, axis=1)
    order = np.lexsort((pair[:, 1], pair[:, 0]))
    return pair[order], weights.real(amount[order]) / 2
