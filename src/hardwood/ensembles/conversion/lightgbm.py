"""LightGBM: classifiers, boosters, and models saved as text or dumped as JSON.

LightGBM compares and adds in float64. A missing value goes where the split says, or, at splits that saw none, where 0
goes. Numbers next to 0 are taken for 0. The second of two classes is answered iff its probability p exceeds 1 - p as
both are rounded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from hardwood.ensembles.scores import Ensemble, Link, Rule, TreeOfScores
from hardwood.errors import InvalidInputError
from hardwood.export.lightgbm import largest_on_the_left

_CATEGORICAL, _DEFAULT_LEFT = 1, 2
_MISSING_TYPES = ("None", "Zero", "NaN")


def convert(model: Any) -> Ensemble | None:
    """Convert a classifier or a booster; None if the model is neither."""
    if type(model).__module__.split(".")[0] != "lightgbm":
        return None
    if hasattr(model, "predict") and not hasattr(model, "model_to_string") and not hasattr(model, "_le"):
        raise InvalidInputError(f"{type(model).__name__} is not a fitted classifier")
    booster = getattr(model, "booster_", model)
    if not hasattr(booster, "model_to_string"):
        return None
    return from_text(booster.model_to_string(), classes=getattr(model, "classes_", None), model=model)


def from_text(text: str, *, classes: Any = None, model: Any = None) -> Ensemble:
    """Convert a model as ``Booster.save_model`` writes it."""
    head, *parts = text.split("end of trees")[0].split("\nTree=")
    if not parts:
        raise InvalidInputError("there is no tree in this LightGBM model")
    header = _fields(head)
    return _ensemble(
        [_tree_from_text(_fields(part)) for part in parts],
        header.get("objective", ""),
        int(header["num_class"]),
        int(header["num_tree_per_iteration"]),
        "average_output" in head.splitlines(),
        int(header["max_feature_idx"]) + 1,
        tuple(header["feature_names"].split(" ")),
        classes,
        model,
    )


def from_json(data: Mapping[str, Any], *, classes: Any = None) -> Ensemble:
    """Convert a model as ``Booster.dump_model`` gives it."""
    return _ensemble(
        [_tree_from_json(tree["tree_structure"]) for tree in data["tree_info"]],
        str(data.get("objective", "")),
        int(data["num_class"]),
        int(data["num_tree_per_iteration"]),
        bool(data.get("average_output", False)),
        int(data["max_feature_idx"]) + 1,
        tuple(str(name) for name in data["feature_names"]),
        classes,
        None,
    )


_Nodes = tuple[list[Any], list[Any], list[Any], list[Any], list[Any], list[Any]]


def _fields(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if "=" in line)


def _goes_left(missing_type: str, default_left: bool, threshold: float) -> bool:
    if missing_type == "Zero":
        raise InvalidInputError(
            "the model takes 0 for missing (zero_as_missing=true), so its splits are not thresholds; "
            "learn without it to convert it"
        )
    return default_left if missing_type == "NaN" else threshold >= 0


def _tree_from_text(fields: dict[str, str]) -> _Nodes:
    """Return feature, threshold, left, right, value and missing_left; splits first, then leaves."""
    leaves = [float(part) for part in fields["leaf_value"].split()]
    if int(fields.get("is_linear", 0)):
        raise InvalidInputError("the leaves of the model are linear functions (linear_tree=true)")
    if int(fields["num_leaves"]) <= 1:
        return [-1], [math.nan], [-1], [-1], leaves[:1], [False]
    threshold = [float(part) for part in fields["threshold"].split()]
    kinds = [int(part) for part in fields["decision_type"].split()]
    if any(kind & _CATEGORICAL for kind in kinds):
        raise InvalidInputError("the model splits on categories, which cannot be converted")
    n = len(threshold)
    # A leaf is named by the complement of its number.
    left, right = (
        [child if child >= 0 else n + ~child for child in map(int, fields[side].split())]
        for side in ("left_child", "right_child")
    )
    missing = [
        _goes_left(_MISSING_TYPES[min(2, (kind >> 2) & 3)], bool(kind & _DEFAULT_LEFT), b)
        for kind, b in zip(kinds, threshold, strict=True)
    ]
    k = len(leaves)
    return (
        [*map(int, fields["split_feature"].split()), *[-1] * k],
        [*threshold, *[math.nan] * k],
        [*left, *[-1] * k],
        [*right, *[-1] * k],
        [*[0.0] * n, *leaves],
        [*missing, *[False] * k],
    )


def _tree_from_json(root: Mapping[str, Any]) -> _Nodes:
    columns: _Nodes = ([], [], [], [], [], [])

    def add(row: tuple[Any, ...]) -> None:
        for column, entry in zip(columns, row, strict=True):
            column.append(entry)

    waiting: list[tuple[Mapping[str, Any], int, int]] = [(root, -1, -1)]
    while waiting:
        node, parent, side = waiting.pop()
        position = len(columns[0])
        if parent >= 0:
            columns[side][parent] = position
        if "split_feature" not in node:
            add((-1, math.nan, -1, -1, float(node["leaf_value"]), False))
            continue
        if node["decision_type"] != "<=":
            raise InvalidInputError("the model splits on categories, which cannot be converted")
        threshold = float(node["threshold"])
        missing = _goes_left(node.get("missing_type", "None"), bool(node.get("default_left")), threshold)
        add((int(node["split_feature"]), threshold, -1, -1, 0.0, missing))
        waiting += [(node["left_child"], position, 2), (node["right_child"], position, 3)]
    return columns


def _ensemble(
    trees: list[_Nodes],
    objective: str,
    num_class: int,
    per_round: int,
    average: bool,
    n_features: int,
    names: tuple[str, ...],
    classes: Any,
    model: Any,
) -> Ensemble:
    kind, *options = objective.split(" ")
    slope = next((float(option.split(":")[1]) for option in options if option.startswith("sigmoid:")), 1.0)
    if kind not in ("binary", "multiclass", "multiclassova"):
        raise InvalidInputError(f"the objective is {objective!r}; only binary, multiclass and multiclassova classify")
    n_scores = num_class if kind != "binary" else 1
    if per_round != n_scores or slope <= 0:
        raise InvalidInputError(f"{per_round} trees in a round and a sigmoid of {slope} for {n_scores} scores")
    divisor = float(len(trees) // per_round) if average else 1.0
    rule = {
        "binary": Rule(Link.CUTOFF, divisor=divisor, cutoff=_first_above_half(slope)),
        "multiclass": Rule(Link.SOFTMAX, divisor=divisor),
        "multiclassova": Rule(Link.LOGISTIC, divisor=divisor, slope=slope),
    }[kind]
    converted = []
    for t, (feature, threshold, left, right, leaf, missing) in enumerate(trees):
        value = np.zeros((len(leaf), n_scores))
        value[:, t % n_scores] = leaf
        cuts = [largest_on_the_left(cut) for cut in threshold]
        converted.append(TreeOfScores.ordered(feature, cuts, left, right, value, missing))
    default = np.arange(max(2, n_scores))
    unnamed = names == tuple(f"Column_{j}" for j in range(n_features))
    return Ensemble(
        converted,
        np.zeros(n_scores),
        rule,
        default if classes is None else classes,
        n_features,
        None if unnamed else names,
        takes_missing=True,
        library="LightGBM",
        model=model if classes is not None else None,
    )


def _first_above_half(slope: float) -> float:
    """Return the least score whose probability p, in float64, exceeds 1 - p."""

    def exceeds(score: float) -> bool:
        p = 1.0 / (1.0 + math.exp(-slope * score))
        return p > 1.0 - p

    low, high = 0, int(np.float64(1.0 / slope).view(np.int64))
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if exceeds(float(np.int64(middle).view(np.float64))) else (middle, high)
    return float(np.int64(high).view(np.float64))
