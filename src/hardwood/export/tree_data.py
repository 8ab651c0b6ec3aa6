"""Trees as plain data, the way model files and experiment records hold them, and back.

Reading trusts nothing: types, lengths, ranges, text and numbers are looked at here, the shape of the tree by `Tree`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from hardwood.arrays import BoolArray, FloatArray
from hardwood.data.categories import CategoryEncoding
from hardwood.errors import InvalidInputError
from hardwood.plain_data import (
    as_entries,
    as_flag,
    as_items,
    as_labels,
    as_number,
    as_texts,
    as_whole,
    as_wholes,
    label_array,
)
from hardwood.tree.tree import Tree

MOST_FEATURES = 2**24
_REQUIRED = ("classes", "n_features", "feature_names", "feature", "threshold", "left", "right", "label")


def tree_to_data(tree: Tree) -> dict[str, Any]:
    """Return a tree as data that JSON can hold."""
    for one in tree.classes.tolist():
        if not isinstance(one, bool | int | float | str) or (isinstance(one, float) and not math.isfinite(one)):
            raise InvalidInputError(
                f"class label {one!r} ({type(one).__name__}) cannot be stored as JSON; use text or numbers"
            )
    is_leaf = tree.left < 0
    return {
        "classes": as_labels(tree.classes.tolist(), "classes"),
        "n_features": tree.n_features,
        "feature_names": None if tree.feature_names is None else list(as_texts(tree.feature_names, "feature_names")),
        "feature": tree.feature.tolist(),
        "threshold": [None if leaf else float(t) for t, leaf in zip(tree.threshold, is_leaf, strict=True)],
        "left": tree.left.tolist(),
        "right": tree.right.tolist(),
        "label": tree.label.tolist(),
        "margin": None
        if tree.margin is None
        else [[float(end) if np.isfinite(end) else None for end in ends] for ends in tree.margin],
        "missing_left": None if tree.missing_left is None else tree.missing_left.tolist(),
        "encoding": None if tree.encoding is None else tree.encoding.to_dict(),
    }


def tree_from_data(data: Mapping[str, Any], where: str = "the tree") -> Tree:
    """Return the tree that data describe; anything that is not a whole, well-formed tree is refused."""
    data = as_entries(data, where, _REQUIRED)
    classes = label_array(as_labels(data["classes"], f"classes of {where}"))
    n_features = as_whole(data["n_features"], f"n_features of {where}", 1, MOST_FEATURES)
    feature = as_wholes(data["feature"], f"feature of {where}", None, -1, n_features - 1)
    n = len(feature)
    left, right = (as_wholes(data[side], f"{side} of {where}", n, -1, n - 1) for side in ("left", "right"))
    names, encoding, missing_left = (data.get(key) for key in ("feature_names", "encoding", "missing_left"))
    threshold = _thresholds(data["threshold"], f"threshold of {where}", n)
    margin = data.get("margin")
    tree = Tree(
        feature=feature,
        threshold=threshold,
        left=left,
        right=right,
        label=as_wholes(data["label"], f"label of {where}", n, -1, len(classes) - 1),
        classes=classes,
        n_features=n_features,
        feature_names=None if names is None else as_texts(names, f"feature_names of {where}", n_features),
        margin=None if margin is None else _margins(margin, f"margin of {where}", threshold),
        missing_left=None if missing_left is None else _flags(missing_left, f"missing_left of {where}", n),
        encoding=None if encoding is None else CategoryEncoding.from_dict(encoding),
    )
    _check_leaves(tree, where)
    return tree


def _flags(value: Any, where: str, count: int) -> BoolArray:
    listed = as_items(value, where, count)
    return np.array([as_flag(entry, f"{where}[{k}]") for k, entry in enumerate(listed)], dtype=bool)


def _thresholds(value: Any, where: str, count: int) -> FloatArray:
    listed = as_items(value, where, count)
    return np.array([np.nan if t is None else as_number(t, f"{where}[{k}]") for k, t in enumerate(listed)])


def _margins(value: Any, where: str, threshold: FloatArray) -> FloatArray:
    """Read the nearest ends below and above each threshold, between which it must lie."""
    margin = np.full((len(threshold), 2), np.nan)
    for k, ends in enumerate(as_items(value, where, len(threshold))):
        for side, end in enumerate(as_items(ends, f"{where}[{k}]", 2)):
            if end is not None:
                margin[k, side] = as_number(end, f"{where}[{k}][{side}]")
    outside = (threshold < margin[:, 0]) | (threshold >= margin[:, 1])
    if np.any(outside):
        node = int(np.flatnonzero(outside)[0])
        raise InvalidInputError(
            f"{where}[{node}] is {margin[node].tolist()}; the threshold {threshold[node]} must lie in it"
        )
    return margin


def _check_leaves(tree: Tree, where: str) -> None:
    """Refuse entries where they mean nothing: the file was damaged or made by hand."""
    is_leaf = tree.left < 0
    for name, wrong in (
        ("feature", is_leaf & (tree.feature != -1)),
        ("threshold", is_leaf & ~np.isnan(tree.threshold)),
        ("label", ~is_leaf & (tree.label != -1)),
    ):
        if np.any(wrong):
            kind = "a split" if name == "label" else "a leaf"
            raise InvalidInputError(f"{name} of {where}: node {int(np.flatnonzero(wrong)[0])} is {kind}, it has none")
