"""Which samples exclude each other: boxes of different classes that share a point.

Two samples of different classes conflict iff their boxes meet on every feature; then no model whatever can get both
right against the attacker. The comparison is one of endpoint ranks (`hardwood.thresholds`), so that boxes which touch
up to rounding conflict, and it is made in one place, `hardwood.kernels.conflicts.meets`.

Pairs are never kept as an n × n matrix. Equal samples are merged, vertices are put into an order in which neighbours
stand together, and an index of bitsets answers "whom does this box meet?" for many boxes at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from hardwood.problem import Problem

IntArray = NDArray[np.int64]
Int32Array = NDArray[np.int32]
BoolArray = NDArray[np.bool_]

N_BUCKETS = 64
"""Ranks of a feature are told apart by the bitsets up to so many groups; the definition decides the rest."""

_ALL = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Vertices:
    """Samples of equal class and box, merged, in an order that depends on their values and not on their rows.

    Attributes
    ----------
    member : int array
        The samples, vertex by vertex.
    start : int array of shape (n_vertices + 1,)
        ``member[start[v]:start[v + 1]]`` are the samples of vertex v.
    label : int array of shape (n_vertices,)
    """

    member: IntArray
    start: IntArray
    label: IntArray

    @property
    def size(self) -> int:
        """Number of vertices."""
        return len(self.label)

    @property
    def first_member(self) -> IntArray:
        """One sample of each vertex."""
        return self.member[self.start[:-1]]

    def total(self, values: IntArray) -> IntArray:
        """Sum of the values of each vertex's samples."""
        return np.add.reduceat(values[self.member], self.start[:-1]) if self.size else np.empty(0, np.int64)

    def members_of(self, vertices: IntArray) -> IntArray:
        """All samples of these vertices, sorted."""
        chosen = np.zeros(self.size, np.bool_)
        chosen[vertices] = True
        return np.sort(self.member[np.repeat(chosen, np.diff(self.start))])


def merge_equal(key: Int32Array, label: IntArray, sample: IntArray) -> Vertices:
    """Merge the samples whose class and row of `key` are equal.

    Parameters
    ----------
    key : int array of shape (n_samples, k)
        Whatever makes two boxes the same box, e.g. the ranks of their ends.
    label : int array of shape (n_samples,)
    sample : int array
        The samples to take part.

    Notes
    -----
    Samples are sorted by a hash of their values, so that the order of the rows leaves no trace; values that collide
    are compared, and at worst stay unmerged.
    """
    chosen_key, chosen_label = key[sample], label[sample]
    multiplier = np.random.default_rng(0).integers(1, 2**63, size=key.shape[1] + 1, dtype=np.uint64) | np.uint64(1)
    code = (chosen_label.astype(np.uint64) + np.uint64(1)) * multiplier[-1]
    for j in range(key.shape[1]):
        column = (chosen_key[:, j].astype(np.int64) + 2).astype(np.uint64) * multiplier[j]
        code = (code ^ (column >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15) + column
    order = np.argsort(code, kind="stable")
    sorted_key, sorted_label = chosen_key[order], chosen_label[order]
    fresh = np.ones(len(order), np.bool_)
    fresh[1:] = (sorted_label[1:] != sorted_label[:-1]) | np.any(sorted_key[1:] != sorted_key[:-1], axis=1)
    start = np.flatnonzero(fresh)
    merged = Vertices(sample[order], np.append(start, len(order)), sorted_label[start])
    return _reorder(merged, _neighbourly_order(sorted_key[start]))


def _reorder(vertices: Vertices, order: IntArray) -> Vertices:
    """The same vertices in another order."""
    length = np.diff(vertices.start)[order]
    start = np.concatenate([[0], np.cumsum(length)])
    source = np.repeat(vertices.start[order] - start[:-1], length) + np.arange(start[-1])
    return Vertices(vertices.member[source], start, vertices.label[order])


def _neighbourly_order(key: Int32Array) -> IntArray:
    """Order of the leaves of a k-d tree: medians of the widest column down to blocks of bitset length."""
    from hardwood.kernels.conflicts import BLOCK

    order = np.arange(len(key))
    pending = [(0, len(key))]
    while pending:
        begin, end = pending.pop()
        if end - begin <= BLOCK:
            continue
        part = key[order[begin:end]]
        widest = int(np.argmax(part.max(axis=0).astype(np.int64) - part.min(axis=0)))
        middle = (end - begin) // 2
        by_column = np.argsort(part[:, widest], kind="stable")
        order[begin:end] = order[begin:end][by_column]
        pending += [(begin, begin + middle), (begin + middle, end)]
    return order


@dataclass(frozen=True, eq=False)
class RankedBoxes:
    """Boxes as ranks of their ends, one row per vertex."""

    lower: Int32Array
    upper: Int32Array

    def take(self, rows: IntArray) -> RankedBoxes:
        """Some of the boxes."""
        return RankedBoxes(np.ascontiguousarray(self.lower[rows]), np.ascontiguousarray(self.upper[rows]))


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
        from hardwood.kernels.conflicts import BLOCK, N_WORDS, fill_tables

        order = _selective_first(rows, columns)
        self._rows = RankedBoxes(*(np.ascontiguousarray(side[:, order]) for side in (rows.lower, rows.upper)))
        self._columns = RankedBoxes(
            *(np.ascontiguousarray(side[:, order]) for side in (columns.lower, columns.upper))
        )
        n_columns, n_features = self._columns.lower.shape
        buckets = _bucket_of_rank(self._rows, self._columns)
        self._row_bucket = _apply_buckets(self._rows, buckets)
        column_bucket = _apply_buckets(self._columns, buckets)
        self._n_blocks = -(-n_columns // BLOCK)
        n_buckets = max((int(bucket[-1]) + 1 for bucket in buckets), default=1)
        self._table = np.zeros((self._n_blocks, n_features, 2, n_buckets, N_WORDS), np.uint64)
        fill_tables(column_bucket.lower, column_bucket.upper, self._table)
        first = np.arange(0, n_columns, BLOCK)
        shape = (0, n_features)
        self._block_lower = (
            np.minimum.reduceat(self._columns.lower, first) if n_columns else np.empty(shape, np.int32)
        )
        self._block_upper = (
            np.maximum.reduceat(self._columns.upper, first) if n_columns else np.empty(shape, np.int32)
        )
        # One set of admissible columns per class of the rows: all columns of other classes.
        row_classes, mask = np.unique(row_label, return_inverse=True)
        self._row_mask = mask.astype(np.int32)
        self._other_class = [column_label != c for c in row_classes]

    @property
    def memory(self) -> int:
        """Bytes held by the bitsets."""
        return int(self._table.nbytes)

    def find(
        self, rows: Int32Array, allowed: BoolArray, limit: int | None = None
    ) -> tuple[Int32Array, Int32Array]:
        """Conflicts of these rows with allowed columns, at most `limit` per row, as two arrays."""
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
        from hardwood.kernels.conflicts import find_meeting

        count = np.zeros(len(rows), np.int64)
        if limit == 0 or len(rows) == 0 or self._n_blocks == 0:
            return count
        masks = np.stack([self._as_words(allowed & other) for other in self._other_class])
        find_meeting(
            rows, self._row_mask, self._rows.lower, self._rows.upper, self._row_bucket.lower, self._row_bucket.upper,
            self._columns.lower, self._columns.upper, self._table, self._block_lower, self._block_upper, masks,
            limit, offset, found, count,
        )  # fmt: skip
        return count

    def _as_words(self, chosen: BoolArray) -> NDArray[np.uint64]:
        from hardwood.kernels.conflicts import BLOCK, N_WORDS

        padded = np.zeros(self._n_blocks * BLOCK, np.bool_)
        padded[: len(chosen)] = chosen
        return np.packbits(padded, bitorder="little").view(np.uint64).reshape(self._n_blocks, N_WORDS)


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


def _apply_buckets(boxes: RankedBoxes, maps: list[NDArray[np.uint8]]) -> RankedBoxes:
    lower = np.empty(boxes.lower.shape, np.uint8)
    upper = np.empty(boxes.upper.shape, np.uint8)
    for j, bucket in enumerate(maps):
        lower[:, j] = bucket[boxes.lower[:, j] + 1]
        upper[:, j] = bucket[boxes.upper[:, j] + 1]
    return RankedBoxes(lower, upper)  # type: ignore[arg-type]


def conflict_pairs(problem: Problem) -> IntArray:
    """All pairs of samples that cannot both be right.

    Returns
    -------
    ndarray of shape (n_conflicts, 2)
        Row numbers ``i < k``, sorted. Samples of weight zero take part.
    """
    boxes = RankedBoxes(problem.lower_rank, problem.upper_rank)
    pairs = [np.empty((0, 2), np.int64)]
    for c in range(problem.n_classes - 1):
        mine, others = np.flatnonzero(problem.label == c), np.flatnonzero(problem.label > c)
        index = ConflictIndex(boxes.take(mine), boxes.take(others), problem.label[mine], problem.label[others])
        row, column = index.find(np.arange(len(mine), dtype=np.int32), np.ones(len(others), np.bool_))
        pairs.append(np.sort(np.column_stack([mine[row], others[column]]), axis=1))
    found = np.concatenate(pairs)
    place = np.sort(found[:, 0] * problem.n_samples + found[:, 1])
    return np.column_stack(np.divmod(place, problem.n_samples))
