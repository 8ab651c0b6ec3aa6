"""Growing a forest: robust trees on bootstrap samples, and what they say together."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hardwood._core import Control
from hardwood.arrays import FloatArray
from hardwood.ensembles.scores import Ensemble, Link, Rule, TreeOfScores
from hardwood.errors import InvalidInputError
from hardwood.problem.problem import Problem
from hardwood.solvers.greedy import Events, GreedyLearner
from hardwood.solvers.parallel import in_threads
from hardwood.solvers.result import EndReason
from hardwood.solvers.solve import solve
from hardwood.solvers.stopping import Interrupt
from hardwood.tree.statistics import NodeStatistics, class_shares
from hardwood.tree.tree import Tree

SHARES_GRID = 2.0**-30
"""Shares are whole multiples of this, so that sums over trees are exact in any order."""


@dataclass(frozen=True)
class Bootstrap:
    """Samples drawn with replacement from those that have weight: what a seed says, drawn whenever it is asked for.

    To keep how often each tree has each sample would take more memory than the trees.
    """

    seed: tuple[int, int]

    def weight(self, problem: Problem) -> tuple[FloatArray, np.random.Generator]:
        """Return the weights of the samples, as often as each was drawn, and the generator behind these draws."""
        rng = np.random.default_rng(self.seed)
        present = np.flatnonzero(problem.weight > 0)
        counts = np.bincount(rng.choice(present, len(present)), minlength=problem.n_samples)
        return problem.weight * counts, rng


@dataclass(frozen=True, eq=False)
class GrownTree:
    """A tree and what drew its samples; None: each is there once."""

    tree: Tree
    drawn: Bootstrap | None

    def weight(self, problem: Problem) -> FloatArray:
        """Return the weights of the bootstrap sample."""
        return problem.weight if self.drawn is None else self.drawn.weight(problem)[0]


@dataclass(frozen=True)
class OptimalLearner:
    """Trees by the exact search, each within a time limit and on features drawn for the whole tree.

    Attributes
    ----------
    tree_time_limit : float
        Seconds for each tree; the best tree found is taken.
    n_features : int or None
        How many features each tree may use; None for all.
    """

    tree_time_limit: float = 10.0
    n_features: int | None = None

    def grow(self, problem: Problem, rng: np.random.Generator, interrupt: Interrupt) -> Tree:
        """Learn one tree."""
        p = problem.n_features
        if self.n_features is not None and self.n_features < p:
            problem = problem.without_features(rng.choice(p, p - self.n_features, replace=False))
        result = solve(problem, "search", time_limit=self.tree_time_limit, interrupt=interrupt)
        if result.stopped_by is EndReason.INTERRUPT:
            raise KeyboardInterrupt
        return result.tree


def grow_forest(
    problem: Problem,
    learner: GreedyLearner | OptimalLearner,
    n_estimators: int,
    *,
    bootstrap: bool = True,
    n_jobs: int = 1,
    random_state: int = 0,
    time_limit: float | None = None,
    on_tree: Callable[[int], None] | None = None,
    finished: list[GrownTree] | None = None,
) -> tuple[GrownTree, ...]:
    """Grow trees on bootstrap samples; which ones does not depend on `n_jobs`.

    After `time_limit` seconds no further tree is begun; at least one is grown. What is grown is put into `finished` at
    once, for who wants it when Ctrl-C ends the rest.
    """
    # What all trees share is sorted once, before the threads start.
    scans = isinstance(learner, GreedyLearner) and learner.criterion != "adversarial-error"
    events = Events.sort(problem) if scans else None
    if not scans:
        problem.endpoints  # noqa: B018
    interrupt, control = Interrupt(), Control()
    interrupt.stops(control)
    deadline = None if time_limit is None else time.monotonic() + time_limit

    def grow_one(number: int) -> GrownTree | None:
        if number > 0 and deadline is not None and time.monotonic() > deadline:
            return None
        drawn = Bootstrap((random_state, number)) if bootstrap else None
        weight, rng = problem.weight, np.random.default_rng((random_state, number))
        if drawn is not None:
            weight, rng = drawn.weight(problem)
        if isinstance(learner, GreedyLearner):
            tree = learner.grow_tree(problem, rng, weight=weight, events=events, control=control)
        else:
            tree = learner.grow(problem.replace(weight=weight), rng, interrupt)
        if on_tree is not None:
            on_tree(number + 1)
        grown = GrownTree(tree, drawn)
        if finished is not None and not control.stopped:
            finished.append(grown)
        return grown

    found = in_threads(grow_one, ((number,) for number in range(n_estimators)), n_jobs, interrupt)
    return tuple(grown for grown in found if grown is not None)


def voting(trees: Sequence[Tree]) -> Ensemble:
    """Return trees as an ensemble in which each has one vote; of several classes with the most the first wins."""
    return _together(trees, [_votes_of(tree) for tree in trees])


def averaging(grown: Sequence[GrownTree], problem: Problem, laplace: float = 0.0) -> Ensemble:
    """Return trees as an ensemble that adds up class shares of leaves.

    The shares are those of the training weight that reaches a leaf for certain, whatever the attacker does
    (`hardwood.tree.statistics.class_shares`), in each tree's own bootstrap sample.
    """
    values = []
    for one in grown:
        statistics = NodeStatistics.of_reach(one.tree, problem.reach, problem.label, one.weight(problem))
        shares = class_shares(statistics.certain, one.tree, laplace)
        values.append(np.round(shares / SHARES_GRID) * SHARES_GRID)
    return _together([one.tree for one in grown], values)


def _votes_of(tree: Tree) -> FloatArray:
    value = np.zeros((tree.n_nodes, len(tree.classes)))
    is_leaf = tree.left < 0
    value[is_leaf, tree.label[is_leaf]] = 1.0
    return value


def _together(trees: Sequence[Tree], values: Sequence[FloatArray]) -> Ensemble:
    if not trees:
        raise InvalidInputError("an ensemble needs at least one tree")
    first = trees[0]
    for tree in trees[1:]:
        if tree.n_features != first.n_features or not np.array_equal(tree.classes, first.classes):
            raise InvalidInputError("the trees of an ensemble must share features and classes")
        if tree.encoding != first.encoding:
            raise InvalidInputError("the trees of an ensemble must read categories alike")
    members = []
    for tree, value in zip(trees, values, strict=True):
        is_leaf = tree.left < 0
        missing = np.zeros(tree.n_nodes, bool) if tree.missing_left is None else tree.missing_left
        leaves = np.where(is_leaf[:, None], value, 0.0)
        members.append(TreeOfScores(tree.feature, tree.threshold, tree.left, tree.right, leaves, missing))
    return Ensemble(
        members,
        np.zeros(len(first.classes)),
        Rule(Link.ARGMAX),
        first.classes,
        first.n_features,
        first.feature_names,
        takes_missing=all(tree.missing_left is not None for tree in trees),
        library="hardwood",
        encoding=first.encoding,
    )
