"""Depth 3 and more: the same decomposition, with children that are searched themselves.

A child search is asked one question only: is there a tree that costs less than a target? Trees that were ever the
answer are kept in a pool. The weights of the shared samples are first moved until no pair of pooled trees is
cheaper than the cutoff, which costs microseconds; only then are the children searched, to prove the bound or to
find a tree for the pool.
"""

from __future__ import annotations

import numpy as np

from hardwood.kernels.search_compile import entry, kernel
from hardwood.kernels.search_depth2 import bring_forward, copy_tree, solve_depth2
from hardwood.kernels.search_node import (
    fill_node,
    leaf_cost,
    list_active,
    remember_bound,
    remember_weights,
    set_sides,
)
from hardwood.kernels.search_state import (
    ACTIVE,
    AGE,
    ASCENT_STEPS,
    BEST,
    BRANCH,
    BRANCHES,
    CANDIDATE,
    CERTAIN,
    CHILD_SOLVES,
    CURRENT,
    DEEP_RANGE_ROUNDS,
    DEEP_ROUNDS,
    EVALUATIONS,
    FEATURE_ORDER,
    FIRST_TREE,
    FORBIDDEN,
    FOUND,
    FREE,
    GENERAL,
    GIVEN_UP,
    LABEL,
    LEAVES,
    LOWER,
    MARK,
    MEMBER,
    MIN_LEAF,
    MUST_BE_CORRECT,
    N_ACTIVE,
    N_CANDIDATES,
    NODES,
    PENALTY,
    POOL_WRONG,
    POOLED,
    PRUNED,
    REACH,
    ROUNDS_DONE,
    SIDE,
    SIZE,
    SKIPPED,
    STOP,
    UNDECIDED,
    UPPER,
    USE_POOL,
    USE_RANGES,
    WEIGHT,
    WIDTH,
)


@kernel
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


@kernel
def add_to_pool(data, work, child, size):
    """Keep the child's best tree, with the samples it loses, in the place of the one least recently used."""
    age = work.pool[child, AGE]
    place = 0
    newest = 0
    for k in range(age.shape[0]):
        if age[k] < age[place]:
            place = k
        newest = max(newest, age[k])
    age[place] = newest + 1
    tree = work.tree[child, POOLED + place]
    copy_tree(tree, work.tree[child, BEST], size)
    wrong = work.flag[child, POOL_WRONG + place]
    leaves = 0
    for i in range(wrong.shape[0]):
        for h in range(2, size):
            tree[h, 3] = 0
        tree[1, 3] = 1
        lost = 0
        for h in range(1, size):
            if tree[h, 3] == 0:
                continue
            feature = tree[h, 0]
            if feature < 0:
                if tree[h, 2] != data.sample[LABEL, i]:
                    lost = 1
                    break
            else:
                if data.rank[LOWER, feature, i] <= tree[h, 1]:
                    tree[2 * h, 3] = 1
                if data.rank[UPPER, feature, i] > tree[h, 1]:
                    tree[2 * h + 1, 3] = 1
        wrong[i] = lost
    for h in range(2, size):
        tree[h, 3] = 0
    tree[1, 3] = 1
    for h in range(1, size):
        if tree[h, 3]:
            if tree[h, 0] < 0:
                leaves += 1
            else:
                tree[2 * h, 3] = 1
                tree[2 * h + 1, 3] = 1
    work.pool[child, LEAVES, place] = leaves


@kernel
def cheapest_in_pool(data, work, slot, child_slot):
    """Price the pooled trees of a child under its present weights."""
    child = child_slot & 1
    side = work.vector[slot, SIDE + child]
    best = -1
    best_price = data.control[FORBIDDEN]
    size = work.scalar[slot, SIZE]
    ids = work.ids[slot]
    newest = 0
    for k in range(work.pool.shape[2]):
        if work.pool[child_slot, AGE, k] < 0:
            continue
        newest = max(newest, work.pool[child_slot, AGE, k])
        wrong = work.flag[child_slot, POOL_WRONG + k]
        price = data.control[PENALTY] * work.pool[child_slot, LEAVES, k]
        for m in range(size):
            i = ids[m]
            price += side[i] * wrong[i]
        if price < best_price:
            best_price = price
            best = k
    if best >= 0:
        work.pool[child_slot, AGE, best] = newest + 1
    return best, best_price


@kernel
def ascend_on_pool(data, work, slot, feature, cutoff, given_up, tree_size):
    """Move weight between the children until no pair of pooled trees is cheaper than `cutoff`.

    Returns PRUNED if that succeeded (the bound holds for the pool only), FOUND if two pooled trees joined cost less
    than the cutoff, UNDECIDED if it did not succeed; then the two prices and the worst disagreeing sample.
    """
    weight = work.vector[slot, WEIGHT]
    left = work.vector[slot, SIDE + 0]
    right = work.vector[slot, SIDE + 1]
    share = work.share[slot, feature]
    worst = -1
    status = UNDECIDED
    price_left = np.int64(0)
    price_right = np.int64(0)
    for turn in range(data.control[ASCENT_STEPS]):
        best_left, price_left = cheapest_in_pool(data, work, slot, 2 * slot)
        best_right, price_right = cheapest_in_pool(data, work, slot, 2 * slot + 1)
        price = price_left + price_right
        if best_left < 0 or best_right < 0:
            return PRUNED, price_left, price_right, worst
        wrong_left = work.flag[2 * slot, POOL_WRONG + best_left]
        wrong_right = work.flag[2 * slot + 1, POOL_WRONG + best_right]
        penalty = data.control[PENALTY] * (
            work.pool[2 * slot, LEAVES, best_left] + work.pool[2 * slot + 1, LEAVES, best_right]
        )
        true_cost = penalty
        disagreements = 0
        worst_now = -1
        for k in range(work.scalar[slot, SIZE]):
            i = work.ids[slot, k]
            reach = work.flag[slot, REACH, i]
            lost_left = (reach & 1) and wrong_left[i]
            lost_right = (reach & 2) and wrong_right[i]
            if not (lost_left or lost_right):
                continue
            true_cost += weight[i]
            if work.flag[slot, MARK, i] == FREE and reach == 3 and weight[i] > 0 and not (lost_left and lost_right):
                disagreements += 1
                if worst_now < 0 or weight[i] > weight[worst_now]:
                    worst_now = i
        if worst_now >= 0:
            worst = worst_now
        if true_cost < cutoff + given_up:
            tree = work.tree[slot, CURRENT]
            graft(tree, np.int64(2), work.tree[2 * slot, POOLED + best_left], tree_size)
            graft(tree, np.int64(3), work.tree[2 * slot + 1, POOLED + best_right], tree_size)
            return FOUND, true_cost, price_right, worst
        if price >= cutoff:
            return PRUNED, price_left, price_right, worst
        if data.control[USE_POOL] == 0 and turn > 0:
            break
        if disagreements == 0:
            break
        step = max(1, (cutoff - price) // disagreements)
        for k in range(work.scalar[slot, SIZE]):
            i = work.ids[slot, k]
            if work.flag[slot, REACH, i] != 3 or work.flag[slot, MARK, i] != FREE or wrong_left[i] == wrong_right[i]:
                continue
            w = weight[i]
            if w == 0:
                continue
            a = min(w, left[i] + step) if wrong_left[i] else max(0, left[i] - step)
            left[i] = a
            right[i] = w - a
            share[i] = np.float32(a / w)
    return status, price_left, price_right, worst


@kernel
def open_child(data, work, slot, child, feature, first, last, depth):
    """Fill the child's slot with the samples of its side."""
    child_slot = 2 * slot + child
    bit = 1 + child
    member = work.flag[slot, MEMBER]
    for i in range(member.shape[0]):
        member[i] = 0
    keep_weightless = data.control[MIN_LEAF] > 0
    lower = data.rank[LOWER, feature]
    upper = data.rank[UPPER, feature]
    for k in range(work.scalar[slot, SIZE]):
        i = work.ids[slot, k]
        at_side = (work.flag[slot, REACH, i] & bit) != 0 and (
            keep_weightless or (work.vector[slot, WEIGHT, i] > 0 and work.flag[slot, MARK, i] != GIVEN_UP)
        )
        if keep_weightless:
            certain = work.flag[slot, CERTAIN, i]
            reaches_other = upper[i] > last if child == 0 else lower[i] <= first
            certain = certain and not reaches_other
            work.flag[child_slot, CERTAIN, i] = certain
            at_side = at_side or certain
        member[i] = at_side
    fill_node(
        data,
        work,
        child_slot,
        work.events[slot],
        2 * work.scalar[slot, SIZE],
        member,
        depth == 3 and data.control[GENERAL] == 0,
    )


@kernel
def weigh_child(data, work, slot, child):
    """Hand the child the weights of its side."""
    weight = work.vector[2 * slot + child, WEIGHT]
    for i in range(weight.shape[0]):
        weight[i] = 0
    side = work.vector[slot, SIDE + child]
    for k in range(work.scalar[2 * slot + child, SIZE]):
        i = work.ids[2 * slot + child, k]
        weight[i] = side[i]
    remember_weights(data, work, 2 * slot + child)


@entry
def sweep_deep(data, work, slot, depth, feature, cutoff, start):
    """Look for a tree below `cutoff` among the thresholds of one feature, from active candidate `start` on.

    Returns the cost of the tree that was found (or `cutoff`) and where to go on.
    """
    if start == 0:
        work.scalar[slot, N_ACTIVE] = list_active(data, work, slot, feature, cutoff)
        work.scalar[slot, SKIPPED] += work.feature[slot, N_CANDIDATES, feature] - work.scalar[slot, N_ACTIVE]
    n_active = work.scalar[slot, N_ACTIVE]
    candidate = work.threshold[slot, feature, CANDIDATE]
    tree_size = 1 << depth
    width = work.scalar[slot, WIDTH]
    branch = work.vector[slot, BRANCH]
    mark = work.flag[slot, MARK]
    position = start
    branches = 0
    given_up = np.int64(0)
    while position < n_active:
        last = position if branches else min(position + width, n_active) - 1
        first_k = work.vector[slot, ACTIVE, position]
        last_k = work.vector[slot, ACTIVE, last]
        first = candidate[first_k]
        final = candidate[last_k]
        single = first_k == last_k
        open_cutoff = cutoff - given_up
        work.scalar[slot, EVALUATIONS] += 1
        set_sides(data, work, slot, feature, first, final, np.int64(0))
        if data.control[MIN_LEAF] > 0:
            for k in range(work.pool.shape[2]):
                work.pool[2 * slot, AGE, k] = -1
                work.pool[2 * slot + 1, AGE, k] = -1
        children_open = False
        status = UNDECIDED
        value = cutoff
        sample = -1
        turn = 0
        rounds = 100000 if single else data.control[DEEP_RANGE_ROUNDS]
        while turn < rounds:
            turn += 1
            work.scalar[slot, ROUNDS_DONE] += 1
            verdict, price_left, price_right, worst = ascend_on_pool(
                data, work, slot, feature, open_cutoff, given_up, tree_size
            )
            if worst >= 0:
                sample = worst
            if verdict == FOUND:
                status = FOUND
                value = price_left
                break
            if verdict == UNDECIDED or (single and turn >= data.control[DEEP_ROUNDS] and sample >= 0):
                break
            if not children_open:
                for child in range(2):
                    open_child(data, work, slot, child, feature, first, final, depth)
                children_open = True
            slack = price_left + price_right - open_cutoff
            ratio = price_left / max(1, price_left + price_right)
            target_left = price_left - np.int64(slack * ratio)
            improved = False
            for child in range(2):
                child_slot = 2 * slot + child
                target = target_left if child == 0 else open_cutoff - target_left
                weigh_child(data, work, slot, child)
                work.scalar[slot, CHILD_SOLVES] += 1
                if depth == 3:
                    got = solve_depth2(data, work, child_slot, target, data.control[FIRST_TREE] != 0)
                else:
                    work.scalar[slot, NODES] += 1
                    got = target
                    cost, label = leaf_cost(data, work, child_slot)
                    if cost < got:
                        got = cost
                        work.tree[child_slot, BEST, 1, 0] = -1
                        work.tree[child_slot, BEST, 1, 2] = label
                    if got == target or data.control[FIRST_TREE] == 0:
                        for k in range(data.rank.shape[1]):
                            child_feature = work.feature[child_slot, FEATURE_ORDER, k]
                            at = np.int64(0)
                            while True:
                                cost, at = sweep_deep(data, work, child_slot, depth - 1, child_feature, got, at)
                                if cost >= got:
                                    break
                                got = cost
                                copy_tree(work.tree[child_slot, BEST], work.tree[child_slot, CURRENT], tree_size)
                                bring_forward(work.feature[child_slot, FEATURE_ORDER], k)
                                if data.control[FIRST_TREE] != 0:
                                    break
                            if got < target and data.control[FIRST_TREE] != 0:
                                break
                if got < target:
                    add_to_pool(data, work, child_slot, tree_size)
                    improved = True
                    break
            if data.control[STOP]:
                break
            if not improved:
                status = PRUNED
                break
        if data.control[STOP]:
            break
        if status == FOUND and single:
            tree = work.tree[slot, CURRENT]
            tree[1, 0] = feature
            tree[1, 1] = first
            tree[1, 2] = -1
            for k in range(branches):
                mark[branch[k]] = FREE
            work.scalar[slot, WIDTH] = width
            return value, position
        if not single:
            if status == PRUNED:
                remember_bound(data, work, slot, feature, first_k, last_k, cutoff)
                position = last + 1
                if data.control[USE_RANGES]:
                    width = min(2 * width, 1 << 20)
            else:
                width = max(1, (last - position + 1) // 2)
            continue
        if status == UNDECIDED:
            work.scalar[slot, BRANCHES] += 1
            branch[branches] = sample
            branches += 1
            mark[sample] = MUST_BE_CORRECT
            continue
        while branches > 0 and mark[branch[branches - 1]] == GIVEN_UP:
            branches -= 1
            mark[branch[branches]] = FREE
            given_up -= work.vector[slot, WEIGHT, branch[branches]]
        if branches > 0:
            work.scalar[slot, BRANCHES] += 1
            mark[branch[branches - 1]] = GIVEN_UP
            given_up += work.vector[slot, WEIGHT, branch[branches - 1]]
            continue
        remember_bound(data, work, slot, feature, first_k, last_k, cutoff)
        position += 1
        if data.control[USE_RANGES]:
            width = min(2 * width, 1 << 20)
    for k in range(branches):
        mark[branch[k]] = FREE
    work.scalar[slot, WIDTH] = width
    return cutoff, n_active
