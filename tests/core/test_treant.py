"""TREANT's closed forms against a fine grid of predictions, and its scan against every threshold."""

from __future__ import annotations

import numpy as np
import pytest

from hardwood import _core
from hardwood.arrays import FloatArray


def loss(p: FloatArray, zeros: float, ones: float, logistic: bool) -> FloatArray:
    if logistic:
        p = np.clip(p, 1e-15, 1 - 1e-15)
        return -zeros * np.log(1 - p) - ones * np.log(p)
    return zeros * p**2 + ones * (1 - p) ** 2


def check_predictions(rng: np.random.Generator) -> None:
    left, right, both = rng.integers(0, 5, (3, 2)).astype(float)
    bounds = np.sort(rng.integers(0, 11, (2, 2)) / 10, axis=1)
    logistic = bool(rng.integers(2))
    found, a, c = _core.treant_best_predictions(*left, *right, *both, *bounds[0], *bounds[1], 0.5, logistic)
    p, q = np.meshgrid(np.linspace(*bounds[0], 101), np.linspace(*bounds[1], 101), indexing="ij")

    def total(p: FloatArray, q: FloatArray) -> FloatArray:
        undecided = [np.maximum(loss(p, *w, logistic), loss(q, *w, logistic)) for w in ((both[0], 0.0), (0.0, both[1]))]
        return loss(p, *left, logistic) + loss(q, *right, logistic) + undecided[0] + undecided[1]

    assert found <= total(p, q).min() + 1e-9
    assert found == pytest.approx(float(total(np.float64(a), np.float64(c))), rel=1e-12, abs=1e-12)
    assert bounds[0][0] <= a <= bounds[0][1]
    assert bounds[1][0] <= c <= bounds[1][1]
    assert _core.treant_loss(a, *left, logistic) == pytest.approx(float(loss(np.float64(a), *left, logistic)))


def check_threshold(rng: np.random.Generator) -> None:
    m, r = int(rng.integers(0, 12)), int(rng.integers(0, 4))
    low, rule_low = (rng.integers(-1, 8, k).astype(np.int32) for k in (m, r))
    high, rule_high = low + rng.integers(0, 3, m).astype(np.int32), rule_low + rng.integers(0, 3, r).astype(np.int32)
    label, weight = rng.integers(0, 2, m), rng.integers(1, 4, m).astype(float)
    is_upper, bound = rng.integers(0, 2, r), rng.integers(0, 11, r) / 10
    logistic = bool(rng.integers(2))
    # All of a node's samples and rules reach it: they end above its lowest rank and begin at its highest or before.
    lowest = int(np.concatenate([high, rule_high]).min(initial=9)) - 1
    highest = int(np.concatenate([low, rule_low]).max(initial=-1)) + int(rng.integers(0, 3))
    found, index, _, _, _ = _core.treant_best_threshold(
        low, high, label, weight, rule_low, rule_high, is_upper, bound, lowest, highest, 0.4, logistic
    )

    def at(t: int) -> float:
        sure = {"left": high <= t, "right": low > t}
        w = [[float(weight[side & (label == c)].sum()) for c in (0, 1)] for side in sure.values()]
        w.append([float(weight[~sure["left"] & ~sure["right"] & (label == c)].sum()) for c in (0, 1)])
        limits = []
        for applies in (rule_low <= t, rule_high > t):
            limits += [
                bound[applies & (is_upper == 0)].max(initial=0.0),
                bound[applies & (is_upper == 1)].min(initial=1.0),
            ]
        return _core.treant_best_predictions(*w[0], *w[1], *w[2], *limits, 0.4, logistic)[0]

    # A threshold counts where something ends at or before it and something begins behind it.
    ends, begins = np.concatenate([high, rule_high]), np.concatenate([low, rule_low])
    thresholds = [t for t in range(lowest + 1, highest) if (ends <= t).any() and (begins > t).any()]
    best = min((at(t) for t in thresholds), default=np.inf)
    assert found == pytest.approx(best, rel=1e-12, abs=1e-12)
    if index >= 0:
        assert found == pytest.approx(at(index), rel=1e-12)


@pytest.mark.parametrize("check", [check_predictions, check_threshold])
@pytest.mark.parametrize("seed", range(60))
def test_no_prediction_and_no_threshold_is_better(check: object, seed: int) -> None:
    check(np.random.default_rng(seed))
