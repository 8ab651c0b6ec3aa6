"""From whatever holds a table to a float64 matrix with column names, or an error that names the column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood.arrays import BoolArray, FloatArray, IntArray
from hardwood.errors import InvalidInputError

EXACT_DOUBLE: FloatArray = np.array([[np.finfo(np.float64).eps], [np.finfo(np.float64).smallest_subnormal]])
"""The rounding of float64, for any number of features; see `Table`."""

_COARSE_TYPES: dict[str, type[np.floating[Any]]] = {
    "float32": np.float32,
    "float[pyarrow]": np.float32,
    "float16": np.float16,
    "halffloat[pyarrow]": np.float16,
}


@dataclass(frozen=True, eq=False)
class Table:
    """A table of numbers, read.

    Attributes
    ----------
    values : C-contiguous float array of shape (n_samples, n_features)
    names : tuple of str or None
    rounding : float array of shape (2, n_features)
        To what the numbers of each feature were rounded before they came here: the relative spacing of their type
        (2⁻⁵² for float64, 2⁻²³ for float32) and its least spacing.
    """

    values: FloatArray
    names: tuple[str, ...] | None
    rounding: FloatArray

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names, as frames call them."""
        return self.names

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the values."""
        return self.values.shape

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: BoolArray | IntArray) -> Table:
        """Return some of the rows."""
        return Table(self.values[rows], self.names, self.rounding)


def rounding_of(X: Any, n_features: int) -> FloatArray:
    """Return the relative and the least spacing of the types of a table's columns, see `Table`.

    What is not a coarser type of floats counts as float64.
    """
    if isinstance(X, Table):
        return X.rounding
    dtypes = list(X.dtypes) if hasattr(X, "columns") and hasattr(X, "dtypes") else [getattr(X, "dtype", None)]
    infos = [np.finfo(_COARSE_TYPES.get(str(dtype).lower(), np.float64)) for dtype in dtypes]
    spacing = np.array([[float(info.eps), float(info.smallest_subnormal)] for info in infos]).T
    return np.ascontiguousarray(np.broadcast_to(spacing, (2, n_features)))


def is_plain_matrix(X: Any, n_features: int) -> bool:
    """Whether a table is an array of float64 numbers with rows and so many columns, and nothing else."""
    return type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and len(X) > 0 and X.shape[1] == n_features


def column_names(X: Any) -> tuple[str, ...] | None:
    """Column names of a pandas or polars frame; None where there are none or not all are strings."""
    columns = getattr(X, "columns", None)
    if columns is None:
        return None
    names = list(columns)
    return tuple(names) if all(isinstance(name, str) for name in names) else None


def describe_column(j: int, names: tuple[str, ...] | None) -> str:
    """How messages call column ``j``: by name where there is one."""
    return f"column {names[j]!r}" if names is not None else f"column {j}"


def as_table(X: Any) -> Table:
    """Read a table of numbers.

    Parameters
    ----------
    X : array-like or frame of shape (n_samples, n_features)
        Numbers; text that does not read as a number is refused, and so are dates.
    """
    if isinstance(X, Table):
        return X
    check_is_table(X)
    names = column_names(X)
    if hasattr(X, "columns") and not isinstance(X, np.ndarray):
        # By position, since names may repeat.
        columns = [X.iloc[:, j] if hasattr(X, "iloc") else X[:, j] for j in range(len(list(X.columns)))]
        matrix = np.empty((len(X), len(columns)))
        for j, column in enumerate(columns):
            matrix[:, j] = _as_column(column, j, names)
    else:
        try:
            cells = np.asarray(X)
            _refuse_dates(cells, "X")
            matrix = np.ascontiguousarray(cells, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidInputError(f"X must be a table of numbers: {error}") from error
    if matrix.ndim != 2:
        raise InvalidInputError(
            f"X must be two-dimensional (samples x features), not of shape {matrix.shape}; "
            "use X.reshape(-1, 1) for one feature or X.reshape(1, -1) for one sample"
        )
    return Table(matrix, names, rounding_of(X, matrix.shape[1]))


def as_matrix(X: Any) -> tuple[FloatArray, tuple[str, ...] | None]:
    """Convert a table to a C-contiguous float64 matrix and the names of its columns; see `as_table`."""
    table = as_table(X)
    return table.values, table.names


def check_is_table(X: Any) -> None:
    """Raise if X can be no table of numbers, before anybody tries to make one of it."""
    if hasattr(X, "toarray"):
        raise InvalidInputError(f"X is sparse ({type(X).__name__}); it must be a dense table: use X.toarray()")
    if X is None or isinstance(X, str | bytes | Mapping | set):
        raise InvalidInputError(
            f"X is {'None' if X is None else f'a {type(X).__name__}'}; it must be a table of numbers: "
            "a two-dimensional array, a list of rows or a frame"
        )
    if isinstance(X, np.ma.MaskedArray):
        raise InvalidInputError(
            "X is a masked array; replace masked values by NaN (X.filled(np.nan)) and learn with missing='reachable'"
        )
    if isinstance(X, np.ndarray) and X.dtype.kind in "mM":
        _refuse_dates(X, "X")


def _refuse_dates(values: NDArray[Any], where: str) -> None:
    kinds = {"m": "durations", "M": "dates", "c": "complex numbers"}
    if values.dtype.kind in kinds:
        raise InvalidInputError(
            f"{where} holds {kinds[values.dtype.kind]} ({values.dtype}), not numbers; turn them into numbers in a unit "
            "that the attack can be given in"
        )


def _as_column(column: Any, j: int, names: tuple[str, ...] | None) -> FloatArray:
    values = np.asarray(column)
    _refuse_dates(values, describe_column(j, names))
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    result = np.empty(len(values))
    for i, value in enumerate(values):
        try:
            result[i] = np.nan if value is None or type(value).__name__ == "NAType" else float(value)
        except (TypeError, ValueError):
            raise InvalidInputError(
                f"{describe_column(j, names)} holds {value!r} in row {i}, which is not a number; "
                "declare the column in categorical_features, encode text as numbers or drop the column"
            ) from None
    return result


def has_missing(matrix: FloatArray) -> bool:
    """Whether some value is NaN; one pass without a temporary of the matrix' size in the usual case."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isnan(matrix.sum()) and np.isnan(matrix).any())


def check_finite(
    matrix: FloatArray,
    names: tuple[str, ...] | None,
    what: str = "X",
    *,
    allow_missing: bool = False,
    could_allow: bool = True,
) -> None:
    """Raise if the matrix holds an infinite value or, unless allowed, NaN, naming the first such cell.

    Whoever `could_allow` missing values is told how.
    """
    # One pass without a temporary of the matrix' size in the usual, clean case.
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(matrix.sum()):
            return
    bad = np.isinf(matrix) if allow_missing else ~np.isfinite(matrix)
    if not bad.any():
        return
    i, j = np.argwhere(bad)[0]
    kind = "NaN" if np.isnan(matrix[i, j]) else "infinity"
    raise InvalidInputError(
        f"Input {what} contains {kind} in {describe_column(int(j), names)}, row {i} "
        f"({int(bad.sum())} such cells in all); fill in or drop missing and infinite values first"
        + (", or learn with missing='reachable'" if kind == "NaN" and could_allow else "")
    )
