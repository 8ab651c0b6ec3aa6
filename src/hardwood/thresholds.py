"""Endpoints, candidate thresholds, and the one way from a threshold index to a number.

Data have few decimals, so boxes that touch exactly in decimal arithmetic end up a rounding error apart. Endpoints of
one feature that are closer than `TOLERANCE` of its spread therefore count as one: no threshold fits between them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
RankArray = NDArray[np.int32]

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
    """Sorted values of one feature, values within the noise of each other taken as one.

    Attributes
    ----------
    order : int array
        Sorts the values.
    rank : int32 array
        Cluster of each value; -1 for -inf and ``len(first)`` for +inf.
    first, last : float array
        Smallest and largest value of each cluster of finite values.
    """

    order: NDArray[np.intp]
    rank: RankArray
    first: FloatArray
    last: FloatArray


def cluster(*columns: FloatArray, order: NDArray[np.integer] | None = None) -> Clusters:
    """Sort and cluster the values of one or more columns of equal length, numbered as if they stood one after another.

    Parameters
    ----------
    *columns : float arrays of shape (n,)
    order : int array of shape (n,) or None
        An order in which each column is (nearly) sorted; then they need only be merged, in O(n).
    """
    n = len(columns[0])
    arranged = columns if order is None else [column[order] for column in columns]
    values = np.concatenate(arranged)
    # The stable sort is timsort, which merges sorted runs; it also makes ties independent of the machine.
    by_value = np.argsort(values, kind="stable")
    ordered = values[by_value]
    if order is not None:
        part, position = np.divmod(by_value, n)
        by_value = order[position] + part * n
    low, high = np.searchsorted(ordered, -np.inf, side="right"), np.searchsorted(ordered, np.inf, side="left")
    finite = ordered[low:high]
    rank = np.empty(len(values), np.int32)
    rank[by_value[:low]] = -1
    if len(finite) == 0:
        rank[by_value[high:]] = 0
        return Clusters(by_value, rank, finite, finite)
    # Besides the spread, respect what float64 can resolve at this magnitude.
    noise = max(TOLERANCE * (finite[-1] - finite[0]), 4 * np.finfo(float).eps * max(-finite[0], finite[-1]))
    starts = np.empty(len(finite), dtype=bool)
    starts[0] = True
    np.greater(finite[1:] - finite[:-1], noise, out=starts[1:])
    rank[by_value[low:high]] = np.cumsum(starts, dtype=np.int32) - 1
    first, last = finite[starts], finite[np.append(starts[1:], True)]
    rank[by_value[high:]] = len(first)
    return Clusters(by_value, rank, first, last)


def cluster_endpoints(lower: FloatArray, upper: FloatArray, orders: Iterable[NDArray[np.integer] | None]) -> Endpoints:
    """Rank the endpoints of all boxes; `orders` as in `cluster`, one per feature."""
    n, p = lower.shape
    lower_rank, upper_rank = np.empty((n, p), np.int32), np.empty((n, p), np.int32)
    by_feature = []
    for j, order in enumerate(orders):
        clusters = cluster(lower[:, j], upper[:, j], order=order)
        lower_rank[:, j], upper_rank[:, j] = clusters.rank[:n], clusters.rank[n:]
        by_feature.append((clusters.first, clusters.last))
    n_ranks = np.array([len(first) for first, _ in by_feature], dtype=np.int64)
    for array in (lower_rank, upper_rank, n_ranks):
        array.setflags(write=False)
    return Endpoints(
        lower_rank, upper_rank, n_ranks, tuple(f for f, _ in by_feature), tuple(last for _, last in by_feature)
    )


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
