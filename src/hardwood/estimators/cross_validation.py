"""Choosing a tree by its accuracy under attack: a scorer for scikit-learn's tools, and a cross-validated tree."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hardwood.attack.model import AttackModel
from hardwood.bounds import matching_bound
from hardwood.data.weights import weighted_share
from hardwood.errors import InvalidInputError
from hardwood.estimators.base import BaseRobustTree
from hardwood.estimators.ensemble_selection import AnswersOfEnsemble, EnsembleSearch, best_ensemble
from hardwood.estimators.folds import folds_of
from hardwood.estimators.trees import RobustTreeClassifier
from hardwood.evaluation.metrics import adversarial_accuracy
from hardwood.evaluation.selection import Candidate, best_candidate, combinations
from hardwood.export import from_sklearn
from hardwood.problem.problem import Problem
from hardwood.problem.samples import fit_attack
from hardwood.solvers.options import Kind, Number, Whole, count_threads, shown
from hardwood.solvers.parallel import in_threads
from hardwood.solvers.result import EndReason, Result, Status, TracePoint
from hardwood.solvers.stopping import Interrupt
from hardwood.tree.reach import objective, robust_errors

FINITE = Number(0, sys.float_info.max)


def fitted_on_training(attack: AttackModel, estimator: Any) -> AttackModel:
    """Return an attack in fractions of the range in the units of the data that an estimator was fitted on."""
    seen = _seen(estimator)
    if seen is None:
        raise InvalidInputError(
            f"the attack is given as a fraction of the range of each feature, and {type(estimator).__name__} does not "
            "know the ranges that it was trained on; use one of hardwood's estimators, a pipeline that begins with a "
            "MinMaxScaler, or attack.fit(X) of all data"
        )
    rows, names, encoding = seen
    return fit_attack(attack, rows, names, encoding)


def _seen(estimator: Any) -> Any:
    """Return a few rows with the extremes of the training data, in its units; None if nobody kept them."""
    if hasattr(estimator, "seen_"):
        return estimator.seen_
    steps = [step for _, step in getattr(estimator, "steps", ()) if step is not None and not isinstance(step, str)]
    if steps and hasattr(steps[0], "data_min_"):
        return np.vstack([steps[0].data_min_, steps[0].data_max_]), _names_of(steps[0]), None
    last = _seen(steps[-1]) if len(steps) > 1 else None
    if last is not None and last[2] is None:
        rows = last[0]
        # Scalers do not decrease, so extremes come from extremes.
        for step in reversed(steps[:-1]):
            if not hasattr(step, "inverse_transform"):
                return None
            rows = np.asarray(step.inverse_transform(rows), np.float64)
        return rows, _names_of(steps[0]), None
    calibrated = getattr(estimator, "calibrated_classifiers_", None)
    if calibrated:
        found = [_seen(one.estimator) for one in calibrated]
        if all(one is not None and one[2] is None for one in found):
            return np.vstack([rows for rows, _, _ in found]), found[0][1], None
    return None


def _names_of(step: Any) -> tuple[str, ...] | None:
    names = getattr(step, "feature_names_in_", None)
    return None if names is None else tuple(str(name) for name in names)


class AdversarialScorer:
    """Scores an estimator by its accuracy under one attack; made by `make_adversarial_scorer`."""

    def __init__(self, attack: Any) -> None:
        self.attack = AttackModel.parse(attack)
        self._weights_are_requested: Any = None

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of the samples that the attacker cannot get misclassified."""
        if hasattr(estimator, "best_estimator_"):
            return self(estimator.best_estimator_, X, y, sample_weight)
        attack = self.attack if not self.attack.is_relative else fitted_on_training(self.attack, estimator)
        if hasattr(estimator, "adversarial_score"):
            return float(estimator.adversarial_score(X, y, sample_weight, attack=attack))
        if hasattr(getattr(estimator, "tree_", None), "children_left"):
            return adversarial_accuracy(from_sklearn(estimator), X, y, attack, sample_weight)
        return adversarial_accuracy(estimator, X, y, attack, sample_weight)

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
        In the units of X, or in fractions of the range: then of the data that the estimator was trained on, fold by
        fold. hardwood's estimators know them, alone, behind scalers in a pipeline or calibrated, and so does a pipeline
        that begins with a `MinMaxScaler`.

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


@dataclass(frozen=True, eq=False)
class _Fold:
    train: NDArray[np.intp]
    test: NDArray[np.intp]


class RobustTreeCV(AnswersOfEnsemble, BaseRobustTree):
    """Robust tree whose depth is chosen by cross-validation on accuracy under attack.

    As in Vos & Verwer, AAAI 2022: stratified folds, the best mean adversarial accuracy wins; of several equally good
    choices the shallowest, then the radius nearest to the real one, then the smallest penalty
    (`hardwood.evaluation.selection`). Optionally the radius to train with and the penalty per leaf are chosen as well.
    Whatever radius a tree was trained with, it is scored against the real attack. Trees of one fold share their sorted
    boxes, each depth starts from the tree of the depth before, and a depth that provably cannot improve on the one
    before is not solved again.

    Parameters
    ----------
    attack : number, sequence, mapping or AttackModel
        The real attack; anything `AttackModel.parse` takes.
    estimator : None, RobustBoostingClassifier or RobustForestClassifier
        None chooses a tree. An ensemble keeps its own parameters but depth, attack and, for boosting, the number of
        rounds, which are chosen; ``best_estimator_`` answers, and there is no ``tree_`` and no ``result_``.
    max_depths : sequence of int
        Depths to choose from.
    radius_factors : sequence of float
        Multiples of the attack to train against, e.g. ``(1, 1.2, 1.5)``.
    leaf_penalties : sequence of float
        Costs of a leaf to choose from, in units of sample weight.
    cv : int, splitter or iterable
        As in scikit-learn; a number is the number of stratified folds.
    solver, engine, time_limit, class_weight, min_samples_leaf, min_weight_fraction_leaf
        As in `RobustTreeClassifier`; the time limit is for each fit.
    missing, categorical_features, solver_options
        As in `RobustTreeClassifier`.
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
        The tree of the chosen parameters, learned on all data against `training_attack_`; its ``result_`` says how well
        that went.
    training_attack_ : AttackModel
        What the tree was trained against: `attack_` times the chosen factor.
    result_ : Result
        The tree judged against the real attack, `attack_`: its objective, and what is proven about every tree of its
        depth against that attack.
    """

    def __init__(
        self,
        *,
        attack: Any = 0.0,
        estimator: Any = None,
        max_depths: Sequence[int] = (1, 2, 3),
        radius_factors: Sequence[float] = (1.0,),
        leaf_penalties: Sequence[float] = (0.0,),
        cv: Any = 3,
        solver: str = "search",
        engine: str | None = None,
        time_limit: float | None = 60.0,
        class_weight: Any = None,
        min_samples_leaf: int = 0,
        min_weight_fraction_leaf: float = 0.0,
        missing: str = "error",
        categorical_features: Any = "from_dtype",
        solver_options: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.attack = attack
        self.estimator = estimator
        self.max_depths = max_depths
        self.radius_factors = radius_factors
        self.leaf_penalties = leaf_penalties
        self.cv = cv
        self.solver = solver
        self.engine = engine
        self.time_limit = time_limit
        self.class_weight = class_weight
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
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
        offered = combinations(
            _checked(self.max_depths, "max_depths", Whole(0)),
            _checked(self.radius_factors, "radius_factors", FINITE),
            _checked(self.leaf_penalties, "leaf_penalties", FINITE),
        )
        problem, attack = self._make_problem(X, y, sample_weight)
        if self.estimator is not None:
            return self._choose_ensemble(X, y, sample_weight, problem, attack)
        # One problem over all data per radius: a fold is some of its rows, cut out without looking at the data again.
        problems = {
            factor: problem
            if factor == 1
            else self._learner(Candidate(0, factor), attack)._make_problem(X, y, sample_weight)[0]
            for factor in {candidate.radius_factor for candidate in offered}
        }
        scored = problem
        if self.class_weight is not None:
            # Classes may weigh differently in training, but accuracy is accuracy.
            plain = self._learner(Candidate(0), attack).set_params(class_weight=None)
            scored = plain._make_problem(X, y, sample_weight)[0]
        scores = self._score(scored, problems, self._folds(problem), offered)
        best = best_candidate(scores)
        assert best is not None
        self._keep_scores(scores, best)
        self.best_estimator_ = self._learner(best, attack).fit(X, y, sample_weight)
        self.training_attack_ = self.best_estimator_.attack_
        asked = problem.replace(max_depth=best.max_depth, leaf_penalty=best.leaf_penalty)
        return self._keep(asked, attack, _judged(self.best_estimator_.result_, asked, best.radius_factor))

    def _choose_ensemble(self, X: Any, y: Any, weight: Any, problem: Problem, attack: AttackModel) -> Self:
        search = EnsembleSearch(self.estimator, self.max_depths, self.radius_factors, self.time_limit)
        folds = [(fold.train, fold.test) for fold in self._folds(problem)]
        scores = search.scores(X, y, weight, attack, folds)
        best = best_ensemble(scores)
        self._keep_scores(scores, best)
        self.best_estimator_ = search.learner(best, attack).fit(X, y, weight)
        self.training_attack_, self.attack_ = self.best_estimator_.attack_, attack
        self.classes_ = problem.classes
        return self

    def _folds(self, problem: Problem) -> list[_Fold]:
        return [_Fold(train, test) for train, test in folds_of(problem, self.cv)]

    def _keep_scores(self, scores: Mapping[Any, Sequence[float]], best: Any) -> None:
        by_fold = np.array(list(scores.values()))
        self.cv_results_ = {
            **{name: np.array(column) for name, column in zip(best._fields, zip(*scores, strict=True), strict=True)},
            "mean_test_score": by_fold.mean(axis=1),
            "std_test_score": by_fold.std(axis=1),
            "split_test_scores": by_fold,
        }
        self.best_params_ = best._asdict()
        self.best_score_ = float(np.mean(scores[best]))

    def _problem_parameters(self) -> dict[str, Any]:
        return {
            "max_depth": 0,
            "class_weight": self.class_weight,
            "min_samples_leaf": self.min_samples_leaf,
            "min_weight_fraction_leaf": self.min_weight_fraction_leaf,
        }

    def _learner(self, candidate: Candidate, attack: AttackModel) -> RobustTreeClassifier:
        return RobustTreeClassifier(
            candidate.max_depth,
            attack=attack.scaled(candidate.radius_factor),
            leaf_penalty=candidate.leaf_penalty,
            solver=self.solver,
            engine=self.engine,
            time_limit=self.time_limit,
            class_weight=self.class_weight,
            min_samples_leaf=self.min_samples_leaf,
            min_weight_fraction_leaf=self.min_weight_fraction_leaf,
            missing=self.missing,
            categorical_features=self.categorical_features,
            solver_options=self.solver_options,
            random_state=self.random_state,
            verbose=self.verbose,
        )

    def _score(
        self,
        scored: Problem,
        problems: dict[float, Problem],
        folds: list[_Fold],
        offered: list[Candidate],
    ) -> dict[Candidate, list[float]]:
        """Return the adversarial accuracy of each candidate on each fold."""
        depths = sorted({candidate.max_depth for candidate in offered})
        # Trees that differ in depth alone start from one another, so they are learned one after the other.
        ladders = list(dict.fromkeys((c.radius_factor, c.leaf_penalty) for c in offered))

        interrupt = Interrupt()

        def climb(fold: _Fold, factor: float, penalty: float) -> list[float]:
            training = problems[factor].take(fold.train).replace(leaf_penalty=penalty)
            unseen = scored.take(fold.test)
            found = []
            previous: Result | None = None
            for depth in depths:
                previous = self._next_depth(training.replace(max_depth=depth), previous, interrupt)
                found.append(weighted_share(~robust_errors(previous.tree, unseen), unseen.weight))
            return found

        tasks = [(fold, *ladder) for ladder in ladders for fold in folds]
        answers = in_threads(climb, tasks, count_threads(self.n_jobs), interrupt)
        by_ladder = {ladder: answers[k * len(folds) : (k + 1) * len(folds)] for k, ladder in enumerate(ladders)}
        return {
            c: [found[depths.index(c.max_depth)] for found in by_ladder[c.radius_factor, c.leaf_penalty]]
            for c in offered
        }

    def _next_depth(self, problem: Problem, previous: Result | None, interrupt: Interrupt) -> Result:
        """Solve one depth, starting from the tree of the depth before where there is one."""
        if previous is not None and previous.objective <= problem.leaf_penalty:
            return previous  # nothing is lost: no deeper tree can do better
        learner = self._learner(Candidate(problem.max_depth, 1.0, problem.leaf_penalty), AttackModel())
        start = None if previous is None else previous.tree
        learner.set_params(verbose=0, start=start)
        result = learner._solve(problem, time.perf_counter(), interrupt)
        if result.stopped_by is EndReason.INTERRUPT:
            # A tree that was not allowed to finish says nothing about its parameters.
            raise KeyboardInterrupt
        return result


def _judged(result: Result, problem: Problem, radius_factor: float) -> Result:
    """Return a result for the attack of `problem`, of a tree that was trained against a multiple of it.

    The errors of every tree grow with the radius, so what was proven against a weaker attacker holds here too; what was
    proven against a stronger one does not, and only the bound for every model is left.
    """
    if radius_factor == 1:
        return result
    cost = objective(result.tree, problem)
    bound = result.bound if radius_factor < 1 else matching_bound(problem) + problem.leaf_penalty
    proven = bound >= cost
    if proven:
        reason = EndReason.PROOF
    else:
        reason = EndReason.HEURISTIC if result.stopped_by is EndReason.PROOF else result.stopped_by
    return replace(
        result,
        problem=None if result.problem is None else problem,
        status=Status.OPTIMAL if proven else Status.FEASIBLE,
        objective=cost,
        bound=min(bound, cost),
        trace=(TracePoint(result.runtime, cost, min(bound, cost)),),
        stopped_by=reason,
    )


def _checked(values: Any, name: str, kind: Kind) -> list[Any]:
    given = isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping)
    chosen = list(values) if given else []
    if not chosen or not all(map(kind.accepts, chosen)):
        raise InvalidInputError(f"{name}={shown(values)}; it must be a sequence, each entry {kind.text}")
    return [kind.plain(value) for value in chosen]
