"""Compiled growth of greedy robust trees.

Every feature has one list of 3 n events, sorted by rank: a sample's lower end, its own value and its upper end. Passing
them from left to right takes the sample from *certainly right* over *right, but may go left* and *left, but may go
right* to *certainly left*. A node owns the same segment of every list; a split divides the segments stably, so the
lists are sorted once and a level costs O(n p).
"""

from __future__ import annotations

import numba as nb
import numpy as np

from hardwood.kernels.region import region
from hardwood.kernels.signatures import IN_F1, IN_I1, OUT_I1

GROOT = 0
"""Worst-case weighted Gini impurity over all placements of the movable samples."""
CHEN_GINI = 1
"""Worst weighted Gini impurity of four placements: as is, all left, all right, swapped."""
CHEN_ENTROPY = 2
"""The same with entropy, i.e. information gain."""
LOWER, VALUE, UPPER = 0, 2, 4
"""Bits of an event that tell what is passed."""
NO_GAIN = 1e-12
"""A split must lower the impurity by more than rounding errors do."""

_EVENTS = nb.types.Array(nb.int32, 2, "C")


@nb.njit(cache=True, nogil=True)
def _weighted_gini(left, right, moved, held):
    """Mean Gini impurity of children with class weights ``left + moved`` and ``right + held - moved``."""
    left_total = right_total = left_squares = right_squares = 0.0
    for c in range(len(left)):
        a = left[c] + moved[c]
        b = right[c] + held[c] - moved[c]
        left_total += a
        right_total += b
        left_squares += a * a
        right_squares += b * b
    total = left_total + right_total
    if total <= 0.0:
        return 1.0
    impurity = total
    if left_total > 0.0:
        impurity -= left_squares / left_total
    if right_total > 0.0:
        impurity -= right_squares / right_total
    return impurity / total


@nb.njit(cache=True, nogil=True)
def _weighted_entropy(left, right, moved, held):
    """Mean entropy of children with class weights ``left + moved`` and ``right + held - moved``."""
    left_total = right_total = impurity = 0.0
    for c in range(len(left)):
        a = left[c] + moved[c]
        b = right[c] + held[c] - moved[c]
        left_total += a
        right_total += b
        if a > 0.0:
            impurity -= a * np.log2(a)
        if b > 0.0:
            impurity -= b * np.log2(b)
    if left_total > 0.0:
        impurity += left_total * np.log2(left_total)
    if right_total > 0.0:
        impurity += right_total * np.log2(right_total)
    return impurity / (left_total + right_total)


@nb.njit(cache=True, nogil=True)
def _groot_placement(left, stays_left, held, right, whole, moved):
    """Write how much of each class the attacker puts on the left, and return the impurity that this forces.

    The impurity is largest where both children have the class shares of their parent, i.e. on the line
    ``moved = share * total - left``. Of it, the point nearest to where the samples stand is taken, clamped to what the
    attacker can do (Vos & Verwer, "Efficient Training of Robust Decision Trees Against Adversarial Examples",
    ICML 2021, for two classes; the line is the same for more).
    """
    numerator = denominator = 0.0
    lowest, highest = 0.0, 1.0
    for c in range(len(left)):
        total = left[c] + held[c] + right[c]
        if total > 0.0:
            numerator += total * (left[c] + stays_left[c])
            denominator += total * total
            lowest = max(lowest, left[c] / total)
            highest = min(highest, (left[c] + held[c]) / total)
    share = numerator / denominator
    # Where the line misses the box (lowest > highest), any share in between leads to the nearest corner.
    share = 0.5 * (lowest + highest) if lowest > highest else min(max(share, lowest), highest)
    for c in range(len(left)):
        m = share * (left[c] + held[c] + right[c]) - left[c]
        if whole:
            m = np.rint(m)
        moved[c] = min(max(m, 0.0), held[c])
    return _weighted_gini(left, right, moved, held)


@nb.njit(cache=True, nogil=True)
def _chen_score(criterion, left, stays_left, held, right, moved):
    """Return the worst impurity of the four placements, and leave the movable samples where they stand.

    Chen et al. approximate the worst case by the worst of four: nobody moves, all movable samples go left, all go
    right, or all change sides. The samples are then divided by their own values ("Robust Decision Trees Against
    Adversarial Examples", ICML 2019).
    """
    worst = 0.0
    for placement in range(4):
        for c in range(len(left)):
            if placement == 0:
                moved[c] = held[c]
            elif placement == 1:
                moved[c] = 0.0
            elif placement == 2:
                moved[c] = held[c] - stays_left[c]
            else:
                moved[c] = stays_left[c]
        if criterion == CHEN_GINI:
            worst = max(worst, _weighted_gini(left, right, moved, held))
        else:
            worst = max(worst, _weighted_entropy(left, right, moved, held))
    return worst


@nb.njit(cache=True, nogil=True)
def _worst_placement(criterion, sure_left, may_leave, may_enter, sure_right, robust_weight, whole, work, moved):
    """Apply ``robust_weight``, then let the attacker place the movable samples; return the score of the split."""
    left, stays_left, held, right = work[0], work[1], work[2], work[3]
    for c in range(len(sure_left)):
        leaves = robust_weight * may_leave[c]
        enters = robust_weight * may_enter[c]
        if whole and robust_weight != 1.0:
            leaves, enters = np.rint(leaves), np.rint(enters)
        left[c] = sure_left[c] + may_leave[c] - leaves
        stays_left[c] = leaves
        held[c] = leaves + enters
        right[c] = sure_right[c] + may_enter[c] - enters
    if criterion == GROOT:
        return _groot_placement(left, stays_left, held, right, whole, moved)
    return _chen_score(criterion, left, stays_left, held, right, moved)


# Loops instead of array expressions: numba takes seconds to compile what numpy says in a line.
@nb.njit(cache=True, nogil=True)
def heaviest_class(totals):
    """Return the (first) class with the largest weight, and the weight of all."""
    heaviest, total = 0, 0.0
    for c in range(len(totals)):
        total += totals[c]
        if totals[c] > totals[heaviest]:
            heaviest = c
    return heaviest, total


@nb.njit(cache=True, nogil=True)
def _all_right(totals, sure_left, may_leave, may_enter, sure_right):
    """Start a scan: every sample of the node is certainly right."""
    for c in range(len(totals)):
        sure_left[c] = may_leave[c] = may_enter[c] = 0.0
        sure_right[c] = totals[c]


@nb.njit(cache=True, nogil=True)
def _pass_event(event, label, weight, sure_left, may_leave, may_enter, sure_right):
    kind = event & 6
    i = event >> 3
    c = label[i]
    w = weight[i]
    if kind == LOWER:
        sure_right[c] -= w
        may_enter[c] += w
    elif kind == VALUE:
        may_enter[c] -= w
        may_leave[c] += w
    else:
        may_leave[c] -= w
        sure_left[c] += w


@nb.njit(cache=True, nogil=True)
def _scan_two_classes(events, ranks, begin, end, lowest, highest, n_ranks, totals):
    """Return the least score of a feature and its rank: `_groot_placement` for two classes of unweighted samples.

    The general scan spends its time on looking up samples and on loops over two classes; here an event carries its
    class, counts are scalars, and the totals, which no threshold changes, are divided by once.
    """
    total0, total1 = totals[0], totals[1]
    inverse0, inverse1 = 1.0 / total0, 1.0 / total1
    inverse_squares = 1.0 / (total0 * total0 + total1 * total1)
    # Of each class: certainly left, left as it stands, not certainly right.
    left0 = left1 = stands0 = stands1 = reach0 = reach1 = 0.0
    best, best_rank = np.inf, -1
    for k in range(begin, end - 1):
        event = events[k]
        kind = event & 6
        if event & 1:
            if kind == LOWER:
                reach1 += 1.0
            elif kind == VALUE:
                stands1 += 1.0
            else:
                left1 += 1.0
        elif kind == LOWER:
            reach0 += 1.0
        elif kind == VALUE:
            stands0 += 1.0
        else:
            left0 += 1.0
        rank = ranks[k]
        following = ranks[k + 1]
        if following == rank:
            continue
        if following >= n_ranks:
            break
        if rank < 0 or rank <= lowest:
            continue
        if rank >= highest:
            break
        low = max(left0 * inverse0, left1 * inverse1)
        high = min(reach0 * inverse0, reach1 * inverse1)
        if low > high:
            share = 0.5 * (low + high)
        else:
            share = min(max((total0 * stands0 + total1 * stands1) * inverse_squares, low), high)
        a0 = min(max(np.rint(share * total0), left0), reach0)
        a1 = min(max(np.rint(share * total1), left1), reach1)
        a = a0 + a1
        b0, b1 = total0 - a0, total1 - a1
        b = b0 + b1
        # Impurity times half the weight of the node: a0 a1 / a + b0 b1 / b.
        score = 0.0
        if a > 0.0:
            score += a0 * a1 / a
        if b > 0.0:
            score += b0 * b1 / b
        if score < best:
            best, best_rank = score, rank
    return 2.0 * best / (total0 + total1), best_rank


@nb.njit(cache=True, nogil=True)
def _partition(events, ranks, begin, end, goes_left, buffer, rank_buffer):
    """Divide a segment stably: events of samples that go left first."""
    write = begin
    kept = 0
    for k in range(begin, end):
        event = events[k]
        if goes_left[event >> 3]:
            events[write] = event
            ranks[write] = ranks[k]
            write += 1
        else:
            buffer[kept] = event
            rank_buffer[kept] = ranks[k]
            kept += 1
    for k in range(kept):
        events[write + k] = buffer[k]
        ranks[write + k] = rank_buffer[k]


@nb.njit(
    nb.int64(
        _EVENTS, _EVENTS, IN_I1, IN_I1, IN_F1,
        nb.int64, nb.int64, nb.int64, nb.int64, nb.int64, nb.float64, nb.int64, nb.boolean, nb.int64,
        OUT_I1, OUT_I1, OUT_I1, OUT_I1, OUT_I1,
    ),
    cache=True,
    nogil=True,
)  # fmt: skip
def grow(
    events, ranks, n_ranks, label, weight,
    n_classes, max_depth, min_samples_split, min_samples_leaf, max_features, robust_weight, criterion, whole, seed,
    feature, index, left, right, leaf_label,
):  # fmt: skip
    """Grow a tree; return its number of nodes.

    Parameters
    ----------
    events, ranks : int32 array of shape (n_features, 3 n)
        Per feature the events ``8 * sample + 2 * kind + (label == 1)`` (kind 0 lower end, 1 value, 2 upper end) sorted
        by rank, and their ranks. Reordered in place.
    n_ranks : number of finite ranks per feature; -1 and ``n_ranks`` stand for the infinities.
    label, weight : class code and weight of each sample.
    feature, index, left, right, leaf_label : written; large enough for the largest tree of this depth.
    """
    # Inside a kernel this seeds numba's own state of this thread; a Generator would take ten seconds to compile.
    np.random.seed(seed)  # noqa: NPY002
    n_features, n = events.shape[0], events.shape[1] // 3
    sure_left = np.zeros(n_classes)
    may_leave = np.zeros(n_classes)
    may_enter = np.zeros(n_classes)
    sure_right = np.zeros(n_classes)
    totals = np.zeros(n_classes)
    moved = np.zeros(n_classes)
    balance = np.zeros(n_classes)
    work = np.zeros((4, n_classes))
    goes_left = np.zeros(n, np.bool_)
    buffer = np.empty(3 * n, np.int32)
    rank_buffer = np.empty(3 * n, np.int32)
    order = np.empty(n_features, np.int64)
    for j in range(n_features):
        order[j] = j
    capacity = len(feature)
    # Per node: its segment of samples, its depth, its parent.
    begin_of = np.zeros(capacity, np.int64)
    end_of = np.zeros(capacity, np.int64)
    depth_of = np.zeros(capacity, np.int64)
    parent_of = np.full(capacity, -1, np.int64)
    end_of[0] = n
    stack = np.empty(capacity + 1, np.int64)
    stack[0] = 0
    size = 1
    n_nodes = 1
    while size > 0:
        size -= 1
        node = stack[size]
        begin, end = 3 * begin_of[node], 3 * end_of[node]
        for c in range(n_classes):
            totals[c] = 0.0
        for k in range(begin, end):
            if events[0, k] & 6 == LOWER:
                totals[label[events[0, k] >> 3]] += weight[events[0, k] >> 3]
        heaviest, weight_here = heaviest_class(totals)
        feature[node] = index[node] = left[node] = right[node] = -1
        leaf_label[node] = heaviest
        if depth_of[node] >= max_depth or (end - begin) // 3 < min_samples_split or totals[heaviest] >= weight_here:
            continue
        impurity = 1.0 if criterion != CHEN_ENTROPY else 0.0
        for c in range(n_classes):
            share = totals[c] / weight_here
            if criterion != CHEN_ENTROPY:
                impurity -= share**2
            elif share > 0.0:
                impurity -= share * np.log2(share)
        best = np.inf
        best_feature = best_rank = -1
        if max_features < n_features:
            for a in range(max_features):
                b = a + int(np.random.random() * (n_features - a))  # noqa: NPY002
                order[a], order[b] = order[b], order[a]
        for a in range(max_features):
            j = order[a]
            lowest, highest = region(node, j, parent_of, feature, index, left, n_ranks)
            if criterion == GROOT and n_classes == 2 and whole and robust_weight == 1.0:
                score, rank = _scan_two_classes(events[j], ranks[j], begin, end, lowest, highest, n_ranks[j], totals)
                if score < best:
                    best, best_feature, best_rank = score, j, rank
                continue
            _all_right(totals, sure_left, may_leave, may_enter, sure_right)
            for k in range(begin, end - 1):
                _pass_event(events[j, k], label, weight, sure_left, may_leave, may_enter, sure_right)
                rank = ranks[j, k]
                following = ranks[j, k + 1]
                if following >= n_ranks[j]:
                    break
                # A threshold must leave something of the node's region on both sides.
                if following == rank or rank < 0 or rank <= lowest:
                    continue
                if rank >= highest:
                    break
                score = _worst_placement(
                    criterion, sure_left, may_leave, may_enter, sure_right, robust_weight, whole, work, moved
                )
                if score < best:
                    best, best_feature, best_rank = score, j, rank
        if best_feature < 0 or impurity - best <= NO_GAIN:
            continue

        # Place every movable sample as the worst case says: who stands left stays there, up to the class' share.
        j = best_feature
        _all_right(totals, sure_left, may_leave, may_enter, sure_right)
        for k in range(begin, end):
            i = events[j, k] >> 3
            if ranks[j, k] <= best_rank:
                _pass_event(events[j, k], label, weight, sure_left, may_leave, may_enter, sure_right)
                goes_left[i] = events[j, k] & 6 != LOWER
            elif events[j, k] & 6 == LOWER:
                goes_left[i] = False
        _worst_placement(criterion, sure_left, may_leave, may_enter, sure_right, robust_weight, whole, work, moved)
        for c in range(n_classes):
            balance[c] = moved[c] - work[1, c]
        n_left = 0
        for k in range(begin, end):
            i = events[j, k] >> 3
            c = label[i]
            if events[j, k] & 6 == LOWER:
                # Lower end passed, value not: may be moved to the left.
                if ranks[j, k] <= best_rank and not goes_left[i] and balance[c] >= 0.5 * weight[i] and weight[i] > 0:
                    goes_left[i] = True
                    balance[c] -= weight[i]
            elif (
                # Value passed, upper end not: may be moved to the right.
                events[j, k] & 6 == UPPER
                and ranks[j, k] > best_rank
                and goes_left[i]
                and balance[c] <= -0.5 * weight[i]
                and weight[i] > 0
            ):
                goes_left[i] = False
                balance[c] += weight[i]
        for k in range(begin, end):
            if events[j, k] & 6 == LOWER and goes_left[events[j, k] >> 3]:
                n_left += 1
        n_here = (end - begin) // 3
        if n_left < min_samples_leaf or n_here - n_left < min_samples_leaf or n_left == 0 or n_left == n_here:
            continue
        for other in range(n_features):
            _partition(events[other], ranks[other], begin, end, goes_left, buffer, rank_buffer)
        feature[node], index[node], leaf_label[node] = j, best_rank, -1
        left[node], right[node] = n_nodes, n_nodes + 1
        for child in range(n_nodes, n_nodes + 2):
            depth_of[child] = depth_of[node] + 1
            parent_of[child] = node
            stack[size] = child
            size += 1
        begin_of[n_nodes], end_of[n_nodes] = begin_of[node], begin_of[node] + n_left
        begin_of[n_nodes + 1], end_of[n_nodes + 1] = begin_of[node] + n_left, end_of[node]
        n_nodes += 2
    return n_nodes
