"""One node of the search: its samples, its ordered end points, its thresholds and what is remembered of them.

The end points of the samples at a node are kept in order. A node that is split further keeps all events of a
feature as ``2 sample + kind`` (kind 0: lower end, 1: upper end; lower first where they tie). A node of depth 2 with
two classes keeps them as two orders of plain samples, one per labelling (see `search_scan`), in the two halves of
the same row.
"""

from __future__ import annotations

import numpy as np

from hardwood.kernels.search_compile import entry, kernel
from hardwood.kernels.search_state import (
    ACTIVE,
    BOUND,
    CANDIDATE,
    CELL,
    CERTAIN,
    COUNT,
    EVERYTHING,
    EXACT,
    FIRST_CANDIDATE,
    FORBIDDEN,
    GIVEN_UP,
    LABEL,
    LARGEST_SHIFT,
    LAST_CANDIDATE,
    LOWER,
    MARK,
    MEMORY_SHIFT,
    MEMORY_WEIGHT,
    MIN_LEAF,
    MUST_BE_CORRECT,
    N_CANDIDATES,
    N_CERTAIN,
    OFFSET,
    PENALTY,
    REACH,
    RUNNING,
    SIDE,
    SIDE_COUNT,
    SIZE,
    UPPER,
    USE_MEMORY,
    WEIGHT,
)


@kernel
def fill_node(data, work, slot, source, n_source, member, split_orders):
    """Keep the events of the members of a node, in order, and find the thresholds that no other one dominates.

    As the threshold grows, the left child grows at lower ends and the right child shrinks at upper ends: only a
    threshold whose last end point is an upper one and whose next one is a lower one can be best. Each of them
    stands for a cell of thresholds that it dominates.
    """
    n_features = data.rank.shape[1]
    n = data.rank.shape[2]
    size = 0
    for i in range(n):
        if member[i]:
            work.ids[slot, size] = i
            size += 1
    work.scalar[slot, SIZE] = size
    taken_left = np.int64(0)
    taken_right = np.int64(0)
    left = work.vector[slot, SIDE]
    right = work.vector[slot, SIDE + 1]
    for i in range(n):
        if member[i] == 0:
            taken_left += abs(left[i])
            taken_right += abs(right[i])
            left[i] = 0
            right[i] = 0
    lower_feature_bounds(data, work, slot, taken_left, taken_right)
    for j in range(n_features):
        kept = work.events[slot, j]
        cell = work.threshold[slot, j, CELL]
        candidate = work.threshold[slot, j, CANDIDATE]
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
                if is_upper == data.sample[LABEL, i]:
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
                last_upper = data.rank[UPPER, j, i]
            else:
                if after_upper:
                    candidate[found] = last_upper
                    cell[found] = cell_start
                    found += 1
                last_lower = data.rank[LOWER, j, i]
                after_upper = False
        work.feature[slot, N_CANDIDATES, j] = found


@entry
def remember_weights(data, work, slot):
    """Shift the remembered bounds to the node's new weights.

    For every threshold ``cost(w') >= cost(w) - sum_i max(0, w_i - w'_i)``: a tree loses at most the weight that
    was taken away. A sample that is not at the node has weight 0, so this holds across sets of samples too.
    """
    if data.control[USE_MEMORY] == 0 or data.control[MIN_LEAF] > 0:
        work.scalar[slot, MEMORY_SHIFT] = 0
        for t in range(work.memory.shape[1]):
            work.memory[slot, t] = 0
        return
    taken = 0
    weight = work.vector[slot, WEIGHT]
    old = work.vector[slot, MEMORY_WEIGHT]
    for i in range(weight.shape[0]):
        taken += max(0, old[i] - weight[i])
        old[i] = weight[i]
    work.scalar[slot, MEMORY_SHIFT] += taken
    if work.scalar[slot, MEMORY_SHIFT] > LARGEST_SHIFT:
        for t in range(work.memory.shape[1]):
            work.memory[slot, t] = max(0, work.memory[slot, t] - work.scalar[slot, MEMORY_SHIFT])
        work.scalar[slot, MEMORY_SHIFT] = 0


@kernel
def remember_bound(data, work, slot, feature, first, last, bound):
    """Note that no tree with a threshold of the cells `first` .. `last` costs less than `bound`."""
    start = work.threshold[slot, feature, CELL, first]
    if last + 1 < work.feature[slot, N_CANDIDATES, feature]:
        end = work.threshold[slot, feature, CELL, last + 1]
    else:
        end = work.threshold[slot, feature, CANDIDATE, last] + 1
    base = work.feature[slot, OFFSET, feature]
    shifted = bound + work.scalar[slot, MEMORY_SHIFT]
    memory = work.memory[slot]
    for t in range(base + start, base + end):
        memory[t] = max(memory[t], shifted)


@kernel
def list_active(data, work, slot, feature, cutoff):
    """List the candidates of a feature that the remembered bounds leave open."""
    n = 0
    limit = cutoff + work.scalar[slot, MEMORY_SHIFT]
    base = work.feature[slot, OFFSET, feature]
    last = min(work.feature[slot, N_CANDIDATES, feature], work.scalar[slot, LAST_CANDIDATE])
    for k in range(work.scalar[slot, FIRST_CANDIDATE], last):
        if work.memory[slot, base + work.threshold[slot, feature, CANDIDATE, k]] < limit:
            work.vector[slot, ACTIVE, n] = k
            n += 1
    return n


@kernel
def leaf_cost(data, work, slot):
    """Write the best plain leaf into the slot's tree and return its cost."""
    total = work.total[slot, RUNNING]
    n_classes = total.shape[0]
    for c in range(n_classes):
        total[c] = 0
    certain = 0
    for k in range(work.scalar[slot, SIZE]):
        i = work.ids[slot, k]
        total[data.sample[LABEL, i]] += work.vector[slot, WEIGHT, i]
        if work.flag[slot, CERTAIN, i]:
            certain += data.sample[COUNT, i]
    best = 0
    everything = 0
    for c in range(n_classes):
        everything += total[c]
        if total[c] > total[best]:
            best = c
    if certain < data.control[MIN_LEAF]:
        return data.control[FORBIDDEN], best
    return everything - total[best] + data.control[PENALTY], best


@kernel
def set_sides(data, work, slot, feature, first, last, signed):
    """Share the weights between the two children of the thresholds `first` .. `last`.

    A sample that reaches left at `first` does so at every later threshold, one that reaches right at `last` at
    every earlier one. Charging only these gives a bound for the whole range; for ``first == last`` it is the split.
    The lower bounds per feature fall by the weight that each child lost since they were computed.
    """
    lower = data.rank[LOWER, feature]
    upper = data.rank[UPPER, feature]
    weight = work.vector[slot, WEIGHT]
    share = work.share[slot, feature]
    left = work.vector[slot, SIDE + 0]
    right = work.vector[slot, SIDE + 1]
    min_leaf = data.control[MIN_LEAF]
    total = work.total[slot]
    for c in range(total.shape[1]):
        total[0, c] = 0
        total[1, c] = 0
    taken_left = np.int64(0)
    taken_right = np.int64(0)
    certain_left = 0
    certain_right = 0
    for k in range(work.scalar[slot, SIZE]):
        i = work.ids[slot, k]
        w = weight[i]
        mark = work.flag[slot, MARK, i]
        to_left = lower[i] <= first
        to_right = upper[i] > last
        a = 0
        b = 0
        if mark == MUST_BE_CORRECT:
            w = data.control[FORBIDDEN]
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
        work.flag[slot, REACH, i] = np.uint8(to_left) | (np.uint8(to_right) << 1)
        taken_left += max(0, abs(left[i]) - a)
        taken_right += max(0, abs(right[i]) - b)
        c = data.sample[LABEL, i]
        total[0, c] += a
        total[1, c] += b
        if signed == 1 and c == 1:
            a = -a
            b = -b
        left[i] = a
        right[i] = b
        if min_leaf > 0:
            n = data.sample[COUNT, i] if work.flag[slot, CERTAIN, i] else 0
            in_left = n if upper[i] <= last else 0
            in_right = n if lower[i] > first else 0
            work.vector[slot, SIDE_COUNT + 0, i] = in_left
            work.vector[slot, SIDE_COUNT + 1, i] = in_right
            certain_left += in_left
            certain_right += in_right
    work.scalar[slot, N_CERTAIN + 0] = certain_left
    work.scalar[slot, N_CERTAIN + 1] = certain_right
    if min_leaf > 0:
        # Which splits are allowed changes with the samples: nothing is known of the new ones.
        taken_left = np.int64(EVERYTHING)
        taken_right = np.int64(EVERYTHING)
    lower_feature_bounds(data, work, slot, taken_left, taken_right)


@kernel
def lower_feature_bounds(data, work, slot, taken_left, taken_right):
    """Let the bounds per feature follow a change of the children's weights that took so much away from each.

    The last entry, a child that is a plain leaf, is always exact.
    """
    leaf = work.feature.shape[2] - 1
    for child in range(2):
        taken = taken_left if child == 0 else taken_right
        bound = work.feature[slot, BOUND + child]
        exact = work.feature[slot, EXACT + child]
        for j in range(leaf):
            bound[j] = max(0, bound[j] - taken)
            exact[j] = 0
        total = work.total[slot, child]
        everything = 0
        best = 0
        for c in range(total.shape[0]):
            everything += total[c]
            best = max(best, total[c])
        bound[leaf] = everything - best + data.control[PENALTY]
        if work.scalar[slot, N_CERTAIN + child] < data.control[MIN_LEAF]:
            bound[leaf] = data.control[FORBIDDEN]
        exact[leaf] = 1
