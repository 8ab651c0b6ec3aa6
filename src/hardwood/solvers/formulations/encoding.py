"""The paper's variables, and the way between them and trees; used by every method that runs on a general solver.

Formulation of Vos & Verwer, "Robust Optimal Classification Trees against Adversarial Examples", AAAI 2022. A tree of
depth d is complete here: nodes 0 .. 2^d - 2 in heap order (children of m: 2m + 1 and 2m + 2), then 2^d leaves.

=============  ====================================================  ===============================================
variable       meaning                                               equation ("Complete Formulation")
=============  ====================================================  ===============================================
a[m, j]        node m splits on feature j                            sum_j a[m, j] = 1
b[m, v]        the threshold of node m lies below value v            b[m, v] => b[m, v + 1]
b'[m]          the same as one number, -1 <= b'[m] <= V - 1          X_i . a_m <= b'_m => s_im0;  > b'_m => s_im1
s[i, m, 0]     box i can go left at node m                           a[m, j] and not b[m, lower[i, j]] => s[i, m, 0]
s[i, m, 1]     box i can go right at node m                          a[m, j] and b[m, upper[i, j]] => s[i, m, 1]
c[t]           class of leaf t (one-hot beyond two classes)          --
e[i]           sample i is lost                                      s on the path to t, c[t] != y_i => e[i]
=============  ====================================================  ===============================================

The values v of a node are shared by its features: value v stands for the v-th endpoint of whichever feature is chosen.
In place of numbers, endpoints enter by rank, so that "<=" and ">" are exact. With the threshold after value t
(``t = -1 .. V - 1``), ``b[v] = [v > t]``, box i goes left iff ``lower[i, j] <= t`` and right iff ``upper[i, j] > t``.

With ``strengthen`` only undominated thresholds get a value, a threshold after the last one is *no split* (all samples
go left), samples with the same box and class are one sample with their summed weight, and pairs of samples that cannot
both be right are known (`Encoding.pair`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hardwood._core import Control
from hardwood.arrays import BoolArray, FloatArray, IntArray, RankArray
from hardwood.bounds import AccuracyBound, bound_problem
from hardwood.errors import StoppedError
from hardwood.problem.endpoints import candidates, ranks_present
from hardwood.problem.merged import MergedBoxes
from hardwood.problem.problem import Problem
from hardwood.tree.conversion import index_tree_of
from hardwood.tree.draft import Fork, Leaf, grow
from hardwood.tree.index_tree import IndexTree


@dataclass(frozen=True, eq=False)
class Choice:
    """What a solver decides: the complete tree in terms of values.

    Attributes
    ----------
    feature, value : int array of shape (2^d - 1,)
        Feature of each node (a) and the value after which its threshold lies (b), -1 for before all.
    label : int array of shape (2^d,)
        Class of each leaf (c).
    """

    feature: IntArray
    value: IntArray
    label: IntArray


@dataclass(frozen=True, eq=False)
class Encoding:
    """A problem in the terms of the paper; plain arrays, cheap to send to another process.

    Attributes
    ----------
    depth, n_classes, n_values : int
        Depth d of the complete tree, number of classes, length V of the chain b.
    lower, upper : int32 array of shape (n_samples, n_features)
        Values of the ends of each box; ``upper = n_values`` goes right always, ``-1`` never.
    label : int array of shape (n_samples,)
    weight : float array of shape (n_samples,)
    index : tuple of int arrays
        Threshold index of the problem for each ``t = -1, 0, ..`` of each feature. A ``t`` beyond them is no split if
        `strengthened`, else the same as the last of them.
    strengthened : bool
    pair : int array of shape (n_pairs, 2)
        Samples of different classes of which one is always lost.
    pair_weight : float array of shape (n_pairs,)
        Weight that each pair costs at least; no sample is used beyond its weight.
    least : float
        Lower bound on the weight lost by any tree.
    last_upper : tuple of int arrays
        Sorted `upper` ranks of each feature in terms of the problem: where a dominated threshold moves down to.
    """

    depth: int
    n_classes: int
    n_values: int
    lower: RankArray
    upper: RankArray
    label: IntArray
    weight: FloatArray
    index: tuple[IntArray, ...]
    strengthened: bool
    pair: IntArray
    pair_weight: FloatArray
    least: float
    last_upper: tuple[IntArray, ...]

    @property
    def n_samples(self) -> int:
        """Number of (merged) samples."""
        return len(self.label)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.lower.shape[1])

    @property
    def n_nodes(self) -> int:
        """Number of decision nodes of the complete tree."""
        return int(2**self.depth - 1)

    @property
    def n_leaves(self) -> int:
        """Number of leaves of the complete tree."""
        return int(2**self.depth)

    @property
    def first_bottom(self) -> int:
        """First node whose children are leaves."""
        return int(2 ** (self.depth - 1) - 1)

    @property
    def has_integer_weights(self) -> bool:
        """Whether every objective is a whole number."""
        return bool(np.all(self.weight == np.floor(self.weight)))

    @property
    def unit(self) -> float:
        """Every objective is a multiple of this: the greatest common divisor of whole weights, 0 if there is none."""
        return float(np.gcd.reduce(self.weight.astype(np.int64))) if self.has_integer_weights else 0.0

    def path(self, leaf: int) -> list[tuple[int, int]]:
        """Nodes above a leaf, root first, each with the side (0 left, 1 right) on which the leaf lies."""
        steps: list[tuple[int, int]] = []
        node = self.n_nodes + leaf
        while node > 0:
            parent = (node - 1) // 2
            steps.append((parent, node - 2 * parent - 1))
            node = parent
        return steps[::-1]

    def n_splits(self, feature: int) -> int:
        """Return how many values ``t`` of a feature, beginning with -1, are a split."""
        return len(self.index[feature])

    def reach(self, choice: Choice) -> BoolArray:
        """Variables s of shape (n_samples, n_nodes, 2): whether each box can go left, right at each node."""
        lower, upper = self.lower[:, choice.feature], self.upper[:, choice.feature]
        return np.stack([lower <= choice.value, upper > choice.value], axis=2)

    def lost(self, choice: Choice) -> BoolArray:
        """Variables e: whether each sample reaches a leaf of another class."""
        s = self.reach(choice)
        lost = np.zeros(self.n_samples, bool)
        for leaf in range(self.n_leaves):
            reached = np.ones(self.n_samples, bool)
            for node, side in self.path(leaf):
                reached &= s[:, node, side]
            lost |= reached & (self.label != choice.label[leaf])
        return lost

    def objective(self, choice: Choice) -> float:
        """Weight of the lost samples."""
        return float(self.weight[self.lost(choice)].sum())

    def chain(self, choice: Choice) -> BoolArray:
        """Variables b of shape (n_nodes, n_values)."""
        return np.asarray(np.arange(self.n_values) > choice.value[:, None])

    def to_tree(self, choice: Choice) -> IndexTree:
        """Turn a choice into the tree it stands for."""

        def look(node: int) -> Leaf | Fork[int]:
            while node < self.n_nodes:
                j, position = int(choice.feature[node]), int(choice.value[node]) + 1
                known = self.index[j]
                if position < len(known) or not (self.strengthened or len(known) == 0):
                    return Fork(j, int(known[min(position, len(known) - 1)]), 2 * node + 1, 2 * node + 2)
                node = 2 * node + 1
            return Leaf(int(choice.label[node - self.n_nodes]))

        return index_tree_of(grow(0, look))

    def to_choice(self, tree: IndexTree) -> Choice:
        """Turn a tree into a choice that loses no sample that the tree keeps."""
        feature = np.zeros(self.n_nodes, np.int64)
        value = np.full(self.n_nodes, self.n_values - 1)
        label = np.zeros(self.n_leaves, np.int64)

        def fill(position: int, node: int) -> None:
            if position >= self.n_nodes:
                label[position - self.n_nodes] = tree.label[node]
            elif tree.left[node] < 0:
                fill(2 * position + 1, node)
                fill(2 * position + 2, node)
                if self.strengthened and position >= self.first_bottom:
                    label[2 * position + 2 - self.n_nodes] = (tree.label[node] + 1) % self.n_classes
            else:
                j = int(tree.feature[node])
                t = self._value_of(j, int(tree.index[node]))
                if not -1 <= t < self.n_splits(j) - 1:
                    fill(position, int(tree.right[node] if t < -1 else tree.left[node]))
                    return
                feature[position], value[position] = j, t
                fill(2 * position + 1, int(tree.left[node]))
                fill(2 * position + 2, int(tree.right[node]))

        fill(0, 0)
        return Choice(feature, value, label)

    def _value_of(self, feature: int, index: int) -> int:
        """Value of a threshold index, or of one that dominates it: -2 if all samples go right, V if all go left."""
        if not self.strengthened:
            return min(index, self.n_splits(feature) - 2)
        # Move down to the last upper end, losing only samples on the left, then up to the next lower end.
        uppers, known = self.last_upper[feature], self.index[feature]
        position = int(np.searchsorted(uppers, index, side="right")) - 1
        if position < 0:
            return -2
        return int(np.searchsorted(known, uppers[position], side="left")) - 1


def encode(
    problem: Problem,
    *,
    strengthen: bool,
    find_pairs: Callable[[Problem], AccuracyBound] = bound_problem,
    control: Control | None = None,
) -> Encoding:
    """Express a problem in the terms of the paper.

    Parameters
    ----------
    problem : Problem
    strengthen : bool
        Whether to use what the module's docstring lists; otherwise every endpoint is a value and every sample counts.
    find_pairs : callable
        Finds pairs of samples that cannot both be right.
    control : Control or None
        Where it stops the work, `StoppedError` is raised.
    """
    return _strengthened(problem, find_pairs, control) if strengthen else _as_published(problem)


def _as_published(problem: Problem) -> Encoding:
    """Every endpoint is a value, every sample counts."""
    n_values = int(problem.n_ranks.max())
    is_unbounded = problem.upper_rank == problem.n_ranks
    return Encoding(
        depth=problem.max_depth,
        n_classes=problem.n_classes,
        n_values=n_values,
        lower=problem.lower_rank,
        upper=np.where(is_unbounded, n_values, problem.upper_rank).astype(np.int32),
        label=problem.label,
        weight=problem.weight,
        index=tuple(np.arange(-1, k) for k in problem.n_ranks),
        strengthened=False,
        pair=np.empty((0, 2), np.int64),
        pair_weight=np.empty(0),
        least=0.0,
        last_upper=(),
    )


def _strengthened(
    problem: Problem, find_pairs: Callable[[Problem], AccuracyBound], control: Control | None
) -> Encoding:
    """Undominated thresholds, merged samples, and pairs that exclude each other."""
    used = problem.weight > 0
    lower_rank, upper_rank = problem.lower_rank[used], problem.upper_rank[used]
    lower, upper = np.empty(lower_rank.shape, np.int32), np.empty(upper_rank.shape, np.int32)
    index: list[IntArray] = []
    last_upper: list[IntArray] = []
    for j in range(problem.n_features):
        if control is not None and control.stopped:
            raise StoppedError("stopped while the problem was encoded")
        index.append(candidates(lower_rank[:, j], upper_rank[:, j]))
        last_upper.append(ranks_present(upper_rank[:, j]))
        # One look-up per rank, from -1 to the one behind the last, instead of one per sample.
        value = (np.searchsorted(index[j], np.arange(-1, problem.n_ranks[j] + 1)) - 1).astype(np.int32)
        lower[:, j], upper[:, j] = value[lower_rank[:, j] + 1], value[upper_rank[:, j] + 1]
    label = problem.label[used]
    merged = MergedBoxes.of(lower, upper, label, control)
    position = np.full(problem.n_samples, -1)
    position[used] = merged.group
    matching = find_pairs(problem)
    pair, pair_weight = _merge_pairs(position, matching)
    return Encoding(
        depth=problem.max_depth,
        n_classes=problem.n_classes,
        n_values=max(len(known) for known in index),
        lower=lower[merged.first],
        upper=upper[merged.first],
        label=label[merged.first],
        weight=merged.total(problem.weight[used]),
        index=tuple(index),
        strengthened=True,
        pair=pair,
        pair_weight=pair_weight,
        least=float(matching.errors),
        last_upper=tuple(last_upper),
    )


def _merge_pairs(position: IntArray, bound: AccuracyBound) -> tuple[IntArray, FloatArray]:
    """Return the pairs of a bound in terms of merged samples, the weights of pairs that became the same added up."""
    if len(bound.matching) == 0:
        return np.empty((0, 2), np.int64), np.empty(0)
    merged, group = np.unique(np.sort(position[bound.matching], axis=1), axis=0, return_inverse=True)
    return merged, np.bincount(group.reshape(-1), bound.matching_weight).astype(np.float64)
