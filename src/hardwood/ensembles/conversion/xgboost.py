"""XGBoost: classifiers, boosters, and models saved as JSON.

XGBoost rounds its input to float32, sends ``x < b`` left and adds float32 leaves to the base score in float32, in the
order of the trees. With a logistic objective the classifier answers the second class iff the float32 probability
exceeds one half, which is so from a margin slightly above 0 on.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from hardwood.arrays import FloatArray
from hardwood.ensembles.conversion.thresholds import before_in_float32
from hardwood.ensembles.scores import Ensemble, Link, Rule, TreeOfScores
from hardwood.errors import InvalidInputError
from hardwood.export.float32 import as_if_rounded_to_float32


def convert(model: Any) -> Ensemble | None:
    """Convert a classifier or a booster; None if the model is neither."""
    if type(model).__module__.split(".")[0] != "xgboost":
        return None
    if not hasattr(model, "get_booster"):
        if not hasattr(model, "save_raw"):
            return None
        return from_json(json.loads(bytes(model.save_raw("json"))), rounds=None)
    if not hasattr(model, "classes_"):
        raise InvalidInputError(f"{type(model).__name__} is not a classifier")
    if model.missing is not None and not np.isnan(model.missing):
        raise InvalidInputError(f"missing={model.missing!r}; only models whose missing values are NaN can be converted")
    rounds = getattr(model, "best_iteration", None) if model.early_stopping_rounds is not None else None
    data = json.loads(bytes(model.get_booster().save_raw("json")))
    return from_json(data, classes=model.classes_, rounds=None if rounds is None else int(rounds) + 1, model=model)


def from_json(
    data: Mapping[str, Any], *, classes: Any = None, rounds: int | None = None, model: Any = None
) -> Ensemble:
    """Convert a model as XGBoost writes it.

    Parameters
    ----------
    data : mapping
        The parsed JSON.
    classes : array or None
        Labels; by default 0, 1, ...
    rounds : int or None
        How many rounds of boosting count; by default all, as for a plain booster.
    model : object or None
        Its own ``predict`` is kept with the ensemble.
    """
    learner = data["learner"]
    booster = learner["gradient_booster"]
    if booster.get("name") != "gbtree":
        raise InvalidInputError(
            f"the booster is {booster.get('name')!r}; only models made of trees (booster='gbtree') can be converted"
        )
    inner = booster["model"]
    parameters = learner["learner_model_param"]
    objective = str(learner["objective"]["name"])
    if int(parameters.get("num_target", 1)) > 1:
        raise InvalidInputError(f"the model has {parameters['num_target']} outputs; only one is supported")
    n_classes = max(2, int(parameters["num_class"]))
    n_scores = 1 if n_classes == 2 and int(parameters["num_class"]) < 2 else n_classes
    trees = inner["trees"]
    if rounds is not None:
        starts = inner["iteration_indptr"]
        trees = trees[: int(starts[min(rounds, len(starts) - 1)])]
    names = learner.get("feature_names") or None
    return Ensemble(
        [
            _tree(tree, int(group), n_scores)
            for tree, group in zip(trees, inner["tree_info"][: len(trees)], strict=True)
        ],
        _base(parameters["base_score"], objective, n_scores),
        _rule(objective),
        np.arange(n_classes) if classes is None else classes,
        int(parameters["num_feature"]),
        None if names is None else tuple(str(name) for name in names),
        takes_missing=True,
        library="XGBoost",
        model=model,
    )


def _tree(tree: Mapping[str, Any], group: int, n_scores: int) -> TreeOfScores:
    if any(tree.get("split_type", ())):
        raise InvalidInputError("the model splits on categories, which cannot be converted")
    if int(tree["tree_param"].get("size_leaf_vector", 1)) > 1:
        raise InvalidInputError("the leaves of the model are vectors; learn with multi_strategy='one_output_per_tree'")
    if not 0 <= group < n_scores:
        raise InvalidInputError(f"a tree adds to score {group} of {n_scores}")
    condition = np.asarray(tree["split_conditions"], np.float32)
    left = np.asarray(tree["left_children"], np.int64)
    value = np.zeros((len(condition), n_scores))
    value[:, group] = np.where(left < 0, condition, 0.0)
    return TreeOfScores.ordered(
        tree["split_indices"],
        as_if_rounded_to_float32(before_in_float32(condition)),
        left,
        tree["right_children"],
        value,
        tree["default_left"],
    )


def _base(text: Any, objective: str, n_scores: int) -> FloatArray:
    score = np.array([float(part) for part in str(text).strip("[] ").split(",")], np.float32)
    if objective in ("binary:logistic", "binary:logitraw", "reg:logistic"):
        # A probability is stored; the leaves add to its logit.
        if not np.all((score > 0) & (score < 1)):
            raise InvalidInputError(f"base_score={text!r}; for {objective} it must lie between 0 and 1")
        score = -np.log(np.float32(1) / score - np.float32(1))
    if len(score) not in (1, n_scores):
        raise InvalidInputError(f"base_score={text!r} for {n_scores} scores")
    return np.broadcast_to(score, (n_scores,)).astype(np.float64)


def _rule(objective: str) -> Rule:
    if objective in ("binary:logistic", "reg:logistic"):
        return Rule(Link.CUTOFF, single=True, cutoff=_first_above_half())
    if objective == "binary:hinge":
        return Rule(Link.CUTOFF, single=True, cutoff=float(np.nextafter(np.float32(0), np.float32(1))))
    if objective == "binary:logitraw":
        # The classifier compares whatever the booster returns with one half.
        return Rule(Link.CUTOFF, single=True, cutoff=float(np.nextafter(np.float32(0.5), np.float32(1))))
    if objective == "multi:softprob":
        return Rule(Link.SOFTMAX, single=True)
    if objective == "multi:softmax":
        return Rule(Link.ARGMAX, single=True)
    raise InvalidInputError(
        f"the objective is {objective!r}; only binary:logistic, binary:logitraw, binary:hinge, multi:softprob and "
        "multi:softmax classify"
    )


def _first_above_half() -> float:
    """Return the least float32 margin whose probability, in XGBoost's arithmetic, exceeds one half."""

    def exceeds(margin: np.float32) -> bool:
        denominator = float(np.float32(np.float32(math.exp(-float(margin))) + np.float32(1))) + 1e-16
        return bool(np.float32(1.0 / denominator) > np.float32(0.5))

    low, high = 0, int(np.float32(1).view(np.int32))
    while low + 1 < high:
        middle = (low + high) // 2
        low, high = (low, middle) if exceeds(np.int32(middle).view(np.float32)) else (middle, high)
    return float(np.int32(high).view(np.float32))
