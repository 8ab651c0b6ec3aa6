"""The results file: one JSON line per finished cell, written by one process at a time.

A line is appended with a single write and flushed to the disk before the next cell counts as done, so a run that is
killed loses at most the cells that were running. A torn last line, as a power cut leaves it, is cut off when the file
is opened for writing and ignored when it is only read.
"""

from __future__ import annotations

import gzip
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hardwood.errors import HardwoodError, InvalidInputError

Record = dict[str, Any]

_GZIP = b"\x1f\x8b"


class LogInUseError(HardwoodError, RuntimeError):
    """Another process writes to the results file."""


@dataclass
class Log:
    """What a results file holds.

    Attributes
    ----------
    grids : list of dict
        The experiments that were run into the file, the last one last.
    cells : dict
        Cell records by key; of several for one cell, the last one counts.
    """

    grids: list[Record] = field(default_factory=list)
    cells: dict[str, Record] = field(default_factory=dict)

    def take(self, record: Record) -> None:
        """Add one record."""
        if record["record"] == "grid":
            self.grids = [grid for grid in self.grids if grid != record] + [record]
        else:
            self.cells[record["key"]] = record

    def succeeded(self, key: str) -> Record | None:
        """Return the record of a cell that ended well, or None."""
        record = self.cells.get(key)
        return record if record is not None and record["ok"] else None

    def has_failed(self, key: str) -> bool:
        """Whether the cell was run and failed."""
        return key in self.cells and not self.cells[key]["ok"]


def read_log(path: str | os.PathLike[str]) -> Log:
    """Read a results file, also one packed with gzip; a torn last line is ignored, other damage is an error."""
    log = Log()
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InvalidInputError(f"cannot read results {path}: {error.strerror}") from error
    if content.startswith(_GZIP):
        content = gzip.decompress(content)
    for number, line in enumerate(content[: _whole_lines(content)].splitlines(), start=1):
        try:
            record = json.loads(line)
            log.take(record)
        except (ValueError, KeyError, TypeError) as error:
            raise InvalidInputError(f"{path}, line {number} is not a result of an experiment: {error!r}") from error
    return log


def _whole_lines(content: bytes) -> int:
    """Return how many bytes the lines that end with a line break take."""
    return content.rfind(b"\n") + 1


class LogWriter:
    """A results file opened for appending, by this process alone; see `open_log`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        content = path.read_bytes()
        if _whole_lines(content) < len(content):
            os.ftruncate(self._descriptor, _whole_lines(content))
        self.log = read_log(path)

    def append(self, record: Record) -> None:
        """Write one line, whole or not at all, and remember it."""
        line = (json.dumps(record, allow_nan=False) + "\n").encode()
        size = os.fstat(self._descriptor).st_size
        try:
            if os.write(self._descriptor, line) != len(line):
                raise OSError(28, "the disk is full")
            os.fsync(self._descriptor)
        except OSError as error:
            os.ftruncate(self._descriptor, size)
            raise InvalidInputError(f"cannot write to {self.path}: {error.strerror}") from error
        self.log.take(record)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._descriptor)


@contextmanager
def open_log(path: str | os.PathLike[str], *, wait: bool = False) -> Iterator[LogWriter]:
    """Open a results file for appending and keep other processes out.

    Parameters
    ----------
    path : path
        Created, with its folder, if it is not there.
    wait : bool
        Whether to wait for another process that writes to the file, rather than to refuse.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    lock = os.open(target.with_name(target.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o666)
    try:
        while not _try_lock(lock):
            if not wait:
                holder = os.pread(lock, 32, 0).decode().strip() or "unknown"
                raise LogInUseError(
                    f"{target} is being written by another process (id {holder}); wait for it, run with --wait, "
                    "or write to another folder with --output"
                )
            time.sleep(0.2)
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        writer = LogWriter(target)
        try:
            yield writer
        finally:
            writer.close()
    finally:
        # The lock goes with the descriptor, also when the process is killed. The file stays: deleting it would let
        # two processes lock two different files of the same name.
        os.close(lock)


def _try_lock(descriptor: int) -> bool:
    try:
        import fcntl
    except ImportError as error:  # Windows
        raise HardwoodError("experiments need a system with fcntl locks (Linux, macOS, WSL)") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
