"""Run the cells of a grid: on this machine through joblib, or on a Dask cluster; results go to the log as they come."""

from __future__ import annotations

import os
import platform
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from typing import Any, Protocol

from hardwood._version import __version__
from hardwood.data.datasets import Dataset
from hardwood.experiments.cells import Cell, key_of
from hardwood.experiments.grid import Grid
from hardwood.experiments.log import LogWriter
from hardwood.experiments.outcomes import Failure, Outcome
from hardwood.experiments.records import CellRecord, Machine
from hardwood.experiments.schedule import cells_of, pending
from hardwood.solvers.search.cluster import connected

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "highspy", "python-sat", "ortools", "gurobipy", "pyscipopt")

_LOOK_EVERY = 1.0
"""Seconds between two looks of a worker whether its parent is still there."""

Errand = tuple[Cell, Dataset]
Execute = Callable[[Iterable[Errand]], Generator[CellRecord, None, None]]
"""Takes cells with their data, runs them somewhere, and yields one record per cell in the order in which they end."""


class Watcher(Protocol):
    """Who is told how a run goes."""

    def resumes(self, cells: int) -> None:
        """Take note that so many cells have been run before, by a run that was stopped."""

    def begins(self, cells: int, slots: int) -> None:
        """Take note that so many cells are about to be run, at most `slots` at once."""

    def ended(self, record: CellRecord) -> None:
        """Take note that a cell was run and its record written."""


def run_grid(
    grid: Grid,
    writer: LogWriter,
    load: Callable[[str], Dataset],
    execute: Execute,
    *,
    slots: int = 1,
    retry_failed: bool = False,
    watcher: Watcher | None = None,
) -> None:
    """Run every cell of a grid that has no result yet.

    Parameters
    ----------
    grid : Grid
    writer : LogWriter
        Where results are looked up and added.
    load : callable
        Returns a data set by name. Sets are sent to the workers along with the cells, which need no files.
    execute : callable
        `local_processes` or `dask_cluster`.
    slots : int
        How many cells `execute` runs at once, for the display.
    retry_failed : bool
        Whether cells that failed before are run again, once.
    watcher : Watcher or None
    """
    if not writer.log.grids or writer.log.grids[-1] != grid:
        writer.append(grid)
    cached_load = cache(load)
    waiting = pending(grid, writer.log, retry_failed=retry_failed)
    if watcher is not None:
        watcher.resumes(len({key_of(cell) for cell in cells_of(grid, writer.log)} - waiting.keys()))
    # The final fit of a selection is known only when its folds are done, hence the rounds.
    while waiting:
        if watcher is not None:
            watcher.begins(len(waiting), slots)
        with closing(execute((cell, cached_load(cell.dataset)) for cell in waiting.values())) as records:
            for record in records:
                writer.append(record)
                if watcher is not None:
                    watcher.ended(record)
        waiting = pending(grid, writer.log)


def run_cell(cell: Cell, data: Dataset) -> CellRecord:
    """Run one cell and return its record; whatever goes wrong inside is part of the record."""
    started = time.perf_counter()
    try:
        outcome: Outcome | Failure = cell.run(data)
    except Exception as error:
        outcome = Failure(f"{type(error).__name__}: {error}", traceback.format_exc())
    return _record(cell, outcome, time.perf_counter() - started)


def run_cell_for(parent: int, cell: Cell, data: Dataset) -> CellRecord:
    """Run one cell in a worker process, which ends with its parent, however that ends."""
    _end_with(parent)
    return run_cell(cell, data)


@cache
def _end_with(parent: int) -> None:
    """Look after the parent from a thread, once per process."""
    if os.getppid() != parent:
        return

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(_LOOK_EVERY)
        # Nobody is left to hear about a result, nor to be told why.
        os._exit(1)

    threading.Thread(target=look, daemon=True, name="looks after the parent").start()


def _record(cell: Cell, outcome: Outcome | Failure, seconds: float) -> CellRecord:
    return CellRecord(
        cell=cell,
        outcome=outcome,
        total_seconds=round(seconds, 4),
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=_versions(),
        machine=_machine(),
    )


def lost_record(cell: Cell, error: BaseException) -> CellRecord:
    """Return the record of a cell whose worker died under it."""
    return _record(cell, Failure(f"the worker process died: {type(error).__name__}: {error}"), 0.0)


@cache
def _versions() -> dict[str, str]:
    found = {"hardwood": __version__, "python": platform.python_version()}
    for library in _LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found


@cache
def _machine() -> Machine:
    processor = platform.processor()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as stream:
            models = (line.partition(":")[2].strip() for line in stream if line.startswith("model name"))
            processor = next(models, processor)
    return Machine(platform.system(), processor or platform.machine(), os.cpu_count())


def local_processes(jobs: int) -> Execute:
    """Run cells on this machine, `jobs` at a time, through joblib."""

    def execute(tasks: Iterable[Errand]) -> Generator[CellRecord, None, None]:
        from joblib import Parallel, delayed

        waiting = iter(tasks)
        in_flight: dict[str, Errand] = {}

        def dispatched() -> Iterator[Any]:
            for task in waiting:
                in_flight[key_of(task[0])] = task
                yield delayed(run_cell_for)(os.getpid(), *task)

        while True:
            pool = Parallel(
                n_jobs=jobs, backend="loky", return_as="generator_unordered", pre_dispatch=jobs, batch_size=1
            )
            records = pool(dispatched())
            try:
                for record in records:
                    in_flight.pop(record.key, None)
                    yield record
                return
            except GeneratorExit:
                with warnings.catch_warnings():
                    # joblib wonders why the rest is not wanted; the run was stopped.
                    warnings.simplefilter("ignore", UserWarning)
                    records.close()
                raise
            except BrokenProcessPool:
                # Some cell took its process down, and with it those beside it: run each alone to find out which.
                suspects, in_flight = list(in_flight.values()), {}
                for task in suspects:
                    yield _run_in_own_process(task)

    return execute


def _run_in_own_process(task: Errand) -> CellRecord:
    from joblib import Parallel, delayed

    try:
        # With one job joblib would stay in this process; with two it does not, even for a single task.
        records: list[CellRecord] = Parallel(n_jobs=2, backend="loky")([delayed(run_cell_for)(os.getpid(), *task)])
        return records[0]
    except BrokenProcessPool as error:
        return lost_record(task[0], error)


class DaskCluster:
    """Runs cells on a Dask cluster, e.g. ``tcp://scheduler:8786``.

    Each cell is a task of its own rather than part of a joblib call: a cell whose worker dies is started again on
    another worker, and one that kills its workers again and again (``distributed.scheduler.allowed-failures``) becomes
    a failed cell, not the end of the run. Workers need hardwood, but no data files.
    """

    def __init__(self, address: str) -> None:
        self._stack = ExitStack()
        self._client = self._stack.enter_context(connected(address))
        self._distributed: Any = import_module("distributed")

    @property
    def slots(self) -> int:
        """How many cells run at once."""
        return max(1, int(sum(self._client.nthreads().values())))

    def __call__(self, tasks: Iterable[Errand]) -> Generator[CellRecord, None, None]:
        """Run tasks; see `Execute`."""
        waiting = iter(tasks)
        cell_of: dict[str, Cell] = {}
        running = self._distributed.as_completed(loop=self._client.loop)

        def fill_up() -> None:
            # Twice as many as can run keeps the workers busy, also those that join later, without sending all data
            # at once.
            for task in islice(waiting, max(0, 2 * self.slots - len(cell_of))):
                future = self._client.submit(run_cell, *task, pure=False)
                cell_of[future.key] = task[0]
                running.add(future)

        fill_up()
        for future in running:
            cell = cell_of.pop(future.key)
            error = future.exception()
            yield lost_record(cell, error) if error is not None else future.result()
            fill_up()

    def close(self) -> None:
        """Leave the cluster."""
        self._stack.close()
