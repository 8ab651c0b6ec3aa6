"""A search that survives: what it has proven so far, on disk.

The file is a row of gzip members (`hardwood.proofs.members`), appended one by one: first what the search is about, then
what was settled at the root with the records that prove it, each piece followed by what the search knows there, and
trees as they are found. A process that is killed leaves at most one torn member at the end, which is cut off; with it a
piece whose state is not whole, so that its stream still ends with the state before. Searches of several threads or
machines write streams of their own, side by side; a later sitting goes on with these streams, from the states behind
their last pieces. States that are superseded go when the file is rewritten (`hardwood.proofs.growing`). A finished
search puts the streams one behind the other, each after a RESET, without the states, and the file is a proof for
`hardwood-checker`.

What was settled is taken at its word when a search goes on: sums guard against damage, not against forgery. Who does
not trust a checkpoint has the finished proof checked.
"""

from __future__ import annotations

import json
import math
import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hardwood import _core
from hardwood._version import __version__
from hardwood.errors import HardwoodError, InvalidInputError, StoppedError
from hardwood.files import alone, whole_file
from hardwood.problem.problem import Problem
from hardwood.proofs.growing import GrowingFile
from hardwood.proofs.header import as_plain_tree, header_of, tree_from_plain
from hardwood.proofs.identity import column_digests, require_same
from hardwood.proofs.members import RESET, Member, Piece, Settled, note, pack, read_members, read_note
from hardwood.proofs.writer import BOUND, END, MAGIC, PlainRanks, packing_record, parts_to_prove, write_proof
from hardwood.solvers.search.model import SearchModel
from hardwood.tree.tree import Tree

CHECKPOINT_MAGIC = b"hardwood checkpoint 1\n"
PACE = (0.5, 10.0, 0.02)
"""What is proven goes to the disk every so many seconds: at least, at most, and as a share of the time so far; of CPU
time where all threads that search are of this process."""

MOST_SCOUTINGS = 3
"""So many times the search for good trees is begun; who is killed more often goes on with the proof."""

REST = 40
"""So many times as long as writing took, nothing is written."""


class CheckpointInUseError(HardwoodError, RuntimeError):
    """Another process goes on from the same checkpoint."""


class CheckpointWriteError(HardwoodError, RuntimeError):
    """What a search has proven cannot be written any more: the disk is full, say."""


class CheckpointWarning(UserWarning):
    """The end of a checkpoint was damaged; the search goes on from what stands before."""


@dataclass(frozen=True)
class Checkpoint:
    """Where a search keeps what it has proven.

    Attributes
    ----------
    path : path
        Made if it is not there. Beside it lies a file ``PATH.lock``.
    target : str or None
        Name of the column with the labels, for whoever checks the finished proof against a CSV file.
    """

    path: str | os.PathLike[str]
    target: str | None = None


@dataclass
class SavedSearch:
    """An open checkpoint: what earlier runs left, and where this one writes.

    Attributes
    ----------
    model : SearchModel
        The problem in the ranks of the proof format.
    settled : list
        What was proven at the root, by whichever run.
    tree : Tree or None
        The best tree so far.
    objective : float
        What it costs.
    is_scouted : bool
        Whether the search for good trees came to its end, or was cut short so often that the proof should begin.
    looked : (int, int)
        How far the search for good trees was: starts that were improved, and samples that were scanned for it.
    bound_of_any_model : float or None
        If it was computed to the end.
    bound : int or None
        In parts, if the search was finished.
    """

    place: Checkpoint
    model: SearchModel
    about: dict[str, Any]
    file: GrowingFile
    settled: list[Settled] = field(default_factory=list)
    tree: Tree | None = None
    objective: float = math.inf
    is_scouted: bool = False
    looked: tuple[int, int] = (0, 0)
    bound_of_any_model: float | None = None
    bound: int | None = None
    _pieces: dict[int, list[tuple[int, int, bool]]] = field(default_factory=dict)
    _clock: Callable[[], float] = time.monotonic
    _began: float = field(default_factory=time.monotonic)
    _synced: float = field(default_factory=time.monotonic)
    _states: dict[int, tuple[int, int]] = field(default_factory=dict)
    _rest: float = 0.0
    _n_scoutings: int = 0

    @property
    def first_free_stream(self) -> int:
        """The least number from which on no stream of the file has one."""
        return max(self._pieces, default=-1) + 1

    @property
    def is_due(self) -> bool:
        """Whether it is time to write."""
        least, most, share = PACE
        now = self._clock()
        return now - self._synced >= max(min(max(share * (now - self._began), least), most), self._rest)

    def count_work(self, n_threads: int) -> None:
        """Go by the CPU time of each thread of this process, rather than by the clock: that is what a kill costs."""
        self._clock = lambda: time.process_time() / n_threads
        self._began = self._synced = self._clock()

    def streams_to_go_on_with(self) -> list[tuple[int, bytes]]:
        """Return the streams that ended with a state, the last ones first, with that state."""
        found = sorted(self._states.items(), key=lambda one: -one[1][0])
        return [(number, self.file.read(start, end)) for number, (start, end) in found]

    def keep_tree(self, tree: Tree, objective: float) -> None:
        """Write down a better tree."""
        if objective >= self.objective or self.bound is not None:
            return
        self.tree, self.objective = tree, objective
        self._append(pack(note({"tree": as_plain_tree(tree, self.model.problem), "objective": objective})))

    def keep_scouted(self) -> None:
        """Write down that good trees need not be looked for again."""
        if not self.is_scouted:
            self.is_scouted = True
            self._append(pack(note({"is_scouted": True})))

    def keep_scouting(self) -> None:
        """Write down that good trees are being looked for."""
        self._append(pack(note({"scouting": True})))

    def keep_looked(self, looked: tuple[int, int]) -> None:
        """Write down how far the search for good trees is."""
        self._append(pack(note({"looked": looked})))

    def keep_bound_of_any_model(self, bound: float) -> None:
        """Write down what no model can avoid."""
        if self.bound_of_any_model is None:
            self.bound_of_any_model = bound
            self._append(pack(note({"bound_of_any_model": bound})))

    def keep_piece(self, number: int, piece: Piece) -> None:
        """Write the next piece of a stream, and the state behind it, which supersedes the last one."""
        start = self._append(piece.records + piece.state)
        middle = start + len(piece.records)
        self._pieces.setdefault(number, []).append((start, middle, bool(piece.settled)))
        self._take_state(number, middle, self.file.size)

    def _take_state(self, number: int, start: int, end: int) -> None:
        if number in self._states:
            self.file.supersede(*self._states[number])
        self._states[number] = (start, end)

    def _append(self, member: bytes) -> int:
        try:
            return self.file.append(member)
        except OSError as error:
            raise self._cannot_write(error) from error

    def sync(self) -> None:
        """Let what was written reach the disk."""
        try:
            self.file.sync()
        except OSError as error:  # some disks say only now that they are full
            raise self._cannot_write(error) from error
        if self.file.is_wasteful:
            moved = self.file.rewrite()
            for pieces in self._pieces.values():
                pieces[:] = [(moved(start), moved(end), settles) for start, end, settles in pieces]
            self._states = {number: (moved(start), moved(end)) for number, (start, end) in self._states.items()}
        self._synced = self._clock()

    def _cannot_write(self, error: OSError) -> CheckpointWriteError:
        return CheckpointWriteError(
            f"cannot write to {self.place.path}: {error.strerror}; what stands there is whole, the same search goes on"
        )

    def rest_after(self, seconds: float) -> None:
        """Take note that pieces took so long to make and to write: the next ones can wait."""
        self._rest = REST * seconds

    def finish(self, tree: Tree, bound: float, proven: int) -> None:
        """Turn the file into a proof.

        Parameters
        ----------
        tree : Tree
        bound : float
            What is to be proven, in units of the objective.
        proven : int
            What the pieces prove, in parts.
        """
        try:
            self._finish(tree, bound, proven)
        except OSError as error:
            raise self._cannot_write(error) from error

    def _finish(self, tree: Tree, bound: float, proven: int) -> None:
        if self.bound is not None:
            return  # it is one
        problem, path = self.model.problem, self.place.path
        proven = min(proven, self._leaf_cost())
        parts = parts_to_prove(bound, self.model)
        record, packed = (b"", 0) if proven >= parts else packing_record(problem, self.model)
        if max(packed, proven) < parts:
            write_proof(problem, tree, bound, path, target=self.place.target, extra=self._extra())
            return
        claimed = proven if proven >= parts else packed
        header = self._header(tree, claimed)
        with whole_file(path) as whole, open(path, "rb") as pieces:
            whole.write(pack(MAGIC + json.dumps(header, allow_nan=False).encode() + b"\n"))
            for start, end in self._needed() if proven >= parts else ():
                pieces.seek(start)
                whole.write(pack(RESET) if start == end else pieces.read(end - start))
            whole.write(pack((record or BOUND + claimed.to_bytes(8, "little")) + END))

    def _leaf_cost(self) -> int:
        """Return what the best single leaf costs, in parts."""
        totals = np.zeros(self.model.problem.n_classes, np.int64)
        np.add.at(totals, self.model.problem.label[self.model.row], self.model.weight)
        return int(totals.sum() - totals.max()) + self.model.penalty

    def _needed(self) -> Iterator[tuple[int, int]]:
        """Yield where the pieces lie that the proof needs, stream by stream; an empty one stands for RESET."""
        for pieces in self._pieces.values():
            last = max((k for k, (_, _, settles) in enumerate(pieces) if settles), default=-1)
            if last >= 0:
                yield 0, 0
                yield from ((start, end) for start, end, _ in pieces[: last + 1])

    def _extra(self) -> dict[str, Any]:
        return {"checkpoint": self.about["checkpoint"]}

    def _header(self, tree: Tree | None, bound: int) -> dict[str, Any]:
        return _header(self.model, tree, self.place.target, bound) | self._extra()


@contextmanager
def open_checkpoint(
    place: Checkpoint, problem: Problem, *, wait: bool = False, control: _core.Control | None = None
) -> Iterator[SavedSearch]:
    """Open a checkpoint of a problem, new or left by an earlier run, and keep other processes out.

    Raises `InvalidInputError` if it is about something else, naming what differs, and `StoppedError` if the control
    stops it before it has looked: on a large table it takes seconds to see what the file must be about.
    """
    if problem.leaf_limit_name is not None:
        raise InvalidInputError(f"a checkpoint becomes a proof, which cannot speak of {problem.leaf_limit_name}")
    if os.path.exists(place.path) and not os.path.isfile(place.path):
        raise InvalidInputError(f"cannot keep a checkpoint in {place.path}: it is no ordinary file")

    def refusal(holder: str) -> Exception:
        return CheckpointInUseError(f"another process (id {holder}) goes on from {place.path}; wait for it to end")

    with alone(place.path, refusal, wait=wait):
        model = SearchModel.of(problem, PlainRanks.of(problem, control))
        if control is not None and control.stopped:
            raise StoppedError("stopped before the checkpoint was read")
        about = _header(model, None, place.target, 0)
        about["checkpoint"] = {"version": __version__, "digests": column_digests(problem)}
        saved = SavedSearch(place, model, about, GrowingFile(place.path))
        try:
            _take_over(saved)
            yield saved
        finally:
            saved.file.close()


def _header(model: SearchModel, tree: Tree | None, target: str | None, bound: int) -> dict[str, Any]:
    return header_of(
        model.problem,
        tree,
        target,
        bound=bound,
        depth=model.problem.max_depth,
        scale=model.exact_scale,
        heavy=model.forbidden,
    )


def _take_over(saved: SavedSearch) -> None:
    """Read what is there, cut off a torn end, or begin."""
    path = Path(saved.place.path)
    length = path.stat().st_size
    with path.open("rb") as stream:
        members = read_members(stream)
        first = next(members, None)
        if first is None:
            if length > 0 and not _is_torn_beginning(path):
                raise InvalidInputError(f"{path} is neither a checkpoint nor a proof of hardwood; it is left as it is")
            _cut(saved, length, 0)
            saved._append(pack(CHECKPOINT_MAGIC + json.dumps(saved.about, allow_nan=False).encode() + b"\n"))
            saved.sync()
            return
        header, is_finished = _read_first(first.content, path)
        require_same(header, saved.about, path)
        saved.file.size = first.end
        if is_finished:
            saved.tree = tree_from_plain(header.get("tree"), saved.model.problem)
            saved.bound = int(header["claim"]["bound"])
            return
        _take_members(saved, members)
    _cut(saved, length, saved.file.size)


def _is_torn_beginning(path: Path) -> bool:
    """Whether a file begins as our first member does, and is short: a run was killed in its first moment."""
    return path.stat().st_size < 1 << 20 and path.read_bytes()[:4] == pack(b"")[:4]


def _cut(saved: SavedSearch, length: int, whole: int) -> None:
    if length > whole:
        warnings.warn(
            f"{saved.place.path}: the last {length - whole} of {length} bytes are torn and were cut off; the search "
            "goes on from what stands before",
            CheckpointWarning,
            stacklevel=6,
        )
        saved.file.cut(whole)


def _read_first(content: bytes, path: Path) -> tuple[dict[str, Any], bool]:
    magic, _, rest = content.partition(b"\n")
    if magic + b"\n" not in (CHECKPOINT_MAGIC, MAGIC):
        other = magic[:40].decode("utf-8", "replace")
        raise InvalidInputError(f"{path} begins with {other!r}: no checkpoint, or one of another version of the format")
    try:
        header = json.loads(rest.partition(b"\n")[0])
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{path} has a header that cannot be read: {error}") from error
    if not isinstance(header, dict) or not isinstance(header.get("checkpoint"), dict):
        raise InvalidInputError(f"{path} is a proof, but not one of a search with a checkpoint; use another name")
    return header, magic + b"\n" == MAGIC


def _take_members(saved: SavedSearch, members: Iterator[Member]) -> None:
    """Take over one member after the other; a piece only with its state, if its stream had one before."""
    piece: tuple[Member, dict[str, Any]] | None = None
    for member in members:
        try:
            entries = read_note(member.content)
            if piece is not None:
                _take(saved, piece[1], piece[0].start, piece[0].end)
            piece = (member, entries) if int(entries.get("stream", -1)) in saved._states else None
            if piece is None:
                _take(saved, entries, member.start, member.end)
        except (InvalidInputError, KeyError, TypeError, ValueError) as error:
            raise InvalidInputError(
                f"{saved.place.path} holds, at byte {member.start}, what is no piece: {error}"
            ) from error


def _take(saved: SavedSearch, entries: dict[str, Any], start: int, end: int) -> None:
    if "stream" in entries:
        number, settled = int(entries["stream"]), [tuple(map(int, one)) for one in entries["settled"]]
        if number < 0 or any(len(one) != 4 or min(one) < 0 for one in settled):
            raise ValueError("what it says was settled makes no sense")
        saved._pieces.setdefault(number, []).append((start, end, bool(settled)))
        if number in saved._states:
            saved.file.supersede(*saved._states.pop(number))
        saved.settled += settled  # type: ignore[arg-type]
    if "state_of" in entries:
        saved._take_state(int(entries["state_of"]), start, end)
    if "tree" in entries:
        objective = float(entries["objective"])
        if objective < saved.objective:
            saved.tree, saved.objective = tree_from_plain(entries["tree"], saved.model.problem), objective
    if "bound_of_any_model" in entries:
        bound = float(entries["bound_of_any_model"])
        if not 0 <= bound < math.inf:
            raise ValueError("what it says that no model can avoid is no weight")
        saved.bound_of_any_model = bound
    if "looked" in entries:
        n_starts, effort = map(int, entries["looked"])
        if not (0 <= n_starts < 1 << 40 and 0 <= effort < 1 << 62):
            raise ValueError("how far it says that the search for good trees was makes no sense")
        saved.looked = n_starts, effort
    saved._n_scoutings += "scouting" in entries
    saved.is_scouted |= bool(entries.get("is_scouted")) or saved._n_scoutings >= MOST_SCOUTINGS
    saved.file.size = end
