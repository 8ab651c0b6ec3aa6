"""The lightest cover and the largest packing of a bipartite conflict graph whose edges need not fit in memory.

By linear programming duality the weight of any packing of conflicts (pairs that cannot both be right, each sample
used up to its weight) is at most the weight of any cover (a set of samples that touches every conflict). A maximum
flow gives both at equal weight. `CoverSearch` computes it on some of the edges only: a cover of those is tested
against the whole graph, the conflicts it misses are added, and the flow grows from where it stood. When nothing is
missed, packing and cover prove each other optimal for the whole graph. The same step serves a sequence of similar
graphs (growing radii, one feature changed): edges that still hold are kept with their flow.
"""

from __future__ import annotations

import numpy as np

from hardwood import _core
from hardwood.arrays import Int32Array, IntArray
from hardwood.bounds.conflict_index import ConflictIndex

MEMORY_LIMIT = 2 * 2**30
"""Bytes that the edges of a `CoverSearch` may take by default."""

_BYTES_PER_EDGE = 64
_FIRST_LIMIT = 8
_GROWTH = 2


class CoverSearch:
    """Minimum-weight vertex cover of a bipartite graph by maximum flow, with edges found as needed.

    Parameters
    ----------
    row_weight, column_weight : int array
        Weights of the two sides.
    memory_limit : int
        Bytes that edges may take. When they are used up, `complete` is False: `packing_weight` is still a valid
        lower bound on the weight of every cover, but `row_cover` and `column_cover` miss some conflicts.
    """

    def __init__(self, row_weight: IntArray, column_weight: IntArray, memory_limit: int = MEMORY_LIMIT) -> None:
        self._row_weight, self._column_weight = row_weight, column_weight
        self._row_left, self._column_left = row_weight.copy(), column_weight.copy()
        self.row = np.empty(0, np.int32)
        self.column = np.empty(0, np.int32)
        self.flow = np.empty(0, np.int64)
        # What weighs nothing may be given up at once.
        self.row_cover = row_weight == 0
        self.column_cover = column_weight == 0
        self.complete = False
        self._max_edges = max(memory_limit // _BYTES_PER_EDGE, 1)

    @property
    def packing_weight(self) -> int:
        """Weight of the packing: the sum of the flow."""
        return int(self._row_weight.sum() - self._row_left.sum())

    def copy(self) -> CoverSearch:
        """Return an independent copy."""
        twin = object.__new__(CoverSearch)
        twin.__dict__.update(self.__dict__)
        for name in ("_row_left", "_column_left", "flow", "row_cover", "column_cover"):
            setattr(twin, name, getattr(self, name).copy())
        return twin

    def solve(self, index: ConflictIndex, *, grown: bool = False, control: _core.Control | None = None) -> None:
        """Find cover and packing of the graph of `index`, starting from what the last graph left behind.

        Say `grown` if all edges of the last graph are known to be edges of this one. Where `control` stops it, it is
        as if memory had run out: `complete` is False, `packing_weight` a valid bound.
        """
        if not grown:
            self._drop_edges_that_do_not_hold(index, control)
        self.complete = False
        limit = _FIRST_LIMIT
        while self.packing_weight < min(self._row_weight.sum(), self._column_weight.sum()):
            rows = np.flatnonzero(~self.row_cover).astype(np.int32)
            room = self._max_edges - len(self.row)
            if room <= 0:
                return
            limit = max(1, min(limit, room // max(len(rows), 1)))
            row, column = index.find(rows, ~self.column_cover, limit, control)
            if control is not None and control.stopped:
                return
            if len(row) == 0:
                self.complete = True
                return
            self._add_edges(row[:room], column[:room])
            if not self._grow_flow(control):
                return
            limit *= _GROWTH
        self._cover_a_full_side()
        self.complete = True

    def _cover_a_full_side(self) -> None:
        """Cover with the side whose every vertex is used up."""
        full = int(self._row_left.sum()) == 0
        self.row_cover[:] = full
        self.column_cover[:] = not full

    def _drop_edges_that_do_not_hold(self, index: ConflictIndex, control: _core.Control | None) -> None:
        holds = index.holds(self.row, self.column)
        if holds.all():
            return
        lost = ~holds & (self.flow > 0)
        np.add.at(self._row_left, self.row[lost], self.flow[lost])
        np.add.at(self._column_left, self.column[lost], self.flow[lost])
        self.row, self.column, self.flow = self.row[holds], self.column[holds], self.flow[holds]
        self._grow_flow(control)

    def _add_edges(self, row: Int32Array, column: Int32Array) -> None:
        self.row = np.concatenate([self.row, row])
        self.column = np.concatenate([self.column, column])
        self.flow = np.concatenate([self.flow, np.zeros(len(row), np.int64)])

    def _grow_flow(self, control: _core.Control | None) -> bool:
        """Make the flow maximum and cover with its minimum cut; False if the control stopped it before."""
        row_reached, column_reached, finished = _core.grow_flow(
            self.row, self.column, self.flow, self._row_left, self._column_left, control
        )
        self.row_cover, self.column_cover = ~row_reached, column_reached | (self._column_weight == 0)
        return finished
