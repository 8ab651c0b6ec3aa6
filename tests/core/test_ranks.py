"""Ranks and sorted events of the core are those of the definition, written down end by end."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from core.test_ends import wild_numbers
from hardwood import _core
from hardwood.arrays import FloatArray, IntArray
from hardwood.data.frames import EXACT_DOUBLE, rounding_of
from hardwood.problem.boxes import lower_end, noise, upper_end

LOWER, VALUE, UPPER = 0, 1, 2
LARGEST = float(np.finfo(np.float64).max)


def fixed(
    lower: FloatArray, upper: FloatArray, rounding: FloatArray = EXACT_DOUBLE
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, IntArray, FloatArray]:
    """Boxes as the core takes them: ends without radii."""
    nothing = np.zeros((1, lower.shape[1]))
    return lower, upper, nothing, nothing, np.zeros(len(lower), np.int64), rounding


Ends = list[tuple[float, int, int]]
"""Number, kind and sample of each end of a feature."""


def in_order(columns: tuple[tuple[FloatArray, int], ...], x: FloatArray) -> Ends:
    """Sort ends; equal ones of a kind stand in the order of their values, equal values in that of the samples."""
    keyed = sorted((float(end), kind, x[i], i) for column, kind in columns for i, end in enumerate(column))
    return [(number, kind, i) for number, kind, _, i in keyed]


def ranked(ends: Ends, x: FloatArray, rounding: FloatArray) -> list[int]:
    """Ranks of sorted ends: a new one begins where neighbours differ and are not one."""
    ranks, rank = [], -1
    for k, (number, kind, sample) in enumerate(ends):
        below, below_kind, below_sample = ends[k - 1] if k else (-np.inf, LOWER, sample)
        if number != below:
            is_separable = below_kind >= VALUE and kind <= VALUE
            with np.errstate(over="ignore"):
                pair = ((below, below_sample), (number, sample))
                error = float(np.sum([noise(x[i], min(abs(end - x[i]), LARGEST), rounding) for end, i in pair]))
                is_near = np.float64(number) - below < np.inf and number - below <= 2 * error
            rank += is_separable or not is_near
        ranks.append(rank)
    return ranks


def random_boxes(rng: np.random.Generator) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Boxes on grids with many ties, wild ones, and ends a hair apart."""
    n, p = int(rng.integers(1, 300)), int(rng.integers(1, 4))
    if rng.random() < 0.3:
        x, reach = wild_numbers(rng, (n, p)), np.abs(wild_numbers(rng, (2, n, p)))
    else:
        x = rng.integers(0, 30, (n, p)) / rng.choice([1, 4, 10, 1e7])
        reach = rng.integers(0, 4, (2, 1 if rng.random() < 0.5 else n, p)) / rng.choice([1, 4, 10])
        x = x * (1 + rng.integers(0, 2, (n, p)) * 1e-9)
    rounding = rounding_of(np.zeros((1, p), rng.choice(["float64", "float32"])), p)
    lower, upper = lower_end(x, reach[0], rounding), upper_end(x, reach[1], rounding)
    lower[rng.random((n, p)) < 0.05] = -np.inf
    upper[rng.random((n, p)) < 0.05] = np.inf
    return lower, upper, x, rounding


def check_ranks(rng: np.random.Generator) -> None:
    lower, upper, x, rounding = random_boxes(rng)
    found = _core.rank_ends(*fixed(lower, upper, rounding), x)
    assert found is not None
    lower_rank, upper_rank, n_ranks = found
    offset, *clusters = _core.cluster_ends(*found, *fixed(lower, upper, rounding))
    for j in range(x.shape[1]):
        columns = ((lower[:, j], LOWER), (upper[:, j], UPPER))
        ends = in_order(columns, x[:, j])
        by_rank: dict[int, list[float]] = {}
        for (number, kind, i), rank in zip(ends, ranked(ends, x[:, j], rounding[:, j]), strict=True):
            assert (lower_rank if kind == LOWER else upper_rank)[i, j] == rank
            if np.isfinite(number):
                by_rank.setdefault(rank, []).append(number)
        assert sorted(by_rank) == list(range(n_ranks[j]))
        part = slice(offset[j], offset[j + 1])
        first, last, turn = (numbers[part] for numbers in clusters)
        low = lower[:, j]
        assert first.tolist() == [min(by_rank[r]) for r in sorted(by_rank)]
        assert last.tolist() == [max(by_rank[r]) for r in sorted(by_rank)]
        lowest = [low[lower_rank[:, j] == r] for r in sorted(by_rank)]
        assert turn.tolist() == [max(ends) if len(ends) else a for ends, a in zip(lowest, first, strict=True)]


def check_events(rng: np.random.Generator) -> None:
    lower, upper, x, rounding = random_boxes(rng)
    n, p = x.shape
    label = rng.integers(0, 3, n)
    found = _core.sort_events(*fixed(lower, upper, rounding), x, label)
    assert found is not None
    events, finite = found
    lists = _core.EventLists(events, finite, label)
    for j in range(p):
        columns = ((lower[:, j], LOWER), (x[:, j], VALUE), (upper[:, j], UPPER))
        ends = in_order(columns, x[:, j])
        rank = ranked(ends, x[:, j], rounding[:, j])
        listed = [(i, kind, r, number) for (number, kind, i), r in zip(ends, rank, strict=True)]
        assert (events[j] & ~np.uint32(8)).tolist() == [
            16 * i + 2 * kind + int(label[i] == 1) for i, kind, *_ in listed
        ]
        assert (events[j] & 8 > 0).tolist()[1:] == [b[2] != a[2] for a, b in pairwise(listed)]
        below = sum(number == -np.inf for *_, number in listed)
        assert finite[j].tolist() == [below, 3 * n - sum(number == np.inf for *_, number in listed)]
        place = int(rng.integers(3 * n))
        _, _, asked, number = listed[place]
        if not np.isfinite(number):
            continue
        given = np.array([j]), np.array([place])
        last, first = _core.gaps_behind(*fixed(lower, upper, rounding), x, lists, *given)
        assert last == max(number for *_, r, number in listed if r == asked)
        assert first == min((number for *_, r, number in listed if r == asked + 1), default=np.inf)


@pytest.mark.parametrize("check", [check_ranks, check_events])
@pytest.mark.parametrize("seed", range(60))
def test_ends_are_ranked_as_the_definition_says(check: object, seed: int) -> None:
    check(np.random.default_rng(seed))


@pytest.mark.parametrize("n", [100, 5_000, 70_000])
def test_many_numbers_of_any_kind_are_sorted(n: int) -> None:
    rng = np.random.default_rng(n)
    wild = wild_numbers(rng, (n, 1))
    near = 1 + rng.integers(0, 9, (n, 1)) * 2.0**-52
    for x in (wild, near, rng.random((n, 1)), -rng.exponential(1e6, (n, 1)), np.arange(n)[::-1, None] * 1.0):
        still = np.ascontiguousarray(x)
        found = _core.rank_ends(*fixed(still, still), still)
        assert found is not None
        np.testing.assert_array_equal(found[0], found[1])
        assert found[2].tolist() == [len(np.unique(x))]
        np.testing.assert_array_equal(found[0][:, 0], np.searchsorted(np.unique(x), x[:, 0]))


def test_what_is_stopped_leaves_nothing() -> None:
    x, stopped = np.zeros((4, 2)), _core.Control()
    stopped.request_stop()
    assert _core.rank_ends(*fixed(x, x), x, stopped) is None
    assert _core.sort_events(*fixed(x, x), x, np.zeros(4, np.int64), stopped) is None


def test_what_does_not_fit_is_refused() -> None:
    x, label = np.zeros((4, 2)), np.zeros(4, np.int64)
    found = _core.sort_events(*fixed(x, x), x, label)
    assert found is not None
    events, finite = found
    lists, one = _core.EventLists(events, finite, label), np.zeros(1, np.int64)
    for wrong in (
        lambda: _core.rank_ends(*fixed(x[:3], x), x),
        lambda: _core.rank_ends(*fixed(x, x), x * np.nan),
        lambda: _core.rank_ends(*fixed(x * np.nan, x), x),
        lambda: _core.rank_ends(x + np.inf, x, x[:1] + np.inf, x[:1], label, EXACT_DOUBLE, x),
        lambda: _core.rank_ends(x, x, x[:1] - 1, x[:1], label, EXACT_DOUBLE, x),
        lambda: _core.rank_ends(*fixed(x, x, np.ones((1, 2))), x),
        lambda: _core.sort_events(*fixed(x, x), x, label[:2]),
        lambda: _core.sort_events(*fixed(x, x), x - np.inf, label),
        lambda: _core.EventLists(events, finite + 1, label),
        lambda: _core.EventLists(events, finite, label[:3]),
        lambda: _core.EventLists(events[:, :9].copy(), finite, label),
        lambda: _core.EventLists(events, finite, label + 1),
        lambda: _core.EventLists(np.full_like(events, 900), finite, label),
        lambda: _core.gaps_behind(*fixed(x, x), x, lists, one + 2, one),
        lambda: _core.gaps_behind(*fixed(x, x), x, lists, one, one + 12),
        lambda: _core.gaps_behind(*fixed(x, x), x, lists, one, one[:0]),
        lambda: _core.gaps_behind(*fixed(x[:3], x[:3]), x[:3], lists, one, one),
        lambda: _core.cluster_ends(np.zeros((4, 2), np.int32), np.zeros((4, 2), np.int32), one + 9, *fixed(x, x)),
        lambda: _core.cluster_ends(np.zeros((4, 1), np.int32), np.zeros((4, 1), np.int32), one, *fixed(x, x)),
    ):
        with pytest.raises(ValueError):
            wrong()


@pytest.mark.parametrize("seed", range(30))
def test_ends_that_are_computed_on_the_way_have_the_same_ranks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(1, 300)), int(rng.integers(1, 4))
    x = np.round(rng.random((n, p)), int(rng.integers(1, 4)))
    down, up = rng.choice([0.0, 0.05, 0.1, 1.0], (2, 2, p))
    group, label = rng.integers(0, 2, n), rng.integers(0, 2, n)
    lower, upper = lower_end(x, down[group]), upper_end(x, up[group])
    lazily = (x, x, down, up, group, EXACT_DOUBLE)
    for one, other in (
        (_core.rank_ends(*lazily, x), _core.rank_ends(*fixed(lower, upper), x)),
        (_core.sort_events(*lazily, x, label), _core.sort_events(*fixed(lower, upper), x, label)),
    ):
        assert one is not None
        assert other is not None
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)
