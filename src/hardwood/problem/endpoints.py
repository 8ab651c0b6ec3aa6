"""Ends in order: ranks, candidate thresholds, and the one way from a threshold index to a number.

Only the order of ends matters to a tree: a box reaches left of a threshold iff its lower end is at most the threshold,
and right iff its upper end is above. So ends become ranks, and thresholds become indices between ranks.

Ends share a rank if they are equal, or if they are neighbours within the noise of their boxes
(`hardwood.problem.boxes`) and no upper end stands below a lower end among them. The second rule keeps thresholds away
from where rounding rules, and it loses nothing: among such ends, lower ones first and upper ones after them, a
threshold that has passed some of the lower ends sends more boxes left than one before all of them, and no fewer right;
one that has still to pass some of the upper ends sends more boxes right than one behind all of them, and no fewer left.
And since an upper end below a lower end always has the smaller rank, two boxes meet in ranks iff they meet in numbers.
Sorting and ranking are done by the core (`src/core/ranks`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hardwood import _core
from hardwood.arrays import FloatArray, IntArray, RankArray
from hardwood.data.frames import EXACT_DOUBLE
from hardwood.errors import StoppedError
from hardwood.problem.boxes import Reach

_LARGEST = float(np.finfo(np.float64).max)


class ClusterNumbers(NamedTuple):
    """The numbers behind ranks, one feature behind the other.

    Attributes
    ----------
    offset : int array of shape (n_features + 1,)
        Where the ranks of each feature begin.
    first, last : float array
        Smallest and largest end of each rank.
    turn : float array
        See `FeatureEnds.turn`.
    """

    offset: IntArray
    first: FloatArray
    last: FloatArray
    turn: FloatArray

    @classmethod
    def of(cls, lower_rank: RankArray, upper_rank: RankArray, n_ranks: IntArray, reach: Reach) -> ClusterNumbers:
        """Find them from the ranks of all ends."""
        return cls(*_core.cluster_ends(lower_rank, upper_rank, n_ranks, *reach.arrays))


@dataclass(frozen=True, eq=False)
class FeatureEnds:
    """The sorted ends of all boxes on one feature, as clusters and ranks.

    Attributes
    ----------
    lower_rank, upper_rank : int32 array of shape (n_samples,)
        Cluster of each box end; -1 for -inf and ``n_ranks`` for +inf. With threshold index ``t``, a box reaches left
        iff ``lower_rank <= t`` and right iff ``upper_rank > t``.
    n_ranks : int
        Number of clusters of finite ends.
    reach : Reach
        What makes the boxes, on this feature alone.
    """

    lower_rank: RankArray
    upper_rank: RankArray
    n_ranks: int
    reach: Reach

    @cached_property
    def _clusters(self) -> ClusterNumbers:
        lower, upper = (np.ascontiguousarray(rank[:, None]) for rank in (self.lower_rank, self.upper_rank))
        return ClusterNumbers.of(lower, upper, np.array([self.n_ranks]), self.reach)

    @property
    def first(self) -> FloatArray:
        """The smallest end of each cluster."""
        return self._clusters.first

    @property
    def last(self) -> FloatArray:
        """The largest end of each cluster."""
        return self._clusters.last

    @property
    def turn(self) -> FloatArray:
        """The largest lower end of each cluster, or its first end where it has no lower one.

        A number below it is no better a threshold than the index before the cluster; a number from there on is no
        better than the cluster's own index.
        """
        return self._clusters.turn


@dataclass(frozen=True, eq=False)
class Endpoints:
    """The sorted ends of all boxes as ranks, feature by feature; see `FeatureEnds`.

    The numbers behind the ranks take twice the memory of the data, and are computed for a feature when asked for.

    Attributes
    ----------
    lower_rank, upper_rank : int32 array of shape (n_samples, n_features)
    n_ranks : int64 array of shape (n_features,)
    reach : Reach
    """

    lower_rank: RankArray
    upper_rank: RankArray
    n_ranks: IntArray
    reach: Reach

    def numbers(self) -> ClusterNumbers:
        """Return the numbers behind all ranks."""
        return ClusterNumbers.of(self.lower_rank, self.upper_rank, self.n_ranks, self.reach)

    def of_feature(self, j: int) -> FeatureEnds:
        """Return the ends of one feature."""
        columns = self.lower_rank[:, j], self.upper_rank[:, j]
        return FeatureEnds(*columns, int(self.n_ranks[j]), self.reach.of_features(np.array([j])))


def rank_reach(reach: Reach, values: FloatArray, control: _core.Control | None = None) -> Endpoints:
    """Rank the ends of all boxes: O(p n log n).

    Parameters
    ----------
    reach : Reach
        What makes the boxes.
    values : float array of shape (n_samples, n_features)
        The samples that they are around.
    control : Control or None
        Where it stops the work, `StoppedError` is raised.
    """
    ranked = _core.rank_ends(*reach.arrays, np.ascontiguousarray(values), control)
    if ranked is None:
        raise StoppedError("stopped while the ends of boxes were ranked")
    for array in ranked:
        array.setflags(write=False)
    return Endpoints(*ranked, reach)


def rank_ends(
    lower: FloatArray, upper: FloatArray, values: FloatArray, rounding: FloatArray = EXACT_DOUBLE
) -> Endpoints:
    """Rank the ends of boxes that are given by them; see `rank_reach`."""
    return rank_reach(Reach.fixed(lower, upper, rounding), values)


def ranks_present(rank: RankArray) -> IntArray:
    """Return the different ranks, from -1 on, in order: O(n) where there are no more ranks than ends."""
    return np.flatnonzero(np.bincount(rank + 1)) - 1


def candidates(lower_rank: RankArray, upper_rank: RankArray) -> IntArray:
    """Undominated threshold indices of one feature for a set of samples.

    As the threshold grows, the samples that reach left become more at ``lower`` endpoints and those that reach right
    become fewer at ``upper`` endpoints. Both sets should be small, so only a threshold whose last passed endpoint is
    an ``upper`` and whose next one is a ``lower`` can be needed.
    """
    if len(lower_rank) == 0:
        return np.empty(0, np.int64)
    uppers, lowers = ranks_present(upper_rank), ranks_present(lower_rank)
    following = np.searchsorted(lowers, uppers, side="right")
    has_lower = following < len(lowers)
    uppers, following = uppers[has_lower], following[has_lower]
    # Of several uppers before the same lower only the last is undominated.
    is_last = np.concatenate([following[1:] != following[:-1], [True]]) if len(uppers) else np.empty(0, bool)
    return np.asarray(uppers[is_last], dtype=np.int64)


def index_of(threshold: float, ends: FeatureEnds) -> int:
    """Return an index that sends no training box to a side to which ``threshold`` does not send it.

    For a threshold between two clusters it is the index between them, which sends every box the same way.
    """
    return int(np.searchsorted(ends.turn, threshold, side="right")) - 1


def midpoint(low: float, high: float) -> float:
    """Return the number midway between two, at least `low` and less than `high`, however large they are."""
    middle = low + (high - low) / 2 if np.isfinite(high - low) else low / 2 + high / 2
    return middle if low <= middle < high else low


def maximum_margin(low: float, high: float) -> float:
    """Return the number midway between two neighbouring ends, or clear of the one end that there is.

    Parameters
    ----------
    low, high : float
        Ends, ``low < high``; infinite where there is none on that side.

    Returns
    -------
    float
        At least `low` and less than `high`. Always finite; so where `high` is the smallest of all numbers and there is
        no end below, it is that number itself, which is not less: see `has_room`.
    """
    if np.isinf(low) and np.isinf(high):
        return 0.0
    if np.isinf(low):
        return max(-_LARGEST, high - max(1.0, abs(high)))
    if np.isinf(high):
        return min(_LARGEST, low + max(1.0, abs(low)))
    return midpoint(low, high)


def has_room(low: float, high: float) -> bool:
    """Whether a finite number is at least `low` and less than `high`."""
    return high > -_LARGEST
