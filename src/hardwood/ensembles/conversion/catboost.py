"""CatBoost's oblivious trees, from the JSON that ``save_model(path, format="json")`` writes.

Every level of such a tree asks one question, ``x > border`` in float32; the answers are the bits of the leaf's number.
Leaves add in float64. The second of two classes is answered iff the sum exceeds 0.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hardwood.ensembles.scores import Ensemble, Link, Rule, TreeOfScores
from hardwood.errors import InvalidInputError
from hardwood.export.float32 import as_if_rounded_to_float32

MOST_LEVELS = 20


def convert(model: Any) -> Ensemble | None:
    """Convert a fitted classifier; None if the model is none."""
    if type(model).__module__.split(".")[0] != "catboost":
        return None
    if not hasattr(model, "save_model") or not hasattr(model, "classes_"):
        raise InvalidInputError(f"{type(model).__name__} is not a classifier")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        return from_json(json.loads(path.read_text(encoding="utf-8")), model=model)


def from_json(data: Mapping[str, Any], *, model: Any = None) -> Ensemble:
    """Convert a model as CatBoost writes it."""
    if "oblivious_trees" not in data:
        raise InvalidInputError("the trees of the model are not oblivious; learn with grow_policy='SymmetricTree'")
    info = data["features_info"]
    if info.get("categorical_features") or info.get("text_features") or info.get("embedding_features"):
        raise InvalidInputError("the model has features that are no numbers, which cannot be converted")
    features = info["float_features"]
    scale, bias = data["scale_and_bias"]
    n_scores = len(bias)
    labels = data["model_info"].get("class_params", {}).get("class_names")
    classes = np.arange(max(2, n_scores)) if labels is None else np.array(labels)
    column = {int(one["feature_index"]): int(one["flat_feature_index"]) for one in features}
    goes_right = {int(one["feature_index"]): one.get("nan_value_treatment") == "AsTrue" for one in features}
    names = [str(one.get("feature_id") or "") for one in features]
    return Ensemble(
        [_tree(tree, n_scores, float(scale), column, goes_right) for tree in data["oblivious_trees"]],
        np.array(bias, np.float64),
        Rule(Link.CUTOFF, cutoff=float(np.nextafter(0.0, 1.0))) if n_scores == 1 else Rule(),
        classes,
        max(column.values()) + 1,
        tuple(names) if all(names) and len(names) == max(column.values()) + 1 else None,
        takes_missing=all(one.get("nan_value_treatment") in ("AsTrue", "AsFalse") for one in features),
        library="CatBoost",
        model=model,
    )


def _tree(
    tree: Mapping[str, Any], n_scores: int, scale: float, column: Mapping[int, int], goes_right: Mapping[int, bool]
) -> TreeOfScores:
    """Unfold the levels, the last question first: node i of a level has the children 2 i and 2 i + 1 of the next."""
    splits = tree["splits"] or []
    levels = len(splits)
    if levels > MOST_LEVELS:
        raise InvalidInputError(f"a tree of {levels} levels; at most {MOST_LEVELS} can be converted")
    if any(split.get("split_type", "FloatFeature") != "FloatFeature" for split in splits):
        raise InvalidInputError("the model splits on categories, which cannot be converted")
    leaf = np.asarray(tree["leaf_values"], np.float64).reshape(-1, n_scores) * scale
    if len(leaf) != 1 << levels:
        raise InvalidInputError(f"a tree of {levels} levels needs {1 << levels} leaves, not {len(leaf)}")
    inside = (1 << levels) - 1
    n = inside + len(leaf)
    feature, threshold = np.full(n, -1), np.full(n, np.nan)
    left, right, missing = np.full(n, -1), np.full(n, -1), np.zeros(n, bool)
    value = np.zeros((n, n_scores))
    for level, split in enumerate(reversed(splits)):
        here = slice((1 << level) - 1, (2 << level) - 1)
        border = float(np.float32(split["border"]))
        index = int(split["float_feature_index"])
        feature[here] = column[index]
        threshold[here] = as_if_rounded_to_float32(np.array([border]))[0]
        missing[here] = not goes_right[index]
        left[here] = 2 * np.arange(n)[here] + 1
        right[here] = 2 * np.arange(n)[here] + 2
    value[inside:] = leaf
    return TreeOfScores.ordered(feature, threshold, left, right, value, missing)
