"""Trees from and to other libraries."""

from __future__ import annotations

from typing import Any

import numpy as np

from hardwood.errors import InvalidInputError
from hardwood.tree import FloatArray, Tree


def from_sklearn(estimator: Any, feature_names: tuple[str, ...] | None = None) -> Tree:
    """Convert a fitted scikit-learn decision tree classifier, e.g. to evaluate it under attack.

    scikit-learn rounds its input to float32 before it compares. The thresholds of the result are moved to where that
    rounding tips over, so that both trees agree on every float64 input.
    """
    inner = getattr(estimator, "tree_", None)
    if inner is None or not hasattr(estimator, "classes_"):
        raise InvalidInputError(f"{estimator!r} is not a fitted scikit-learn decision tree classifier")
    if inner.n_outputs != 1:
        raise InvalidInputError(f"the tree has {inner.n_outputs} outputs; only one is supported")
    is_leaf = inner.children_left < 0
    names = getattr(estimator, "feature_names_in_", None)
    if feature_names is None and names is not None:
        feature_names = tuple(names)
    return Tree(
        feature=np.where(is_leaf, -1, inner.feature),
        threshold=np.where(is_leaf, np.nan, _as_if_rounded_to_float32(inner.threshold)),
        left=np.where(is_leaf, -1, inner.children_left),
        right=np.where(is_leaf, -1, inner.children_right),
        label=np.where(is_leaf, inner.value[:, 0, :].argmax(axis=1), -1),
        classes=estimator.classes_,
        n_features=int(inner.n_features),
        feature_names=feature_names,
    )


def _as_if_rounded_to_float32(threshold: FloatArray) -> FloatArray:
    """Return the largest float64 values that still are at most the thresholds after rounding to float32."""
    nearest = threshold.astype(np.float32)
    below = np.where(nearest.astype(np.float64) > threshold, np.nextafter(nearest, np.float32(-np.inf)), nearest)
    above = np.nextafter(below, np.float32(np.inf))
    middle = (below.astype(np.float64) + above.astype(np.float64)) / 2
    rounds_up = middle.astype(np.float32) == above
    return np.asarray(np.where(rounds_up, np.nextafter(middle, -np.inf), middle))
