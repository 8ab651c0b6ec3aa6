"""The solver protocol and the one `solve` that distrusts them all.

A solver writes one method, `Solver._run`, which reports trees and bounds as it finds them. Everything that must hold
for every solver is done here: the clock, the start, Ctrl-C, a back-end that crashes, and the check of every claim.
"""

from __future__ import annotations

import math
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np

from hardwood.bounds import matching_bound
from hardwood.errors import HardwoodError, InvalidInputError, MissingEngineError, SolverError
from hardwood.problem.problem import Problem
from hardwood.solvers.result import Result, Status, TracePoint
from hardwood.tree.reach import objective, place, to_indices
from hardwood.tree.tree import IndexTree, Tree

FLOAT_TOLERANCE = 1e-9
"""With weights that are not whole numbers, objective and bound meet within this share of the total weight."""


MOST_CELLS_FOR_ROOT_BOUND = 2_000_000
"""On larger tables the bound of any model may take longer than a user wants to wait for a first tree."""


class SolverFailureWarning(UserWarning):
    """A solver failed; the best tree that was verified before is returned."""


@dataclass(frozen=True)
class Engine:
    """A third-party library that a solver can run on."""

    name: str
    module: str
    extra: str | None = None
    package: str | None = None

    @property
    def is_installed(self) -> bool:
        """Whether the library can be imported; found without importing it."""
        return find_spec(self.module) is not None

    def require(self) -> None:
        """Raise an error that says how to install the library if it is missing."""
        if not self.is_installed:
            what = f"hardwood[{self.extra}]" if self.extra else self.package or self.module
            raise MissingEngineError(f"engine {self.name!r} is not installed; install it with: pip install '{what}'")


@dataclass(frozen=True)
class Progress:
    """What a display is told while a solver runs."""

    seconds: float
    objective: float
    bound: float
    settled: float | None


class Run:
    """One solve in progress: what the solver may ask, and where it reports.

    Attributes
    ----------
    start : IndexTree or None
        Tree to start from; already verified and kept.
    best_objective, bound : float
        What is known so far.
    random_state, n_jobs : int
    max_gap : float
        The run may end as soon as the relative gap is at most this.
    options : dict
        Options of the solver, defaults filled in.
    stats : dict
        Counters that the solver wants to hand to the user.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        time_limit: float | None,
        started: float,
        max_gap: float,
        random_state: int,
        n_jobs: int,
        options: dict[str, Any],
        on_progress: Callable[[Progress], None] | None,
    ) -> None:
        self.problem = problem
        self.max_gap = max_gap
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.options = options
        self.stats: dict[str, Any] = {}
        self.start: IndexTree | None = None
        self.best_objective = math.inf
        self.best_tree: Tree | None = None
        self.best_index_tree: IndexTree | None = None
        self.bound = problem.leaf_penalty
        self.trace: list[TracePoint] = []
        self._started = started
        self._deadline = math.inf if time_limit is None else started + time_limit
        self._on_progress = on_progress
        whole = problem.has_integer_weights
        self._tolerance = 0.0 if whole else FLOAT_TOLERANCE * float(problem.weight.sum())
        self._whole = whole

    def elapsed(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._started

    def remaining(self) -> float:
        """Seconds left; infinite without a limit, never negative."""
        return max(0.0, self._deadline - time.perf_counter())

    @property
    def gap(self) -> float:
        """Relative gap between objective and bound; infinite as long as there is no tree."""
        if self.is_proven:
            return 0.0
        if math.isinf(self.best_objective):
            return math.inf
        return (self.best_objective - self.bound) / self.best_objective

    @property
    def is_proven(self) -> bool:
        """Whether objective and bound have met."""
        return self.best_objective <= self.bound + self._tolerance

    def should_stop(self) -> bool:
        """Whether time is up, optimality proven or the gap small enough."""
        return self.remaining() <= 0 or self.gap <= self.max_gap

    def report(
        self, tree: IndexTree | None = None, *, bound: float | None = None, claim: float | None = None
    ) -> float | None:
        """Take a tree, a lower bound, or both.

        Parameters
        ----------
        tree : IndexTree or None
            Its objective is recomputed here; that number is what counts.
        bound : float or None
            Proven lower bound on the objective. Rounded up where objectives are whole numbers.
        claim : float or None
            What the solver thinks `tree` costs. Less than the truth is an error in the solver; more is not, since
            the incumbents of some solvers are loose.

        Returns
        -------
        objective : float or None
            The true objective of `tree`.
        """
        cost = None
        improved = False
        if tree is not None:
            placed = place(tree, self.problem)
            cost = objective(placed, self.problem)
            if claim is not None and claim < cost - max(self._tolerance, 1e-6):
                raise SolverError(f"claims an objective of {claim:g} for a tree that costs {cost:g}")
            if self._is_better(cost, placed):
                improved = cost < self.best_objective
                self.best_objective, self.best_tree, self.best_index_tree = (
                    cost,
                    placed,
                    to_indices(placed, self.problem),
                )
        if bound is not None:
            usable = math.ceil(bound - 1e-6) if self._whole and math.isfinite(bound) else bound
            if usable > self.bound:
                self.bound = float(usable)
                improved = True
        if self.bound > self.best_objective + max(self._tolerance, 1e-6):
            raise SolverError(f"claims a bound of {self.bound:g}, but a tree that costs {self.best_objective:g} exists")
        if improved:
            self.trace.append(TracePoint(self.elapsed(), self.best_objective, self.bound))
            self.progress()
        return cost

    def _is_better(self, cost: float, tree: Tree) -> bool:
        if cost < self.best_objective:
            return True
        # Among equally good trees the one with fewer leaves.
        return cost == self.best_objective and self.best_tree is not None and tree.n_leaves < self.best_tree.n_leaves

    def progress(self, settled: float | None = None) -> None:
        """Tell the display, if there is one, that the run is alive."""
        if self._on_progress is not None:
            self._on_progress(Progress(self.elapsed(), self.best_objective, self.bound, settled))


class Solver(ABC):
    """A way to find robust trees.

    Class attributes
    ----------------
    name : str
        What users write as ``solver=``.
    summary : str
        One line for ``hardwood solvers``.
    proves : bool
        Whether it can prove optimality.
    engines : tuple of Engine
        Libraries it can run on, the default first; empty if it is all our own.
    defaults : mapping
        Options it takes and their default values.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    proves: ClassVar[bool] = True
    engines: ClassVar[tuple[Engine, ...]] = ()
    defaults: ClassVar[Mapping[str, Any]] = {}
    supports_float_weights: ClassVar[bool] = True
    supports_leaf_penalty: ClassVar[bool] = False
    supports_min_samples_leaf: ClassVar[bool] = False

    @abstractmethod
    def _run(self, problem: Problem, run: Run) -> None:
        """Search; report trees and bounds to `run`; return when done or when ``run.should_stop()``."""

    def prepare(self, problem: Problem) -> None:
        """Make sure that what this solver needs is compiled; called before the clock of the run starts.

        Numba compiles a kernel on the first call on a machine, which takes seconds, and loads it from disk in every
        later process. Neither is time that a solver has had to look for a tree.
        """
        if "base" not in _PREPARED:
            _PREPARED.add("base")
            tiny = tiny_problem(1)
            matching_bound(tiny)
            objective(place(best_leaf(tiny), tiny), tiny)

    def check(self, problem: Problem) -> None:
        """Raise if the problem asks for something that this solver cannot do."""
        for asked, can, what in (
            (
                not problem.has_integer_weights,
                self.supports_float_weights,
                "weights that are not whole numbers",
            ),
            (problem.leaf_penalty > 0, self.supports_leaf_penalty, "leaf_penalty"),
            (problem.min_samples_leaf > 0, self.supports_min_samples_leaf, "min_samples_leaf"),
        ):
            if asked and not can:
                raise InvalidInputError(f"solver {self.name!r} does not support {what}; use solver='search'")


_REGISTRY: dict[str, type[Solver]] = {}
_PREPARED: set[str] = set()


def tiny_problem(max_depth: int) -> Problem:
    """Return a problem that takes no time but for which nothing can be skipped: one feature, classes in turn."""
    n = 40
    return Problem.from_data(np.arange(float(n)).reshape(-1, 1), np.arange(n) % 2, 0.1, max_depth)


def register(cls: type[Solver]) -> type[Solver]:
    """Class decorator: make a solver known under its name."""
    _REGISTRY[cls.name] = cls
    return cls


def registered_solvers() -> dict[str, type[Solver]]:
    """Return all known solvers by name."""
    return dict(_REGISTRY)


def get_solver(name: str) -> Solver:
    """Return the solver of that name."""
    if not isinstance(name, str) or name not in _REGISTRY:
        raise InvalidInputError(f"solver={name!r} is not known; the solvers are {', '.join(map(repr, _REGISTRY))}")
    return _REGISTRY[name]()


def best_leaf(problem: Problem) -> IndexTree:
    """Return the best tree without a split: the heaviest class."""
    return IndexTree.leaf(int(np.argmax(problem.class_weight_sums)))


def solve(
    problem: Problem,
    solver: str = "search",
    *,
    time_limit: float | None = None,
    start: str | Tree | IndexTree | None = None,
    max_gap: float = 0.0,
    random_state: int = 0,
    n_jobs: int = 1,
    options: Mapping[str, Any] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    started: float | None = None,
) -> Result:
    """Find a robust tree and say how good it is.

    Parameters
    ----------
    problem : Problem
    solver : str
        A registered solver.
    time_limit : float or None
        Seconds. The best tree so far is returned when they are over. Compiling kernels, which happens once on a
        machine (or ahead of time with ``hardwood warm-up``), does not count.
    start : None, "greedy", Tree or IndexTree
        Where the solver starts; the result is never worse.
    max_gap : float
        Stop as soon as ``(objective - bound) / objective`` is at most this.
    random_state, n_jobs : int
    options : mapping or None
        Options of the solver, see its ``defaults``.
    on_progress : callable or None
        Called with a `Progress` now and then.
    started : float or None
        `time.perf_counter` of the moment from which `time_limit` counts; now by default.

    Returns
    -------
    Result
        Its objective was recomputed from its tree, whatever the solver claimed.
    """
    started = time.perf_counter() if started is None else started
    if time_limit is not None and not time_limit >= 0:
        raise InvalidInputError(f"time_limit={time_limit!r}; it must be a number of seconds >= 0 or None")
    if not 0 <= max_gap < 1:
        raise InvalidInputError(f"max_gap={max_gap!r}; it must be at least 0 and below 1")
    method = get_solver(solver)
    method.check(problem)
    before = time.perf_counter()
    method.prepare(problem)
    started += time.perf_counter() - before
    run = Run(
        problem,
        time_limit=time_limit,
        started=started,
        max_gap=max_gap,
        random_state=random_state,
        n_jobs=n_jobs,
        options=_filled_in(method, options),
        on_progress=on_progress,
    )
    if method.proves:
        # The result of a heuristic is its own tree, for better or worse; any other starts from something.
        run.report(best_leaf(problem))
    _take_start(run, start)
    if method.proves and problem.lower.size <= MOST_CELLS_FOR_ROOT_BOUND and not run.should_stop():
        # What no model can avoid, and one leaf: often all the proof that is needed (Theorem 2 of the paper).
        run.report(bound=matching_bound(problem) + problem.leaf_penalty)
    if method.proves and run.is_proven:
        return _as_result(method, run, "proof")
    stopped_by = _guarded(method, run, reported_before=len(run.trace), has_start=start is not None)
    return _as_result(method, run, stopped_by)


def _filled_in(method: Solver, options: Mapping[str, Any] | None) -> dict[str, Any]:
    given = dict(options or {})
    unknown = sorted(set(given) - set(method.defaults))
    if unknown:
        known = ", ".join(map(repr, method.defaults)) or "none"
        raise InvalidInputError(f"solver {method.name!r} has no option {unknown[0]!r}; its options are: {known}")
    return {**method.defaults, **given}


def _take_start(run: Run, start: str | Tree | IndexTree | None) -> None:
    if start is None:
        return
    if isinstance(start, str):
        if start != "greedy":
            raise InvalidInputError(f"start={start!r}; it must be None, 'greedy' or a Tree")
        run.start = solve(run.problem, "greedy", random_state=run.random_state).index_tree
    elif isinstance(start, Tree):
        if start.n_features != run.problem.n_features:
            raise InvalidInputError(
                f"the start tree is for {start.n_features} features, the data has {run.problem.n_features}"
            )
        run.start = to_indices(start, run.problem)
    elif isinstance(start, IndexTree):
        run.start = start
    else:
        raise InvalidInputError(f"start={start!r}; it must be None, 'greedy' or a Tree")
    if run.start.depth > run.problem.max_depth:
        raise InvalidInputError(
            f"the start tree has depth {run.start.depth}, more than max_depth={run.problem.max_depth}"
        )
    run.report(run.start)


def _guarded(method: Solver, run: Run, reported_before: int, has_start: bool) -> str:
    """Run the solver and say why it ended; nothing that was verified is lost, whatever happens inside."""
    try:
        method._run(run.problem, run)
    except KeyboardInterrupt:
        return "interrupt"
    except (InvalidInputError, MissingEngineError):
        raise
    except Exception as error:
        reason = str(error) if isinstance(error, HardwoodError) else f"{type(error).__name__}: {error}"
        # What a solver proved before it was caught lying is worth nothing.
        if isinstance(error, SolverError):
            run.bound = run.problem.leaf_penalty
        if len(run.trace) > reported_before or has_start:
            warnings.warn(
                f"solver {method.name!r} failed ({reason}); returning the best tree verified so far",
                SolverFailureWarning,
                stacklevel=3,
            )
            return f"failure: {reason}"
        raise SolverError(f"solver {method.name!r} failed: {reason}") from error
    if run.is_proven:
        return "proof"
    if run.remaining() <= 0:
        return "time limit"
    return "gap" if method.proves and run.gap <= run.max_gap else "heuristic"


def _as_result(method: Solver, run: Run, stopped_by: str) -> Result:
    if run.best_tree is None:
        run.report(best_leaf(run.problem))
    assert run.best_tree is not None
    assert run.best_index_tree is not None
    return Result(
        tree=run.best_tree,
        index_tree=run.best_index_tree,
        status=Status.OPTIMAL if run.is_proven else Status.FEASIBLE,
        objective=run.best_objective,
        bound=min(run.bound, run.best_objective),
        trace=tuple(run.trace),
        runtime=run.elapsed(),
        solver=method.name,
        stopped_by=stopped_by,
        stats=run.stats,
    )
