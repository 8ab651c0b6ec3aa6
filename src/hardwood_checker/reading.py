"""The file: a line of magic, a line of JSON, then records until END, all in one gzip stream, of one or more members.

A file comes from a stranger: nothing is allocated on its word alone, and what does not follow the format is `Unusable`.
"""

from __future__ import annotations

import gzip
import json
import os
import struct
import sys
import zlib
from enum import IntEnum
from typing import Any

import numpy as np

MAGIC = b"hardwood proof 1\n"
MOST_HEADER_BYTES, MOST_BYTES_AT_ONCE, BLOCK = 1 << 28, 1 << 26, 1 << 16
DAMAGE = (OSError, EOFError, zlib.error, ValueError, RecursionError)


Kind = IntEnum(
    "Kind", "RANGE SHARES SETTLE BRANCH CHILD PROVEN ABANDONED JOIN DROP PACKING BOUND END RESET NOTE TWIN FORGET"
)  # in the order of their codes, from 1
KINDS: tuple[Kind | None, ...] = (None, *Kind)
LAYOUTS = {layout: struct.Struct("<" + layout) for layout in ("I", "q", "III", "BIq")}


class Unusable(Exception):  # noqa: N818
    """The file or the data cannot be read, or they do not belong together."""


class Refused(Exception):  # noqa: N818
    """The file can be read, but it does not prove what it claims."""


class Reader:
    """The header of a proof, and its records one after another."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.n_records = 0
        self._block, self._at = b"", 0
        try:
            self._raw = open(path, "rb")  # noqa: SIM115
        except (OSError, ValueError) as error:
            raise Unusable(f"the proof cannot be read: {error}") from error
        try:
            self._stream = gzip.GzipFile(fileobj=self._raw)
            magic = self._stream.read(len(MAGIC))
            self.header: Any = json.loads(self._stream.readline(MOST_HEADER_BYTES), parse_constant=_no_constant)
        except DAMAGE as error:
            self.close()
            raise Unusable(f"the proof cannot be read: {error}") from error
        if magic != MAGIC:
            self.close()
            raise Unusable("this is not a proof of hardwood, or one of another version of the format")

    @property
    def share_read(self) -> float:
        """How much of the file has been read, from 0 to 1."""
        return self._raw.tell() / max(1, os.fstat(self._raw.fileno()).st_size)

    def _need(self, n: int) -> None:
        """Have the next n bytes in the present block."""
        if len(self._block) - self._at >= n:
            return
        try:
            more = self._stream.read(max(n, BLOCK))
        except DAMAGE as error:
            raise Unusable(f"the proof is damaged after {self.n_records} records: {error}") from error
        self._block, self._at = self._block[self._at :] + more, 0
        if len(self._block) < n:
            raise Unusable(f"the proof ends after {self.n_records} records, without END")

    def record(self) -> Kind:
        """Return the kind of the next record; notes, which say nothing to whoever checks, are skipped."""
        while True:
            self._need(1)
            code = self._block[self._at]
            self._at += 1
            kind = KINDS[code] if code < len(KINDS) else None
            if kind is None:
                raise Unusable(f"record {self.n_records} is of the unknown kind {code}")
            self.n_records += 1
            if kind is not Kind.NOTE:
                return kind
            (length,) = self.numbers("I")
            self.array(length, "u1")

    def numbers(self, layout: str) -> tuple[int, ...]:
        """Return numbers of the record, little-endian: B, I and q as in `struct`."""
        form = LAYOUTS[layout]
        self._need(form.size)
        self._at += form.size
        return form.unpack_from(self._block, self._at - form.size)

    def array(self, length: int, dtype: str) -> Any:
        """Return `length` numbers of a type."""
        size = length * np.dtype(dtype).itemsize
        if size > MOST_BYTES_AT_ONCE:
            raise Unusable(f"record {self.n_records} announces {length} numbers, more than any proof needs at once")
        self._need(size)
        self._at += size
        return np.frombuffer(self._block, dtype, length, self._at - size)

    def expect_end(self) -> None:
        """Raise unless nothing follows, and the check sum of the stream is right."""
        try:
            more = self._block[self._at :] or self._stream.read(1)
        except DAMAGE as error:
            raise Unusable(f"the proof is damaged at its end: {error}") from error
        if more:
            raise Unusable("something follows END")

    def close(self) -> None:
        """Close the file."""
        self._raw.close()


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def field(mapping: Any, name: str, *kinds: type) -> Any:
    """Return an entry of the header, of one of the given kinds."""
    value = mapping.get(name, ...) if isinstance(mapping, dict) else ...
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise Unusable(f"the header's {name!r} is {str(value)[:60]!r}, where a {kinds[0].__name__} belongs")
    return value


def number(value: Any, name: str) -> Any:
    """Return a finite number of the header."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        raise Unusable(f"the header's {name!r} holds {str(value)[:60]!r}, which is not a finite number")
    return value
