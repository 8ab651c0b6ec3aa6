"""The best labels for a tree whose splits are fixed.

A sample is robustly right iff all leaves that its box reaches carry its class. With two classes, the labels that lose
the least weight are a minimum cut (a project selection problem; Picard, "Maximal Closure of a Graph", 1976): a class-1
sample ties its leaves to the source, a class-0 sample ties them to the sink, and each costs its weight to be cut off.
Samples with the same class and the same leaves are one. With more classes the same cut finds the best way to give one
class to more leaves (an expansion move; Boykov, Veksler & Zabih, "Fast Approximate Energy Minimization via Graph Cuts",
2001); moves are made until none helps, and a branch and bound over the labels of the leaves then looks for what the
moves missed, to its end where the tree is small.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import overload

import numpy as np
from numpy.typing import NDArray

from hardwood.arrays import BoolArray, FloatArray, IntArray
from hardwood.errors import InvalidInputError
from hardwood.problem.problem import Problem
from hardwood.tree.reach import to_indices
from hardwood.tree.tree import IndexTree, Tree

MOST_STEPS = 50_000_000
"""How many elementary steps the branch and bound over leaf labels may take."""


@overload
def relabel(tree: Tree, problem: Problem) -> Tree: ...
@overload
def relabel(tree: IndexTree, problem: Problem) -> IndexTree: ...
def relabel(tree: Tree | IndexTree, problem: Problem) -> Tree | IndexTree:
    """Return the tree with the leaf labels that lose the least weight of the problem's samples.

    Parameters
    ----------
    tree : Tree or IndexTree
        Any tree over the features of the problem; for one that was learned elsewhere see
        `hardwood.export.libraries.from_sklearn`. Its splits stay as they are.
    problem : Problem
        Boxes, labels and weights that count; its depth does not matter.

    Returns
    -------
    tree of the same kind
        Never worse than the given one; optimal for two classes, and for more if the tree is small. Leaves that no
        sample reaches, and all leaves where nothing better exists, keep their labels. A `Tree` comes back in the
        classes of the problem.
    """
    if isinstance(tree, Tree):
        if tree.n_features != problem.n_features:
            raise InvalidInputError(f"the tree is for {tree.n_features} features, the data has {problem.n_features}")
        label = to_indices(tree, problem).label if not np.array_equal(tree.classes, problem.classes) else tree.label
        groups = Groups.of(tree, tree.threshold, problem.lower, problem.upper, problem)
        return replace(tree, label=_with_labels(label, tree, groups, problem), classes=problem.classes)
    groups = Groups.of(tree, tree.index, problem.lower_rank, problem.upper_rank, problem)
    return replace(tree, label=_with_labels(tree.label, tree, groups, problem))


def _with_labels(label: IntArray, tree: Tree | IndexTree, groups: Groups, problem: Problem) -> IntArray:
    leaves = np.flatnonzero(tree.left < 0)
    old = label[leaves]
    if problem.n_classes == 2:
        # From a tree that always answers 0, one expansion of class 1 is the whole minimum cut.
        found = [groups.expand(np.zeros_like(old), 1)]
    else:
        heaviest = np.full_like(old, int(np.argmax(problem.class_weight_sums)))
        found = [groups.expand_all(start, problem.n_classes) for start in (old, groups.heaviest_by_leaf(), heaviest)]
        found.append(groups.search(min(found, key=groups.cost)))
    new = min(found, key=groups.cost)
    if not groups.cost(new) < groups.cost(old):
        return label
    result = label.copy()
    result[leaves] = np.where(groups.is_reached, new, old)
    return result


@dataclass(frozen=True, eq=False)
class Groups:
    """Samples of one class that reach the same leaves, taken together.

    Attributes
    ----------
    label : int array of shape (n_groups,)
    weight : float array of shape (n_groups,)
    group, leaf : int array of shape (n_pairs,)
        Which group reaches which leaf, sorted by group.
    n_leaves, n_classes : int
    """

    label: IntArray
    weight: FloatArray
    group: IntArray
    leaf: IntArray
    n_leaves: int
    n_classes: int

    @classmethod
    def of(
        cls,
        tree: Tree | IndexTree,
        threshold: NDArray[np.float64] | IntArray,
        lower: NDArray[np.float64] | NDArray[np.int32],
        upper: NDArray[np.float64] | NDArray[np.int32],
        problem: Problem,
    ) -> Groups:
        """Find the groups of a problem's samples; thresholds and boxes are both numbers or both ranks."""
        from hardwood.kernels import relabel as kernel

        is_leaf = tree.left < 0
        n_leaves = int(is_leaf.sum())
        mask = np.empty((problem.n_samples, -(-n_leaves // 64)), np.uint64)
        can_left, can_right = _possible_sides(tree, threshold)
        number = np.cumsum(is_leaf) - 1
        kernel.reached_leaves(
            tree.feature, threshold, tree.left, tree.right, can_left, can_right, number, lower, upper, mask
        )
        labels, weights, masks = [], [], []
        for c in range(problem.n_classes):
            members = (problem.label == c) & (problem.weight > 0)
            if mask.shape[1] == 1:
                unique, inverse = np.unique(mask[members, 0], return_inverse=True)
                unique = unique[:, None]
            else:
                unique, inverse = np.unique(mask[members], axis=0, return_inverse=True)
            labels.append(np.full(len(unique), c))
            weights.append(np.bincount(inverse.ravel(), problem.weight[members], len(unique)))
            masks.append(unique)
        bits = np.unpackbits(
            np.ascontiguousarray(np.concatenate(masks)).astype("<u8").view(np.uint8), axis=1, bitorder="little"
        )
        group, leaf = np.nonzero(bits[:, :n_leaves])
        return cls(
            np.concatenate(labels).astype(np.int64),
            np.concatenate(weights),
            group.astype(np.int64),
            leaf.astype(np.int64),
            n_leaves,
            problem.n_classes,
        )

    @property
    def is_reached(self) -> BoolArray:
        """Whether any group reaches each leaf."""
        return np.bincount(self.leaf, minlength=self.n_leaves) > 0

    def lost(self, label: IntArray) -> BoolArray:
        """Return which groups reach a leaf of another class under these leaf labels."""
        wrong = label[self.leaf] != self.label[self.group]
        return np.bincount(self.group[wrong], minlength=len(self.label)) > 0

    def cost(self, label: IntArray) -> float:
        """Weight of the lost groups."""
        return float(self.weight[self.lost(label)].sum())

    def heaviest_by_leaf(self) -> IntArray:
        """Return the class with the most weight at each leaf."""
        table = np.zeros((self.n_leaves, self.n_classes))
        np.add.at(table, (self.leaf, self.label[self.group]), self.weight[self.group])
        return np.asarray(table.argmax(axis=1), dtype=np.int64)

    def expand(self, label: IntArray, alpha: int) -> IntArray:
        """Give class `alpha` to those leaves for which it lowers the cost the most; a minimum cut.

        Groups of class `alpha` want all their leaves to change; groups that are right now want none of theirs to.
        """
        from hardwood.kernels import relabel as kernel

        wants_change = self.label == alpha
        is_involved = wants_change | ~self.lost(label)
        may_change = label[self.leaf] != alpha
        pair = is_involved[self.group] & may_change
        group, leaf = self.group[pair], self.leaf[pair]
        source, sink = self.n_leaves, self.n_leaves + 1
        node = self.n_leaves + 2 + group
        gains = wants_change[group]
        involved = np.unique(group)
        at_group = self.n_leaves + 2 + involved
        from_source = wants_change[involved]
        tail = np.concatenate([np.where(gains, node, leaf), np.where(from_source, source, at_group)])
        head = np.concatenate([np.where(gains, leaf, node), np.where(from_source, at_group, sink)])
        unbreakable = 1.0 + 2.0 * float(self.weight.sum())
        capacity = np.concatenate([np.full(len(group), unbreakable), self.weight[involved]])
        n_nodes = self.n_leaves + 2 + len(self.label)
        source_side = np.empty(n_nodes, bool)
        kernel.minimum_cut(n_nodes, source, sink, tail, head, capacity, source_side)
        return np.where(source_side[: self.n_leaves], alpha, label)

    def expand_all(self, label: IntArray, n_classes: int) -> IntArray:
        """Make expansion moves, class by class, until none of them lowers the cost."""
        cost = self.cost(label)
        since_improved = alpha = 0
        while since_improved < n_classes:
            moved = self.expand(label, alpha)
            moved_cost = self.cost(moved)
            since_improved += 1
            if moved_cost < cost:
                label, cost, since_improved = moved, moved_cost, 0
            alpha = (alpha + 1) % n_classes
        return label

    def search(self, label: IntArray) -> IntArray:
        """Return the best labels, or the best ones found within a limit on the work, starting from known ones."""
        from hardwood.kernels import relabel as kernel

        # The leaves that most groups meet come first: they decide most.
        order = np.argsort(-np.bincount(self.leaf, minlength=self.n_leaves), kind="stable")
        position = np.empty(self.n_leaves, np.int64)
        position[order] = np.arange(self.n_leaves)
        place = position[self.leaf]
        sequence = np.lexsort((place, self.group))
        begin = np.searchsorted(self.group, np.arange(len(self.label) + 1))
        best = label[order].astype(np.int64)
        max_nodes = MOST_STEPS // (len(self.leaf) + self.n_leaves * self.n_classes)
        kernel.try_labelings(
            begin, place[sequence], self.label, self.weight, self.n_classes, self.cost(label), max_nodes, best
        )
        return best[position]


def _possible_sides(tree: Tree | IndexTree, threshold: NDArray[np.float64] | IntArray) -> tuple[BoolArray, BoolArray]:
    """Return, for each node, whether any point at all can go left and right from it."""
    can_left, can_right = np.ones(tree.n_nodes, bool), np.ones(tree.n_nodes, bool)
    stack: list[tuple[int, dict[int, tuple[float, float]]]] = [(0, {})]
    while stack:
        node, bounds = stack.pop()
        if tree.left[node] < 0:
            continue
        j, b = int(tree.feature[node]), float(threshold[node])
        low, high = bounds.get(j, (-np.inf, np.inf))
        can_left[node], can_right[node] = b > low, b < high
        stack.append((int(tree.left[node]), {**bounds, j: (low, min(b, high))}))
        stack.append((int(tree.right[node]), {**bounds, j: (max(b, low), high)}))
    return can_left, can_right
