"""Trees from and to scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np

from hardwood.arrays import FloatArray
from hardwood.errors import InvalidInputError
from hardwood.export.float32 import as_if_rounded_to_float32
from hardwood.tree.tree import Tree


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
        threshold=np.where(is_leaf, np.nan, as_if_rounded_to_float32(inner.threshold)),
        left=np.where(is_leaf, -1, inner.children_left),
        right=np.where(is_leaf, -1, inner.children_right),
        label=np.where(is_leaf, inner.value[:, 0, :].argmax(axis=1), -1),
        classes=estimator.classes_,
        n_features=int(inner.n_features),
        feature_names=feature_names,
    )


def to_sklearn(tree: Tree, node_weight: FloatArray | None = None) -> Any:
    """Convert a tree to a fitted scikit-learn ``DecisionTreeClassifier`` that gives the same answers.

    With it come ``sklearn.tree.plot_tree``, ``export_text``, ``export_graphviz``, and whatever reads scikit-learn's
    trees: ONNX converters, SHAP, dtreeviz.

    scikit-learn and ONNX round inputs to float32 before they compare. Every threshold is therefore moved to a float32
    number inside its margin, on the same side of all training boxes after these are rounded, too; where rounding makes
    the two sides equal, the tree is refused. Then both trees agree on all training samples, wherever the attacker moves
    them, and on every input that float32 can hold, except between the old and the new threshold.

    Parameters
    ----------
    tree : Tree
    node_weight : float array of shape (n_nodes,) or None
        Weight of the samples at each node, which plots and SHAP show; by default every leaf weighs 1.

    Returns
    -------
    sklearn.tree.DecisionTreeClassifier
    """
    from sklearn.tree import DecisionTreeClassifier

    if tree.encoding is not None:
        raise InvalidInputError(
            "the tree has categorical features, which scikit-learn's trees do not know; convert "
            "dataclasses.replace(tree, encoding=None), which takes the indicator columns of tree.rows(X)"
        )
    weight = _leaves_below(tree) if node_weight is None else np.asarray(node_weight, dtype=np.float64)
    model = DecisionTreeClassifier(max_depth=max(1, tree.depth), random_state=0)
    model.tree_ = _inner_tree(tree, weight)
    model.classes_ = np.array(tree.classes)
    model.n_classes_ = len(tree.classes)
    model.n_outputs_ = 1
    model.n_features_in_ = tree.n_features
    model.max_features_ = tree.n_features
    if tree.feature_names is not None:
        model.feature_names_in_ = np.array(tree.feature_names, dtype=object)
    return model


def _shares(tree: Tree, weight: FloatArray) -> FloatArray:
    """Return the share of each class at each node, given the weight of each leaf."""
    is_leaf = tree.left < 0
    value = np.zeros((tree.n_nodes, len(tree.classes)))
    value[is_leaf, tree.label[is_leaf]] = weight[is_leaf]
    for node in np.flatnonzero(~is_leaf)[::-1]:
        value[node] = value[tree.left[node]] + value[tree.right[node]]
    total = value.sum(axis=1, keepdims=True)
    # A leaf without weight still answers its class; scikit-learn keeps shares, not weights.
    share: FloatArray = np.divide(value, total, out=np.zeros_like(value), where=total > 0)
    share[is_leaf, tree.label[is_leaf]] = 1.0
    return share


def _inner_tree(tree: Tree, weight: FloatArray) -> Any:
    """Return the arrays that scikit-learn's classifier wraps."""
    from sklearn.tree._tree import Tree as InnerTree

    n, is_leaf, share = tree.n_nodes, tree.left < 0, _shares(tree, weight)
    inner = InnerTree(tree.n_features, np.array([len(tree.classes)], dtype=np.intp), 1)
    state = inner.__getstate__()
    nodes = np.zeros(n, dtype=state["nodes"].dtype)
    nodes["left_child"], nodes["right_child"] = tree.left, tree.right
    nodes["feature"] = np.where(is_leaf, -2, tree.feature)
    nodes["threshold"] = np.where(is_leaf, -2.0, _safe_in_float32(tree))
    nodes["impurity"] = 1 - (share**2).sum(axis=1)
    nodes["n_node_samples"] = np.maximum(1, np.rint(weight)).astype(np.int64)
    nodes["weighted_n_node_samples"] = weight
    if tree.missing_left is not None:
        nodes["missing_go_to_left"] = tree.missing_left
    inner.__setstate__({**state, "max_depth": tree.depth, "node_count": n, "nodes": nodes, "values": share[:, None, :]})
    return inner


def _leaves_below(tree: Tree) -> FloatArray:
    count = np.ones(tree.n_nodes)
    for node in np.flatnonzero(tree.left >= 0)[::-1]:
        count[node] = count[tree.left[node]] + count[tree.right[node]]
    return count


def _safe_in_float32(tree: Tree) -> FloatArray:
    """Return float32 thresholds that treat the float32 roundings of all training boxes as the tree treats the boxes."""
    safe = tree.threshold.copy()
    for node in np.flatnonzero(tree.left >= 0):
        low, high = (np.nan, np.nan) if tree.margin is None else tree.margin[node]
        where = f"the split {tree.condition(int(node), left=True, digits=17)!r}"
        if abs(tree.threshold[node]) > np.finfo(np.float32).max:
            raise InvalidInputError(f"{where} lies outside of what float32 can hold; rescale the feature")
        nearest = np.float32(tree.threshold[node])
        if nearest > tree.threshold[node]:
            # So that inputs that float32 can hold are compared as before.
            nearest = np.nextafter(nearest, np.float32(-np.inf))
        with np.errstate(over="ignore"):
            below = np.float32(-np.inf if np.isnan(low) else low)
            above = np.float32(np.inf if np.isnan(high) else high)
        if not below < above:
            raise InvalidInputError(
                f"{where} separates values between {low!r} and {high!r}, which are equal once they are rounded to "
                "float32 as scikit-learn does; subtract a constant from the feature or rescale it before learning"
            )
        safe[node] = max(below, min(nearest, np.nextafter(above, np.float32(-np.inf))))
    return safe
