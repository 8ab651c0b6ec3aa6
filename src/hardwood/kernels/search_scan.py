"""Stump scans: the best single split of weighted samples on one feature.

With the left leaf labelled a and the right leaf labelled c, a sample of class a is right iff it cannot reach
right (``upper <= t``), one of class c iff it cannot reach left (``lower > t``), all others are wrong. Going
through the end points in order (lower before upper where they tie), the weight that is right rises at an upper
end of class a and falls at a lower end of class c; every local maximum is a real threshold, or a plain leaf at
either end of the order.
"""

from __future__ import annotations

import numpy as np

from hardwood.kernels.search_compile import kernel


@kernel
def scan_two_classes(rising, falling, size, signed, right_of_1, right_of_0):
    """Largest weight that one split on a feature gets right, per labelling.

    Parameters
    ----------
    rising : (2 n,) uint32
        The first `size` entries are the samples in the order of their events under the labelling (0, 1): upper
        ends of class 0, lower ends of class 1. `falling` holds those of the labelling (1, 0).
    signed : (n,) int64
        Weight of the sample, negative for class 1.
    right_of_1, right_of_0 : int
        What a plain leaf of class 1 (of class 0) gets right: the value before the first event.
    """
    s = right_of_1
    t = right_of_0
    best_s = s
    best_t = t
    for k in range(size):
        s += signed[rising[k]]
        best_s = max(best_s, s)
        t -= signed[falling[k]]
        best_t = max(best_t, t)
    return best_s, best_t


@kernel
def position_of(order, size, signed, sign, start, value):
    """First position in the order after which the running weight equals `value`; -1 before any event."""
    s = start
    if s == value:
        return -1
    for k in range(size):
        s += sign * signed[order[k]]
        if s == value:
            return k
    return -2


@kernel
def scan_any(events, n_events, label, weight, count, total, n_certain, min_leaf, running):
    """Best split on one feature for any number of classes, with `min_leaf` certain samples in both leaves.

    Parameters
    ----------
    events : (2 n,) uint32
        ``2 sample + kind`` in order, kind 0: lower end, 1: upper end.
    running : (2, classes) int64
        Scratch: the weight per class that certainly goes left, and right.

    Returns
    -------
    best, event, left, right : int
        The weight that is right (-1: no allowed split), the position and the labels that reach it.
    """
    n_classes = total.shape[0]
    for c in range(n_classes):
        running[0, c] = 0
        running[1, c] = total[c]
    n_left = 0
    n_right = n_certain
    best = -1
    best_event = -1
    best_left = 0
    best_right = 0
    allowed = min_leaf == 0
    for k in range(n_events):
        code = np.int64(events[k])
        i = code >> 1
        c = label[i]
        if code & 1 == 0:
            running[1, c] -= weight[i]
            n_right -= count[i]
            if n_right < min_leaf:
                break
            continue
        running[0, c] += weight[i]
        n_left += count[i]
        if n_left < min_leaf:
            continue
        for a in range(n_classes):
            if a != c and allowed:
                continue
            for d in range(n_classes):
                got = running[0, a] + running[1, d]
                if a != d and got > best:
                    best = got
                    best_event = k
                    best_left = a
                    best_right = d
        allowed = True
    return best, best_event, best_left, best_right
