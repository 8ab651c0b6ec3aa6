"""Where a part of a search is done: one thread of this process, or of a worker on another machine.

A station does one duty at a time: look for good trees, or settle parts of the root. It says what is new in short
turns; what it proves it writes into a stream of records of its own (`hardwood.proofs.members`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Semaphore
from typing import Any

import numpy as np

import hardwood._core as _core
from hardwood.arrays import IntArray
from hardwood.errors import InvalidInputError
from hardwood.problem.problem import Problem
from hardwood.proofs.members import Piece, Settled, packed_piece, unpacked_state
from hardwood.proofs.writer import PlainRanks, numbers_of_samples, plain_to_indices
from hardwood.solvers.run import Run
from hardwood.solvers.search.first_trees import report_tree_of_sample
from hardwood.solvers.search.helping import Help, Helper, Question, RootPart, question_of
from hardwood.solvers.search.local_search import Improved, StartRows, improve_starts
from hardwood.solvers.search.model import SearchModel, tree_of
from hardwood.solvers.search.options import core_options
from hardwood.solvers.search.scout import Scout
from hardwood.tree.index_tree import IndexTree

UNTIL_PIECE = 20.0
"""Seconds to wait for a search to come to the end of a threshold; that takes milliseconds."""


TOLD = 64
"""So many trees are told at once, the last ones; a pool has room for 32 on each side."""

Told = tuple[int, IntArray]
"""Which child of the root was answered, and the rows of the tree."""

Counters = dict[str, dict[str, int]]
"""What was done, by depth and name."""


@dataclass(frozen=True)
class Commission:
    """What all stations of a search need to know, sent to each process once.

    Attributes
    ----------
    problem : Problem
    options : dict
        Of the solver.
    random_state : int
    writes_proof : bool
        Whether records are written; then thresholds are numbered as in proofs.
    """

    problem: Problem
    options: dict[str, Any]
    random_state: int
    writes_proof: bool

    def models(self) -> Models:
        """Return the problem as the core sees it."""
        ranks = PlainRanks.of(self.problem) if self.writes_proof else None
        return Models(self, SearchModel.of(self.problem, ranks))


@dataclass
class Models:
    """The problem as the core sees it, for the proof (`plain`) and for the search for trees, which may be over."""

    commission: Commission
    plain: SearchModel

    @cached_property
    def own(self) -> SearchModel:
        """The problem in its own ranks."""
        return SearchModel.of(self.commission.problem) if self.commission.writes_proof else self.plain


@dataclass(frozen=True)
class Duty:
    """What a station is to do.

    Attributes
    ----------
    parts : sequence of RootPart, or None
        To be settled; None: look for good trees.
    target, best : int
        Trees of interest cost less than the target, and than `best` by a step; in parts of a weight.
    seconds : float
        How long trees may be looked for.
    tree : IndexTree or None
        The best one so far.
    starts : sequence of StartRows
        Trees to improve; without any, a sample of the problem is to be solved.
    question : Question or None
        Of the station `asker`, to be helped with: the parts are of its root. `place` is for the proof.
    told : sequence of (side, rows)
        Trees that other stations were told at the root, as a guide.
    """

    parts: Sequence[RootPart] | None
    target: int = 0
    best: int = 0
    seconds: float = np.inf
    tree: IndexTree | None = None
    starts: Sequence[StartRows] = ()
    question: Question | None = None
    asker: str = ""
    place: int = 0
    told: Sequence[Told] = ()

    @property
    def is_at_root(self) -> bool:
        """Whether parts of the root are settled."""
        return self.parts is not None and self.question is None


@dataclass
class News:
    """What a station has to say since the last time.

    Attributes
    ----------
    trees : list of (cost or None, IndexTree)
        Each with what the search thinks it costs, in parts.
    settled : list
        Parts of the root, with what every tree there costs at least.
    piece : Piece or None
        The next piece of the stream; None where none is written, or not now.
    help : Help
        For whoever asked the question.
    told : list of (side, rows)
        Trees that children of the root were answered with.
    improved : list of Improved
        What came of the next ones of the starts.
    is_done : bool
        Whether the duty is done, or nothing more can be done about it.
    is_lost : bool
        Whether the duty was lost with its station before it was done.
    counters : Counters
        Of all duties of the station, once one is done.
    """

    trees: list[tuple[int | None, IndexTree]] = field(default_factory=list)
    settled: list[Settled] = field(default_factory=list)
    piece: Piece | None = None
    help: Help = field(default_factory=Help)
    told: list[Told] = field(default_factory=list)
    improved: list[Improved] = field(default_factory=list)
    is_done: bool = False
    is_lost: bool = False
    counters: Counters = field(default_factory=dict)

    def add(self, later: News) -> None:
        """Take in what the station has said since, but what was written."""
        self.trees += later.trees
        self.settled += later.settled
        self.help = self.help.followed_by(later.help)
        self.told = (self.told + later.told)[-TOLD:]
        self.improved += later.improved
        self.is_done, self.counters = later.is_done, later.counters


class Streams:
    """Numbers for the streams of stations: first those of stations that have ended, with their state, then new ones."""

    def __init__(self, first_free: int = 0, ended: Sequence[tuple[int, bytes]] = ()) -> None:
        self._next = first_free
        self._ended = list(ended)

    def take(self) -> tuple[int, bytes]:
        """Return the number of a stream and the state to go on from, empty for a new one."""
        if self._ended:
            return self._ended.pop(0)
        self._next += 1
        return self._next - 1, b""

    def give_back(self, number: int, state: bytes) -> None:
        """Take note that the station of a stream has ended, which left this state."""
        if state:
            self._ended.append((number, state))


class Station:
    """One search with memory and records of its own, and the number of its stream.

    With the state of an earlier station it goes on with that one's stream.
    """

    def __init__(self, commission: Commission, models: Models, stream: int, state: bytes = b"") -> None:
        self.commission = commission
        self.stream = stream
        self.control = _core.Control()
        self._models, self._plain = models, models.plain
        self._log = _core.ProofLog(numbers_of_samples(self._plain)) if commission.writes_proof else None
        options = core_options(commission.options)
        self._core = _core.RootSearch(self._plain.core, options, self._plain.depth, 1, self.control, self._log)
        if commission.options["effort"] is not None:
            self._core.set_effort(commission.options["effort"])
        if state:
            try:
                self._core.load(unpacked_state(state))
            except ValueError as error:
                raise InvalidInputError(f"the checkpoint cannot be gone on from: {error}") from error
        self._scout: Scout | None = None
        self._helper: Helper | None = None
        self._improved = deque[Improved]()
        self._looking = _core.Control()
        self._reoptimiser: _core.Reoptimiser | None = None  # which subtrees it has improved it remembers
        self._offered: int | None = None  # the least cost that is known elsewhere
        self._is_settling = self._has_unwritten = False

    def begin(self, duty: Duty) -> None:
        """Begin a duty; returns at once."""
        if duty.parts is None:
            self._scout = self._new_scout(duty)
            self._scout.start()
        elif duty.question is not None:
            options, writes = core_options(self.commission.options), self.commission.writes_proof
            self._helper = Helper(
                duty.question, duty.parts, duty.place, self._plain, options, self.control, writes_proof=writes
            )
        else:
            self._reoptimiser = None
            self._is_settling = self._has_unwritten = True
            self._core.hear(duty.told)
            self._core.start(duty.target, duty.best, duty.parts)
            if self._offered is not None:
                self._core.offer(self._offered)  # it may have come while the duty was on its way

    def news(self, seconds: float) -> News:
        """Return what is new, but what was written (`take_piece`), after so many seconds at most."""
        scout, helper = self._scout, self._helper  # other threads may end them meanwhile
        if scout is not None:
            n = len(self._improved)  # before the trees that these rest on are asked for
            trees, is_over = scout.news(seconds)
            if is_over:
                self._scout, n = None, len(self._improved)
            improved = [self._improved.popleft() for _ in range(n)]
            return News([(None, tree) for tree in trees], improved=improved, is_done=is_over)
        if helper is not None:
            help_, is_over = helper.news(seconds)
            if is_over:
                self.end_help()
            return News(help=help_, is_done=is_over)
        found, _, _, is_running = self._core.wait(seconds)
        self._is_settling = is_running
        news = News(is_done=not is_running)
        if found:
            cost, rows = found[-1]
            tree = plain_to_indices(rows, self.commission.problem) if self._log is not None else tree_of(rows)
            news.trees.append((cost, tree))
        news.settled = self._core.take_settled()
        news.told = self._core.take_told()[-TOLD:]
        if news.is_done:
            depths = range(self._plain.depth, 1, -1)
            news.counters = {f"depth {depth}": self._core.counters(depth) for depth in depths}
        return news

    def take_piece(self) -> Piece | None:
        """Return what was written since the last piece, if anything was."""
        if self._log is None or not self._has_unwritten:
            return None
        self._has_unwritten = self._is_settling
        taken = self._core.take_piece(UNTIL_PIECE)
        return packed_piece(self.stream, *taken) if taken is not None and any(taken[:2]) else None

    def offer(self, cost: int) -> None:
        """Take note that a tree of this cost, in parts, is known elsewhere."""
        self._offered = cost if self._offered is None else min(self._offered, cost)
        self._core.offer(cost)

    @property
    def is_settling(self) -> bool:
        """Whether parts of the root are settled."""
        return self._is_settling and self._scout is None and self._helper is None

    def give_work(self, *, helps: bool) -> tuple[list[RootPart], Question | None]:
        """Return parts that were not begun yet or, if one `helps`, a question that is worth it.

        Where there is nothing of the kind, the next call may find some.
        """
        if not self.is_settling:
            return [], None
        parts = self._core.give_back()
        return parts, question_of(self._core) if helps and not parts else None

    def take_help(self, question: int, place: int, given: Help) -> bool:
        """Take note of what a helper found out; whether the question is still open."""
        return self._core.help(question, place, given.settled, given.records, given.tree)

    def end_help(self) -> None:
        """Help no more."""
        helper, self._helper = self._helper, None
        if helper is not None:
            helper.stop()

    def request_stop(self) -> None:
        """Ask whatever runs to end; returns at once."""
        self.control.request_stop()
        self._looking.request_stop()
        self.end_help()
        scout = self._scout
        if scout is not None:
            scout.request_stop()

    def _new_scout(self, duty: Duty) -> Scout:
        commission, options, model = self.commission, core_options(self.commission.options), self._models.own
        self._improved.clear()
        self._looking.set_time_left(duty.seconds)

        def look(run: Run, permits: Semaphore) -> None:
            del permits  # there is one thread
            if duty.starts:
                if self._reoptimiser is None:
                    self._reoptimiser = _core.Reoptimiser(model.core, options, self._looking)
                improve_starts(duty.starts, self._reoptimiser, model, run, self._improved.append)
            else:
                report_tree_of_sample(model, options, run)

        return Scout(
            look,
            commission.problem,
            commission.options,
            random_state=commission.random_state,
            seconds=duty.seconds,
            tree=duty.tree,
        )

    def close(self) -> None:
        """End whatever runs."""
        self.request_stop()
        if self._scout is not None:
            self._scout.close()
        self._core.stop()
