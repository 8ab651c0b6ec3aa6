"""The least weight of samples that must be wrong: minimum vertex cover of the conflict graph.

Two classes make the graph bipartite, and a maximum flow solves it exactly. With more classes the problem is NP-hard;
the linear relaxation, solved as a flow between two copies of the samples, has values 0, ½ and 1 only, and (Nemhauser
& Trotter, "Vertex packings: structural properties and algorithms", Mathematical Programming 8, 1975) some optimal
cover contains all samples at 1 and none at 0. What remains are the samples at ½, half of whose weight is a valid lower
bound; `hardwood.bounds.many_classes` raises it where that is cheap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hardwood import _core
from hardwood.arrays import BoolArray, FloatArray, IntArray
from hardwood.bounds.conflict_index import ConflictIndex, RankedBoxes
from hardwood.bounds.conflicts import Vertices
from hardwood.bounds.cover_search import MEMORY_LIMIT, CoverSearch
from hardwood.bounds.many_classes import cover_beyond_relaxation
from hardwood.problem.merged import WholeWeights

LARGEST_SUM = 2**60
"""Weights add up to less than this as whole numbers."""


def whole_weights(weight: FloatArray) -> WholeWeights:
    """Return sample weights as whole numbers; rounded ones down, so that no cover is too heavy."""
    return WholeWeights.exactly(weight, LARGEST_SUM) or WholeWeights.rounded(weight, LARGEST_SUM)


@dataclass(frozen=True, eq=False)
class Cover:
    """A cover of the conflicts, and the least that any cover weighs.

    Attributes
    ----------
    weight : int
        Proven: no cover weighs less.
    vertices : bool array
        A cover.
    complete : bool
        False if memory or time ran out; then `vertices` is every vertex but those of the heaviest class.
    """

    weight: int
    vertices: BoolArray
    complete: bool


class ConflictGraph:
    """Vertices with weights, whose conflicts are given by boxes that may change from call to call.

    Parameters
    ----------
    vertices : Vertices
    weight : int array
        Weight of each vertex.
    memory_limit : int
        Bytes for edges, see `CoverSearch`.

    Attributes
    ----------
    is_bipartite : bool
        Whether there are at most two classes, so that covers are exact.
    """

    def __init__(self, vertices: Vertices, weight: IntArray, memory_limit: int = MEMORY_LIMIT) -> None:
        self._label, self._weight = vertices.label, weight
        classes = np.unique(vertices.label)
        self.is_bipartite = len(classes) <= 2
        everything = np.arange(vertices.size)
        if self.is_bipartite:
            # Searches start from unused rows; on the lighter side the fewest stay unused.
            lighter = classes[np.argmin([weight[vertices.label == c].sum() for c in classes])]
            self._row_vertex = everything[vertices.label == lighter]
            self._column_vertex = everything[vertices.label != lighter]
        else:
            self._row_vertex = self._column_vertex = everything
        self._search = CoverSearch(weight[self._row_vertex], weight[self._column_vertex], memory_limit)

    @property
    def n_rows(self) -> int:
        """Number of vertices on the first side."""
        return len(self._row_vertex)

    @property
    def n_columns(self) -> int:
        """Number of vertices on the second side."""
        return len(self._column_vertex)

    def branch(self) -> ConflictGraph:
        """Return a copy whose later covers leave this one's packing as it is."""
        twin = object.__new__(ConflictGraph)
        twin.__dict__.update(self.__dict__)
        twin._search = self._search.copy()
        return twin

    def index(self, boxes: RankedBoxes) -> ConflictIndex:
        """Index of the conflicts between the two sides."""
        return ConflictIndex(
            boxes.take(self._row_vertex),
            boxes.take(self._column_vertex),
            self._label[self._row_vertex],
            self._label[self._column_vertex],
        )

    def cover(self, boxes: RankedBoxes, *, grown: bool = False, control: _core.Control | None = None) -> Cover:
        """Cover the conflicts of these boxes, starting from the packing of the last call.

        Say `grown` if all conflicts of the last call are known to be conflicts of this one.
        """
        search = self._search
        search.solve(self.index(boxes), grown=grown, control=control)
        if not search.complete:
            weight = search.packing_weight if self.is_bipartite else -(-search.packing_weight // 2)
            chosen = self._all_but_heaviest_class()
        elif self.is_bipartite:
            weight = search.packing_weight
            chosen = np.zeros(len(self._weight), np.bool_)
            chosen[self._row_vertex[search.row_cover]] = True
            chosen[self._column_vertex[search.column_cover]] = True
        else:
            weight, chosen = self._relaxed_cover(boxes, control)
        return Cover(weight, chosen, search.complete)

    def packing(self) -> tuple[IntArray, IntArray]:
        """Return the packing behind the last cover.

        Returns
        -------
        pair : int array of shape (m, 2)
            Conflicting vertices.
        amount : int array of shape (m,)
            Twice the weight that each pair uses of its vertices (packings of a relaxation use halves).
        """
        search = self._search
        used = search.flow > 0
        pair = np.column_stack([self._row_vertex[search.row[used]], self._column_vertex[search.column[used]]])
        return pair, search.flow[used] * (2 if self.is_bipartite else 1)

    def _relaxed_cover(self, boxes: RankedBoxes, control: _core.Control | None) -> tuple[int, BoolArray]:
        twice = self._search.row_cover.astype(np.int64) + self._search.column_cover
        chosen = twice == 2
        weight = int(self._weight[chosen].sum())
        half = np.flatnonzero(twice == 1)
        if len(half):
            extra, chosen_half = cover_beyond_relaxation(
                boxes.take(half), self._label[half], self._weight[half], control
            )
            weight += extra
            chosen[half[chosen_half]] = True
        return weight, chosen

    def _all_but_heaviest_class(self) -> BoolArray:
        heaviest = int(np.argmax(np.bincount(self._label, weights=self._weight)))
        return np.asarray(self._label != heaviest)
