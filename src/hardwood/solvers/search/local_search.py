"""Good trees early: greedy starts and random roots, improved by exact re-optimisation of subtrees in the core."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import numpy as np

from hardwood import _core
from hardwood.arrays import IntArray
from hardwood.solvers.greedy import CRITERIA, Events, GreedyLearner
from hardwood.solvers.relabel import relabel
from hardwood.solvers.run import Run
from hardwood.solvers.search.model import SearchModel, rows_of, tree_of
from hardwood.tree.index_tree import IndexTree

EFFORT = 200_000_000
"""Random restarts end when so many samples were scanned, about a second."""

EFFORT_OF_STARTS = 2_000_000_000
"""Greedy starts are improved as long as fewer samples were scanned, some seconds; the best known tree always is."""

EFFORT_OF_A_STEP = 500_000_000
"""Samples that one re-optimisation of a subtree may scan, about half a second: what is exact for a few thousand samples
would take minutes for more."""

TIME = 0.3
"""Share of the time that is left, where there is a limit."""


def report_if_cheap(cost: int, tree: IndexTree, model: SearchModel, run: Run) -> None:
    """Report a tree of this cost in parts unless it is worse than the best that is known."""
    # Costs of weights that were rounded do not tell which tree is better.
    if model.step == 1 or cost <= model.in_parts(run.best_objective):
        run.report(tree)


def greedy_trees(model: SearchModel, options: _core.SearchOptions, run: Run) -> list[IndexTree]:
    """Report greedy trees of every criterion and depth, with the best labels for their splits.

    Returns
    -------
    trees : list of IndexTree
        Those of the default criterion, one per depth.
    """
    problem = model.problem
    events = Events.sort(problem, run.control)
    judge = _core.Reoptimiser(model.core, options, run.control)
    kept: list[IndexTree] = []
    seen: set[bytes] = set()
    grown_depth = dict.fromkeys(CRITERIA, problem.max_depth + 1)
    # The deepest ones are mostly the best: they come first, and of these those that count errors.
    for depth in range(problem.max_depth, 0, -1):
        for criterion in reversed(CRITERIA):
            if depth >= grown_depth[criterion]:
                continue  # the same tree again
            if run.should_stop():
                return kept
            rng = np.random.default_rng(run.random_state)
            learner, shallow = GreedyLearner(criterion=criterion), problem.replace(max_depth=depth)
            grown = learner.grow(shallow, rng, events=events, control=run.control)
            grown_depth[criterion] = grown.depth
            if (key := rows_of(grown).tobytes()) in seen:
                continue
            seen.add(key)
            tree = relabel(grown, problem, run.control)
            report_if_cheap(judge.cost_of(model.core, rows_of(tree)), tree, model, run)
            if criterion == CRITERIA[0]:
                kept.insert(0, tree)
    return kept


def random_root(model: SearchModel, random: np.random.Generator) -> IntArray:
    """Return a split on a random end point, with plain leaves that a descent replaces."""
    feature = int(random.integers(model.problem.n_features))
    sample = int(random.integers(model.n))
    last = int(model.core.n_ranks[feature]) - 2
    threshold = min(max(0, model.core.upper_rank(sample, feature)), max(0, last))
    return np.array([[feature, -1, -1], [threshold, -1, -1], [1, -1, -1], [2, -1, -1], [-1, 0, 0]])


class LocalSearch:
    """Subtree re-optimisation from several starts; one thread is deterministic for a ``random_state``.

    Parameters
    ----------
    model : SearchModel
    greedy : sequence of IndexTree
        To start from, beside the best tree that the run knows.
    options : SearchOptions
    run : Run
    n_threads : int
    permits : Semaphore or None
        What a thread needs to improve a start: others may be of use elsewhere at first.
    """

    def __init__(
        self,
        model: SearchModel,
        greedy: Sequence[IndexTree],
        options: _core.SearchOptions,
        run: Run,
        n_threads: int = 1,
        permits: threading.Semaphore | None = None,
    ) -> None:
        self.model = model
        self.greedy = greedy
        self.run = run
        self.control = run.budget(np.inf, TIME)
        self.cores = [_core.Reoptimiser(model.core, options, self.control) for _ in range(n_threads)]
        self.permits = threading.Semaphore(n_threads) if permits is None else permits
        self.random = np.random.default_rng(run.random_state)
        self._lock = threading.Lock()
        self._to_do = chain(self._starts(), self._random_roots())

    def improve(self) -> None:
        """Report the best trees found from greedy starts, from what is known and from random roots."""
        if len(self.cores) == 1:
            self._improve_starts(self.cores[0])  # the caller's own thread answers to Ctrl-C
            return
        with ThreadPoolExecutor(len(self.cores)) as threads:
            for _ in threads.map(self._improve_starts, self.cores):
                pass

    def _improve_starts(self, core: _core.Reoptimiser) -> None:
        """Re-optimise subtrees of depth at most 2, of one start after the other, until none improves."""
        while not self.control.stopped:
            with self.permits:
                with self._lock:
                    start = None if self.run.should_stop() else next(self._to_do, None)
                if start is None:
                    return
                cost, rows = core.descend(self.model.core, start, self.model.depth, EFFORT_OF_A_STEP)
                with self._lock:
                    if cost < self.model.forbidden:
                        report_if_cheap(cost, tree_of(rows), self.model, self.run)

    def _effort(self) -> int:
        """Return how many samples were scanned so far."""
        return sum(core.effort for core in self.cores)

    def _starts(self) -> Iterator[IntArray]:
        """Yield the best tree that is known and the greedy ones."""
        if self.run.best_index_tree is not None:
            yield rows_of(relabel(self.run.best_index_tree, self.model.problem, self.run.control))
        for tree in self.greedy:
            if self._effort() > EFFORT_OF_STARTS:
                return
            yield rows_of(tree)

    def _random_roots(self) -> Iterator[IntArray]:
        """Yield splits on random end points, with plain leaves that the descent replaces."""
        restarts = self.run.options["restarts"]
        for _ in range(2 * (self.model.depth - 2) ** 2 if restarts is None else restarts):
            if self._effort() > EFFORT:
                return
            yield random_root(self.model, self.random)
