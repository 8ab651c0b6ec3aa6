"""Robust boosting: scans against every threshold, values of leaves against a general optimiser, steps against cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from hardwood import _core
from hardwood.arrays import FloatArray


def loss(m: FloatArray, exponential: bool) -> FloatArray:
    return np.exp(-m) if exponential else np.logaddexp(0.0, -m)


@pytest.mark.parametrize("exponential", [False, True])
def test_losses_and_their_derivatives_are_those_of_the_formulas(exponential: bool) -> None:
    m = np.concatenate([np.linspace(-40, 40, 801), [-800.0, 800.0]])
    value, slope, curvature = _core.boosting_loss(m, exponential)
    inside = np.abs(m) < 600
    assert np.allclose(value[inside], loss(m[inside], exponential), rtol=1e-12, atol=0)
    e = np.exp(-m[inside])
    assert np.allclose(slope[inside], -e if exponential else -e / (1 + e), rtol=1e-12)
    assert np.allclose(curvature[inside], e if exponential else e / (1 + e) ** 2, rtol=1e-9, atol=1e-300)
    assert np.all(np.isfinite([value, slope, curvature]))


def random_ends(rng: np.random.Generator, n: int, p: int) -> tuple[Any, Any]:
    lower = rng.integers(-1, 9, (n, p)).astype(np.int32)
    # An end without bound has rank -1 below; above it is beyond all others.
    return lower, np.maximum(lower + rng.integers(0, 4, (n, p)), 0).astype(np.int32)


def in_order(rank: Any) -> tuple[Any, Any]:
    columns = np.ascontiguousarray(rank.T)
    order = np.argsort(columns, axis=1, kind="stable").astype(np.int32)
    return np.ascontiguousarray(np.take_along_axis(columns, order, axis=1)), order


def best_by_hand(
    lower: Any, upper: Any, sign: Any, g: FloatArray, h: FloatArray, l2: float, thresholds: Any = None
) -> float:
    """Try thresholds, by default all between an upper end and a lower one that follows, and both orders of values."""
    best = 0.0
    for t in np.unique(upper) if thresholds is None else thresholds:
        following = np.concatenate([lower[lower > t], upper[upper > t]])
        if thresholds is None and (len(following) == 0 or following.min() not in lower):
            continue
        left, right = lower <= t, upper > t
        only_left, only_right, both = left & ~right, right & ~left, left & right
        if not only_left.any() or not only_right.any():
            continue
        for rising in (True, False):
            goes_left = only_left | (both & ((sign > 0) == rising))
            goes_right = only_right | (both & ((sign > 0) != rising))
            terms = [((sign * g)[side].sum(), h[side].sum() + l2) for side in (goes_left, goes_right)]
            values = [s / c for s, c in terms]
            if (values[0] < values[1]) == rising and values[0] != values[1]:
                best = max(best, sum(s * s / (2 * c) for s, c in terms))
    return float(best)


def check_scan(rng: np.random.Generator) -> None:
    n, p, nodes = int(rng.integers(2, 30)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
    lower, upper = random_ends(rng, n, p)
    sign = rng.choice(np.array([-1, 1], np.int8), n)
    g, h = rng.random(n), rng.random(n) + 0.01
    node = rng.integers(-1, nodes, n).astype(np.int32)
    l2 = float(rng.choice([0.0, 0.5]))
    features = np.sort(rng.choice(p, int(rng.integers(1, p + 1)), replace=False))
    gain, index, rising = _core.scan_splits(*in_order(lower), *in_order(upper), sign, g, h, node, nodes, l2, features)
    assert gain.shape == index.shape == rising.shape == (nodes, len(features))
    for v in range(nodes):
        here = node == v
        for k, j in enumerate(features):
            expected = best_by_hand(lower[here, j], upper[here, j], sign[here], g[here], h[here], l2)
            assert gain[v, k] == pytest.approx(expected, rel=1e-9, abs=1e-12)
            assert (index[v, k] >= 0 or gain[v, k] == 0) or index[v, k] == -1


def check_bins(rng: np.random.Generator) -> None:
    n, p, nodes = int(rng.integers(2, 30)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
    lower, upper = random_ends(rng, n, p)
    sign = rng.choice(np.array([-1, 1], np.int8), n)
    g, h = rng.random(n), rng.random(n) + 0.01
    node = rng.integers(-1, nodes, n).astype(np.int32)
    l2 = float(rng.choice([0.0, 0.5]))
    features = np.sort(rng.choice(p, int(rng.integers(1, p + 1)), replace=False))
    ends = [np.unique(rng.choice(upper[:, j], int(rng.integers(1, n + 1)))) for j in range(p)]
    enters, leaves = (
        np.array([np.searchsorted(ends[j], rank[:, j]) for j in range(p)], np.uint16) for rank in (lower, upper)
    )
    counts = np.array([len(one) for one in ends])
    gain, index, _ = _core.scan_bins(enters, leaves, counts, sign, g, h, node, nodes, l2, features)
    for v in range(nodes):
        here = node == v
        for k, j in enumerate(features):
            part = (lower[here, j], upper[here, j], sign[here], g[here], h[here], l2)
            assert gain[v, k] == pytest.approx(best_by_hand(*part, ends[j]), rel=1e-9, abs=1e-12)
            if index[v, k] >= 0:
                alone = best_by_hand(*part, [ends[j][index[v, k]]])
                assert gain[v, k] == pytest.approx(alone, rel=1e-9, abs=1e-12)


def check_two_leaves(rng: np.random.Generator) -> None:
    exponential = bool(rng.integers(2))
    n, l2 = int(rng.integers(3, 30)), float(rng.choice([0.01, 1.0]))
    reached = rng.random((n, 2)) < 0.6
    reached[~reached.any(axis=1), 0] = True
    offset = np.where(reached, rng.normal(size=(n, 2)) * rng.choice([0.0, 1.0]), np.inf)
    rest, weight = rng.normal(size=n), rng.integers(1, 4, n).astype(float)
    sign = rng.choice(np.array([-1, 1], np.int8), n)

    def total(v: FloatArray) -> float:
        margin = rest + (offset + sign[:, None] * v).min(axis=1)
        return float(weight @ loss(margin, exponential) + l2 / 2 * v @ v)

    row, leaf = np.nonzero(reached)
    start = np.concatenate([[0], np.cumsum(reached.sum(axis=1))])
    groups = (np.array([0, 2, 3, 4]), np.array([0, 1, 0, 1], np.int32))
    value, found = _core.fit_leaves(
        rest, sign, weight, start, leaf.astype(np.int32), offset[row, leaf], *groups, 2, exponential, l2, 8.0, 60
    )
    assert found == pytest.approx(total(value), rel=1e-12)
    starts = (np.zeros(2), value, rng.normal(size=2))
    best = min(minimize(total, s, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}).fun for s in starts)
    assert found <= best * (1 + 1e-6) + 1e-9
    assert np.all(np.abs(value) <= 8)


def check_many_leaves(rng: np.random.Generator) -> None:
    n, leaves = 40, int(rng.integers(1, 6))
    reached = rng.random((n, leaves)) < 0.4
    reached[~reached.any(axis=1), 0] = True
    row, leaf = np.nonzero(reached)
    start = np.concatenate([[0], np.cumsum(reached.sum(axis=1))])
    rest, sign = rng.normal(size=n), rng.choice(np.array([-1, 1], np.int8), n)
    groups = (np.arange(leaves + 1), np.arange(leaves, dtype=np.int32))
    value, found = _core.fit_leaves(
        rest, sign, np.ones(n), start, leaf.astype(np.int32), np.zeros(len(row)), *groups, leaves, False, 0.5, 8.0, 30
    )
    each = np.where(reached, sign[:, None] * value, np.inf).min(axis=1)
    assert found == pytest.approx(float(loss(rest + each, False).sum() + value @ value / 4), rel=1e-12)
    assert found <= loss(rest, False).sum() * (1 + 1e-12)


def check_steps(rng: np.random.Generator) -> None:
    cut = np.unique(rng.integers(0, 12, int(rng.integers(0, 9))) / 2.0)
    value = rng.normal(size=len(cut) + 1)
    lower = rng.integers(-2, 14, 50) / 2.0
    upper = lower + rng.integers(0, 9, 50) / 2.0
    lower[:3], upper[1:4] = -np.inf, np.inf
    least, largest = _core.step_extremes(cut, value, lower, upper)
    edges = np.concatenate([[-np.inf], cut, [np.inf]])
    for i in range(50):
        met = [v for k, v in enumerate(value) if lower[i] <= edges[k + 1] and upper[i] > edges[k]]
        if np.isneginf(lower[i]):
            met.append(value[0])
        assert (least[i], largest[i]) == (min(met), max(met)), i


@pytest.mark.parametrize("check", [check_scan, check_bins, check_two_leaves, check_many_leaves, check_steps])
@pytest.mark.parametrize("seed", range(30))
def test_scans_values_and_steps_are_those_of_the_twins(check: Any, seed: int) -> None:
    check(np.random.default_rng(seed))


def test_what_makes_no_sense_is_refused() -> None:
    one = np.zeros(1)
    with pytest.raises(ValueError, match="rise"):
        _core.step_extremes(np.array([1.0, 1.0]), np.zeros(3), one, one)
    with pytest.raises(ValueError, match="one value more"):
        _core.step_extremes(one, one, one, one)
    sign, zero = np.ones(1, np.int8), np.zeros(1, np.int32)
    with pytest.raises(ValueError, match="leaf"):
        _core.fit_leaves(
            one,
            sign,
            one,
            np.array([0, 1]),
            np.array([3], np.int32),
            one,
            np.array([0, 1]),
            zero,
            1,
            False,
            0.0,
            1.0,
            1,
        )
    ends = np.zeros((1, 1), np.int32)
    with pytest.raises(ValueError, match="node"):
        _core.scan_splits(ends, ends, ends, ends, sign, one, one, np.array([4], np.int32), 1, 0.0, np.array([0]))
    bins = np.full((1, 1), 2, np.uint16)
    with pytest.raises(ValueError, match="beyond thresholds"):
        _core.scan_bins(bins, bins, np.array([1]), sign, one, one, zero, 1, 0.0, np.array([0]))
