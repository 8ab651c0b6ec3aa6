"""Trees from LightGBM."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from hardwood.errors import InvalidInputError
from hardwood.export.boosted import chosen_tree
from hardwood.tree.tree import Tree

_ZERO = float(np.float32(1e-35))
"""LightGBM takes numbers that are at most so far from 0 for 0, and puts thresholds there where the data hold zeros."""


def largest_on_the_left(threshold: float) -> float:
    """Return the largest number that LightGBM sends to the left of a threshold."""
    if -_ZERO <= threshold < 0:
        return math.nextafter(-_ZERO, -math.inf)
    return _ZERO if 0 <= threshold < _ZERO else threshold


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
    root = data["tree_info"][chosen_tree(tree, len(data["tree_info"]))]["tree_structure"]
    rows: list[list[Any]] = []

    def add(node: dict[str, Any]) -> int:
        position = len(rows)
        if "leaf_value" in node:
            rows.append([-1, np.nan, -1, -1, int(node["leaf_value"] > 0)])
            return position
        if node["decision_type"] != "<=":
            raise InvalidInputError("the tree splits on categories, which cannot be converted")
        if node.get("missing_type") == "Zero":
            raise InvalidInputError("the model takes zeros for missing values (zero_as_missing), which a Tree does not")
        rows.append([node["split_feature"], largest_on_the_left(node["threshold"]), -1, -1, -1])
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
