"""Boxes that meet, against all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from core.cases import random_ranks
from hardwood import _core


def all_pairs(rng: np.random.Generator) -> tuple[Any, Any]:
    p, n_rows = int(rng.integers(1, 8)), int(rng.integers(0, 30))
    n_columns = int(rng.integers(0, 30)) if rng.random() < 0.9 else int(rng.integers(500, 1100))
    most = int(rng.choice([3, 12, 200, 100_000]))
    rows, columns = random_ranks(rng, n_rows, p, most), random_ranks(rng, n_columns, p, most)
    meets = ((rows[0][:, None] <= columns[1]) & (columns[0] <= rows[1][:, None])).all(axis=2)
    return (*rows, *columns), meets


def check_index(rng: np.random.Generator) -> None:
    boxes, meets = all_pairs(rng)
    n_rows, n_columns = meets.shape
    index = _core.BoxIndex(*boxes)
    allowed = rng.random((int(rng.integers(1, 4)), n_columns)) < rng.random()
    restriction = rng.integers(0, len(allowed), n_rows).astype(np.int32)
    row = rng.permutation(n_rows)[: int(rng.integers(0, n_rows + 1))].astype(np.int32)
    expected = meets[row] & allowed[restriction[row]]
    count, column, finished = index.find(row, restriction, allowed)
    found = np.zeros_like(expected)
    found[np.repeat(np.arange(len(row)), count), column] = True
    assert finished
    assert np.array_equal(found, expected)
    assert len(column) == expected.sum()
    assert np.array_equal(index.find(row, restriction, allowed, listed=False)[0], expected.sum(axis=1))
    limit = int(rng.integers(0, 4))
    count, column, _ = index.find(row, restriction, allowed, limit)
    place = np.repeat(np.arange(len(row)), count)
    assert count.max(initial=0) <= limit
    assert np.bincount(column, minlength=1).max(initial=0) <= limit
    assert expected[place, column].all()
    # A row stops short of its limit only where its columns are spent.
    spent = np.bincount(column, minlength=n_columns) >= limit
    for r in np.flatnonzero(count < limit):
        assert (spent | ~expected[r] | np.isin(np.arange(n_columns), column[place == r])).all()


def check_pairs_and_sweep(rng: np.random.Generator) -> None:
    boxes, meets = all_pairs(rng)
    if meets.size:
        row = rng.integers(0, meets.shape[0], 20).astype(np.int32)
        column = rng.integers(0, meets.shape[1], 20).astype(np.int32)
        assert np.array_equal(_core.pairs_meet(*boxes[:2], row, *boxes[2:], column), meets[row, column])
    lower, upper = boxes[:2]
    feature = int(rng.integers(lower.shape[1]))
    order = np.argsort(lower[:, feature], kind="stable")
    lower, upper, label = lower[order], upper[order], rng.integers(0, 3, len(lower))
    same = ((lower[:, None] <= upper) & (lower <= upper[:, None])).all(axis=2) & (label[:, None] != label)
    i, k = _core.sweep_for_conflict(lower, upper, label, feature)
    assert same[i, k] if i >= 0 else not same.any()


def check_neighbours(rng: np.random.Generator) -> None:
    n, p, leaf = (int(k) for k in rng.integers(1, [40, 4, 8]))
    lower, upper = random_ranks(rng, n, p)
    number = rng.permutation(n)[: int(rng.integers(0, n + 1))]

    def ordered(part: list[int]) -> list[int]:
        if len(part) <= leaf:
            return part
        ends = np.hstack([lower[part], upper[part]]).astype(np.int64)
        widest = int(np.argmax(np.ptp(ends, axis=0)))
        part = [part[k] for k in np.argsort(ends[:, widest], kind="stable")]
        return ordered(part[: len(part) // 2]) + ordered(part[len(part) // 2 :])

    assert _core.order_neighbours(lower, upper, number, leaf).tolist() == ordered(number.tolist())
    stopped = _core.Control()
    stopped.request_stop()
    assert sorted(_core.order_neighbours(lower, upper, number, leaf, stopped)) == sorted(number)


@pytest.mark.parametrize("check", [check_index, check_pairs_and_sweep, check_neighbours])
@pytest.mark.parametrize("seed", range(60))
def test_the_index_finds_the_pairs_of_the_definition(check: object, seed: int) -> None:
    check(np.random.default_rng(seed))
