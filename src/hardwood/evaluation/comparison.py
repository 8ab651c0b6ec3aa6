"""All learners side by side on one data set: what robustness costs, and whether optimal is worth it.

Every learner is trained on the same part of the data and scored on that part and on the part held out, with and without
the attacker. The least number of errors that any tree of the depth can have, as far as it is proven, stands beside what
each of them reaches.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood.arrays import FloatArray
from hardwood.attack.model import AttackModel
from hardwood.bounds import matching_bound
from hardwood.data.frames import as_matrix, check_finite
from hardwood.ensembles.voting import Ensemble
from hardwood.errors import InvalidInputError
from hardwood.evaluation.metrics import accuracy, adversarial_accuracy
from hardwood.problem.problem import Problem, as_labels
from hardwood.solvers import registered_solvers, solve
from hardwood.solvers.relabel import relabel
from hardwood.tree.reach import robust_errors
from hardwood.tree.tree import Tree


@dataclass(frozen=True)
class Task:
    """What a learner is given: the training part as a problem, and limits."""

    problem: Problem
    time_limit: float
    n_jobs: int
    random_state: int

    def solve(self, solver: str, options: Mapping[str, Any] | None = None, problem: Problem | None = None) -> Learned:
        """Run a solver on the problem, or on another one."""
        result = solve(
            self.problem if problem is None else problem,
            solver,
            time_limit=self.time_limit,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            options=options,
        )
        # What is proven about another problem says nothing about this one.
        return Learned(result.tree, result.bound if problem is None else 0.0, result.stopped_by)


@dataclass(frozen=True)
class Learned:
    """What a learner brings back."""

    model: Tree | Ensemble
    bound: float = 0.0
    ended_by: str = "heuristic"


@dataclass(frozen=True)
class Learner:
    """A way to learn a model, by name."""

    name: str
    title: str
    learn: Callable[[Task], Learned]
    needs_solver: str | None = None
    two_classes_only: bool = False

    def obstacle(self, n_classes: int) -> str | None:
        """Return why the learner cannot be used, if so."""
        if self.needs_solver is not None and self.needs_solver not in registered_solvers():
            return f"solver {self.needs_solver!r} is not there"
        if self.two_classes_only and n_classes > 2:
            return f"it is for two classes, the data has {n_classes}"
        return None


def _cart(task: Task) -> Tree:
    from sklearn.tree import DecisionTreeClassifier

    from hardwood.export import from_sklearn

    problem = task.problem
    cart = DecisionTreeClassifier(max_depth=max(problem.max_depth, 1), random_state=task.random_state)
    return from_sklearn(cart.fit(problem.values, problem.classes[problem.label]), problem.feature_names)


def _forest(task: Task) -> Learned:
    from hardwood.ensembles.forest import grow_forest
    from hardwood.solvers.greedy import GreedyLearner

    learner = GreedyLearner(max_features="sqrt")
    trees = grow_forest(task.problem, learner, 100, n_jobs=task.n_jobs, random_state=task.random_state)
    return Learned(Ensemble(trees))


def _optimal_plain(task: Task) -> Learned:
    problem = task.problem
    return task.solve("search", problem=problem.replace(lower=problem.values, upper=problem.values))


def _greedy(criterion: str, impurity: str = "gini") -> Callable[[Task], Learned]:
    return lambda task: task.solve("greedy", {"criterion": criterion, "impurity": impurity})


_NAIVE = (
    Learner("cart", "CART", lambda task: Learned(_cart(task))),
    Learner("plain", "optimal, no attacker in mind", _optimal_plain, needs_solver="search"),
)
_ROBUST = (
    Learner("relabel", "CART, relabelled", lambda task: Learned(relabel(_cart(task), task.problem))),
    Learner("chen", "Chen et al., Gini", _greedy("chen")),
    Learner("chen-ig", "Chen et al., information gain", _greedy("chen", "entropy")),
    Learner("groot", "GROOT", _greedy("groot")),
    Learner("fprdt", "FPRDT", _greedy("adversarial-error")),
    Learner("treant", "TREANT", lambda task: task.solve("treant"), two_classes_only=True),
    Learner("forest", "forest of 100 GROOT trees", _forest),
    Learner("search", "optimal robust", lambda task: task.solve("search"), needs_solver="search"),
)
DEFAULT_LEARNERS = tuple(learner.name for learner in (*_NAIVE, *_ROBUST))
"""What a comparison runs unless told otherwise: the naive choices first, the exact search last."""


def known_learners() -> dict[str, Learner]:
    """Return all learners by name: the default ones, and every solver that proves optimality."""
    found = {learner.name: learner for learner in (*_NAIVE, *_ROBUST)}
    for name, solver in registered_solvers().items():
        if solver.proves and name not in found:
            found[name] = Learner(name, name, lambda task, name=name: task.solve(name))  # type: ignore[misc]
    return found


@dataclass(frozen=True)
class Score:
    """Accuracy on one part of the data, as it is and under attack.

    For a forest the accuracy under attack is what is certified (`attacked`) up to what no search could refute
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
        Training samples lost to the attacker; None for a forest, to which the bound does not apply.
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
    """

    rows: tuple[Row, ...]
    left_out: dict[str, str]
    bound: float
    bound_by: str
    n_train: int
    n_test: int
    max_depth: int
    attack: str

    @property
    def accuracy_bound(self) -> float:
        """Return the accuracy under attack on the training part that no tree of this depth exceeds."""
        return 1 - self.bound / self.n_train

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
    test_size: float = 0.2,
    time_limit: float = 60.0,
    n_jobs: int = 1,
    random_state: int = 0,
    feature_names: Sequence[str] | None = None,
    on_start: Callable[[str], None] | None = None,
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
        Names as in `known_learners`; `DEFAULT_LEARNERS` by default, without those that cannot be used here.
    test_size : float
        Share that is held out, stratified by class; 0 for none.
    time_limit : float
        Seconds for each learner.
    n_jobs, random_state : int
    feature_names : sequence of str or None
        Those of the columns of X by default, where it has any.
    on_start : callable or None
        Called with the title of each learner before it runs.
    """
    matrix, names = as_matrix(X)
    names = names if feature_names is None else tuple(feature_names)
    check_finite(matrix, names)
    labels = as_labels(y, len(matrix))
    parts = _split(matrix, labels, test_size, random_state)
    train_X, train_y = parts[0]
    given = AttackModel.parse(attack)
    model = given.fit(train_X, names)
    problem = Problem.from_data(train_X, train_y, model, max_depth, feature_names=names)
    chosen, left_out = _choose(learners, problem.n_classes)
    task = Task(problem, time_limit, n_jobs, random_state)
    rows: list[Row] = []
    bound, bound_by = matching_bound(problem), "samples in conflict"
    for learner in chosen:
        if on_start is not None:
            on_start(learner.title)
        started = time.perf_counter()
        learned = learner.learn(task)
        seconds = time.perf_counter() - started
        if learned.bound > bound:
            bound, bound_by = learned.bound, learner.title
        trees = (learned.model,) if isinstance(learned.model, Tree) else learned.model.trees
        scores = [_score(learned.model, *part, model) for part in parts]
        rows.append(
            Row(
                learner.name,
                learner.title,
                train=scores[0],
                test=scores[1] if len(scores) > 1 else None,
                errors=float(robust_errors(learned.model, problem).sum()) if isinstance(learned.model, Tree) else None,
                leaves=sum(tree.n_leaves for tree in trees),
                seconds=seconds,
                ended_by=learned.ended_by,
                model=learned.model,
            )
        )
    n_test = len(parts[1][1]) if len(parts) > 1 else 0
    return Comparison(
        tuple(rows), left_out, bound, bound_by, len(train_y), n_test, problem.max_depth, given.describe(names)
    )


def _split(X: FloatArray, y: NDArray[Any], test_size: float, seed: int) -> list[tuple[FloatArray, NDArray[Any]]]:
    if not 0 <= test_size < 1:
        raise InvalidInputError(f"test_size={test_size!r}; it must be at least 0 and below 1")
    if test_size == 0:
        return [(X, y)]
    from sklearn.model_selection import train_test_split

    try:
        X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, test_size=test_size, random_state=seed)
    except ValueError as error:
        raise InvalidInputError(
            f"{test_size:g} of the data cannot be held out with all classes on both sides: {error}"
        ) from error
    return [(X_train, y_train), (X_test, y_test)]


def _choose(names: Sequence[str] | None, n_classes: int) -> tuple[list[Learner], dict[str, str]]:
    known = known_learners()
    if names is not None:
        for name in names:
            if name not in known:
                raise InvalidInputError(f"learner {name!r} is not known; the learners are {', '.join(known)}")
            obstacle = known[name].obstacle(n_classes)
            if obstacle is not None:
                raise InvalidInputError(f"learner {name!r} cannot be used: {obstacle}")
        return [known[name] for name in names], {}
    obstacles = {name: known[name].obstacle(n_classes) for name in DEFAULT_LEARNERS}
    usable = [known[name] for name, obstacle in obstacles.items() if obstacle is None]
    return usable, {name: obstacle for name, obstacle in obstacles.items() if obstacle is not None}


def _score(model: Tree | Ensemble, X: FloatArray, y: NDArray[Any], attack: AttackModel) -> Score:
    if isinstance(model, Tree):
        attacked = adversarial_accuracy(model, X, y, attack)
        return Score(accuracy(model, X, y), attacked, attacked)
    low, high = model.robustness(X, y, attack, exact=False).interval()
    return Score(float(np.mean(model.predict(X) == y)), low, high)
