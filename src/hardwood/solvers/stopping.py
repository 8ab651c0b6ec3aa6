"""When a run ends: small objects, each with one question.

A run asks its criteria in turn; the first that is met names the reason in `Result.stopped_by`.

Limits are seconds of the clock on the wall. For experiments that is not fair on a machine that others use: inside
`counting_cpu_seconds` a limit counts the seconds for which the process has computed.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from hardwood._core import Control
from hardwood.solvers.result import EndReason

_COUNTS_CPU = ContextVar("whether limits count CPU time", default=False)


@contextmanager
def counting_cpu_seconds() -> Iterator[None]:
    """Let the time limits that begin inside count CPU seconds of this process, all its threads together.

    For solvers that compute in this process: what waits for another one hardly gets older.
    """
    before = _COUNTS_CPU.set(True)
    try:
        yield
    finally:
        _COUNTS_CPU.reset(before)


class Known(Protocol):
    """What a criterion may look at: what is known so far about a run."""

    @property
    def is_proven(self) -> bool:
        """Whether objective and bound have met."""

    @property
    def gap(self) -> float:
        """Relative distance of objective and bound."""


class Criterion(Protocol):
    """A reason to end."""

    reason: EndReason

    def is_met(self, known: Known) -> bool:
        """Whether the run should end."""


class Proof:
    """End when objective and bound have met: nothing better exists."""

    reason = EndReason.PROOF

    def is_met(self, known: Known) -> bool:
        """Whether the run should end."""
        return known.is_proven


class Interrupt:
    """End when somebody asks for it: Ctrl-C, or another thread."""

    reason = EndReason.INTERRUPT

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._lock = threading.Lock()
        self._controls: set[Control] = set()

    def request(self) -> None:
        """Ask for the end, also of what the core computes for those who let it."""
        self._asked.set()
        with self._lock:
            for control in self._controls:
                control.request_stop()

    def stops(self, control: Control) -> None:
        """Let a request stop what looks at a control."""
        with self._lock:
            self._controls.add(control)
        if self._asked.is_set():
            control.request_stop()

    def forget(self, control: Control) -> None:
        """Leave a control alone from now on."""
        with self._lock:
            self._controls.discard(control)

    def is_met(self, known: Known) -> bool:
        """Whether the run should end."""
        return self._asked.is_set()


class TimeLimit:
    """End when the time is over.

    Parameters
    ----------
    seconds : float or None
        None for no limit.
    started : float or None
        `time.perf_counter` of the moment from which they count; now by default. Seconds of CPU time count from now.

    Attributes
    ----------
    counts_cpu : bool
        Whether they are seconds of CPU time, see `counting_cpu_seconds`.
    """

    reason = EndReason.TIME_LIMIT

    def __init__(self, seconds: float | None, started: float | None = None) -> None:
        self.started = time.perf_counter() if started is None else started
        self.counts_cpu = _COUNTS_CPU.get()
        self._clock = time.process_time if self.counts_cpu else time.perf_counter
        self._from = self._clock() if self.counts_cpu else self.started
        self._deadline = math.inf if seconds is None else self._from + seconds

    def elapsed(self) -> float:
        """Seconds since the start, of the kind that is limited."""
        return self._clock() - self._from

    def remaining(self) -> float:
        """Seconds left; infinite without a limit, never negative."""
        return max(0.0, self._deadline - self._clock())

    def is_met(self, known: Known) -> bool:
        """Whether the run should end."""
        return self.remaining() <= 0


class Gap:
    """End when the relative gap is small enough; 0 asks for the proof."""

    reason = EndReason.GAP

    def __init__(self, max_gap: float) -> None:
        self.max_gap = max_gap

    def is_met(self, known: Known) -> bool:
        """Whether the run should end."""
        return known.gap <= self.max_gap
