"""Compiled search for the boxes that a box meets, 512 boxes at a time.

Boxes are given by ranks: ``lower_rank[i, j] <= upper_rank[i, j]`` are the positions of the endpoints of box i on
feature j among all (snapped) endpoints. Two boxes meet iff on every feature

    lower_rank[i, j] <= upper_rank[k, j]   and   lower_rank[k, j] <= upper_rank[i, j],

so touching boxes meet. `meets` is this definition; `find_meeting` finds the same pairs faster. The columns (the boxes
that are searched) stand in blocks of 512; for each block, feature and bucket of ranks a bitset tells which columns
begin at or before the bucket and another which end at or after it. The columns that a row meets are the AND of two
bitsets per feature, then checked against the definition because a bucket may hold several ranks. This costs
``O(n² p / 512)`` vector operations at worst, with no structure in the data to rely on, and no memory per pair.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import types

from hardwood.kernels.signatures import read_only

N_WORDS = 8
BLOCK = 64 * N_WORDS

_IN_RANK = read_only(types.int32, 2)
_IN_I64 = read_only(types.int64, 1)
_IN_I32 = read_only(types.int32, 1)
_TABLE = types.Array(types.uint64, 5, "C")
_IN_TABLE = read_only(types.uint64, 5)
_OUT_WORDS = types.Array(types.uint64, 3, "C")
_OUT_I32 = types.Array(types.int32, 1, "C")
_OUT_I64 = types.Array(types.int64, 1, "C")
_OUT_BOOL = types.Array(types.boolean, 1, "C")

# Position of the lowest set bit: a de Bruijn sequence times a power of two has a different top six bits for each.
_DE_BRUIJN = np.uint64(0x03F79D71B4CB0A89)
_POSITION = np.zeros(64, dtype=np.int64)
for _bit in range(64):
    _POSITION[((0x03F79D71B4CB0A89 << _bit) & 0xFFFFFFFFFFFFFFFF) >> 58] = _bit


@nb.njit(types.boolean(_IN_RANK, _IN_RANK, types.int64, _IN_RANK, _IN_RANK, types.int64), cache=True, nogil=True)
def meets(row_lower, row_upper, i, col_lower, col_upper, k):
    """Whether row box i and column box k share a point (touching counts)."""
    for j in range(row_lower.shape[1]):
        if row_lower[i, j] > col_upper[k, j] or col_lower[k, j] > row_upper[i, j]:
            return False
    return True


@nb.njit(types.void(_IN_RANK, _IN_RANK, _IN_I32, _IN_RANK, _IN_RANK, _IN_I32, _OUT_BOOL), cache=True, nogil=True)
def pairs_meet(row_lower, row_upper, row, col_lower, col_upper, col, out):
    """Write for each listed pair of a row and a column whether they meet."""
    for e in range(len(row)):
        out[e] = meets(row_lower, row_upper, row[e], col_lower, col_upper, col[e])


@nb.njit(types.void(_IN_RANK, _IN_RANK, _IN_I64, _TABLE), cache=True, nogil=True)
def fill_tables(col_lower, col_upper, shift, table):
    """Fill the zeroed bitsets ``table[block, feature, side, bucket, word]``.

    Side 0: columns whose lower bucket is at most `bucket`. Side 1: columns whose upper bucket is at least `bucket`.
    The bucket of a rank on feature j is ``(rank + 1) >> shift[j]``.
    """
    n_columns, n_features = col_lower.shape
    n_blocks, _, _, n_buckets, _ = table.shape
    for k in range(n_columns):
        block = k // BLOCK
        word = (k % BLOCK) >> 6
        bit = np.uint64(1) << np.uint64(k & 63)
        for j in range(n_features):
            table[block, j, 0, (col_lower[k, j] + 1) >> shift[j], word] |= bit
            table[block, j, 1, (col_upper[k, j] + 1) >> shift[j], word] |= bit
    for block in range(n_blocks):
        for j in range(n_features):
            for bucket in range(1, n_buckets):
                for word in range(N_WORDS):
                    table[block, j, 0, bucket, word] |= table[block, j, 0, bucket - 1, word]
            for bucket in range(n_buckets - 2, -1, -1):
                for word in range(N_WORDS):
                    table[block, j, 1, bucket, word] |= table[block, j, 1, bucket + 1, word]


@nb.njit(
    types.void(
        _IN_I32, _IN_I32, _IN_RANK, _IN_RANK, _IN_RANK, _IN_RANK, _IN_I64, _IN_I64, _IN_TABLE, _IN_RANK, _IN_RANK,
        _OUT_WORDS, types.int64, _OUT_I64, _IN_I64, _OUT_I32, _OUT_I64,
    ),
    cache=True,
    nogil=True,
)  # fmt: skip
def find_meeting(
    row, row_mask, row_lower, row_upper, col_lower, col_upper, feature, shift, table, block_lower, block_upper,
    allowed, limit, col_limit, offset, found, count,
):  # fmt: skip
    """Write up to `limit` columns that each row meets.

    Parameters
    ----------
    row : rows to search for.
    row_mask : for every row, which bitset of `allowed` restricts its columns.
    feature : order in which features are looked at; those on which few boxes meet should come first.
    shift, table : as in `fill_tables`.
    block_lower, block_upper : bounding box of each block of columns.
    allowed : bitsets ``[mask, block, word]`` of the columns that may be found; spent columns are removed.
    limit : number of columns after which a row is left; different rows start at different columns, so that a
        limited search does not give all rows the same few columns.
    col_limit : how often each column may still be found; counted down.
    offset : where in `found` the columns of ``row[r]`` go. An empty `found` means that they are only counted.
    count : number of columns per entry of `row`, written here.
    """
    n_blocks = table.shape[0]
    hit = np.empty(N_WORDS, np.uint64)
    for r in range(len(row)):
        i = row[r]
        mask = row_mask[i]
        spread = np.uint64(i + 1) * np.uint64(0x9E3779B97F4A7C15)
        first_block = np.int64(spread >> np.uint64(33)) % n_blocks
        turn = (spread >> np.uint64(20)) & np.uint64(63)
        size = 0
        for step in range(n_blocks):
            block = first_block + step
            if block >= n_blocks:
                block -= n_blocks
            left = np.uint64(0)
            for word in range(N_WORDS):
                left |= allowed[mask, block, word]
            if left == 0:
                continue
            # Bounding boxes rule out whole blocks at little cost; features that tell little are left to the bitsets.
            apart = False
            for j in feature[:4]:
                if row_lower[i, j] > block_upper[block, j] or block_lower[block, j] > row_upper[i, j]:
                    apart = True
                    break
            if apart:
                continue
            # Eight scalars stay in registers, where an array would be stored and loaded for every feature.
            start = allowed[mask, block]
            h0, h1, h2, h3, h4, h5, h6, h7 = (
                start[0], start[1], start[2], start[3], start[4], start[5], start[6], start[7],
            )  # fmt: skip
            for j in feature:
                begun = table[block, j, 0, (row_upper[i, j] + 1) >> shift[j]]
                unended = table[block, j, 1, (row_lower[i, j] + 1) >> shift[j]]
                h0 &= begun[0] & unended[0]
                h1 &= begun[1] & unended[1]
                h2 &= begun[2] & unended[2]
                h3 &= begun[3] & unended[3]
                h4 &= begun[4] & unended[4]
                h5 &= begun[5] & unended[5]
                h6 &= begun[6] & unended[6]
                h7 &= begun[7] & unended[7]
                if (h0 | h1 | h2 | h3 | h4 | h5 | h6 | h7) == 0:
                    break
            if (h0 | h1 | h2 | h3 | h4 | h5 | h6 | h7) == 0:
                continue
            hit[0], hit[1], hit[2], hit[3], hit[4], hit[5], hit[6], hit[7] = h0, h1, h2, h3, h4, h5, h6, h7
            for step_word in range(N_WORDS):
                word = (step_word + first_block + i) & (N_WORDS - 1)
                bits = hit[word]
                if turn > 0:
                    bits = (bits >> turn) | (bits << (np.uint64(64) - turn))
                while bits != 0 and size < limit:
                    lowest = bits & (~bits + np.uint64(1))
                    bits ^= lowest
                    position = _POSITION[(lowest * _DE_BRUIJN) >> np.uint64(58)]
                    k = block * BLOCK + word * 64 + ((position + np.int64(turn)) & 63)
                    if meets(row_lower, row_upper, i, col_lower, col_upper, k):
                        if len(found) > 0:
                            found[offset[r] + size] = k
                        size += 1
                        col_limit[k] -= 1
                        if col_limit[k] == 0:
                            for m in range(allowed.shape[0]):
                                allowed[m, block, word] &= ~(np.uint64(1) << np.uint64(k & 63))
            if size >= limit:
                break
        count[r] = size


@nb.njit(types.UniTuple(types.int64, 2)(_IN_RANK, _IN_RANK, _IN_I64, types.int64), cache=True, nogil=True)
def sweep_for_conflict(lower, upper, label, feature):
    """Return two boxes of different labels that meet, or (-1, -1); boxes come sorted by ``lower[:, feature]``."""
    n = len(label)
    for i in range(n):
        for k in range(i + 1, n):
            if lower[k, feature] > upper[i, feature]:
                break
            if label[i] != label[k] and meets(lower, upper, i, lower, upper, k):
                return i, k
    return -1, -1
