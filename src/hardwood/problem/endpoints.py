"""Ends in order: ranks, candidate thresholds, and the one way from a threshold index to a number.

Only the order of ends matters to a tree: a box reaches left of a threshold iff its lower end is at most the threshold,
and right iff its upper end is above. So ends become ranks, and thresholds become indices between ranks.

Ends share a rank if they are equal, or if they are neighbours within the noise of their boxes
(`hardwood.problem.boxes`) and no upper end stands below a lower end among them. The second rule keeps thresholds away
from where rounding rules, and it loses nothing: among such ends, lower ones first and upper ones after them, a
threshold that has passed some of the lower ends sends more boxes left than one before all of them, and no fewer right;
one that has still to pass some of the upper ends sends more boxes right than one behind all of them, and no fewer left.
And since an upper end below a lower end always has the smaller rank, two boxes meet in ranks iff they meet in numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hardwood.arrays import FloatArray, IntArray, RankArray
from hardwood.data.frames import EXACT_DOUBLE
from hardwood.errors import StoppedError
from hardwood.problem.boxes import noise, rounding_noise

LOWER, VALUE, UPPER = 0, 1, 2
"""Kinds of ends; a value is both ends of a box that cannot be moved."""

_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True, eq=False)
class Endpoints:
    """The sorted ends of all boxes, feature by feature, as clusters and ranks.

    Attributes
    ----------
    lower_rank, upper_rank : int32 array of shape (n_samples, n_features)
        Cluster of each box end; -1 for -inf and ``n_ranks[j]`` for +inf. With threshold index ``t``, a box reaches
        left iff ``lower_rank <= t`` and right iff ``upper_rank > t``.
    n_ranks : int64 array of shape (n_features,)
        Number of clusters of finite ends.
    first, last : tuple of float arrays
        Smallest and largest end of each cluster.
    lower : float array of shape (n_samples, n_features)
        The lower ends.
    """

    lower_rank: RankArray
    upper_rank: RankArray
    n_ranks: IntArray
    first: tuple[FloatArray, ...]
    last: tuple[FloatArray, ...]
    lower: FloatArray

    @cached_property
    def _turns(self) -> dict[int, FloatArray]:
        return {}

    def turn(self, feature: int) -> FloatArray:
        """Return the largest lower end of each cluster, or its first end where it has no lower one.

        A number below it is no better a threshold than the index before the cluster; a number from there on is no
        better than the cluster's own index.
        """
        if feature not in self._turns:
            rank, lower = self.lower_rank[:, feature], self.lower[:, feature]
            finite = (rank >= 0) & (rank < self.n_ranks[feature])
            largest = self.first[feature].copy()
            np.maximum.at(largest, rank[finite], lower[finite])
            self._turns[feature] = largest
        return self._turns[feature]


@dataclass(frozen=True, eq=False)
class Clusters:
    """Sorted ends of some features, those of one rank taken as one.

    Attributes
    ----------
    order : int array of shape (n_features, n_ends)
        Sorts the ends of each feature.
    sorted_rank : int32 array of shape (n_features, n_ends)
        Cluster of each end in that order; -1 for -inf and ``len(first[j])`` for +inf.
    first, last : list of float arrays
        Smallest and largest end of each cluster, by feature.
    """

    order: IntArray
    sorted_rank: RankArray
    first: list[FloatArray]
    last: list[FloatArray]

    @property
    def rank(self) -> RankArray:
        """Cluster of each end, in the order in which the ends were given."""
        rank = np.empty_like(self.sorted_rank)
        np.put_along_axis(rank, self.order, self.sorted_rank, axis=1)
        return rank


def cluster(
    ends: FloatArray,
    values: FloatArray,
    kinds: tuple[int, ...],
    rounding: FloatArray = EXACT_DOUBLE,
    order: NDArray[np.integer] | None = None,
) -> Clusters:
    """Sort and cluster the ends of some features: O(p n log n).

    Parameters
    ----------
    ends : float array of shape (n_features, n_columns, n)
        For each feature one or more columns of ends, which are numbered as if they stood one after another.
    values : float array of shape (n_features, n)
        What the ends are around: their distance from it tells by how much they may be wrong.
    kinds : tuple of int
        `LOWER`, `VALUE` or `UPPER` for each column, in this order.
    rounding : float array of shape (2, n_features) or (2, 1)
        See `hardwood.data.frames.Table`.
    order : int array of shape (n_features, n) or None
        An order in which each column is (nearly) sorted; then they need only be merged, in O(n).
    """
    p, _, n = ends.shape
    by_value, ordered = _sorted(ends, order)
    starts = np.ones(ordered.shape, dtype=bool)
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=starts[:, 1:])
    rounding = np.broadcast_to(rounding, (2, p))
    kind = np.array(kinds, np.int8)
    for j, place in zip(*_close_neighbours(ordered, values, rounding), strict=True):
        # Only an upper end below a lower end is worth a threshold; a value is both.
        below, above = by_value[j, place], by_value[j, place + 1]
        is_separable = (kind[below // n] >= VALUE) & (kind[above // n] <= VALUE)
        error = sum(
            noise(x := values[j, end % n], np.abs(ends[j, end // n, end % n] - x), rounding[:, j])
            for end in (below, above)
        )
        is_near = ordered[j, place + 1] - ordered[j, place] <= 2 * error
        starts[j, place + 1] &= is_separable | ~is_near
    finite = np.isfinite(ordered)
    has_minus_infinity = ordered[:, :1] == -np.inf
    sorted_rank = np.cumsum(starts, axis=1, dtype=np.int32) - 1 - has_minus_infinity
    is_last = np.ones_like(starts)
    is_last[:, :-1] = starts[:, 1:]
    starts &= finite
    is_last &= finite
    return Clusters(
        by_value,
        sorted_rank.astype(np.int32, copy=False),
        [row[chosen] for row, chosen in zip(ordered, starts, strict=True)],
        [row[chosen] for row, chosen in zip(ordered, is_last, strict=True)],
    )


def _sorted(ends: FloatArray, order: NDArray[np.integer] | None) -> tuple[IntArray, FloatArray]:
    """Return an order that sorts all columns of each feature together, and the sorted ends."""
    p, columns, n = ends.shape
    if order is not None:
        ends = np.take_along_axis(ends, order[:, None, :], axis=2)
    flat = ends.reshape(p, columns * n)
    # The stable sort is timsort, which merges sorted runs; among equals, lower ends come first and upper ends last.
    by_value = np.argsort(flat, axis=1, kind="stable")
    ordered = np.take_along_axis(flat, by_value, axis=1)
    if order is not None:
        part, position = np.divmod(by_value, n)
        by_value = np.take_along_axis(order, position, axis=1) + part * n
    return by_value, ordered


def _close_neighbours(
    ordered: FloatArray, values: FloatArray, rounding: FloatArray
) -> tuple[range, list[NDArray[np.intp]]]:
    """Return, for each feature, the places where an end and the next one may be within the noise of each other.

    The noise of rounded numbers grows with value and distance, so that of the largest ones bounds it.
    """
    p = len(ordered)
    finite = np.where(np.isfinite(ordered), ordered, 0.0) if not np.isfinite(ordered).all() else ordered
    largest = np.abs(values).max(axis=1, initial=0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        reach = np.abs(finite).max(axis=1, initial=0.0) + largest
        bound = np.array([float(rounding_noise(largest[j], reach[j], rounding[:, j])) for j in range(p)])
        gap = ordered[:, 1:] - ordered[:, :-1]
        is_close = (gap > 0) & (gap <= 4 * bound[:, None]) & np.isfinite(gap)
    return range(p), [np.flatnonzero(row) for row in is_close]


MOST_VALUES_AT_ONCE = 16_000
"""Features are clustered together, which saves calls, as far as their values stay in the processor's cache."""


def blocks(n_features: int, values_per_feature: int, should_stop: Callable[[], bool] | None = None) -> Iterator[slice]:
    """Divide features into runs that are small enough to be clustered at once.

    Raises `StoppedError` between two of them when `should_stop` says so.
    """
    width = max(1, MOST_VALUES_AT_ONCE // max(1, values_per_feature))
    for start in range(0, n_features, width):
        if should_stop is not None and should_stop():
            raise StoppedError("stopped while the ends of boxes were ranked")
        yield slice(start, min(start + width, n_features))


def cluster_endpoints(
    lower: FloatArray,
    upper: FloatArray,
    values: FloatArray,
    rounding: FloatArray = EXACT_DOUBLE,
    orders: NDArray[np.integer] | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Endpoints:
    """Rank the ends of all boxes.

    Parameters
    ----------
    lower, upper, values : float array of shape (n_samples, n_features)
        Boxes, and the samples that they are around.
    rounding : float array of shape (2, n_features) or (2, 1)
        See `hardwood.data.frames.Table`.
    orders : int array of shape (n_features, n_samples) or None
        As in `cluster`.
    should_stop : callable or None
        See `blocks`.
    """
    n, p = lower.shape
    rounding = np.broadcast_to(rounding, (2, p))
    lower_rank, upper_rank = np.empty((n, p), np.int32), np.empty((n, p), np.int32)
    first: list[FloatArray] = []
    last: list[FloatArray] = []
    for block in blocks(p, 2 * n, should_stop):
        ends = np.stack([lower[:, block].T, upper[:, block].T], axis=1)
        order = None if orders is None else orders[block]
        clusters = cluster(ends, np.ascontiguousarray(values[:, block].T), (LOWER, UPPER), rounding[:, block], order)
        rank = clusters.rank
        lower_rank[:, block], upper_rank[:, block] = rank[:, :n].T, rank[:, n:].T
        first += clusters.first
        last += clusters.last
    n_ranks = np.array([len(values) for values in first], dtype=np.int64)
    for array in (lower_rank, upper_rank, n_ranks):
        array.setflags(write=False)
    return Endpoints(lower_rank, upper_rank, n_ranks, tuple(first), tuple(last), lower)


def candidates(lower_rank: RankArray, upper_rank: RankArray) -> IntArray:
    """Undominated threshold indices of one feature for a set of samples.

    As the threshold grows, the samples that reach left become more at ``lower`` endpoints and those that reach right
    become fewer at ``upper`` endpoints. Both sets should be small, so only a threshold whose last passed endpoint is
    an ``upper`` and whose next one is a ``lower`` can be needed.
    """
    if len(lower_rank) == 0:
        return np.empty(0, np.int64)
    uppers = np.unique(upper_rank)
    lowers = np.unique(lower_rank)
    following = np.searchsorted(lowers, uppers, side="right")
    has_lower = following < len(lowers)
    uppers, following = uppers[has_lower], following[has_lower]
    # Of several uppers before the same lower only the last is undominated.
    is_last = np.concatenate([following[1:] != following[:-1], [True]]) if len(uppers) else np.empty(0, bool)
    return np.asarray(uppers[is_last], dtype=np.int64)


def index_of(threshold: float, feature: int, endpoints: Endpoints) -> int:
    """Return an index that sends no training box to a side to which ``threshold`` does not send it.

    For a threshold between two clusters it is the index between them, which sends every box the same way.
    """
    return int(np.searchsorted(endpoints.turn(feature), threshold, side="right")) - 1


def margin_around(
    index: int, feature: int, lower_rank: RankArray, upper_rank: RankArray, endpoints: Endpoints
) -> tuple[float, float]:
    """Return the endpoints next to ``index`` as far as the given samples see it; infinite where there is none.

    Parameters
    ----------
    index, feature : int
        The split.
    lower_rank, upper_rank : array of shape (m,)
        Ranks, on that feature, of the samples that reach the node.
    """
    n_ranks = int(endpoints.n_ranks[feature])
    ends = np.concatenate([lower_rank, upper_rank])
    ends = ends[(ends >= 0) & (ends < n_ranks)]
    below, above = ends[ends <= index], ends[ends > index]
    # Where the node's own samples have no end on one side, the ends of all samples decide.
    under = int(below.max()) if len(below) else min(index, n_ranks - 1)
    over = int(above.min()) if len(above) else max(index + 1, 0)
    first, last = endpoints.first[feature], endpoints.last[feature]
    return (
        float(last[under]) if under >= 0 and n_ranks > 0 else -np.inf,
        float(first[over]) if over < n_ranks else np.inf,
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
