"""Who meets whom: an index of boxes that answers for many boxes at a time, without a matrix of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hardwood import _core
from hardwood.arrays import BoolArray, Int32Array, IntArray


@dataclass(frozen=True, eq=False)
class RankedBoxes:
    """Boxes as ranks of their ends, one row per vertex."""

    lower: Int32Array
    upper: Int32Array

    def take(self, rows: IntArray) -> RankedBoxes:
        """Return some of the boxes; neighbours, in order, are not copied."""
        if len(rows) and rows[-1] - rows[0] == len(rows) - 1 and (np.diff(rows) == 1).all():
            span = slice(int(rows[0]), int(rows[-1]) + 1)
            return RankedBoxes(self.lower[span], self.upper[span])
        return RankedBoxes(self.lower[rows], self.upper[rows])


class ConflictIndex:
    """Answers which columns (boxes) the box of a row meets, among those of another class.

    Parameters
    ----------
    rows, columns : RankedBoxes
        Two sets of boxes, ranked together. They may be the same.
    row_label, column_label : int array
        Classes; a row never conflicts with a column of its class.
    """

    def __init__(self, rows: RankedBoxes, columns: RankedBoxes, row_label: IntArray, column_label: IntArray) -> None:
        self._rows, self._columns = rows, columns
        # One set of admissible columns per class of the rows: all columns of other classes.
        row_classes, mask = np.unique(row_label, return_inverse=True)
        self._row_mask = mask.astype(np.int32)
        self._other_class = column_label != row_classes[:, None]

    @cached_property
    def _boxes(self) -> _core.BoxIndex:
        return _core.BoxIndex(self._rows.lower, self._rows.upper, self._columns.lower, self._columns.upper)

    def find(
        self, rows: Int32Array, allowed: BoolArray, limit: int | None = None, control: _core.Control | None = None
    ) -> tuple[Int32Array, Int32Array]:
        """Conflicts of these rows with allowed columns, at most `limit` per row and per column, as two arrays.

        Where the control stops it, these are some of them.
        """
        if len(rows) == 0 or not allowed.any():
            return np.empty(0, np.int32), np.empty(0, np.int32)
        admissible = self._other_class & allowed
        count, column, _ = self._boxes.find(rows, self._row_mask, admissible, limit, control=control)
        return np.repeat(rows, count), column

    def count(self, rows: Int32Array, allowed: BoolArray, control: _core.Control | None = None) -> IntArray:
        """Count the conflicts of each of these rows with allowed columns; where the control stops it, some."""
        if len(rows) == 0 or not allowed.any():
            return np.zeros(len(rows), np.int64)
        return self._boxes.find(rows, self._row_mask, self._other_class & allowed, listed=False, control=control)[0]

    def holds(self, row: Int32Array, column: Int32Array) -> BoolArray:
        """Whether each listed pair of a row and a column meets."""
        return _core.pairs_meet(
            self._rows.lower, self._rows.upper, row, self._columns.lower, self._columns.upper, column
        )
