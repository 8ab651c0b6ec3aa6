"""Trees from XGBoost."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood.arrays import FloatArray, IntArray
from hardwood.errors import InvalidInputError
from hardwood.export.boosted import chosen_tree
from hardwood.export.float32 import as_if_rounded_to_float32
from hardwood.tree.tree import Tree


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
    one = found[chosen_tree(tree, len(found))]
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
        np.where(is_leaf, np.nan, as_if_rounded_to_float32(before)),
        left,
        right,
        np.where(is_leaf, label, -1),
        getattr(model, "classes_", np.array([0, 1])),
        int(data["learner_model_param"]["num_feature"]),
        None if names is None else tuple(names),
    )


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
