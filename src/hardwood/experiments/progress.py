"""How a run of an experiment is shown: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from hardwood.experiments.outcomes import BoundOutcome, CurveOutcome, EnsembleOutcome, Failure
from hardwood.experiments.records import CellRecord
from hardwood.experiments.runner import Watcher


class Tally:
    """Counts of a run, and an estimate of the time left."""

    def __init__(self) -> None:
        self.total = self.done = self.failed = self.slots = self.before = 0
        self._started = time.monotonic()

    def resumes(self, cells: int) -> None:
        """So many cells were run before."""
        self.total += cells
        self.done += cells
        self.before = cells

    def begins(self, cells: int, slots: int) -> None:
        """So many more cells are about to be run."""
        self.total += cells
        self.slots = slots

    def count(self, record: CellRecord) -> None:
        """Count a cell that has ended."""
        self.done += 1
        self.failed += record.has_failed

    @property
    def running(self) -> int:
        """How many cells run now."""
        return min(self.slots, self.total - self.done)

    @property
    def seconds_left(self) -> float | None:
        """Estimate from the pace so far; None before the first cell has ended."""
        done_now = self.done - self.before
        if done_now == 0:
            return None
        return (time.monotonic() - self._started) / done_now * (self.total - self.done)

    def __str__(self) -> str:
        left = "" if self.seconds_left is None else f", about {as_duration(self.seconds_left)} left"
        return f"{self.done}/{self.total} cells done, {self.running} running, {self.failed} failed{left}"


def as_duration(seconds: float) -> str:
    """Write seconds as people say them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def describe_record(record: CellRecord) -> str:
    """One line about a cell that has ended."""
    label, outcome = record.cell.label, record.outcome
    if isinstance(outcome, Failure):
        return f"{label}: FAILED, {(outcome.error.splitlines() or ['no reason given'])[0]}"
    if isinstance(outcome, CurveOutcome):
        return f"{label}: radii {', '.join(f'{radius:g}' for radius in outcome.chosen)}"
    if isinstance(outcome, BoundOutcome):
        return f"{label}: {outcome.bound:.4f}"
    if isinstance(outcome, EnsembleOutcome):
        return f"{label}: {outcome.scores.test_adversarial_accuracy:.4f}, {outcome.seconds:.1f} s"
    ended = "" if outcome.stopped_by in ("proof", "heuristic") else f", ended by {outcome.stopped_by}"
    score = outcome.scores.test_adversarial_accuracy
    return f"{label}: {score:.4f}, {outcome.status.value}, {outcome.seconds:.1f} s{ended}"


class PlainLines:
    """One line per cell."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._tally = Tally()

    def resumes(self, cells: int) -> None:
        """Say how many cells were run before."""
        self._tally.resumes(cells)
        if cells:
            print(f"{cells} cells were run before", file=self._stream, flush=True)

    def begins(self, cells: int, slots: int) -> None:
        """Say how many cells come."""
        self._tally.begins(cells, slots)
        print(f"{cells} cells to run, {slots} at a time", file=self._stream, flush=True)

    def ended(self, record: CellRecord) -> None:
        """Say how a cell ended."""
        self._tally.count(record)
        print(f"[{self._tally}] {describe_record(record)}", file=self._stream, flush=True)


class LiveLine:
    """A bar that is redrawn in place; failures stay on the screen."""

    def __init__(self, bar: Any, task: Any) -> None:
        self._bar = bar
        self._task = task
        self._tally = Tally()

    def resumes(self, cells: int) -> None:
        """Count what was run before."""
        self._tally.resumes(cells)

    def begins(self, cells: int, slots: int) -> None:
        """Make room for more cells."""
        self._tally.begins(cells, slots)
        self._show()

    def ended(self, record: CellRecord) -> None:
        """Move on by one cell."""
        self._tally.count(record)
        if record.has_failed:
            self._bar.console.print(describe_record(record), markup=False, highlight=False)
        self._show()

    def _show(self) -> None:
        tally = self._tally
        self._bar.update(self._task, total=tally.total, completed=tally.done, description=str(tally))


@contextmanager
def watch(stream: TextIO | None = None) -> Iterator[Watcher]:
    """Show a run on standard error: live on a terminal, as plain lines where it is piped or logged."""
    target = sys.stderr if stream is None else stream
    if not target.isatty():
        yield PlainLines(target)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), BarColumn(bar_width=24), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(file=target), transient=True) as bar:
        yield LiveLine(bar, bar.add_task("starting", total=None))
