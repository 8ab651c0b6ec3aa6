"""Forests of greedy robust trees."""

from __future__ import annotations

import time
import warnings
from dataclasses import fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hardwood.arrays import FloatArray
from hardwood.attack.model import AttackModel
from hardwood.ensembles.forest import grow_forest
from hardwood.ensembles.verification import UndecidedAttackWarning
from hardwood.ensembles.voting import VotingEnsemble
from hardwood.estimators.base import BaseRobustClassifier, seed_of
from hardwood.problem.problem import prepare
from hardwood.solvers.greedy import GreedyLearner
from hardwood.solvers.options import Flag, Option, Whole, count_threads
from hardwood.tree.tree import Tree

N_ESTIMATORS = Option("n_estimators", 100, Whole(1, 1_000_000), "number of trees")
BOOTSTRAP = Option("bootstrap", True, Flag(), "whether each tree draws its samples with replacement")


class RobustForestClassifier(BaseRobustClassifier):
    """Forest of greedy robust trees that vote.

    Each tree is grown on a bootstrap sample, and each of its splits chooses from features drawn at random (Breiman,
    "Random Forests", 2001; with robust trees: Vos & Verwer, ICML 2021).

    Parameters
    ----------
    n_estimators : int
        Number of trees.
    max_depth : int
        Largest number of splits on a path.
    attack : number, sequence, mapping or AttackModel
        What the attacker can do; anything `AttackModel.parse` takes.
    criterion : {"groot", "chen", "adversarial-error"}
    impurity : {"gini", "entropy"}
    min_samples_split, min_samples_leaf : int
    max_features : None, "sqrt", "log2", int or float
    robust_weight : float
        As in `GreedyRobustTreeClassifier`.
    bootstrap : bool
        Whether each tree draws its samples with replacement; otherwise all trees see all of them.
    class_weight : mapping, "balanced" or None
        Multiplies sample weights by class.
    n_jobs : int or None
        Threads to use.
    random_state : int, RandomState or None
        Seed; None is the same as 0. The trees do not depend on `n_jobs`.

    Attributes
    ----------
    trees_ : tuple of Tree
    ensemble_ : VotingEnsemble
        The trees as one; evaluates attacks.
    attack_ : AttackModel
        The attack in the units of X.
    runtime_ : float
        Seconds that the fit took.
    classes_ : array
    n_features_in_ : int
    """

    trees_: tuple[Tree, ...]
    ensemble_: VotingEnsemble
    attack_: AttackModel

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        max_depth: int = 6,
        attack: Any = 0.0,
        criterion: str = "groot",
        impurity: str = "gini",
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        max_features: Any = "sqrt",
        robust_weight: float = 1.0,
        bootstrap: bool = True,
        class_weight: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.attack = attack
        self.criterion = criterion
        self.impurity = impurity
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.robust_weight = robust_weight
        self.bootstrap = bootstrap
        self.class_weight = class_weight
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Finite numbers in any units.
        y : array-like of shape (n_samples,)
            Labels of any type.
        sample_weight : array-like of shape (n_samples,) or None
        """
        started = time.perf_counter()
        N_ESTIMATORS.check(self.n_estimators)
        BOOTSTRAP.check(self.bootstrap)
        table, names, y = self._validate_training_data(X, y)
        problem = prepare(
            table, y, self.attack, self.max_depth,
            sample_weight=sample_weight, class_weight=self.class_weight, feature_names=names,
        )  # fmt: skip
        learner = GreedyLearner(**{field.name: getattr(self, field.name) for field in fields(GreedyLearner)})
        self.trees_ = grow_forest(
            problem,
            learner,
            self.n_estimators,
            bootstrap=self.bootstrap,
            n_jobs=count_threads(self.n_jobs),
            random_state=seed_of(self.random_state),
        )
        self.ensemble_ = VotingEnsemble(self.trees_)
        assert problem.attack is not None
        self.attack_ = problem.attack
        self.classes_ = problem.classes
        self.runtime_ = time.perf_counter() - started
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class with the most votes at each row of X, the first of several."""
        table = self._validate(X)
        return self.ensemble_.predict(table.values)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the share of the trees that votes for each class at each row of X."""
        table = self._validate(X)
        return self.ensemble_.votes(table.values) / len(self.trees_)

    def adversarial_score(
        self, X: Any, y: Any, sample_weight: Any = None, *, attack: Any = None, time_limit: float | None = None
    ) -> float:
        """Return the accuracy when every sample is attacked; exact, for small ensembles and data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,) or None
        attack : anything `AttackModel.parse` takes, or None
            The attack that the forest was learned against by default.
        time_limit : float or None
            Seconds. Samples that are undecided when they are over count as lost, and a warning says how many.
        """
        table = self._validate(X)
        chosen = self.attack_ if attack is None else attack
        found = self.ensemble_.robustness(table, y, chosen, time_limit=time_limit)
        undecided = int(np.sum(~found.is_fooled & ~found.is_robust))
        if undecided:
            warnings.warn(
                f"{undecided} of {len(table)} samples were not decided within {time_limit:g} s; they count as lost",
                UndecidedAttackWarning,
                stacklevel=2,
            )
        return found.interval(sample_weight)[0]

    def adversarial_score_bounds(
        self, X: Any, y: Any, sample_weight: Any = None, *, attack: Any = None
    ) -> tuple[float, float]:
        """Return sound lower and upper bounds on `adversarial_score`, fast for large ensembles too.

        The lower one counts the samples that are certified tree by tree, the upper one all but those for which a search
        found a misclassified point.
        """
        table = self._validate(X)
        chosen = self.attack_ if attack is None else attack
        return self.ensemble_.robustness(table, y, chosen, exact=False).interval(sample_weight)
