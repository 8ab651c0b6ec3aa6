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

import numpy as np

from hardwood import _core
from hardwood.arrays import FloatArray, IntArray, RankArray
from hardwood.data.frames import EXACT_DOUBLE
from hardwood.errors import StoppedError

_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, eq=False)
class FeatureEnds:
    """The sorted ends of all boxes on one feature, as clusters and ranks.

    Attributes
    ----------
    lower_rank, upper_rank : int32 array of shape (n_samples,)
        Cluster of each box end; -1 for -inf and ``n_ranks`` for +inf. With threshold index ``t``, a box reaches left
        iff ``lower_rank <= t`` and right iff ``upper_rank > t``.
    first, last : float array of shape (n_ranks,)
        Smallest and largest end of each cluster.
    lower : float array of shape (n_samples,)
        The lower ends.
    """

    lower_rank: RankArray
    upper_rank: RankArray
    first: FloatArray
    last: FloatArray
    lower: FloatArray

    @property
    def n_ranks(self) -> int:
        """Number of clusters of finite ends."""
        return len(self.first)

    @cached_property
    def turn(self) -> FloatArray:
        """The largest lower end of each cluster, or its first end where it has no lower one.

        A number below it is no better a threshold than the index before the cluster; a number from there on is no
        better than the cluster's own index.
        """
        finite = (self.lower_rank >= 0) & (self.lower_rank < self.n_ranks)
        largest = self.first.copy()
        np.maximum.at(largest, self.lower_rank[finite], self.lower[finite])
        return largest


@dataclass(frozen=True, eq=False)
class Endpoints:
    """The sorted ends of all boxes, feature by feature, as clusters and ranks; see `FeatureEnds`.

    Attributes
    ----------
    lower_rank, upper_rank : int32 array of shape (n_samples, n_features)
    n_ranks : int64 array of shape (n_features,)
    first, last : list of float arrays
    lower : float array of shape (n_samples, n_features)
    """

    lower_rank: RankArray
    upper_rank: RankArray
    n_ranks: IntArray
    first: list[FloatArray]
    last: list[FloatArray]
    lower: FloatArray

    def of_feature(self, j: int) -> FeatureEnds:
        """Return the ends of one feature."""
        columns = self.lower_rank[:, j], self.upper_rank[:, j]
        return FeatureEnds(*columns, self.first[j], self.last[j], self.lower[:, j])


def rank_ends(
    lower: FloatArray,
    upper: FloatArray,
    values: FloatArray,
    rounding: FloatArray = EXACT_DOUBLE,
    control: _core.Control | None = None,
) -> Endpoints:
    """Rank the ends of all boxes: O(p n log n).

    Parameters
    ----------
    lower, upper, values : float array of shape (n_samples, n_features)
        Boxes, and the samples that they are around.
    rounding : float array of shape (2, n_features) or (2, 1)
        See `hardwood.data.frames.Table`.
    control : Control or None
        Where it stops the work, `StoppedError` is raised.
    """
    boxes = [np.ascontiguousarray(array) for array in (lower, upper, values)]
    ranked = _core.rank_ends(boxes[0], boxes[1], boxes[2], np.ascontiguousarray(rounding), control)
    if ranked is None:
        raise StoppedError("stopped while the ends of boxes were ranked")
    lower_rank, upper_rank, n_ranks, first, last = ranked
    for array in (lower_rank, upper_rank, n_ranks):
        array.setflags(write=False)
    return Endpoints(lower_rank, upper_rank, n_ranks, first, last, lower)


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


def margin_around(index: int, lower_rank: RankArray, upper_rank: RankArray, ends: FeatureEnds) -> tuple[float, float]:
    """Return the endpoints next to ``index`` as far as the given samples see it; infinite where there is none.

    Parameters
    ----------
    index : int
        Of the threshold.
    lower_rank, upper_rank : array of shape (m,)
        Ranks of the samples that reach the node.
    ends : FeatureEnds
        Those of all samples on the feature of the split.
    """
    ranks = np.concatenate([lower_rank, upper_rank])
    ranks = ranks[(ranks >= 0) & (ranks < ends.n_ranks)]
    below, above = ranks[ranks <= index], ranks[ranks > index]
    # Where the node's own samples have no end on one side, the ends of all samples decide.
    under = int(below.max()) if len(below) else min(index, ends.n_ranks - 1)
    over = int(above.min()) if len(above) else max(index + 1, 0)
    return (
        float(ends.last[under]) if under >= 0 and ends.n_ranks > 0 else -np.inf,
        float(ends.first[over]) if over < ends.n_ranks else np.inf,
    )


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
