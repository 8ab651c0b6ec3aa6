"""Good trees early: greedy starts and random roots, improved by exact re-optimisation of subtrees in the core."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, cycle, islice, repeat

import numpy as np

from hardwood import _core
from hardwood.arrays import IntArray
from hardwood.solvers.greedy import CRITERIA, Events, GreedyLearner
from hardwood.solvers.relabel import relabel
from hardwood.solvers.run import Run
from hardwood.solvers.search.model import LARGE, SearchModel, rows_of, tree_of
from hardwood.tree.index_tree import IndexTree

EFFORT = 400_000_000
"""Random restarts end when so many samples were scanned, about half a second, and so do the deep steps behind them."""

EFFORT_OF_STARTS = 2_000_000_000
"""Greedy starts are improved as long as fewer samples were scanned, some seconds; the best known tree always is."""

EFFORT_OF_A_STEP = 500_000_000
"""Samples that one re-optimisation of a subtree may scan, about half a second: what is exact for a few thousand samples
would take minutes for more."""

REACH, DEEP_REACH = 2, 3
"""Levels of splits of the subtrees that are re-optimised, and in the end for the best trees, if they have more."""

MOST_DEEP = 8
"""So many trees of different costs are improved by deep steps, as long as fewer samples than `EFFORT` were scanned."""

RESTARTS = (2, 10)
"""Random roots at depth 3, and times the square of the depth less 2 below that; there one of each feature at least."""

ROOTS_OF_ROUND, DEEP_OF_ROUND, MOST_ROUNDS = 40, 4, 1000
"""Random roots of a round of looking further, the best of them that take deep steps, and rounds at most. Deep steps
take most of the time: forty roots instead of ten took a tenth more, on banknote twice as long; trees were better."""

NEIGHBOURS = 10
"""Neighbours of the best tree that are improved before deep steps are taken again."""

DRAWN = 15
"""Samples that are drawn to find about which end has a share of all ends before it."""

SHIFTS = (1 / 64, 1 / 32, 1 / 16, 1 / 8)
"""Shares of the samples at a split past which its threshold is moved to begin anew from there."""

TIME = {False: 0.3, True: 0.5}
"""Share of the time that is left, where there is a limit: by whether the depth is above 3, where a proof takes longer
than any short limit."""


def share_of_time(model: SearchModel) -> float:
    """Return the share of the time that is left in which first trees may be looked for."""
    return TIME[model.depth > DEEP_REACH]


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
        Those of the default criterion, one per depth; of a large table, behind them the deepest of the others.
    """
    problem = model.problem
    others: list[IndexTree] = []
    events = Events.sort(problem, run.control)
    judge = _core.Reoptimiser(model.core, options, run.control)
    kept: list[IndexTree] = []
    seen: set[bytes] = set()
    grown_depth = dict.fromkeys(CRITERIA, problem.max_depth + 1)
    # The deepest ones are mostly the best: they come first, and of these those that count errors.
    for depth in range(problem.max_depth, 0, -1):
        for criterion in (CRITERIA[-1], *CRITERIA[:-1]):
            if depth >= grown_depth[criterion]:
                continue  # the same tree again
            if run.should_stop():
                return kept + others
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
            elif depth == problem.max_depth and model.n * problem.n_features >= LARGE:
                others.append(tree)
    return kept + others


def random_roots(model: SearchModel, random: np.random.Generator, *, are_even: bool = True) -> Iterator[IntArray]:
    """Yield splits with plain leaves that a descent replaces, without end.

    All features in random order, since one that drawing misses may be the one: first with about half of the samples
    on each side, if `are_even`, then with any share of them, and so on in turns.
    """
    for share in cycle((1 / 2, None) if are_even else (None,)):
        for feature in random.permutation(model.problem.n_features):
            before = random.random() if share is None else share
            drawn = random.integers(model.n, size=DRAWN)
            ranks = sorted(model.core.upper_rank(int(sample), int(feature)) for sample in drawn)
            last = int(model.core.n_ranks[feature]) - 2
            threshold = min(max(0, ranks[int(before * DRAWN)]), max(0, last))
            yield np.array([[feature, -1, -1], [threshold, -1, -1], [1, -1, -1], [2, -1, -1], [-1, 0, 0]])


def polished(
    rows: IntArray, model: SearchModel, options: _core.SearchOptions, control: _core.Control
) -> tuple[int, IntArray]:
    """Move one threshold of a tree after the other to where it is best until nothing improves; cost and tree."""
    return _core.Reoptimiser(model.core, options, control).polish(model.core, rows)


class Shifts:
    """Neighbours of trees: a split above the subtrees that are re-optimised, moved along its feature; each only once.

    Trees with another subtree there may be better although each split is the best one for what is below it: a descent
    ends at a root that only a longer step leaves.
    """

    def __init__(self, model: SearchModel) -> None:
        self._model = model
        self._tried: set[bytes] = set()

    def of(self, rows: IntArray) -> Iterator[IntArray]:
        """Yield the neighbours of a tree that were not tried before, small shifts first and the root before others."""
        upper = _upper_splits(rows, self._model.depth - REACH)
        for share in SHIFTS:
            for node in upper:
                for signed in (share, -share):
                    shifted = _core.shifted(self._model.core, rows, node, signed)
                    if shifted is not None and (key := shifted.tobytes()) not in self._tried:
                        self._tried.add(key)
                        yield shifted


def _upper_splits(rows: IntArray, n_levels: int) -> list[int]:
    """Return the splits on the first levels of a tree, level by level."""
    found, level = [], [0]
    for _ in range(n_levels):
        level = [node for node in level if rows[0, node] >= 0]
        found += level
        level = [int(child) for node in level for child in rows[2:4, node]]
    return found


StartRows = tuple[IntArray, int]
"""Rows of a tree, and the levels of splits of the subtrees that are to be re-optimised."""

Improved = tuple[int, IntArray, int]
"""What came of a start: what it costs in parts, its rows, and how many samples were scanned for it."""


def improve_start(start: StartRows, core: _core.Reoptimiser, model: SearchModel) -> Improved:
    """Re-optimise subtrees of a start until none improves."""
    rows, reach = start
    before = core.effort
    cost, rows = core.descend(model.core, rows, model.depth, reach, EFFORT_OF_A_STEP)
    return cost, rows, core.effort - before


def improve_starts(
    starts: Sequence[StartRows],
    core: _core.Reoptimiser,
    model: SearchModel,
    run: Run,
    on_improved: Callable[[Improved], None],
) -> None:
    """Report what comes of starts, and say so of each."""
    for start in starts:
        improved = improve_start(start, core, model)
        if improved[0] < model.forbidden:
            report_if_cheap(improved[0], tree_of(improved[1]), model, run)
        if run.should_stop():
            return
        on_improved(improved)


class LocalSearch:
    """Subtree re-optimisation from several starts; one thread is deterministic for a seed.

    Parameters
    ----------
    model : SearchModel
    options : SearchOptions
    run : Run
    seed : sequence of int
        Of random starts.
    n_threads : int
        With none, somebody else improves the starts (`rounds`) and says what came of them (`take`), and how many
        samples were scanned for it (`effort_of_others`).
    permits : Semaphore or None
        What a thread needs to improve a start: others may be of use elsewhere at first.
    shifts : Shifts or None
        Neighbours of the best tree that were not looked at yet; None: they are not looked at.
    """

    def __init__(
        self,
        model: SearchModel,
        options: _core.SearchOptions,
        run: Run,
        seed: Sequence[int],
        n_threads: int = 1,
        permits: threading.Semaphore | None = None,
        shifts: Shifts | None = None,
    ) -> None:
        self.effort_of_others = 0
        self._shifts = shifts
        self.model = model
        self.run = run
        self.control = run.until_left(model.placing_seconds, share_of_time(model))
        self.cores = [_core.Reoptimiser(model.core, options, self.control) for _ in range(n_threads)]
        self.permits = threading.Semaphore(n_threads) if permits is None else permits
        self.random = np.random.default_rng(seed)
        self._lock = threading.Lock()
        self._found: list[tuple[int, IntArray]] = []
        # What a core that is at work has scanned only its own thread may ask: these are of steps that are done.
        self._effort_so_far = self._n_scanned = 0

    @property
    def takes_deep_steps(self) -> bool:
        """Whether trees have subtrees of depth 3, and these are improved, too."""
        return self.model.depth > DEEP_REACH and bool(self.run.options["use_deep_steps"])

    def improve(self, greedy: Sequence[IndexTree]) -> None:
        """Report the best trees found from what is known, greedy starts and random roots."""
        self._improve_all(chain.from_iterable(self.rounds(greedy)))

    def rounds(self, greedy: Sequence[IndexTree], *, is_known_last: bool = False) -> Iterator[Iterator[StartRows]]:
        """Yield rounds of starts: what those of a round are depends on what came of all rounds before.

        First what is known (or behind the others, if somebody still works on it), greedy trees and random roots, then
        the best trees that came of them for larger subtrees; in the end half of these steps are for what comes of the
        neighbours of the best tree.
        """
        known = self._known_start()
        yield chain(() if is_known_last else known, self._greedy_starts(greedy), self._random_starts(EFFORT))
        if is_known_last:
            yield known
        if not self.takes_deep_steps:
            return
        is_looking_nearby = self._shifts is not None
        yield self._deep_starts(-(-MOST_DEEP // 2) if is_looking_nearby else MOST_DEEP, EFFORT)
        if is_looking_nearby:
            self._found.clear()
            yield ((rows, REACH) for rows in islice(self._shifted(), NEIGHBOURS))
            yield self._deep_starts(MOST_DEEP // 2, EFFORT)

    def take(self, improved: Iterable[Improved]) -> None:
        """Take note of what came of starts of a round that somebody else has improved, in their order."""
        self._found += [(cost, rows) for cost, rows, _ in improved if cost < self.model.forbidden]

    def look_further(self, effort: int) -> None:
        """Report the best trees found from more random roots, as long as fewer samples were scanned."""
        self._improve_all(self._further_starts(effort))

    def look_nearby(self, most: int) -> None:
        """Report the best trees found near the best one, and then from random roots, while fewer samples were scanned.

        They are counted as a proof counts them.
        """
        self._improve_all(self._nearby_starts(most))

    def _improve_all(self, starts: Iterator[StartRows]) -> None:
        if len(self.cores) == 1:
            self._improve_some(self.cores[0], starts)  # the caller's own thread answers to Ctrl-C
            return
        with ThreadPoolExecutor(len(self.cores)) as threads:
            try:
                for _ in threads.map(self._improve_some, self.cores, repeat(starts)):
                    pass
            finally:
                self.control.request_stop()  # after Ctrl-C nobody waits for the other threads

    def _improve_some(self, core: _core.Reoptimiser, starts: Iterator[StartRows]) -> None:
        """Re-optimise subtrees of one start after the other until none improves."""
        while True:
            with self.permits:
                with self._lock:
                    is_over = self.run.should_stop() or self.control.stopped
                    start = None if is_over else next(starts, None)
                if start is None:
                    return
                before = core.n_scanned
                cost, rows, effort = improve_start(start, core, self.model)
                with self._lock:
                    self._effort_so_far += effort
                    self._n_scanned += core.n_scanned - before
                    if cost < self.model.forbidden:
                        report_if_cheap(cost, tree_of(rows), self.model, self.run)
                        self._found.append((cost, rows))

    def _effort(self) -> int:
        """Return how many samples were scanned so far."""
        return self.effort_of_others + self._effort_so_far

    def _known_start(self) -> Iterator[StartRows]:
        """Yield the best tree that is known."""
        known, problem = self.run.best_index_tree, self.model.problem
        if known is not None:
            # To rank the ends of a large table for it takes long, and its splits were polished.
            yield rows_of(known if self.model.is_lean else relabel(known, problem, self.run.control)), REACH

    def _greedy_starts(self, greedy: Sequence[IndexTree]) -> Iterator[StartRows]:
        for tree in greedy:
            if self._effort() > EFFORT_OF_STARTS:
                return
            yield rows_of(tree), REACH

    def _random_starts(self, effort: int) -> Iterator[StartRows]:
        """Yield random roots while little was scanned."""
        restarts = self.run.options["restarts"]
        if restarts is None:
            is_deep = self.model.depth > DEEP_REACH
            least = self.model.problem.n_features if is_deep else 0
            restarts = max(least, RESTARTS[is_deep] * (self.model.depth - 2) ** 2)
        for rows in islice(self._random_roots(), restarts):
            if self._effort() > effort:
                return
            yield rows, REACH

    def _deep_starts(self, most: int, effort: int) -> Iterator[StartRows]:
        """Yield the best trees that were found, of different costs, for larger subtrees; the first one in any case."""
        if not self.takes_deep_steps:
            return
        limit = self._effort() + effort
        best = dict(self._found)
        for k, cost in enumerate(sorted(best)[:most]):
            if k > 0 and self._effort() > limit:
                return
            yield best[cost], DEEP_REACH

    def _further_starts(self, effort: int) -> Iterator[StartRows]:
        """Yield random roots, and of each round the best trees again."""
        roots = self._random_roots()
        for _ in range(MOST_ROUNDS):
            if self._effort() > effort:
                return
            yield from self._round(islice(roots, ROOTS_OF_ROUND), DEEP_OF_ROUND, effort)

    def _round(self, starts: Iterator[IntArray], n_deep: int, effort: int) -> Iterator[StartRows]:
        """Yield starts, then the best trees that came of them for larger subtrees."""
        self._found.clear()
        yield from ((rows, REACH) for rows in starts)
        yield from self._deep_starts(n_deep, effort)

    def _nearby_starts(self, most: int) -> Iterator[StartRows]:
        """Yield neighbours of the best tree, then random roots."""
        for rows in chain(self._shifted(), islice(self._random_roots(), MOST_ROUNDS)):
            if self._n_scanned > most:
                return
            yield rows, REACH

    def _random_roots(self) -> Iterator[IntArray]:
        return random_roots(self.model, self.random, are_even=self.run.options["use_even_roots"])

    def _shifted(self) -> Iterator[IntArray]:
        """Yield neighbours of the best tree, and of a better one as soon as there is one."""
        best = None
        while self._shifts is not None and (known := self.run.best_index_tree) is not None and known is not best:
            best = known
            for rows in self._shifts.of(rows_of(best)):
                yield rows
                if self.run.best_index_tree is not best:
                    break
