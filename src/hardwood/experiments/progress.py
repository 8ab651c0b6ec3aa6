"""How a run of an experiment is shown: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from hardwood.experiments.cells import cell_from_dict
from hardwood.experiments.log import Record
from hardwood.experiments.runner import Watcher


class Tally:
    """Counts of a run, and an estimate of the time left."""

    def __init__(self) -> None:
        self.total = self.done = self.failed = self.slots = 0
        self._started = time.monotonic()

    def begins(self, cells: int, slots: int) -> None:
        """So many more cells are about to be run."""
        self.total += cells
        self.slots = slots

    def count(self, record: Record) -> None:
        """Count a cell that has ended."""
        self.done += 1
        self.failed += not record["ok"]

    @property
    def running(self) -> int:
        """How many cells run now."""
        return min(self.slots, self.total - self.done)

    @property
    def seconds_left(self) -> float | None:
        """Estimate from the pace so far; None before the first cell has ended."""
        if self.done == 0:
            return None
        return (time.monotonic() - self._started) / self.done * (self.total - self.done)

    def __str__(self) -> str:
        left = "" if self.seconds_left is None else f", about {as_duration(self.seconds_left)} left"
        return f"{self.done}/{self.total} cells done, {self.running} running, {self.failed} failed{left}"


def as_duration(seconds: float) -> str:
    """Write seconds as people say them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def describe(record: Record) -> str:
    """One line about a cell that has ended."""
    label = cell_from_dict(record["cell"]).label
    if not record["ok"]:
        return f"{label}: FAILED, {record['error'].splitlines()[0]}"
    result: dict[str, Any] = record["result"]
    if record["cell"]["kind"] == "curve":
        return f"{label}: radii {', '.join(f'{radius:g}' for radius in result['chosen'])}"
    if record["cell"]["kind"] == "bound":
        return f"{label}: {result['bound']:.4f}"
    ended = "" if result["stopped_by"] in ("proof", "heuristic") else f", ended by {result['stopped_by']}"
    score = result["test_adversarial_accuracy"]
    return f"{label}: {score:.4f}, {result['status']}, {result['seconds']:.1f} s{ended}"


class PlainLines:
    """One line per cell."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._tally = Tally()

    def begins(self, cells: int, slots: int) -> None:
        """Say how many cells come."""
        self._tally.begins(cells, slots)
        print(f"{cells} cells to run, {slots} at a time", file=self._stream, flush=True)

    def ended(self, record: Record) -> None:
        """Say how a cell ended."""
        self._tally.count(record)
        print(f"[{self._tally}] {describe(record)}", file=self._stream, flush=True)


class LiveLine:
    """A bar that is redrawn in place; failures stay on the screen."""

    def __init__(self, bar: Any, task: Any) -> None:
        self._bar = bar
        self._task = task
        self._tally = Tally()

    def begins(self, cells: int, slots: int) -> None:
        """Make room for more cells."""
        self._tally.begins(cells, slots)
        self._show()

    def ended(self, record: Record) -> None:
        """Move on by one cell."""
        self._tally.count(record)
        if not record["ok"]:
            self._bar.console.print(describe(record), markup=False, highlight=False)
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
