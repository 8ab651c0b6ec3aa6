"""Pieces of a proof that are written, sent and read one by one: gzip members, each whole or worth nothing.

Members that stand one after another are one gzip stream, so pieces are put together by copying bytes. A piece begins
with a NOTE, a record that whoever checks a proof skips: what the piece settles, for whoever goes on with the search.
"""

from __future__ import annotations

import gzip
import json
import struct
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from hardwood.errors import InvalidInputError

RESET, NOTE = bytes([13]), bytes([14])
_NOTE_HEAD = struct.Struct("<BI")
_BLOCK = 1 << 20
_LEVEL = 1
"""Of compression: records come by megabytes per second while a search runs. Level 4 takes half as long again and makes
a tenth less of them."""

MOST_BYTES = 1 << 30
"""Of an unpacked member."""

Settled = tuple[int, int, int, int]
"""Feature, first and end of a range of candidates at the root, and what every tree there costs at least."""


class Member(NamedTuple):
    """A piece as it was read: where it lies in the file, and what is in it."""

    start: int
    end: int
    content: bytes


def pack(content: bytes) -> bytes:
    """Return a gzip member."""
    return gzip.compress(content, _LEVEL, mtime=0)


def note(entries: dict[str, Any]) -> bytes:
    """Return a NOTE."""
    text = json.dumps(entries, allow_nan=False).encode()
    return _NOTE_HEAD.pack(NOTE[0], len(text)) + text


class Piece(NamedTuple):
    """What one search has written since the last piece.

    Attributes
    ----------
    records : bytes
        A member: what is settled, and the records that prove it.
    settled : list
    state : bytes
        A member: what the search knows behind the records, from which another one goes on with the stream. It is no
        part of a proof.
    """

    records: bytes
    settled: list[Settled]
    state: bytes


def packed_piece(number: int, records: bytes, settled: list[Settled], state: bytes) -> Piece:
    """Return the next piece of a stream."""
    return Piece(
        pack(note({"stream": number, "settled": settled}) + records),
        settled,
        pack(note({"state_of": number}) + state),
    )


def unpacked_state(member: bytes) -> bytes:
    """Return the state that a member holds."""
    content = zlib.decompress(member, 31)
    return content[_NOTE_HEAD.size + _NOTE_HEAD.unpack_from(content)[1] :]


def read_note(content: bytes) -> dict[str, Any]:
    """Return the entries of the NOTE that a piece begins with."""
    try:
        kind, length = _NOTE_HEAD.unpack_from(content)
        entries = json.loads(content[_NOTE_HEAD.size : _NOTE_HEAD.size + length])
    except (struct.error, ValueError, RecursionError) as error:
        raise InvalidInputError(f"a piece does not begin with a note: {error}") from error
    if kind != NOTE[0] or not isinstance(entries, dict):
        raise InvalidInputError("a piece does not begin with a note")
    return entries


def read_members(stream: BinaryIO) -> Iterator[Member]:
    """Yield the members of a file up to the first that is not whole."""
    start, rest = 0, b""
    while True:
        unpacker, parts, size, taken = zlib.decompressobj(31), [], 0, 0
        while not unpacker.eof:
            block = rest or stream.read(_BLOCK)
            rest = b""
            if not block:
                return
            try:
                parts.append(unpacker.decompress(block, MOST_BYTES - size + 1))
            except zlib.error:
                return
            size += len(parts[-1])
            taken += len(block)
            if size > MOST_BYTES:
                return
        rest = unpacker.unused_data
        end = start + taken - len(rest)
        yield Member(start, end, b"".join(parts))
        start = end
