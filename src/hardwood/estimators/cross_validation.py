"""Choosing a tree by its accuracy under attack: a scorer for scikit-learn's tools, and a cross-validated tree."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import check_cv

from hardwood.attack.model import AttackModel
from hardwood.errors import InvalidInputError
from hardwood.estimators.base import BaseRobustTree, count_jobs
from hardwood.estimators.trees import RobustTreeClassifier
from hardwood.evaluation.metrics import adversarial_accuracy
from hardwood.export import from_sklearn
from hardwood.problem.problem import Problem
from hardwood.solvers.result import Result
from hardwood.tree.reach import robust_errors


class AdversarialScorer:
    """Scores an estimator by its accuracy under one attack; made by `make_adversarial_scorer`."""

    def __init__(self, attack: Any) -> None:
        self.attack = AttackModel.parse(attack)
        if self.attack.is_relative:
            raise InvalidInputError(
                "the attack is given as a fraction of the range of each feature, which differs between folds; "
                "use attack.fit(X) of all data"
            )
        self._weights_are_requested: Any = None

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of the samples that the attacker cannot get misclassified."""
        if hasattr(estimator, "adversarial_score"):
            return float(estimator.adversarial_score(X, y, sample_weight, attack=self.attack))
        if hasattr(estimator, "best_estimator_"):
            return self(estimator.best_estimator_, X, y, sample_weight)
        if hasattr(getattr(estimator, "tree_", None), "children_left"):
            return adversarial_accuracy(from_sklearn(estimator), X, y, self.attack, sample_weight)
        raise InvalidInputError(
            f"{type(estimator).__name__} cannot be scored under attack; use an estimator of hardwood or a decision "
            "tree classifier of scikit-learn, and no pipeline: the attack is in the units of X"
        )

    def set_score_request(self, *, sample_weight: bool | str | None = None) -> Self:
        """Say whether scikit-learn's metadata routing hands sample weights to this scorer."""
        self._weights_are_requested = sample_weight
        return self

    def get_metadata_routing(self) -> Any:
        """Return what is requested, for scikit-learn."""
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=self)
        request.score.add_request(param="sample_weight", alias=self._weights_are_requested)
        return request

    def __repr__(self) -> str:
        return f"make_adversarial_scorer({self.attack})"


def make_adversarial_scorer(attack: Any) -> AdversarialScorer:
    """Return a scorer for ``scoring=`` of scikit-learn's `cross_val_score`, `GridSearchCV` and so on.

    Whatever an estimator was trained against, it is scored against this attack.

    Parameters
    ----------
    attack : anything `AttackModel.parse` takes
        In the units of X.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from hardwood import GreedyRobustTreeClassifier, make_adversarial_scorer
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = GreedyRobustTreeClassifier(max_depth=2, attack=0.3)
    >>> scores = cross_val_score(tree, X, y, scoring=make_adversarial_scorer(0.3))
    """
    return AdversarialScorer(attack)


class Cell(NamedTuple):
    """One combination of what is chosen by cross-validation."""

    max_depth: int
    radius_factor: float
    leaf_penalty: float


@dataclass(frozen=True, eq=False)
class _Fold:
    train: NDArray[np.intp]
    test: NDArray[np.intp]


class RobustTreeCV(BaseRobustTree):
    """Robust tree whose depth is chosen by cross-validation on accuracy under attack.

    As in Vos & Verwer, AAAI 2022: stratified folds, the best mean adversarial accuracy wins; of several equally good
    choices the shallowest, then the smallest radius. Optionally the radius to train with and the penalty per leaf are
    chosen as well. Whatever radius a tree was trained with, it is scored against the real attack. Trees of one fold
    share their sorted boxes, each depth starts from the tree of the depth before, and a depth that provably cannot
    improve on the one before is not solved again.

    Parameters
    ----------
    attack : number, sequence, mapping or AttackModel
        The real attack; anything `AttackModel.parse` takes.
    max_depths : sequence of int
        Depths to choose from.
    radius_factors : sequence of float
        Multiples of the attack to train against, e.g. ``(1, 1.2, 1.5)``.
    leaf_penalties : sequence of float
        Costs of a leaf to choose from, in units of sample weight.
    cv : int, splitter or iterable
        As in scikit-learn; a number is the number of stratified folds.
    solver, engine, time_limit, class_weight, min_samples_leaf, missing, categorical_features, solver_options
        As in `RobustTreeClassifier`; the time limit is for each fit.
    n_jobs : int or None
        How many fits run at once.
    random_state : int, RandomState or None
    verbose : int
        1 shows the progress of the final fit.

    Attributes
    ----------
    best_params_ : dict
        The chosen ``max_depth``, ``radius_factor`` and ``leaf_penalty``.
    best_score_ : float
        Its mean adversarial accuracy over the folds.
    cv_results_ : dict of arrays
        ``max_depth``, ``radius_factor``, ``leaf_penalty``, ``mean_test_score``, ``std_test_score`` and
        ``split_test_scores``, one entry per combination.
    best_estimator_ : RobustTreeClassifier
        The tree of the chosen parameters, learned on all data; the other attributes are those of this one.
    """

    def __init__(
        self,
        *,
        attack: Any = 0.0,
        max_depths: Sequence[int] = (1, 2, 3),
        radius_factors: Sequence[float] = (1.0,),
        leaf_penalties: Sequence[float] = (0.0,),
        cv: Any = 3,
        solver: str = "search",
        engine: str | None = None,
        time_limit: float | None = 60.0,
        class_weight: Any = None,
        min_samples_leaf: int = 0,
        missing: str = "error",
        categorical_features: Any = "from_dtype",
        solver_options: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.attack = attack
        self.max_depths = max_depths
        self.radius_factors = radius_factors
        self.leaf_penalties = leaf_penalties
        self.cv = cv
        self.solver = solver
        self.engine = engine
        self.time_limit = time_limit
        self.class_weight = class_weight
        self.min_samples_leaf = min_samples_leaf
        self.missing = missing
        self.categorical_features = categorical_features
        self.solver_options = solver_options
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose by cross-validation and learn the chosen tree on all data.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,) or None
            Cost of losing each sample, in training and in the scores.
        """
        depths = _checked(self.max_depths, "max_depths")
        factors = _checked(self.radius_factors, "radius_factors")
        penalties = _checked(self.leaf_penalties, "leaf_penalties")
        problem, attack = self._make_problem(X, y, sample_weight)
        # One problem over all data per radius: a fold is some of its rows, cut out without looking at the data again.
        problems = {
            factor: problem
            if factor == 1
            else self._learner(Cell(0, factor, 0.0), attack)._make_problem(X, y, sample_weight)[0]
            for factor in factors
        }
        scored = problem
        if self.class_weight is not None:
            # Classes may weigh differently in training, but accuracy is accuracy.
            plain = self._learner(Cell(0, 1.0, 0.0), attack).set_params(class_weight=None)
            scored = plain._make_problem(X, y, sample_weight)[0]
        splitter = check_cv(self.cv, problem.classes[problem.label], classifier=True)
        folds = [_Fold(train, test) for train, test in splitter.split(problem.values, problem.classes[problem.label])]
        cells = [Cell(*cell) for cell in product(depths, factors, penalties)]
        scores = self._score_cells(scored, problems, folds, cells, depths)
        mean = np.average(scores, axis=1)
        # The cells are sorted by depth, radius and penalty, so that the first of several best ones is the simplest.
        best = cells[int(np.argmax(np.round(mean, 12)))]
        self.cv_results_ = {
            **{name: np.array(column) for name, column in zip(Cell._fields, zip(*cells, strict=True), strict=True)},
            "mean_test_score": mean,
            "std_test_score": scores.std(axis=1),
            "split_test_scores": scores,
        }
        self.best_params_ = best._asdict()
        self.best_score_ = float(mean.max())
        self.best_estimator_ = self._learner(best, attack).fit(X, y, sample_weight)
        return self._keep(problem, attack, self.best_estimator_.result_)

    def _problem_parameters(self) -> dict[str, Any]:
        return {"max_depth": 0, "class_weight": self.class_weight, "min_samples_leaf": self.min_samples_leaf}

    def _learner(self, cell: Cell, attack: AttackModel) -> RobustTreeClassifier:
        return RobustTreeClassifier(
            cell.max_depth,
            attack=attack.scaled(cell.radius_factor),
            leaf_penalty=cell.leaf_penalty,
            solver=self.solver,
            engine=self.engine,
            time_limit=self.time_limit,
            class_weight=self.class_weight,
            min_samples_leaf=self.min_samples_leaf,
            missing=self.missing,
            categorical_features=self.categorical_features,
            solver_options=self.solver_options,
            random_state=self.random_state,
            verbose=self.verbose,
        )

    def _score_cells(
        self,
        scored: Problem,
        problems: dict[float, Problem],
        folds: list[_Fold],
        cells: list[Cell],
        depths: list[int],
    ) -> NDArray[np.float64]:
        """Return the adversarial accuracy of each combination on each fold."""
        from joblib import Parallel, delayed

        ladders = [(f, cell) for f in range(len(folds)) for cell in cells if cell.max_depth == depths[0]]

        def climb(f: int, first: Cell) -> list[float]:
            fold = folds[f]
            training = problems[first.radius_factor].take(fold.train).replace(leaf_penalty=first.leaf_penalty)
            unseen = scored.take(fold.test)
            found = []
            previous: Result | None = None
            for depth in depths:
                previous = self._next_depth(training.replace(max_depth=depth), previous)
                lost = robust_errors(previous.tree, unseen)
                found.append(float(np.average(~lost, weights=unseen.weight)))
            return found

        answers = Parallel(n_jobs=count_jobs(self.n_jobs), prefer="threads")(
            delayed(climb)(f, cell) for f, cell in ladders
        )
        scores = np.empty((len(cells), len(folds)))
        for (f, first), found in zip(ladders, answers, strict=True):
            for depth, score in zip(depths, found, strict=True):
                scores[cells.index(first._replace(max_depth=depth)), f] = score
        return scores

    def _next_depth(self, problem: Problem, previous: Result | None) -> Result:
        """Solve one depth, starting from the tree of the depth before where there is one."""
        if previous is not None and previous.objective <= problem.leaf_penalty:
            return previous  # nothing is lost: no deeper tree can do better
        learner = self._learner(Cell(problem.max_depth, 1.0, problem.leaf_penalty), AttackModel())
        start = None if previous is None else previous.tree
        learner.set_params(verbose=0, start=start)
        return learner._solve(problem, time.perf_counter())


def _checked(values: Any, name: str) -> list[Any]:
    chosen = list(values) if isinstance(values, Iterable) and not isinstance(values, str) else []
    if not chosen or any(isinstance(value, str) or not value >= 0 for value in chosen):
        raise InvalidInputError(f"{name}={values!r}; it must be a sequence of numbers >= 0")
    return sorted(set(chosen))
