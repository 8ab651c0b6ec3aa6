"""Thresholds in float64: the last number that goes left, whatever a library does to its input before it compares."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hardwood.arrays import FloatArray, IntArray


def before_in_float32(threshold: NDArray[np.floating]) -> FloatArray:
    """Return, for splits ``x < threshold`` in float32, the float32 numbers b for which that is ``x <= b``."""
    return np.nextafter(np.asarray(threshold, np.float32), np.float32(-np.inf)).astype(np.float64)


Step = Callable[[FloatArray, IntArray], FloatArray]
"""What happens to values of given columns."""


def pulled_back(threshold: FloatArray, feature: IntArray, step: Step) -> FloatArray:
    """Return the largest numbers x with ``step(x) <= threshold``, found by bisection over all float64 numbers.

    Parameters
    ----------
    threshold : float array of shape (n,)
    feature : int array of shape (n,)
        Column, before the step, on which each threshold stands.
    step : Step
        Must not decrease in any column, rounding included.

    Returns
    -------
    float array of shape (n,)
        -inf where no number qualifies.
    """
    low, high = (np.full(len(threshold), _key_of(end)) for end in (-np.inf, np.inf))
    # step(low) <= threshold or low is -inf; step(high) > threshold or high is inf.
    with np.errstate(all="ignore"):
        while np.any(low + 1 < high):
            middle = (low & high) + ((low ^ high) >> 1)
            goes_left = step(_number_of(middle), feature) <= threshold
            low, high = np.where(goes_left, middle, low), np.where(goes_left, high, middle)
        holds_all = step(_number_of(high), feature) <= threshold
    return np.where(holds_all, _number_of(high), _number_of(low))


def _key_of(number: float) -> np.int64:
    """Return an integer that grows with the number, by one from each float64 to the next."""
    bits = np.float64(number).view(np.int64)
    return bits if bits >= 0 else np.int64(-(int(bits) + 2**63))


def _number_of(key: IntArray) -> FloatArray:
    """Inverse of `_key_of`."""
    return np.where(key >= 0, key, np.abs(key) | np.int64(-(2**63))).view(np.float64)
