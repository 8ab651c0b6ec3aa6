"""Ranks, candidates, and thresholds as numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import index_tree
from core.test_placing import margin_around
from hardwood import Problem
from hardwood.problem.endpoints import Endpoints, index_of, maximum_margin, rank_ends
from hardwood.tree.conversion import place

LARGEST = float(np.finfo(np.float64).max)


def ends_of(lower: list[float], upper: list[float], values: list[float]) -> Endpoints:
    """Ends of boxes on one feature."""
    columns = [np.array([column], dtype=float).T for column in (lower, upper, values)]
    return rank_ends(columns[0], columns[1], columns[2])


def ranks_of(lower: list[float], upper: list[float], values: list[float]) -> tuple[list[int], list[int]]:
    found = ends_of(lower, upper, values)
    return found.lower_rank[:, 0].tolist(), found.upper_rank[:, 0].tolist()


def exactly(lower: list[list[float]], upper: list[list[float]]) -> Endpoints:
    low, high = np.array(lower, dtype=float), np.array(upper, dtype=float)
    return rank_ends(low, high, (low + high) / 2)


def test_equal_ends_share_a_rank_and_infinite_ones_stand_outside() -> None:
    boxes = [1.0, -np.inf, 0.0], [1.0, np.inf, 0.5], [1.0, 0.0, 0.2]
    assert ranks_of(*boxes) == ([2, -1, 0], [2, 3, 1])
    assert ends_of(*boxes).of_feature(0).first.tolist() == [0, 0.5, 1]
    assert ranks_of([-np.inf], [np.inf], [0.0]) == ([-1], [0])
    assert ranks_of([-np.inf, -np.inf], [0, np.inf], [0, 0]) == ([-1, -1], [0, 1])


def test_a_lower_end_and_an_upper_end_just_above_it_are_one_but_not_the_other_way_round() -> None:
    touching = [1.1, 2.1], [2.1 + 1e-9, 3.1], [1.6, 2.6]
    assert ranks_of(*touching) == ([0, 1], [1, 2])
    ends = ends_of(*touching).of_feature(0)
    assert (ends.first[1], ends.last[1]) == (2.1, 2.1 + 1e-9)
    assert ranks_of([1.1, 2.1 + 1e-9], [2.1, 3.1], [1.6, 2.6]) == ([0, 2], [1, 3])


def test_a_number_between_lower_ends_of_one_rank_stands_for_the_index_below() -> None:
    lower, upper = np.array([[1.0], [1.0 + 1e-9]]), np.array([[5.0], [6.0]])
    ends = rank_ends(lower, upper, np.array([[3.1], [3.1]]))
    assert (ends.lower_rank[:, 0].tolist(), ends.upper_rank[:, 0].tolist()) == ([0, 0], [1, 2])
    assert ends.of_feature(0).turn.tolist() == [1.0 + 1e-9, 5.0, 6.0]
    assert [index_of(b, ends.of_feature(0)) for b in (0.9, 1.0, 1.0 + 1e-9, 4.0, 5.0)] == [-1, -1, 0, 0, 1]


def test_thresholds_lie_midway_between_the_ends_that_reach_the_node() -> None:
    ends = exactly([[0.0], [4.0], [10.0]], [[1.0], [5.0], [11.0]]).of_feature(0)
    everyone = (ends.lower_rank, ends.upper_rank)
    assert maximum_margin(*margin_around(1, *everyone, ends)) == 2.5
    without_middle = (ends.lower_rank[[0, 2]], ends.upper_rank[[0, 2]])
    assert maximum_margin(*margin_around(1, *without_middle, ends)) == 5.5
    assert maximum_margin(*margin_around(-1, *everyone, ends)) < 0
    assert maximum_margin(*margin_around(5, *everyone, ends)) > 11
    for t in range(-1, 6):
        assert index_of(maximum_margin(*margin_around(t, *everyone, ends)), ends) == t


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
