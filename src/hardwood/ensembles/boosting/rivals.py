"""What is simpler than boosting: a constant, and one optimal tree of small depth.

On a few hundred samples under a strong attack boosting often has nothing to add, and whatever it adds is chance. So
rivals are judged on the same folds by the same measure, the share of held-out samples that is certified, and boosting
has to do better than all of them; of equals the simplest is taken.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from hardwood import _core
from hardwood.arrays import IntArray
from hardwood.ensembles.boosting.blend import BlendedLearner
from hardwood.ensembles.boosting.boosted import Boosted, WeakTree
from hardwood.ensembles.boosting.learner import GRID, BoostingLearner, best_constant, certified_share, on_grid
from hardwood.ensembles.boosting.margins import TreeMargins
from hardwood.ensembles.boosting.selection import certified_curve
from hardwood.problem.boxes import Boxes
from hardwood.problem.problem import Problem
from hardwood.solvers.result import EndReason
from hardwood.solvers.solve import solve
from hardwood.tree.tree import Tree

Folds = Sequence[tuple[IntArray, IntArray]]
"""Rows to learn from and rows to judge on."""


def optimal_tree(problem: Problem, depth: int, time_limit: float | None, n_jobs: int = 1) -> Tree:
    """Return the best tree that the exact search finds in time; depth 0 is the best constant."""
    result = solve(problem.replace(max_depth=depth), "search", time_limit=time_limit, n_jobs=n_jobs)
    if result.stopped_by is EndReason.INTERRUPT:
        raise KeyboardInterrupt
    return result.tree


def as_boosted(tree: Tree, problem: Problem, loss: str = "logistic") -> Boosted:
    """Return one tree in the form of what boosting learns, certain of its answers by the share that it certifies."""
    n_scores = 1 if problem.n_classes == 2 else problem.n_classes
    votes = _round_of(tree, n_scores, 1.0)
    share = certified_share(_margins(votes, problem.boxes, n_scores), problem)
    is_certified = np.array([1, -1], dtype=np.int8)
    value = max(GRID, float(on_grid(best_constant(is_certified, np.array([share, 1 - share]), loss))))
    return Boosted(np.zeros(n_scores), (_round_of(tree, n_scores, value),), (), "rival")


def share_of_tree(tree: Tree, judged: Problem) -> float:
    """Return the share of samples that a tree certifies; exact."""
    n_scores = 1 if judged.n_classes == 2 else judged.n_classes
    return certified_share(_margins(_round_of(tree, n_scores, 1.0), judged.boxes, n_scores), judged)


def judge(
    learner: BoostingLearner | BlendedLearner,
    depths: Sequence[int],
    problem: Problem,
    folds: Folds,
    *,
    random_state: int = 0,
    tree_time_limit: float | None = None,
    time_limit: float | None = None,
) -> dict[int | None, float]:
    """Return the mean certified share on the folds of trees of some depths, and of boosting, whose depth is None.

    Nothing where `time_limit`, in seconds, is over before all of them are judged.
    """
    started = time.perf_counter()
    control = _core.Control(time_limit)
    found: dict[int | None, list[float]] = {**{depth: [] for depth in depths}, None: []}
    for train, test in folds:
        training, judged = problem.take(train), problem.take(test)
        for depth in depths:
            if control.stopped:
                return {}
            left = None if time_limit is None else max(0.0, time_limit - (time.perf_counter() - started))
            tree = optimal_tree(training, depth, shortest(tree_time_limit, left))
            found[depth].append(share_of_tree(tree, judged))
        found[None].append(float(certified_curve(learner, training, judged, random_state, control)[-1]))
        if control.stopped:
            return {}
    return {depth: float(np.mean(shares)) for depth, shares in found.items()}


def shortest(*limits: float | None) -> float | None:
    """Return the seconds that all limits allow; None is no limit."""
    return min((limit for limit in limits if limit is not None), default=None)


def simplest_of_the_best(scores: dict[int | None, float]) -> int | None:
    """Return the depth with the best score, the first of several; None is boosting, and where nothing was judged."""
    return max(scores, key=lambda depth: round(scores[depth], 12), default=None)


def _round_of(tree: Tree, n_scores: int, value: float) -> tuple[WeakTree, ...]:
    """Return a tree as a vote for its class, in every score against all others."""
    classes = np.arange(max(2, n_scores))
    positive = [1] if n_scores == 1 else list(range(n_scores))
    return tuple(WeakTree(tree, np.where(classes == k, value, -value), score) for score, k in enumerate(positive))


def _margins(trees: tuple[WeakTree, ...], boxes: Boxes, n_scores: int) -> np.ndarray:
    found = []
    for weak in trees:
        positive = 1 if n_scores == 1 else weak.score
        sign = np.where(boxes.label == positive, 1, -1).astype(np.int8)
        margins = TreeMargins(boxes.lower, boxes.upper, sign, 0.0)
        margins.add(weak.tree, weak.value)
        found.append(margins.total)
    return np.stack(found)
