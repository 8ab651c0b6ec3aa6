"""Samples of equal box and class taken as one, and their weights as whole numbers: what exact methods compute with.

Samples with the same box and class are right or wrong together, so they are one sample with the summed weight. Opposite
classes in one box stay apart: a box that reaches leaves of both labels loses both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import floor, gcd, log2

import numpy as np

from hardwood import _core
from hardwood.arrays import FloatArray, Int32Array, IntArray
from hardwood.errors import StoppedError


@dataclass(frozen=True, eq=False)
class MergedBoxes:
    """Groups of samples whose class and ends, given as ranks or other codes, are equal.

    Groups stand in the lexicographic order of their lower ends, upper ends and class, so that the order of the samples
    leaves no trace.

    Attributes
    ----------
    group : int array of shape (n_samples,)
        Group of each sample.
    first : int array of shape (n_groups,)
        A sample of each group: the first one.
    """

    group: IntArray
    first: IntArray

    @classmethod
    def of(
        cls, lower: Int32Array, upper: Int32Array, label: IntArray, control: _core.Control | None = None
    ) -> MergedBoxes:
        """Merge samples: O(n log n) comparisons of rows, most of which are settled by one number.

        Raises `StoppedError` where the control stops it.
        """
        merged = _core.merge_rows(np.ascontiguousarray(lower), np.ascontiguousarray(upper), label, control)
        if merged is None:
            raise StoppedError("stopped while equal samples were merged")
        return cls(*merged)

    def __len__(self) -> int:
        return len(self.first)

    @cached_property
    def count(self) -> IntArray:
        """Number of samples of each group."""
        return np.bincount(self.group, minlength=len(self)).astype(np.int64)

    def total(self, weight: FloatArray) -> FloatArray:
        """Sum of the samples' weights in each group."""
        return np.bincount(self.group, weight, len(self)).astype(np.float64)

    def total_of_whole(self, value: IntArray) -> IntArray:
        """Sum of whole numbers in each group, exactly."""
        return np.add.reduceat(value[self.member], self.start[:-1]) if len(self) else np.empty(0, np.int64)

    @cached_property
    def member(self) -> IntArray:
        """The samples, group by group; those of group g begin at ``start[g]``."""
        return np.argsort(self.group, kind="stable").astype(np.int64)

    @cached_property
    def start(self) -> IntArray:
        """Where each group begins in `member`, and, last, the number of samples."""
        return np.concatenate([[0], np.cumsum(self.count)]).astype(np.int64)


@dataclass(frozen=True, eq=False)
class WholeWeights:
    """Weights as whole numbers of parts, ``weight ≈ value · unit / 2^shift``.

    Whole weights are kept exactly. Others are multiplied by a power of two, which is exact, and rounded down, so that
    what is proven with them never promises too much: it errs by less than a part for each weight.

    Attributes
    ----------
    value : int array
        The weights in parts.
    unit : int
        Greatest common divisor of whole weights; 1 otherwise.
    shift : int
        A unit has 2^shift parts.
    step : int
        Every sum of weights is a multiple of this many parts.
    """

    value: IntArray
    unit: int
    shift: int
    step: int

    @classmethod
    def exactly(
        cls,
        weight: FloatArray,
        room: float,
        *,
        others: Sequence[float] = (),
        finest: int = 0,
        most: float | None = None,
    ) -> WholeWeights | None:
        """Take whole weights as they are; None if they are not whole, or too large for the room.

        Parameters
        ----------
        weight : float array
        room : float
            What a sum may be at most, in parts.
        others : sequence of float
            Other costs that shall be whole numbers of parts, too.
        finest : int
            A unit may be divided into 2^finest parts, as far as there is room.
        most : float or None
            What will be added up at most; the sum of the weights by default.
        """
        total = _sum(weight) if most is None else most
        if not is_whole(weight) or not all(float(other).is_integer() for other in others) or total >= room:
            return None
        whole = weight.astype(np.int64)
        unit = max(1, gcd(int(np.gcd.reduce(whole)), *(int(other) for other in others)))
        shift = min(finest, floor(log2(room * unit / total))) if total > 0 else finest
        return cls(whole // unit << shift, unit, shift, 1 << shift)

    @classmethod
    def rounded(cls, weight: FloatArray, room: float, *, most: float | None = None) -> WholeWeights:
        """Multiply weights by a power of two and round down; parameters as in `exactly`."""
        total = _sum(weight) if most is None else most
        exponent = int(np.frexp(total)[1]) if total < np.inf else 1024 + len(weight).bit_length()
        shift = floor(log2(room)) - exponent
        return cls(np.floor(np.ldexp(weight, shift)).astype(np.int64), 1, shift, 1)

    @property
    def exact_scale(self) -> tuple[int, int]:
        """Parts of 1 as a fraction of whole numbers."""
        return (1 << self.shift, self.unit) if self.shift >= 0 else (1, self.unit << -self.shift)

    def in_parts(self, cost: float) -> int:
        """Return a cost in parts, rounded down."""
        return floor(np.ldexp(cost, self.shift)) if self.unit == 1 else int(cost) // self.unit << self.shift

    def real(self, value: int | IntArray) -> FloatArray:
        """Return parts in the units of the weights."""
        return np.asarray(np.ldexp(np.asarray(value, np.float64) * self.unit, -self.shift))


def is_whole(weight: FloatArray) -> bool:
    """Whether all weights are whole numbers."""
    return bool(np.array_equal(weight, np.floor(weight)))


def _sum(weight: FloatArray) -> float:
    with np.errstate(over="ignore"):
        return float(weight.sum())
