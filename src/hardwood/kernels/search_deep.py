"""Depth 3 and more: the same decomposition, with children that are searched themselves.

A child search is asked one question only: is there a tree that costs less than a target? Trees that were ever the
answer are kept in a pool. The weights of the shared samples are first moved until no pair of pooled trees is
cheaper than the cutoff, which costs microseconds; only then are the children searched, to prove the bound or to
find a tree for the pool.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from hardwood.kernels.search_depth2 import bring_forward, solve_depth2
from hardwood.kernels.search_node import (
    fill_node,
    leaf_cost,
    list_active,
    remember_bound,
    remember_weights,
    set_sides,
)
from hardwood.kernels.search_state import (
    ASCENT_STEPS,
    BRANCHES,
    CHILD_SOLVES,
    DEEP_INTERVAL_ROUNDS,
    DEEP_ROUNDS,
    EVALUATIONS,
    FIRST_TREE,
    FORBIDDEN,
    FOUND,
    FREE,
    GENERAL,
    GIVEN_UP,
    MIN_LEAF,
    MUST_BE_CORRECT,
    NODES,
    PENALTY,
    PRUNED,
    ROUNDS_DONE,
    SKIPPED,
    STOP,
    UNDECIDED,
    USE_INTERVALS,
    USE_POOL,
)


@njit(cache=True, nogil=True)
def graft(tree, root, subtree, size):
    """Copy a heap of `size` nodes into `tree` below the node `root`."""
    level_start = 1
    target = root
    while level_start < size:
        for k in range(level_start):
            for c in range(3):
                tree[target + k, c] = subtree[level_start + k, c]
        level_start *= 2
        target *= 2


@njit(cache=True, nogil=True)
def add_to_pool(data, work, child, size):
    """Keep the child's best tree, with the samples it loses, in the place of the one least recently used."""
    age = work.pool_age[child]
    place = 0
    newest = 0
    for k in range(age.shape[0]):
        if age[k] < age[place]:
            place = k
        newest = max(newest, age[k])
    age[place] = newest + 1
    tree = work.pool_tree[child, place]
    tree[:size] = work.best_tree[child, :size]
    reached = work.reached
    wrong = work.pool_wrong[child, place]
    leaves = 0
    for i in range(wrong.shape[0]):
        reached[1:size] = 0
        reached[1] = 1
        lost = 0
        for h in range(1, size):
            if reached[h] == 0:
                continue
            feature = tree[h, 0]
            if feature < 0:
                if tree[h, 2] != data.label[i]:
                    lost = 1
                    break
            else:
                if data.lower[feature, i] <= tree[h, 1]:
                    reached[2 * h] = 1
                if data.upper[feature, i] > tree[h, 1]:
                    reached[2 * h + 1] = 1
        wrong[i] = lost
    reached[1:size] = 0
    reached[1] = 1
    for h in range(1, size):
        if reached[h]:
            if tree[h, 0] < 0:
                leaves += 1
            else:
                reached[2 * h] = 1
                reached[2 * h + 1] = 1
    work.pool_leaves[child, place] = leaves


@njit(cache=True, nogil=True)
def cheapest_in_pool(data, work, slot, child_slot):
    """Price the pooled trees of a child under its present weights."""
    child = child_slot & 1
    side = work.side[slot, child]
    best = -1
    best_price = data.rules[FORBIDDEN]
    size = work.size[slot]
    ids = work.ids[slot]
    newest = 0
    for k in range(work.pool_age.shape[1]):
        if work.pool_age[child_slot, k] < 0:
            continue
        newest = max(newest, work.pool_age[child_slot, k])
        wrong = work.pool_wrong[child_slot, k]
        price = data.rules[PENALTY] * work.pool_leaves[child_slot, k]
        for m in range(size):
            i = ids[m]
            price += side[i] * wrong[i]
        if price < best_price:
            best_price = price
            best = k
    if best >= 0:
        work.pool_age[child_slot, best] = newest + 1
    return best, best_price


@njit(cache=True, nogil=True)
def ascend_on_pool(data, work, slot, feature, cutoff, given_up, tree_size):
    """Move weight between the children until no pair of pooled trees is cheaper than `cutoff`.

    Returns PRUNED if that succeeded (the bound holds for the pool only), FOUND if two pooled trees joined cost less
    than the cutoff, UNDECIDED if it did not succeed; then the two prices and the worst disagreeing sample.
    """
    weight = work.weight[slot]
    left = work.side[slot, 0]
    right = work.side[slot, 1]
    share = work.share[slot, feature]
    worst = -1
    status = UNDECIDED
    price_left = np.int64(0)
    price_right = np.int64(0)
    for turn in range(data.rules[ASCENT_STEPS]):
        best_left, price_left = cheapest_in_pool(data, work, slot, 2 * slot)
        best_right, price_right = cheapest_in_pool(data, work, slot, 2 * slot + 1)
        price = price_left + price_right
        if best_left < 0 or best_right < 0:
            return PRUNED, price_left, price_right, worst
        wrong_left = work.pool_wrong[2 * slot, best_left]
        wrong_right = work.pool_wrong[2 * slot + 1, best_right]
        penalty = data.rules[PENALTY] * (
            work.pool_leaves[2 * slot, best_left] + work.pool_leaves[2 * slot + 1, best_right]
        )
        true_cost = penalty
        disagreements = 0
        worst_now = -1
        for k in range(work.size[slot]):
            i = work.ids[slot, k]
            reach = work.reach[slot, i]
            lost_left = (reach & 1) and wrong_left[i]
            lost_right = (reach & 2) and wrong_right[i]
            if not (lost_left or lost_right):
                continue
            true_cost += weight[i]
            if work.mark[slot, i] == FREE and reach == 3 and weight[i] > 0 and not (lost_left and lost_right):
                disagreements += 1
                if worst_now < 0 or weight[i] > weight[worst_now]:
                    worst_now = i
        if worst_now >= 0:
            worst = worst_now
        if true_cost < cutoff + given_up:
            tree = work.tree[slot]
            graft(tree, 2, work.pool_tree[2 * slot, best_left], tree_size)
            graft(tree, 3, work.pool_tree[2 * slot + 1, best_right], tree_size)
            return FOUND, true_cost, price_right, worst
        if price >= cutoff:
            return PRUNED, price_left, price_right, worst
        if data.rules[USE_POOL] == 0 and turn > 0:
            break
        if disagreements == 0:
            break
        step = max(1, (cutoff - price) // disagreements)
        for k in range(work.size[slot]):
            i = work.ids[slot, k]
            if work.reach[slot, i] != 3 or work.mark[slot, i] != FREE or wrong_left[i] == wrong_right[i]:
                continue
            w = weight[i]
            if w == 0:
                continue
            a = min(w, left[i] + step) if wrong_left[i] else max(0, left[i] - step)
            left[i] = a
            right[i] = w - a
            share[i] = np.float32(a / w)
    return status, price_left, price_right, worst


@njit(cache=True, nogil=True)
def open_child(data, work, slot, child, feature, first, last, depth):
    """Fill the child's slot with the samples of its side."""
    child_slot = 2 * slot + child
    bit = 1 + child
    member = work.member
    member[:] = 0
    keep_weightless = data.rules[MIN_LEAF] > 0
    lower = data.lower[feature]
    upper = data.upper[feature]
    for k in range(work.size[slot]):
        i = work.ids[slot, k]
        at_side = (work.reach[slot, i] & bit) != 0 and (
            keep_weightless or (work.weight[slot, i] > 0 and work.mark[slot, i] != GIVEN_UP)
        )
        if keep_weightless:
            certain = work.certain[slot, i]
            if child == 0:
                certain = certain and upper[i] <= last
            else:
                certain = certain and lower[i] > first
            work.certain[child_slot, i] = certain
            at_side = at_side or certain
        member[i] = at_side
    fill_node(
        data,
        work,
        child_slot,
        work.events[slot],
        2 * work.size[slot],
        member,
        depth == 3 and data.rules[GENERAL] == 0,
    )


@njit(cache=True, nogil=True)
def weigh_child(data, work, slot, child):
    """Hand the child the weights of its side."""
    weight = work.weight[2 * slot + child]
    weight[:] = 0
    side = work.side[slot, child]
    for k in range(work.size[2 * slot + child]):
        i = work.ids[2 * slot + child, k]
        weight[i] = side[i]
    remember_weights(data, work, 2 * slot + child)


@njit(cache=True, nogil=True)
def sweep_deep(data, work, slot, depth, feature, cutoff, start):
    """Look for a tree below `cutoff` among the thresholds of one feature, from active candidate `start` on.

    Returns the cost of the tree that was found (or `cutoff`) and where to go on.
    """
    if start == 0:
        work.n_active[slot] = list_active(data, work, slot, feature, cutoff)
        work.stats[depth, SKIPPED] += work.n_candidates[slot, feature] - work.n_active[slot]
    n_active = work.n_active[slot]
    candidate = work.candidate[slot, feature]
    tree_size = 1 << depth
    width = work.width[slot]
    branch = work.branch[slot]
    mark = work.mark[slot]
    position = start
    branches = 0
    given_up = 0
    while position < n_active:
        last = position if branches else min(position + width, n_active) - 1
        first_k = work.active[slot, position]
        last_k = work.active[slot, last]
        first = candidate[first_k]
        final = candidate[last_k]
        single = first_k == last_k
        open_cutoff = cutoff - given_up
        work.stats[depth, EVALUATIONS] += 1
        set_sides(data, work, slot, feature, first, final, False)
        if data.rules[MIN_LEAF] > 0:
            work.pool_age[2 * slot] = -1
            work.pool_age[2 * slot + 1] = -1
        children_open = False
        status = UNDECIDED
        value = cutoff
        sample = -1
        turn = 0
        rounds = 100000 if single else data.rules[DEEP_INTERVAL_ROUNDS]
        while turn < rounds:
            turn += 1
            work.stats[depth, ROUNDS_DONE] += 1
            verdict, price_left, price_right, worst = ascend_on_pool(
                data, work, slot, feature, open_cutoff, given_up, tree_size
            )
            if worst >= 0:
                sample = worst
            if verdict == FOUND:
                status = FOUND
                value = price_left
                break
            if verdict == UNDECIDED or (single and turn >= data.rules[DEEP_ROUNDS] and sample >= 0):
                break
            if not children_open:
                open_child(data, work, slot, 0, feature, first, final, depth)
                open_child(data, work, slot, 1, feature, first, final, depth)
                children_open = True
            slack = price_left + price_right - open_cutoff
            ratio = price_left / max(1, price_left + price_right)
            target_left = price_left - np.int64(slack * ratio)
            improved = False
            for child in range(2):
                child_slot = 2 * slot + child
                target = target_left if child == 0 else open_cutoff - target_left
                weigh_child(data, work, slot, child)
                work.stats[depth, CHILD_SOLVES] += 1
                if depth == 3:
                    got = solve_depth2(data, work, child_slot, target, data.rules[FIRST_TREE] != 0)
                else:
                    work.stats[depth - 1, NODES] += 1
                    got = target
                    cost, label = leaf_cost(data, work, child_slot)
                    if cost < got:
                        got = cost
                        work.best_tree[child_slot, 1, 0] = -1
                        work.best_tree[child_slot, 1, 2] = label
                    if got == target or data.rules[FIRST_TREE] == 0:
                        for k in range(data.lower.shape[0]):
                            child_feature = work.feature_order[child_slot, k]
                            at = 0
                            while True:
                                cost, at = sweep_deep(data, work, child_slot, depth - 1, child_feature, got, at)
                                if cost >= got:
                                    break
                                got = cost
                                work.best_tree[child_slot, :tree_size] = work.tree[child_slot, :tree_size]
                                bring_forward(work.feature_order[child_slot], k)
                                if data.rules[FIRST_TREE] != 0:
                                    break
                            if got < target and data.rules[FIRST_TREE] != 0:
                                break
                if got < target:
                    add_to_pool(data, work, child_slot, tree_size)
                    improved = True
                    break
            if data.shared[STOP]:
                break
            if not improved:
                status = PRUNED
                break
        if data.shared[STOP]:
            break
        if status == FOUND and single:
            tree = work.tree[slot]
            tree[1, 0] = feature
            tree[1, 1] = first
            tree[1, 2] = -1
            for k in range(branches):
                mark[branch[k]] = FREE
            work.width[slot] = width
            return value, position
        if not single:
            if status == PRUNED:
                remember_bound(data, work, slot, feature, first_k, last_k, cutoff)
                position = last + 1
                if data.rules[USE_INTERVALS]:
                    width = min(2 * width, 1 << 20)
            else:
                width = max(1, (last - position + 1) // 2)
            continue
        if status == UNDECIDED:
            work.stats[depth, BRANCHES] += 1
            branch[branches] = sample
            branches += 1
            mark[sample] = MUST_BE_CORRECT
            continue
        while branches > 0 and mark[branch[branches - 1]] == GIVEN_UP:
            branches -= 1
            mark[branch[branches]] = FREE
            given_up -= work.weight[slot, branch[branches]]
        if branches > 0:
            work.stats[depth, BRANCHES] += 1
            mark[branch[branches - 1]] = GIVEN_UP
            given_up += work.weight[slot, branch[branches - 1]]
            continue
        remember_bound(data, work, slot, feature, first_k, last_k, cutoff)
        position += 1
        if data.rules[USE_INTERVALS]:
            width = min(2 * width, 1 << 20)
    for k in range(branches):
        mark[branch[k]] = FREE
    work.width[slot] = width
    return cutoff, n_active
