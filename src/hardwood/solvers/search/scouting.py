"""First trees of a search that is shared out: who looks at which starts, and what came of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import numpy as np

from hardwood import _core
from hardwood.solvers.run import Run
from hardwood.solvers.search.first_trees import first_shifts, may_improve, solves_sample
from hardwood.solvers.search.local_search import REACH, Improved, LocalSearch, StartRows, share_of_time
from hardwood.solvers.search.model import SearchModel, rows_of
from hardwood.tree.index_tree import IndexTree

BATCH = 80_000_000
"""Samples that are scanned for the starts that a station is given at once, about a tenth of a second."""

MOST_STARTS = 16
"""Starts that a station is given at once."""

Looked = tuple[int, int]
"""How many starts were improved, and how many samples were scanned for that."""

NO_STARTS: Looked = (0, 1)
"""How far a search for trees is that has improved no start, but solved a sample of the problem."""


class Scouting:
    """Hands out the starts of one local search, round by round, and takes in what came of them.

    All stations look for one tree: the starts are those of a search that is not shared out, and the best trees that
    came of all of them take the larger steps.

    Parameters
    ----------
    model : SearchModel
        In its own ranks.
    options : SearchOptions
    run : Run
    greedy : callable
        Grows more starts; where a sample of the problem is solved first, while a station does that (`grow`).
    looked : Looked
        How far an earlier sitting was; its best tree is known.
    """

    def __init__(
        self,
        model: SearchModel,
        options: _core.SearchOptions,
        run: Run,
        greedy: Callable[[], Sequence[IndexTree]],
        looked: Looked = (0, 0),
    ) -> None:
        self._model, self._options, self._run = model, options, run
        self._n_before, self._effort_before = looked
        self._effort = self._n_improved = 0
        self._is_sample_due = may_improve(model) and solves_sample(model) and looked == (0, 0)
        self._greedy = greedy
        self._grown: Sequence[IndexTree] | None = None
        self._sample_at: str | None = None
        self._is_sample_done = looked != (0, 0)
        self._local: LocalSearch | None = None
        self._until = np.inf
        self._rounds: Iterator[Iterator[StartRows]] = iter(())
        self._round: Iterator[StartRows] = iter(())
        self._at = dict[str, deque[tuple[int, StartRows]]]()  # by station, what it has not said of yet
        self._lost = deque[tuple[int, StartRows]]()
        self._came = dict[int, Improved]()  # of the round
        self._n_given, self._done = self._n_before, set[int]()
        self.is_over = not may_improve(model)
        if not self._is_sample_due:
            self.grow()

    def grow(self) -> Sequence[IndexTree]:
        """Return greedy trees, grown the first time."""
        if self._grown is None:
            self._grown = self._greedy()
        return self._grown

    @property
    def looked(self) -> Looked:
        """How far it is: what lies before the first start of which nothing is known yet."""
        n = next(k for k in range(self._n_before, self._n_given + 1) if k not in self._done)
        effort = self._effort_before + self._effort
        return n, max(effort, NO_STARTS[1]) if self._is_sample_done else effort

    @property
    def is_growing_due(self) -> bool:
        """Whether greedy trees have to be grown before there is a start to give."""
        return self._grown is None and not self._is_sample_due

    @property
    def is_at_large_steps(self) -> bool:
        """Whether stations improve larger subtrees, of the best trees so far, and nothing else."""
        left = [start for starts in self._at.values() for _, start in starts]
        return bool(left) and all(reach > REACH for _, reach in left)

    def give(self, station: str) -> tuple[Sequence[StartRows], float] | None:
        """Return starts for a station, and for how many seconds; no starts: it is to solve a sample of the problem.

        None if there is nothing to do, or nothing before others have come to their end.
        """
        if self._is_sample_due:
            self._is_sample_due, self._sample_at = False, station
            self._at[station] = deque()
            return (), self._run.remaining()
        while not (batch := self._next_batch()):
            if self._local is not None and self._at:
                return None
            if not self._begin_round():
                self.is_over = not self._at and not self._run.should_stop()
                return None
        self._at[station] = deque(batch)
        seconds = min(self._until - self._run.elapsed(), self._run.remaining())
        return [start for _, start in batch], max(0.0, seconds)

    def take(self, station: str, improved: Sequence[Improved]) -> None:
        """Take in what a station has to say of its starts, in their order."""
        for one, (number, _) in zip(improved, list(self._at.get(station, ())), strict=False):
            self._at[station].popleft()
            self._done.add(number)
            self._came[number] = one
            self._n_improved += 1
            self._effort += one[2]
            if self._local is not None:
                self._local.effort_of_others += one[2]

    def end(self, station: str, *, is_lost: bool) -> None:
        """Take note that a station has come to its end, or what it had left was lost with it."""
        left = self._at.pop(station, deque())
        if station == self._sample_at:
            self._sample_at = None
            self._is_sample_due, self._is_sample_done = is_lost, not is_lost
        if is_lost:
            self._lost += left

    def _next_batch(self) -> list[tuple[int, StartRows]]:
        """Return the next starts of the round, those that were lost before others, with their numbers."""
        if self._run.should_stop() or self._run.elapsed() >= self._until:
            return []
        most = min(MOST_STARTS, max(1, BATCH * self._n_improved // max(1, self._effort)))
        batch = [self._lost.popleft() for _ in range(min(most, len(self._lost)))]
        for start in islice(self._round, most - len(batch)):
            batch.append((self._n_given, start))
            self._n_given += 1
            if start[1] > REACH:
                break  # these take longer
        return batch

    def _begin_round(self) -> bool:
        """Go on to the next round; whether there is one."""
        model, run = self._model, self._run
        if model.depth <= 2 or run.should_stop() or run.elapsed() >= self._until:
            return False
        if self._local is not None:
            # In the order of the starts, so that it does not matter who was faster.
            self._local.take(self._came[number] for number in sorted(self._came))
            self._came.clear()
            following = next(self._rounds, None)
            self._round = iter(()) if following is None else following
            return following is not None
        greedy = self.grow()
        self._until = run.elapsed() + share_of_time(model) * run.remaining()
        shifts = first_shifts(model, run)
        self._local = LocalSearch(model, self._options, run, [run.random_state], n_threads=0, shifts=shifts)
        self._local.effort_of_others = self._effort_before
        known = run.best_index_tree
        if self._n_before > 0 and known is not None:
            cost = _core.Reoptimiser(model.core, self._options, run.control).cost_of(model.core, rows_of(known))
            self._local.take([(cost, rows_of(known), 0)])
        self._rounds = self._local.rounds(greedy, is_known_last=self._sample_at is not None)
        self._round = islice(next(self._rounds), self._n_before, None)
        return True
