"""One node of the search: its samples, its ordered end points, its thresholds and what is remembered of them.

The end points of the samples at a node are kept in order. A node that is split further keeps all events of a
feature as ``2 sample + kind`` (kind 0: lower end, 1: upper end; lower first where they tie). A node of depth 2 with
two classes keeps them as two orders of plain samples, one per labelling (see `search_scan`), in the two halves of
the same row.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from hardwood.kernels.search_state import (
    FORBIDDEN,
    GIVEN_UP,
    MIN_LEAF,
    MUST_BE_CORRECT,
    PENALTY,
    USE_MEMORY,
)


@njit(cache=True, nogil=True)
def fill_node(data, work, slot, source, n_source, member, split_orders):
    """Keep the events of the members of a node, in order, and find the thresholds that no other one dominates.

    As the threshold grows, the left child grows at lower ends and the right child shrinks at upper ends: only a
    threshold whose last end point is an upper one and whose next one is a lower one can be best. Each of them
    stands for a cell of thresholds that it dominates.
    """
    n_features, n = data.lower.shape
    size = 0
    for i in range(n):
        if member[i]:
            work.ids[slot, size] = i
            size += 1
    work.size[slot] = size
    for child in range(2):
        taken = 0
        side = work.side[slot, child]
        for i in range(n):
            if member[i] == 0:
                taken += abs(side[i])
                side[i] = 0
        lower_feature_bounds(data, work, slot, child, taken)
    for j in range(n_features):
        kept = work.events[slot, j]
        cell = work.cell[slot, j]
        candidate = work.candidate[slot, j]
        rising = 0
        falling = size
        both = 0
        found = 0
        after_upper = False
        last_lower = np.int32(0)
        cell_start = np.int32(0)
        last_upper = np.int32(-1)
        for k in range(n_source):
            code = source[j, k]
            i = code >> np.uint32(1)
            if member[i] == 0:
                continue
            is_upper = code & np.uint32(1)
            if split_orders:
                if is_upper == data.label[i]:
                    kept[falling] = i
                    falling += 1
                else:
                    kept[rising] = i
                    rising += 1
            else:
                kept[both] = code
                both += 1
            if is_upper:
                if not after_upper:
                    cell_start = max(last_lower, np.int32(0))
                after_upper = True
                last_upper = data.upper[j, i]
            else:
                if after_upper:
                    candidate[found] = last_upper
                    cell[found] = cell_start
                    found += 1
                last_lower = data.lower[j, i]
                after_upper = False
        work.n_candidates[slot, j] = found


@njit(cache=True, nogil=True)
def remember_weights(data, work, slot):
    """Shift the remembered bounds to the node's new weights.

    For every threshold ``cost(w') >= cost(w) - sum_i max(0, w_i - w'_i)``: a tree loses at most the weight that
    was taken away. A sample that is not at the node has weight 0, so this holds across sets of samples too.
    """
    if data.rules[USE_MEMORY] == 0 or data.rules[MIN_LEAF] > 0:
        work.memory_shift[slot] = 0
        work.memory[slot, :] = 0
        return
    taken = 0
    weight = work.weight[slot]
    old = work.memory_weight[slot]
    for i in range(weight.shape[0]):
        taken += max(0, old[i] - weight[i])
        old[i] = weight[i]
    work.memory_shift[slot] += taken


@njit(cache=True, nogil=True)
def remember_bound(data, work, slot, feature, first, last, bound):
    """Note that no tree with a threshold of the cells `first` .. `last` costs less than `bound`."""
    start = work.cell[slot, feature, first]
    if last + 1 < work.n_candidates[slot, feature]:
        end = work.cell[slot, feature, last + 1]
    else:
        end = work.candidate[slot, feature, last] + 1
    base = data.offset[feature]
    shifted = bound + work.memory_shift[slot]
    memory = work.memory[slot]
    for t in range(base + start, base + end):
        memory[t] = max(memory[t], shifted)


@njit(cache=True, nogil=True)
def list_active(data, work, slot, feature, cutoff):
    """List the candidates of a feature that the remembered bounds leave open."""
    n = 0
    limit = cutoff + work.memory_shift[slot]
    base = data.offset[feature]
    for k in range(work.n_candidates[slot, feature]):
        if work.memory[slot, base + work.candidate[slot, feature, k]] < limit:
            work.active[slot, n] = k
            n += 1
    return n


@njit(cache=True, nogil=True)
def leaf_cost(data, work, slot):
    """Write the best plain leaf into the slot's tree and return its cost."""
    n_classes = work.running.shape[1]
    total = work.running[0]
    total[:] = 0
    certain = 0
    for k in range(work.size[slot]):
        i = work.ids[slot, k]
        total[data.label[i]] += work.weight[slot, i]
        if work.certain[slot, i]:
            certain += data.count[i]
    best = 0
    everything = 0
    for c in range(n_classes):
        everything += total[c]
        if total[c] > total[best]:
            best = c
    if certain < data.rules[MIN_LEAF]:
        return data.rules[FORBIDDEN], best
    return everything - total[best] + data.rules[PENALTY], best


@njit(cache=True, nogil=True)
def set_sides(data, work, slot, feature, first, last, signed):
    """Share the weights between the two children of the thresholds `first` .. `last`.

    A sample that reaches left at `first` does so at every later threshold, one that reaches right at `last` at
    every earlier one. Charging only these gives a bound for the whole range; for ``first == last`` it is the split.
    The lower bounds per feature fall by the weight that each child lost since they were computed.
    """
    lower = data.lower[feature]
    upper = data.upper[feature]
    weight = work.weight[slot]
    share = work.share[slot, feature]
    left = work.side[slot, 0]
    right = work.side[slot, 1]
    min_leaf = data.rules[MIN_LEAF]
    total = work.total[slot]
    total[:] = 0
    taken_left = 0
    taken_right = 0
    certain_left = 0
    certain_right = 0
    for k in range(work.size[slot]):
        i = work.ids[slot, k]
        w = weight[i]
        mark = work.mark[slot, i]
        to_left = lower[i] <= first
        to_right = upper[i] > last
        a = 0
        b = 0
        if mark == MUST_BE_CORRECT:
            w = data.rules[FORBIDDEN]
        if mark != GIVEN_UP:
            if to_left and to_right:
                if mark == MUST_BE_CORRECT:
                    a = w
                    b = w
                else:
                    a = min(w, np.int64(share[i] * w))
                    b = w - a
            elif to_left:
                a = w
            elif to_right:
                b = w
        work.reach[slot, i] = np.uint8(to_left) | (np.uint8(to_right) << 1)
        taken_left += max(0, abs(left[i]) - a)
        taken_right += max(0, abs(right[i]) - b)
        c = data.label[i]
        total[0, c] += a
        total[1, c] += b
        if signed and c == 1:
            a = -a
            b = -b
        left[i] = a
        right[i] = b
        if min_leaf > 0:
            n = data.count[i] if work.certain[slot, i] else 0
            in_left = n if upper[i] <= last else 0
            in_right = n if lower[i] > first else 0
            work.side_count[slot, 0, i] = in_left
            work.side_count[slot, 1, i] = in_right
            certain_left += in_left
            certain_right += in_right
    work.n_certain[slot, 0] = certain_left
    work.n_certain[slot, 1] = certain_right
    lower_feature_bounds(data, work, slot, 0, taken_left)
    lower_feature_bounds(data, work, slot, 1, taken_right)
    if min_leaf > 0:
        work.feature_bound[slot, :, :] = 0
        leaf_bound(data, work, slot, 0)
        leaf_bound(data, work, slot, 1)


@njit(cache=True, nogil=True)
def lower_feature_bounds(data, work, slot, child, taken):
    """Let the bounds per feature follow a change of a child's weights that took `taken` away."""
    bound = work.feature_bound[slot, child]
    exact = work.feature_exact[slot, child]
    for j in range(bound.shape[0]):
        bound[j] = max(0, bound[j] - taken)
        exact[j] = 0
    leaf_bound(data, work, slot, child)


@njit(cache=True, nogil=True)
def leaf_bound(data, work, slot, child):
    """Set the last entry of the bounds per feature: a child that is a plain leaf."""
    leaf = work.feature_bound.shape[2] - 1
    total = work.total[slot, child]
    everything = 0
    best = 0
    for c in range(total.shape[0]):
        everything += total[c]
        best = max(best, total[c])
    cost = everything - best + data.rules[PENALTY]
    if work.n_certain[slot, child] < data.rules[MIN_LEAF]:
        cost = data.rules[FORBIDDEN]
    work.feature_bound[slot, child, leaf] = cost
    work.feature_exact[slot, child, leaf] = 1
