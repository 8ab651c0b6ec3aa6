"""How much every leaf must hold: samples, or a share of all weight.

Both are one thing to whoever searches: a whole number per sample, and how much of it must reach a leaf for certain,
that is, the leaf and no other. Weights that are not whole numbers are counted in parts of a unit
(`hardwood.problem.merged`).
"""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import numpy as np

from hardwood.arrays import FloatArray, IntArray
from hardwood.problem.merged import WholeWeights

MOST = 2**52
"""No sum of what samples count reaches this, so that it is exact in a double, too."""

SLACK = 1e-9
"""By what share a leaf may fall short of the least weight: 7 of 100 are 0.07, whatever 0.07 is as a binary number."""


class LeafLimit(NamedTuple):
    """What each leaf of a tree with a split must hold for certain.

    Attributes
    ----------
    measure : int array of shape (n_samples,)
        What each sample counts.
    least : int
        What a leaf must hold.
    """

    measure: IntArray
    least: int


def least_weight(fraction: float, weight: FloatArray) -> float:
    """Return what a share of all weight is, a little less for rounding errors."""
    return fraction * (1 - SLACK) * float(weight.sum())


def leaf_limit(min_samples_leaf: int, min_weight_fraction_leaf: float, weight: FloatArray) -> LeafLimit | None:
    """Return the limit that is set on leaves, of which there is one at most; None if there is none."""
    if min_samples_leaf > 0:
        return LeafLimit(np.ones(len(weight), np.int64), min_samples_leaf)
    if min_weight_fraction_leaf > 0:
        measure = (WholeWeights.exactly(weight, MOST) or WholeWeights.rounded(weight, MOST)).value
        return LeafLimit(measure, ceil(least_weight(min_weight_fraction_leaf, measure.astype(np.float64))))
    return None
