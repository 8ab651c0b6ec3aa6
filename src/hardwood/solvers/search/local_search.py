"""Good trees early: greedy starts, then exact re-optimisation of subtrees.

Fix a tree except for the subtree below one node. Samples that reach a wrong leaf elsewhere are lost whatever the
subtree does, so they have weight 0 in it; the best subtree of depth at most 2 for the others is found exactly. Doing
this for one node after the other never makes the tree worse, and it is repeated until nothing improves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hardwood.solvers.relabel import relabel
from hardwood.solvers.run import Run
from hardwood.solvers.search.model import SearchModel

if TYPE_CHECKING:
    from hardwood.kernels.search_state import Data

Heap = NDArray[np.int32]

EFFORT = 200_000_000
"""Random restarts end when so many end points were looked at, about a second."""


class LocalSearch:
    """Subtree re-optimisation on the kernels of depth 2; deterministic for a ``random_state``."""

    def __init__(self, model: SearchModel, data: Data, run: Run) -> None:
        self.model = model
        self.data = data
        self.run = run
        self.depth = model.problem.max_depth
        self.work = model.work(data, 2)
        self.random = np.random.default_rng(run.random_state)

    def improve(self) -> None:
        """Report the best trees found from greedy starts, from the optimum of depth 2 and from random roots."""
        if self.depth == 2:
            # The search itself is as fast as one re-optimisation.
            return
        for start in self._starts():
            if self.run.should_stop():
                return
            self._descend(start)
        restarts = self.run.options["restarts"]
        for _ in range(2 * (self.depth - 2) ** 2 if restarts is None else restarts):
            if self.run.should_stop() or self._effort() > EFFORT:
                return
            self._descend(self._random_root())

    def _effort(self) -> int:
        """Return how many end points were looked at: a clock that does not depend on the machine."""
        from hardwood.kernels.search_state import SCANS

        return int(self.work.scalar[1, SCANS]) * self.model.n

    def _starts(self) -> list[Heap]:
        """Return what is known already and greedy trees of every depth, with the best labels for their splits."""
        from hardwood.solvers.greedy import GreedyLearner

        problem = self.model.problem
        starts = [] if self.run.best_index_tree is None else [self.run.best_index_tree]
        greedy = GreedyLearner()
        starts += [greedy.grow(problem.replace(max_depth=d), self.random) for d in range(1, self.depth + 1)]
        return [self.model.to_heap(relabel(tree, problem)) for tree in starts]

    def _random_root(self) -> Heap:
        """Return a split on a random end point, with empty children that the descent fills."""
        heap = np.zeros((2 << self.depth, 4), np.int32)
        heap[:, 0] = -1
        feature = int(self.random.integers(self.model.problem.n_features))
        sample = int(self.random.integers(self.model.n))
        last = int(self.model.problem.n_ranks[feature]) - 2
        heap[1, :2] = feature, min(max(0, int(self.model.rank[1, feature, sample])), max(0, last))
        return heap

    def _descend(self, heap: Heap) -> None:
        """Re-optimise the subtrees of depth at most 2, lowest level last, until none improves."""
        cost = self._cost(heap)
        if cost < self.model.forbidden:
            self.run.report(self.model.to_tree(heap))
        improved = True
        while improved:
            improved = False
            for level in range(max(0, self.depth - 2), -1, -1):
                for h in range(1 << level, 2 << level):
                    if self.run.should_stop():
                        return
                    if (level < self.depth - 2 and heap[h, 0] >= 0) or not self._is_node(heap, h):
                        continue
                    new = self._replace(heap, h)
                    if new is not None and self._cost(new) < cost:
                        heap, cost, improved = new, self._cost(new), True
                        self.run.report(self.model.to_tree(heap))

    def _is_node(self, heap: Heap, h: int) -> bool:
        while h > 1:
            h //= 2
            if heap[h, 0] < 0:
                return False
        return True

    def _reach(self, heap: Heap) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return matrices (heap, n): which samples reach a node, and which of them leave the path to no other."""
        reached = np.zeros((len(heap), self.model.n), dtype=bool)
        certain = np.zeros_like(reached)
        reached[1] = certain[1] = True
        for h in range(1, len(heap) // 2):
            j, t = heap[h, 0], heap[h, 1]
            if j >= 0 and reached[h].any():
                left, right = self.model.rank[0, j] <= t, self.model.rank[1, j] > t
                reached[2 * h], reached[2 * h + 1] = reached[h] & left, reached[h] & right
                certain[2 * h], certain[2 * h + 1] = certain[h] & ~right, certain[h] & ~left
        return reached, certain

    def _leaves(self, heap: Heap) -> list[int]:
        return [h for h in range(1, len(heap)) if heap[h, 0] < 0 and self._is_node(heap, h)]

    def _cost(self, heap: Heap) -> int:
        """Cost in kernel units; more than any tree may cost if a leaf is too small."""
        reached, certain = self._reach(heap)
        lost = np.zeros(self.model.n, dtype=bool)
        leaves = self._leaves(heap)
        for h in leaves:
            lost |= reached[h] & (self.model.label != heap[h, 2])
            small = self.model.count[certain[h]].sum() < self.model.problem.min_samples_leaf
            if small and len(leaves) > 1:
                return self.model.forbidden
        return int(self.model.weight[lost].sum()) + self.model.penalty * len(leaves)

    def _replace(self, heap: Heap, h: int) -> Heap | None:
        """Solve the subtree below node `h` exactly, given the rest of the tree."""
        from hardwood.kernels import search, search_state

        reached, certain = self._reach(heap)
        lost = np.zeros(self.model.n, dtype=bool)
        for leaf in self._leaves(heap):
            inside = leaf >> max(0, leaf.bit_length() - h.bit_length()) == h
            if not inside:
                lost |= reached[leaf] & (self.model.label != heap[leaf, 2])
        weight = np.where(reached[h] & ~lost, self.model.weight, 0)
        self.work.flag[1, search_state.CERTAIN] = certain[h]
        member = (weight > 0) | (reached[h] & (self.model.problem.min_samples_leaf > 0))
        best, label = search.open_root(self.data, self.work, self.model.events, weight, member.astype(np.uint8), 2)
        subtree = np.full((8, 4), -1, np.int32)
        subtree[1, 2] = label
        if h == 1:
            best = min(best, self.model.forbidden)
        for feature in range(self.model.problem.n_features):
            position = 0
            while best > 0:
                cost, position = search.sweep_root(self.data, self.work, 2, feature, best, position)
                if cost >= best:
                    break
                best = cost
                subtree = self.work.tree[1, search_state.CURRENT].copy()
        if best >= self.model.forbidden:
            return None
        new = heap.copy()
        for node in range(1, 8):
            level = node.bit_length() - 1
            target = (h << level) + node - (1 << level)
            if target < len(new):
                new[target] = subtree[node]
        return new
