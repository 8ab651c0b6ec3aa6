"""Weights of samples and classes as users give them, checked in one place for training and for scores."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood.arrays import BoolArray, FloatArray, IntArray
from hardwood.errors import InvalidInputError


def as_weights(sample_weight: Any, n_samples: int) -> FloatArray:
    """Return one weight per sample, finite, >= 0 and not all zero; None weighs all samples alike.

    A single number is a weight for all samples, as in scikit-learn.
    """
    if sample_weight is None:
        return np.ones(n_samples)
    if np.ma.isMaskedArray(sample_weight) and np.ma.getmaskarray(sample_weight).any():
        raise InvalidInputError("sample_weight is a masked array with masked entries; every sample needs a weight")
    try:
        weight = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"sample_weight must hold one number per sample: {error}") from error
    if weight.ndim == 0:
        weight = np.full(n_samples, float(weight))
    if weight.shape != (n_samples,):
        raise InvalidInputError(
            f"sample_weight has shape {weight.shape}, but there are {n_samples} samples; give one number per sample"
        )
    bad = ~np.isfinite(weight) | (weight < 0)
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        raise InvalidInputError(f"sample_weight[{i}] is {weight[i]:g}; weights must be finite and >= 0")
    if not weight.any():
        raise InvalidInputError("all sample weights are zero; at least one must be above 0")
    return weight


def class_weights(class_weight: Any, classes: NDArray[Any], code: IntArray) -> FloatArray:
    """Return the factor for each class: by label (1 where the mapping has none), or "balanced" as in scikit-learn.

    A mapping of mappings is a cost matrix: what it costs to take each class for each other one.
    """
    if isinstance(class_weight, str) and class_weight == "balanced":
        return np.asarray(len(code) / (len(classes) * np.bincount(code, minlength=len(classes))))
    if not isinstance(class_weight, Mapping):
        raise InvalidInputError(f"class_weight={class_weight!r}; use a dict, 'balanced' or None")
    factor = np.ones(len(classes))
    position = {label: i for i, label in enumerate(classes.tolist())}
    for label, value in class_weight.items():
        plain = label.item() if isinstance(label, np.generic) else label
        if plain not in position:
            raise InvalidInputError(
                f"class_weight names class {label!r}; the classes of the data are "
                f"{', '.join(map(repr, classes.tolist()))}"
            )
        if isinstance(value, Mapping):
            value = _cost_of_class(plain, value, position)
        if not isinstance(value, Real) or not 0 <= float(value) < np.inf:
            raise InvalidInputError(
                f"class_weight={class_weight!r}: the weight of class {label!r} must be >= 0 and finite"
            )
        factor[position[plain]] = float(value)
    return factor


def _cost_of_class(label: Any, row: Mapping[Any, Any], position: Mapping[Any, int]) -> Any:
    """Return what it costs to take a sample of a class for another, from a row of a cost matrix.

    Of two classes it is one number. Of more, a sample that the attacker can take to leaves of several wrong classes has
    no cost of its own unless all of them cost the same.
    """
    named = {key.item() if isinstance(key, np.generic) else key: cost for key, cost in row.items()}
    others = set(position) - {label}
    if set(named) - {label} != others or named.get(label, 0) != 0:
        raise InvalidInputError(
            f"the costs of class {label!r} must name every other class "
            f"({', '.join(map(repr, sorted(others, key=str)))}) and cost nothing where the answer is right"
        )
    costs = {named[other] for other in others}
    if len(costs) > 1:
        raise InvalidInputError(
            f"taking class {label!r} for others costs {', '.join(map(str, sorted(costs)))}: different costs of one "
            "class's errors do not add up sample by sample under attack; give one cost for each class"
        )
    return costs.pop()


def training_weights(sample_weight: Any, class_weight: Any, classes: NDArray[Any], code: IntArray) -> FloatArray:
    """Return what it costs to lose each sample.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,) or None
    class_weight : mapping, "balanced" or None
    classes : array
        The labels, sorted.
    code : int array of shape (n_samples,)
        Class index of each sample.
    """
    weight = as_weights(sample_weight, len(code))
    if class_weight is None:
        return weight
    with np.errstate(over="ignore"):
        weight = weight * class_weights(class_weight, classes, code)[code]
    if not np.all(np.isfinite(weight)):
        raise InvalidInputError(f"class_weight={class_weight!r} makes weights that are too large for a number")
    if not np.any(weight > 0):
        raise InvalidInputError(f"class_weight={class_weight!r} makes every weight zero; at least one must be above 0")
    return weight


def weighted_share(is_so: BoolArray, sample_weight: Any = None) -> float:
    """Return the share of the weight whose samples are so: the mean of a score."""
    if len(is_so) == 0:
        raise InvalidInputError("there are no samples to score")
    if sample_weight is None:
        return int(np.count_nonzero(is_so)) / len(is_so)
    weight = as_weights(sample_weight, len(is_so))
    with np.errstate(over="ignore"):
        total = weight.sum()
    # Weights near the largest float have no sum that is one; the share stays what it is when all are divided.
    return float(np.average(is_so, weights=weight if np.isfinite(total) else weight / weight.max()))
