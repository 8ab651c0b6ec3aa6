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
from typing import ClassVar, overload

import numpy as np
from numpy.typing import NDArray

from hardwood import _core
from hardwood.arrays import BoolArray, FloatArray, IntArray, RankArray
from hardwood.errors import InvalidInputError
from hardwood.problem.problem import Problem
from hardwood.solvers.greedy import GreedyLearner
from hardwood.solvers.options import AnyOf, Instance, Nothing, Option
from hardwood.solvers.registry import Solver, register
from hardwood.solvers.run import Run
from hardwood.tree.conversion import to_indices
from hardwood.tree.index_tree import IndexTree
from hardwood.tree.tree import Tree

MOST_STEPS = 50_000_000
"""How many elementary steps the branch and bound over leaf labels may take."""


@register
class RelabelSolver(Solver):
    """Give the leaves of a tree the best labels."""

    name = "relabelled"
    supports_prices = True  # as for the greedy learner
    summary = "the best labels for the leaves of a given or a greedy tree, by a minimum cut; its splits stay"
    proves = False
    options: ClassVar[tuple[Option, ...]] = (
        Option(
            "tree",
            None,
            AnyOf(Instance(Tree, "a Tree"), Instance(IndexTree, "an IndexTree"), Nothing("GROOT's")),
            "the tree whose leaves are labelled",
        ),
    )

    def _run(self, problem: Problem, run: Run) -> None:
        given: Tree | IndexTree | None = run.options["tree"]
        if given is None:
            given = GreedyLearner().grow(problem, np.random.default_rng(run.random_state), control=run.control)
        if isinstance(given, Tree):
            known = _in_classes_of(given, problem)
            run.report(known)
            run.report(relabel(known, problem, run.control))
        else:
            run.report(given)
            run.report(relabel(given, problem, run.control))


@overload
def relabel(tree: Tree, problem: Problem, control: _core.Control | None = None) -> Tree: ...
@overload
def relabel(tree: IndexTree, problem: Problem, control: _core.Control | None = None) -> IndexTree: ...
def relabel(tree: Tree | IndexTree, problem: Problem, control: _core.Control | None = None) -> Tree | IndexTree:
    """Return the tree with the leaf labels that lose the least weight of the problem's samples.

    Parameters
    ----------
    tree : Tree or IndexTree
        Any tree over the features of the problem; for one that was learned elsewhere see
        `hardwood.export.from_sklearn`. Its splits stay as they are.
    problem : Problem
        Boxes, labels and weights that count; its depth does not matter.
    control : Control or None
        Ends the work early, with the best labels so far.

    Returns
    -------
    tree of the same kind
        Never worse than the given one; optimal for two classes, and for more if the tree is small. Leaves that no
        sample reaches, and all leaves where nothing better exists, keep their labels. A `Tree` comes back in the
        classes of the problem.
    """
    if isinstance(tree, Tree):
        tree = _in_classes_of(tree, problem)
        sides = _possible_sides(tree, tree.threshold)
        reached = _core.reached_leaves(
            tree.feature, tree.threshold, tree.left, tree.right, *sides, problem.lower, problem.upper
        )
        groups = Groups.of(reached, tree.n_leaves, problem)
        return replace(tree, label=_with_labels(tree, groups, problem, control))
    sides = _possible_sides(tree, tree.index)
    feature, lower, upper = _ranks_of_splits(tree, problem)
    reached = _core.reached_leaves(feature, tree.index, tree.left, tree.right, *sides, lower, upper)
    groups = Groups.of(reached, tree.n_leaves, problem)
    return replace(tree, label=_with_labels(tree, groups, problem, control))


def _ranks_of_splits(tree: IndexTree, problem: Problem) -> tuple[IntArray, RankArray, RankArray]:
    """Return ranks that the tree asks for and their columns for its features; of a large table not all are made."""
    if problem.is_ranked:
        return tree.feature, problem.lower_rank, problem.upper_rank
    used = np.unique(tree.feature[tree.left >= 0])
    ends = [problem.ends_of(int(j)) for j in used]
    shape = problem.n_samples, len(used)
    lower, upper = np.empty(shape, np.int32), np.empty(shape, np.int32)
    for k, one in enumerate(ends):
        lower[:, k], upper[:, k] = one.lower_rank, one.upper_rank
    return np.searchsorted(used, tree.feature), lower, upper


def _in_classes_of(tree: Tree, problem: Problem) -> Tree:
    """Return the tree in the classes of a problem; raise if it is for other features or classes."""
    if tree.n_features != problem.n_features:
        raise InvalidInputError(f"the tree is for {tree.n_features} features, the data has {problem.n_features}")
    if np.array_equal(tree.classes, problem.classes):
        return tree
    return replace(tree, label=to_indices(tree, problem).label, classes=problem.classes)


def _with_labels(tree: Tree | IndexTree, groups: Groups, problem: Problem, control: _core.Control | None) -> IntArray:
    label = tree.label
    leaves = np.flatnonzero(tree.left < 0)
    old = label[leaves]
    if problem.n_classes == 2:
        # From a tree that always answers 0, one expansion of class 1 is the whole minimum cut.
        found = [groups.expand(np.zeros_like(old), 1, control)]
    else:
        heaviest = np.full_like(old, int(np.argmax(problem.class_weight_sums)))
        starts = (old, groups.heaviest_by_leaf(), heaviest)
        found = [groups.expand_all(start, problem.n_classes, control) for start in starts]
        found.append(groups.search(min(found, key=groups.cost), control))
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
    def of(cls, mask: NDArray[np.uint64], n_leaves: int, problem: Problem) -> Groups:
        """Find the groups of a problem's samples by the leaves that each reaches, the bits of its row of `mask`."""
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

    def expand(self, label: IntArray, alpha: int, control: _core.Control | None = None) -> IntArray:
        """Give class `alpha` to those leaves for which it lowers the cost the most; a minimum cut.

        Groups of class `alpha` want all their leaves to change; groups that are right now want none of theirs to.
        """
        wants_change = self.label == alpha
        is_involved = wants_change | ~self.lost(label)
        may_change = label[self.leaf] != alpha
        pair = is_involved[self.group] & may_change
        group, leaf = self.group[pair], self.leaf[pair]
        # Vertices: the leaves, then the groups.
        node, gains = self.n_leaves + group, wants_change[group]
        tail, head = np.where(gains, node, leaf), np.where(gains, leaf, node)
        supply, demand = np.zeros((2, self.n_leaves + len(self.label)))
        supply[self.n_leaves :] = np.where(wants_change, self.weight, 0.0)
        demand[self.n_leaves :] = np.where(wants_change, 0.0, self.weight)
        source_side = _core.minimum_cut(tail.astype(np.int32), head.astype(np.int32), supply, demand, control)
        return np.where(source_side[: self.n_leaves], alpha, label)

    def expand_all(self, label: IntArray, n_classes: int, control: _core.Control | None = None) -> IntArray:
        """Make expansion moves, class by class, until none of them lowers the cost or it is time to stop."""
        cost = self.cost(label)
        since_improved = alpha = 0
        while since_improved < n_classes and not (control is not None and control.stopped):
            moved = self.expand(label, alpha, control)
            moved_cost = self.cost(moved)
            since_improved += 1
            if moved_cost < cost:
                label, cost, since_improved = moved, moved_cost, 0
            alpha = (alpha + 1) % n_classes
        return label

    def search(self, label: IntArray, control: _core.Control | None = None) -> IntArray:
        """Return the best labels, or the best ones found within a limit on the work, starting from known ones."""
        # The leaves that most groups meet come first: they decide most.
        order = np.argsort(-np.bincount(self.leaf, minlength=self.n_leaves), kind="stable")
        position = np.empty(self.n_leaves, np.int64)
        position[order] = np.arange(self.n_leaves)
        place = position[self.leaf]
        sequence = np.lexsort((place, self.group))
        begin = np.searchsorted(self.group, np.arange(len(self.label) + 1))
        best = label[order].astype(np.int64)
        max_nodes = MOST_STEPS // (len(self.leaf) + self.n_leaves * self.n_classes)
        best, _ = _core.try_labelings(
            begin, place[sequence], self.label, self.weight, self.n_classes, self.cost(label), max_nodes, best, control
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
