"""Trees from and to other libraries: scikit-learn, XGBoost, LightGBM."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood.arrays import FloatArray, IntArray
from hardwood.errors import InvalidInputError
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
    from sklearn.tree._tree import Tree as InnerTree

    if tree.encoding is not None:
        raise InvalidInputError(
            "the tree has categorical features, which scikit-learn's trees do not know; convert "
            "dataclasses.replace(tree, encoding=None), which takes the indicator columns of tree.rows(X)"
        )
    n, k = tree.n_nodes, len(tree.classes)
    is_leaf = tree.left < 0
    weight = _leaves_below(tree) if node_weight is None else np.asarray(node_weight, dtype=np.float64)
    value = np.zeros((n, k))
    value[is_leaf, tree.label[is_leaf]] = weight[is_leaf]
    for node in np.flatnonzero(~is_leaf)[::-1]:
        value[node] = value[tree.left[node]] + value[tree.right[node]]
    total = value.sum(axis=1, keepdims=True)
    # A leaf without weight still answers its class; scikit-learn keeps shares, not weights.
    share = np.divide(value, total, out=np.zeros_like(value), where=total > 0)
    share[is_leaf, tree.label[is_leaf]] = 1.0

    inner = InnerTree(tree.n_features, np.array([k], dtype=np.intp), 1)
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

    model = DecisionTreeClassifier(max_depth=max(1, tree.depth), random_state=0)
    model.tree_ = inner
    model.classes_ = np.array(tree.classes)
    model.n_classes_ = k
    model.n_outputs_ = 1
    model.n_features_in_ = tree.n_features
    model.max_features_ = tree.n_features
    if tree.feature_names is not None:
        model.feature_names_in_ = np.array(tree.feature_names, dtype=object)
    return model


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


def from_xgboost(model: Any, *, tree: int | None = None) -> Tree:
    """Convert a tree of an XGBoost classifier for two classes, e.g. to evaluate it under attack.

    XGBoost sends ``x < b`` left and compares in float32; the thresholds of the result are moved so that both agree on
    every float64 input.

    Parameters
    ----------
    model : XGBClassifier or Booster
    tree : int or None
        Which tree; None for the only one. Several trees add up scores, which votes of `Tree` cannot express: such
        an ensemble as a whole is refused.
    """
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    if not hasattr(booster, "save_raw"):
        raise InvalidInputError(f"{type(model).__name__} is not a fitted XGBoost model")
    data = json.loads(bytes(booster.save_raw("json")))["learner"]
    boosted = data["gradient_booster"]
    boosted = boosted.get("gbtree", boosted)
    if "model" not in boosted:
        raise InvalidInputError("only XGBoost models made of trees (booster='gbtree') can be converted")
    if not data["objective"]["name"].startswith("binary:"):
        raise InvalidInputError(f"the objective is {data['objective']['name']!r}; only two classes are supported")
    found = boosted["model"]["trees"]
    one = found[_chosen_tree(tree, len(found))]
    if any(one.get("split_type", [])):
        raise InvalidInputError("the tree splits on categories, which cannot be converted")
    left, right = np.array(one["left_children"]), np.array(one["right_children"])
    is_leaf = left < 0
    value = np.array(one["split_conditions"], dtype=np.float32)
    prior = float(str(data["learner_model_param"]["base_score"]).strip("[]"))
    # The logistic objectives store a probability, to whose logit the leaves add.
    is_logistic = data["objective"]["name"] in ("binary:logistic", "binary:logitraw")
    offset = np.log(prior / (1 - prior)) if is_logistic else prior
    if len(found) > 1:
        offset = 0.0  # a tree of a larger model is taken by itself
    label = (value.astype(np.float64) + offset > 0).astype(np.int64)
    # x < b in float32 is x <= the float32 number before b.
    before = np.nextafter(value, np.float32(-np.inf)).astype(np.float64)
    names = data.get("feature_names") or None
    return _ordered(
        np.where(is_leaf, -1, np.array(one["split_indices"])),
        np.where(is_leaf, np.nan, _as_if_rounded_to_float32(before)),
        left,
        right,
        np.where(is_leaf, label, -1),
        getattr(model, "classes_", np.array([0, 1])),
        int(data["learner_model_param"]["num_feature"]),
        None if names is None else tuple(names),
    )


def from_lightgbm(model: Any, *, tree: int | None = None) -> Tree:
    """Convert a tree of a LightGBM classifier for two classes, e.g. to evaluate it under attack.

    Parameters
    ----------
    model : LGBMClassifier or Booster
    tree : int or None
        Which tree; None for the only one. Several trees add up scores, which votes of `Tree` cannot express: such
        an ensemble as a whole is refused.
    """
    booster = getattr(model, "booster_", model)
    if not hasattr(booster, "dump_model"):
        raise InvalidInputError(f"{type(model).__name__} is not a fitted LightGBM model")
    data = booster.dump_model()
    if not data["objective"].startswith("binary"):
        raise InvalidInputError(f"the objective is {data['objective']!r}; only two classes are supported")
    root = data["tree_info"][_chosen_tree(tree, len(data["tree_info"]))]["tree_structure"]
    rows: list[list[Any]] = []

    def add(node: dict[str, Any]) -> int:
        position = len(rows)
        if "leaf_value" in node:
            rows.append([-1, np.nan, -1, -1, int(node["leaf_value"] > 0)])
            return position
        if node["decision_type"] != "<=":
            raise InvalidInputError("the tree splits on categories, which cannot be converted")
        rows.append([node["split_feature"], node["threshold"], -1, -1, -1])
        rows[position][2] = add(node["left_child"])
        rows[position][3] = add(node["right_child"])
        return position

    add(root)
    feature, threshold, left, right, label = (np.array(column) for column in zip(*rows, strict=True))
    return Tree(
        feature,
        threshold,
        left,
        right,
        label,
        getattr(model, "classes_", np.array([0, 1])),
        data["max_feature_idx"] + 1,
        tuple(data["feature_names"]),
    )


def _chosen_tree(tree: int | None, count: int) -> int:
    if tree is None:
        if count != 1:
            raise InvalidInputError(
                f"the model adds up the scores of {count} trees, which a single tree or a vote cannot express; "
                "say which one to convert with tree=..., or learn with one round"
            )
        return 0
    if not 0 <= tree < count:
        raise InvalidInputError(f"tree={tree!r}; the model has trees 0 to {count - 1}")
    return tree


def _ordered(
    feature: IntArray,
    threshold: FloatArray,
    left: IntArray,
    right: IntArray,
    label: IntArray,
    classes: NDArray[Any],
    n_features: int,
    names: tuple[str, ...] | None,
) -> Tree:
    """Build a tree from nodes in any order and without those that the root does not reach."""
    order: list[int] = []
    waiting = [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        if left[node] >= 0:
            waiting += [int(right[node]), int(left[node])]
    position = np.full(len(left) + 1, -1)
    position[order] = np.arange(len(order))
    return Tree(
        feature[order],
        threshold[order],
        position[left[order]],
        position[right[order]],
        label[order],
        classes,
        n_features,
        names,
    )
