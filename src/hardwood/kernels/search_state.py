"""The arrays that the exact search works on: one allocation before the search, none inside it.

A *slot* is one node of the recursion in heap order: slot 1 is the root of the tree that is sought, slots
``2 s`` and ``2 s + 1`` are the left and right child problems of slot ``s``. Trees are stored in heap order too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Int = npt.NDArray[np.int64]
Rank = npt.NDArray[np.int32]
Index = npt.NDArray[np.uint32]
Byte = npt.NDArray[np.uint8]
Float32 = npt.NDArray[np.float32]

# What became of a range of thresholds.
PRUNED = 0
FOUND = 1
UNDECIDED = 2

# Marks on a sample while a gap is closed by branching.
FREE = 0
MUST_BE_CORRECT = 1
GIVEN_UP = 2

# Positions in `Data.rules`.
N_CLASSES = 0
MIN_LEAF = 1
PENALTY = 2
FORBIDDEN = 3
GENERAL = 4
ROUNDS = 5
INTERVAL_ROUNDS = 6
DEEP_ROUNDS = 7
DEEP_INTERVAL_ROUNDS = 8
ASCENT_STEPS = 9
USE_MEMORY = 10
USE_INTERVALS = 11
USE_POOL = 12
USE_LAZY_SCAN = 13
USE_CARRY = 14
FIRST_TREE = 15
N_RULES = 16

# Positions in `Data.shared`.
STOP = 0
CUTOFF = 1

# Positions in `Work.stats`, one row per depth of the node.
NODES = 0
EVALUATIONS = 1
ROUNDS_DONE = 2
SCANS = 3
CHILD_SOLVES = 4
BRANCHES = 5
SKIPPED = 6
REFUTED_BY_MEMORY = 7
N_STATS = 8


class Data(NamedTuple):
    """What the search is about; never written, except `shared`."""

    lower: Rank  # (p, n) ranks of the lower ends of the boxes
    upper: Rank  # (p, n)
    label: Int  # (n,)
    count: Int  # (n,) how many equal samples were merged into this one
    offset: Int  # (p + 1,) where the thresholds of a feature start in `Work.memory`
    rules: Int
    shared: Int  # stop flag and cutoff, seen by all threads


class Work(NamedTuple):
    """What the search writes; every thread has its own."""

    size: Int  # (slots,) samples at the slot
    ids: Index  # (slots, n)
    events: Index  # (slots, p, 2 n) end points in order; see `search_node`
    n_candidates: Int  # (slots, p)
    candidate: Rank  # (slots, p, n) undominated thresholds
    cell: Rank  # (slots, p, n) first threshold that the candidate dominates
    weight: Int  # (slots, n), zero outside the slot
    memory_weight: Int  # (slots, n) the weights for which `memory` holds
    memory: Int  # (slots, all thresholds) lower bounds, shifted by `memory_shift`
    memory_shift: Int  # (slots,)
    share: Float32  # (slots, p, n) share of a sample's weight that the left child charges
    side: Int  # (slots, 2, n) weight in the left and right child; signed by class for two classes
    certain: Byte  # (slots, n) the sample reaches no other slot of this depth
    side_count: Int  # (slots, 2, n) samples that certainly reach the child
    total: Int  # (slots, 2, classes) weight per class in the two children
    n_certain: Int  # (slots, 2)
    feature_bound: Int  # (slots, 2, p + 1) lower bound of the best stump per feature, last: leaf
    feature_exact: Byte  # (slots, 2, p + 1)
    mark: Byte  # (slots, n) FREE, MUST_BE_CORRECT, GIVEN_UP
    reach: Byte  # (slots, n) 1: left, 2: right, 3: both
    wrong: Byte  # (slots, n) 1: lost by the left child's tree, 2: by the right one's
    branch: Int  # (slots, n) samples on the branching stack
    active: Int  # (slots, n) candidates that memory does not rule out
    n_active: Int  # (slots,)
    width: Int  # (slots,) how many candidates are tried at once
    feature_order: Int  # (slots, p) the feature of the last improvement first
    tree: Rank  # (slots, heap, 3) feature (-1: leaf), threshold, label
    best_tree: Rank  # (slots, heap, 3)
    reached: Byte  # (heap,) scratch
    member: Byte  # (n,) scratch
    pool_tree: Rank  # (slots, pool, heap, 3)
    pool_wrong: Byte  # (slots, pool, n)
    pool_leaves: Int  # (slots, pool)
    pool_age: Int  # (slots, pool), -1: empty
    running: Int  # (2, classes) scratch of the general scan
    stats: Int  # (depths, N_STATS)


def allocate(n_samples: int, n_features: int, n_classes: int, n_ranks: Int, depth: int, pool: int) -> Work:
    """Work space for trees of at most `depth` splits on a path (at least 2)."""
    slots = 1 << (depth - 1)
    heap = 1 << (depth + 1)
    n, p = n_samples, n_features
    if depth == 2:
        pool = 1
    return Work(
        size=np.zeros(slots, np.int64),
        ids=np.zeros((slots, n), np.uint32),
        events=np.zeros((slots, p, 2 * n), np.uint32),
        n_candidates=np.zeros((slots, p), np.int64),
        candidate=np.zeros((slots, p, n), np.int32),
        cell=np.zeros((slots, p, n), np.int32),
        weight=np.zeros((slots, n), np.int64),
        memory_weight=np.zeros((slots, n), np.int64),
        memory=np.zeros((slots, int(n_ranks.sum()) + p), np.int64),
        memory_shift=np.zeros(slots, np.int64),
        share=np.full((slots, p, n), 0.5, np.float32),
        side=np.zeros((slots, 2, n), np.int64),
        certain=np.ones((slots, n), np.uint8),
        side_count=np.zeros((slots, 2, n), np.int64),
        total=np.zeros((slots, 2, n_classes), np.int64),
        n_certain=np.zeros((slots, 2), np.int64),
        feature_bound=np.zeros((slots, 2, p + 1), np.int64),
        feature_exact=np.zeros((slots, 2, p + 1), np.uint8),
        mark=np.zeros((slots, n), np.uint8),
        reach=np.zeros((slots, n), np.uint8),
        wrong=np.zeros((slots, n), np.uint8),
        branch=np.zeros((slots, n), np.int64),
        active=np.zeros((slots, n), np.int64),
        n_active=np.zeros(slots, np.int64),
        width=np.ones(slots, np.int64),
        feature_order=np.tile(np.arange(p, dtype=np.int64), (slots, 1)),
        tree=np.zeros((slots, heap, 3), np.int32),
        best_tree=np.zeros((slots, heap, 3), np.int32),
        reached=np.zeros(heap, np.uint8),
        member=np.zeros(n, np.uint8),
        pool_tree=np.zeros((slots, pool, heap, 3), np.int32),
        pool_wrong=np.zeros((slots, pool, n), np.uint8),
        pool_leaves=np.zeros((slots, pool), np.int64),
        pool_age=np.full((slots, pool), -1, np.int64),
        running=np.zeros((2, n_classes), np.int64),
        stats=np.zeros((depth + 1, N_STATS), np.int64),
    )
