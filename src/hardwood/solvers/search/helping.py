"""The next level of a search, shared out: who has nothing left to do at the root helps another one with its question.

A station that settles a threshold of the root asks its two children in turn whether there is a tree below a target,
under weights of their own: the same problem, one level down. Whoever helps searches for that problem, the thresholds
first that the other one would come to last, and tells it what it has settled, or the tree that it found. Nobody waits:
what both did at the same time is lost, and when the question is over, so is the help.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

import hardwood._core as _core
from hardwood.arrays import IntArray
from hardwood.proofs.members import Settled
from hardwood.proofs.writer import numbers_of_samples
from hardwood.solvers.search.model import SearchModel

RootPart = tuple[int, int, int]
"""Feature, first and end of a range of candidates at the root."""

LEAST_SECONDS = 0.3
"""A question that has been open for so long is worth helping with."""

FIRST_PLACE = 1 << 12
"""In the proof, the places of a helper begin with a multiple of this."""


@dataclass(frozen=True)
class Question:
    """Whether there is a tree below the target, for these samples with these weights.

    Attributes
    ----------
    number : int
        Of the question, for whoever asked it.
    samples, weight : IntArray
    target : int
    open : sequence of RootPart
        What is not settled yet, in the order in which it will be looked at.
    """

    number: int
    samples: IntArray
    weight: IntArray
    target: int
    open: Sequence[RootPart]


@dataclass(frozen=True)
class Help:
    """What a helper has settled, with the records that prove it, or the tree that it found (cost and rows)."""

    settled: list[Settled] = field(default_factory=list)
    records: bytes = b""
    tree: tuple[int, IntArray] | None = None

    def __bool__(self) -> bool:
        return bool(self.settled or self.records or self.tree is not None)

    def followed_by(self, other: Help) -> Help:
        """Return what both say."""
        return Help(self.settled + other.settled, self.records + other.records, other.tree or self.tree)


class Helper:
    """A search for the answer to another station's question."""

    def __init__(
        self,
        question: Question,
        parts: Sequence[RootPart],
        place: int,
        plain: SearchModel,
        options: _core.SearchOptions,
        control: _core.Control,
        *,
        writes_proof: bool,
    ) -> None:
        numbers = numbers_of_samples(plain)[question.samples]
        self._log = _core.ProofLog(numbers, place) if writes_proof else None
        problem = plain.core.part(question.samples, question.weight)
        self._core = _core.RootSearch(problem, options, plain.depth - 1, 1, control, self._log)
        self._core.start(question.target, question.target, parts)

    def news(self, seconds: float) -> tuple[Help, bool]:
        """Return what came of it since the last time, and whether it is over."""
        trees, _, _, is_running = self._core.wait(seconds)
        is_over = not is_running or bool(trees)
        if is_over:
            self._core.stop()
        if self._log is None:
            return Help(self._core.take_settled(), tree=trees[-1] if trees else None), is_over
        # While it runs there may be no piece yet: the search has to come back to its root.
        records, settled, _ = self._core.take_piece(0.0, True) or (b"", [], b"")
        return Help(settled, records, trees[-1] if trees else None), is_over

    def stop(self) -> None:
        """End it."""
        self._core.stop()


@dataclass
class _Asked:
    question: Question
    left: list[RootPart]
    n_helpers: int = 0
    helping: set[str] = field(default_factory=set)


class Questions:
    """Who helps whom: for the one who hands out the work."""

    def __init__(self) -> None:
        self._asked: dict[str, _Asked] = {}

    def is_known(self, asker: str) -> bool:
        """Whether a question of the station is being helped with, or can be."""
        asked = self._asked.get(asker)
        return asked is not None and bool(asked.helping or _size(asked.left) > 1)

    def note(self, asker: str, question: Question) -> None:
        """Take note of what a station is at."""
        before = self._asked.get(asker)
        n_helpers = before.n_helpers if before is not None and before.question.number == question.number else 0
        self._asked[asker] = _Asked(question, list(question.open), n_helpers)

    def share_out(self, helper: str) -> tuple[str, Question, list[RootPart], int] | None:
        """Return the asker, the question, parts for a helper to begin with and its place in the proof."""
        for asker, asked in self._asked.items():
            if _size(asked.left) < 2:
                continue
            asked.left, parts = _halved(asked.left)
            asked.n_helpers += 1
            asked.helping.add(helper)
            return asker, asked.question, parts, FIRST_PLACE * asked.n_helpers
        return None

    def end_help(self, asker: str, helper: str) -> None:
        """Take note that a helper has ended."""
        if asker in self._asked:
            self._asked[asker].helping.discard(helper)

    def forget(self, asker: str, number: int | None = None) -> None:
        """Take note that a question is over, or that its station is gone."""
        if asker in self._asked and number in (None, self._asked[asker].question.number):
            del self._asked[asker]


def _size(parts: Sequence[RootPart]) -> int:
    return sum(end - first for _, first, end in parts)


def without(parts: Sequence[RootPart], others: Sequence[RootPart]) -> list[RootPart]:
    """Return parts less what others cover of them."""
    left = list(parts)
    for feature, first, end in others:
        cut: list[RootPart] = []
        for part in left:
            if part[0] != feature or part[1] >= end or part[2] <= first:
                cut.append(part)
                continue
            cut += [(feature, a, b) for a, b in ((part[1], first), (end, part[2])) if a < b]
        left = cut
    return left


def _halved(parts: list[RootPart]) -> tuple[list[RootPart], list[RootPart]]:
    """Return what stays and what is given away: the later half, the last ones first."""
    stays, given = list(parts), []
    wanted = _size(parts) // 2
    while wanted > 0:
        feature, first, end = stays.pop()
        cut = max(first, end - wanted)
        given.append((feature, cut, end))
        wanted -= end - cut
        if cut > first:
            stays.append((feature, first, cut))
    return stays, given


def question_of(core: _core.RootSearch) -> Question | None:
    """Return the question that a search is at, if it has been for long; the next call may find one."""
    asked = core.ask_question(LEAST_SECONDS)
    if asked is None:
        return None
    number, samples, weight, target, parts = asked
    return Question(number, np.asarray(samples), np.asarray(weight), target, parts)
