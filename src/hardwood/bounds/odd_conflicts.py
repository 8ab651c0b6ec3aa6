"""What more than two classes add: conflicts that form odd cycles, where half of the weight is not the whole truth.

Three samples of three classes that all conflict can have one right, so two errors, where the linear relaxation of
the vertex cover counts one and a half. Given the samples that the relaxation leaves at ½, component by component:

* components without odd cycles are bipartite: a flow solves them exactly;
* small components are solved by branching;
* in the others, disjoint cliques of k samples (at least k - 1 errors each) are packed before the rest is relaxed, and
  since weights are whole numbers, what is left of a half is rounded up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardwood.bounds.conflict_index import BoolArray, ConflictIndex, IntArray, RankedBoxes
from hardwood.bounds.conflicts import merge_equal
from hardwood.bounds.packing import CoverSearch

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

MAX_EDGES = 300_000
"""Beyond so many conflicts, cliques are looked for in groups of vertices that have at most so many in all."""

MAX_WORK = 100_000
"""Vertices that branching may look at, all components together, before the rest counts as too large to solve."""


def cover_beyond_relaxation(boxes: RankedBoxes, label: IntArray, weight: IntArray) -> tuple[int, BoolArray]:
    """Lower bound on the weight of a cover, and a cover, of vertices whose relaxed optimum is ½ throughout.

    Returns
    -------
    weight : int
        No cover weighs less; at least half of the total weight.
    chosen : bool array
        A cover. It is of minimum weight if that equals `weight`.
    """
    # Merging makes the answer a function of the boxes alone, whatever the caller merged before.
    key = np.hstack([boxes.lower, boxes.upper])
    vertices = merge_equal(key, label, np.arange(len(label)))
    boxes, label, weight = boxes.take(vertices.first_member), vertices.label, vertices.total(weight)
    everything = np.arange(vertices.size, dtype=np.int32)
    allowed = np.ones(vertices.size, np.bool_)
    index = ConflictIndex(boxes, boxes, label, label)
    if int(index.count(everything, allowed).sum()) > 2 * MAX_EDGES:
        total = max(-(-int(weight.sum()) // 2), _clique_bound_by_groups(boxes, label, weight))
        chosen = _all_but_an_independent_set(label, weight, None)
    else:
        from scipy.sparse import coo_matrix

        row, column = index.find(everything, allowed)
        shape = (vertices.size, vertices.size)
        graph = coo_matrix((np.ones(len(row), np.int8), (row, column)), shape=shape).tocsr()
        total, chosen = _cover_components(graph, boxes, label, weight)
    merged = np.empty(len(vertices.member), np.bool_)
    merged[vertices.member] = np.repeat(chosen, np.diff(vertices.start))
    return total, merged


def _cover_components(
    graph: csr_matrix, boxes: RankedBoxes, label: IntArray, weight: IntArray
) -> tuple[int, BoolArray]:
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    n = len(label)
    n_components, component = connected_components(graph, directed=False)
    # In the double cover a component falls apart into two copies iff it has no odd cycle.
    pairs = graph.tocoo()
    double = coo_matrix((pairs.data, (pairs.row, pairs.col + n)), shape=(2 * n, 2 * n))
    copy = connected_components(double, directed=False)[1]
    even = copy[:n] != copy[n:]
    # The copy with the smaller number is the side of the component's first vertex.
    side = copy[:n] < copy[n:]
    chosen = np.zeros(n, np.bool_)
    total = _cover_even(boxes, label, weight, np.flatnonzero(even & side), np.flatnonzero(even & ~side), chosen)
    order = np.argsort(component, kind="stable")
    bounds = np.searchsorted(component[order], np.arange(n_components + 1))
    work = MAX_WORK
    for c in range(n_components):
        part = order[bounds[c] : bounds[c + 1]]
        if even[part[0]]:
            continue
        neighbours = [set(graph.indices[graph.indptr[v] : graph.indptr[v + 1]].tolist()) for v in part]
        place = {int(v): i for i, v in enumerate(part)}
        local = [{place[u] for u in near} for near in neighbours]
        lower, cover, spent = _cover_odd(local, label[part], weight[part], work)
        work -= spent
        total += lower
        chosen[part[cover]] = True
    return total, chosen


def _cover_even(
    boxes: RankedBoxes, label: IntArray, weight: IntArray, left: IntArray, right: IntArray, chosen: BoolArray
) -> int:
    search = CoverSearch(weight[left], weight[right])
    search.solve(ConflictIndex(boxes.take(left), boxes.take(right), label[left], label[right]))
    chosen[left[search.row_cover]] = True
    chosen[right[search.column_cover]] = True
    return search.packing_weight


def _cover_odd(neighbours: list[set[int]], label: IntArray, weight: IntArray, work: int) -> tuple[int, IntArray, int]:
    """Bound, cover and work spent on one component with an odd cycle."""
    weights = [int(w) for w in weight]
    half = -(-sum(weights) // 2)
    rough = np.flatnonzero(_all_but_an_independent_set(label, weight, neighbours))
    search = _Branching(neighbours, weights, frozenset(rough.tolist()), half)
    proven = search.run(work)
    lower = search.best_weight if proven else max(half, _clique_bound(neighbours, weights))
    return lower, np.array(sorted(search.best_cover), np.int64), search.work


def _all_but_an_independent_set(label: IntArray, weight: IntArray, neighbours: list[set[int]] | None) -> BoolArray:
    """Cover with all but the heaviest class and, if conflicts are known, what does not conflict with it."""
    kept: BoolArray = label == int(np.argmax(np.bincount(label, weights=weight)))
    if neighbours is not None:
        for v in np.argsort(-weight, kind="stable"):
            if not kept[v] and not any(kept[u] for u in neighbours[v]):
                kept[v] = True
    return ~kept


class _Branching:
    """Minimum-weight cover of a small graph: either a vertex is in the cover, or all its neighbours are."""

    def __init__(self, neighbours: list[set[int]], weight: list[int], known_cover: frozenset[int], lower: int) -> None:
        self._neighbours, self._weight, self._lower = neighbours, weight, lower
        self.best_cover = known_cover
        self.best_weight = sum(weight[v] for v in known_cover)
        self.work = 0

    def run(self, max_work: int) -> bool:
        """Search; return whether `best_weight` is proven to be the minimum."""
        pending: list[tuple[frozenset[int], frozenset[int], int]] = [
            (frozenset(range(len(self._weight))), frozenset(), 0)
        ]
        while pending and self.best_weight > self._lower:
            if self.work >= max_work:
                return False
            self.work += len(self._weight)
            alive, cover, paid = pending.pop()
            if paid + self._cliques(alive) >= self.best_weight:
                continue
            degree = {v: len(self._neighbours[v] & alive) for v in alive}
            pivot = max(alive, key=lambda v: (degree[v], -v), default=-1)
            if pivot < 0 or degree[pivot] == 0:
                self.best_weight, self.best_cover = paid, cover
                continue
            near = self._neighbours[pivot] & alive
            paid_near = paid + sum(self._weight[u] for u in near)
            pending.append((alive - {pivot}, cover | {pivot}, paid + self._weight[pivot]))
            pending.append((alive - near - {pivot}, cover | near, paid_near))
        return True

    def _cliques(self, alive: frozenset[int]) -> int:
        return pack_cliques(self._neighbours, [w if v in alive else 0 for v, w in enumerate(self._weight)], 2)


def pack_cliques(neighbours: list[set[int]], weight: list[int], least: int) -> int:
    """Weight that disjoint cliques of at least `least` vertices prove; `weight` is reduced to what they leave.

    A clique of k vertices that can each give up d of weight costs every cover (k - 1) d.
    """
    total = 0
    degree = [len(near) for near in neighbours]
    for v in range(len(weight)):
        while weight[v] > 0:
            clique = [v]
            common = {u for u in neighbours[v] if weight[u] > 0}
            while common:
                u = max(common, key=lambda u: (degree[u], -u))
                clique.append(u)
                common &= neighbours[u]
            if len(clique) < least:
                break
            depth = min(weight[u] for u in clique)
            total += (len(clique) - 1) * depth
            for u in clique:
                weight[u] -= depth
    return total


def _clique_bound(neighbours: list[set[int]], weight: list[int]) -> int:
    """Cliques of three or more, then the relaxation of what they leave."""
    left = list(weight)
    packed = pack_cliques(neighbours, left, 3)
    row = np.repeat(np.arange(len(neighbours), dtype=np.int32), [len(near) for near in neighbours])
    column = np.array([u for near in neighbours for u in sorted(near)], np.int32)
    rest = CoverSearch(np.array(left, np.int64), np.array(left, np.int64))
    rest.solve_edges(row, column)
    return packed - (-rest.packing_weight // 2)


def _clique_bound_by_groups(boxes: RankedBoxes, label: IntArray, weight: IntArray) -> int:
    """Pack cliques of three or more that lie within groups of vertices, then relax what they leave.

    Vertices stand class by class, so every n-th one makes a group of all classes. So dense a graph has cliques in it.
    """
    n_groups = -(-len(label) ** 2 // (2 * MAX_EDGES))
    left = weight.copy()
    packed = 0
    for g in range(n_groups):
        group = np.arange(g, len(label), n_groups)
        some, its_label = boxes.take(group), label[group]
        index = ConflictIndex(some, some, its_label, its_label)
        row, column = index.find(np.arange(len(group), dtype=np.int32), np.ones(len(group), np.bool_))
        neighbours: list[set[int]] = [set() for _ in group]
        for u, v in zip(row.tolist(), column.tolist(), strict=True):
            neighbours[u].add(v)
        weights = left[group].tolist()
        packed += pack_cliques(neighbours, weights, 3)
        left[group] = weights
    rest = CoverSearch(left, left)
    rest.solve(ConflictIndex(boxes, boxes, label, label))
    return packed - (-rest.packing_weight // 2)
