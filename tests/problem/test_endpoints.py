"""Ranks, candidates, and thresholds as numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import index_tree
from hardwood import Problem
from hardwood.problem.endpoints import (
    LOWER,
    MOST_VALUES_AT_ONCE,
    UPPER,
    VALUE,
    Clusters,
    Endpoints,
    blocks,
    cluster,
    cluster_endpoints,
    index_of,
    margin_around,
    maximum_margin,
)
from hardwood.tree.conversion import place

LARGEST = float(np.finfo(np.float64).max)


def clusters_of(lower: list[float], upper: list[float], values: list[float]) -> Clusters:
    return cluster(np.array([[lower, upper]], dtype=float), np.array([values], dtype=float), (LOWER, UPPER))


def exactly(lower: list[list[float]], upper: list[list[float]]) -> Endpoints:
    low, high = np.array(lower, dtype=float), np.array(upper, dtype=float)
    return cluster_endpoints(low, high, (low + high) / 2)


def test_equal_ends_share_a_rank_and_infinite_ones_stand_outside() -> None:
    found = clusters_of([1.0, -np.inf, 0.0], [1.0, np.inf, 0.5], [1.0, 0.0, 0.2])
    assert found.rank.tolist() == [[2, -1, 0, 2, 3, 1]]
    assert found.first[0].tolist() == [0, 0.5, 1]
    assert clusters_of([-np.inf], [np.inf], [0.0]).rank.tolist() == [[-1, 0]]
    assert clusters_of([-np.inf, -np.inf], [0, np.inf], [0, 0]).rank.tolist() == [[-1, -1, 0, 1]]


def test_a_lower_end_and_an_upper_end_just_above_it_are_one_but_not_the_other_way_round() -> None:
    touching = clusters_of([1.1, 2.1], [2.1 + 1e-9, 3.1], [1.6, 2.6])
    assert touching.rank.tolist() == [[0, 1, 1, 2]]
    assert (touching.first[0][1], touching.last[0][1]) == (2.1, 2.1 + 1e-9)
    apart = clusters_of([1.1, 2.1 + 1e-9], [2.1, 3.1], [1.6, 2.6])
    assert apart.rank.tolist() == [[0, 2, 1, 3]]


def test_a_number_between_lower_ends_of_one_rank_stands_for_the_index_below() -> None:
    lower, upper = np.array([[1.0], [1.0 + 1e-9]]), np.array([[5.0], [6.0]])
    ends = cluster_endpoints(lower, upper, np.array([[3.1], [3.1]]))
    assert (ends.lower_rank[:, 0].tolist(), ends.upper_rank[:, 0].tolist()) == ([0, 0], [1, 2])
    assert ends.turn(0).tolist() == [1.0 + 1e-9, 5.0, 6.0]
    assert [index_of(b, 0, ends) for b in (0.9, 1.0, 1.0 + 1e-9, 4.0, 5.0)] == [-1, -1, 0, 0, 1]


def test_values_are_told_apart_whatever_the_noise_around_them() -> None:
    values = np.array([[1.0, 1.0 + 1e-12]])
    ends = np.stack([values - 1e4, values, values + 1e4], axis=1)
    found = cluster(ends, values, (LOWER, VALUE, UPPER))
    assert found.rank[0].tolist() == [0, 0, 1, 2, 3, 3]


def test_columns_that_are_merged_are_ranked_as_if_they_were_sorted() -> None:
    rng = np.random.default_rng(11)
    x = rng.integers(0, 20, (3, 50)) / 10
    columns = (x - rng.integers(0, 3, x.shape) / 10, x, np.where(rng.random(x.shape) < 0.2, np.inf, x + 0.3))
    ends, kinds = np.stack(columns, axis=1), (LOWER, VALUE, UPPER)
    plain, merged = cluster(ends, x, kinds), cluster(ends, x, kinds, order=np.argsort(x, axis=1))
    np.testing.assert_array_equal(merged.rank, plain.rank)
    assert np.all(np.diff(merged.sorted_rank, axis=1) >= 0)
    np.testing.assert_array_equal(np.sort(merged.order, axis=1), np.tile(np.arange(150), (3, 1)))
    one_by_one = [cluster(ends[[j]], x[[j]], kinds).rank[0] for j in range(3)]
    np.testing.assert_array_equal(merged.rank, one_by_one)


def test_features_are_divided_into_blocks_that_cover_them() -> None:
    assert list(blocks(5, MOST_VALUES_AT_ONCE // 2)) == [slice(0, 2), slice(2, 4), slice(4, 5)]
    assert list(blocks(3, 10**9)) == [slice(0, 1), slice(1, 2), slice(2, 3)]
    assert list(blocks(7, 1)) == [slice(0, 7)]


def test_thresholds_lie_midway_between_the_ends_that_reach_the_node() -> None:
    ends = exactly([[0.0], [4.0], [10.0]], [[1.0], [5.0], [11.0]])
    everyone = (ends.lower_rank[:, 0], ends.upper_rank[:, 0])
    assert maximum_margin(*margin_around(1, 0, *everyone, ends)) == 2.5
    without_middle = (ends.lower_rank[[0, 2], 0], ends.upper_rank[[0, 2], 0])
    assert maximum_margin(*margin_around(1, 0, *without_middle, ends)) == 5.5
    assert maximum_margin(*margin_around(-1, 0, *everyone, ends)) < 0
    assert maximum_margin(*margin_around(5, 0, *everyone, ends)) > 11
    for t in range(-1, 6):
        assert index_of(maximum_margin(*margin_around(t, 0, *everyone, ends)), 0, ends) == t


@pytest.mark.parametrize("x", [1.0, -3.0, 1e-300, 5e-324, 1e300, -1e308, 0.0])
def test_where_no_number_lies_between_neighbours_the_lower_one_is_the_threshold(x: float) -> None:
    above = float(np.nextafter(x, np.inf))
    assert maximum_margin(x, above) == x
    problem = Problem.from_data([[x], [above]], [0, 1], 0.0, 1)
    tree = place(index_tree((0, 0, 0, 1)), problem)
    assert tree.predict([[x], [above]]).tolist() == [0, 1]


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
def test_a_threshold_between_two_ends_is_at_least_the_lower_and_below_the_upper_one(a: float, b: float) -> None:
    low, high = min(a, b), max(a, b)
    if low < high:
        middle = maximum_margin(low, high)
        assert low <= middle < high
        if np.nextafter(low, np.inf) < high:
            assert low < middle
    if high > -LARGEST:
        assert -LARGEST <= maximum_margin(-np.inf, high) < high
    assert low <= maximum_margin(low, np.inf) <= LARGEST
    if low < LARGEST:
        assert low < maximum_margin(low, np.inf)
