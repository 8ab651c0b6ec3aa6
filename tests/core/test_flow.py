"""Maximum flow against covers and cuts by trying all of them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from hardwood import _core


def check_flow(rng: np.random.Generator) -> None:
    n_rows, n_columns, n_edges = (int(k) for k in rng.integers(1, [6, 6, 16]))
    row, column = (rng.integers(0, n, n_edges).astype(np.int32) for n in (n_rows, n_columns))
    weights = rng.integers(0, 6, n_rows), rng.integers(0, 6, n_columns)
    row_left, column_left = (w.copy() for w in weights)
    flow = np.zeros(n_edges, np.int64)
    if rng.random() < 0.5:  # from a flow that is feasible already
        e = int(rng.integers(n_edges))
        flow[e] = min(row_left[row[e]], column_left[column[e]])
        row_left[row[e]] -= flow[e]
        column_left[column[e]] -= flow[e]
    row_reached, column_reached, finished = _core.grow_flow(row, column, flow, row_left, column_left)
    assert finished
    assert (flow >= 0).all()
    assert np.array_equal(row_left + np.bincount(row, flow, n_rows), weights[0])
    assert np.array_equal(column_left + np.bincount(column, flow, n_columns), weights[1])
    # The cut covers every edge and weighs what the flow carries: both are optimal.
    row_cover, column_cover = ~row_reached, column_reached
    assert (row_cover[row] | column_cover[column]).all()
    assert weights[0][row_cover].sum() + weights[1][column_cover].sum() == flow.sum()


def check_cut(rng: np.random.Generator) -> None:
    n = int(rng.integers(2, 9))
    arcs = rng.integers(0, n, (int(rng.integers(0, 14)), 2)).astype(np.int32)
    kind = rng.integers(0, 3, n)
    weight = rng.integers(0, 9, n) / 4
    supply, demand = np.where(kind == 0, weight, 0.0), np.where(kind == 1, weight, 0.0)
    side = _core.minimum_cut(arcs[:, 0].copy(), arcs[:, 1].copy(), supply, demand)
    cuts = {}
    for chosen in product((False, True), repeat=n):
        if all(chosen[head] or not chosen[tail] for tail, head in arcs):
            cuts[chosen] = sum(supply[v] for v in range(n) if not chosen[v]) + sum(demand[np.array(chosen)])
    least = min(cuts.values())
    best = [np.array(chosen) for chosen, cost in cuts.items() if cost == least]
    # Of all minimum cuts the one with the fewest vertices, which lies in all others.
    assert cuts[tuple(side.tolist())] == least
    assert np.array_equal(side, np.logical_and.reduce(best))


def check_hand_down(rng: np.random.Generator) -> None:
    size = rng.integers(1, 4, int(rng.integers(2, 6)))
    start = np.concatenate([[0], np.cumsum(size)])
    member = rng.permutation(int(start[-1]))
    weight = rng.integers(0, 5, len(member))
    total = np.add.reduceat(weight[member], start[:-1])
    left, pairs, amounts = total.copy(), [], []
    for _ in range(4):
        u, v = rng.permutation(len(size))[:2]
        amount = int(rng.integers(0, min(left[u], left[v]) + 1))
        left[[u, v]] -= amount
        pairs.append((u, v))
        amounts.append(amount)
    pair, handed_down = _core.hand_down(np.array(pairs), np.array(amounts), start, member, weight)
    vertex = np.empty(len(member), np.int64)
    vertex[member] = np.repeat(np.arange(len(size)), size)
    used = np.bincount(pair.ravel(), np.repeat(handed_down, 2), len(member))
    assert (used <= weight).all()
    assert (handed_down > 0).all()
    handed: dict[tuple[int, int], int] = {}
    asked: dict[tuple[int, int], int] = {}
    for (i, k), a in zip(pair, handed_down, strict=True):
        handed[vertex[i], vertex[k]] = handed.get((vertex[i], vertex[k]), 0) + int(a)
    for (u, v), a in zip(pairs, amounts, strict=True):
        asked[u, v] = asked.get((u, v), 0) + a
    assert handed == {key: a for key, a in asked.items() if a}


@pytest.mark.parametrize("check", [check_flow, check_cut, check_hand_down])
@pytest.mark.parametrize("seed", range(60))
def test_flows_cuts_and_packings_are_optimal(check: object, seed: int) -> None:
    check(np.random.default_rng(seed))


def test_a_stopped_flow_is_feasible() -> None:
    rng = np.random.default_rng(0)
    row, column = (rng.integers(0, 200, 4000).astype(np.int32) for _ in range(2))
    flow, row_left, column_left = np.zeros(4000, np.int64), np.full(200, 50), np.full(200, 50)
    control = _core.Control()
    control.request_stop()
    *_, finished = _core.grow_flow(row, column, flow, row_left, column_left, control)
    assert not finished
    assert np.array_equal(row_left, 50 - np.bincount(row, flow, 200))
    assert np.array_equal(column_left, 50 - np.bincount(column, flow, 200))
