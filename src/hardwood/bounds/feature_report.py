"""Where hardening a sensor pays: what the bound becomes without the attack on a feature, and without the feature.

Vos & Verwer (AAAI 2022) name robust feature selection as future work. The bound of Theorem 2 answers for every model
at once and needs no training: if the attacker could not touch feature j, how accurate could a model be; and if the
feature were not there at all, how much would be lost?
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood.arrays import FloatArray
from hardwood.bounds.accuracy import bound_problem
from hardwood.bounds.box_family import BoxFamily
from hardwood.bounds.conflict_index import RankedBoxes
from hardwood.bounds.epsilons import Progress
from hardwood.bounds.vertex_cover import ConflictGraph
from hardwood.errors import InvalidInputError
from hardwood.markup import card, table
from hardwood.problem.problem import Problem, prepare


@dataclass(frozen=True, eq=False)
class FeatureReport:
    """What each feature means for the accuracy that any model can reach under attack.

    Attributes
    ----------
    features : tuple of str
        Names of the columns, or ``"0"``, ``"1"``, … where the data have none. A column of categories is one feature.
    bound : float
        The bound as things are.
    bound_if_untouchable : float array of shape (n_features,)
        The bound if the attacker could not touch the feature: at least `bound`.
    bound_if_dropped : float array of shape (n_features,)
        The bound for models that do not see the feature: at most `bound` (for more than two classes, where bounds
        need not be exact, up to their slack).
    """

    features: tuple[str, ...]
    bound: float
    bound_if_untouchable: FloatArray
    bound_if_dropped: FloatArray

    @property
    def gain_if_untouchable(self) -> FloatArray:
        """What hardening each feature could win."""
        return self.bound_if_untouchable - self.bound

    @property
    def loss_if_dropped(self) -> FloatArray:
        """What each feature contributes under attack."""
        return self.bound - self.bound_if_dropped

    def ranking(self) -> NDArray[np.int64]:
        """Features by what hardening them could win, then by what dropping them would lose."""
        return np.lexsort((-self.loss_if_dropped, -self.gain_if_untouchable)).astype(np.int64)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, features in the order of the ranking."""
        return {
            "bound": self.bound,
            "features": [
                {
                    "feature": self.features[j],
                    "bound_if_untouchable": float(self.bound_if_untouchable[j]),
                    "bound_if_dropped": float(self.bound_if_dropped[j]),
                }
                for j in self.ranking()
            ],
        }

    def __str__(self) -> str:
        width = max(len("feature"), *(len(name) for name in self.features))
        lines = [
            f"No model has an adversarial accuracy above {self.bound:.4f}.",
            f"{'feature':<{width}}  if untouchable  if dropped",
        ]
        lines += [
            f"{self.features[j]:<{width}}  {self.bound_if_untouchable[j]:>14.4f}  {self.bound_if_dropped[j]:>10.4f}"
            for j in self.ranking()
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return what notebooks show: the features in the order of the ranking."""
        rows = [
            (self.features[j], f"{self.bound_if_untouchable[j]:.1%}", f"{self.bound_if_dropped[j]:.1%}")
            for j in self.ranking()
        ]
        return card(
            f"No model exceeds {self.bound:.1%} under attack",
            table(("feature", "if the attacker cannot touch it", "if it is dropped"), rows),
        )


def robust_feature_report(
    X: Any,
    y: Any,
    attack: Any,
    sample_weight: Any = None,
    *,
    feature_names: tuple[str, ...] | None = None,
    missing: str = "error",
    categorical_features: Any = None,
    progress: Progress | None = None,
) -> FeatureReport:
    """Bound the accuracy of every model with each feature out of the attacker's reach, and with it dropped.

    Parameters
    ----------
    X, y, attack, sample_weight, feature_names, missing, categorical_features
        As in `adversarial_accuracy_bound`.
    progress : callable or None
        Called as ``progress(done, total)`` after each feature.

    Returns
    -------
    FeatureReport

    Examples
    --------
    >>> report = robust_feature_report([[0, 0], [1, 5]], ["a", "b"], attack={0: 1, 1: 3})
    >>> report.bound, report.bound_if_untouchable.tolist(), report.bound_if_dropped.tolist()
    (0.5, [1.0, 1.0], [0.5, 0.5])
    """
    told: dict[str, Any] = {
        "sample_weight": sample_weight,
        "feature_names": feature_names,
        "missing": missing,
        "categorical_features": categorical_features,
    }
    problem = prepare(X, y, attack, max_depth=0, **told)
    untouched = prepare(X, y, 0.0, max_depth=0, **told) if _needs_untouched(problem) else None
    return bound_features(problem, progress, untouched=untouched)


def _needs_untouched(problem: Problem) -> bool:
    return problem.encoding is not None or problem.allows_missing


def bound_features(
    problem: Problem, progress: Progress | None = None, *, untouched: Problem | None = None
) -> FeatureReport:
    """Bound the accuracy of every model on a problem, feature by feature; see `robust_feature_report`.

    Where columns hold categories or values are missing, `untouched` is the same problem without an attack.
    """
    if _needs_untouched(problem):
        if untouched is None:
            raise InvalidInputError(
                "of categories and missing values the problem without an attack must be given as untouched="
            )
        return _bound_columns(problem, untouched, progress)
    family = BoxFamily(problem)
    base = family.rank(problem.known_attack)
    graph = ConflictGraph(family.vertices, family.vertex_weight)
    total = float(problem.weight.sum())

    def bound_of(graph: ConflictGraph, boxes: RankedBoxes) -> float:
        return (total - float(family.weights.real(graph.cover(boxes).weight))) / total

    bound = bound_of(graph, base)
    untouchable, dropped = np.empty(problem.n_features), np.empty(problem.n_features)
    for j in range(problem.n_features):
        hardened = RankedBoxes(base.lower.copy(), base.upper.copy())
        hardened.lower[:, j], hardened.upper[:, j] = family.rank_untouchable(j)
        untouchable[j] = bound_of(graph.branch(), hardened)
        without = RankedBoxes(np.delete(base.lower, j, axis=1), np.delete(base.upper, j, axis=1))
        dropped[j] = bound_of(graph.branch(), without)
        if progress is not None:
            progress(j + 1, problem.n_features)
    names = problem.feature_names or tuple(str(j) for j in range(problem.n_features))
    return FeatureReport(names, bound, untouchable, dropped)


def _bound_columns(problem: Problem, untouched: Problem, progress: Progress | None) -> FeatureReport:
    """Do the same column by column of the table, each of which may be several features: one per category."""
    encoding = problem.encoding
    source = np.arange(problem.n_features) if encoding is None else encoding.source
    n_columns = problem.n_features if encoding is None else encoding.n_columns
    hardened, dropped = np.empty(n_columns), np.empty(n_columns)
    for column in range(n_columns):
        members = np.flatnonzero(source == column)
        lower, upper = problem.lower.copy(), problem.upper.copy()
        lower[:, members], upper[:, members] = untouched.lower[:, members], untouched.upper[:, members]
        hardened[column] = bound_problem(problem.replace(lower=lower, upper=upper)).bound
        dropped[column] = bound_problem(problem.without_features(members)).bound
        if progress is not None:
            progress(column + 1, n_columns)
    if encoding is not None:
        names = tuple(encoding.column_name(column) for column in range(n_columns))
    else:
        names = problem.feature_names or tuple(str(j) for j in range(n_columns))
    return FeatureReport(names, bound_problem(problem).bound, hardened, dropped)
