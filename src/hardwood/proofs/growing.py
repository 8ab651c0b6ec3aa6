"""A file that grows by whole entries, and now and then is rewritten without those that are superseded.

What was appended stays where it is until all of the file is replaced at once, so whatever happens, and whenever, either
the old content is there or the new one.
"""

from __future__ import annotations

import contextlib
import os
from bisect import bisect_left
from collections.abc import Callable, Iterator

from hardwood.errors import InvalidInputError
from hardwood.files import open_descriptor, whole_file

LEAST_DEAD = 1 << 20
"""Bytes that may be superseded before the file is rewritten; beyond that, as many as are not."""

_BLOCK = 1 << 20


class GrowingFile:
    """A file that one process appends to.

    Attributes
    ----------
    size : int
        Where the next entry will stand. Whoever reads what is there sets it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        self._descriptor = self._opened()
        self.size = 0
        self._dead: list[tuple[int, int]] = []
        self._enough = LEAST_DEAD

    def _opened(self) -> int:
        return open_descriptor(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND)

    def append(self, content: bytes) -> int:
        """Write an entry, all of it or, where there is no room, nothing; return where it begins."""
        start = self.size
        try:
            written = 0
            while written < len(content):
                written += os.write(self._descriptor, content[written:])
        except OSError:
            self.cut(start)
            raise
        self.size += len(content)
        return start

    def cut(self, size: int) -> None:
        """Take away what stands behind a place."""
        os.ftruncate(self._descriptor, size)
        self.size = size

    def read(self, start: int, end: int) -> bytes:
        """Return what stands there."""
        return os.pread(self._descriptor, end - start, start)

    def sync(self) -> None:
        """Let what was written reach the disk."""
        os.fsync(self._descriptor)

    def supersede(self, start: int, end: int) -> None:
        """Take note that an entry is not needed any more."""
        self._dead.append((start, end))

    @property
    def is_wasteful(self) -> bool:
        """Whether so much is superseded that the file should be rewritten."""
        dead = sum(end - start for start, end in self._dead)
        return dead >= max(self._enough, self.size - dead)

    def rewrite(self) -> Callable[[int], int]:
        """Replace the file by one without what is superseded; return where each place of the old one is in the new one.

        Where there is no room for that, the file stays as it is, and is tried again when twice as much is superseded.
        """
        self._dead.sort()
        try:
            with whole_file(self._path) as whole:
                for start, end in self._kept():
                    for first in range(start, end, _BLOCK):
                        whole.write(self.read(first, min(first + _BLOCK, end)))
        except InvalidInputError:
            self._enough = 2 * sum(end - start for start, end in self._dead)
            return lambda place: place
        new = self._opened()
        os.close(self._descriptor)
        self._descriptor = new
        self._sync_name()
        places = [start for start, _ in self._dead]
        gone = [0]
        for start, end in self._dead:
            gone.append(gone[-1] + end - start)
        self._dead, self._enough = [], LEAST_DEAD

        def moved(place: int) -> int:
            return place - gone[bisect_left(places, place)]

        self.size = moved(self.size)
        return moved

    def _kept(self) -> Iterator[tuple[int, int]]:
        first = 0
        for start, end in self._dead:
            yield first, start
            first = end
        yield first, self.size

    def _sync_name(self) -> None:
        """Let the new file's name reach the disk before anything that is written to it."""
        with contextlib.suppress(OSError):  # not all systems can
            folder = os.open(os.path.dirname(os.path.realpath(self._path)), os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)

    def close(self) -> None:
        """Write no more."""
        os.close(self._descriptor)
