"""All learners side by side on one data set: what robustness costs, and whether optimal is worth it.

Every learner is trained on the same part of the data and scored on that part and on the part held out, with and without
the attacker. The least number of errors that any tree of the depth can have, as far as it is proven, stands beside what
each of them reaches.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardwood.arrays import FloatArray, IntArray
from hardwood.attack.model import AttackModel
from hardwood.bounds import matching_bound
from hardwood.data.categories import CategoryEncoding
from hardwood.data.frames import Table, check_finite
from hardwood.data.holdout import hold_out
from hardwood.data.labels import as_labels
from hardwood.data.weights import as_weights, weighted_share
from hardwood.ensembles.conversion import as_ensemble
from hardwood.ensembles.scores import Ensemble
from hardwood.ensembles.verification import robustness
from hardwood.errors import InvalidInputError
from hardwood.evaluation.methods import Method, Task, find_method
from hardwood.evaluation.metrics import accuracy, adversarial_accuracy
from hardwood.problem.problem import Problem, prepare
from hardwood.problem.samples import read_features
from hardwood.solvers.result import EndReason
from hardwood.tree.reach import robust_errors
from hardwood.tree.tree import Tree

DEFAULT_METHODS = (
    "CART",
    "plain",
    "relabel",
    "Chen",
    "Chen-IG",
    "GROOT",
    "FPRDT",
    "TREANT",
    "forest",
    "boosting",
    "search",
)
"""What a comparison runs unless told otherwise: the naive choices first, the exact search last."""


@dataclass(frozen=True)
class Score:
    """Accuracy on one part of the data, as it is and under attack.

    For many trees the accuracy under attack is what is certified (`attacked`) up to what no search could refute
    (`attacked_at_most`); for a tree both are the same.
    """

    accuracy: float
    attacked: float
    attacked_at_most: float


@dataclass(frozen=True)
class Row:
    """How one learner did.

    Attributes
    ----------
    name, title : str
    train, test : Score
        `test` is None where nothing was held out.
    errors : float or None
        Training samples lost to the attacker; None for many trees, to which the bound does not apply.
    leaves : int
    seconds : float
        To learn.
    ended_by : str
        Why the learner stopped.
    model : Tree or Ensemble
    """

    name: str
    title: str
    train: Score
    test: Score | None
    errors: float | None
    leaves: int
    seconds: float
    ended_by: str
    model: Tree | Ensemble


@dataclass(frozen=True)
class Comparison:
    """What all learners reached.

    Attributes
    ----------
    rows : tuple of Row
    left_out : dict
        Learners that could not be used, and why.
    bound : float
        Proven least number of training samples that any tree of this depth loses to the attacker.
    bound_by : str
        What proved it.
    n_train, n_test, max_depth : int
    attack : str
        In words.
    was_interrupted : bool
        Whether somebody did not want to wait for the rest.
    total_weight : float or None
        Of the training samples; None where each weighs 1.
    """

    rows: tuple[Row, ...]
    left_out: dict[str, str]
    bound: float
    bound_by: str
    n_train: int
    n_test: int
    max_depth: int
    attack: str
    was_interrupted: bool = False
    total_weight: float | None = None

    @property
    def accuracy_bound(self) -> float:
        """Return the accuracy under attack on the training part that no tree of this depth exceeds."""
        return 1 - self.bound / (self.n_train if self.total_weight is None else self.total_weight)

    def gap(self, row: Row) -> float | None:
        """Return the share of a row's errors that is not proven to be unavoidable; None for a forest."""
        if row.errors is None:
            return None
        return 0.0 if row.errors <= self.bound else (row.errors - self.bound) / row.errors

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""

        def score(part: Score | None) -> dict[str, float] | None:
            return None if part is None else dict(vars(part))

        return {
            "attack": self.attack,
            "max_depth": self.max_depth,
            "n_train": self.n_train,
            "n_test": self.n_test,
            "bound": self.bound,
            "bound_by": self.bound_by,
            "left_out": self.left_out,
            "was_interrupted": self.was_interrupted,
            "learners": [
                {
                    "learner": row.name,
                    "title": row.title,
                    "train": score(row.train),
                    "test": score(row.test),
                    "errors": row.errors,
                    "gap": self.gap(row),
                    "leaves": row.leaves,
                    "seconds": row.seconds,
                    "ended_by": row.ended_by,
                }
                for row in self.rows
            ],
        }


def compare(
    X: Any,
    y: Any,
    attack: Any,
    max_depth: int = 3,
    *,
    learners: Sequence[str] | None = None,
    models: Mapping[str, Any] | None = None,
    test_size: float = 0.2,
    time_limit: float | None = 60.0,
    n_jobs: int = 1,
    random_state: int = 0,
    feature_names: Sequence[str] | None = None,
    sample_weight: Any = None,
    categorical_features: Any = None,
    missing: str = "error",
    on_start: Callable[[str, int, int], None] | None = None,
) -> Comparison:
    """Train and score all learners on one data set.

    Parameters
    ----------
    X : array-like or frame of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    attack : anything `AttackModel.parse` takes
        Shares of the range are those of the training part.
    max_depth : int
    learners : sequence of str or None
        Names as in `hardwood.evaluation.methods`; `DEFAULT_METHODS` by default, without those that cannot be used
        here.
    models : mapping or None
        Models that were learned elsewhere, by the names to show: anything `hardwood.as_ensemble` takes.
    test_size : float
        Share that is held out, stratified by class; 0 for none.
    time_limit : float or None
        Seconds for each learner, and as many for the verification of what it learned.
    n_jobs : int
        Threads, where a learner can use them; -1 for all cores.
    random_state : int
    feature_names : sequence of str or None
        Those of the columns of X by default, where it has any.
    sample_weight : array-like of shape (n_samples,) or None
        Cost of losing each sample; learners that know no weights ignore it.
    categorical_features, missing
        As in `hardwood.problem.problem.prepare`.
    on_start : callable or None
        Called before each learner runs, with a few words about it, how many are done, and of how many.

    Returns
    -------
    Comparison
        Ctrl-C ends it with the learners that are done; without any, `KeyboardInterrupt` goes on.
    """
    names = None if feature_names is None else tuple(feature_names)
    table, encoding = read_features(X, categorical_features, names)
    check_finite(table.values, table.names, allow_missing=missing == "reachable")
    parts = _split(table if encoding is None else X, y, sample_weight, test_size, random_state)
    problem = _state(parts[0], AttackModel.parse(attack), max_depth, encoding, names, missing)
    task = Task(problem, time_limit, n_jobs, random_state)
    return _compare(task, parts, learners, models or {}, on_start)


def _state(
    part: _Part,
    attack: AttackModel,
    max_depth: int,
    encoding: CategoryEncoding | None,
    names: tuple[str, ...] | None,
    missing: str,
) -> Problem:
    return prepare(
        part.X,
        part.y,
        attack,
        max_depth,
        sample_weight=part.weight,
        feature_names=None if encoding is None else names,
        categorical_features=encoding,
        missing=missing,
    )


def _compare(
    task: Task,
    parts: Sequence[_Part],
    learners: Sequence[str] | None,
    models: Mapping[str, Any],
    on_start: Callable[[str, int, int], None] | None,
) -> Comparison:
    problem = task.problem
    chosen, left_out = _choose(learners, problem)
    rows, proven, was_interrupted = _run_all(chosen, task, parts, on_start)
    bound, bound_by = max([(matching_bound(problem), "samples in conflict"), *proven], key=lambda found: found[0])
    for method in chosen[len(rows) :]:
        left_out[method.name] = "interrupted before it was done"
    rows += [_given(name, one, task, parts) for name, one in models.items()]
    columns = problem.feature_names if problem.encoding is None else problem.encoding.names
    return Comparison(
        tuple(rows),
        left_out,
        bound,
        bound_by,
        problem.n_samples,
        len(parts[1].y) if len(parts) > 1 else 0,
        problem.max_depth,
        problem.known_attack.describe(columns),
        was_interrupted,
        float(problem.weight.sum()),
    )


def _run_all(
    chosen: Sequence[Method],
    task: Task,
    parts: Sequence[_Part],
    on_start: Callable[[str, int, int], None] | None,
) -> tuple[list[Row], list[tuple[float, str]], bool]:
    """Run methods until all are done or somebody does not want to wait; return rows and what was proven by whom."""
    rows: list[Row] = []
    proven: list[tuple[float, str]] = []
    for method in chosen:
        try:
            if on_start is not None:
                on_start(method.summary, len(rows), len(chosen))
            row, bound = _run(method, task, parts)
        except KeyboardInterrupt:
            if not rows:
                raise
            return rows, proven, True
        rows.append(row)
        proven.append((bound, method.summary))
        if row.ended_by == EndReason.INTERRUPT:
            return rows, proven, True
    return rows, proven, False


def _rows_of(X: Any, rows: IntArray) -> Any:
    if isinstance(X, Table):
        return X.take(rows)
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


class _Part(NamedTuple):
    """Samples to learn from, or to test on."""

    X: Any
    y: NDArray[Any]
    weight: FloatArray


def _run(method: Method, task: Task, parts: Sequence[_Part]) -> tuple[Row, float]:
    """Return how a method did, and what it proved."""
    started = time.perf_counter()
    learned = method.learn(task)
    seconds = time.perf_counter() - started
    return _row(method.name, method.summary, learned.model, seconds, learned.ended_by, task, parts), learned.bound


def _given(name: str, model: Any, task: Task, parts: Sequence[_Part]) -> Row:
    """Return how a model does that was learned elsewhere."""
    ensemble = as_ensemble(model)
    return _row(name, repr(ensemble), ensemble, 0.0, "heuristic", task, parts)


def _row(
    name: str, title: str, model: Tree | Ensemble, seconds: float, ended_by: str, task: Task, parts: Sequence[_Part]
) -> Row:
    scores = [_score(model, *part, task) for part in parts]
    return Row(
        name,
        title,
        train=scores[0],
        test=scores[1] if len(scores) > 1 else None,
        errors=float(task.problem.weight @ robust_errors(model, task.problem)) if isinstance(model, Tree) else None,
        leaves=model.n_leaves,
        seconds=seconds,
        ended_by=ended_by,
        model=model,
    )


def _split(X: Any, y: Any, sample_weight: Any, test_size: float, seed: int) -> list[_Part]:
    """Return the samples to learn from and, if any are held out, those to test on."""
    labels, weight = as_labels(y, len(X)), as_weights(sample_weight, len(X))
    return [_Part(_rows_of(X, rows), labels[rows], weight[rows]) for rows in _split_rows(labels, test_size, seed)]


def _split_rows(y: NDArray[Any], test_size: float, seed: int) -> list[IntArray]:
    if not 0 <= test_size < 1:
        raise InvalidInputError(f"test_size={test_size!r}; it must be at least 0 and below 1")
    if test_size == 0:
        return [np.arange(len(y))]
    return list(hold_out(y, test_size, seed))


def _choose(names: Sequence[str] | None, problem: Problem) -> tuple[list[Method], dict[str, str]]:
    """Return the methods to run, and why others are left out."""
    chosen = [find_method(name) for name in (DEFAULT_METHODS if names is None else names)]
    obstacles = {method.name: method.obstacle(problem.n_classes) for method in chosen}
    left_out = {name: obstacle for name, obstacle in obstacles.items() if obstacle is not None}
    if names is not None and left_out:
        name, obstacle = next(iter(left_out.items()))
        raise InvalidInputError(f"learner {name!r} cannot be used: {obstacle}")
    return [method for method in chosen if method.name not in left_out], left_out


def _score(model: Tree | Ensemble, X: Any, y: NDArray[Any], weight: FloatArray, task: Task) -> Score:
    attack = task.problem.known_attack
    if isinstance(model, Tree):
        attacked = adversarial_accuracy(model, X, y, attack, weight)
        return Score(accuracy(model, X, y, weight), attacked, attacked)
    low, high = robustness(model, X, y, attack, time_limit=task.time_limit, n_jobs=task.n_jobs).interval(weight)
    return Score(weighted_share(model.predict(X) == y, weight), low, high)
