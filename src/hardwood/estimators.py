"""The scikit-learn face of the solvers."""

from __future__ import annotations

import os
import time
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, check_random_state, validate_data

from hardwood.attack_model import AttackModel
from hardwood.attacks import attack_samples, robust_radius
from hardwood.errors import InvalidInputError
from hardwood.metrics import adversarial_accuracy
from hardwood.model_file import Model, training_record
from hardwood.problem import Problem
from hardwood.progress import progress_display
from hardwood.result import Result
from hardwood.solvers import get_solver, solve
from hardwood.tables import as_matrix, check_finite, column_names
from hardwood.tree import Tree


class BaseRobustClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """How all estimators check the data they are given."""

    def _validate_training_data(self, X: Any, y: Any) -> tuple[NDArray[np.float64], tuple[str, ...] | None, Any]:
        if column_names(X) is not None:
            as_matrix(X)  # names the column that is not numeric, which scikit-learn's check does not
        matrix, y = validate_data(self, X, y, dtype=np.float64, order="C", ensure_all_finite=False)
        names = self._feature_names()
        check_finite(matrix, names)
        check_classification_targets(y)
        return matrix, names, y

    def _validate(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        matrix: NDArray[np.float64] = validate_data(
            self, X, dtype=np.float64, order="C", reset=False, ensure_all_finite=False
        )
        check_finite(matrix, self._feature_names())
        return matrix

    def _feature_names(self) -> tuple[str, ...] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(names)


class BaseRobustTree(BaseRobustClassifier):
    """What all tree estimators share; a subclass turns its parameters into a call of `solve`.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree.
    result_ : Result
        Status, objective, bound, gap and trace of the fit.
    attack_ : AttackModel
        The attack in the units of X.
    classes_ : array
    n_features_in_ : int
    feature_names_in_ : array of str
        Only where X had column names that are strings.
    """

    attack: Any
    tree_: Tree
    result_: Result
    attack_: AttackModel

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn a tree.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Finite numbers in any units.
        y : array-like of shape (n_samples,)
            Labels of any type.
        sample_weight : array-like of shape (n_samples,) or None
            Cost of losing each sample.

        Returns
        -------
        self
        """
        started = time.perf_counter()
        matrix, names, y = self._validate_training_data(X, y)
        if sample_weight is not None:
            matrix, y, sample_weight = _without_weightless(matrix, y, sample_weight)
        attack = AttackModel.parse(self.attack).fit(matrix, names)
        problem = Problem.from_data(
            matrix, y, attack, sample_weight=sample_weight, feature_names=names, **self._problem_parameters()
        )
        self.result_ = self._solve(problem, started)
        self.tree_ = self.result_.tree
        self.attack_ = attack
        self.classes_ = problem.classes
        return self

    def _problem_parameters(self) -> dict[str, Any]:
        raise NotImplementedError

    def _solve(self, problem: Problem, started: float) -> Result:
        raise NotImplementedError

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row of X."""
        matrix = self._validate(X)
        return self.tree_.predict(matrix)

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Return the number of the leaf in which each row of X ends."""
        matrix = self._validate(X)
        return self.tree_.apply(matrix)

    def adversarial_score(self, X: Any, y: Any, sample_weight: Any = None, *, attack: Any = None) -> float:
        """Return the accuracy when every sample is attacked; exact.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,) or None
        attack : anything `AttackModel.parse` takes, or None
            The attack that the tree was learned against by default.
        """
        matrix = self._validate(X)
        return adversarial_accuracy(self.tree_, matrix, y, self._attack_or(attack), sample_weight)

    def attack_samples(self, X: Any, y: Any, *, attack: Any = None) -> NDArray[np.float64]:
        """Return the nearest adversarial example of each sample; see `hardwood.attack_samples`."""
        matrix = self._validate(X)
        return attack_samples(self.tree_, matrix, y, self._attack_or(attack))

    def robust_radius(self, X: Any, y: Any, *, attack: Any = 1.0) -> NDArray[np.float64]:
        """Return how large an attack each sample bears; see `hardwood.robust_radius`."""
        matrix = self._validate(X)
        return robust_radius(self.tree_, matrix, y, attack)

    def _attack_or(self, attack: Any) -> Any:
        return self.attack_ if attack is None else attack

    def get_depth(self) -> int:
        """Return the number of splits on the longest path."""
        check_is_fitted(self)
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    def to_model(self) -> Model:
        """Return what is saved: tree, attack and a record of the training."""
        check_is_fitted(self)
        return Model(self.tree_, self.attack_, training_record(self.result_))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted tree to a JSON file that `hardwood.load_model` reads."""
        self.to_model().save(path)


def _without_weightless(matrix: NDArray[np.float64], y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Drop samples of weight zero, so that they are as good as absent: not even margins keep clear of them."""
    weight = _check_sample_weight(sample_weight, matrix, dtype=np.float64)
    kept = weight != 0
    return (matrix, y, weight) if kept.all() or not kept.any() else (matrix[kept], y[kept], weight[kept])


def seed_of(random_state: Any) -> int:
    """Return the seed that a ``random_state`` stands for; None is the same as 0."""
    if random_state is None:
        return 0
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def count_jobs(n_jobs: Any) -> int:
    """Return the number of threads that an ``n_jobs`` stands for."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0):
        raise InvalidInputError(f"n_jobs={n_jobs!r}; it must be None, -1 (all cores) or a whole number >= 1")
    from joblib import effective_n_jobs

    return int(effective_n_jobs(n_jobs))


class RobustTreeClassifier(BaseRobustTree):
    """Optimal robust decision tree.

    Finds the tree of at most `max_depth` splits per path that loses the least weight of training samples to an
    attacker, and proves it (Vos & Verwer, "Robust Optimal Classification Trees against Adversarial Examples",
    AAAI 2022, with our own exact search as the default solver).

    Parameters
    ----------
    max_depth : int
        Largest number of splits on a path.
    attack : number, sequence, mapping or AttackModel
        What the attacker can do; anything `AttackModel.parse` takes. 0 learns an ordinary optimal tree.
    solver : str
        ``"search"`` (exact, ours) or any other that ``hardwood solvers`` lists.
    engine : str or None
        Library to run on, for solvers that have a choice.
    start : None, "greedy" or Tree
        Where the solver starts.
    time_limit : float or None
        Seconds; the best tree so far is returned when they are over. None for no limit.
    max_gap : float
        Stop as soon as the relative gap between objective and bound is at most this.
    class_weight : mapping, "balanced" or None
        Multiplies sample weights by class.
    leaf_penalty : float
        Cost of a leaf, in units of sample weight.
    min_samples_leaf : int
        Each leaf must be reached for certain by so many samples.
    solver_options : mapping or None
        Further options of the solver.
    n_jobs : int or None
        Threads to use, where the solver can.
    random_state : int, RandomState or None
        Seed; None is the same as 0, so that fits can be repeated.
    verbose : int
        1 shows progress on standard error.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> clf = RobustTreeClassifier(max_depth=2, attack=0.2).fit(X, y)
    >>> clf.result_.status
    <Status.OPTIMAL: 'optimal'>
    """

    def __init__(
        self,
        max_depth: int = 3,
        *,
        attack: Any = 0.0,
        solver: str = "search",
        engine: str | None = None,
        start: Any = None,
        time_limit: float | None = 60.0,
        max_gap: float = 0.0,
        class_weight: Any = None,
        leaf_penalty: float = 0.0,
        min_samples_leaf: int = 0,
        solver_options: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.max_depth = max_depth
        self.attack = attack
        self.solver = solver
        self.engine = engine
        self.start = start
        self.time_limit = time_limit
        self.max_gap = max_gap
        self.class_weight = class_weight
        self.leaf_penalty = leaf_penalty
        self.min_samples_leaf = min_samples_leaf
        self.solver_options = solver_options
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _problem_parameters(self) -> dict[str, Any]:
        return {
            "max_depth": self.max_depth,
            "class_weight": self.class_weight,
            "leaf_penalty": self.leaf_penalty,
            "min_samples_leaf": self.min_samples_leaf,
        }

    def _solve(self, problem: Problem, started: float) -> Result:
        options = dict(self.solver_options or {})
        if self.engine is not None:
            if "engine" not in get_solver(self.solver).defaults:
                raise InvalidInputError(f"solver {self.solver!r} has no choice of engine; leave engine=None")
            options["engine"] = self.engine
        with progress_display(bool(self.verbose), self.time_limit) as on_progress:
            return solve(
                problem,
                self.solver,
                time_limit=self.time_limit,
                start=self.start,
                max_gap=self.max_gap,
                random_state=seed_of(self.random_state),
                n_jobs=count_jobs(self.n_jobs),
                options=options,
                on_progress=on_progress,
                started=started,
            )


class GreedyRobustTreeClassifier(BaseRobustTree):
    """Greedy robust decision tree (GROOT, Chen et al. or FPRDT): no proof, but learned in milliseconds.

    Parameters
    ----------
    max_depth : int
        Largest number of splits on a path.
    attack : number, sequence, mapping or AttackModel
        What the attacker can do; anything `AttackModel.parse` takes.
    criterion : {"groot", "chen", "adversarial-error"}
        How a split is scored: by the worst impurity that the attacker can force (GROOT), by the worst of four
        placements (Chen et al.), or by the errors of the whole tree under attack (FPRDT). See
        `hardwood.solvers.greedy`.
    impurity : {"gini", "entropy"}
        What ``criterion="chen"`` measures.
    min_samples_split : int
        A node with fewer samples becomes a leaf.
    min_samples_leaf : int
        A split that leaves fewer samples on one side, as the attacker distributes them, is not made.
    max_features : None, "sqrt", "log2", int or float
        How many features, drawn at random, each split may choose from.
    robust_weight : float
        Share of the movable samples that the attacker really moves.
    class_weight : mapping, "balanced" or None
        Multiplies sample weights by class.
    random_state : int, RandomState or None
        Seed of the draw of features; None is the same as 0.
    """

    def __init__(
        self,
        max_depth: int = 3,
        *,
        attack: Any = 0.0,
        criterion: str = "groot",
        impurity: str = "gini",
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        max_features: Any = None,
        robust_weight: float = 1.0,
        class_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        self.max_depth = max_depth
        self.attack = attack
        self.criterion = criterion
        self.impurity = impurity
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_features = max_features
        self.robust_weight = robust_weight
        self.class_weight = class_weight
        self.random_state = random_state

    def _problem_parameters(self) -> dict[str, Any]:
        return {"max_depth": self.max_depth, "class_weight": self.class_weight}

    def _solve(self, problem: Problem, started: float) -> Result:
        options = {name: getattr(self, name) for name in get_solver("greedy").defaults}
        return solve(problem, "greedy", options=options, random_state=seed_of(self.random_state), started=started)
