"""Which training samples reach which nodes, summed up: what probabilities, importances and plots are made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hardwood import _core
from hardwood.arrays import BoolArray, FloatArray, IntArray
from hardwood.problem.boxes import Reach
from hardwood.problem.problem import Problem
from hardwood.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class NodeStatistics:
    """What samples under attack add up to at the nodes of a tree.

    A sample is lost if its box reaches a leaf of another class. It reaches a leaf for certain if it reaches no other
    one, and the nodes above that leaf with it. Samples of no class that the tree knows are lost, and counted by node
    alone.

    Attributes
    ----------
    tree : Tree
    certain : float array of shape (n_nodes, n_classes)
        Weight of the samples that reach the node for certain.
    kept : float array of shape (n_nodes, n_classes)
        Weight of the samples that can reach the node and are not lost.
    lost_below : float array of shape (n_nodes, n_classes)
        Weight of the lost samples all of whose wrong leaves are the node or lie below it.
    lost : float array of shape (n_nodes,)
        Weight of the samples that can reach the node and are lost, there or elsewhere.
    count : int array of shape (n_nodes,)
        How many samples can reach the node.
    """

    tree: Tree
    certain: FloatArray
    kept: FloatArray
    lost_below: FloatArray
    lost: FloatArray
    count: IntArray

    @classmethod
    def of(cls, tree: Tree, problem: Problem) -> NodeStatistics:
        """Sum up the samples of a problem."""
        return cls.of_reach(tree, problem.reach, problem.label, problem.weight)

    @classmethod
    def of_reach(cls, tree: Tree, reach: Reach, label: IntArray, weight: FloatArray) -> NodeStatistics:
        """Sum up samples given by what makes their boxes, class indices and weights."""
        sums = _core.node_sums(
            tree.feature, tree.threshold, tree.left, tree.right, tree.label, *reach.arrays, label, weight,
            len(tree.classes),
        )  # fmt: skip
        return cls(tree, *sums)

    @property
    def reaching(self) -> FloatArray:
        """By node, the weight of the samples that can reach it."""
        return np.asarray(self.kept.sum(axis=1) + self.lost)

    def importances(self) -> FloatArray:
        """Return how much robust error each feature saves, as shares of the sum.

        A split counts for the weight that would be lost in addition if the split and all below it were replaced by the
        one best answer; where an answer that saves errors exists, which a learner without a proof may miss, it counts
        for nothing.

        With K the weight by class that is kept and reaches the split, and L that of the lost samples all of whose
        wrong leaves lie below it, answer a loses K and L of all other classes, and L is what is lost now. Who has a
        wrong leaf elsewhere is lost in either case.
        """
        would_reach = self.kept + self.lost_below
        lost_with_best_answer = would_reach.sum(axis=1) - would_reach.max(axis=1)
        by_node = np.maximum(0.0, lost_with_best_answer - self.lost_below.sum(axis=1))
        is_split = self.tree.left >= 0
        saved = np.bincount(self.tree.feature[is_split], by_node[is_split], self.tree.n_features).astype(np.float64)
        total = saved.sum()
        return saved / total if total > 0 else saved


def heavier_sides(tree: Tree, problem: Problem) -> BoolArray:
    """Return, for each split, whether no less weight of samples certainly goes left than right there.

    Who can go to both sides counts for both, so that it makes no difference. Classes do not matter: the leaves may have
    others than the samples.
    """
    all_alike = np.zeros(problem.n_samples, np.int64)
    reaching = NodeStatistics.of_reach(tree, problem.reach, all_alike, problem.weight).reaching
    is_split = tree.left >= 0
    answer = np.zeros(tree.n_nodes, dtype=bool)
    answer[is_split] = reaching[tree.left[is_split]] >= reaching[tree.right[is_split]]
    return answer


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
