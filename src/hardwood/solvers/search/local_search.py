"""Good trees early: greedy starts and random roots, improved by exact re-optimisation of subtrees in the core."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hardwood import _core
from hardwood.arrays import IntArray
from hardwood.solvers.greedy import Events, GreedyLearner
from hardwood.solvers.relabel import relabel
from hardwood.solvers.run import Run
from hardwood.solvers.search.model import SearchModel, rows_of, tree_of

EFFORT = 200_000_000
"""Random restarts end when so many samples were scanned, about a second."""

EFFORT_OF_A_STEP = 500_000_000
"""Samples that one re-optimisation of a subtree may scan, about half a second: what is exact for a few thousand samples
would take minutes for more."""

TIME = 0.3
"""Share of the time that is left, where there is a limit."""


class LocalSearch:
    """Subtree re-optimisation from several starts; deterministic for a ``random_state``."""

    def __init__(self, model: SearchModel, options: _core.SearchOptions, run: Run) -> None:
        self.model = model
        self.run = run
        self.control = _core.Control(None if np.isinf(run.remaining()) else TIME * run.remaining())
        self.core = _core.Reoptimiser(model.core, options, self.control)
        self.random = np.random.default_rng(run.random_state)

    def improve(self) -> None:
        """Report the best trees found from greedy starts, from what is known and from random roots."""
        if self.model.depth == 2:
            # The search itself is as fast as one re-optimisation.
            return
        for start in self._starts():
            self._descend(start)
            if self._is_over():
                return
        restarts = self.run.options["restarts"]
        for _ in range(2 * (self.model.depth - 2) ** 2 if restarts is None else restarts):
            if self._is_over() or self.core.effort > EFFORT:
                return
            self._descend(self._random_root())

    def _is_over(self) -> bool:
        return self.run.should_stop() or self.control.stopped

    def _starts(self) -> Iterator[IntArray]:
        """Yield what is known already and greedy trees of every depth, with the best labels for their splits."""
        problem, control = self.model.problem, self.run.control
        if self.run.best_index_tree is not None:
            yield rows_of(relabel(self.run.best_index_tree, problem, control))
        events = Events.sort(problem, control)
        for depth in range(1, self.model.depth + 1):
            shallow = problem.replace(max_depth=depth)
            tree = GreedyLearner().grow(shallow, self.random, events=events, control=control)
            yield rows_of(relabel(tree, problem, control))
            if tree.depth < depth:
                return  # more depth gives the same tree

    def _random_root(self) -> IntArray:
        """Return a split on a random end point, with plain leaves that the descent replaces."""
        feature = int(self.random.integers(self.model.problem.n_features))
        row = int(self.model.row[self.random.integers(self.model.n)])
        last = int(self.model.problem.n_ranks[feature]) - 2
        threshold = min(max(0, int(self.model.problem.upper_rank[row, feature])), max(0, last))
        return np.array([[feature, -1, -1], [threshold, -1, -1], [1, -1, -1], [2, -1, -1], [-1, 0, 0]])

    def _descend(self, start: IntArray) -> None:
        """Re-optimise subtrees of depth at most 2 until none improves, and report the tree."""
        cost, rows = self.core.descend(self.model.core, start, self.model.depth, EFFORT_OF_A_STEP)
        if cost < self.model.forbidden:
            self.run.report(tree_of(rows))
