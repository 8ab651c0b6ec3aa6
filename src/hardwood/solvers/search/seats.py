"""Stations in the process of a Dask worker, from one slice of their work to the next.

A station searches on while its news travel. One whose searcher is gone ends by itself (`LEASE`), and at once when its
worker closes.
"""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from hardwood.solvers.search.helping import Help, Question, RootPart
from hardwood.solvers.search.station import TOLD, Commission, Duty, Models, News, Station

LEASE = 30.0
"""Seconds that a station searches on after its last slice."""

LONGEST = 8.0
"""So many times as long may a slice last by the clock, on a machine that has much else to do."""

LOOK = 0.1
"""Seconds between two looks of a slice at its station, and of a process with stations at its worker."""

SHORT_LOOK, PATIENCE = 0.003, 0.5
"""Seconds between two looks at a station that was asked for work, and until it is no longer waited for."""

SERVING = ("init", "starting", "running", "paused")
"""What Dask says of a worker that is not about to end."""


@dataclass
class _Seat:
    station: Station
    worker: Any  # of Dask
    turn: int = 0


_LOCK = threading.Lock()
_SEATS: dict[tuple[str, str], _Seat] = {}
_MODELS: dict[str, Models] = {}
_RESTING = set[Any]()  # workers whose profile rests
_watcher: threading.Thread | None = None


@dataclass(frozen=True)
class Slice:
    """What a task is to do: go on with turn `turn` of a stream, or begin a duty.

    For the latter a new station may be needed: it writes the stream `fresh`, from the state `state` on.
    """

    search: str
    slot: str
    stream: int
    turn: int
    fresh: int
    state: bytes
    best: int
    seconds: float
    duty: Duty | None


@dataclass(frozen=True)
class SliceNews:
    """What came of it, in so many CPU seconds; `stream` is -1 if there was nothing to go on with."""

    stream: int
    turn: int
    news: News
    seconds: float = 0.0


def prepare(commission: Commission, search: str) -> None:
    """Get ready for the first slice of a search."""
    with _LOCK:
        _models_of(commission, search)


def _models_of(commission: Commission, search: str) -> Models:
    if search not in _MODELS:
        _MODELS[search] = commission.models()
    return _MODELS[search]


def do_slice(commission: Commission, task: Slice) -> SliceNews:
    """Search for some time on a worker."""
    seat = _seat_for(commission, task)
    if seat is None:
        return SliceNews(-1, 0, News(is_done=True))
    station = seat.station
    station.control.set_time_left(LONGEST * task.seconds + LEASE)
    if task.duty is not None:
        station.begin(task.duty)
    station.offer(task.best)
    told = News()
    began, worked = time.monotonic(), _work()
    while True:
        left = min(task.seconds - (_work() - worked), began + LONGEST * task.seconds - time.monotonic())
        is_last = left <= 0 or bool(told.trees)
        news = station.news(0.0 if is_last else min(LOOK, left))
        told.trees += news.trees
        told.settled += news.settled
        told.improved += news.improved
        told.told = (told.told + news.told)[-TOLD:]
        told.help = told.help.followed_by(news.help)
        if is_last or news.is_done:
            told.is_done, told.counters = news.is_done, news.counters
            break
    told.piece = station.take_piece()
    station.control.set_time_left(LEASE)
    seat.turn += 1
    return SliceNews(station.stream, seat.turn, told, _work() - worked)


def _work() -> float:
    """Return the CPU seconds of each station of this process: that is what is lost with it."""
    return time.process_time() / max(1, len(_SEATS))


def _seat_for(commission: Commission, task: Slice) -> _Seat | None:
    """Return the station to go on with, or a new one."""
    global _watcher
    key = (task.search, task.slot)
    with _LOCK:
        _sweep(task.search)
        seat = _SEATS.get(key)
        is_right = seat is not None and (seat.station.stream, seat.turn) == (task.stream, task.turn)
        if seat is not None and is_right and not seat.station.control.stopped:
            return seat
        if seat is not None:
            _SEATS.pop(key).station.close()
        if task.duty is None:
            return None
        models = _models_of(commission, task.search)
        _SEATS[key] = _Seat(Station(commission, models, task.fresh, task.state), _own_worker())
        _let_profile_rest(_SEATS[key].worker)
        if _watcher is None:
            _watcher = threading.Thread(target=_watch, daemon=True)
            _watcher.start()
        return _SEATS[key]


def _own_worker() -> Any:
    """Return the worker that runs the present task; None where nobody does."""
    try:
        return import_module("distributed").get_worker()
    except ValueError:
        return None


def _let_profile_rest(worker: Any) -> None:
    """Let Dask not look at the threads of a worker a hundred times per second as long as stations sit there.

    It would see them wait, and that takes half of what an idle worker takes of a core.
    """
    if worker is not None and "profile" in worker.periodic_callbacks:
        _RESTING.add(worker)
        worker.loop.add_callback(worker.periodic_callbacks["profile"].stop)


def _let_profiles_go_on() -> None:
    while _RESTING:
        worker = _RESTING.pop()
        if _serves(worker):
            worker.loop.add_callback(worker.periodic_callbacks["profile"].start)


def _serves(worker: Any) -> bool:
    return worker.status.name in SERVING


def _watch() -> None:
    """Let stations end with their worker, which closes when it loses its scheduler."""
    global _watcher
    while True:
        time.sleep(LOOK)
        with _LOCK:
            if not _SEATS:
                _let_profiles_go_on()
                _watcher = None
                return
            for seat in _SEATS.values():
                if seat.worker is not None and not _serves(seat.worker):
                    seat.station.request_stop()


def _sweep(present: str) -> None:
    """Forget other searches that have ended, or whose searcher has."""
    for key, seat in list(_SEATS.items()):
        if key[0] != present and seat.station.control.stopped:
            _SEATS.pop(key).station.close()
    for search in set(_MODELS) - {key[0] for key in _SEATS} - {present}:
        del _MODELS[search]


def tell_cost(search: str, cost: int) -> None:
    """Tell the stations of a search on this worker that a better tree is known."""
    for (other, _), seat in list(_SEATS.items()):
        if other == search:
            seat.station.offer(cost)


async def give_work(search: str, slot: str, helps: bool) -> tuple[list[RootPart], Question | None]:
    """Return parts that a station on this worker has not begun, or a question of it, as soon as it has one.

    That is at its next threshold: it is waited for here, where it takes no message to look again.
    """
    until = time.monotonic() + PATIENCE
    while True:
        seat = _SEATS.get((search, slot))
        if seat is None:
            return [], None
        parts, question = seat.station.give_work(helps=helps)
        if parts or question is not None or not seat.station.is_settling or time.monotonic() > until:
            return parts, question
        await asyncio.sleep(SHORT_LOOK)


def take_help(search: str, slot: str, question: int, place: int, given: Help) -> bool:
    """Hand over what a helper found out to a station on this worker."""
    seat = _SEATS.get((search, slot))
    return seat is not None and seat.station.take_help(question, place, given)


def end_help(search: str, slot: str) -> None:
    """Let a station on this worker help no more."""
    seat = _SEATS.get((search, slot))
    if seat is not None:
        seat.station.end_help()


def end_search(search: str) -> None:
    """End the stations of a search on this worker."""
    with _LOCK:
        for key in [key for key in _SEATS if key[0] == search]:
            _SEATS.pop(key).station.request_stop()
        _MODELS.pop(search, None)
