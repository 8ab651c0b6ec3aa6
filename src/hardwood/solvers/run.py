"""One solve in progress: what a solver may ask, and where it reports."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hardwood._core import Control
from hardwood.errors import SolverError
from hardwood.problem.problem import Problem
from hardwood.solvers.result import EndReason, TracePoint
from hardwood.solvers.stopping import Criterion, Gap, Interrupt, Proof, TimeLimit
from hardwood.tree.conversion import place, to_indices
from hardwood.tree.index_tree import IndexTree
from hardwood.tree.reach import objective
from hardwood.tree.tree import Tree

FLOAT_TOLERANCE = 1e-9
"""With weights that are not whole numbers, objective and bound meet within this share of the objective."""


WHOLE_SLACK = 1e-6
"""Where objectives are whole numbers, a float this close to one means it."""


ROOT_BOUND_BUDGET = (10.0, 0.1)
"""The bound of any model gets so many seconds, but no more than this share of the time that is left."""


@dataclass(frozen=True)
class RunProgress:
    """What a display is told while a solver runs."""

    seconds: float
    objective: float
    bound: float
    settled: float | None
    plan: str | None = None


class Run:
    """What is known about one solve, and the check of every claim.

    Attributes
    ----------
    problem : Problem
    control : Control
        What the core looks at to stop in time.
    interrupt : Interrupt
        Ends the run when it is asked to.
    start : IndexTree or None
        Tree to start from; already verified and kept.
    best_objective, bound : float
        What is known so far.
    trusted_bound : float
        The bound that does not rest on the solver's word.
    asked : Problem
        What the solver was given: `problem`, or the same with weights that are cut where they cannot matter.
    resolution : float
        Difference of objectives that the solver's arithmetic may miss; 0 if it is exact. Set by the solver.
    random_state, n_jobs : int
    options : dict
        Options of the solver, checked, defaults filled in.
    stats : dict
        Counters that the solver wants to hand to the user.
    plan : str or None
        What the solver said it would do.
    checkpoint : SavedSearch or None
        Where better trees and what is proven are kept.
    client : dask.distributed.Client or None
        The cluster to search on.
    first_trees : list of Tree
        Found before the solver began in earnest, to be improved by it.
    placed, in_indices : callable
        How indices become thresholds, and thresholds indices; a solver may know a way that takes less memory.
    proven_parts : int
        What the records of the checkpoint prove, in parts of a weight. Set by the solver.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        time_limit: TimeLimit,
        max_gap: float,
        random_state: int,
        n_jobs: int,
        options: dict[str, Any],
        on_progress: Callable[[RunProgress], None] | None,
        interrupt: Interrupt | None = None,
        judge: Callable[[Tree], float] | None = None,
        checkpoint: Any = None,
        client: Any = None,
    ) -> None:
        self.problem = problem
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.options = options
        self.stats: dict[str, Any] = {}
        self.plan: str | None = None
        self.checkpoint = checkpoint
        self.client = client
        self.proven_parts = 0
        self.start: IndexTree | None = None
        self.best_objective = math.inf
        self.best_tree: Tree | None = None
        self._best_index_tree: IndexTree | None = None
        self.first_trees: list[Tree] = []
        self.bound = problem.leaf_penalty
        self.trusted_bound = problem.leaf_penalty
        self.asked = problem
        self.resolution = 0.0
        self.trace: list[TracePoint] = []
        self.interrupt = Interrupt() if interrupt is None else interrupt
        self._time_limit = time_limit
        self.criteria: Sequence[Criterion] = (Proof(), self.interrupt, time_limit, Gap(max_gap))
        self._controls: list[Control] = []
        self.control = self._stoppable(time_limit.remaining())
        self._on_progress = on_progress
        self.placed: Callable[[IndexTree], Tree] = lambda tree: place(tree, problem)
        self.in_indices: Callable[[Tree], IndexTree] = lambda tree: to_indices(tree, problem)
        self._judge = judge or (lambda tree: objective(tree, problem))
        self._whole = problem.has_integer_weights

    def elapsed(self) -> float:
        """Seconds since the start."""
        return self._time_limit.elapsed()

    def remaining(self) -> float:
        """Seconds left; infinite without a limit, never negative."""
        return self._time_limit.remaining()

    @property
    def counts_cpu(self) -> bool:
        """Whether seconds left are seconds of CPU time."""
        return self._time_limit.counts_cpu

    def budget(self, seconds: float, share: float) -> Control:
        """Return a control for a step that may take so long, but no more than this share of the time that is left."""
        return self._stoppable(min(seconds, share * self.remaining()))

    def until_left(self, seconds: float, share: float = 1.0) -> Control:
        """Return a control for a step that takes no more than this share of the time and leaves so many seconds."""
        return self.budget(max(0.0, self.remaining() - seconds), share)

    def _stoppable(self, seconds: float) -> Control:
        control = Control(seconds, self.counts_cpu)
        self._controls.append(control)
        self.interrupt.stops(control)
        return control

    @property
    def best_index_tree(self) -> IndexTree | None:
        """The best tree in indices, or None as long as there is no tree."""
        if self._best_index_tree is None and self.best_tree is not None:
            self._best_index_tree = self.in_indices(self.best_tree)
        return self._best_index_tree

    @property
    def tolerance(self) -> float:
        """How far apart objective and bound may be and still count as equal; 0 where they are whole numbers."""
        if self._whole or math.isinf(self.best_objective):
            return 0.0
        rounding = FLOAT_TOLERANCE * self.best_objective
        return rounding if self.bound >= self.best_objective else max(rounding, self.resolution)

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
        return self.best_objective <= self.bound + self.tolerance

    @property
    def end_reason(self) -> EndReason | None:
        """The first criterion that is met, if any is."""
        return next((criterion.reason for criterion in self.criteria if criterion.is_met(self)), None)

    def should_stop(self) -> bool:
        """Whether optimality is proven, somebody interrupts, time is up or the gap small enough."""
        if self.end_reason is None:
            return False
        self.control.request_stop()
        return True

    def end(self) -> None:
        """Stop what may still compute, and tell the display no more: it may have been what interrupted."""
        for control in self._controls:
            control.request_stop()
            self.interrupt.forget(control)
        self._on_progress = None

    def search_again(self) -> None:
        """Begin another search with what is known, after one that came to its end."""
        self.resolution = 0.0
        self.control = self._stoppable(self.remaining())

    def report(
        self, tree: IndexTree | Tree | None = None, *, bound: float | None = None, claim: float | None = None
    ) -> float | None:
        """Take a tree, a lower bound, or both.

        Parameters
        ----------
        tree : IndexTree, Tree or None
            Its objective is recomputed here; that number is what counts. Indices become thresholds at maximum margin;
            a tree that has thresholds already keeps them.
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
            placed = self.placed(tree) if isinstance(tree, IndexTree) else tree
            cost = self._judge(placed)
            if claim is not None:
                self._check_claim(claim, placed, cost)
            if self._is_better(cost, placed):
                improved = cost < self.best_objective
                self.best_objective, self.best_tree, self._best_index_tree = cost, placed, None
                if self.checkpoint is not None:
                    self.checkpoint.keep_tree(placed, cost)
        if bound is not None:
            usable = math.ceil(bound - WHOLE_SLACK) if self._whole and math.isfinite(bound) else bound
            if usable > self.bound:
                self.bound = float(usable)
                improved = True
        if self.bound > self.best_objective + self._slack(self.best_objective):
            raise SolverError(f"claims a bound of {self.bound:g}, but a tree that costs {self.best_objective:g} exists")
        if improved:
            self.trace.append(TracePoint(self.elapsed(), self.best_objective, self.bound))
            self.progress()
        return cost

    def _check_claim(self, claim: float, tree: Tree, cost: float) -> None:
        asked = cost if self.asked is self.problem else objective(tree, self.asked)
        if claim < asked - self._slack(asked):
            raise SolverError(f"claims an objective of {claim:g} for a tree that costs {asked:g}")

    def _slack(self, value: float) -> float:
        """Return how far a solver's number may be off without being a lie: rounding, and what it cannot tell apart."""
        return WHOLE_SLACK if self._whole else max(FLOAT_TOLERANCE * value, self.resolution)

    def _is_better(self, cost: float, tree: Tree) -> bool:
        if cost < self.best_objective:
            return True
        # Among equally good trees the one with fewer leaves.
        return cost == self.best_objective and self.best_tree is not None and tree.n_leaves < self.best_tree.n_leaves

    def tell_plan(self, plan: str | None) -> None:
        """Keep what will be done, in words, and tell the display."""
        self.plan = plan
        if plan is not None and self._on_progress is not None:
            self._on_progress(RunProgress(self.elapsed(), self.best_objective, self.bound, None, plan))

    def progress(self, settled: float | None = None) -> None:
        """Tell the display, if there is one, that the run is alive."""
        if self._on_progress is not None:
            self._on_progress(RunProgress(self.elapsed(), self.best_objective, self.bound, settled))
