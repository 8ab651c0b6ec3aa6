"""Compiled growth of trees that are greedy on the adversarial 0/1 loss itself.

FPRDT (Guo, Teng, Gao & Zhou, "Fast Provably Robust Decision Trees and Boosting", ICML 2022) replaces one leaf at a time
by a split with two labelled leaves. A sample that reaches both sides goes to both. At a leaf only those samples count
that its replacement can win or lose: the ones that no leaf gets wrong, and the ones that this leaf alone gets wrong. So
every accepted split lowers the adversarial 0/1 loss of the whole tree.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from hardwood.kernels.region import region
from hardwood.kernels.signatures import IN_F1, IN_I1, OUT_I1, read_only

NO_GAIN = 1e-12
"""A split must lower the loss by more than this share of the node's weight, i.e. by more than rounding errors do."""

_IN_RANKS = read_only(nb.int32, 2)


@nb.njit(cache=True, nogil=True)
def _best_two(values):
    """Return the positions of the largest and the second largest value."""
    first = 0
    for c in range(1, len(values)):
        if values[c] > values[first]:
            first = c
    second = -1
    for c in range(len(values)):
        if c != first and (second < 0 or values[c] > values[second]):
            second = c
    return first, second


@nb.njit(cache=True, nogil=True)
def _best_stump(samples, j, lowest, highest, lower_rank, upper_rank, label, weight, totals, left, right):
    """Return the largest weight that a split of feature j can get right, its index, the next end, and both labels.

    With label a on the left and c on the right, the samples of class a that cannot reach right and the samples of class
    c that cannot reach left are right. Only undominated thresholds are tried: an upper end was passed last and a lower
    end comes next.
    """
    m = len(samples)
    lowers, uppers = np.empty(m, np.int32), np.empty(m, np.int32)
    for k in range(m):
        lowers[k], uppers[k] = lower_rank[samples[k], j], upper_rank[samples[k], j]
    by_lower, by_upper = np.argsort(lowers), np.argsort(uppers)
    for c in range(len(totals)):
        left[c], right[c] = 0.0, totals[c]
    best = -1.0
    best_t = best_next = best_a = best_c = -1
    passed = 0
    for k in range(m):
        i = samples[by_upper[k]]
        left[label[i]] += weight[i]
        t = uppers[by_upper[k]]
        while passed < m and lowers[by_lower[passed]] <= t:
            other = samples[by_lower[passed]]
            right[label[other]] -= weight[other]
            passed += 1
        if passed == m or t >= highest:
            break
        following = lowers[by_lower[passed]]
        if t <= lowest or (k + 1 < m and uppers[by_upper[k + 1]] < following):
            continue
        a, a2 = _best_two(left)
        c, c2 = _best_two(right)
        if a == c:
            if left[a] + right[c2] >= left[a2] + right[c]:
                c = c2
            else:
                a = a2
        if left[a] + right[c] > best:
            best, best_t, best_next, best_a, best_c = left[a] + right[c], t, following, a, c
    return best, best_t, best_next, best_a, best_c


@nb.njit(cache=True, nogil=True)
def _in_the_middle(t, following, first, last):
    """Return the index of the threshold midway between cluster t and a later cluster of one feature."""
    if t < 0 or following >= len(first):
        return t
    return np.searchsorted(first, last[t] + (first[following] - last[t]) / 2, side="right") - 1


@nb.njit(
    nb.int64(
        _IN_RANKS, _IN_RANKS, IN_I1, IN_F1, IN_F1, IN_I1, IN_F1,
        nb.int64, nb.int64, nb.int64, nb.int64, nb.int64, nb.int64,
        OUT_I1, OUT_I1, OUT_I1, OUT_I1, OUT_I1,
    ),
    cache=True,
    nogil=True,
)  # fmt: skip
def grow(
    lower_rank, upper_rank, offset, first, last, label, weight,
    n_classes, max_depth, min_samples_split, min_samples_leaf, max_features, seed,
    feature, index, left, right, leaf_label,
):  # fmt: skip
    """Grow a tree; return its number of nodes.

    Parameters
    ----------
    lower_rank, upper_rank : int32 array of shape (n, n_features)
    offset, first, last : bounds of the endpoint clusters of feature j in ``first[offset[j] : offset[j + 1]]``.
    label, weight : class code and weight of each sample.
    feature, index, left, right, leaf_label : written; large enough for the largest tree of this depth.
    """
    # Inside a kernel this seeds numba's own state of this thread; a Generator would take ten seconds to compile.
    np.random.seed(seed)  # noqa: NPY002
    n, n_features = lower_rank.shape
    left_weight, right_weight = np.zeros(n_classes), np.zeros(n_classes)
    totals = np.zeros(n_classes)
    wrong_leaves = np.zeros(n, np.int64)
    n_ranks = offset[1:] - offset[:-1]
    order = np.arange(n_features)
    capacity = len(feature)
    begin_of, end_of = np.zeros(capacity, np.int64), np.zeros(capacity, np.int64)
    depth_of = np.zeros(capacity, np.int64)
    parent_of = np.full(capacity, -1, np.int64)
    # The samples of the nodes still to do lie on a stack, those of the next node on top.
    members = np.arange(n)
    end_of[0] = n
    for i in range(n):
        totals[label[i]] += weight[i]
    feature[0] = index[0] = left[0] = right[0] = -1
    leaf_label[0] = np.argmax(totals)
    for i in range(n):
        wrong_leaves[i] = label[i] != leaf_label[0]
    stack = np.empty(capacity + 1, np.int64)
    stack[0] = 0
    size = 1
    n_nodes = 1
    while size > 0:
        size -= 1
        node = stack[size]
        begin, end = begin_of[node], end_of[node]
        if depth_of[node] >= max_depth or n_nodes + 2 > capacity:
            continue
        answer = leaf_label[node]
        considered = np.empty(end - begin, np.int64)
        m = 0
        totals[:] = 0.0
        for k in range(begin, end):
            i = members[k]
            if wrong_leaves[i] == 0 or (wrong_leaves[i] == 1 and label[i] != answer):
                considered[m] = i
                m += 1
                totals[label[i]] += weight[i]
        if m < min_samples_split or totals[answer] >= totals.sum():
            continue
        considered = considered[:m]
        if max_features < n_features:
            for a in range(max_features):
                b = a + int(np.random.random() * (n_features - a))  # noqa: NPY002
                order[a], order[b] = order[b], order[a]
        best = totals[answer] + NO_GAIN * totals.sum()
        best_feature = best_t = left_label = right_label = -1
        for a in range(max_features):
            j = order[a]
            lowest, highest = region(node, j, parent_of, feature, index, left, n_ranks)
            found, t, following, label_a, label_c = _best_stump(
                considered, j, lowest, highest, lower_rank, upper_rank, label, weight, totals, left_weight, right_weight
            )
            if found > best:
                t = _in_the_middle(t, following, first[offset[j] : offset[j + 1]], last[offset[j] : offset[j + 1]])
                best, best_feature, best_t, left_label, right_label = found, j, min(t, highest - 1), label_a, label_c
        if best_feature < 0:
            continue
        j = best_feature
        n_left = n_right = 0
        for k in range(begin, end):
            n_left += lower_rank[members[k], j] <= best_t
            n_right += upper_rank[members[k], j] > best_t
        if n_left < min_samples_leaf or n_right < min_samples_leaf:
            continue
        # The node itself is done: its place on the stack is taken by its children, the left one on top.
        here = members[begin:end].copy()
        if begin + n_left + n_right > len(members):
            larger = np.empty(2 * (begin + n_left + n_right), np.int64)
            larger[:begin] = members[:begin]
            members = larger
        at_right, at_left = begin, begin + n_right
        for i in here:
            wrong_leaves[i] -= label[i] != answer
            if lower_rank[i, j] <= best_t:
                members[at_left] = i
                at_left += 1
                wrong_leaves[i] += label[i] != left_label
            if upper_rank[i, j] > best_t:
                members[at_right] = i
                at_right += 1
                wrong_leaves[i] += label[i] != right_label
        feature[node], index[node], leaf_label[node] = j, best_t, -1
        left[node], right[node] = n_nodes, n_nodes + 1
        for child in range(n_nodes, n_nodes + 2):
            feature[child] = index[child] = left[child] = right[child] = -1
            depth_of[child] = depth_of[node] + 1
            parent_of[child] = node
        leaf_label[n_nodes], leaf_label[n_nodes + 1] = left_label, right_label
        begin_of[n_nodes], end_of[n_nodes] = begin + n_right, begin + n_right + n_left
        begin_of[n_nodes + 1], end_of[n_nodes + 1] = begin, begin + n_right
        stack[size], stack[size + 1] = n_nodes + 1, n_nodes
        size += 2
        n_nodes += 2
    return n_nodes
