"""Compiled parts of leaf relabelling: which leaves each box reaches, a minimum cut, and a search over labels."""

from __future__ import annotations

import numba as nb
import numpy as np

from hardwood.kernels.signatures import IN_F1, IN_F2, IN_I1, OUT_B1, OUT_I1, read_only

_IN_B1 = read_only(nb.boolean, 1)
_IN_RANKS = read_only(nb.int32, 2)
_MASKS = nb.types.Array(nb.uint64, 2, "C")
_BITS = 64


@nb.njit(
    [
        nb.void(IN_I1, IN_F1, IN_I1, IN_I1, _IN_B1, _IN_B1, IN_I1, IN_F2, IN_F2, _MASKS),
        nb.void(IN_I1, IN_I1, IN_I1, IN_I1, _IN_B1, _IN_B1, IN_I1, _IN_RANKS, _IN_RANKS, _MASKS),
    ],
    cache=True,
    nogil=True,
)
def reached_leaves(feature, threshold, left, right, can_left, can_right, leaf_number, lower, upper, mask):
    """Write the leaves that the box of each row reaches as a bit mask.

    Parameters
    ----------
    feature, threshold, left, right : the splits, with thresholds as numbers or as indices.
    can_left, can_right : whether any point can go there from the node.
    leaf_number : number of each leaf, by node.
    lower, upper : boxes, in the same terms as the thresholds.
    mask : uint64 array of shape (n, n_words), written.
    """
    stack = np.empty(len(feature) + 1, np.int64)
    for i in range(lower.shape[0]):
        for word in range(mask.shape[1]):
            mask[i, word] = 0
        stack[0] = 0
        size = 1
        while size > 0:
            size -= 1
            node = stack[size]
            if left[node] < 0:
                leaf = leaf_number[node]
                mask[i, leaf // _BITS] |= np.uint64(1) << np.uint64(leaf % _BITS)
                continue
            j = feature[node]
            if can_right[node] and upper[i, j] > threshold[node]:
                stack[size] = right[node]
                size += 1
            if can_left[node] and lower[i, j] <= threshold[node]:
                stack[size] = left[node]
                size += 1


@nb.njit(cache=True, nogil=True)
def _adjacency(n_nodes, tail, head, capacity):
    """Return arcs and their reverses sorted by tail: where each node's begin, heads, partners, residual capacities."""
    m = len(tail)
    begin = np.zeros(n_nodes + 1, np.int64)
    for a in range(m):
        begin[tail[a] + 1] += 1
        begin[head[a] + 1] += 1
    for v in range(n_nodes):
        begin[v + 1] += begin[v]
    place = begin[:-1].copy()
    to = np.empty(2 * m, np.int64)
    partner = np.empty(2 * m, np.int64)
    residual = np.zeros(2 * m)
    for a in range(m):
        forth, back = place[tail[a]], place[head[a]]
        place[tail[a]] += 1
        place[head[a]] += 1
        to[forth], to[back] = head[a], tail[a]
        partner[forth], partner[back] = back, forth
        residual[forth] = capacity[a]
    return begin, to, partner, residual


@nb.njit(cache=True, nogil=True)
def _levels(source, begin, to, residual, level, queue):
    """Write the distance of each node from the source along arcs with capacity left, -1 where there is no way."""
    level[:] = -1
    level[source] = 0
    queue[0] = source
    done, size = 0, 1
    while done < size:
        v = queue[done]
        done += 1
        for a in range(begin[v], begin[v + 1]):
            if residual[a] > 0.0 and level[to[a]] < 0:
                level[to[a]] = level[v] + 1
                queue[size] = to[a]
                size += 1


@nb.njit(nb.void(nb.int64, nb.int64, nb.int64, IN_I1, IN_I1, IN_F1, OUT_B1), cache=True, nogil=True)
def minimum_cut(n_nodes, source, sink, tail, head, capacity, source_side):
    """Write the smallest source side of a minimum cut (Dinic's algorithm).

    Every augmentation uses up one arc exactly, so float capacities need no tolerance.
    """
    begin, to, partner, residual = _adjacency(n_nodes, tail, head, capacity)
    level = np.empty(n_nodes, np.int64)
    queue = np.empty(n_nodes, np.int64)
    following = np.empty(n_nodes, np.int64)
    path = np.empty(n_nodes + 1, np.int64)
    while True:
        _levels(source, begin, to, residual, level, queue)
        if level[sink] < 0:
            break
        following[:] = begin[:-1]
        length = 0
        v = source
        while True:
            if v == sink:
                amount = np.inf
                for k in range(length):
                    amount = min(amount, residual[path[k]])
                shortest = length
                for k in range(length - 1, -1, -1):
                    residual[path[k]] -= amount
                    residual[partner[path[k]]] += amount
                    if residual[path[k]] == 0.0:
                        shortest = k
                # Go on from the tail of the first arc that is used up.
                length = shortest
                v = to[partner[path[length]]]
                continue
            advanced = False
            while following[v] < begin[v + 1]:
                a = following[v]
                if residual[a] > 0.0 and level[to[a]] == level[v] + 1:
                    path[length] = a
                    length += 1
                    v = to[a]
                    advanced = True
                    break
                following[v] += 1
            if advanced:
                continue
            if length == 0:
                break
            length -= 1
            v = to[partner[path[length]]]
            following[v] += 1
    for v in range(n_nodes):
        source_side[v] = level[v] >= 0


@nb.njit(cache=True, nogil=True)
def _tabulate(depth, begin, place, label, weight, is_lost, table):
    """Write the weight of each class that is not lost yet, each group at its first leaf from `depth` on."""
    for k in range(table.shape[0]):
        for c in range(table.shape[1]):
            table[k, c] = 0.0
    for g in range(len(label)):
        if is_lost[g] == 0:
            for a in range(begin[g], begin[g + 1]):
                if place[a] >= depth:
                    table[place[a], label[g]] += weight[g]
                    break


@nb.njit(nb.boolean(IN_I1, IN_I1, IN_I1, IN_F1, nb.int64, nb.float64, nb.int64, OUT_I1), cache=True, nogil=True)
def try_labelings(begin, place, label, weight, n_classes, most, max_nodes, best):
    """Search labels that lose less than `most`; return whether the search came to its end.

    Leaves are labelled one after the other. What is lost so far, and at every leaf still open all but the heaviest
    class of the groups that meet it first, is a lower bound on what a labeling loses.

    Parameters
    ----------
    begin, place : the leaves of group g, increasing: ``place[begin[g] : begin[g + 1]]``.
    label, weight : class and weight of each group.
    most : cost of the best labels known.
    max_nodes : how many partial labelings to look at.
    best : label of each leaf, overwritten by better ones.
    """
    n_leaves = len(best)
    lost_at = np.zeros(len(label), np.int64)
    table = np.zeros((n_leaves, n_classes))
    tried = np.zeros(n_leaves + 1, np.int64)
    choice = np.zeros(n_leaves + 1, np.int64)
    cost = np.zeros(n_leaves + 1)
    depth = 0
    seen = 0
    while True:
        if depth == n_leaves or tried[depth] == n_classes:
            if depth == n_leaves and cost[depth] < most:
                most = cost[depth]
                for k in range(n_leaves):
                    best[k] = choice[k]
            tried[depth] = 0
            if depth == 0:
                return True
            depth -= 1
            for g in range(len(label)):
                if lost_at[g] == depth + 1:
                    lost_at[g] = 0
            continue
        seen += 1
        if seen > max_nodes:
            return False
        # The label of this leaf that was chosen last is undone; take the next one.
        c = tried[depth]
        tried[depth] += 1
        lost = cost[depth]
        for g in range(len(label)):
            if lost_at[g] == 0 and label[g] != c:
                for a in range(begin[g], begin[g + 1]):
                    if place[a] == depth:
                        lost_at[g] = depth + 1
                        lost += weight[g]
                        break
        bound = lost
        _tabulate(depth + 1, begin, place, label, weight, lost_at, table)
        for k in range(depth + 1, n_leaves):
            total = heaviest = 0.0
            for other in range(n_classes):
                total += table[k, other]
                heaviest = max(heaviest, table[k, other])
            bound += total - heaviest
        if bound < most:
            choice[depth] = c
            cost[depth + 1] = lost
            depth += 1
        else:
            for g in range(len(label)):
                if lost_at[g] == depth + 1:
                    lost_at[g] = 0
