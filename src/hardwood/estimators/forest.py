"""Forests of robust trees."""

from __future__ import annotations

import sys
import time
from dataclasses import fields
from typing import Any, Self

from hardwood.arrays import FloatArray
from hardwood.ensembles.forest import OptimalLearner, averaging, grow_forest, voting
from hardwood.ensembles.probabilities import shares_of_votes
from hardwood.estimators.base import LAPLACE, seed_of
from hardwood.estimators.ensembles import BaseRobustEnsemble, seconds_left
from hardwood.problem.problem import check_leaf_limits
from hardwood.solvers.greedy import GreedyLearner, count_features
from hardwood.solvers.options import TIME_LIMIT, Flag, Number, OneOf, Option, Whole, count_threads
from hardwood.tree.tree import Tree

PARAMETERS = (
    Option("n_estimators", 100, Whole(1, 1_000_000), "number of trees"),
    Option("bootstrap", True, Flag(), "whether each tree draws its samples with replacement"),
    Option("base", "greedy", OneOf(("greedy", "search")), "how trees are found"),
    Option("voting", "hard", OneOf(("hard", "soft")), "what a leaf says"),
    Option("tree_time_limit", 10.0, Number(0, sys.float_info.max, above=True), "seconds for each optimal tree"),
    LAPLACE,
)


class RobustForestClassifier(BaseRobustEnsemble):
    """Forest of robust trees on bootstrap samples.

    Greedy trees choose each split from features drawn at random (Breiman, "Random Forests", 2001; with robust trees:
    Vos & Verwer, ICML 2021). Optimal small trees (``base="search"``) each lose the least of their bootstrap sample
    to the attacker.

    Parameters
    ----------
    n_estimators : int
        Number of trees.
    max_depth : int
        Largest number of splits on a path. The exact search is meant for depths up to 3 or 4.
    attack : number, sequence, mapping or AttackModel
        What the attacker can do; anything `AttackModel.parse` takes.
    base : {"greedy", "search"}
        How trees are found: split by split as `criterion` says, or by the exact search.
    voting : {"hard", "soft"}
        ``"hard"``: each tree has one vote. ``"soft"``: trees add up class shares of their leaves, of the training
        weight that reaches the leaf for certain, whatever the attacker does.
    laplace : float
        Added to the weight of every class in a leaf, for ``voting="soft"``.
    criterion : {"groot", "chen", "adversarial-error"}
    impurity : {"gini", "entropy"}
    min_samples_split, min_samples_leaf : int
    robust_weight : float
        As in `GreedyRobustTreeClassifier`, for ``base="greedy"``.
    min_weight_fraction_leaf : float
        Share of the weight of each tree's bootstrap sample that every leaf of it must hold; as in
        `GreedyRobustTreeClassifier` and, for ``base="search"``, in `RobustTreeClassifier`.
    max_features : None, "sqrt", "log2", int or float
        How many features, drawn at random, each split of a greedy tree or each optimal tree may use.
    bootstrap : bool
        Whether each tree draws its samples with replacement; otherwise all trees see all of them.
    tree_time_limit : float
        Seconds for each tree of ``base="search"``.
    class_weight : mapping, "balanced" or None
        Multiplies sample weights by class.
    missing : {"error", "reachable"}
    categorical_features : "from_dtype", sequence of names or indices, or None
        As in `RobustTreeClassifier`.
    time_limit : float or None
        Seconds, after which no further tree is begun.
    n_jobs : int or None
        Threads to use.
    random_state : int, RandomState or None
        Seed; None is the same as 0. The trees do not depend on `n_jobs`, unless a limit cuts them short.
    verbose : int
        1 writes a line per tree to standard error.

    Attributes
    ----------
    trees_ : tuple of Tree
    ensemble_ : Ensemble
        The trees as one; evaluates attacks.
    attack_ : AttackModel
        The attack in the units of X.
    runtime_ : float
        Seconds that the fit took.
    classes_ : array
    n_features_in_ : int
    """

    trees_: tuple[Tree, ...]

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        max_depth: int = 6,
        attack: Any = 0.0,
        base: str = "greedy",
        voting: str = "hard",
        laplace: float = 0.0,
        criterion: str = "groot",
        impurity: str = "gini",
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "sqrt",
        robust_weight: float = 1.0,
        bootstrap: bool = True,
        tree_time_limit: float = 10.0,
        class_weight: Any = None,
        missing: str = "error",
        categorical_features: Any = "from_dtype",
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.attack = attack
        self.base = base
        self.voting = voting
        self.laplace = laplace
        self.criterion = criterion
        self.impurity = impurity
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.robust_weight = robust_weight
        self.bootstrap = bootstrap
        self.tree_time_limit = tree_time_limit
        self.class_weight = class_weight
        self.missing = missing
        self.categorical_features = categorical_features
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Numbers in any units; categories and missing values only where the parameters say so.
        y : array-like of shape (n_samples,)
            Labels of any type.
        sample_weight : array-like of shape (n_samples,) or None
        """
        started = time.perf_counter()
        for parameter in PARAMETERS:
            parameter.check(getattr(self, parameter.name))
        limit = TIME_LIMIT.check(self.time_limit)
        problem, attack = self._make_problem(X, y, sample_weight, self.max_depth)
        learner = self._learner(problem.n_features)
        if isinstance(learner, OptimalLearner):
            problem = problem.replace(min_weight_fraction_leaf=self.min_weight_fraction_leaf)
            check_leaf_limits(problem)
        grown = grow_forest(
            problem,
            learner,
            self.n_estimators,
            bootstrap=self.bootstrap,
            n_jobs=count_threads(self.n_jobs),
            random_state=seed_of(self.random_state),
            time_limit=seconds_left(limit, time.perf_counter() - started),
            on_tree=self._report if self.verbose else None,
        )
        self.trees_ = tuple(one.tree for one in grown)
        self.ensemble_ = voting(self.trees_) if self.voting == "hard" else averaging(grown, problem, self.laplace)
        self.attack_ = attack
        self.classes_ = problem.classes
        self.runtime_ = time.perf_counter() - started
        return self

    def _learner(self, n_features: int) -> GreedyLearner | OptimalLearner:
        greedy = GreedyLearner(**{field.name: getattr(self, field.name) for field in fields(GreedyLearner)})
        if self.base == "greedy":
            return greedy
        return OptimalLearner(self.tree_time_limit, count_features(self.max_features, n_features))

    def _report(self, number: int) -> None:
        print(f"tree {number} of {self.n_estimators}", file=sys.stderr, flush=True)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the mean over the trees of their votes, or of their shares, for each class at each row of X."""
        table = self._validate(X)
        return shares_of_votes(self.ensemble_.scores(table))

    def _training_record(self) -> dict[str, Any]:
        return {
            "solver": "forest",
            "trees": len(self.trees_),
            "base": self.base,
            "voting": self.voting,
            "runtime": round(self.runtime_, 6),
        }
