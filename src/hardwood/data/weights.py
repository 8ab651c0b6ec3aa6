"""Sample weights as users give them, checked in one place for training and for scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from hardwood.arrays import BoolArray, FloatArray
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


def weighted_share(is_so: BoolArray, sample_weight: Any = None) -> float:
    """Return the share of the weight whose samples are so: the mean of a score."""
    if len(is_so) == 0:
        raise InvalidInputError("there are no samples to score")
    weight = as_weights(sample_weight, len(is_so))
    with np.errstate(over="ignore"):
        total = weight.sum()
    # Weights near the largest float have no sum that is one; the share stays what it is when all are divided.
    return float(np.average(is_so, weights=weight if np.isfinite(total) else weight / weight.max()))
