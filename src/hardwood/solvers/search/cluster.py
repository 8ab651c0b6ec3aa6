"""Stations on the workers of a Dask cluster.

Each station sits in one task that lasts as long as the search (`hardwood.solvers.search.seats`), and is spoken to past
the queue of tasks (`Client.run`): duties are given to it, and when it rings, what it says is taken from it. Data is
sent to one worker; the others get it from those that have it. Nothing that is lost here can do harm: what a worker had
not yet told is open in the ledger and given to another one.

Calls of the cluster are made on the client's own thread; whoever hands out the work finds what came of them in `news`
and waits for none of them, except where it says so.
"""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

from hardwood.errors import HardwoodError, InvalidInputError, MissingEngineError
from hardwood.solvers.search.helping import Help
from hardwood.solvers.search.seats import (
    LEASE,
    TOPIC,
    DutyOrder,
    begin,
    end_help,
    end_search,
    give_work,
    sit,
    take_help,
    take_said,
    tell_cost,
)
from hardwood.solvers.search.station import Commission, Duty, News, Streams
from hardwood.solvers.search.team import Given

LOST_LOOK = 0.5
"""Seconds between two looks of a searcher whose scheduler does not answer."""

PATIENCE = 15.0
"""Seconds to wait for a scheduler that does not answer."""

ANSWER, LATE_ANSWER = 5.0, 30.0
"""Seconds to wait for the answer of a worker, which may be stopped, or out of reach, and nobody knows yet; and until it
has an order, which it may be too busy to take at once."""

GOODBYE = 0.5
"""Seconds to wait until all workers know that the search is over; who hears of it later ends later."""

SILENCE = 30.0
"""Seconds in which a worker that did not answer is not asked again."""

SIGN_OF_LIFE = LEASE / 3
"""Seconds after which a station that was not spoken to is asked what is new, which it may have had no bell for."""

MOST_FAILURES = 20
"""So many tasks may fail one after another."""


class ClusterLostError(HardwoodError, RuntimeError):
    """The Dask cluster is gone, or its workers fail again and again."""


@dataclass
class _Slot:
    """A thread of a worker, and what is known of the station that sits there."""

    address: str
    task: Any = None  # that the station sits in
    seat: str = ""  # its name; empty if nothing has been heard of it
    order: int = 0  # number of the one that is carried out; 0: none is
    known: int = 0  # number of what was said last
    stream: int = -1
    spoken_to: float = 0.0
    is_asked: bool = False
    has_rung: bool = False


class Workers:
    """Stations on all threads of all workers of a cluster, also of those that join later."""

    def __init__(self, client: Any, commission: Commission, streams: Streams) -> None:
        self._client = client
        self._lost = _what_breaks()
        self._commission = commission
        self._streams = streams
        self._search = uuid.uuid4().hex
        self._slots: dict[str, _Slot] = {}
        self._states: dict[int, bytes] = {}  # by stream, the last one
        self._numbers = count(1)  # of orders
        self._best = 1 << 62
        self._looked, self._heard = 0.0, time.monotonic()
        self._data: Any = None
        self._failures = 0
        self._rings = threading.Event()
        self._came = deque[tuple[str, int, News | None]]()  # slot, order, and what was said; None: it was lost
        self._silent: dict[str, float] = {}  # by address, until when it is not asked
        self._asked_for_work, self._given = set[str](), deque[Given]()
        _SEARCHES[self._search] = self
        self._asked(client.subscribe_topic, TOPIC, _ring)
        self.slots()

    # --- who is there ---

    def slots(self) -> list[str]:
        """Return the stations that there are now."""
        if time.monotonic() - self._looked > 1.0 or not self._slots:
            self._looked = time.monotonic()
            threads = self._asked(self._client.nthreads)
            if threads is not None:
                self._heard = time.monotonic()
                there = {f"{address}#{k}": address for address, n in threads.items() for k in range(n)}
                for name in set(self._slots) - set(there):
                    self._drop(name)
                for name, address in there.items():
                    if name not in self._slots and not self._is_silent(address):
                        self._seat(name, _Slot(address))
            elif time.monotonic() - self._heard > PATIENCE:
                raise ClusterLostError(
                    "the Dask scheduler does not answer any more; a search with a checkpoint that is started again "
                    "goes on from there"
                )
            if not self._slots:
                time.sleep(0.1)  # until the first worker joins, or another one does
        return list(self._slots)

    def _seat(self, name: str, slot: _Slot) -> None:
        """Let a station sit down, if its worker, which is sent the data if it has to be, can be reached."""
        if self._data is None:
            self._data = self._scattered(slot.address)
        if self._data is None:
            self._silent[slot.address] = time.monotonic() + SILENCE
            return
        submit, arguments = self._client.submit, (self._data, self._search, name)
        slot.task = self._asked(submit, sit, *arguments, workers=[slot.address], pure=False, retries=0)
        if slot.task is not None:
            slot.spoken_to = time.monotonic()
            slot.task.add_done_callback(lambda _: self._rings.set())
            self._slots[name] = slot

    def _scattered(self, address: str) -> Any:
        """Return the data on a worker if it takes them in time.

        Who waits for a worker waits for ever if that was stopped, so somebody else does.
        """
        answers: list[Any] = []
        scatter, named = self._client.scatter, {"workers": [address], "hash": False}
        asker = threading.Thread(
            target=lambda: answers.append(self._asked(scatter, self._commission, **named)), daemon=True
        )
        asker.start()
        asker.join(ANSWER)
        return answers[0] if answers else None

    def _drop(self, name: str) -> None:
        """Forget a station whose worker is gone; others go on with what it told."""
        slot = self._slots.pop(name)
        self._asked(slot.task.cancel)
        self._end_stream(slot)

    def _end_stream(self, slot: _Slot) -> None:
        self._streams.give_back(slot.stream, self._states.pop(slot.stream, b""))
        slot.seat, slot.order, slot.known, slot.stream = "", 0, 0, -1

    def _is_silent(self, address: str) -> bool:
        return time.monotonic() < self._silent.get(address, 0.0)

    # --- calls ---

    def _asked(self, call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Return the answer of the cluster, which is waited for; None if there is none."""
        if self._client.status != "running":
            return None  # it looks for its scheduler, and would wait for that
        try:
            return call(*arguments, **named)
        except self._lost:
            return None

    def _soon(self, call: Callable[..., Any], *arguments: Any) -> None:
        """Let the client's thread make a call."""
        self._client.loop.add_callback(call, *arguments)

    async def _answers(
        self, workers: list[str] | None, call: Callable[..., Any], *arguments: Any, seconds: float = ANSWER
    ) -> dict[str, Any]:
        """Return what workers, or all, answer to a call, by address; nothing of those that do not in time."""
        if self._client.status != "running":
            return {}
        named = {"workers": workers, "on_error": "ignore", "asynchronous": True}
        try:
            return dict(await asyncio.wait_for(self._client.run(call, self._search, *arguments, **named), seconds))
        except self._lost:
            return {}

    async def _answer(self, name: str, call: Callable[..., Any], *arguments: Any, seconds: float = ANSWER) -> Any:
        """Return what a station answers, None if it does not; then it is not asked for some time."""
        slot = self._slots.get(name)
        if slot is None or self._is_silent(slot.address):
            return None
        slot.spoken_to = time.monotonic()
        answers = await self._answers([slot.address], call, name, *arguments, seconds=seconds)
        if slot.address not in answers:
            self._silent[slot.address] = time.monotonic() + SILENCE
        return answers.get(slot.address)

    def _awaited(self, answer: Coroutine[Any, Any, Any], seconds: float = 2 * ANSWER) -> Any:
        """Return an answer when it has come; None if it does not."""
        if self._client.status == "closed":
            answer.close()  # nobody would begin to wait for it
            return None
        try:
            return asyncio.run_coroutine_threadsafe(answer, self._client.loop.asyncio_loop).result(seconds)
        except self._lost:
            return None

    # --- duties and news ---

    def give(self, slot: str, duty: Duty) -> None:
        """Let a station begin a duty."""
        there = self._slots.get(slot)
        if there is None:
            return
        if duty.is_at_root:
            self._best = min(self._best, duty.best)
        if there.stream < 0:
            there.stream, state = self._streams.take()
            self._states[there.stream] = state
        there.order = next(self._numbers)
        # One that has had an order knows where it is.
        state = b"" if there.seat else self._states[there.stream]
        self._soon(self._begin, slot, DutyOrder(there.order, duty, self._best, len(self._slots), there.stream, state))

    async def _begin(self, name: str, order: DutyOrder) -> None:
        slot = self._slots.get(name)
        if slot is None or slot.order != order.number:
            return
        seat = await self._answer(name, begin, slot.seat, order, seconds=LATE_ANSWER)
        if slot.order != order.number:
            return
        if seat is None or slot.seat not in ("", seat):
            self._come(name, order.number, None)
        else:
            slot.seat = seat

    def ring(self, name: str) -> None:
        """Take note that a station has something to say."""
        slot = self._slots.get(name)
        if slot is not None:
            slot.has_rung = True
            self._soon(self._take, name, slot)

    async def _take(self, name: str, slot: _Slot) -> None:
        """Take what a station has said; if it rings meanwhile, once more."""
        if slot.is_asked or self._slots.get(name) is not slot:
            return
        slot.is_asked = True
        try:
            while slot.has_rung:
                slot.has_rung = False
                order = slot.order
                answer = await self._answer(name, take_said, slot.known, self._best)
                if answer is None or slot.order != order:
                    continue
                seat, said = answer
                if slot.seat not in ("", seat):
                    self._come(name, order, None)
                    continue
                for one in said:
                    if one.number > slot.known and one.order == order:
                        slot.seat, self._failures = seat, 0
                        self._come(name, order, one.news)
                    slot.known = max(slot.known, one.number)
        finally:
            slot.is_asked = False

    def _come(self, name: str, order: int, news: News | None) -> None:
        self._came.append((name, order, news))
        self._rings.set()

    def news(self, seconds: float, *, writes: bool) -> list[tuple[str, int, News]]:
        """Return what is new, after so many seconds at most."""
        del writes  # what was written comes with what is said
        self._rings.wait(seconds if self._client.status == "running" else LOST_LOOK)
        self._rings.clear()
        told = [(name, -1, News(is_done=True, is_lost=True)) for name in self._left_seats()]
        while self._came:
            name, order, news = self._came.popleft()
            slot = self._slots.get(name)
            if slot is None or slot.order != order:
                continue
            if news is None:
                told.append((name, -1, News(is_done=True, is_lost=True)))
                if self._is_silent(slot.address):
                    self._drop(name)  # others are given what it was to do
                else:
                    self._end_stream(slot)
                continue
            if news.piece is not None:
                self._states[slot.stream] = news.piece.state
            if news.is_done:
                slot.order = 0
            told.append((name, slot.stream, news))
        return told

    def _left_seats(self) -> list[str]:
        """Return stations whose task has ended; others that were not spoken to for long are asked what is new."""
        now, left = time.monotonic(), []
        for name, slot in list(self._slots.items()):
            if slot.task.done():
                self._note_failure(slot.task)
                self._drop(name)  # if its worker is still there, it will be given a seat again
                left.append(name)
            elif now - slot.spoken_to > SIGN_OF_LIFE and not self._is_silent(slot.address):
                slot.spoken_to = now
                self.ring(name)
        return left

    def _note_failure(self, task: Any) -> None:
        """Take note that a station has left its seat before the search was over."""
        self._failures += 1
        error = self._asked(task.exception, timeout=PATIENCE) if task.status == "error" else None
        is_final = isinstance(error, HardwoodError | MemoryError | ImportError)
        if error is not None and (self._failures > MOST_FAILURES or is_final):
            raise ClusterLostError(f"a task failed on its worker: {type(error).__name__}: {error}") from error
        if task.status in ("cancelled", "lost"):
            self._data = None  # the data may have gone with the workers

    def offer(self, cost: int) -> None:
        """Tell all that a tree of this cost is known."""
        if cost < self._best:
            self._best = cost
            self._soon(self._answers, None, tell_cost, cost)

    # --- sharing ---

    def ask_for_work(self, slot: str, *, helps: bool) -> None:
        """Ask a station for parts, or a question, unless it was asked and has not answered."""
        if slot not in self._asked_for_work:
            self._asked_for_work.add(slot)
            self._soon(self._wait_for_work, slot, helps)

    async def _wait_for_work(self, slot: str, helps: bool) -> None:
        parts, question = await self._answer(slot, give_work, helps) or ([], None)
        self._given.append(Given(slot, parts, question))
        self._asked_for_work.discard(slot)
        self._rings.set()

    def given_back(self) -> list[Given]:
        """Return the answers that have come."""
        return [self._given.popleft() for _ in range(len(self._given))]

    def take_help(self, slot: str, question: int, place: int, given: Help) -> bool:
        """Hand over what a helper found out."""
        return bool(self._awaited(self._answer(slot, take_help, question, place, given)))

    def end_help(self, slot: str) -> None:
        """Let a station help no more."""
        self._awaited(self._answer(slot, end_help))

    def close(self) -> None:
        """End all duties."""
        _SEARCHES.pop(self._search, None)
        self._awaited(self._answers(None, end_search), GOODBYE)
        for slot in self._slots.values():
            self._asked(slot.task.cancel)
        self._slots, self._data = {}, None


_SEARCHES = WeakValueDictionary[str, Workers]()


def _ring(event: tuple[float, dict[str, str]]) -> None:
    """Tell the search whose station has rung; other clients' are none of ours."""
    _, message = event
    workers = _SEARCHES.get(message["search"])
    if workers is not None:
        workers.ring(message["slot"])


def _what_breaks() -> tuple[type[BaseException], ...]:
    """Return what calls of a cluster end with whose connections break or whose workers die, as the moment will have it.

    `Workers.slots` notices if nothing works any more.
    """
    client: Any = import_module("distributed.client")
    names = ("ClosedClientError", "FutureCancelledError", "CancelledError")
    own = [getattr(client, name) for name in names if hasattr(client, name)]
    return (OSError, TimeoutError, RuntimeError, ValueError, CancelledError, *own)


@contextmanager
def connected(client: Any) -> Iterator[Any]:
    """Yield a client of a Dask cluster: the one that is given, or one for the address that is; None for None."""
    if not isinstance(client, str):
        yield client
        return
    try:
        distributed: Any = import_module("distributed")
    except ImportError as error:
        raise MissingEngineError("a Dask cluster needs Dask: pip install 'hardwood[dask]'") from error
    try:
        own = distributed.Client(client, timeout=20, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise InvalidInputError(f"there is no Dask scheduler at {client!r}: {error}") from error
    try:
        yield own
    finally:
        own.close()
