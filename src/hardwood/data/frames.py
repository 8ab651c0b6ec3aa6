"""From whatever holds a table to a float64 matrix with column names, or an error that names the column."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood.errors import InvalidInputError


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


def as_matrix(X: Any) -> tuple[NDArray[np.float64], tuple[str, ...] | None]:
    """Convert a table to a C-contiguous float64 matrix.

    Parameters
    ----------
    X : array-like or frame of shape (n_samples, n_features)
        Numbers; text that does not read as a number is refused.

    Returns
    -------
    matrix : ndarray of shape (n_samples, n_features)
    names : tuple of str or None
    """
    names = column_names(X)
    if names is not None and not isinstance(X, np.ndarray):
        # By position, since names may repeat.
        columns = [_as_column(X.iloc[:, j] if hasattr(X, "iloc") else X[:, j], j, names) for j in range(len(names))]
        matrix = np.empty((len(X), len(columns)))
        for j, column in enumerate(columns):
            matrix[:, j] = column
    else:
        try:
            matrix = np.ascontiguousarray(X, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidInputError(f"X must be a table of numbers: {error}") from error
    if matrix.ndim != 2:
        raise InvalidInputError(
            f"X must be two-dimensional (samples x features), not of shape {matrix.shape}; "
            "use X.reshape(-1, 1) for one feature or X.reshape(1, -1) for one sample"
        )
    return matrix, names


def _as_column(column: Any, j: int, names: tuple[str, ...]) -> NDArray[np.float64]:
    values = np.asarray(column)
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    result = np.empty(len(values))
    for i, value in enumerate(values):
        try:
            result[i] = np.nan if value is None else float(value)
        except (TypeError, ValueError):
            raise InvalidInputError(
                f"{describe_column(j, names)} holds {value!r} in row {i}, which is not a number; "
                "declare the column in categorical_features, encode text as numbers or drop the column"
            ) from None
    return result


def has_missing(matrix: NDArray[np.float64]) -> bool:
    """Whether some value is NaN; one pass without a temporary of the matrix' size in the usual case."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isnan(matrix.sum()) and np.isnan(matrix).any())


def check_finite(
    matrix: NDArray[np.float64], names: tuple[str, ...] | None, what: str = "X", *, allow_missing: bool = False
) -> None:
    """Raise if the matrix holds an infinite value or, unless allowed, NaN, naming the first such cell."""
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
        + ("" if kind == "infinity" else ", or learn with missing='reachable'")
    )
