"""Every conversion between the forms of a tree.

`Tree` has numbers as thresholds and is what is shipped; `IndexTree` has indices into the ends of a problem's boxes and
is what solvers work with. `place` and `to_indices` lead from one to the other. Code that builds a tree from the root
down does so in a `Draft`, which `tree_of` and `index_tree_of` turn into the one and the other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hardwood import _core
from hardwood.arrays import BoolArray, FloatArray, IntArray
from hardwood.errors import InvalidInputError
from hardwood.problem.endpoints import index_of, midpoint, rank_reach
from hardwood.problem.problem import Problem
from hardwood.tree.draft import Draft
from hardwood.tree.index_tree import IndexTree
from hardwood.tree.statistics import heavier_sides
from hardwood.tree.tree import Tree


def place(tree: IndexTree, problem: Problem) -> Tree:
    """Turn indices into thresholds at maximum margin, without changing the reach of any sample.

    Branches that no training box or no point at all reaches are cut off, and a split between two leaves of one class
    becomes that leaf; neither changes which samples are lost, unless a box reached a branch that holds no point. Each
    threshold lies midway between the neighbouring endpoints of the samples that reach its node, or, where that is
    beyond another threshold on the path, midway between that one and the next endpoint. See `src/core/placing`.
    """
    used = np.unique(tree.feature[tree.left >= 0])
    column = np.full(problem.n_features, -1)
    if problem.is_ranked:
        ends = problem.endpoints
        column[used] = used
        n_ranks = ends.n_ranks
    else:
        ends = rank_reach(problem.reach.of_features(used), problem.values[:, used])
        column[used] = np.arange(len(used))
        n_ranks = np.zeros(problem.n_features, np.int64)
        n_ranks[used] = ends.n_ranks
    nodes = _core.place_ranks(
        tree.feature,
        tree.index,
        tree.left,
        tree.right,
        tree.label,
        ends.lower_rank,
        ends.upper_rank,
        n_ranks,
        column,
        *problem.reach.arrays,
        problem.values,
        *_kinds(problem),
    )
    return _shipped(nodes, problem)


class GapTree(NamedTuple):
    """A tree whose splits lie anywhere from an end or value of the samples, `last`, to the next one, `first`.

    The other arrays are as in `Tree`.
    """

    feature: IntArray
    last: FloatArray
    first: FloatArray
    left: IntArray
    right: IntArray
    label: IntArray

    def in_indices(self, problem: Problem) -> IndexTree:
        """Return the tree in the ends of a problem; what it uses of them is ranked for it."""
        cut = [midpoint(a, b) for a, b in zip(self.last.tolist(), self.first.tolist(), strict=True)]
        index = _indices(self.feature, np.array(cut), self.left >= 0, problem)
        return IndexTree(self.feature, index, self.left, self.right, self.label)

    def placed(self, problem: Problem, events: _core.EventLists | None = None) -> Tree:
        """Put the thresholds at maximum margin, as `place` does; nothing is ranked for it but where rounding rules.

        Faster with the sorted `events` of the problem.
        """
        nodes = _core.place_gaps(*self, *problem.reach.arrays, problem.values, *_kinds(problem), events)
        # Where rounding rules, an index says what a number cannot: which ends count as one.
        return place(self.in_indices(problem), problem) if nodes is None else _shipped(nodes, problem)


def _kinds(problem: Problem) -> tuple[BoolArray, BoolArray]:
    """Return which features are questions of categories, and which are whole numbers."""
    nowhere = np.zeros(problem.n_features, bool)
    limits, encoding = problem.limits, problem.encoding
    is_question = nowhere if encoding is None else np.array([test is not None for test in encoding.tests])
    return is_question, nowhere if limits is None else limits.integer


def _shipped(nodes: _core.PlacedNodes, problem: Problem) -> Tree:
    feature, threshold, left, right, label, margin = nodes
    tree = Tree(
        feature,
        threshold,
        left,
        right,
        label,
        problem.classes,
        problem.n_features,
        problem.feature_names,
        margin=margin,
        encoding=problem.encoding,
    )
    return replace(tree, missing_left=heavier_sides(tree, problem)) if problem.allows_missing else tree


def tree_of(draft: Draft, problem: Problem) -> Tree:
    """Return a draft with numbers as thresholds and class indices as answers as a tree.

    Parameters
    ----------
    draft : Draft
        What is below its cuts is left out.
    problem : Problem
        Gives the tree its classes and the names and categories of its features.
    """
    kept, _ = draft.reached()
    tree = Tree(
        np.array(kept.feature),
        np.array(kept.threshold, np.float64),
        np.array(kept.left),
        np.array(kept.right),
        _labels(kept),
        problem.classes,
        problem.n_features,
        problem.feature_names,
        margin=np.full((len(kept), 2), np.nan),
        encoding=problem.encoding,
    )
    return replace(tree, missing_left=heavier_sides(tree, problem)) if problem.allows_missing else tree


def index_tree_of(draft: Draft) -> IndexTree:
    """Return a draft with indices as thresholds and class indices as answers as an index tree."""
    kept, _ = draft.reached()
    index = np.array([-1 if t is None else t for t in kept.threshold])
    return IndexTree(np.array(kept.feature), index, np.array(kept.left), np.array(kept.right), _labels(kept))


def _labels(draft: Draft) -> IntArray:
    return np.array([-1 if answer is None else answer for answer in draft.answer], np.int64)


def in_terms_of(tree: Tree, problem: Problem) -> Tree:
    """Return a tree that was learned from the numbers of a problem, so that it takes the tables they were made of."""
    known = replace(tree, encoding=problem.encoding)
    return replace(known, missing_left=heavier_sides(known, problem)) if problem.allows_missing else known


def to_indices(tree: Tree, problem: Problem) -> IndexTree:
    """Express a tree in the ends of a problem, e.g. to start a solver from it.

    It loses no sample that the tree does not lose, and for thresholds that keep away from the ends the same ones.
    Labels are matched by class; a tree that answers a class which the problem does not have is refused.
    """
    if tree.n_features != problem.n_features:
        raise InvalidInputError(f"the tree is for {tree.n_features} features, the data has {problem.n_features}")
    label = answers_of(tree, problem)
    index = _indices(tree.feature, tree.threshold, tree.left >= 0, problem)
    return IndexTree(tree.feature, index, tree.left, tree.right, label)


def answers_of(tree: Tree, problem: Problem) -> IntArray:
    """Return the answers of a tree's leaves as classes of a problem, -1 at splits; an error where it has not all."""
    code = {label: i for i, label in enumerate(problem.classes.tolist())}
    is_split = tree.left >= 0
    label = np.full(tree.n_nodes, -1)
    for leaf in np.flatnonzero(~is_split):
        answer = tree.classes[[tree.label[leaf]]].tolist()[0]
        if answer not in code:
            raise InvalidInputError(
                f"the tree answers class {answer!r}; the classes of the data are "
                f"{', '.join(map(repr, problem.classes.tolist()))}"
            )
        label[leaf] = code[answer]
    return label


def _indices(feature: IntArray, threshold: FloatArray, is_split: BoolArray, problem: Problem) -> IntArray:
    """Return the index of each split's threshold, -1 at leaves; each feature is looked at once."""
    index = np.full(len(feature), -1)
    for j in np.unique(feature[is_split]):
        ends = problem.ends_of(int(j))
        for node in np.flatnonzero(is_split & (feature == j)):
            index[node] = index_of(float(threshold[node]), ends)
    return index
