"""Harden a model that somebody has learned: keep where its trees split, learn anew what their leaves say.

The values of the leaves are fitted tree by tree, in the order of the model, to the loss of the margins that an attacker
leaves, as in robust boosting (`hardwood.ensembles.boosting`), where the trees would also be found. So what is lost
under attack can be compared at equal size: the model as it is, the model with other leaves, and trees learned for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hardwood import _core
from hardwood.ensembles.boosting.boosted import Boosted, WeakTree
from hardwood.ensembles.boosting.learner import FITTING_ROUNDS, LARGEST_VALUE, best_constant, leaf_groups, on_grid
from hardwood.ensembles.boosting.margins import TreeMargins
from hardwood.ensembles.conversion import as_ensemble
from hardwood.ensembles.scores import Ensemble, TreeOfScores
from hardwood.errors import InvalidInputError
from hardwood.problem.problem import Problem, prepare
from hardwood.tree.tree import Tree


def harden_leaves(
    model: Any,
    X: Any,
    y: Any,
    attack: Any,
    *,
    learning_rate: float = 0.3,
    l2_regularization: float = 1.0,
    sample_weight: Any = None,
) -> Ensemble:
    """Return an ensemble with the splits of a model and leaves that are fitted against an attacker.

    Parameters
    ----------
    model : anything `as_ensemble` takes
        Without categories.
    X : array-like of shape (n_samples, n_features)
        Training data, in the units that the model takes.
    y : array-like of shape (n_samples,)
    attack : anything `AttackModel.parse` takes
    learning_rate, l2_regularization : float
        As in `RobustBoostingClassifier`.
    sample_weight : array-like of shape (n_samples,) or None
    """
    given = as_ensemble(model)
    problem = prepare(X, y, attack, sample_weight=sample_weight, feature_names=given.feature_names)
    if problem.n_features != given.n_features or not np.array_equal(problem.classes, np.sort(given.classes)):
        raise InvalidInputError(
            f"the model was learned on {given.n_features} features and the classes {given.classes.tolist()}, the data "
            f"have {problem.n_features} features and the classes {problem.classes.tolist()}"
        )
    n_scores = 1 if problem.n_classes == 2 else problem.n_classes
    base, rounds = [], []
    for score in range(n_scores):
        positive = 1 if n_scores == 1 else score
        sign = np.where(problem.label == positive, 1, -1).astype(np.int8)
        base.append(float(on_grid(np.float64(best_constant(sign, problem.weight, "logistic")))))
        margins = TreeMargins(problem.lower, problem.upper, sign, base[-1])
        found = []
        for tree in given.trees:
            weak = _fitted(
                _with_numbered_leaves(tree, given), margins, problem, score, learning_rate, l2_regularization
            )
            margins.add(weak.tree, weak.value)
            found.append(weak)
        rounds.append(tuple(found))
    return Boosted(np.array(base), tuple(rounds), (), "rounds").ensemble(problem)


def _with_numbered_leaves(tree: TreeOfScores, given: Ensemble) -> Tree:
    is_leaf = tree.left < 0
    return Tree(
        tree.feature,
        tree.threshold,
        tree.left,
        tree.right,
        np.where(is_leaf, np.cumsum(is_leaf) - 1, -1),
        np.arange(int(is_leaf.sum())),
        given.n_features,
        given.feature_names,
    ).without_empty_leaves


def _fitted(
    tree: Tree, margins: TreeMargins, problem: Problem, score: int, learning_rate: float, l2: float
) -> WeakTree:
    leaves = margins.leaves_of(tree)
    groups = list(leaf_groups(tree))
    start = np.concatenate([[0], np.cumsum([len(group) for group in groups])]).astype(np.int64)
    value, _ = _core.fit_leaves(
        leaves.rest, margins.sign, problem.weight, leaves.start, leaves.leaf, leaves.offset, start,
        np.concatenate(groups).astype(np.int32), len(tree.classes), False, l2, LARGEST_VALUE, FITTING_ROUNDS,
    )  # fmt: skip
    return WeakTree(tree, on_grid(learning_rate * value), score)
