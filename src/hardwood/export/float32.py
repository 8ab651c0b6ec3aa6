"""Thresholds of libraries that round their input to float32 before they compare."""

from __future__ import annotations

import numpy as np

from hardwood.arrays import FloatArray

_BEYOND = 2.0**128
"""Where the next float32 number would be, after the largest."""


def as_if_rounded_to_float32(threshold: FloatArray) -> FloatArray:
    """Return the largest float64 values that still are at most the thresholds after rounding to float32.

    An infinite threshold, with which scikit-learn asks whether a value is missing, sends every number left.
    """
    with np.errstate(over="ignore"):
        nearest = threshold.astype(np.float32)
        below = np.where(nearest.astype(np.float64) > threshold, np.nextafter(nearest, np.float32(-np.inf)), nearest)
        above = np.nextafter(below, np.float32(np.inf))
        middle = (_finite(below) + _finite(above)) / 2
        rounds_up = middle.astype(np.float32) == above
    found = np.where(rounds_up, np.nextafter(middle, -np.inf), middle)
    return np.asarray(np.where(threshold == np.inf, np.finfo(np.float64).max, found))


def _finite(values: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> FloatArray:
    return np.clip(values.astype(np.float64), -_BEYOND, _BEYOND)
