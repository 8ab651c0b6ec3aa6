"""Stations in the processes of Dask workers.

A station sits in a task that lasts as long as the search (`sit`), so that Dask knows its worker at work; others' tasks
need not wait for it. Orders come to it, and what it says is taken from it, in calls past the queue of tasks
(`Client.run`), which cost less than a task. When it has something to say it rings, by an event of Dask's, and keeps
what it said until that has arrived for certain. A station whose searcher has not been heard of for long ends by itself
(`LEASE`), and at once when its worker closes.
"""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from hardwood.solvers.search.helping import Help, Question, RootPart
from hardwood.solvers.search.station import Commission, Duty, Models, News, Station

SLICE = (0.4, 5.0, 0.02)
"""CPU seconds after which a station rings, for each thread: at least, at most, and as a share of those before."""

MOST_SLICES = 200
"""So many stations ring per second; where there are more, each rings less often."""

LONGEST = 8.0
"""So many times as long may a slice last by the clock, on a machine that has much else to do."""

LEASE = 30.0
"""Seconds that a station stays on whose searcher is not heard of."""

LOOK = 0.1
"""Seconds between two looks at a station, at who wants something of it, and at its worker."""

SHORT_LOOK, PATIENCE = 0.003, 0.5
"""Seconds between two looks at a station that was asked for work, and until it is no longer waited for."""

SERVING = ("init", "starting", "running", "paused")
"""What Dask says of a worker that is not about to end."""

TOPIC = "hardwood"
"""Of the events by which stations ring."""


def slice_seconds(n_stations: int, worked: float) -> float:
    """Return how long a slice is: the longer the station has worked, and the more stations there are."""
    least, most, share = SLICE
    return max(min(max(share * worked, least), most), n_stations / MOST_SLICES)


@dataclass(frozen=True)
class DutyOrder:
    """What a station is to do.

    Attributes
    ----------
    number : int
        No other order of the search has it.
    duty : Duty
    best : int
        The least cost that is known, in parts.
    n_stations : int
    stream : int
        That the station writes; one that writes another stream makes room for a new one.
    state : bytes
        That a new station goes on from.
    """

    number: int
    duty: Duty
    best: int
    n_stations: int
    stream: int
    state: bytes = b""


@dataclass(frozen=True)
class Said:
    """What a station said, the how many-th time, of which order; the first of them last until they were taken."""

    number: int
    order: int
    news: News


class _Seat:
    """Where a station sits: what it is to do, and what it has said."""

    def __init__(self) -> None:
        self.name = uuid.uuid4().hex  # a worker that was started again at the same address has other seats
        self.station: Station | None = None
        self.is_over = False
        self._order: DutyOrder | None = None
        self._said = deque[Said]()
        self._n_said = self._n_handed_over = 0
        self._worked = 0.0
        self._heard = time.monotonic()
        self._changed = threading.Condition()
        self.sitter = threading.Lock()  # held by whoever sits there

    def hear(self) -> None:
        """Take note that the searcher is still there."""
        self._heard = time.monotonic()

    def order(self, order: DutyOrder) -> None:
        """Have an order carried out instead of whatever there was."""
        self.hear()
        with self._changed:
            self._order = order
            self._said.clear()
            self._changed.notify_all()

    def taken(self, known: int) -> list[Said]:
        """Return what was said; what the searcher knows is forgotten."""
        self.hear()
        with self._changed:
            while self._said and self._said[0].number <= known:
                self._said.popleft()
            self._n_handed_over = self._n_said
            self._changed.notify_all()
            return list(self._said)

    def end(self) -> None:
        """Let the station go."""
        with self._changed:
            self.is_over = True
            self._changed.notify_all()
        if self.station is not None:
            self.station.request_stop()

    def serve(self, commission: Commission, models: Models, worker: Any, ring: Callable[[], None]) -> None:
        """Carry out orders as they come, until the search is over or its searcher or the worker is gone."""
        try:
            while (order := self._next_order(worker)) is not None:
                if self.station is None or self.station.stream != order.stream:
                    self._close_station()
                    self.station = Station(commission, models, order.stream, order.state)
                self.station.offer(order.best)
                self.station.begin(order.duty)
                if not self._carry_out(order, self.station, worker, ring):
                    self._close_station()
        finally:
            self._close_station()

    def _next_order(self, worker: Any) -> DutyOrder | None:
        with self._changed:
            while self._order is None and not self._must_end(worker):
                self._changed.wait(LOOK)
            order, self._order = self._order, None
            return None if self._must_end(worker) else order

    def _carry_out(self, order: DutyOrder, station: Station, worker: Any, ring: Callable[[], None]) -> bool:
        """Say what is new, slice by slice, until all is done; whether it came to that."""
        worked_before = 0.0 if order.duty.question is not None else self._worked
        while not self._is_disturbed(worker):
            told, worked = self._slice(station, slice_seconds(order.n_stations, worked_before), worker)
            worked_before += worked
            self._worked += worked
            with self._changed:
                if self._order is None:
                    self._n_said += 1
                    self._said.append(Said(self._n_said, order.number, told))
            ring()
            if told.is_done:
                return True
            self._wait_for_searcher(worker)
        return False

    def _slice(self, station: Station, seconds: float, worker: Any) -> tuple[News, float]:
        """Watch a station for so many seconds, or until it has a tree or is done; what is new, and CPU seconds."""
        told = News()
        began, began_working = time.monotonic(), _work()
        while not told.is_done and not told.trees and not self._is_disturbed(worker):
            left = min(seconds - (_work() - began_working), began + LONGEST * seconds - time.monotonic())
            if left <= 0:
                break
            told.add(station.news(min(LOOK, left)))
        if not told.is_done:
            told.add(station.news(0.0))
        told.piece = station.take_piece()
        return told, _work() - began_working

    def _wait_for_searcher(self, worker: Any) -> None:
        """Wait until what was said is asked for; the station searches on."""
        with self._changed:
            while self._n_handed_over < self._n_said and not self._is_disturbed(worker):
                self._changed.wait(LOOK)

    def _is_disturbed(self, worker: Any) -> bool:
        return self._order is not None or self._must_end(worker)

    def _must_end(self, worker: Any) -> bool:
        return self.is_over or time.monotonic() - self._heard > LEASE or not _serves(worker)

    def _close_station(self) -> None:
        station, self.station = self.station, None
        if station is not None:
            station.close()


_LOCK = threading.Lock()
_GETTING_READY = threading.Lock()  # may last, as nothing behind the other lock does
_SEATS: dict[tuple[str, str], _Seat] = {}
_MODELS: dict[str, Models] = {}
_QUIET = Counter[Any]()  # stations of each worker whose profile rests


def sit(commission: Commission, search: str, slot: str) -> None:
    """Let a station sit on a thread of this worker until its search is over."""
    worker = _own_worker()
    if worker is not None:
        import_module("distributed").secede()  # others' tasks need not wait for the end of the search

    def ring() -> None:
        if worker is not None:
            worker.log_event(TOPIC, {"search": search, "slot": slot})

    seat = _seat_of(search, slot)
    with seat.sitter, _quiet(worker):
        try:
            seat.serve(commission, _models_of(commission, search), worker, ring)
        finally:
            _leave(search, slot, seat)


def _models_of(commission: Commission, search: str) -> Models:
    with _GETTING_READY:
        if search not in _MODELS:
            _MODELS[search] = commission.models()
        return _MODELS[search]


def _leave(search: str, slot: str, seat: _Seat) -> None:
    """Take a seat away, which nobody sits down on again."""
    with _LOCK:
        seat.is_over = True
        if _SEATS.get((search, slot)) is seat:
            del _SEATS[search, slot]
        if all(other != search for other, _ in _SEATS):
            _MODELS.pop(search, None)


def _seat_of(search: str, slot: str) -> _Seat:
    """Return the seat of a slot; an order may come before its station has sat down."""
    with _LOCK:
        return _SEATS.setdefault((search, slot), _Seat())


def _station_at(search: str, slot: str) -> Station | None:
    seat = _SEATS.get((search, slot))
    if seat is None:
        return None
    seat.hear()
    return seat.station


def _own_worker() -> Any:
    """Return the worker that runs the present task; None where nobody does."""
    try:
        return import_module("distributed").get_worker()
    except ValueError:
        return None


def _serves(worker: Any) -> bool:
    return worker is None or worker.status.name in SERVING


def _work() -> float:
    """Return the CPU seconds of each station of this process: that is what is lost with it."""
    return time.process_time() / max(1, len(_SEATS))


@contextmanager
def _quiet(worker: Any) -> Iterator[None]:
    """Let Dask not look at the threads of a worker a hundred times per second as long as stations sit there.

    It would see them wait, and that takes half of what an idle worker takes of a core.
    """
    profile = None if worker is None else worker.periodic_callbacks.get("profile")
    if profile is None:
        yield
        return
    with _LOCK:
        _QUIET[worker] += 1
        if _QUIET[worker] == 1:
            worker.loop.add_callback(profile.stop)
    try:
        yield
    finally:
        with _LOCK:
            _QUIET[worker] -= 1
            if _QUIET[worker] == 0:
                del _QUIET[worker]
                if _serves(worker):
                    worker.loop.add_callback(profile.start)


# What a searcher calls (`Client.run`), on the worker's own thread: nothing here may last.


def begin(search: str, slot: str, seat_name: str, order: DutyOrder) -> str:
    """Give an order to the station that sits there; its name is known if orders were given to it before.

    Returns
    -------
    seat_name : str
        If it is another one, the order was not given: the station that was meant is gone.
    """
    seat = _seat_of(search, slot)
    if seat_name in ("", seat.name):
        seat.order(order)
    return seat.name


def take_said(search: str, slot: str, known: int, best: int) -> tuple[str, list[Said]]:
    """Return who sits there, and what was said; no name if nobody does."""
    seat = _SEATS.get((search, slot))
    if seat is None:
        return "", []
    if seat.station is not None:
        seat.station.offer(best)
    return seat.name, seat.taken(known)


def tell_cost(search: str, cost: int) -> None:
    """Tell the stations of a search on this worker that a better tree is known."""
    for (other, _), seat in list(_SEATS.items()):
        if other == search and seat.station is not None:
            seat.station.offer(cost)


async def give_work(search: str, slot: str, helps: bool) -> tuple[list[RootPart], Question | None]:
    """Return parts that a station on this worker has not begun, or a question of it, as soon as it has one.

    That is at its next threshold: it is waited for here, where it takes no message to look again.
    """
    until = time.monotonic() + PATIENCE
    while True:
        station = _station_at(search, slot)
        if station is None:
            return [], None
        parts, question = station.give_work(helps=helps)
        if parts or question is not None or not station.is_settling or time.monotonic() > until:
            return parts, question
        await asyncio.sleep(SHORT_LOOK)


def take_help(search: str, slot: str, question: int, place: int, given: Help) -> bool:
    """Hand over what a helper found out to a station on this worker."""
    station = _station_at(search, slot)
    return station is not None and station.take_help(question, place, given)


def end_help(search: str, slot: str) -> bool:
    """Let a station on this worker help no more; whether there was one."""
    station = _station_at(search, slot)
    if station is not None:
        station.end_help()
    return station is not None


def end_search(search: str) -> None:
    """End the stations of a search on this worker."""
    with _LOCK:
        for key in [key for key in _SEATS if key[0] == search]:
            _SEATS.pop(key).end()
