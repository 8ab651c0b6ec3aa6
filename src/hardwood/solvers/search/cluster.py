"""Stations on the workers of a Dask cluster.

A duty is done in slices, each a task of its own: a station lives in its worker's process from one slice to the next
(`hardwood.solvers.search.seats`). What must arrive at once, a better cost or a request to share work, is told to
workers directly (`Client.run`). Data is sent to one worker; the others get it from those that have it. Nothing that is
lost here can do harm: what a worker had not yet told is open in the ledger and given to another one.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from hardwood.errors import HardwoodError, InvalidInputError, MissingEngineError
from hardwood.solvers.search.helping import Help
from hardwood.solvers.search.seats import (
    Slice,
    SliceNews,
    do_slice,
    end_help,
    end_search,
    give_work,
    prepare,
    take_help,
    tell_cost,
)
from hardwood.solvers.search.station import Commission, Duty, News, Streams
from hardwood.solvers.search.team import Given

SLICE = (0.4, 5.0, 0.02)
"""CPU seconds of a slice for each thread: at least, at most, and as a share of those of all slices before."""

MOST_SLICES = 200
"""So many slices end per second, of all stations; where there are many, slices are longer."""

LOST_LOOK = 0.5
"""Seconds between two looks of a searcher whose scheduler does not answer."""

PATIENCE = 15.0
"""Seconds to wait for a scheduler that does not answer."""

ANSWER = 5.0
"""Seconds to wait for the answer of a worker; it may be stopped, or out of reach, and nobody knows yet."""

SILENCE = 30.0
"""Seconds in which a worker that did not answer is not asked again."""

MOST_FAILURES = 20
"""So many tasks may fail one after another."""


class ClusterLostError(HardwoodError, RuntimeError):
    """The Dask cluster is gone, or its workers fail again and again."""


def slice_seconds(n_stations: int, worked: float) -> float:
    """Return how long a slice is: the longer the station has worked, and the more stations there are."""
    least, most, share = SLICE
    return max(min(max(share * worked, least), most), n_stations / MOST_SLICES)


@dataclass
class _Slot:
    address: str
    stream: int = -1
    turn: int = 0
    worked: float = 0.0  # seconds of its slices
    future: Any = None
    answered: Any = None  # the future before it: Dask is told that it may go after the next one, or that has to wait
    offered: int = -1  # the stream for a new station
    helps: bool = False


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
        self._best = 1 << 62
        self._looked, self._heard = 0.0, time.monotonic()
        self._data: Any = None
        self._failures = 0
        self._rings = threading.Event()
        self._silent: dict[str, float] = {}  # by address, until when it is not asked
        self._asked_for_work, self._given = set[str](), deque[Given]()
        self._prepared = [self._begun(slot.address, prepare, self._search) for slot in self._at_once()]

    def _at_once(self) -> list[_Slot]:
        """Return a station of each worker that is there already."""
        self.slots()
        return list({slot.address: slot for slot in self._slots.values()}.values())

    def slots(self) -> list[str]:
        """Return the stations that there are now."""
        if time.monotonic() - self._looked > 1.0 or not self._slots:
            self._looked = time.monotonic()
            threads = self._asked(self._client.nthreads)
            if threads is not None:
                self._heard = time.monotonic()
                there = {f"{address}#{k}": address for address, n in threads.items() for k in range(n)}
                for name in set(self._slots) - set(there):
                    self._drop(self._slots.pop(name))
                for name, address in there.items():
                    if not self._is_silent(address):
                        self._slots.setdefault(name, _Slot(address))
            elif time.monotonic() - self._heard > PATIENCE:
                raise ClusterLostError(
                    "the Dask scheduler does not answer any more; a search with a checkpoint that is started again "
                    "goes on from there"
                )
            if not self._slots:
                time.sleep(0.1)  # until the first worker joins, or another one does
        return list(self._slots)

    def _asked(self, call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Return the answer of the cluster, None if there is none."""
        if self._client.status != "running":
            return None  # it looks for its scheduler, and would wait for that
        try:
            return call(*arguments, **named)
        except self._lost:
            return None

    def _answers(self, seconds: float, workers: list[str] | None, call: Callable[..., Any], *arguments: Any) -> Any:
        """Return what workers, or all, answer to a call within so many seconds, by address; None if they do not."""
        run = self._client.run
        return self._waited_for(seconds, run, call, self._search, *arguments, workers=workers, on_error="ignore")

    def _waited_for(self, seconds: float, call: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Return the answer of workers if there is one within so many seconds, else None.

        Who waits for a worker waits for ever if that was stopped, so somebody else does.
        """
        answers: list[Any] = []
        asker = threading.Thread(target=lambda: answers.append(self._asked(call, *arguments, **named)), daemon=True)
        asker.start()
        asker.join(seconds)
        return answers[0] if answers else None

    def _drop(self, slot: _Slot) -> None:
        """Forget a station whose worker is gone; others go on with what it told."""
        if slot.future is not None:
            self._asked(slot.future.cancel)
        self._end_stream(slot)

    def _end_stream(self, slot: _Slot) -> None:
        self._streams.give_back(slot.offered, self._states.pop(slot.offered, b""))
        slot.stream = slot.offered = -1

    def give(self, slot: str, duty: Duty) -> None:
        """Let a station begin a duty."""
        self._submit(slot, duty)

    def _submit(self, name: str, duty: Duty | None) -> None:
        slot = self._slots.get(name)
        if slot is None:
            return
        slot.helps = duty.question is not None if duty is not None else slot.helps
        seconds = slice_seconds(len(self._slots), 0.0 if slot.helps else slot.worked)
        if duty is not None and duty.is_at_root:
            self._best = min(self._best, duty.best)
        state = b""
        if duty is not None:
            if slot.offered < 0:
                slot.offered, state = self._streams.take()
                self._states[slot.offered] = state
            state = self._states[slot.offered]
        task = Slice(self._search, name, slot.stream, slot.turn, slot.offered, state, self._best, seconds, duty)
        slot.future = self._begun(slot.address, do_slice, task)
        slot.answered = None
        if slot.future is None:
            self._drop(self._slots.pop(name))  # others are given what it was to do
            return
        slot.future.add_done_callback(lambda _: self._rings.set())

    def _begun(self, address: str, call: Callable[..., Any], *arguments: Any) -> Any:
        """Let a worker, which is sent the data if it has to be, begin a task; None if it cannot be reached."""
        if self._data is None:
            self._data = self._waited_for(ANSWER, self._client.scatter, self._commission, workers=[address], hash=False)
            if self._data is None:
                self._silent[address] = time.monotonic() + SILENCE
                return None
        submit = self._client.submit
        return self._asked(submit, call, self._data, *arguments, workers=[address], pure=False, retries=0)

    def news(self, seconds: float, *, writes: bool) -> list[tuple[str, int, News]]:
        """Return what is new, after so many seconds at most."""
        del writes  # every slice hands over what it wrote
        self._rings.wait(seconds if self._client.status == "running" else LOST_LOOK)
        self._rings.clear()
        told = []
        for name, slot in list(self._slots.items()):
            future = slot.future
            if future is None or not future.done():
                continue
            slot.future, slot.answered = None, future
            answer = self._answer(future)
            if answer is None or answer.stream < 0:
                self._end_stream(slot)
                told.append((name, -1, News(is_done=True, is_lost=True)))
                continue
            slot.stream, slot.turn = answer.stream, answer.turn
            slot.worked += answer.seconds
            if answer.news.piece is not None:
                self._states[slot.stream] = answer.news.piece.state
            told.append((name, answer.stream, answer.news))
            if not answer.news.is_done:
                self._submit(name, None)
        return told

    def _answer(self, future: Any) -> SliceNews | None:
        """Return what a task has to say; None if it was lost with its worker."""
        if future.status == "finished":
            answer: SliceNews | None = self._asked(future.result, timeout=PATIENCE)
            self._failures = 0 if answer is not None else self._failures
            return answer
        self._failures += 1
        if future.status == "error":
            error = self._asked(future.exception, timeout=PATIENCE)
            if self._failures > MOST_FAILURES or isinstance(error, HardwoodError | MemoryError | ImportError):
                raise ClusterLostError(f"a task failed on its worker: {type(error).__name__}: {error}") from error
        else:
            self._data = None  # the data may have gone with the workers
            time.sleep(0.05)
        return None

    def offer(self, cost: int) -> None:
        """Tell all that a tree of this cost is known."""
        if cost < self._best:
            self._best = cost
            self._answers(0.0, None, tell_cost, cost)

    def ask_for_work(self, slot: str, *, helps: bool) -> None:
        """Ask a station for parts, or a question, unless it was asked and has not answered."""
        if slot not in self._asked_for_work:
            self._asked_for_work.add(slot)
            threading.Thread(target=self._wait_for_work, args=(slot, helps), daemon=True).start()

    def _wait_for_work(self, slot: str, helps: bool) -> None:
        parts, question = self._answered_by(slot, give_work, helps) or ([], None)
        self._given.append(Given(slot, parts, question))
        self._asked_for_work.discard(slot)
        self._rings.set()

    def given_back(self) -> list[Given]:
        """Return the answers that have come."""
        return [self._given.popleft() for _ in range(len(self._given))]

    def take_help(self, slot: str, question: int, place: int, given: Help) -> bool:
        """Hand over what a helper found out."""
        return bool(self._answered_by(slot, take_help, question, place, given))

    def end_help(self, slot: str) -> None:
        """Let a station help no more."""
        self._answered_by(slot, end_help)

    def _answered_by(self, slot: str, call: Callable[..., Any], *arguments: Any) -> Any:
        """Return the answer of a station; None if there is none."""
        there = self._slots.get(slot)
        if there is None or self._is_silent(there.address):
            return None
        answer = self._answers(ANSWER, [there.address], call, slot, *arguments)
        if answer is None:
            self._silent[there.address] = time.monotonic() + SILENCE
        return (answer or {}).get(there.address)

    def _is_silent(self, address: str) -> bool:
        return time.monotonic() < self._silent.get(address, 0.0)

    def close(self) -> None:
        """End all duties."""
        for slot in self._slots.values():
            if slot.future is not None:
                self._asked(slot.future.cancel)
        self._answers(ANSWER, None, end_search)
        self._data, self._prepared = None, []


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
