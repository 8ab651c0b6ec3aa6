"""What estimators that learn many trees share: everything that a fitted ensemble can be asked."""

from __future__ import annotations

import os
from typing import Any

from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from hardwood.arrays import FloatArray
from hardwood.attack.model import AttackModel
from hardwood.data.categories import CategoryEncoding
from hardwood.data.frames import Table
from hardwood.ensembles.model_file import EnsembleModel
from hardwood.ensembles.radius import radius_brackets
from hardwood.ensembles.scores import Ensemble
from hardwood.ensembles.verification import Robustness, robustness, warn_of_undecided
from hardwood.estimators.base import BaseRobustClassifier
from hardwood.problem.problem import Problem, prepare
from hardwood.solvers.solve import MOST_CELLS_KEPT

QUICK_LOOK = 0.005
"""Seconds that `adversarial_score_bounds` spends on a sample at most."""


class BaseRobustEnsemble(BaseRobustClassifier):
    """What all estimators of many trees share.

    Attributes
    ----------
    ensemble_ : Ensemble
        The trees as one; `hardwood.robustness` and everything else that takes a model takes it too.
    attack_ : AttackModel
        The attack in the units of X.
    classes_ : array
    n_features_in_ : int
    feature_names_in_ : array of str
        Only where X had column names that are strings.
    """

    attack: Any
    class_weight: Any
    ensemble_: Ensemble
    attack_: AttackModel

    def _make_problem(self, X: Any, y: Any, sample_weight: Any, max_depth: int) -> tuple[Problem, AttackModel]:
        """Check the data and state what is to be learned, and against which attack in the units of X."""
        table, names, y = self._validate_training_data(X, y)
        problem = prepare(
            table,
            y,
            self.attack,
            max_depth,
            sample_weight=sample_weight,
            class_weight=self.class_weight,
            feature_names=names,
            missing=self.missing,
            categorical_features=CategoryEncoding.fit(X, self.categorical_features),
            keep_weightless=False,
            # Nothing that is learned keeps the problem.
            may_share=isinstance(table, Table) and table.values.size > MOST_CELLS_KEPT,
        )
        return problem, problem.known_attack

    @property
    def _encoding(self) -> CategoryEncoding | None:
        return self.ensemble_.encoding

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row of X."""
        table = self._validate(X)
        return self.ensemble_.predict(table)

    def robustness(self, X: Any, y: Any, *, attack: Any = None, **limits: Any) -> Robustness:
        """Find out which samples an attacker can get misclassified; see `hardwood.robustness`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        attack : anything `AttackModel.parse` takes, or None
            The attack that was learned against by default.
        **limits
            ``time_limit``, ``sample_time_limit``, ``n_jobs`` and ``verbose`` of `hardwood.robustness`.
        """
        table = self._validate(X)
        return robustness(self.ensemble_, table, y, self.attack_ if attack is None else attack, **limits)

    def adversarial_score(
        self, X: Any, y: Any, sample_weight: Any = None, *, attack: Any = None, time_limit: float | None = None
    ) -> float:
        """Return the accuracy when every sample is attacked; exact.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,) or None
        attack : anything `AttackModel.parse` takes, or None
            The attack that was learned against by default.
        time_limit : float or None
            Seconds. Samples that are undecided when they are over count as lost, and a warning says how many.
        """
        found = self.robustness(X, y, attack=attack, time_limit=time_limit)
        undecided = int(found.is_open.sum())
        if undecided and self._encoding is None:
            warn_of_undecided(undecided, len(found.is_open), stacklevel=3)
        return found.interval(sample_weight)[0]

    def adversarial_score_bounds(
        self, X: Any, y: Any, sample_weight: Any = None, *, attack: Any = None
    ) -> tuple[float, float]:
        """Return sound lower and upper bounds on `adversarial_score`, fast for large ensembles too.

        A few milliseconds are spent on each sample; those that are open then count for the upper bound only.
        """
        return self.robustness(X, y, attack=attack, sample_time_limit=QUICK_LOOK).interval(sample_weight)

    def attack_samples(self, X: Any, y: Any, *, attack: Any = None, time_limit: float | None = None) -> FloatArray:
        """Return a misclassified point in the box of each sample, NaN where there is none or none is known."""
        return self.robustness(X, y, attack=attack, time_limit=time_limit).examples

    def robust_radius(
        self, X: Any, y: Any, *, attack: Any = 1.0, tolerance: float = 1e-3, time_limit: float | None = None
    ) -> FloatArray:
        """Return how large an attack each sample bears; see `hardwood.robust_radius`."""
        table = self._validate(X)
        return radius_brackets(self.ensemble_, table, y, attack, tolerance=tolerance, time_limit=time_limit).lower

    def to_model(self) -> EnsembleModel:
        """Return what is saved: trees, attack and a record of the training."""
        check_is_fitted(self)
        return EnsembleModel(self.ensemble_, self.attack_, self._training_record())

    def _training_record(self) -> dict[str, Any]:
        return {"solver": type(self).__name__, "trees": self.ensemble_.n_trees}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted trees to a JSON file that `hardwood.load_model` reads."""
        self.to_model().save(path)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "ensemble_")


def seconds_left(time_limit: float | None, spent: float) -> float | None:
    """Return what is left of a limit; None for no limit."""
    return None if time_limit is None else max(0.0, time_limit - spent)
