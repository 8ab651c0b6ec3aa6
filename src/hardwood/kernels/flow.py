"""Compiled maximum flow through a bipartite graph, which gives the largest packing and the lightest cover.

Vertices have capacities (integer weights), edges have none: source → row (its weight) → column → sink (its weight).
A maximum flow is a maximum weighted matching of pairs, and the minimum cut is a vertex cover of minimum weight (König;
for unit weights this is the algorithm of Hopcroft & Karp, "An n^5/2 algorithm for maximum matchings in bipartite
graphs", SIAM J. Comput. 2(4), 1973; for weights that of Dinic). The flow may start from any feasible one.
"""

from __future__ import annotations

import numba as nb
import numpy as np
from numba import types

from hardwood.kernels.signatures import read_only

_IN_I32 = read_only(types.int32, 1)
_IN_I64 = read_only(types.int64, 1)
_IN_PAIR = read_only(types.int64, 2)
_OUT_PAIR = types.Array(types.int64, 2, "C")
_OUT_I32 = types.Array(types.int32, 1, "C")
_OUT_I64 = types.Array(types.int64, 1, "C")


@nb.njit(types.void(_IN_I32, _OUT_I64, _OUT_I32), cache=True, nogil=True)
def group_edges(vertex, start, edge):
    """Sort edges by an end: ``edge[start[v]:start[v + 1]]`` are those at v; `start` comes zeroed."""
    n = len(start) - 1
    for e in range(len(vertex)):
        start[vertex[e] + 1] += 1
    for v in range(n):
        start[v + 1] += start[v]
    for e in range(len(vertex)):
        edge[start[vertex[e]]] = e
        start[vertex[e]] += 1
    for v in range(n, 0, -1):
        start[v] = start[v - 1]
    start[0] = 0


@nb.njit(types.void(_IN_I64, _IN_I32, _IN_I32, _OUT_I64, _OUT_I64, _OUT_I64), cache=True, nogil=True)
def push_greedily(row_start, row_edge, column, flow, row_left, col_left):
    """Send what fits along single edges, rows with few edges first: most of a maximum flow for little time."""
    unused = np.flatnonzero(row_left)
    for u in unused[np.argsort(row_start[unused + 1] - row_start[unused], kind="mergesort")]:
        for a in range(row_start[u], row_start[u + 1]):
            if row_left[u] == 0:
                break
            e = row_edge[a]
            amount = min(row_left[u], col_left[column[e]])
            if amount > 0:
                flow[e] += amount
                row_left[u] -= amount
                col_left[column[e]] -= amount


@nb.njit(
    types.boolean(_IN_I64, _IN_I32, _IN_I64, _IN_I32, _IN_I32, _IN_I32, _IN_I64, _IN_I64, _IN_I64, _OUT_I32, _OUT_I32),
    cache=True,
    nogil=True,
)
def layer(row_start, row_edge, col_start, col_edge, row, column, flow, row_left, col_left, row_level, col_level):
    """Breadth-first layers from the rows with capacity left; whether a column with capacity left was reached.

    If not, the flow is maximum, and reached vertices (level >= 0) are the source side of the minimum cut that is
    nearest to the source. That set is the same for every maximum flow.
    """
    queue = np.empty(len(row_left), np.int32)
    head, tail = 0, 0
    col_level[:] = -1
    for u in range(len(row_left)):
        row_level[u] = -1
        if row_left[u] > 0:
            row_level[u] = 0
            queue[tail] = u
            tail += 1
    last_level = -1
    while head < tail:
        u = queue[head]
        head += 1
        if last_level >= 0 and row_level[u] >= last_level:
            break
        for a in range(row_start[u], row_start[u + 1]):
            v = column[row_edge[a]]
            if col_level[v] >= 0:
                continue
            col_level[v] = row_level[u] + 1
            if col_left[v] > 0:
                last_level = col_level[v]
            if last_level >= 0:
                continue
            for b in range(col_start[v], col_start[v + 1]):
                e = col_edge[b]
                w = row[e]
                if flow[e] > 0 and row_level[w] < 0:
                    row_level[w] = col_level[v] + 1
                    queue[tail] = w
                    tail += 1
    return last_level >= 0


@nb.njit(
    types.void(_IN_I64, _IN_I32, _IN_I64, _IN_I32, _IN_I32, _IN_I32, _OUT_I64, _OUT_I64, _OUT_I64, _OUT_I32, _OUT_I32),
    cache=True,
    nogil=True,
)
def augment_along_layers(
    row_start, row_edge, col_start, col_edge, row, column, flow, row_left, col_left, row_level, col_level
):
    """Depth-first blocking flow in the layered graph; exhausted rows get level -2."""
    row_next = row_start[:-1].copy()
    col_next = col_start[:-1].copy()
    depth_limit = len(row_left)
    path_row = np.empty(depth_limit + 1, np.int32)
    forward = np.empty(depth_limit + 1, np.int32)
    backward = np.empty(depth_limit + 1, np.int32)
    for root in range(len(row_left)):
        while row_left[root] > 0 and row_level[root] == 0:
            depth = 0
            path_row[0] = root
            end = -1
            while depth >= 0 and end < 0:
                u = path_row[depth]
                deeper = False
                while row_next[u] < row_start[u + 1]:
                    e = row_edge[row_next[u]]
                    v = column[e]
                    if col_level[v] == row_level[u] + 1:
                        forward[depth] = e
                        if col_left[v] > 0:
                            end = v
                            break
                        while col_next[v] < col_start[v + 1]:
                            back = col_edge[col_next[v]]
                            w = row[back]
                            if flow[back] > 0 and row_level[w] == col_level[v] + 1:
                                backward[depth] = back
                                path_row[depth + 1] = w
                                deeper = True
                                break
                            col_next[v] += 1
                        if deeper:
                            break
                    row_next[u] += 1
                if deeper:
                    depth += 1
                elif end < 0:
                    row_level[u] = -2
                    depth -= 1
            if end < 0:
                break
            amount = min(row_left[root], col_left[end])
            for d in range(depth):
                amount = min(amount, flow[backward[d]])
            row_left[root] -= amount
            col_left[end] -= amount
            for d in range(depth):
                flow[forward[d]] += amount
                flow[backward[d]] -= amount
            flow[forward[depth]] += amount


@nb.njit(types.int64(_IN_PAIR, _IN_I64, _IN_I64, _IN_I64, _OUT_I64, _OUT_PAIR, _OUT_I64), cache=True, nogil=True)
def hand_down(pair, amount, start, member, left, out_pair, out_amount):
    """Hand a packing of vertices down to their members, whose weights `left` are used up one after the other.

    Each step uses up a pair or a member, so there are at most as many lines as pairs and members; returned is
    their number.
    """
    cursor = start[:-1].copy()
    size = 0
    for e in range(len(amount)):
        u, v = pair[e, 0], pair[e, 1]
        todo = amount[e]
        while todo > 0:
            while left[member[cursor[u]]] == 0:
                cursor[u] += 1
            while left[member[cursor[v]]] == 0:
                cursor[v] += 1
            i, k = member[cursor[u]], member[cursor[v]]
            used = min(todo, left[i], left[k])
            out_pair[size, 0], out_pair[size, 1] = i, k
            out_amount[size] = used
            size += 1
            left[i] -= used
            left[k] -= used
            todo -= used
    return size
