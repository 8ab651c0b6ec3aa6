"""Choosing an ensemble by its accuracy under attack on folds: depth, training radius and, for boosting, rounds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from hardwood.attack.model import AttackModel
from hardwood.errors import InvalidInputError
from hardwood.estimators.boosting import RobustBoostingClassifier
from hardwood.estimators.ensembles import BaseRobustEnsemble
from hardwood.estimators.forest import RobustForestClassifier
from hardwood.evaluation.selection import combinations, mean_score


class EnsembleCandidate(NamedTuple):
    """One combination of what cross validation chooses; `n_estimators` are rounds or trees."""

    max_depth: int
    radius_factor: float
    n_estimators: int


@dataclass(frozen=True, eq=False)
class EnsembleSearch:
    """Cross validation of an ensemble.

    Attributes
    ----------
    estimator : RobustBoostingClassifier or RobustForestClassifier
        With all parameters but those that are chosen. Boosting offers every number of rounds up to its own.
    max_depths : sequence of int
    radius_factors : sequence of float
    time_limit : float or None
        Seconds to verify each forest on each fold.
    """

    estimator: BaseRobustEnsemble
    max_depths: Sequence[int]
    radius_factors: Sequence[float]
    time_limit: float | None

    def __post_init__(self) -> None:
        if not isinstance(self.estimator, RobustBoostingClassifier | RobustForestClassifier):
            raise InvalidInputError(
                f"estimator={type(self.estimator).__name__}; it must be None for a tree, or an instance of "
                "RobustBoostingClassifier or RobustForestClassifier"
            )
        if min(self.max_depths) < 1:
            raise InvalidInputError(f"max_depths={list(self.max_depths)}; trees of an ensemble have depths from 1 on")

    def learner(self, candidate: EnsembleCandidate, attack: AttackModel) -> BaseRobustEnsemble:
        """Return the estimator with the parameters of a candidate."""
        learner: BaseRobustEnsemble = clone(self.estimator)
        learner.set_params(
            attack=attack.scaled(candidate.radius_factor),
            max_depth=candidate.max_depth,
            n_estimators=candidate.n_estimators,
        )
        return learner

    def scores(
        self, X: Any, y: Any, weight: Any, attack: AttackModel, folds: Iterable[tuple[Any, Any]]
    ) -> dict[EnsembleCandidate, list[float]]:
        """Return the certified accuracy of each candidate on each fold, the preferred of equals first.

        Of boosting it is what margins prove after each round (exact for stumps and two classes), of forests what is
        verified in time.
        """
        found: dict[EnsembleCandidate, list[float]] = {}
        folds = list(folds)
        most = int(self.estimator.get_params()["n_estimators"])
        for offered in combinations(self.max_depths, self.radius_factors):
            full = EnsembleCandidate(offered.max_depth, offered.radius_factor, most)
            for train, test in folds:
                learner = self.learner(full, attack).fit(*_rows(train, X, y, weight))
                X_test, y_test, weight_test = _rows(test, X, y, weight)
                if isinstance(learner, RobustBoostingClassifier):
                    curve = list(learner.staged_certified_score(X_test, y_test, weight_test, attack=attack)) or [0.0]
                    curve += [curve[-1]] * (most - len(curve))
                    for rounds, score in enumerate(curve, start=1):
                        found.setdefault(full._replace(n_estimators=rounds), []).append(score)
                else:
                    verdicts = learner.robustness(X_test, y_test, attack=attack, time_limit=self.time_limit)
                    found.setdefault(full, []).append(verdicts.interval(weight_test)[0])
        return found


def best_ensemble(scores: dict[EnsembleCandidate, list[float]]) -> EnsembleCandidate:
    """Return the candidate with the best mean score, the first of several."""
    return max(scores, key=lambda candidate: mean_score(scores[candidate]))


def _rows(rows: Any, X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any]:
    taken = None if weight is None else np.asarray(weight)[rows]
    return _safe_indexing(X, rows), _safe_indexing(y, rows), taken


class AnswersOfEnsemble:
    """What a cross-validated estimator is asked, where it chose an ensemble: the chosen one answers."""

    estimator: Any
    best_estimator_: Any

    def predict(self, X: Any) -> Any:
        """Return the class of each row of X."""
        return self._chosen("predict")(X)

    def predict_proba(self, X: Any, **options: Any) -> Any:
        """Return the probability of each class at each row of X."""
        return self._chosen("predict_proba")(X, **options)

    def adversarial_score(
        self, X: Any, y: Any, sample_weight: Any = None, *, attack: Any = None, **limits: Any
    ) -> float:
        """Return the accuracy when every sample is attacked, by default as the real attack says; exact."""
        real = self.attack_ if attack is None else attack  # type: ignore[attr-defined]
        return float(self._chosen("adversarial_score")(X, y, sample_weight, attack=real, **limits))

    def attack_samples(self, X: Any, y: Any, *, attack: Any = None) -> Any:
        """Return a misclassified point in the box of each sample; see `hardwood.attack_samples`."""
        real = self.attack_ if attack is None else attack  # type: ignore[attr-defined]
        return self._chosen("attack_samples")(X, y, attack=real)

    def robust_radius(self, X: Any, y: Any, *, attack: Any = 1.0) -> Any:
        """Return how large an attack each sample bears; see `hardwood.robust_radius`."""
        return self._chosen("robust_radius")(X, y, attack=attack)

    def to_model(self) -> Any:
        """Return what is saved."""
        return self._chosen("to_model")()

    def _chosen(self, name: str) -> Any:
        """Return a method of the chosen ensemble, or of a tree, which stands behind in the order of classes."""
        if self.estimator is None:
            return getattr(super(), name)
        check_is_fitted(self, "best_estimator_")
        return getattr(self.best_estimator_, name)
