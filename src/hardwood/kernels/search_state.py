"""The arrays that the exact search works on: one allocation before the search, none inside it.

A *slot* is one node of the recursion in heap order: slot 1 is the root of the tree that is sought, slots
``2 s`` and ``2 s + 1`` are the left and right child problems of slot ``s``. Trees are stored in heap order too:
node 1 is the root, ``2 h`` and ``2 h + 1`` are the children of node ``h``.

The arrays are few and have named rows, because the time to compile a kernel grows with the number of arrays that it
is handed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

# What became of a range of thresholds.
PRUNED, FOUND, UNDECIDED = range(3)

EVERYTHING = 1 << 62  # more than any weight
LARGEST_SHIFT = 1 << 60  # beyond, the shift of the remembered bounds is carried out, lest it overflow

# Marks on a sample while a gap is closed by branching.
FREE, MUST_BE_CORRECT, GIVEN_UP = range(3)

# Rows of `Data.rank` and `Data.sample`.
LOWER, UPPER = range(2)
LABEL, COUNT = range(2)

# Entries of `Data.control`; only STOP changes while the search runs.
(
    STOP,
    MIN_LEAF,
    PENALTY,
    FORBIDDEN,
    GENERAL,
    ROUNDS,
    RANGE_ROUNDS,
    DEEP_ROUNDS,
    DEEP_RANGE_ROUNDS,
    ASCENT_STEPS,
    FIRST_TREE,
    USE_MEMORY,
    USE_RANGES,
    USE_POOL,
    USE_LAZY_SCAN,
    USE_CARRY,
    N_CONTROL,
) = range(17)

# Columns of `Work.scalar`; from NODES on counters.
SIZE, MEMORY_SHIFT, N_ACTIVE, WIDTH = range(4)
N_CERTAIN = 4  # two: left and right child
FIRST_CANDIDATE, LAST_CANDIDATE = 6, 7  # the part of a feature's candidates that is searched
NODES, EVALUATIONS, ROUNDS_DONE, SCANS, CHILD_SOLVES, BRANCHES, SKIPPED = range(8, 15)
N_SCALARS = 15

# Rows of `Work.vector`.
WEIGHT = 0  # zero outside the slot
MEMORY_WEIGHT = 1  # the weights for which `Work.memory` holds
SIDE = 2  # two: weight in the left and the right child; at depth 2 with two classes negative for class 1
SIDE_COUNT = 4  # two: how many samples certainly reach the child
BRANCH = 6  # the stack of samples that are branched on
ACTIVE = 7  # candidates that memory leaves open
N_VECTORS = 8

# Rows of `Work.flag`.
CERTAIN = 0  # the sample reaches no other slot of this depth
MARK = 1
REACH = 2  # 1: left, 2: right, 3: both
WRONG = 3  # 1: lost by the left child's tree, 2: by the right one's, 3: by both
MEMBER = 4
POOL_WRONG = 5  # from here on: the samples that the pooled trees lose

# Rows of `Work.threshold`.
CANDIDATE, CELL = range(2)

# Rows of `Work.feature`.
N_CANDIDATES = 0
FEATURE_ORDER = 1  # the feature of the last improvement first
OFFSET = 2  # where the thresholds of the feature start in `Work.memory`
BOUND = 3  # two: lower bound of the child's best stump on the feature; last column: of a plain leaf
EXACT = 5  # two: whether that is its cost
N_FEATURE_ROWS = 7

# Rows of `Work.total`: left and right child, then scratch.
RUNNING = 2

# Rows of `Work.tree`, and its columns: feature (-1: leaf), threshold, label, scratch.
CURRENT, BEST = range(2)
POOLED = 2

# Rows of `Work.pool`.
LEAVES, AGE = range(2)


class Data(NamedTuple):
    """What the search is about, shared by all threads."""

    rank: npt.NDArray[np.int32]  # (2, p, n) ranks of the lower and upper ends of the boxes
    sample: npt.NDArray[np.int64]  # (2, n) class and number of equal samples that were merged
    control: npt.NDArray[np.int64]  # (N_CONTROL,)


class Work(NamedTuple):
    """What the search writes; every thread has its own."""

    scalar: npt.NDArray[np.int64]  # (slots, N_SCALARS)
    vector: npt.NDArray[np.int64]  # (slots, N_VECTORS, n)
    flag: npt.NDArray[np.uint8]  # (slots, 5 + pool, n)
    ids: npt.NDArray[np.uint32]  # (slots, n) samples at the slot
    events: npt.NDArray[np.uint32]  # (slots, p, 2 n) their end points in order; see `search_node`
    threshold: npt.NDArray[np.int32]  # (slots, p, 2, n) undominated thresholds; the first one each dominates
    memory: npt.NDArray[np.int64]  # (slots, thresholds) lower bounds, to be lowered by MEMORY_SHIFT
    share: npt.NDArray[np.float32]  # (slots, p, n) share of a sample's weight that the left child charges
    feature: npt.NDArray[np.int64]  # (slots, N_FEATURE_ROWS, p + 1)
    total: npt.NDArray[np.int64]  # (slots, 4, classes) weight per class
    tree: npt.NDArray[np.int32]  # (slots, 2 + pool, heap, 4)
    pool: npt.NDArray[np.int64]  # (slots, 2, pool)


def allocate(data: Data, n_classes: int, n_ranks: npt.NDArray[np.int64], depth: int, pool: int) -> Work:
    """Work space for trees of at most `depth` >= 2 splits on a path."""
    _, p, n = data.rank.shape
    slots = 1 << (depth - 1)
    heap = 1 << (depth + 1)
    if depth == 2:
        pool = 1
    work = Work(
        scalar=np.zeros((slots, N_SCALARS), np.int64),
        vector=np.zeros((slots, N_VECTORS, n), np.int64),
        flag=np.zeros((slots, POOL_WRONG + pool, n), np.uint8),
        ids=np.zeros((slots, n), np.uint32),
        events=np.zeros((slots, p, 2 * n), np.uint32),
        threshold=np.zeros((slots, p, 2, n), np.int32),
        memory=np.zeros((slots, int(n_ranks.sum())), np.int64),
        share=np.full((slots, p, n), 0.5, np.float32),
        feature=np.zeros((slots, N_FEATURE_ROWS, p + 1), np.int64),
        total=np.zeros((slots, 4, n_classes), np.int64),
        tree=np.zeros((slots, POOLED + pool, heap, 4), np.int32),
        pool=np.full((slots, 2, pool), -1, np.int64),
    )
    work.scalar[:, WIDTH] = 1
    work.scalar[:, LAST_CANDIDATE] = n
    work.flag[:, CERTAIN] = 1
    work.feature[:, FEATURE_ORDER, :p] = np.arange(p)
    work.feature[:, OFFSET, 1:] = np.cumsum(n_ranks)
    return work
