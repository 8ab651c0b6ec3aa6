"""Which training samples reach which leaves, summed up: what probabilities, importances and plots are made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hardwood import _core
from hardwood.arrays import BoolArray, FloatArray, IntArray
from hardwood.problem.boxes import Reach
from hardwood.problem.problem import Problem
from hardwood.tree.tree import Tree

_CHUNK = 1 << 16


@dataclass(frozen=True, eq=False)
class LeafStatistics:
    """Samples of one class that reach the same leaves, as groups.

    Attributes
    ----------
    tree : Tree
    reached : bool array of shape (n_groups, n_nodes)
        Which nodes the boxes of the group reach.
    label : int array of shape (n_groups,)
        Class index.
    weight : float array of shape (n_groups,)
        Total weight of the samples.
    count : int array of shape (n_groups,)
        Number of samples.
    """

    tree: Tree
    reached: BoolArray
    label: IntArray
    weight: FloatArray
    count: IntArray

    @classmethod
    def of(cls, tree: Tree, problem: Problem) -> LeafStatistics:
        """Sum up the samples of a problem."""
        return cls.of_reach(tree, problem.reach, problem.label, problem.weight)

    @classmethod
    def of_reach(cls, tree: Tree, reach: Reach, label: IntArray, weight: FloatArray) -> LeafStatistics:
        """Sum up samples given by what makes their boxes, class indices and weights."""
        sums: dict[bytes, tuple[float, int]] = {}
        for start in range(0, len(label), _CHUNK):
            part = slice(start, start + _CHUNK)
            boxes = reach.take(part).arrays
            reached = _core.reached_nodes_under_attack(tree.feature, tree.threshold, tree.left, tree.right, *boxes)
            label_bytes = label[part].astype("<i8").view(np.uint8).reshape(len(reached), 8)
            key = np.ascontiguousarray(np.concatenate([label_bytes, np.packbits(reached, axis=1)], axis=1))
            found, group = np.unique(key.view(f"V{key.shape[1]}")[:, 0], return_inverse=True)
            group_weight = np.bincount(group, weight[part], len(found))
            count = np.bincount(group, minlength=len(found))
            for code, w, n in zip(found.tolist(), group_weight.tolist(), count.tolist(), strict=True):
                before = sums.get(code, (0.0, 0))
                sums[code] = (before[0] + w, before[1] + n)
        codes = np.frombuffer(b"".join(sums), np.uint8).reshape(len(sums), -1)
        return cls(
            tree,
            np.unpackbits(codes[:, 8:], axis=1, count=tree.n_nodes).astype(bool),
            np.ascontiguousarray(codes[:, :8]).view("<i8")[:, 0].astype(np.int64),
            np.array([w for w, _ in sums.values()]),
            np.array([n for _, n in sums.values()], dtype=np.int64),
        )

    @property
    def _is_leaf(self) -> BoolArray:
        return self.tree.left < 0

    @property
    def is_lost(self) -> BoolArray:
        """Whether each group reaches a leaf of another class."""
        wrong = self._is_leaf & (self.tree.label != self.label[:, None])
        return np.asarray((self.reached & wrong).any(axis=1))

    def certain_weight(self) -> FloatArray:
        """Return the weight by node and class of the samples that reach the node for certain.

        A sample reaches a leaf for certain if its box reaches no other leaf, and the nodes above that leaf with it.
        """
        is_certain = self.reached[:, self._is_leaf].sum(axis=1) == 1
        total = np.zeros((self.tree.n_nodes, len(self.tree.classes)))
        for reached, label, weight in zip(
            self.reached[is_certain], self.label[is_certain], self.weight[is_certain], strict=True
        ):
            total[reached, label] += weight
        return total

    def reaching_weight(self, *, lost: bool) -> FloatArray:
        """Return, by node, the weight of the samples that can reach it and are lost, or not, to the attacker."""
        chosen = self.is_lost if lost else ~self.is_lost
        return np.asarray(self.weight[chosen] @ self.reached[chosen], dtype=np.float64)

    def reaching_count(self) -> IntArray:
        """Return, by node, how many samples can reach it."""
        return np.asarray(self.count @ self.reached, dtype=np.int64)

    def importances(self) -> FloatArray:
        """Return how much robust error each feature saves, as shares of the sum.

        A split counts for the weight that would be lost in addition if the split and all below it were replaced by the
        one best answer; where an answer that saves errors exists, which a learner without a proof may miss, it counts
        for nothing.
        """
        tree = self.tree
        wrong = self._is_leaf & (tree.label != self.label[:, None])
        now = float(self.weight[self.is_lost].sum())
        saved = np.zeros(tree.n_features)
        for node in np.flatnonzero(~self._is_leaf):
            below = self._below(int(node))
            lost_elsewhere = (self.reached & wrong & ~below).any(axis=1)
            reaches = self.reached[:, node]
            collapsed = min(
                float(self.weight[lost_elsewhere | (reaches & (self.label != answer))].sum())
                for answer in range(len(tree.classes))
            )
            saved[tree.feature[node]] += max(0.0, collapsed - now)
        total = saved.sum()
        return saved / total if total > 0 else saved

    def _below(self, node: int) -> BoolArray:
        inside = np.zeros(self.tree.n_nodes, dtype=bool)
        inside[node] = True
        for split in np.flatnonzero(~self._is_leaf):
            if inside[split]:
                inside[[self.tree.left[split], self.tree.right[split]]] = True
        return inside


def class_shares(certain_weight: FloatArray, tree: Tree, laplace: float) -> FloatArray:
    """Return class probabilities by node: ``(w_c + a) / (sum_c w_c + a K)`` with the certain weight w, ``a = laplace``.

    A node that no sample reaches for certain gets the class of its leaf where ``a = 0``.
    """
    weight: FloatArray = certain_weight + laplace
    total = weight.sum(axis=1, keepdims=True)
    empty = total[:, 0] == 0
    shares: FloatArray = np.divide(weight, total, out=np.zeros_like(weight), where=total > 0)
    shares[empty & (tree.label >= 0), tree.label[empty & (tree.label >= 0)]] = 1.0
    return shares
