"""Who meets whom: an index of boxes that answers for many boxes at a time, without a matrix of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hardwood.arrays import BoolArray, Int32Array, IntArray

N_BUCKETS = 64
"""The bitsets tell the ranks of a feature apart in so many groups (a power of two); the definition does the rest."""

_ALL = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class RankedBoxes:
    """Boxes as ranks of their ends, one row per vertex."""

    lower: Int32Array
    upper: Int32Array

    def take(self, rows: IntArray) -> RankedBoxes:
        """Return some of the boxes; neighbours, in order, are not copied."""
        if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all():
            span = slice(int(rows[0]), int(rows[-1]) + 1)
            return RankedBoxes(self.lower[span], self.upper[span])
        return RankedBoxes(self.lower[rows], self.upper[rows])


class ConflictIndex:
    """Answers which columns (boxes) the box of a row meets, among those of another class.

    Parameters
    ----------
    rows, columns : RankedBoxes
        Two sets of boxes, ranked together. They may be the same.
    row_label, column_label : int array
        Classes; a row never conflicts with a column of its class.
    """

    def __init__(self, rows: RankedBoxes, columns: RankedBoxes, row_label: IntArray, column_label: IntArray) -> None:
        self._rows, self._columns = rows, columns
        # One set of admissible columns per class of the rows: all columns of other classes.
        row_classes, mask = np.unique(row_label, return_inverse=True)
        self._row_mask = mask.astype(np.int32)
        self._other_class = [column_label != c for c in row_classes]

    @cached_property
    def _bitsets(self) -> _Bitsets:
        return _Bitsets(self._rows, self._columns)

    def find(self, rows: Int32Array, allowed: BoolArray, limit: int | None = None) -> tuple[Int32Array, Int32Array]:
        """Conflicts of these rows with allowed columns, at most `limit` per row and per column, as two arrays."""
        if limit is None:
            count = self.count(rows, allowed)
            offset = np.cumsum(count) - count
            found = np.empty(int(count.sum()), np.int32)
            self._search(rows, allowed, _ALL, offset, found)
            return np.repeat(rows, count), found
        limit = min(limit, int(allowed.sum()))
        offset = np.arange(len(rows), dtype=np.int64) * limit
        buffer = np.empty(len(rows) * limit, np.int32)
        count = self._search(rows, allowed, limit, offset, buffer)
        within = np.arange(limit) < count[:, None]
        return np.repeat(rows, count), buffer.reshape(len(rows), limit)[within]

    def count(self, rows: Int32Array, allowed: BoolArray) -> IntArray:
        """Count the conflicts of each of these rows with allowed columns."""
        return self._search(rows, allowed, _ALL, np.zeros(len(rows), np.int64), np.empty(0, np.int32))

    def holds(self, row: Int32Array, column: Int32Array) -> BoolArray:
        """Whether each listed pair of a row and a column meets."""
        from hardwood.kernels.conflicts import pairs_meet

        out = np.empty(len(row), np.bool_)
        pairs_meet(self._rows.lower, self._rows.upper, row, self._columns.lower, self._columns.upper, column, out)
        return out

    def _search(
        self, rows: Int32Array, allowed: BoolArray, limit: int, offset: IntArray, found: Int32Array
    ) -> IntArray:
        count = np.zeros(len(rows), np.int64)
        if limit > 0 and len(rows) > 0 and len(allowed) > 0:
            masks = [allowed & other for other in self._other_class]
            self._bitsets.search(rows, self._row_mask, masks, limit, offset, found, count)
        return count


class _Bitsets:
    """What `hardwood.kernels.conflicts.find_meeting` reads: tables of bitsets, and boxes around each block."""

    def __init__(self, rows: RankedBoxes, columns: RankedBoxes) -> None:
        from hardwood.kernels.conflicts import BLOCK, N_WORDS, fill_tables

        self._rows, self._columns = rows, columns
        n_columns, n_features = columns.lower.shape
        self._feature = _selective_first(rows, columns)
        first = np.arange(0, n_columns, BLOCK)
        self._block_lower = np.minimum.reduceat(columns.lower, first)
        self._block_upper = np.maximum.reduceat(columns.upper, first)
        largest = np.maximum(rows.upper.max(axis=0, initial=0), self._block_upper.max(axis=0, initial=0)) + 1
        self._shift = np.maximum(np.frexp(largest)[1] - N_BUCKETS.bit_length() + 1, 0).astype(np.int64)
        n_buckets = int((largest >> self._shift).max(initial=0)) + 1
        self._table = np.zeros((-(-n_columns // BLOCK), n_features, 2, n_buckets, N_WORDS), np.uint64)
        fill_tables(columns.lower, columns.upper, self._shift, self._table)

    def search(
        self,
        rows: Int32Array,
        row_mask: Int32Array,
        masks: list[BoolArray],
        limit: int,
        offset: IntArray,
        found: Int32Array,
        count: IntArray,
    ) -> None:
        """Run the kernel; every column may be found as often as `limit` says for rows."""
        from hardwood.kernels.conflicts import find_meeting

        allowed = np.stack([self._as_words(mask) for mask in masks])
        column_limit = np.full(len(self._columns.lower), limit)
        find_meeting(
            rows, row_mask, self._rows.lower, self._rows.upper, self._columns.lower, self._columns.upper,
            self._feature, self._shift, self._table, self._block_lower, self._block_upper, allowed, limit,
            column_limit, offset, found, count,
        )  # fmt: skip

    def _as_words(self, chosen: BoolArray) -> NDArray[np.uint64]:
        from hardwood.kernels.conflicts import BLOCK, N_WORDS

        n_blocks = len(self._table)
        padded = np.zeros(n_blocks * BLOCK, np.bool_)
        padded[: len(chosen)] = chosen
        return np.packbits(padded, bitorder="little").view(np.uint64).reshape(n_blocks, N_WORDS)


def _selective_first(rows: RankedBoxes, columns: RankedBoxes) -> IntArray:
    """Features by how rarely boxes meet on them, judged by some pairs: they empty the bitsets soonest."""
    n_rows, n_columns = len(rows.lower), len(columns.lower)
    if n_rows == 0 or n_columns == 0:
        return np.arange(rows.lower.shape[1])
    # Strides without a common factor pair rows and columns from everywhere.
    i, k = np.arange(211) * 7919 % n_rows, np.arange(211) * 104729 % n_columns
    overlap = (rows.lower[i] <= columns.upper[k]) & (columns.lower[k] <= rows.upper[i])
    return np.argsort(overlap.sum(axis=0), kind="stable")
