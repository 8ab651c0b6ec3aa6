"""From a table and labels, as somebody has them, to numbers and class codes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardwood.arrays import FloatArray, IntArray
from hardwood.attack.model import AttackModel
from hardwood.data.categories import CategoryEncoding
from hardwood.data.frames import Table, as_table, check_finite, has_missing
from hardwood.data.labels import as_labels
from hardwood.errors import InvalidInputError

MISSING_CHOICES = ("error", "reachable")


class LabelledTable(NamedTuple):
    """A table of numbers, how its categories became features, and its labels as codes."""

    table: Table
    encoding: CategoryEncoding | None
    classes: NDArray[Any]
    label: IntArray


def read_samples(
    X: Any,
    y: Any,
    categorical_features: Any,
    feature_names: tuple[str, ...] | None,
    allow_missing: bool,
    may_share: bool,
) -> LabelledTable:
    """Read a table and its labels, and refuse what nothing can be learned from.

    The table's numbers are nobody else's, but for `may_share`: then they may be the memory of X.
    """
    table, encoding = read_features(X, categorical_features, feature_names)
    if table.shape[0] == 0 or table.shape[1] == 0:
        raise InvalidInputError(f"X has the shape {table.shape}: at least one sample and one feature are needed")
    # A table that was read before may hold what its owner still writes to.
    if isinstance(X, Table) or table.values is X or table.values.base is not None:
        table = replace(table, values=table.values.view() if may_share else table.values.copy())
    check_finite(table.values, table.names, allow_missing=allow_missing)
    classes, label = np.unique(as_labels(y, len(table)), return_inverse=True)
    if len(classes) < 2:
        raise InvalidInputError(
            f"all samples are of one class ({classes.tolist()[0]!r}); at least two classes are needed to learn a tree"
        )
    return LabelledTable(table, encoding, classes, label.astype(np.int64))


def allows_missing(missing: str) -> bool:
    """Whether missing values are let through; an error if the choice is none."""
    if missing not in MISSING_CHOICES:
        raise InvalidInputError(f"missing={missing!r}; it must be 'error' or 'reachable'")
    return missing == "reachable"


def read_features(
    X: Any, categorical_features: Any, feature_names: tuple[str, ...] | None
) -> tuple[Table, CategoryEncoding | None]:
    """Read a table as the features that trees split on, and how its categories became features."""
    encoding = (
        categorical_features
        if isinstance(categorical_features, CategoryEncoding)
        else CategoryEncoding.fit(X, categorical_features, feature_names)
    )
    if encoding is not None:
        return encoding.encode_table(X), encoding
    table = as_table(X)
    return table if feature_names is None else replace(table, names=feature_names), None


def fit_attack(
    attack: Any, matrix: FloatArray, names: tuple[str, ...] | None, encoding: CategoryEncoding | None = None
) -> AttackModel:
    """Return the attack in the units of the data."""
    model = AttackModel.parse(attack)
    return model.fit(matrix, names) if encoding is None else encoding.fit_attack(model, matrix)


def without_gaps(matrix: FloatArray) -> FloatArray:
    """Return the matrix with each missing value replaced by the median of its feature."""
    if not has_missing(matrix):
        return matrix
    filled = matrix.copy()
    for j in np.flatnonzero(np.isnan(matrix).any(axis=0)):
        present = matrix[~np.isnan(matrix[:, j]), j]
        filled[np.isnan(matrix[:, j]), j] = _median(present) if len(present) else 0.0
    return filled


def _median(values: FloatArray) -> float:
    """Return the median, a number also where the sum of the two in the middle is none."""
    middle = np.sort(values)[(len(values) - 1) // 2 : len(values) // 2 + 1]
    return float((middle / len(middle)).sum())
