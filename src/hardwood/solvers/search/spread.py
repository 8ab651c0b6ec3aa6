"""One search in any number of sittings and stations.

The root is a list of candidates, each to be settled: no tree that splits there costs less than the cutoff. What is
settled holds for good, whoever proved it. So all that a search has to keep is a number per candidate (`Ledger`); parts
of the root are handed out to stations, in threads or on machines, and what comes back raises the numbers. Who has
nothing left to do is given half of what another one has not begun, or helps it (`hardwood.solvers.search.helping`). A
station that dies costs what it had not yet told.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

import hardwood._core as _core
from hardwood.proofs.checkpoint import SavedSearch
from hardwood.solvers.run import Run
from hardwood.solvers.search.helping import Questions, RootPart, without
from hardwood.solvers.search.ledger import Keepers, Ledger
from hardwood.solvers.search.model import SearchModel
from hardwood.solvers.search.options import core_options
from hardwood.solvers.search.root import EARLY, POLL, WORTHWHILE, closed_share, stages_of
from hardwood.solvers.search.scouting import Looked, Scouting
from hardwood.solvers.search.station import TOLD, Commission, Counters, Duty, Models, News, Streams, Told
from hardwood.solvers.search.team import Team, Threads
from hardwood.tree.index_tree import IndexTree

PARTS_PER_STATION = 2
"""Parts of the root to begin with: few, because a range of thresholds that is settled at once ends with its part, and
what is left of a part is shared out while the search runs."""

LEAST_PART = 4
"""Candidates."""

MOST_ASKED = 4
"""So many stations are asked for work in one turn."""

SHORTEST_WAIT, LONGEST_WAIT = 0.005, 0.04
"""Seconds after which stations are asked for work again while another one has none; twice as many each time."""

PATIENCE, PATIENCE_AT_LARGE_STEPS = 15.0, 0.02
"""Seconds to wait for stations that look for first trees, and say nothing, before others prove; and for those that take
the last, large steps, while others have nothing to do."""


def spread_search(run: Run, scouts: Callable[[Looked], Scouting] | None = None) -> None:
    """Search with a checkpoint, a cluster or both.

    Parameters
    ----------
    run : Run
    scouts : callable or None
        Gets first trees ready to be looked for, while the stations get ready themselves; it is told how far an earlier
        sitting was. None if they were found by then.
    """
    saved: SavedSearch | None = run.checkpoint
    commission = Commission(run.asked, run.options, run.random_state, saved is not None)
    model = SearchModel.of(run.asked) if saved is None else saved.model
    streams = Streams() if saved is None else Streams(saved.first_free_stream, saved.streams_to_go_on_with())
    if run.client is None:
        if saved is not None:
            saved.count_work(run.n_jobs)
        team: Team = Threads(commission, Models(commission, model), run.n_jobs, streams)
    else:
        from hardwood.solvers.search.cluster import Workers

        team = Workers(run.client, commission, streams)
    with closing(team):
        scouting = scouts(saved.looked if saved is not None else (0, 0)) if scouts is not None else None
        _Spread(model, run, team, saved, scouting).prove()


class _Spread:
    def __init__(
        self, model: SearchModel, run: Run, team: Team, saved: SavedSearch | None, scouting: Scouting | None
    ) -> None:
        self.model, self.run, self.team, self.saved, self.scouting = model, run, team, saved, scouting
        # Whatever the time: a core that was stopped before it looked for candidates would know of none.
        root = _core.RootSearch(model.core, core_options(run.options), model.depth, 1, _core.Control())
        n_candidates = [root.n_candidates(j) for j in range(model.problem.n_features)]
        self.ledger, self.written, self.keepers = Ledger(n_candidates), Ledger(n_candidates), Keepers(n_candidates)
        self.best = model.in_parts(run.best_objective)
        self.doing: dict[str, Duty] = {}
        self.queue: list[RootPart] = []
        self.served: set[str] = set()  # stations that had a share of the queue in this stage
        self.wait = POLL
        self.told: deque[tuple[str, Told]] = deque(maxlen=TOLD)
        self.n_told, self.heard = 0, dict[str, int]()  # how many were told, and by slot how many were then
        self.questions = Questions()
        self.counters: dict[tuple[str, int], Counters] = {}  # by slot and stream, of all duties so far
        # What an effort allows would be spent on what nobody may need.
        self.can_help = model.depth > 2 and model.problem.min_samples_leaf == 0 and run.options["effort"] is None
        self.has_given_up = False
        if saved is not None:
            self.ledger.note(saved.settled)
            self.written.note(saved.settled)
            if scouting is not None:
                saved.keep_scouting()
        self.heard_of_scouts = time.monotonic()

    def prove(self) -> None:
        """Raise the bound stage by stage until it meets the incumbent, or the run must stop."""
        if len(self.team.slots()) == 1:
            self._look_for_trees()
        for share in (*stages_of(self.best, self.model, self.run.options["stages"]), 1.0):
            if share < 1 and closed_share(self._target(share), self.best, self.model, self.run) <= WORTHWHILE:
                continue
            if share > EARLY:
                self._look_for_trees()
            if self.run.should_stop() or not self._settle(share):
                break
        self._collect(0.0, writes=True)
        self._report_bound()
        self.run.proven_parts = self._proven(self.written)

    def _target(self, share: float) -> int:
        goal = self.best - self.model.step + 1
        return goal if share == 1 else int(share * goal)

    def _look_for_trees(self) -> None:
        """Prove nothing before the best tree is known that stations look for: all would have to be asked again.

        But a station that says nothing for long may never do so, and what is proven beside the last steps, which may
        find nothing, is worth more than to wait for them.
        """
        all_busy = time.monotonic()
        while self.scouting is not None and not self.run.should_stop():
            self._hand_out(0)
            now = time.monotonic()
            if len(self.doing) == len(self.team.slots()):
                all_busy = now
            is_silent = now - self.heard_of_scouts > PATIENCE and all_busy < now
            has_waited = now - all_busy > PATIENCE_AT_LARGE_STEPS
            if self.scouting is None or is_silent or (has_waited and self.scouting.is_at_large_steps):
                return
            self._collect(POLL, writes=False)
            self.run.progress()

    def _settle(self, share: float) -> bool:
        """Settle all of the root below a share of the incumbent; whether that was finished."""
        self.queue = self._in_pieces(self.ledger.open_parts(self._target(share)))
        self.served.clear()
        while True:
            target = self._target(share)
            self._report_bound()
            if self.run.should_stop():
                return False
            if not self.queue and not any(duty.is_at_root for duty in self.doing.values()):
                self.queue = self._in_pieces(self._left_open(target))
                if not self.queue:
                    return True
                if self.run.options["effort"] is not None and self.has_given_up:
                    return False
            self._hand_out(target)
            self._collect(self.wait, writes=self.saved is None or self.saved.is_due)
            self.run.progress(settled=self.ledger.settled_share(target))

    def _left_open(self, target: int) -> list[RootPart]:
        """Return what is open when nobody has anything to do: also what was settled, but never written."""
        if self.saved is not None and not self.ledger.open_parts(target) and self.written.open_parts(target):
            self._collect(0.0, writes=True)
            self.ledger.forget_beyond(self.written)
        return self.ledger.open_parts(target)

    def _in_pieces(self, parts: list[RootPart]) -> list[RootPart]:
        """Cut parts so that there are more of them than stations, in an order in which each gets some of all over.

        Neighbouring features are often alike, and those of one station may be all the hard ones. A cut makes both sides
        harder, by a tenth to a fifth on banknote-authentication at depth 4: what is hardly too long is left alone.
        """
        n = max(1, len(self.team.slots()))
        if n == 1:
            return parts
        total = sum(end - first for _, first, end in parts)
        width = max(LEAST_PART, total // (PARTS_PER_STATION * n))
        pieces = []
        for feature, first, end in parts:
            cuts = np.linspace(first, end, max(1, round((end - first) / width)) + 1).astype(int).tolist()
            pieces += [(feature, a, b) for a, b in pairwise(cuts)]
        return [piece for k in range(n) for piece in pieces[k::n]]

    def _hand_out(self, target: int) -> None:
        """Give work to stations that have none."""
        slots = self.team.slots()
        for slot in [slot for slot in self.doing if slot not in slots]:
            lost = self.doing.pop(slot)
            self.queue += lost.parts or () if lost.is_at_root else ()
            if self.scouting is not None:
                self.scouting.end(slot, is_lost=True)
            self.questions.forget(slot)
            self.questions.end_help(lost.asker, slot)
        idle = [slot for slot in slots if slot not in self.doing]
        self._let_scout(idle)
        self.wait = POLL if not idle else SHORTEST_WAIT if self.wait >= POLL else min(2 * self.wait, LONGEST_WAIT)
        if idle:
            self._let_prove(idle, target)
            self._let_help(idle)
        self._grow_trees()

    def _let_prove(self, idle: list[str], target: int) -> None:
        """Let stations without work settle parts of the root, if there are any; they are taken off."""
        self._take_given()
        self.queue = self.ledger.open_parts(target, self.queue)
        if not self.queue:
            self._ask_for_work()
        while idle and self.queue:
            slot = idle.pop(0)
            n = -(-len(self.queue) // (1 + len(idle) + self._n_expected()))
            parts = sorted(self.queue, key=partial(self.keepers.strangeness, slot))[:n]
            self.queue = [part for part in self.queue if part not in parts]
            self.served.add(slot)
            self._give_parts(slot, parts, target)

    def _n_expected(self) -> int:
        """Return how many stations at the root will come for their share of the queue, which they had none of yet.

        Who comes later, or again, is given half of what another one has not begun.
        """
        return sum(duty.is_at_root and slot not in self.served for slot, duty in self.doing.items())

    def _let_scout(self, idle: list[str]) -> None:
        """Let stations without work look for first trees; they are taken off."""
        while self.scouting is not None and idle:
            if self.scouting.is_growing_due and self.queue:
                break  # nobody has to wait for the greedy trees
            given = self.scouting.give(idle[0])
            if given is None:
                break
            starts, seconds = given
            self._give(idle.pop(0), Duty(None, seconds=seconds, tree=self.run.best_index_tree, starts=starts))
        if self.scouting is not None and self.scouting.is_over:
            self.scouting = None
            if self.saved is not None:
                self.saved.keep_scouted()

    def _grow_trees(self) -> None:
        """Grow greedy trees, once, while stations are at work: the first one of a large table solves a sample of it."""
        if self.scouting is not None and not self.run.should_stop():
            self.scouting.grow()
            self._take_best(self.model.in_parts(self.run.best_objective))

    def _hear_scout(self, slot: str, news: News) -> None:
        """Take in what came of starts for first trees."""
        self.heard_of_scouts = time.monotonic()
        if self.scouting is not None:
            before = self.scouting.looked
            self.scouting.take(slot, news.improved)
            if news.is_done:
                self.scouting.end(slot, is_lost=news.is_lost)
            if self.saved is not None and self.scouting.looked != before:
                self.saved.keep_looked(self.scouting.looked)

    def _give_parts(self, slot: str, parts: Sequence[RootPart], target: int) -> None:
        self._give(slot, Duty(parts, target, self.best, told=self._told_by_others(slot)))

    def _told_by_others(self, slot: str) -> list[Told]:
        """Return the last trees of other stations that one which begins has not heard of."""
        heard, self.heard[slot] = self.heard.get(slot, 0), self.n_told
        first = self.n_told - len(self.told)
        return [tree for k, (by, tree) in enumerate(self.told, first) if by != slot and k >= heard]

    def _let_help(self, idle: Sequence[str]) -> None:
        """Let stations without work help those that have some."""
        for slot in idle:
            found = self.questions.share_out(slot)
            if found is None:
                return
            asker, question, parts, place = found
            self._give(slot, Duty(parts, question=question, asker=asker, place=place))

    def _hand_over(self, slot: str, duty: Duty, news: News) -> None:
        """Tell whoever asked what a helper has found out; if it does not want to know, the helper is free."""
        assert duty.question is not None
        number = duty.question.number
        is_open = self.team.take_help(duty.asker, number, duty.place, news.help)
        if not is_open:
            self.questions.forget(duty.asker, number)
            self.team.end_help(slot)
        if news.is_done:
            self.doing.pop(slot)
            self.questions.end_help(duty.asker, slot)

    def _give(self, slot: str, duty: Duty) -> None:
        self.doing[slot] = duty
        self.team.give(slot, duty)

    def _ask_for_work(self) -> None:
        """Ask the stations with the most left to do for what they have not begun, or can be helped with."""
        open_by_slot = {
            slot: sum(end - first for _, first, end in self.ledger.open_parts(duty.target, duty.parts))
            for slot, duty in self.doing.items()
            if duty.is_at_root and duty.parts
        }
        for slot in sorted(open_by_slot, key=lambda one: -open_by_slot[one])[:MOST_ASKED]:
            helps = self.can_help and not self.questions.is_known(slot)
            if helps or open_by_slot[slot] > 1:
                self.team.ask_for_work(slot, helps=helps)

    def _take_given(self) -> None:
        """Take in what stations that were asked for work have given."""
        for given in self.team.given_back():
            duty = self.doing.get(given.slot)
            self.queue += without(given.parts, self.queue)
            if duty is not None and duty.is_at_root:
                # Should the station die, what it gave back is not lost with it.
                self.doing[given.slot] = replace(duty, parts=without(duty.parts or (), given.parts))
                if given.question is not None:
                    self.questions.note(given.slot, given.question)

    def _collect(self, seconds: float, *, writes: bool) -> None:
        """Take in what the stations have to say."""
        began = time.thread_time()
        for slot, stream, news in self.team.news(seconds, writes=writes):
            duty = self.doing.get(slot)
            if self.saved is not None and news.piece is not None:
                self.saved.keep_piece(stream, news.piece)
                self.ledger.note(news.piece.settled)
                self.written.note(news.piece.settled)
            if duty is not None and duty.question is not None:
                self._hand_over(slot, duty, news)
                continue
            self.ledger.note(news.settled)
            self.keepers.note(slot, news.settled)
            self.told.extend((slot, tree) for tree in news.told)
            self.n_told += len(news.told)
            for cost, tree in news.trees:
                self._take_tree(cost, tree)
            if duty is not None and duty.parts is None:
                self._hear_scout(slot, news)
            if news.is_done:
                self.doing.pop(slot, None)
                self.questions.forget(slot)
                if duty is not None and duty.parts is not None and not news.is_lost:
                    cutoff = min(duty.target, self._target(1.0))
                    self.has_given_up |= bool(self.ledger.open_parts(cutoff, duty.parts))
                if news.counters:
                    self.counters[slot, stream] = news.counters
                    self.run.stats |= _added_up(self.counters.values())
        if writes and self.saved is not None:
            self.saved.rest_after(time.thread_time() - began)
            self.saved.sync()

    def _take_tree(self, cost: int | None, tree: IndexTree) -> None:
        # Weights that are not whole were rounded down: the cost in parts is less than the true one.
        claim = cost / self.model.scale if cost is not None and self.model.step > 1 else None
        self.run.report(tree, claim=claim)
        self._take_best(self.model.in_parts(self.run.best_objective) if cost is None else cost)

    def _take_best(self, cost: int) -> None:
        if cost < self.best:
            self.best = cost
            self.team.offer(cost)

    def _proven(self, ledger: Ledger) -> int:
        """Return what is proven of every tree, in parts."""
        least = ledger.least
        return 0 if not self.model.is_exhaustive else self.best if least is None else min(least, self.best)

    def _report_bound(self) -> None:
        """Report what is proven; with a checkpoint what stands in it, lest the next sitting begin with less."""
        if self.model.is_exhaustive:
            proven = self._proven(self.ledger if self.saved is None else self.written)
            self.run.report(bound=min(self.model.next_cost(proven), self.best) / self.model.scale)


def _added_up(counters: Iterable[Counters]) -> Counters:
    """Return what several stations did together."""
    total: Counters = {}
    for one in counters:
        for depth, counts in one.items():
            so_far = total.setdefault(depth, {})
            for name, count in counts.items():
                so_far[name] = so_far.get(name, 0) + count
    return total
