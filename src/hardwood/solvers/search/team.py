"""The stations that take part in a search, for whoever hands out the work.

In threads of this process here, on machines in `hardwood.solvers.search.cluster`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from hardwood.solvers.search.helping import Help, Question, RootPart
from hardwood.solvers.search.station import Commission, Duty, Models, News, Station, Streams


@dataclass(frozen=True)
class Given:
    """What a station that was asked for work has to give: parts, or a question to help with; maybe nothing."""

    slot: str
    parts: list[RootPart]
    question: Question | None


class Team(Protocol):
    """The stations that take part in a search."""

    def slots(self) -> list[str]:
        """Return the names of the stations that are there now."""

    def give(self, slot: str, duty: Duty) -> None:
        """Let a station begin a duty."""

    def news(self, seconds: float, *, writes: bool) -> list[tuple[str, int, News]]:
        """Return slot, stream and news of the stations that have any, after so many seconds at most.

        Where a proof is written, what was written comes with them if `writes`, from those without work, too; stations
        of other processes, which may die, hand it over of their own accord.
        """

    def offer(self, cost: int) -> None:
        """Tell all that a tree of this cost is known."""

    def ask_for_work(self, slot: str, *, helps: bool) -> None:
        """Ask a station for parts that it has not begun or, if one `helps`, for the question that it is at.

        It answers when it can (`given_back`), and until then is not asked again.
        """

    def given_back(self) -> list[Given]:
        """Return the answers that have come."""

    def take_help(self, slot: str, question: int, place: int, given: Help) -> bool:
        """Hand over what a helper found out; whether the question is still open."""

    def end_help(self, slot: str) -> None:
        """Let a station help no more."""

    def close(self) -> None:
        """End all duties."""


class Threads:
    """Stations in threads of this process."""

    def __init__(self, commission: Commission, models: Models, n: int, streams: Streams) -> None:
        self._stations = {str(k): Station(commission, models, *streams.take()) for k in range(n)}
        self._busy: set[str] = set()
        self._given: list[Given] = []

    def slots(self) -> list[str]:
        """Return the names of the stations."""
        return list(self._stations)

    def give(self, slot: str, duty: Duty) -> None:
        """Let a station begin a duty."""
        self._stations[slot].begin(duty)
        self._busy.add(slot)

    def news(self, seconds: float, *, writes: bool) -> list[tuple[str, int, News]]:
        """Return what is new, after so many seconds at most."""
        told = []
        for k, slot in enumerate(sorted(self._busy)):
            station = self._stations[slot]
            news = station.news(seconds if k == 0 else 0.0)
            told.append((slot, station.stream, news))
            if news.is_done:
                self._busy.discard(slot)
        pieces = ((slot, station, station.take_piece()) for slot, station in self._stations.items() if writes)
        told += [(slot, station.stream, News(piece=piece)) for slot, station, piece in pieces if piece is not None]
        return told

    def offer(self, cost: int) -> None:
        """Tell all that a tree of this cost is known."""
        for station in self._stations.values():
            station.offer(cost)

    def ask_for_work(self, slot: str, *, helps: bool) -> None:
        """Ask a station for parts, or a question: it answers at once, but what it has only now it gives next time."""
        parts, question = self._stations[slot].give_work(helps=helps)
        self._given.append(Given(slot, parts, question))

    def given_back(self) -> list[Given]:
        """Return the answers."""
        given, self._given = self._given, []
        return given

    def take_help(self, slot: str, question: int, place: int, given: Help) -> bool:
        """Hand over what a helper found out."""
        return self._stations[slot].take_help(question, place, given)

    def end_help(self, slot: str) -> None:
        """Let a station help no more."""
        self._stations[slot].end_help()

    def close(self) -> None:
        """End all duties."""
        for station in self._stations.values():
            station.request_stop()
        for station in self._stations.values():
            station.close()
