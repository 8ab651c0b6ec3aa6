"""A bound early, where there are many samples: the sum of what is proven for small parts of them.

Let S_1, ..., S_k be disjoint sets of samples. One tree has to serve all of them, so whatever the tree,

    errors(T) = sum_k errors(T, S_k) >= sum_k min_{T_k} errors(T_k, S_k),

and each term is the same problem with few samples, for which stages of the search are fast. Every part that is done
raises the bound. A tree for a thousand samples fits them better than one for all does, so the bound does not reach the
optimum, but it comes close where samples are many and trees are small. A stage over all samples proves more in the
same time, but nothing before it is finished: parts are for runs with a time limit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hardwood import _core
from hardwood.arrays import IntArray
from hardwood.problem.endpoints import rank_reach
from hardwood.solvers.run import Run
from hardwood.solvers.search.model import SearchModel
from hardwood.solvers.search.root import run_stage

SIZE = 1000
"""Samples of a part."""

SHARES = (0.5, 0.8, 0.95)
"""Shares of a part's part of the incumbent that are proven, all parts with one share before the next."""

EFFORT = 10**9
"""Samples that a stage of one part may scan, about two seconds."""

TIME = 0.4
"""Share of the time that is left."""


class BoundByParts:
    """Add up proven bounds of disjoint parts of the samples, in a share of the time; `on_turn` is called after each."""

    def __init__(
        self,
        model: SearchModel,
        options: _core.SearchOptions,
        run: Run,
        on_turn: Callable[[], None] = lambda: None,
        time: float = TIME,
    ) -> None:
        self.model = model
        self.options = options
        self.run = run
        self.on_turn = on_turn
        self.control = _core.Control(time * run.remaining(), run.counts_cpu)
        # Views of one array, each sorted where it is.
        order = np.random.default_rng(run.random_state).permutation(np.arange(model.n, dtype=np.int32))
        self.parts = np.array_split(order, -(-model.n // SIZE))
        for part in self.parts:
            part.sort()
        self.proven = np.zeros(len(self.parts), np.int64)
        self.is_open = np.ones(len(self.parts), bool)

    def prove(self) -> None:
        """Raise the bound part by part until all shares are proven or the time for it is over."""
        if not self.model.is_exhaustive:
            return
        for share in SHARES:
            if share * self.run.best_objective <= self.run.bound:
                continue
            for k in np.flatnonzero(self.is_open):
                self._raise(int(k), share)
                self.on_turn()
                # The leaf that any tree has is the only one that a bound on errors may count.
                self.run.report(bound=float(self.proven.sum()) / self.model.scale + self.run.problem.leaf_penalty)
                if self.run.should_stop() or self.control.stopped:
                    return

    def _raise(self, k: int, share: float) -> None:
        """Prove a share of the incumbent's errors for one part, or its optimum if that is less."""
        part = self.parts[k]
        weight = int(self.model.weight[part].sum())
        errors = self.model.in_parts(self.run.best_objective - self.run.problem.leaf_penalty)
        target = int(share * errors * (weight / max(1, int(self.model.weight.sum()))))
        depth = min(self.model.depth, len(part) - 1)
        if target <= self.proven[k] or depth < 2:
            return
        core = _core.RootSearch(self._problem(part, weight), self.options, depth, self.run.n_jobs, self.control)
        core.set_effort(EFFORT)
        is_finished = run_stage(
            core, target, weight + 1, self.run, lambda cost, rows: None, lambda settled: self.run.progress()
        )
        if is_finished:
            self.proven[k] = min(self.model.next_cost(core.cutoff), core.best)
        # What was not finished would not be with a higher target; a part whose optimum is known has no more to give.
        self.is_open[k] = is_finished and core.cutoff == target

    def _problem(self, part: IntArray, weight: int) -> _core.SearchProblem:
        """Return the problem of some samples, in ranks of their own ends; no limits on leaves."""
        model, problem = self.model, self.model.problem
        rows = model.row[part]
        ends = rank_reach(problem.reach.take(rows), problem.values[rows])
        return _core.SearchProblem(
            ends.lower_rank,
            ends.upper_rank,
            np.arange(len(part)),
            ends.n_ranks,
            problem.label[rows],
            np.ones(len(part), np.int64),
            model.weight[part],
            n_classes=problem.n_classes,
            penalty=0,
            forbidden=weight + 1,
            step=model.step,
            min_leaf=0,
        )
