"""Compiled scan of one feature for TREANT's best split.

With labels 0 and 1, predictions in [0, 1] and a loss that grows with the distance from the label (squared or
logistic), the worse of two leaves for class 0 is the one with the larger prediction, for class 1 the one with the
smaller. So where the left prediction is the larger one, the loss under attack is a sum of one convex function of each
prediction::

    (L0 + U0) * l(a, 0) + L1 * l(a, 1)   +   R0 * l(c, 0) + (R1 + U1) * l(c, 1),        a >= c

(L, R, U: weights certainly left, certainly right, undecided), and symmetrically where it is the smaller one. Each half
is solved in closed form, also under bounds on a and c, which is what attack invariance amounts to: no iterative solver.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from hardwood.kernels.signatures import IN_F1, IN_I1, read_only

CLIP = 1e-15
"""The logistic loss of a prediction closer than this to 0 or 1 is that of this distance, as in the published code."""

_IN_RANKS = read_only(nb.int32, 1)


@nb.njit(nb.float64(nb.float64, nb.float64, nb.float64, nb.boolean), cache=True, nogil=True)
def loss_of(prediction, zeros, ones, logistic):
    """Return the loss of a prediction for weights of class 0 and class 1."""
    if logistic:
        p = min(max(prediction, CLIP), 1.0 - CLIP)
        return -zeros * np.log(1.0 - p) - ones * np.log(p)
    return zeros * prediction**2 + ones * (1.0 - prediction) ** 2


@nb.njit(cache=True, nogil=True)
def _mean_within(zeros, ones, low, high, otherwise):
    """Return the prediction in [low, high] with the least loss: both losses have their minimum at the mean."""
    p = ones / (zeros + ones) if zeros + ones > 0.0 else otherwise
    return min(max(p, low), high)


@nb.njit(cache=True, nogil=True)
def _ordered(big0, big1, small0, small1, big_low, big_high, small_low, small_high, start, logistic):
    """Minimise over ``big >= small`` within the bounds; return the loss, infinite if impossible, and both values."""
    if big_low > big_high or small_low > small_high or big_high < small_low:
        return np.inf, start, start
    big = _mean_within(big0, big1, big_low, big_high, start)
    small = _mean_within(small0, small1, small_low, small_high, start)
    if big < small:
        # A convex function's constrained minimum lies on the violated constraint.
        low, high = max(big_low, small_low), min(big_high, small_high)
        big = small = _mean_within(big0 + small0, big1 + small1, low, high, start)
    return loss_of(big, big0, big1, logistic) + loss_of(small, small0, small1, logistic), big, small


@nb.njit(
    nb.types.UniTuple(nb.float64, 3)(
        nb.float64, nb.float64, nb.float64, nb.float64, nb.float64, nb.float64,
        nb.float64, nb.float64, nb.float64, nb.float64, nb.float64, nb.boolean,
    ),
    cache=True,
    nogil=True,
)  # fmt: skip
def best_predictions(
    left0, left1, right0, right1, both0, both1, left_low, left_high, right_low, right_high, start, logistic
):  # fmt: skip
    """Return the least loss under attack and the predictions of the left and the right leaf that reach it.

    Parameters
    ----------
    left0, left1, right0, right1, both0, both1 : float
        Weight of class 0 and 1 certainly left, certainly right, and undecided.
    left_low, left_high, right_low, right_high : float
        Bounds on the predictions.
    start : float
        Prediction of a leaf that no sample asks anything of.
    logistic : bool
        Logistic instead of squared loss.
    """
    loss, left, right = _ordered(
        left0 + both0, left1, right0, right1 + both1, left_low, left_high, right_low, right_high, start, logistic
    )
    other, right_2, left_2 = _ordered(
        right0 + both0, right1, left0, left1 + both1, right_low, right_high, left_low, left_high, start, logistic
    )
    if other < loss:
        return other, left_2, right_2
    return loss, left, right


@nb.njit(
    nb.types.Tuple((nb.float64, nb.int64, nb.int64, nb.float64, nb.float64))(
        _IN_RANKS, _IN_RANKS, IN_I1, IN_F1, _IN_RANKS, _IN_RANKS, IN_I1, IN_F1,
        nb.int64, nb.int64, nb.float64, nb.boolean,
    ),
    cache=True,
    nogil=True,
)  # fmt: skip
def best_threshold(
    low, high, label, weight, rule_low, rule_high, rule_is_upper, rule_bound, lowest, highest, start, logistic
):  # fmt: skip
    """Return the least loss of a split of one feature, its threshold index, the next end and both predictions.

    Parameters
    ----------
    low, high : int32 array of shape (m,)
        Ranks of the interval of each sample of the node.
    label, weight : array of shape (m,)
        Labels 0 and 1, weights.
    rule_low, rule_high, rule_is_upper, rule_bound : array of shape (r,)
        Samples that must keep their side: wherever such an interval reaches, the prediction is at most (`is_upper`) or
        at least ``rule_bound``.
    lowest, highest : int
        The threshold index must lie strictly between.
    start : float
        Prediction of the node as a leaf.
    """
    m, r = len(low), len(rule_low)
    lows = np.concatenate((low, rule_low))
    highs = np.concatenate((high, rule_high))
    by_low, by_high = np.argsort(lows), np.argsort(highs)
    left, right, totals = np.zeros(2), np.zeros(2), np.zeros(2)
    for i in range(m):
        totals[label[i]] += weight[i]
    right[:] = totals
    # Bounds on the right prediction by the rules whose interval ends at or after each place of `by_high`.
    right_low, right_high = np.zeros(m + r + 1), np.ones(m + r + 1)
    for k in range(m + r - 1, -1, -1):
        right_low[k], right_high[k] = right_low[k + 1], right_high[k + 1]
        i = by_high[k] - m
        if i >= 0:
            if rule_is_upper[i] != 0:
                right_high[k] = min(right_high[k], rule_bound[i])
            else:
                right_low[k] = max(right_low[k], rule_bound[i])
    left_low, left_high = 0.0, 1.0
    best = np.inf
    best_t = best_next = -1
    best_left = best_right = start
    passed = 0
    for k in range(m + r):
        i = by_high[k]
        if i < m:
            left[label[i]] += weight[i]
        t = highs[i]
        while passed < m + r and lows[by_low[passed]] <= t:
            i = by_low[passed]
            if i < m:
                right[label[i]] -= weight[i]
            elif rule_is_upper[i - m] != 0:
                left_high = min(left_high, rule_bound[i - m])
            else:
                left_low = max(left_low, rule_bound[i - m])
            passed += 1
        if passed == m + r or t >= highest:
            break
        following = lows[by_low[passed]]
        # Undominated thresholds only: an upper end was passed last and a lower end comes next.
        if t <= lowest or (k + 1 < m + r and highs[by_high[k + 1]] < following):
            continue
        loss, at_left, at_right = best_predictions(
            left[0], left[1], right[0], right[1],
            totals[0] - left[0] - right[0], totals[1] - left[1] - right[1],
            left_low, left_high, right_low[k + 1], right_high[k + 1], start, logistic,
        )  # fmt: skip
        if loss < best:
            best, best_t, best_next, best_left, best_right = loss, t, following, at_left, at_right
    return best, best_t, best_next, best_left, best_right
