"""The root of the search: stages that raise the bound, watched while the core's threads work."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from math import inf

from hardwood import _core
from hardwood.arrays import IntArray
from hardwood.solvers.run import Run
from hardwood.solvers.search.local_search import DEEP_REACH, REACH, LocalSearch, Shifts, polished
from hardwood.solvers.search.model import VERY_LARGE, SearchModel, tree_of
from hardwood.solvers.search.scout import Scout

POLL, SHORTEST_POLL, POLLS = 0.05, 0.002, 20
"""Seconds between two looks at the clock while the threads run, and how many looks a short run gets: a thread that
looked for trees proves only after the next look, which in a run of a tenth of a second must not be half of it."""

MANY_STEPS = 2000
"""From so many errors on, the last per cent of the bound are proven in stages of their own."""

STAGES_OF_LARGE = (0.5, 0.85, 0.98, 0.996, 0.998)
"""Shares of the incumbent that are proven first at depth 2 on very large tables, where the last stage takes minutes."""

FIRST_SPELL, LATER_SPELLS = 2 * 10**8, 4
"""Samples that a thread scans in a stage, some tenths of a second, before better trees are looked for; and by which
factor later spells are longer."""

LOOKING, LOOKING_WIDELY, WIDE_GAP = 0.5, 2.0, 0.5
"""How many samples may be scanned for better trees after a spell, as a multiple of it; and where the gap is wider than
this, since there the proof is far from its end."""

LEAST_LOOK, LOOKING_NEARBY = 10**7, 1 / 6
"""At depth 3: samples or blocks that stages must have scanned before better trees are looked for near the best one, and
how many may be scanned for it, as a multiple of what was scanned since the last time."""

WORTHWHILE = 0.1
"""A stage before the last that would close less than this share of the gap is left out."""

UNLIMITED = 1 << 62

EARLY = 0.85
"""Up to this share of the incumbent is proven while better trees are still looked for."""


def run_stage(
    core: _core.RootSearch,
    target: int,
    best: int,
    run: Run,
    on_tree: Callable[[int, IntArray], None],
    on_progress: Callable[[float], None],
    until: float = inf,
) -> bool:
    """Let the core search everything below the target; whether that was finished.

    What is cut short is not lost: the core remembers what it settled, and the same stage goes on from there.

    Parameters
    ----------
    core : RootSearch
    target, best : int
        Trees of interest cost less than the target, and than `best` by a step.
    run : Run
        Asked in short turns whether to stop.
    on_tree : callable
        Called in short turns with cost and rows of the best tree, if there is a better one.
    on_progress : callable
        Called with the share of the work that is settled.
    until : float
        Second of the run at which it is cut short.
    """
    try:
        core.start(target, best)
        is_running, settled, items = True, 0, 1
        while is_running and run.elapsed() < until:
            turn = max(SHORTEST_POLL, min(POLL, run.elapsed() / POLLS))
            trees, settled, items, is_running = core.wait(min(turn, max(0.0, until - run.elapsed())))
            if trees:
                on_tree(*trees[-1])  # the best of them
            on_progress(settled / max(1, items))
            run.should_stop()  # asks the threads to stop if so
    finally:
        core.stop()
    if is_running:
        trees, *_ = core.wait(0.0)  # what was found since the last look
        if trees:
            on_tree(*trees[-1])
    return not is_running and settled == items


def stages_of(best: int, model: SearchModel, asked: tuple[float, ...] | None) -> tuple[float, ...]:
    """Return the shares of the incumbent to prove first: none for a fast search, the last per cent for a long one."""
    if asked is not None:
        return asked
    if model.is_quick:
        return ()
    if model.depth == 2 and model.n * model.problem.n_features >= VERY_LARGE:
        return STAGES_OF_LARGE
    return (0.5, 0.85, 0.96, 0.99) if best >= MANY_STEPS * model.step else (0.5, 0.85)


def closed_share(target: int, best: int, model: SearchModel, run: Run) -> float:
    """Return the share of the gap, in parts of a weight, that is closed once every tree is known to cost the target."""
    known = max(0.0, run.bound) * model.scale
    return (target - known) / (best - known) if known < best else 0.0


class RootSearch:
    """Improve the incumbent and raise the bound until they meet.

    A stage asks for a tree that costs less than a target below the incumbent. If there is none, the target is a
    lower bound, and the next stage asks for more; the last stage asks for anything better than the incumbent.

    With a scout, one thread less proves as long as it looks for trees.
    """

    def __init__(self, model: SearchModel, options: _core.SearchOptions, run: Run, scout: Scout | None = None) -> None:
        self.model = model
        self.run = run
        self._scout = scout
        self.options = options
        self._spell = FIRST_SPELL
        self._has_spells = model.depth > DEEP_REACH and run.options["use_deep_steps"] and run.options["effort"] is None
        is_open = REACH < model.depth <= DEEP_REACH and run.options["effort"] is None
        self._shifts = Shifts(model) if is_open and run.options["use_shifts"] else None
        self._looked_at = 0
        self.best = model.in_parts(run.best_objective)

    @cached_property
    def core(self) -> _core.RootSearch:
        """The root in the compiled core: on a large table it takes much memory, so it is made when it is needed."""
        run = self.run
        self.model.keep_order()
        core = _core.RootSearch(self.model.core, self.options, self.model.depth, run.n_jobs, run.control)
        if self._scout is not None:
            core.use_threads(run.n_jobs - 1)
        if run.options["effort"] is not None:
            core.set_effort(run.options["effort"])
        return core

    @property
    def _has_core(self) -> bool:
        return "core" in self.__dict__

    def prove(self, time: float = inf, first: tuple[float, ...] = ()) -> None:
        """Work through the stages until bound and incumbent meet, the run must stop or so many seconds are over.

        Parameters
        ----------
        time : float
        first : tuple of float
            Shares of the incumbent to prove before the usual ones.
        """
        until = self.run.elapsed() + time
        for share in (*first, *stages_of(self.best, self.model, self.run.options["stages"]), 1.0):
            if share > EARLY:
                self._wait_for_scout()
            self._look_nearby()
            least = 0.0 if share in first else WORTHWHILE
            if share < 1 and closed_share(self._target(share), self.best, self.model, self.run) <= least:
                continue
            if not self._settle_in_spells(share, until):
                break
            self._report_bound()
            if self.run.should_stop():
                break
        for depth in range(self.model.depth, 1, -1):
            self.run.stats[f"depth {depth}"] = self.core.counters(depth)

    def _target(self, share: float) -> int:
        """Return the cost below which a stage looks for trees."""
        goal = self.best - self.model.step + 1
        return goal if share == 1 else int(share * goal)

    def _settle(self, target: int, until: float, effort: int | None = None) -> bool:
        """Settle all of the root below a target; whether that was finished before the threads had spent an effort."""
        if self._has_spells:
            self.core.set_effort(UNLIMITED if effort is None else effort)
        return run_stage(self.core, target, self.best, self.run, self._report_tree, self._report_progress, until)

    def _settle_in_spells(self, share: float, until: float) -> bool:
        """Settle all of the root below a share of the incumbent; in a long stage look for better trees now and then.

        A good tree is worth more to a deep search than the time it takes to find it: what is asked with a worse one has
        to be asked again. As long as a scout looks for trees, nobody else does.
        """
        while not self._settle(self._target(share), until, self._spell if self._takes_spells else None):
            if not self._takes_spells or self.run.should_stop() or self.run.elapsed() >= until:
                return False
            seed = [self.run.random_state, self._spell]
            local = LocalSearch(self.model, self.options, self.run, seed, self.run.n_jobs)
            is_far = self.run.gap > WIDE_GAP
            local.look_further(int((LOOKING_WIDELY if is_far else LOOKING) * self._spell))
            self.best = min(self.best, self.model.in_parts(self.run.best_objective))
            self._spell *= LATER_SPELLS
        return True

    def _look_nearby(self) -> None:
        """Look for better trees near the best one if stages have scanned as much since as before the last time."""
        if self._shifts is None or self._scout is not None or not self._has_core or self.run.should_stop():
            return
        scanned = self.core.n_scanned
        since = scanned - self._looked_at
        if since < max(LEAST_LOOK, self._looked_at):
            return
        self._looked_at = scanned
        seed = [self.run.random_state, scanned]
        local = LocalSearch(self.model, self.options, self.run, seed, self.run.n_jobs, shifts=self._shifts)
        local.look_nearby(int(LOOKING_NEARBY * since))
        self.best = min(self.best, self.model.in_parts(self.run.best_objective))

    @property
    def _takes_spells(self) -> bool:
        return self._has_spells and self._scout is None

    def _report_tree(self, cost: int, rows: IntArray) -> None:
        self._take_over(cost, rows)
        # Several threads at depth 2 climb through many trees that are better by a sample each, and ask what a better
        # one would make needless. One thread has to find the same tree every time: it is left alone.
        if self._polishes:
            self._polish(rows)

    @property
    def _polishes(self) -> bool:
        return self.model.depth == 2 and self.run.n_jobs > 1

    def _polish(self, rows: IntArray) -> None:
        cost, rows = polished(rows, self.model, self.options, self.run.control)
        if cost < self.best:
            self._take_over(cost, rows)
            self.core.offer(self.best)

    def _take_over(self, cost: int, rows: IntArray) -> None:
        self.best = min(self.best, cost)
        # Weights that are not whole were rounded down: the cost in parts is less than the true one.
        claim = cost / self.model.scale if self.model.step > 1 else None
        self.run.report(tree_of(rows), claim=claim)

    def _report_progress(self, settled: float) -> None:
        self.hear_scout()
        self.run.progress(settled=settled)
        # Of a very large table, where that takes seconds, only trees that were found are polished.
        missed = self.core.take_missed() if self._polishes and not self.model.is_lean else None
        if missed is not None:
            self._polish(missed)

    def _wait_for_scout(self) -> None:
        """Let all threads look for trees: what is asked next would have to be asked again for a better one."""
        if self._scout is None:
            return
        self._scout.lend(self.run.n_jobs - 1)
        while self._scout is not None and not self.run.should_stop():
            self.hear_scout(POLL)
            self.run.progress()

    def hear_scout(self, seconds: float = 0.0) -> None:
        """Take over a better tree, after so many seconds; once there is no more to look for, all threads prove."""
        if self._scout is None:
            return
        trees, is_over = self._scout.news(seconds)
        for tree in trees:
            self.run.report(tree)
            self.best = min(self.best, self.model.in_parts(self.run.best_objective))
            if self._has_core:
                self.core.offer(self.best)
        if is_over:
            if self._has_core:
                self.core.use_threads(self.run.n_jobs)
            self._scout = None

    def _report_bound(self) -> None:
        """Report what a finished stage has proven: every tree costs at least the cutoff, which it ended with."""
        if self.model.is_exhaustive:
            self.run.report(bound=min(self.model.next_cost(self.core.cutoff), self.best) / self.model.scale)
