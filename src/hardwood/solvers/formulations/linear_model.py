"""A mixed-integer linear model as arrays, put together block by block; what every MILP engine is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardwood.arrays import BoolArray, FloatArray, IntArray
from hardwood.solvers.formulations.encoding import Choice

ABSENT = -1
"""Column number of a term that is left out of its row."""


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Minimise ``cost @ x`` with ``row_lower <= A x <= row_upper``, ``lower <= x <= upper``, some x whole numbers.

    The matrix A is stored by rows: row r has ``value[begin[r]:begin[r + 1]]`` in columns ``column[...]``.
    """

    cost: FloatArray
    lower: FloatArray
    upper: FloatArray
    is_integer: BoolArray
    begin: IntArray
    column: NDArray[np.int32]
    value: FloatArray
    row_lower: FloatArray
    row_upper: FloatArray

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.row_lower)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.cost)

    def violation(self, x: FloatArray) -> float:
        """Return how far a point is from satisfying every row, bound and integrality."""
        activity = np.add.reduceat(np.append(self.value * x[self.column], 0.0), self.begin[:-1])
        activity[np.diff(self.begin) == 0] = 0.0
        fraction = np.abs(x - np.round(x))[self.is_integer]
        return float(
            max(
                (self.row_lower - activity).max(initial=0.0),
                (activity - self.row_upper).max(initial=0.0),
                (self.lower - x).max(initial=0.0),
                (x - self.upper).max(initial=0.0),
                fraction.max(initial=0.0),
            )
        )


class Formulation(Protocol):
    """A linear model of an encoding, with the way from trees to its columns and back."""

    model: LinearModel

    def point(self, choice: Choice) -> FloatArray:
        """Return the values of all columns for a choice."""

    def choice(self, x: FloatArray) -> Choice:
        """Read the choice from the values of the columns; whole numbers are read by rounding."""


class ModelBuilder:
    """Collects columns and rows."""

    def __init__(self) -> None:
        self.n_columns = 0
        self._columns: list[tuple[FloatArray, FloatArray, BoolArray]] = []
        self._rows: list[tuple[IntArray, FloatArray, FloatArray, FloatArray]] = []

    def columns(
        self, *shape: int, lower: ArrayLike = 0.0, upper: ArrayLike = 1.0, is_integer: bool = False
    ) -> IntArray:
        """Add columns, by default between 0 and 1, and return their numbers as an array of that shape."""
        size = int(np.prod(shape))
        self._columns.append(
            (
                np.broadcast_to(np.asarray(lower, dtype=np.float64), shape).ravel(),
                np.broadcast_to(np.asarray(upper, dtype=np.float64), shape).ravel(),
                np.full(size, is_integer),
            )
        )
        self.n_columns += size
        return np.arange(self.n_columns - size, self.n_columns).reshape(shape)

    def rows(
        self,
        column: NDArray[Any],
        value: ArrayLike,
        *,
        lower: ArrayLike = -np.inf,
        upper: ArrayLike = np.inf,
    ) -> None:
        """Add rows.

        Parameters
        ----------
        column : int array of shape (m, k)
            Columns of each row; `ABSENT` terms are left out.
        value : array that broadcasts to (m, k)
            Their coefficients.
        lower, upper : array that broadcasts to (m,)
        """
        m = len(column)
        if m:
            self._rows.append(
                (
                    np.asarray(column, dtype=np.int64),
                    np.broadcast_to(np.asarray(value, dtype=np.float64), column.shape),
                    np.broadcast_to(np.asarray(lower, dtype=np.float64), (m,)),
                    np.broadcast_to(np.asarray(upper, dtype=np.float64), (m,)),
                )
            )

    def build(self, cost_column: IntArray, cost: FloatArray) -> LinearModel:
        """Return the model that minimises ``cost @ x[cost_column]``."""
        lengths, columns, values = [], [], []
        for column, value, _, _ in self._rows:
            present = (column != ABSENT) & (value != 0)
            lengths.append(present.sum(axis=1))
            columns.append(column[present].astype(np.int32))
            values.append(value[present])
        total = np.zeros(self.n_columns)
        total[cost_column] = cost
        return LinearModel(
            cost=total,
            lower=np.concatenate([part[0] for part in self._columns]),
            upper=np.concatenate([part[1] for part in self._columns]),
            is_integer=np.concatenate([part[2] for part in self._columns]),
            begin=np.concatenate([[0], np.cumsum(np.concatenate(lengths))]),
            column=np.concatenate(columns),
            value=np.concatenate(values),
            row_lower=np.concatenate([part[2] for part in self._rows]),
            row_upper=np.concatenate([part[3] for part in self._rows]),
        )
