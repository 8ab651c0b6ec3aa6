"""The results file: one JSON line per finished cell, written by one process at a time.

A line is appended with a single write and flushed to the disk before the next cell counts as done, so a run that is
killed loses at most the cells that were running. A torn last line, as a power cut leaves it, is cut off when the file
is opened for writing and ignored when it is only read.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from hardwood.errors import HardwoodError, InvalidInputError
from hardwood.experiments.grid import Grid
from hardwood.experiments.outcomes import BoundOutcome, CurveOutcome, EnsembleOutcome, FitOutcome
from hardwood.experiments.records import CellRecord, Record, record_from_dict, record_to_dict
from hardwood.files import alone, open_descriptor
from hardwood.plain_data import parse_json

_GZIP = b"\x1f\x8b"
MOST_BYTES = 4 << 30
"""Of an unpacked results file."""


class LogInUseError(HardwoodError, RuntimeError):
    """Another process writes to the results file."""


@dataclass
class Log:
    """What a results file holds.

    Attributes
    ----------
    grids : list of Grid
        The experiments that were run into the file, the last one last.
    cells : dict
        Records by key of the cell; of several for one cell, the last one counts.
    """

    grids: list[Grid] = field(default_factory=list)
    cells: dict[str, CellRecord] = field(default_factory=dict)

    def take(self, record: Record) -> None:
        """Add one record."""
        if isinstance(record, Grid):
            self.grids = [grid for grid in self.grids if grid != record] + [record]
        else:
            self.cells[record.key] = record

    def fit(self, key: str) -> FitOutcome | None:
        """Return what came out of a fit that ended well, or None."""
        outcome = self.cells[key].outcome if key in self.cells else None
        return outcome if isinstance(outcome, FitOutcome) else None

    def ensemble(self, key: str) -> EnsembleOutcome | None:
        """Return the ensemble that a cell learned, or None."""
        outcome = self.cells[key].outcome if key in self.cells else None
        return outcome if isinstance(outcome, EnsembleOutcome) else None

    def bound(self, key: str) -> BoundOutcome | None:
        """Return the bound that a cell computed, or None."""
        outcome = self.cells[key].outcome if key in self.cells else None
        return outcome if isinstance(outcome, BoundOutcome) else None

    def curve(self, key: str) -> CurveOutcome | None:
        """Return the curve that a cell computed, or None."""
        outcome = self.cells[key].outcome if key in self.cells else None
        return outcome if isinstance(outcome, CurveOutcome) else None

    def has_failed(self, key: str) -> bool:
        """Whether the cell was run and failed."""
        return key in self.cells and self.cells[key].has_failed


def read_log(path: str | os.PathLike[str]) -> Log:
    """Read a results file, also one packed with gzip; a torn last line is ignored, other damage is an error."""
    log = Log()
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InvalidInputError(f"cannot read results {path}: {error.strerror or error}") from error
    if content.startswith(_GZIP):
        content = _unpacked(content, path)
    for number, line in enumerate(content[: _whole_lines(content)].splitlines(), start=1):
        try:
            log.take(record_from_dict(parse_json(line.decode("utf-8"))))
        except InvalidInputError as error:
            raise InvalidInputError(f"{path}, line {number} is not a result of an experiment: {error}") from error
        except UnicodeDecodeError as error:
            raise InvalidInputError(f"{path}, line {number} is not a result of an experiment: no UTF-8") from error
    return log


def _unpacked(content: bytes, path: str | os.PathLike[str]) -> bytes:
    """Unpack gzip; a file that ends too early or has wrong checksums is refused, as is one that grows without end."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
            found = stream.read(MOST_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidInputError(f"{path} is packed with gzip, but damaged: {error}") from error
    if len(found) > MOST_BYTES:
        raise InvalidInputError(f"{path} unpacks to more than {MOST_BYTES >> 30} GiB; that is no results file")
    return found


def _whole_lines(content: bytes) -> int:
    """Return how many bytes the lines that end with a line break take."""
    return content.rfind(b"\n") + 1


class LogWriter:
    """A results file opened for appending, by this process alone; see `open_log`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = open_descriptor(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        content = path.read_bytes()
        if _whole_lines(content) < len(content):
            os.ftruncate(self._descriptor, _whole_lines(content))
        self.log = read_log(path)

    def append(self, record: Record) -> None:
        """Write one line, whole or not at all, and remember it."""
        line = (json.dumps(record_to_dict(record), allow_nan=False) + "\n").encode()
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
    make_folder(target.parent)

    def refusal(holder: str) -> Exception:
        return LogInUseError(
            f"{target} is being written by another process (id {holder}); wait for it, run with --wait, "
            "or write to another folder with --output"
        )

    with alone(target, refusal, wait=wait):
        writer = LogWriter(target)
        try:
            yield writer
        finally:
            writer.close()


def make_folder(path: Path) -> None:
    """Make a folder and those it lies in, unless they are there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise InvalidInputError(f"cannot write into {path}: it is a file, not a folder") from error
    except NotADirectoryError as error:
        raise InvalidInputError(f"cannot make the folder {path}: a part of the path is a file") from error
    except (OSError, ValueError) as error:
        raise InvalidInputError(
            f"cannot make the folder {path}: {getattr(error, 'strerror', None) or error}"
        ) from error
