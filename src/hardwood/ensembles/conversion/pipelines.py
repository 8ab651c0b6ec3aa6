"""Pipelines of scikit-learn whose steps before the trees select columns or scale each of them by itself.

Such a step does not decrease in any column, in floating-point arithmetic neither. So the values that go left at a split
after the step are those up to some last float64 number before it, and the trees are rewritten in the units of the data:
the attack needs no translation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hardwood.arrays import FloatArray, IntArray
from hardwood.ensembles.conversion.thresholds import Step, pulled_back
from hardwood.ensembles.scores import Ensemble, TreeOfScores
from hardwood.errors import InvalidInputError


@dataclass(frozen=True)
class _Step:
    """What a step makes of its input: `source[j]` is the column behind output j, `apply` acts on values of outputs."""

    source: IntArray
    apply: Step


def convert(model: Any) -> Ensemble | None:
    """Convert a fitted pipeline; None if the model is none."""
    if type(model).__name__ != "Pipeline" or not hasattr(model, "steps"):
        return None
    from hardwood.ensembles.conversion.dispatch import as_ensemble

    ensemble = as_ensemble(model.steps[-1][1])
    steps = [step for _, step in model.steps[:-1] if step is not None and not isinstance(step, str)]
    for i, transformer in enumerate(reversed(steps)):
        width = getattr(transformer, "n_features_in_", None)
        if width is None:
            if i < len(steps) - 1 or not _is_identity(transformer):
                raise InvalidInputError(f"{type(transformer).__name__} is not fitted")
            width = ensemble.n_features
        ensemble = _before(ensemble, _step(transformer, int(width)), int(width))
    names = getattr(steps[0] if steps else model.steps[-1][1], "feature_names_in_", None)
    return replace(
        ensemble,
        feature_names=None if names is None else tuple(str(name) for name in names),
        library=f"pipeline of {ensemble.library}",
        model=model,
    )


def _before(ensemble: Ensemble, step: _Step, width: int) -> Ensemble:
    if len(step.source) != ensemble.n_features:
        raise InvalidInputError(
            f"a step makes {len(step.source)} columns, but the next one takes {ensemble.n_features}"
        )
    trees = []
    for tree in ensemble.trees:
        splits = np.flatnonzero(tree.left >= 0)
        threshold, feature = tree.threshold.copy(), tree.feature.copy()
        threshold[splits] = pulled_back(tree.threshold[splits], tree.feature[splits], step.apply)
        feature[splits] = step.source[tree.feature[splits]]
        trees.append(TreeOfScores(feature, threshold, tree.left, tree.right, tree.value, tree.missing_left))
    return replace(ensemble, trees=trees, n_features=width, feature_names=None, model=None)


def _is_identity(transformer: Any) -> bool:
    return type(transformer).__name__ == "FunctionTransformer" and transformer.func is None


def _step(transformer: Any, width: int) -> _Step:
    everything = np.arange(width)
    if _is_identity(transformer) or (isinstance(transformer, str) and transformer == "passthrough"):
        return _Step(everything, lambda x, _: x)
    name = type(transformer).__name__
    if type(transformer).__module__.split(".")[0] == "sklearn":
        if name in _SCALERS:
            return _Step(everything, _SCALERS[name](transformer, width))
        if name == "ColumnTransformer":
            return _columns(transformer)
        if hasattr(transformer, "get_support"):
            return _Step(np.asarray(transformer.get_support(indices=True), np.int64), lambda x, _: x)
    raise InvalidInputError(
        f"the attack cannot be carried through {name}; steps that select columns, StandardScaler, MinMaxScaler, "
        "MaxAbsScaler, RobustScaler, and ColumnTransformer of these can be converted"
    )


def _standard(scaler: Any, width: int) -> Step:
    shift = scaler.mean_ if scaler.with_mean else np.zeros(width)
    scale = scaler.scale_ if scaler.with_std else np.ones(width)
    return lambda x, j: (x - shift[j]) / scale[j]


def _robust(scaler: Any, width: int) -> Step:
    shift = scaler.center_ if scaler.with_centering else np.zeros(width)
    scale = scaler.scale_ if scaler.with_scaling else np.ones(width)
    return lambda x, j: (x - shift[j]) / scale[j]


def _min_max(scaler: Any, width: int) -> Step:
    low, high = scaler.feature_range if scaler.clip else (-np.inf, np.inf)
    return lambda x, j: np.clip(x * scaler.scale_[j] + scaler.min_[j], low, high)


def _max_abs(scaler: Any, width: int) -> Step:
    low, high = (-1.0, 1.0) if getattr(scaler, "clip", False) else (-np.inf, np.inf)
    return lambda x, j: np.clip(x / scaler.scale_[j], low, high)


_SCALERS: dict[str, Callable[[Any, int], Step]] = {
    "StandardScaler": _standard,
    "RobustScaler": _robust,
    "MinMaxScaler": _min_max,
    "MaxAbsScaler": _max_abs,
}


def _columns(transformer: Any) -> _Step:
    """Put the parts of a ColumnTransformer beside each other, in the order of its output."""
    parts: list[tuple[slice, IntArray, _Step]] = []
    for name, part, _ in transformer.transformers_:
        place = transformer.output_indices_.get(name)
        if place is None or place.start == place.stop:
            continue
        inputs = np.asarray(transformer._transformer_to_input_indices[name], np.int64)
        parts.append((place, inputs, _step(part, len(inputs))))
    total = max((place.stop for place, _, _ in parts), default=0)
    source, part_of, inner = np.zeros(total, np.int64), np.zeros(total, np.int64), np.zeros(total, np.int64)
    for number, (place, inputs, step) in enumerate(parts):
        source[place] = inputs[step.source]
        part_of[place], inner[place] = number, np.arange(len(step.source))

    def apply(x: FloatArray, j: IntArray) -> FloatArray:
        out = np.array(x, np.float64)
        for number, (_, _, step) in enumerate(parts):
            mine = part_of[j] == number
            out[mine] = step.apply(x[mine], inner[j][mine])
        return out

    return _Step(source, apply)
