"""hardwood's own trees and forests."""

from __future__ import annotations

from typing import Any

import numpy as np

from hardwood.ensembles.scores import Ensemble, Link, Rule, TreeOfScores
from hardwood.ensembles.voting import VotingEnsemble
from hardwood.errors import InvalidInputError
from hardwood.tree.tree import Tree


def convert(model: Any) -> Ensemble | None:
    """Convert a tree, an ensemble that votes, or an estimator that has learned one of them."""
    trees = _trees_of(model)
    if trees is None:
        return None
    first = trees[0]
    if any(tree.encoding is not None for tree in trees):
        raise InvalidInputError(
            "the tree has categorical features, which an ensemble of scores does not know; "
            "adversarial_accuracy(tree, ...) evaluates it exactly"
        )
    return Ensemble(
        [scored(tree) for tree in trees],
        np.zeros(len(first.classes)),
        Rule(Link.ARGMAX, divisor=1.0),
        first.classes,
        first.n_features,
        first.feature_names,
        takes_missing=all(tree.missing_left is not None for tree in trees),
        library="hardwood",
    )


def scored(tree: Tree) -> TreeOfScores:
    """Return a tree that gives 1 to the class of the leaf and 0 to the others."""
    is_leaf = tree.left < 0
    value = np.zeros((tree.n_nodes, len(tree.classes)))
    value[is_leaf, tree.label[is_leaf]] = 1.0
    missing = np.zeros(tree.n_nodes, bool) if tree.missing_left is None else tree.missing_left
    return TreeOfScores(tree.feature, tree.threshold, tree.left, tree.right, value, missing)


def _trees_of(model: Any) -> tuple[Tree, ...] | None:
    if isinstance(model, Tree):
        return (model,)
    if isinstance(model, VotingEnsemble):
        return model.trees
    if type(model).__module__.split(".")[0] != "hardwood":
        return None
    for name in ("trees_", "tree_", "tree"):
        found = getattr(model, name, None)
        if isinstance(found, Tree):
            return (found,)
        if isinstance(found, tuple) and found and all(isinstance(tree, Tree) for tree in found):
            return found
    return None
