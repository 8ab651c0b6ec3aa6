"""Depth 2, the inner loop of the search: a split whose children are stumps.

For a threshold (or a range of thresholds) the weight ``w`` of a sample that reaches both children is shared,
``w = a + b``: the two best stumps under these weights bound the cost from below (Lagrangian decomposition), joined
they are a real tree. Where they disagree on a shared sample, weight moves to the child that loses it.
"""

from __future__ import annotations

import numpy as np

from hardwood.kernels.search_compile import entry, kernel
from hardwood.kernels.search_node import (
    leaf_cost,
    list_active,
    lower_feature_bounds,
    remember_bound,
    set_sides,
)
from hardwood.kernels.search_scan import position_of, scan_any, scan_two_classes
from hardwood.kernels.search_state import (
    ACTIVE,
    BEST,
    BOUND,
    BRANCH,
    BRANCHES,
    CANDIDATE,
    CURRENT,
    EVALUATIONS,
    EXACT,
    FEATURE_ORDER,
    FORBIDDEN,
    FOUND,
    FREE,
    GENERAL,
    GIVEN_UP,
    LABEL,
    LOWER,
    MARK,
    MIN_LEAF,
    MUST_BE_CORRECT,
    N_ACTIVE,
    N_CANDIDATES,
    N_CERTAIN,
    NODES,
    PENALTY,
    PRUNED,
    RANGE_ROUNDS,
    REACH,
    ROUNDS,
    ROUNDS_DONE,
    RUNNING,
    SCANS,
    SIDE,
    SIDE_COUNT,
    SIZE,
    SKIPPED,
    STOP,
    UNDECIDED,
    UPPER,
    USE_CARRY,
    USE_LAZY_SCAN,
    USE_RANGES,
    WEIGHT,
    WIDTH,
    WRONG,
)


@kernel
def scan_feature(data, work, slot, child, feature):
    """Cost of the best stump of a child on one feature."""
    size = work.scalar[slot, SIZE]
    total = work.total[slot, child]
    work.scalar[slot, SCANS] += 1
    if data.control[GENERAL] == 0:
        row = work.events[slot, feature]
        best_01, best_10 = scan_two_classes(row, row[size:], size, work.vector[slot, SIDE + child], total[1], total[0])
        cost = total[0] + total[1] - max(best_01, best_10)
    else:
        best, _, _, _ = scan_any(
            work.events[slot, feature],
            2 * size,
            data.sample[LABEL],
            work.vector[slot, SIDE + child],
            work.vector[slot, SIDE_COUNT + child],
            total,
            work.scalar[slot, N_CERTAIN + child],
            data.control[MIN_LEAF],
            work.total[slot, RUNNING:],
        )
        if best < 0:
            return data.control[FORBIDDEN]
        cost = np.int64(0)
        for c in range(total.shape[0]):
            cost += total[c]
        cost -= best
    return cost + 2 * data.control[PENALTY]


@kernel
def write_stump(data, work, slot, child, feature):
    """Write the child's best stump on `feature` into the slot's tree, as node ``2 + child``."""
    tree = work.tree[slot, CURRENT]
    node = 2 + child
    total = work.total[slot, child]
    size = work.scalar[slot, SIZE]
    if feature == data.rank.shape[1]:
        tree[node, 0] = -1
        tree[node, 1] = 0
        best = 0
        for c in range(total.shape[0]):
            if total[c] > total[best]:
                best = c
        tree[node, 2] = best
        return
    if data.control[GENERAL] == 0:
        row = work.events[slot, feature]
        signed = work.vector[slot, SIDE + child]
        best_01, best_10 = scan_two_classes(row, row[size:], size, signed, total[1], total[0])
        if best_01 >= best_10:
            left = 0
            sample = row[position_of(row, size, signed, np.int64(1), total[1], best_01)]
        else:
            left = 1
            sample = row[size + position_of(row[size:], size, signed, np.int64(-1), total[0], best_10)]
        right = 1 - left
    else:
        _, event, left, right = scan_any(
            work.events[slot, feature],
            2 * size,
            data.sample[LABEL],
            work.vector[slot, SIDE + child],
            work.vector[slot, SIDE_COUNT + child],
            total,
            work.scalar[slot, N_CERTAIN + child],
            data.control[MIN_LEAF],
            work.total[slot, RUNNING:],
        )
        sample = work.events[slot, feature, event] >> np.uint32(1)
    tree[node, 0] = feature
    tree[node, 1] = data.rank[UPPER, feature, sample]
    tree[node, 2] = -1
    tree[2 * node, 0] = -1
    tree[2 * node, 2] = left
    tree[2 * node + 1, 0] = -1
    tree[2 * node + 1, 2] = right


@kernel
def mark_wrong(data, work, slot, child):
    """Mark the samples that the child's stump loses."""
    tree = work.tree[slot, CURRENT]
    node = 2 + child
    bit = np.uint8(1 + child)
    feature = tree[node, 0]
    wrong = work.flag[slot, WRONG]
    reach = work.flag[slot, REACH]
    label = data.sample[LABEL]
    if feature < 0:
        for k in range(work.scalar[slot, SIZE]):
            i = work.ids[slot, k]
            if reach[i] & bit and label[i] != tree[node, 2]:
                wrong[i] |= bit
        return
    lower = data.rank[LOWER, feature]
    upper = data.rank[UPPER, feature]
    threshold = tree[node, 1]
    left = tree[2 * node, 2]
    right = tree[2 * node + 1, 2]
    for k in range(work.scalar[slot, SIZE]):
        i = work.ids[slot, k]
        if reach[i] & bit:
            y = label[i]
            if (lower[i] <= threshold and y != left) or (upper[i] > threshold and y != right):
                wrong[i] |= bit


@kernel
def forget_features(work, slot):
    """Forget all bounds per feature, as if no scan had been made before."""
    for j in range(work.feature.shape[2] - 1):
        work.feature[slot, BOUND, j] = 0
        work.feature[slot, BOUND + 1, j] = 0


@kernel
def copy_tree(target, source, size):
    """Copy a heap of `size` nodes."""
    for h in range(1, size):
        for c in range(3):
            target[h, c] = source[h, c]


@kernel
def evaluate_stumps(data, work, slot, feature, cutoff, given_up, rounds):
    """Raise the bound of the sides set by `set_sides` to `cutoff`, or find a pair of stumps below it.

    Returns the status, the bound or the cost of the pair, and the disagreeing sample of largest weight.
    """
    p = data.rank.shape[1]
    bound = work.feature[slot, BOUND : BOUND + 2]
    exact = work.feature[slot, EXACT : EXACT + 2]
    weight = work.vector[slot, WEIGHT]
    work.scalar[slot, EVALUATIONS] += 1
    if data.control[USE_LAZY_SCAN] == 0:
        forget_features(work, slot)
    for turn in range(rounds + 1):
        while True:
            best_left = p
            best_right = p
            for j in range(p):
                if bound[0, j] < bound[0, best_left]:
                    best_left = j
                if bound[1, j] < bound[1, best_right]:
                    best_right = j
            total = bound[0, best_left] + bound[1, best_right]
            if total >= cutoff:
                return PRUNED, total, -1
            left_is_exact = exact[0, best_left] == 1
            right_is_exact = exact[1, best_right] == 1
            if left_is_exact and right_is_exact:
                break
            scan_left = right_is_exact or (not left_is_exact and bound[0, best_left] <= bound[1, best_right])
            child = 0 if scan_left else 1
            j = best_left if scan_left else best_right
            bound[child, j] = scan_feature(data, work, slot, child, j)
            exact[child, j] = 1
        work.scalar[slot, ROUNDS_DONE] += 1
        for k in range(work.scalar[slot, SIZE]):
            work.flag[slot, WRONG, work.ids[slot, k]] = 0
        for child in range(2):
            write_stump(data, work, slot, child, best_left if child == 0 else best_right)
            mark_wrong(data, work, slot, child)
        penalty = data.control[PENALTY]
        cost = given_up
        for child in range(2):
            cost += penalty if work.tree[slot, CURRENT, 2 + child, 0] < 0 else 2 * penalty
        true_cost = cost - given_up
        disagreements = 0
        worst = -1
        for k in range(work.scalar[slot, SIZE]):
            i = work.ids[slot, k]
            wrong = work.flag[slot, WRONG, i]
            if wrong == 0:
                continue
            true_cost += weight[i]
            if work.flag[slot, MARK, i] == GIVEN_UP:
                continue
            cost += weight[i]
            if work.flag[slot, REACH, i] == 3 and wrong != 3 and weight[i] > 0:
                disagreements += 1
                if worst < 0 or weight[i] > weight[worst]:
                    worst = i
        if true_cost < cutoff + given_up:
            return FOUND, true_cost, -1
        if turn == rounds or disagreements == 0:
            return UNDECIDED, total, worst
        step = max(1, (cutoff - total) // disagreements)
        taken_left = np.int64(0)
        taken_right = np.int64(0)
        share = work.share[slot, feature]
        left = work.vector[slot, SIDE + 0]
        right = work.vector[slot, SIDE + 1]
        for k in range(work.scalar[slot, SIZE]):
            i = work.ids[slot, k]
            wrong = work.flag[slot, WRONG, i]
            if wrong == 0 or wrong == 3 or work.flag[slot, REACH, i] != 3 or work.flag[slot, MARK, i] != FREE:
                continue
            w = weight[i]
            if w == 0:
                continue
            old = abs(left[i])
            a = min(w, old + step) if wrong == 1 else max(0, old - step)
            taken_left += max(0, old - a)
            taken_right += max(0, a - old)
            c = data.sample[LABEL, i]
            work.total[slot, 0, c] += a - old
            work.total[slot, 1, c] += old - a
            share[i] = np.float32(a / w)
            b = w - a
            if c == 1 and data.control[GENERAL] == 0:
                a = -a
                b = -b
            left[i] = a
            right[i] = b
        lower_feature_bounds(data, work, slot, taken_left, taken_right)
        if data.control[USE_LAZY_SCAN] == 0:
            forget_features(work, slot)
    return UNDECIDED, 0, -1


@kernel
def settle_threshold(data, work, slot, feature, threshold, cutoff, first_sample):
    """Close the gap of one threshold by branching on samples: must be correct, or given up and paid for."""
    depth = 0
    given_up = np.int64(0)
    sample = first_sample
    branch = work.vector[slot, BRANCH]
    mark = work.flag[slot, MARK]
    weight = work.vector[slot, WEIGHT]
    status = UNDECIDED
    value = cutoff
    while True:
        if status == UNDECIDED:
            branch[depth] = sample
            depth += 1
            mark[sample] = MUST_BE_CORRECT
        else:
            while depth > 0 and mark[branch[depth - 1]] == GIVEN_UP:
                depth -= 1
                mark[branch[depth]] = FREE
                given_up -= weight[branch[depth]]
            if depth == 0:
                return PRUNED, value
            mark[branch[depth - 1]] = GIVEN_UP
            given_up += weight[branch[depth - 1]]
        work.scalar[slot, BRANCHES] += 1
        set_sides(data, work, slot, feature, threshold, threshold, 1 - data.control[GENERAL])
        status, value, sample = evaluate_stumps(
            data, work, slot, feature, cutoff - given_up, given_up, data.control[ROUNDS]
        )
        if status == FOUND or data.control[STOP]:
            for k in range(depth):
                mark[branch[k]] = FREE
            return FOUND if status == FOUND else UNDECIDED, value
        value = cutoff


@entry
def sweep_depth2(data, work, slot, feature, cutoff, start):
    """Look for a tree below `cutoff` among the thresholds of one feature, from active candidate `start` on.

    Returns the cost of the tree that was found (or `cutoff`) and where to go on.
    """
    if start == 0:
        n_active = list_active(data, work, slot, feature, cutoff)
        work.scalar[slot, SKIPPED] += work.feature[slot, N_CANDIDATES, feature] - n_active
        work.scalar[slot, N_ACTIVE] = n_active
        if data.control[USE_CARRY] == 0:
            for i in range(work.share.shape[2]):
                work.share[slot, feature, i] = 0.5
    n_active = work.scalar[slot, N_ACTIVE]
    candidate = work.threshold[slot, feature, CANDIDATE]
    width = work.scalar[slot, WIDTH]
    position = start
    while position < n_active:
        if data.control[STOP]:
            break
        last = min(position + width, n_active) - 1
        first_k = work.vector[slot, ACTIVE, position]
        last_k = work.vector[slot, ACTIVE, last]
        single = first_k == last_k
        set_sides(data, work, slot, feature, candidate[first_k], candidate[last_k], 1 - data.control[GENERAL])
        rounds = data.control[ROUNDS] if single else data.control[RANGE_ROUNDS]
        status, value, sample = evaluate_stumps(data, work, slot, feature, cutoff, np.int64(0), rounds)
        if status == PRUNED:
            remember_bound(data, work, slot, feature, first_k, last_k, value)
            position = last + 1
            if data.control[USE_RANGES]:
                width = min(2 * width, 1 << 20)
            continue
        if not single:
            width = max(1, (last - position + 1) // 2)
            continue
        if status == UNDECIDED:
            status, value = settle_threshold(data, work, slot, feature, candidate[first_k], cutoff, sample)
            if status == PRUNED:
                remember_bound(data, work, slot, feature, first_k, last_k, cutoff)
                position += 1
                continue
            if status == UNDECIDED:
                break
        work.scalar[slot, WIDTH] = width
        tree = work.tree[slot, CURRENT]
        tree[1, 0] = feature
        tree[1, 1] = candidate[first_k]
        tree[1, 2] = -1
        return value, position
    work.scalar[slot, WIDTH] = width
    return cutoff, n_active


@kernel
def solve_depth2(data, work, slot, cutoff, stop_at_first):
    """Find the best tree of depth 2 that costs less than `cutoff` and return its cost, or `cutoff` if none does."""
    work.scalar[slot, NODES] += 1
    best = cutoff
    cost, label = leaf_cost(data, work, slot)
    best_tree = work.tree[slot, BEST]
    if cost < best:
        best = cost
        best_tree[1, 0] = -1
        best_tree[1, 2] = label
        if stop_at_first:
            return best
    for turn in range(data.rank.shape[1]):
        feature = work.feature[slot, FEATURE_ORDER, turn]
        position = np.int64(0)
        while True:
            value, position = sweep_depth2(data, work, slot, feature, best, position)
            if value >= best:
                break
            best = value
            copy_tree(best_tree, work.tree[slot, CURRENT], np.int64(8))
            bring_forward(work.feature[slot, FEATURE_ORDER], turn)
            if stop_at_first:
                return best
    return best


@kernel
def bring_forward(order, position):
    """Try the feature at `position` first next time."""
    feature = order[position]
    for k in range(position, 0, -1):
        order[k] = order[k - 1]
    order[0] = feature
