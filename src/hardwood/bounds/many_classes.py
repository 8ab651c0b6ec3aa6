"""What more than two classes add: conflicts that form odd cycles, where half of the weight is not the whole truth.

Three samples of three classes that all conflict can have one right, so two errors, where the linear relaxation of
the vertex cover counts one and a half. Given the samples that the relaxation leaves at ½, component by component:

* components without odd cycles are bipartite: a flow solves them exactly;
* small components are solved by branching;
* in the others, disjoint cliques of k samples (at least k - 1 errors each) are packed before the rest is relaxed, and
  since weights are whole numbers, what is left of a half is rounded up.

Small graphs are lists of bit masks: bit u of ``near[v]`` tells whether u and v conflict.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from hardwood import _core
from hardwood.arrays import BoolArray, IntArray
from hardwood.bounds.conflict_index import ConflictIndex, RankedBoxes
from hardwood.bounds.conflicts import Vertices
from hardwood.bounds.cover_search import CoverSearch

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

MAX_EDGES = 1_000_000
"""Beyond so many conflicts, components are not told apart."""

MAX_GROUP = 1_000
"""Cliques are looked for among so many vertices at a time, and components up to this size are branched on."""

MAX_WORK = 400_000
"""Vertices that branching may look at, all components together, before the rest counts as too large to solve."""


def cover_beyond_relaxation(
    boxes: RankedBoxes, label: IntArray, weight: IntArray, control: _core.Control | None = None
) -> tuple[int, BoolArray]:
    """Bound the weight of a cover, and find one, of vertices whose relaxed optimum is ½ throughout.

    Where `control` stops it, what was found by then: a smaller bound and a heavier cover, but valid ones.

    Returns
    -------
    weight : int
        No cover weighs less; at least half of the total weight.
    chosen : bool array
        A cover. It is of minimum weight if that equals `weight`.
    """
    if _is_stopped(control):
        return -(-int(weight.sum()) // 2), _all_but_heaviest_class(label, weight)
    # Merging makes the answer a function of the boxes alone, whatever the caller merged before.
    vertices = Vertices.of(boxes.lower, boxes.upper, label)
    boxes, label, weight = boxes.take(vertices.first_member), vertices.label, vertices.total(weight)
    everything = np.arange(vertices.size, dtype=np.int32)
    allowed = np.ones(vertices.size, np.bool_)
    index = ConflictIndex(boxes, boxes, label, label)
    if int(index.count(everything, allowed).sum()) > 2 * MAX_EDGES:
        total = max(-(-int(weight.sum()) // 2), _clique_bound(boxes, label, weight, control))
        chosen = _all_but_heaviest_class(label, weight)
    else:
        from scipy.sparse import coo_matrix

        row, column = index.find(everything, allowed)
        shape = (vertices.size, vertices.size)
        graph = coo_matrix((np.ones(len(row), np.bool_), (row, column)), shape=shape).tocsr()
        total, chosen = _cover_components(graph, boxes, label, weight, control)
    merged = np.empty(len(vertices.member), np.bool_)
    merged[vertices.member] = np.repeat(chosen, np.diff(vertices.start))
    return total, merged


def _is_stopped(control: _core.Control | None) -> bool:
    return control is not None and control.stopped


def _all_but_heaviest_class(label: IntArray, weight: IntArray) -> BoolArray:
    """Cover with all classes but one, which has no conflicts within."""
    return np.asarray(label != int(np.argmax(np.bincount(label, weights=weight))))


def _cover_components(
    graph: csr_matrix, boxes: RankedBoxes, label: IntArray, weight: IntArray, control: _core.Control | None
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
    side = copy[:n] < copy[n:]
    chosen = np.zeros(n, np.bool_)
    sides = np.flatnonzero(even & side), np.flatnonzero(even & ~side)
    total = _cover_even(boxes, label, weight, *sides, chosen, control)
    order = np.argsort(component, kind="stable")
    ends = np.searchsorted(component[order], np.arange(n_components + 1))
    work = MAX_WORK
    for c in range(n_components):
        part = order[ends[c] : ends[c + 1]]
        if even[part[0]]:
            continue
        lower = -(-int(weight[part].sum()) // 2)
        cover = part[_all_but_heaviest_class(label[part], weight[part])]
        proven = False
        if len(part) <= MAX_GROUP and not _is_stopped(control):
            search = _Branching(graph[part][:, part].toarray(), weight[part], cover=_positions(cover, part))
            proven = search.run(lower, work, control)
            work -= search.work
            cover = part[search.best_cover]
        if proven:
            lower = int(weight[cover].sum())
        else:
            lower = max(lower, _clique_bound(boxes.take(part), label[part], weight[part], control))
        total += lower
        chosen[cover] = True
    return total, chosen


def _positions(some: IntArray, among: IntArray) -> IntArray:
    return np.flatnonzero(np.isin(among, some))


def _cover_even(
    boxes: RankedBoxes,
    label: IntArray,
    weight: IntArray,
    left: IntArray,
    right: IntArray,
    chosen: BoolArray,
    control: _core.Control | None,
) -> int:
    search = CoverSearch(weight[left], weight[right])
    search.solve(ConflictIndex(boxes.take(left), boxes.take(right), label[left], label[right]), control=control)
    if not search.complete:
        both = np.concatenate([left, right])
        chosen[both[_all_but_heaviest_class(label[both], weight[both])]] = True
        return max(search.packing_weight, -(-int(weight[both].sum()) // 2))
    chosen[left[search.row_cover]] = True
    chosen[right[search.column_cover]] = True
    return search.packing_weight


def _bit_masks(adjacent: BoolArray) -> list[int]:
    packed = np.packbits(adjacent, axis=1, bitorder="little")
    return [int.from_bytes(row.tobytes(), "little") for row in packed]


def _bits(mask: int) -> Iterable[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


class _Branching:
    """Minimum-weight cover of a small graph: either a vertex is in the cover, or all its neighbours are."""

    def __init__(self, adjacent: BoolArray, weight: IntArray, cover: IntArray) -> None:
        self._order = np.argsort(-adjacent.sum(axis=1), kind="stable")
        self._near = _bit_masks(adjacent[np.ix_(self._order, self._order)])
        self._weight = [int(w) for w in weight[self._order]]
        self._best = sum(1 << int(i) for i in _positions(cover, self._order))
        self.work = 0

    @property
    def best_cover(self) -> IntArray:
        """Vertices of the lightest cover found."""
        return np.sort(self._order[list(_bits(self._best))])

    def run(self, lower: int, max_work: int, control: _core.Control | None = None) -> bool:
        """Search until the cover weighs `lower` or nothing is left; return whether it is proven to be lightest."""
        best_weight = self._weigh(self._best)
        pending = [((1 << len(self._weight)) - 1, 0, 0)]
        while pending and best_weight > lower:
            if self.work >= max_work or _is_stopped(control):
                return False
            self.work += len(self._weight)
            alive, cover, paid = pending.pop()
            left = [w if alive >> v & 1 else 0 for v, w in enumerate(self._weight)]
            if paid + pack_cliques(self._near, left, 2) >= best_weight:
                continue
            pivot = max(_bits(alive), key=lambda v: (self._near[v] & alive).bit_count(), default=-1)
            near = self._near[pivot] & alive if pivot >= 0 else 0
            if near == 0:
                best_weight, self._best = paid, cover
                continue
            rest = alive & ~(1 << pivot)
            pending.append((rest, cover | 1 << pivot, paid + self._weight[pivot]))
            pending.append((rest & ~near, cover | near, paid + self._weigh(near)))
        return True

    def _weigh(self, mask: int) -> int:
        return sum(self._weight[v] for v in _bits(mask))


def pack_cliques(near: list[int], weight: list[int], least: int) -> int:
    """Weight that disjoint cliques of at least `least` vertices prove; `weight` is reduced to what they leave.

    A clique of k vertices that can each give up d of their weight costs every cover (k - 1) d. Cliques are grown by
    the vertex with the lowest number; let those be the ones of high degree.
    """
    total = 0
    free = sum(1 << v for v, w in enumerate(weight) if w > 0)
    for v in range(len(weight) - 1, -1, -1):
        while free >> v & 1:
            clique = [v]
            common = near[v] & free
            while common:
                u = (common & -common).bit_length() - 1
                clique.append(u)
                common &= near[u]
            if len(clique) < least:
                break
            depth = min(weight[u] for u in clique)
            total += (len(clique) - 1) * depth
            for u in clique:
                weight[u] -= depth
                if weight[u] == 0:
                    free ^= 1 << u
    return total


def _clique_bound(boxes: RankedBoxes, label: IntArray, weight: IntArray, control: _core.Control | None) -> int:
    """Pack cliques of three or more that lie within groups of vertices, then relax what they leave.

    Vertices stand class by class, so every n-th one makes a group with a fair share of every class.
    """
    left = weight.copy()
    packed = 0
    n_groups = -(-len(label) // MAX_GROUP)
    for g in range(n_groups):
        if _is_stopped(control):
            break
        group = np.arange(g, len(label), n_groups)
        adjacent = _adjacency(boxes.take(group), label[group])
        order = np.argsort(-adjacent.sum(axis=1), kind="stable")
        weights = left[group[order]].tolist()
        packed += pack_cliques(_bit_masks(adjacent[np.ix_(order, order)]), weights, 3)
        left[group[order]] = weights
    rest = CoverSearch(left, left)
    rest.solve(ConflictIndex(boxes, boxes, label, label), control=control)
    return packed - (-rest.packing_weight // 2)


def _adjacency(boxes: RankedBoxes, label: IntArray) -> BoolArray:
    n = len(label)
    row, column = ConflictIndex(boxes, boxes, label, label).find(np.arange(n, dtype=np.int32), np.ones(n, np.bool_))
    adjacent = np.zeros((n, n), np.bool_)
    adjacent[row, column] = True
    return adjacent
