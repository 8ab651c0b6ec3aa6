"""scikit-learn's `CalibratedClassifierCV` around single trees.

A tree gives every point of a leaf the same shares of classes, so a calibrator makes of each leaf one vector of
probabilities, and the calibrated model averages these over its trees: a forest with probabilities at its leaves. What
stands at a leaf is asked of the library itself, at a point inside.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from hardwood.arrays import FloatArray
from hardwood.ensembles.scores import Ensemble, Rule, TreeOfScores
from hardwood.errors import InvalidInputError
from hardwood.export import from_sklearn
from hardwood.tree.tree import Tree


def convert(model: Any) -> Ensemble | None:
    """Convert a fitted model; None if it is no calibrated one."""
    if type(model).__name__ != "CalibratedClassifierCV" or not hasattr(model, "estimator"):
        return None
    if not hasattr(model, "calibrated_classifiers_"):
        raise InvalidInputError("CalibratedClassifierCV is not fitted; call fit first")
    trees = [_tree(one) for one in model.calibrated_classifiers_]
    names = getattr(model, "feature_names_in_", None)
    return Ensemble(
        trees,
        np.zeros(len(model.classes_)),
        Rule(divisor=float(len(trees))),
        model.classes_,
        int(model.n_features_in_),
        None if names is None else tuple(str(name) for name in names),
        library="scikit-learn CalibratedClassifierCV",
        model=model,
    )


def _tree(calibrated: Any) -> TreeOfScores:
    inner = getattr(calibrated.estimator, "tree_", None)
    tree = inner if isinstance(inner, Tree) else None
    if tree is None and hasattr(inner, "children_left"):
        tree = from_sklearn(calibrated.estimator)
    if tree is None or tree.encoding is not None or tree.missing_left is not None:
        raise InvalidInputError(
            f"CalibratedClassifierCV of {type(calibrated.estimator).__name__} cannot be converted; only of single "
            "trees on numbers without gaps"
        )
    whole = tree.without_empty_leaves
    value = np.zeros((whole.n_nodes, len(calibrated.classes)))
    leaves = np.flatnonzero(whole.left < 0)
    points = _inside(whole)
    # By leaf, not by position: regions come in an order of their own.
    with warnings.catch_warnings():
        # Only the answers matter here, not remarks on names of features that an array has not.
        warnings.simplefilter("ignore")
        value[whole.apply(points)] = calibrated.predict_proba(points)
    assert len(np.unique(whole.apply(points))) == len(leaves)
    return TreeOfScores.ordered(whole.feature, whole.threshold, whole.left, whole.right, value)


def _inside(tree: Tree) -> FloatArray:
    """Return a point of every leaf."""
    low, high, _ = tree.regions()
    # The upper end belongs to a leaf; where there is none, the next number above the lower one does.
    above = np.nextafter(np.where(np.isfinite(low), low, 0.0), np.inf)
    return np.where(np.isfinite(high), high, np.where(np.isfinite(low), above, 0.0))
