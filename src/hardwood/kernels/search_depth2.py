"""Depth 2, the inner loop of the search: a split whose children are stumps.

For a threshold (or a range of thresholds) the weight ``w`` of a sample that reaches both children is shared,
``w = a + b``: the two best stumps under these weights bound the cost from below (Lagrangian decomposition), joined
they are a real tree. Where they disagree on a shared sample, weight moves to the child that loses it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from hardwood.kernels.search_node import (
    leaf_bound,
    leaf_cost,
    list_active,
    lower_feature_bounds,
    remember_bound,
    set_sides,
)
from hardwood.kernels.search_scan import position_of, scan_any, scan_two_classes
from hardwood.kernels.search_state import (
    BRANCHES,
    EVALUATIONS,
    FORBIDDEN,
    FOUND,
    FREE,
    GENERAL,
    GIVEN_UP,
    INTERVAL_ROUNDS,
    MIN_LEAF,
    MUST_BE_CORRECT,
    NODES,
    PENALTY,
    PRUNED,
    ROUNDS,
    ROUNDS_DONE,
    SCANS,
    SKIPPED,
    STOP,
    UNDECIDED,
    USE_CARRY,
    USE_INTERVALS,
    USE_LAZY_SCAN,
)


@njit(cache=True, nogil=True)
def scan_feature(data, work, slot, child, feature):
    """Cost of the best stump of a child on one feature."""
    size = work.size[slot]
    total = work.total[slot, child]
    work.stats[1, SCANS] += 1
    if data.rules[GENERAL] == 0:
        row = work.events[slot, feature]
        best_01, best_10 = scan_two_classes(row, row[size:], size, work.side[slot, child], total[1], total[0])
        cost = total[0] + total[1] - max(best_01, best_10)
    else:
        best, _, _, _ = scan_any(
            work.events[slot, feature],
            2 * size,
            data.label,
            work.side[slot, child],
            work.side_count[slot, child],
            total,
            work.n_certain[slot, child],
            data.rules[MIN_LEAF],
            work.running,
            -1,
        )
        if best < 0:
            return data.rules[FORBIDDEN]
        cost = np.int64(0)
        for c in range(total.shape[0]):
            cost += total[c]
        cost -= best
    return cost + 2 * data.rules[PENALTY]


@njit(cache=True, nogil=True)
def write_stump(data, work, slot, child, feature):
    """Write the child's best stump on `feature` into the slot's tree, as node ``2 + child``."""
    tree = work.tree[slot]
    node = 2 + child
    total = work.total[slot, child]
    size = work.size[slot]
    if feature == data.lower.shape[0]:
        tree[node, 0] = -1
        tree[node, 1] = 0
        tree[node, 2] = np.argmax(total)
        return
    if data.rules[GENERAL] == 0:
        row = work.events[slot, feature]
        signed = work.side[slot, child]
        best_01, best_10 = scan_two_classes(row, row[size:], size, signed, total[1], total[0])
        if best_01 >= best_10:
            left = 0
            sample = row[position_of(row, size, signed, 1, total[1], best_01)]
        else:
            left = 1
            sample = row[size + position_of(row[size:], size, signed, -1, total[0], best_10)]
        right = 1 - left
    else:
        _, event, left, right = scan_any(
            work.events[slot, feature],
            2 * size,
            data.label,
            work.side[slot, child],
            work.side_count[slot, child],
            total,
            work.n_certain[slot, child],
            data.rules[MIN_LEAF],
            work.running,
            -1,
        )
        sample = work.events[slot, feature, event] >> np.uint32(1)
    tree[node, 0] = feature
    tree[node, 1] = data.upper[feature, sample]
    tree[node, 2] = -1
    tree[2 * node, 0] = -1
    tree[2 * node, 2] = left
    tree[2 * node + 1, 0] = -1
    tree[2 * node + 1, 2] = right


@njit(cache=True, nogil=True)
def mark_wrong(data, work, slot, child):
    """Mark the samples that the child's stump loses."""
    tree = work.tree[slot]
    node = 2 + child
    bit = np.uint8(1 + child)
    feature = tree[node, 0]
    wrong = work.wrong[slot]
    reach = work.reach[slot]
    label = data.label
    if feature < 0:
        for k in range(work.size[slot]):
            i = work.ids[slot, k]
            if reach[i] & bit and label[i] != tree[node, 2]:
                wrong[i] |= bit
        return
    lower = data.lower[feature]
    upper = data.upper[feature]
    threshold = tree[node, 1]
    left = tree[2 * node, 2]
    right = tree[2 * node + 1, 2]
    for k in range(work.size[slot]):
        i = work.ids[slot, k]
        if reach[i] & bit:
            y = label[i]
            if (lower[i] <= threshold and y != left) or (upper[i] > threshold and y != right):
                wrong[i] |= bit


@njit(cache=True, nogil=True)
def evaluate_stumps(data, work, slot, feature, cutoff, given_up, rounds):
    """Raise the bound of the sides set by `set_sides` to `cutoff`, or find a pair of stumps below it.

    Returns the status, the bound or the cost of the pair, and the disagreeing sample of largest weight.
    """
    p = data.lower.shape[0]
    bound = work.feature_bound[slot]
    exact = work.feature_exact[slot]
    weight = work.weight[slot]
    work.stats[2, EVALUATIONS] += 1
    if data.rules[USE_LAZY_SCAN] == 0:
        bound[:, :p] = 0
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
            if not exact[0, best_left] and (exact[1, best_right] or bound[0, best_left] <= bound[1, best_right]):
                bound[0, best_left] = scan_feature(data, work, slot, 0, best_left)
                exact[0, best_left] = 1
            elif not exact[1, best_right]:
                bound[1, best_right] = scan_feature(data, work, slot, 1, best_right)
                exact[1, best_right] = 1
            else:
                break
        work.stats[2, ROUNDS_DONE] += 1
        for k in range(work.size[slot]):
            work.wrong[slot, work.ids[slot, k]] = 0
        write_stump(data, work, slot, 0, best_left)
        write_stump(data, work, slot, 1, best_right)
        mark_wrong(data, work, slot, 0)
        mark_wrong(data, work, slot, 1)
        penalty = data.rules[PENALTY]
        cost = given_up
        for child in range(2):
            cost += penalty if work.tree[slot, 2 + child, 0] < 0 else 2 * penalty
        true_cost = cost - given_up
        disagreements = 0
        worst = -1
        for k in range(work.size[slot]):
            i = work.ids[slot, k]
            wrong = work.wrong[slot, i]
            if wrong == 0:
                continue
            true_cost += weight[i]
            if work.mark[slot, i] == GIVEN_UP:
                continue
            cost += weight[i]
            if work.reach[slot, i] == 3 and wrong != 3 and weight[i] > 0:
                disagreements += 1
                if worst < 0 or weight[i] > weight[worst]:
                    worst = i
        if true_cost < cutoff + given_up:
            return FOUND, true_cost, -1
        if turn == rounds or disagreements == 0:
            return UNDECIDED, total, worst
        step = max(1, (cutoff - total) // disagreements)
        taken_left = 0
        taken_right = 0
        share = work.share[slot, feature]
        left = work.side[slot, 0]
        right = work.side[slot, 1]
        for k in range(work.size[slot]):
            i = work.ids[slot, k]
            wrong = work.wrong[slot, i]
            if wrong == 0 or wrong == 3 or work.reach[slot, i] != 3 or work.mark[slot, i] != FREE:
                continue
            w = weight[i]
            if w == 0:
                continue
            old = abs(left[i])
            a = min(w, old + step) if wrong == 1 else max(0, old - step)
            taken_left += max(0, old - a)
            taken_right += max(0, a - old)
            c = data.label[i]
            work.total[slot, 0, c] += a - old
            work.total[slot, 1, c] += old - a
            share[i] = np.float32(a / w)
            b = w - a
            if c == 1 and data.rules[GENERAL] == 0:
                a = -a
                b = -b
            left[i] = a
            right[i] = b
        lower_feature_bounds(data, work, slot, 0, taken_left)
        lower_feature_bounds(data, work, slot, 1, taken_right)
        if data.rules[USE_LAZY_SCAN] == 0:
            bound[:, :p] = 0
            leaf_bound(data, work, slot, 0)
            leaf_bound(data, work, slot, 1)
    return UNDECIDED, 0, -1


@njit(cache=True, nogil=True)
def settle_threshold(data, work, slot, feature, threshold, cutoff, first_sample):
    """Close the gap of one threshold by branching on samples: must be correct, or given up and paid for."""
    depth = 0
    given_up = 0
    sample = first_sample
    branch = work.branch[slot]
    mark = work.mark[slot]
    weight = work.weight[slot]
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
        work.stats[2, BRANCHES] += 1
        set_sides(data, work, slot, feature, threshold, threshold, data.rules[GENERAL] == 0)
        status, value, sample = evaluate_stumps(
            data, work, slot, feature, cutoff - given_up, given_up, data.rules[ROUNDS]
        )
        if status == FOUND or data.shared[STOP]:
            for k in range(depth):
                mark[branch[k]] = FREE
            return FOUND if status == FOUND else UNDECIDED, value
        value = cutoff


@njit(cache=True, nogil=True)
def sweep_depth2(data, work, slot, feature, cutoff, start):
    """Look for a tree below `cutoff` among the thresholds of one feature, from active candidate `start` on.

    Returns the cost of the tree that was found (or `cutoff`) and where to go on.
    """
    if start == 0:
        n_active = list_active(data, work, slot, feature, cutoff)
        work.stats[2, SKIPPED] += work.n_candidates[slot, feature] - n_active
        work.n_active[slot] = n_active
        if data.rules[USE_CARRY] == 0:
            work.share[slot, feature, :] = 0.5
    n_active = work.n_active[slot]
    candidate = work.candidate[slot, feature]
    width = work.width[slot]
    position = start
    while position < n_active:
        if data.shared[STOP]:
            break
        last = min(position + width, n_active) - 1
        first_k = work.active[slot, position]
        last_k = work.active[slot, last]
        single = first_k == last_k
        set_sides(data, work, slot, feature, candidate[first_k], candidate[last_k], data.rules[GENERAL] == 0)
        rounds = data.rules[ROUNDS] if single else data.rules[INTERVAL_ROUNDS]
        status, value, sample = evaluate_stumps(data, work, slot, feature, cutoff, 0, rounds)
        if status == PRUNED:
            remember_bound(data, work, slot, feature, first_k, last_k, value)
            position = last + 1
            if data.rules[USE_INTERVALS]:
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
        work.width[slot] = width
        tree = work.tree[slot]
        tree[1, 0] = feature
        tree[1, 1] = candidate[first_k]
        tree[1, 2] = -1
        return value, position
    work.width[slot] = width
    return cutoff, n_active


@njit(cache=True, nogil=True)
def solve_depth2(data, work, slot, cutoff, stop_at_first):
    """Find the best tree of depth 2 that costs less than `cutoff` and return its cost, or `cutoff` if none does."""
    work.stats[2, NODES] += 1
    best = cutoff
    cost, label = leaf_cost(data, work, slot)
    best_tree = work.best_tree[slot]
    if cost < best:
        best = cost
        best_tree[1, 0] = -1
        best_tree[1, 2] = label
        if stop_at_first:
            return best
    for turn in range(data.lower.shape[0]):
        feature = work.feature_order[slot, turn]
        position = 0
        while True:
            value, position = sweep_depth2(data, work, slot, feature, best, position)
            if value >= best:
                break
            best = value
            best_tree[:8] = work.tree[slot, :8]
            bring_forward(work.feature_order[slot], turn)
            if stop_at_first:
                return best
    return best


@njit(cache=True, nogil=True)
def bring_forward(order, position):
    """Try the feature at `position` first next time."""
    feature = order[position]
    for k in range(position, 0, -1):
        order[k] = order[k - 1]
    order[0] = feature
