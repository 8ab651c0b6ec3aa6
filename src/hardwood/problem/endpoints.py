"""Endpoints, candidate thresholds, and the one way from a threshold index to a number.

Data have few decimals, so boxes that touch exactly in decimal arithmetic end up a rounding error apart. Endpoints of
one feature that are closer than `TOLERANCE` of its spread therefore count as one: no threshold fits between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardwood.arrays import FloatArray, IntArray, RankArray

TOLERANCE = 1e-9
"""Endpoints closer than this share of their feature's spread are one endpoint."""


@dataclass(frozen=True, eq=False)
class Endpoints:
    """The sorted endpoints of all boxes, feature by feature, as clusters and ranks.

    Attributes
    ----------
    lower_rank, upper_rank : int32 array of shape (n_samples, n_features)
        Cluster of each box end; -1 for -inf and ``n_ranks[j]`` for +inf. With threshold index ``t``, a box reaches
        left iff ``lower_rank <= t`` and right iff ``upper_rank > t``.
    n_ranks : int64 array of shape (n_features,)
        Number of clusters of finite endpoints.
    first, last : tuple of float arrays
        Smallest and largest endpoint of each cluster.
    """

    lower_rank: RankArray
    upper_rank: RankArray
    n_ranks: IntArray
    first: tuple[FloatArray, ...]
    last: tuple[FloatArray, ...]


@dataclass(frozen=True, eq=False)
class Clusters:
    """Sorted values of some features, values within the noise of each other taken as one.

    Attributes
    ----------
    order : int array of shape (n_features, n_values)
        Sorts the values of each feature.
    sorted_rank : int32 array of shape (n_features, n_values)
        Cluster of each value in that order; -1 for -inf and ``len(first[j])`` for +inf.
    first, last : list of float arrays
        Smallest and largest value of each cluster of finite values, by feature.
    """

    order: NDArray[np.int64]
    sorted_rank: RankArray
    first: list[FloatArray]
    last: list[FloatArray]

    @property
    def rank(self) -> RankArray:
        """Cluster of each value, in the order in which the values were given."""
        rank = np.empty_like(self.sorted_rank)
        np.put_along_axis(rank, self.order, self.sorted_rank, axis=1)
        return rank


def cluster(values: FloatArray, order: NDArray[np.integer] | None = None) -> Clusters:
    """Sort and cluster the values of some features: O(p n log n).

    Parameters
    ----------
    values : float array of shape (n_features, n_columns, n)
        For each feature one or more columns, whose values are numbered as if they stood one after another.
    order : int array of shape (n_features, n) or None
        An order in which each column is (nearly) sorted; then they need only be merged, in O(n).
    """
    p, columns, n = values.shape
    if order is not None:
        values = np.take_along_axis(values, order[:, None, :], axis=2)
    flat = values.reshape(p, columns * n)
    # The stable sort is timsort, which merges sorted runs; it also makes ties independent of the machine.
    by_value = np.argsort(flat, axis=1, kind="stable")
    ordered = np.take_along_axis(flat, by_value, axis=1)
    if order is not None:
        part, position = np.divmod(by_value, n)
        by_value = np.take_along_axis(order, position, axis=1) + part * n
    finite = np.isfinite(ordered)
    largest = np.max(np.abs(ordered), axis=1, where=finite, initial=0.0)
    spread = np.max(ordered, axis=1, where=finite, initial=-np.inf) - np.min(
        ordered, axis=1, where=finite, initial=np.inf
    )
    # Besides the spread, respect what float64 can resolve at this magnitude.
    noise = np.maximum(TOLERANCE * spread, 4 * np.finfo(float).eps * largest)
    starts = np.ones(ordered.shape, dtype=bool)
    with np.errstate(invalid="ignore"):
        # Equal infinities are nan apart, which is no distance; an infinity and a number are infinitely far apart.
        np.greater(ordered[:, 1:] - ordered[:, :-1], noise[:, None], out=starts[:, 1:])
    has_minus_infinity = ordered[:, :1] == -np.inf
    sorted_rank = np.cumsum(starts, axis=1, dtype=np.int32) - 1 - has_minus_infinity
    ends = np.ones_like(starts)
    ends[:, :-1] = starts[:, 1:]
    starts &= finite
    ends &= finite
    return Clusters(
        by_value,
        sorted_rank.astype(np.int32, copy=False),
        [row[chosen] for row, chosen in zip(ordered, starts, strict=True)],
        [row[chosen] for row, chosen in zip(ordered, ends, strict=True)],
    )


MOST_VALUES_AT_ONCE = 16_000
"""Features are clustered together, which saves calls, as far as their values stay in the processor's cache."""


def blocks(n_features: int, values_per_feature: int) -> Iterator[slice]:
    """Divide features into runs that are small enough to be clustered at once."""
    width = max(1, MOST_VALUES_AT_ONCE // max(1, values_per_feature))
    for start in range(0, n_features, width):
        yield slice(start, min(start + width, n_features))


def cluster_endpoints(lower: FloatArray, upper: FloatArray, orders: NDArray[np.integer] | None = None) -> Endpoints:
    """Rank the endpoints of all boxes; `orders` as in `cluster`."""
    n, p = lower.shape
    lower_rank, upper_rank = np.empty((n, p), np.int32), np.empty((n, p), np.int32)
    first: list[FloatArray] = []
    last: list[FloatArray] = []
    for block in blocks(p, 2 * n):
        values = np.stack([lower[:, block].T, upper[:, block].T], axis=1)
        clusters = cluster(values, None if orders is None else orders[block])
        rank = clusters.rank
        lower_rank[:, block], upper_rank[:, block] = rank[:, :n].T, rank[:, n:].T
        first += clusters.first
        last += clusters.last
    n_ranks = np.array([len(values) for values in first], dtype=np.int64)
    for array in (lower_rank, upper_rank, n_ranks):
        array.setflags(write=False)
    return Endpoints(lower_rank, upper_rank, n_ranks, tuple(first), tuple(last))


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
    """Return the index that sends every training box the way that ``threshold`` does.

    A threshold inside a cluster, which separates ends that count as one, becomes the index above the cluster.
    """
    return int(np.searchsorted(endpoints.first[feature], threshold, side="right")) - 1


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


def maximum_margin(low: float, high: float, feature: int, endpoints: Endpoints) -> float:
    """Return the number midway between two neighbouring endpoints, or clear of all if there is none on one side."""
    first, last = endpoints.first[feature], endpoints.last[feature]
    if len(first) == 0:
        return 0.0
    if np.isinf(low):
        return float(first[0] - max(first[-1] - first[0], 1.0))
    if np.isinf(high):
        return float(last[-1] + max(last[-1] - first[0], 1.0))
    middle = low + (high - low) / 2
    return middle if low <= middle < high else low
