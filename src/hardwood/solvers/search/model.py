"""A problem as the search kernels see it: merged samples, whole-number weights, ordered end points."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, gcd, log2
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardwood.arrays import IntArray
from hardwood.errors import InvalidInputError
from hardwood.problem.problem import Problem
from hardwood.tree.tree import IndexTree

if TYPE_CHECKING:
    from hardwood.kernels.search_state import Data, Work


LARGEST = 2**62
"""No sum inside the kernels may reach this."""

FINEST = 2**16
"""Parts into which a unit of weight is divided, so that it can be shared between children."""

POOL = 32
"""Trees that a child problem remembers."""


@dataclass(frozen=True, eq=False)
class SearchModel:
    """Samples with equal box and class are one sample with the summed weight; weights are scaled to integers.

    Attributes
    ----------
    rank : int32 array of shape (2, n_features, n)
        Ranks of the lower and the upper ends of the merged boxes.
    label, count, weight : int64 array of shape (n,)
    events : uint32 array of shape (n_features, 2 n)
        ``2 sample + kind`` in the order of (rank, kind), kind 0: lower end, 1: upper end.
    scale : float
        Kernel units per unit of the objective.
    step : int
        Costs of trees are multiples of this many kernel units.
    penalty : int
        Cost of a leaf in kernel units.
    forbidden : int
        More than any tree costs.
    """

    problem: Problem
    rank: NDArray[np.int32]
    label: IntArray
    count: IntArray
    weight: IntArray
    events: NDArray[np.uint32]
    scale: float
    step: int
    penalty: int
    forbidden: int

    @classmethod
    def of(cls, problem: Problem) -> SearchModel:
        """Merge, order and scale; raise if the weights are too large or too uneven for exact arithmetic."""
        key = np.concatenate([problem.lower_rank, problem.upper_rank, problem.label[:, None]], axis=1)
        unique, group = np.unique(key, axis=0, return_inverse=True)
        group = group.reshape(-1)
        p = problem.n_features
        n = len(unique)
        rank = np.ascontiguousarray(np.stack([unique[:, :p].T, unique[:, p : 2 * p].T]), dtype=np.int32)
        weight = np.bincount(group, problem.weight, n)
        n_leaves = 2 ** min(problem.max_depth, 40)
        total = float(weight.sum()) + problem.leaf_penalty * min(n_leaves, n + 1)
        # The largest sum: every sample marked as one that must not be lost.
        room = LARGEST / (n + 2)
        if problem.has_integer_weights:
            if total >= min(room, 2**53):
                raise InvalidInputError(
                    f"the weights sum to {total:g}, too much for exact arithmetic with {n} samples; divide them"
                )
            whole = weight.astype(np.int64)
            unit = gcd(int(np.gcd.reduce(whole)), int(problem.leaf_penalty))
            parts = int(min(FINEST, 2 ** floor(log2(room * unit / total))))
            scaled, penalty = whole // unit * parts, int(problem.leaf_penalty) // unit * parts
            scale, step = parts / unit, parts
        else:
            # Rounded down, so that a bound on the scaled cost is a bound on the true one.
            scale, step = 2.0 ** floor(log2(min(room, 2**52) / total)), 1
            scaled, penalty = np.floor(weight * scale).astype(np.int64), floor(problem.leaf_penalty * scale)
        events = np.empty((p, 2 * n), np.uint32)
        code = np.arange(2 * n) % n * 2 + np.repeat([0, 1], n)
        for j in range(p):
            order = np.lexsort((code & 1, np.concatenate([rank[0, j], rank[1, j]])))
            events[j] = code[order]
        return cls(
            problem=problem,
            rank=rank,
            label=unique[:, -1].astype(np.int64),
            count=np.bincount(group, minlength=n).astype(np.int64),
            weight=scaled,
            events=events,
            scale=scale,
            step=step,
            penalty=penalty,
            forbidden=int(scaled.sum()) + penalty * min(n_leaves, n + 1) + 1,
        )

    @property
    def n(self) -> int:
        """Number of merged samples."""
        return len(self.label)

    def data(self, options: dict[str, Any]) -> Data:
        """Return the arrays that the kernels read, with the options of the search."""
        from hardwood.kernels import search_state as state

        control = np.zeros(state.N_CONTROL, np.int64)
        control[state.MIN_LEAF] = self.problem.min_samples_leaf
        control[state.PENALTY] = self.penalty
        control[state.FORBIDDEN] = self.forbidden
        control[state.GENERAL] = self.problem.n_classes != 2 or self.problem.min_samples_leaf > 0
        for name, value in options.items():
            control[getattr(state, name.upper())] = value
        return state.Data(self.rank, np.stack([self.label, self.count]), control)

    def work(self, data: Data, depth: int) -> Work:
        """Return work space for one thread."""
        from hardwood.kernels import search_state as state

        return state.allocate(data, self.problem.n_classes, self.problem.n_ranks, depth, POOL)

    def to_tree(self, heap: NDArray[np.int32]) -> IndexTree:
        """Turn a tree of the kernels into an index tree."""

        def nested(h: int) -> Any:
            if heap[h, 0] < 0:
                return int(heap[h, 2])
            return (int(heap[h, 0]), int(heap[h, 1]), nested(2 * h), nested(2 * h + 1))

        return IndexTree.from_nested(nested(1))

    def to_heap(self, tree: IndexTree) -> NDArray[np.int32]:
        """Turn an index tree into a tree of the kernels, with room for `max_depth` levels of splits."""
        heap = np.zeros((2 << self.problem.max_depth, 4), np.int32)
        heap[:, 0] = -1
        stack = [(0, 1)]
        while stack:
            node, h = stack.pop()
            if tree.left[node] < 0:
                heap[h, 2] = tree.label[node]
            else:
                heap[h, :2] = tree.feature[node], tree.index[node]
                stack += [(int(tree.left[node]), 2 * h), (int(tree.right[node]), 2 * h + 1)]
        return heap


def best_stump(model: SearchModel) -> tuple[int, NDArray[np.int32]]:
    """Best tree with at most one split: its cost in kernel units and the tree as a heap.

    With a the label of the left leaf, c of the right one and t the threshold, the weight that is right is
    ``sum_{y = a} w [upper <= t] + sum_{y = c} w [lower > t]``.
    """
    problem = model.problem
    k = problem.n_classes
    totals = np.array([model.weight[model.label == c].sum() for c in range(k)], dtype=np.int64)
    everything = int(totals.sum())
    heap = np.full((4, 4), -1, np.int32)
    heap[1, 2] = int(np.argmax(totals))
    best = everything - int(totals.max()) + model.penalty
    for j in range(problem.n_features):
        n_cuts = int(problem.n_ranks[j]) - 1
        if n_cuts < 1:
            continue
        left, right = np.zeros((k, n_cuts), np.int64), np.zeros((k, n_cuts), np.int64)
        lower, upper = model.rank[0, j], model.rank[1, j]
        n_left = np.cumsum(np.bincount(upper, model.count, n_cuts + 2)[:n_cuts])
        n_reach_left = np.cumsum(np.bincount(lower + 1, model.count, n_cuts + 2))[1 : n_cuts + 1]
        allowed = n_left >= problem.min_samples_leaf
        allowed &= problem.n_samples - n_reach_left >= problem.min_samples_leaf
        for c in range(k):
            of_class = model.label == c
            np.add.at(left[c], upper[of_class & (upper < n_cuts)], model.weight[of_class & (upper < n_cuts)])
            reaching = of_class & (lower < n_cuts)
            np.add.at(right[c], np.maximum(lower[reaching], 0), -model.weight[reaching])
        left = np.cumsum(left, axis=1)
        right = totals[:, None] + np.cumsum(right, axis=1)
        for a in range(k):
            for c in range(k):
                if a == c or not allowed.any():
                    continue
                got = np.where(allowed, left[a] + right[c], -1)
                t = int(np.argmax(got))
                if everything - int(got[t]) + 2 * model.penalty < best:
                    best = everything - int(got[t]) + 2 * model.penalty
                    heap[1], heap[2, 2], heap[3, 2] = (j, t, -1, 0), a, c
                    heap[2:, 0] = -1
    return best, heap
