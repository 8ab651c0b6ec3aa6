"""Boxes: where an attacker can move each sample. The same for training and for evaluation.

What counts as one number
-------------------------
Data have few decimals, so boxes that touch exactly in decimal arithmetic end up a rounding error apart: ``0.30 + 0.05``
and ``0.40 - 0.05`` differ in the last bit. An end of a box therefore reaches a little farther than the arithmetic says,
by as much as the arithmetic can be wrong. With the radius Δ of that side of that sample::

    lower = x - Δ - ν        upper = x + Δ + ν        ν = max(1e-9 Δ, 4 ulp(|x| + Δ)),   0 where nothing was rounded

in float64, with the ulp of the type in which the data came (float32 data are rounded to float32). Nothing was rounded
where Δ = 0, and where x and Δ are both multiples of a step that is 2⁻²⁰ or, if that is more, 2²⁰ ulp(|x| + Δ) (2¹⁰ ulp
for coarser types than float64): whole numbers, halves, quarters are what they are, and so are their sums. A number that
was rounded falls on so coarse a grid by accident only: near 10⁹ a float64 is always a multiple of 2⁻²³, but not of ⅛.
Where nothing was rounded a box that ends on a threshold stays on its side of it, as exact arithmetic says. Everything
else, ranks, conflicts, searches, bounds, evaluation, compares these two numbers as they are, and thresholds with them.
So

1. where the attacker cannot move a feature, distinct values are distinct: ν is 0 there;
2. what is computed is exact for an attacker whose radii are larger by one part in 10⁹ or by rounding. Nothing is
   chained: no end moves because of another one;
3. boxes that touch in decimals touch: the arithmetic ``x ± Δ`` on rounded x and Δ is wrong by less than 2 ulp of
   |x| + Δ on each side, so the widened boxes overlap; where nothing was rounded the end is the decimal one;
4. a row changes nothing for the other rows: its boxes depend on itself alone;
5. no tree beats a proven optimum or an exact bound: whoever judges a tree by these boxes makes the very comparisons
   that were made to find the optimum, for every threshold whatever.

Boxes grow with the radius, and conflicts with them, for radii that differ by more than one part in 10⁸: ν is monotone
in Δ but for its absence where nothing was rounded.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hardwood import _core
from hardwood.arrays import BoolArray, FloatArray, IntArray
from hardwood.data.frames import EXACT_DOUBLE, has_missing
from hardwood.problem.prices import Prices, box_prices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hardwood.attack.domain import Limits
    from hardwood.attack.model import AttackModel
    from hardwood.data.categories import CategoryEncoding

RELATIVE_NOISE = 1e-9
"""Share of its radius by which an end may be off."""
FINEST_STEP = 2.0**-20
"""Multiples of this are taken for numbers that nobody rounded, where floats are much finer."""
ULPS_IN_A_STEP, ULPS_IN_A_COARSE_STEP = 2.0**20, 2.0**10
"""How much finer floats have to be there, for float64 and for coarser types."""
ULPS = 4
"""Units in the last place by which an end may be off."""

_LARGEST = float(np.nextafter(np.finfo(np.float64).max, 0))  # the next number above it is still one


def noise(x: FloatArray, reach: FloatArray, rounding: FloatArray = EXACT_DOUBLE) -> FloatArray:
    """Return by how much the ends ``x ± reach`` may be wrong, 0 where nothing was rounded; see the module.

    Parameters
    ----------
    x, reach : float arrays
        Samples and radii >= 0, of shapes that fit together, features last.
    rounding : float array of shape (2, n_features) or (2, 1)
        See `hardwood.data.frames.Table`.
    """
    is_coarse = rounding[0] > np.finfo(np.float64).eps
    with np.errstate(over="ignore", invalid="ignore"):
        ulp = _ulp(x, reach, rounding)
        step = np.maximum(FINEST_STEP, ulp * np.where(is_coarse, ULPS_IN_A_COARSE_STEP, ULPS_IN_A_STEP))
        is_rounded = (np.rint(x / step) * step != x) | (np.rint(reach / step) * step != reach)
        return np.where(is_rounded & (reach > 0), np.maximum(RELATIVE_NOISE * reach, ULPS * ulp), 0.0)


def _ulp(x: FloatArray, reach: FloatArray, rounding: FloatArray) -> FloatArray:
    """Return the distance of the numbers next to |x| + reach in the type of the data: a power of two."""
    relative, least = rounding
    magnitude = np.minimum(np.abs(x) + reach, _LARGEST)
    return np.asarray(np.maximum(np.spacing(magnitude) * (relative / np.finfo(np.float64).eps), least))


def lower_end(x: FloatArray, reach: FloatArray, rounding: FloatArray = EXACT_DOUBLE) -> FloatArray:
    """Return the lower ends of boxes around x; beyond the largest number they are infinite."""
    with np.errstate(over="ignore"):
        return np.asarray((x - reach) - noise(x, reach, rounding))


def upper_end(x: FloatArray, reach: FloatArray, rounding: FloatArray = EXACT_DOUBLE) -> FloatArray:
    """Return the upper ends of boxes around x; beyond the largest number they are infinite."""
    with np.errstate(over="ignore"):
        return np.asarray((x + reach) + noise(x, reach, rounding))


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes with what is needed to count errors.

    Attributes
    ----------
    lower, upper : C-contiguous float array of shape (n_samples, n_features)
        Both ends. A box reaches the left side of a split at b iff ``lower <= b`` and the right side iff ``upper > b``.
    label : int array of shape (n_samples,)
        Class index; -1 for a label that is none of the classes.
    weight : float array of shape (n_samples,)
    """

    lower: FloatArray
    upper: FloatArray
    label: IntArray
    weight: FloatArray

    def __len__(self) -> int:
        return len(self.label)


@dataclass(frozen=True, eq=False)
class Reach:
    """What makes the ends of boxes: the samples, and the attacker's radii by group of samples.

    Attributes
    ----------
    low, high : C-contiguous float array of shape (n_samples, n_features)
        The samples, or where they can be already without a radius.
    down, up : float array of shape (n_groups, n_features)
    group : int array of shape (n_samples,)
    rounding : float array of shape (2, n_features) or (2, 1)
        See `hardwood.data.frames.Table`.
    limits : Limits or None
        Whole numbers and bounds, at which boxes are cut off; see `hardwood.attack.domain`.
    prices : Prices or None
        Of an attacker who cannot use all of a box at once: what moves cost. The box then holds all that is affordable.
    """

    low: FloatArray
    high: FloatArray
    down: FloatArray
    up: FloatArray
    group: IntArray
    rounding: FloatArray
    limits: Limits | None = None
    prices: Prices | None = None

    @property
    def arrays(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, IntArray, FloatArray]:
        """All of them, as the core takes them."""
        low, high, down, up, rounding = (
            np.ascontiguousarray(a) for a in (self.low, self.high, self.down, self.up, self.rounding)
        )
        return low, high, down, up, self.group, rounding

    @classmethod
    def fixed(cls, lower: FloatArray, upper: FloatArray, rounding: FloatArray = EXACT_DOUBLE) -> Reach:
        """Return what makes given boxes: their ends, and no radius."""
        nothing = np.zeros((1, lower.shape[1]))
        group = np.zeros(len(lower), np.int64)
        return cls(np.ascontiguousarray(lower), np.ascontiguousarray(upper), nothing, nothing, group, rounding)

    def cut_off(self) -> Reach:
        """Return the same boxes without limits and prices: where there are limits, the ends that they leave."""
        if self.limits is not None:
            return Reach.fixed(*self.ends(), self.rounding)
        return self if self.prices is None else replace(self, prices=None)

    def take(self, rows: NDArray[np.integer] | slice) -> Reach:
        """Return the boxes of some of the samples; not for limits and prices."""
        low = self.low[rows]
        return replace(self, low=low, high=low if self.high is self.low else self.high[rows], group=self.group[rows])

    def of_features(self, features: NDArray[np.integer]) -> Reach:
        """Return the boxes on some of the features; not for limits and prices."""
        low = np.ascontiguousarray(self.low[:, features])
        high = low if self.high is self.low else np.ascontiguousarray(self.high[:, features])
        rounding = self.rounding[:, features] if self.rounding.shape[1] > 1 else self.rounding
        return Reach(low, high, self.down[:, features], self.up[:, features], self.group, rounding)

    def moves(self, values: FloatArray) -> BoolArray:
        """Return for each feature whether any box around these samples is more than its sample."""
        moved = np.any((self.down > 0) | (self.up > 0), axis=0)
        if self.low is not values:
            moved |= np.any(self.low < values, axis=0)
        if self.high is not values:
            moved |= np.any(self.high > values, axis=0)
        return np.asarray(moved)

    def freeze(self) -> None:
        """Let nobody write to the arrays."""
        for array in (self.low, self.high, self.down, self.up, self.group):
            array.setflags(write=False)

    def ends(self) -> tuple[FloatArray, FloatArray]:
        """Both ends of all boxes, as `lower_end` and `upper_end` compute them."""
        is_moved = self.down.any() or self.up.any()
        ends = _core.box_ends(*self.arrays) if is_moved else (self.low, self.high)
        return ends if self.limits is None else self.limits.cut(*ends)


def ends_under_attack(
    matrix: FloatArray,
    attack: AttackModel,
    names: tuple[str, ...] | None,
    classes: NDArray[Any] | None,
    group: IntArray,
    encoding: CategoryEncoding | None = None,
    rounding: FloatArray = EXACT_DOUBLE,
) -> tuple[FloatArray, FloatArray]:
    """Return both ends of the box in which an attacker can move each sample; see `reach_under_attack`."""
    return reach_under_attack(matrix, attack, names, classes, group, encoding, rounding).ends()


def reach_under_attack(
    matrix: FloatArray,
    attack: AttackModel,
    names: tuple[str, ...] | None,
    classes: NDArray[Any] | None,
    group: IntArray,
    encoding: CategoryEncoding | None = None,
    rounding: FloatArray = EXACT_DOUBLE,
) -> Reach:
    """Return what makes the box in which an attacker can move each sample.

    Parameters
    ----------
    matrix : float array of shape (n_samples, n_features)
        Samples as numbers. A missing value (NaN) can be anything.
    attack : AttackModel
        In the units of the data.
    names : tuple of str or None
        Names of the features, or of the columns of the table where there is an encoding.
    classes : array or None
        Labels that `group` counts; None for an attack that is the same for all.
    group : int array of shape (n_samples,)
        Class index of each sample; 0 where `classes` is None.
    encoding : CategoryEncoding or None
        How categorical columns became features.
    rounding : float array of shape (2, n_features) or (2, 1)
        See `hardwood.data.frames.Table`.
    """
    if encoding is None:
        down, up = attack.reach(matrix.shape[1], names, classes)
        low = high = matrix
    else:
        low, high, down, up = encoding.reach(matrix, attack, [None] if classes is None else classes.tolist(), group)
    if has_missing(matrix):
        missing = np.isnan(matrix)
        low, high = np.where(missing, -np.inf, low), np.where(missing, np.inf, high)
    limits = limits_of(attack, matrix.shape[1], names, encoding)
    if limits is not None:
        limits.check(matrix, names if encoding is None else encoding.feature_names)
    reach = Reach(low, high, down, up, group, rounding, limits)
    if attack.is_box:
        return reach
    integer = np.zeros(matrix.shape[1], bool) if limits is None else limits.integer
    labels: list[Any] = [None] if classes is None else classes.tolist()
    prices = box_prices(matrix, reach.ends(), attack, names, labels, group, encoding, integer)
    nothing = np.zeros((1, matrix.shape[1]))
    return Reach(*prices.boxes(), nothing, nothing, np.zeros_like(group), rounding, limits, prices)


def limits_of(
    attack: AttackModel, n_features: int, names: tuple[str, ...] | None, encoding: CategoryEncoding | None = None
) -> Limits | None:
    """Return which features are whole numbers and between which bounds they lie; None if the attack says nothing."""
    return attack.limits(n_features, names) if encoding is None else encoding.limits(attack)
