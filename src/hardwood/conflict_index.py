"""Who meets whom: an index of boxes that answers for many boxes at a time, without a matrix of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
Int32Array = NDArray[np.int32]
BoolArray = NDArray[np.bool_]

N_BUCKETS = 64
"""Ranks of a feature are told apart by the bitsets up to so many groups; the definition decides the rest."""

_ALL = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class RankedBoxes:
    """Boxes as ranks of their ends, one row per vertex."""

    lower: Int32Array
    upper: Int32Array

    def take(self, rows: IntArray) -> RankedBoxes:
        """Some of the boxes."""
        return RankedBoxes(np.ascontiguousarray(self.lower[rows]), np.ascontiguousarray(self.upper[rows]))

    def with_features(self, features: IntArray) -> RankedBoxes:
        """The boxes on these features only, in this order."""
        return RankedBoxes(
            np.ascontiguousarray(self.lower[:, features]), np.ascontiguousarray(self.upper[:, features])
        )


class ConflictIndex:
    """Answers which columns (boxes) the box of a row meets, among those of another class.

    Parameters
    ----------
    rows, columns : RankedBoxes
        Two sets of boxes, ranked together. They may be the same.
    row_label, column_label : int array
        Classes; a row never conflicts with a column of its class.
    """

    def __init__(
        self, rows: RankedBoxes, columns: RankedBoxes, row_label: IntArray, column_label: IntArray
    ) -> None:
        self._rows, self._columns = rows, columns
        # One set of admissible columns per class of the rows: all columns of other classes.
        row_classes, mask = np.unique(row_label, return_inverse=True)
        self._row_mask = mask.astype(np.int32)
        self._other_class = [column_label != c for c in row_classes]

    @cached_property
    def _bitsets(self) -> _Bitsets:
        return _Bitsets(self._rows, self._columns)

    def find(
        self, rows: Int32Array, allowed: BoolArray, limit: int | None = None
    ) -> tuple[Int32Array, Int32Array]:
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
        """Number of conflicts of each of these rows with allowed columns."""
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

        order = _selective_first(rows, columns)
        self._rows, self._columns = rows.with_features(order), columns.with_features(order)
        n_columns, n_features = self._columns.lower.shape
        buckets = _bucket_of_rank(self._rows, self._columns)
        self._row_lower_bucket, self._row_upper_bucket = _apply_buckets(self._rows, buckets)
        n_buckets = max((int(bucket[-1]) + 1 for bucket in buckets), default=1)
        self._table = np.zeros((-(-n_columns // BLOCK), n_features, 2, n_buckets, N_WORDS), np.uint64)
        fill_tables(*_apply_buckets(self._columns, buckets), self._table)
        first = np.arange(0, n_columns, BLOCK)
        self._block_lower = np.minimum.reduceat(self._columns.lower, first)
        self._block_upper = np.maximum.reduceat(self._columns.upper, first)

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
            rows, row_mask, self._rows.lower, self._rows.upper, self._row_lower_bucket, self._row_upper_bucket,
            self._columns.lower, self._columns.upper, self._table, self._block_lower, self._block_upper, allowed,
            limit, column_limit, offset, found, count,
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
    draw = np.random.default_rng(0)
    i, k = draw.integers(n_rows, size=2000), draw.integers(n_columns, size=2000)
    overlap = (rows.lower[i] <= columns.upper[k]) & (columns.lower[k] <= rows.upper[i])
    return np.argsort(overlap.sum(axis=0), kind="stable")


def _bucket_of_rank(rows: RankedBoxes, columns: RankedBoxes) -> list[NDArray[np.uint8]]:
    """For each feature a monotone map from rank + 1 to at most `N_BUCKETS` buckets of similar population."""
    maps = []
    for j in range(rows.lower.shape[1]):
        ends = np.concatenate([side[:, j] for side in (rows.lower, rows.upper, columns.lower, columns.upper)]) + 1
        population = np.bincount(ends)
        if len(population) <= N_BUCKETS:
            maps.append(np.arange(len(population), dtype=np.uint8))
        else:
            before = np.cumsum(population) - population
            maps.append((before * N_BUCKETS // len(ends)).astype(np.uint8))
    return maps


def _apply_buckets(
    boxes: RankedBoxes, maps: list[NDArray[np.uint8]]
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    lower = np.empty(boxes.lower.shape, np.uint8)
    upper = np.empty(boxes.upper.shape, np.uint8)
    for j, bucket in enumerate(maps):
        lower[:, j] = bucket[boxes.lower[:, j] + 1]
        upper[:, j] = bucket[boxes.upper[:, j] + 1]
    return lower, upper
