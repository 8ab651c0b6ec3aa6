"""Categorical features: tables with text in them as boxes of numbers.

A column with the categories A, B, C becomes three indicator columns, "column = A" and so on: 0 where the value is that
category and 1 where it is another. So a split at 1/2 asks "is it this category?" and its left side is yes. Where an
attacker can change categories, the box of a sample on "column = A" is::

    lower = 0 if the sample can become A, else 1
    upper = 1 if the sample can be anything else than A, else 0

By the one definition of reach a sample then reaches left iff it can become that category and right iff it can be any
other, in every method that works on boxes. Each split is judged by itself: a sample that can be red or blue reaches the
yes side of "= red" and, below it, of "= blue", although no value is both. That errs on the safe side.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from hardwood.arrays import BoolArray, FloatArray, IntArray
from hardwood.attack.domain import EVERY, Limits, whole_columns
from hardwood.attack.entries import position
from hardwood.attack.model import AttackModel
from hardwood.data.frames import EXACT_DOUBLE, Table, as_table, column_names, describe_column
from hardwood.errors import InvalidInputError
from hardwood.plain_data import as_entries, as_items, as_labels, as_texts

MOST_CATEGORIES = 255
"""A column with more is refused: it is a name or a number rather than a category."""
UNKNOWN, MISSING = -1, -2


@dataclass(frozen=True)
class CategoryEncoding:
    """How the columns of a table become numbers.

    Parameters
    ----------
    names : tuple of str or None
        Names of the columns of the table.
    categories : tuple of (tuple or None)
        For each column its categories, or None for a numeric one.
    """

    names: tuple[str, ...] | None
    categories: tuple[tuple[Any, ...] | None, ...]

    @classmethod
    def fit(cls, X: Any, categorical_features: Any, names: tuple[str, ...] | None = None) -> CategoryEncoding | None:
        """Find the categories of a table; None if it has no categorical column.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        categorical_features : "from_dtype", sequence of names or indices, or None
            ``"from_dtype"`` takes the columns of a frame whose type is categorical.
        names : tuple of str or None
            Names of the columns, where X does not carry them itself.
        """
        names = column_names(X) if names is None else names
        chosen = _chosen_columns(X, categorical_features, names)
        if not chosen:
            return None
        width = _width(X)
        return cls(
            names,
            tuple(_categories(_cells(X, j), j, names) if j in chosen else None for j in range(width)),
        )

    @property
    def n_columns(self) -> int:
        """Number of columns of the table."""
        return len(self.categories)

    @cached_property
    def source(self) -> IntArray:
        """Column of the table that each number comes from."""
        counts = [1 if categories is None else len(categories) for categories in self.categories]
        return np.repeat(np.arange(self.n_columns), counts)

    @cached_property
    def tests(self) -> tuple[tuple[int, Any] | None, ...]:
        """For each number the column and category that it tests, or None for a number of the table itself."""
        found: list[tuple[int, Any] | None] = []
        for j, categories in enumerate(self.categories):
            found += [None] if categories is None else [(j, category) for category in categories]
        return tuple(found)

    @property
    def n_features(self) -> int:
        """Number of numbers per sample."""
        return len(self.tests)

    def column_name(self, j: int) -> str:
        """How column ``j`` of the table is called."""
        return self.names[j] if self.names is not None else f"x[{j}]"

    @cached_property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the numbers, such as "colour = red"."""
        return tuple(
            self.column_name(int(j)) if test is None else f"{self.column_name(test[0])} = {test[1]}"
            for j, test in zip(self.source, self.tests, strict=True)
        )

    def encode(self, X: Any) -> FloatArray:
        """Turn a table into numbers; see `encode_table`."""
        return self.encode_table(X).values

    def encode_table(self, X: Any) -> Table:
        """Turn a table into numbers; a missing category is NaN, one that is not known is none of the known ones."""
        names = column_names(X)
        if _width(X) != self.n_columns:
            raise InvalidInputError(f"X has {_width(X)} features, but the tree was learned on {self.n_columns}")
        if names is not None and self.names is not None and names != self.names:
            raise InvalidInputError(
                f"the columns of X are {', '.join(map(repr, names))}; the tree was learned on "
                f"{', '.join(map(repr, self.names))}"
            )
        numeric = [j for j, categories in enumerate(self.categories) if categories is None]
        numbers = _numbers(X, numeric, self.names)
        matrix = np.empty((len(X), self.n_features))
        rounding = np.repeat(EXACT_DOUBLE, self.n_features, axis=1)
        for j, categories in enumerate(self.categories):
            columns = self.source == j
            if categories is None:
                matrix[:, columns] = numbers.values[:, [numeric.index(j)]]
                rounding[:, columns] = numbers.rounding[:, [numeric.index(j)]]
            else:
                code = _codes(_cells(X, j), categories)
                matrix[:, columns] = np.where(code[:, None] == np.arange(len(categories)), 0.0, 1.0)
                matrix[code == MISSING, np.flatnonzero(columns)[0] : np.flatnonzero(columns)[-1] + 1] = np.nan
        return Table(matrix, self.feature_names, rounding)

    def fit_attack(self, attack: AttackModel, matrix: FloatArray) -> AttackModel:
        """Turn fractions of the range into units of the data; categories have no range."""
        if attack.domain.integer == "auto":
            attack = replace(attack, domain=replace(attack.domain, integer=self._whole_columns(matrix)))
        if attack.by_class is not None:
            return replace(
                attack, by_class=tuple((label, self.fit_attack(model, matrix)) for label, model in attack.by_class)
            )
        self._check_attack(attack)
        if not attack.is_relative:
            return attack
        is_categorical = [categories is not None for categories in self.categories]
        table = matrix[:, [int(np.flatnonzero(self.source == j)[0]) for j in range(self.n_columns)]]
        fitted = attack.fit(table, self.names)
        free = self._free_columns(attack)
        return replace(
            fitted,
            features=tuple(
                (j, (math.inf, math.inf) if j in free else (0.0, 0.0)) if is_categorical[int(j)] else (j, reach)
                for j, reach in fitted.features
            ),
        )

    def _whole_columns(self, matrix: FloatArray) -> tuple[int, ...]:
        """Return the columns of numbers that hold nothing but whole ones."""
        is_number = np.array([test is None for test in self.tests])
        return tuple(int(j) for j in self.source[is_number & whole_columns(matrix)])

    def _check_attack(self, attack: AttackModel) -> None:
        named: dict[int, Any] = dict(attack.named(self.n_columns, self.names))
        for j, entry in named.items():
            categories = self.categories[j]
            is_reach = _is_reach(entry)
            if categories is None:
                if not is_reach:
                    raise InvalidInputError(
                        f"the attack says what categories of {self.column_name(j)!r} may be changed to, "
                        "but that feature is numeric; declare it in categorical_features"
                    )
            elif is_reach and entry not in ((0.0, 0.0), (math.inf, math.inf)):
                raise InvalidInputError(
                    f"the attack on the categorical feature {self.column_name(j)!r} is a radius; say which categories "
                    "a value may be changed to, '<>' for any or '' for none"
                )
            elif not is_reach:
                for source, targets in entry:
                    for category in (*targets, *(() if source is None else (source,))):
                        if category not in categories:
                            raise InvalidInputError(
                                f"the attack names the category {category!r} of {self.column_name(j)!r}; its "
                                f"categories are {', '.join(map(repr, categories))}"
                            )

    def _free_columns(self, attack: AttackModel) -> set[int]:
        """Return the categorical columns that the attacker can change to anything."""
        named = attack.named(self.n_columns, self.names)
        everything = (math.inf, math.inf)
        return {
            j
            for j, categories in enumerate(self.categories)
            if categories is not None and named.get(j, attack.default) == everything
        }

    def reach(
        self, matrix: FloatArray, attack: AttackModel, classes: Sequence[Any], group: IntArray
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return what the attacker can do to encoded samples, as `hardwood.problem.boxes.ends_under_attack` takes it.

        Parameters
        ----------
        matrix : float array of shape (n_samples, n_features)
            Without missing values: these are filled in by whoever allows them.
        attack : AttackModel
        classes : sequence
            One label per row of the answer's `down` and `up`.
        group : int array of shape (n_samples,)
            Row that applies to each sample.

        Returns
        -------
        low, high : float array of shape (n_samples, n_features)
            The samples with their categories already moved as far as they can.
        down, up : float array of shape (n_groups, n_features)
            Reach on the numeric features.
        """
        low, high = matrix.copy(), matrix.copy()
        down, up = np.zeros((len(classes), self.n_features)), np.zeros((len(classes), self.n_features))
        is_number = np.array([test is None for test in self.tests])
        for row, label in enumerate(classes):
            model = attack.for_class(label)
            self._check_attack(model)
            one_down, one_up = replace(model, moves=()).reach(self.n_columns, self.names)
            down[row, is_number] = one_down[0, self.source[is_number]]
            up[row, is_number] = one_up[0, self.source[is_number]]
            samples = np.flatnonzero(group == row)
            for j, categories in enumerate(self.categories):
                if categories is None:
                    continue
                cells = np.ix_(samples, np.flatnonzero(self.source == j))
                here = matrix[cells]
                code = np.where((here == 0).any(axis=1), here.argmin(axis=1), len(categories))
                can_be = self.can_become(model, j)[code]
                others = can_be.sum(axis=1, keepdims=True) - can_be[:, :-1]
                low[cells] = np.where(can_be[:, :-1], 0.0, 1.0)
                high[cells] = np.where(others > 0, 1.0, 0.0)
        return low, high, down, up

    def limits(self, attack: AttackModel) -> Limits | None:
        """Return which features are whole numbers and between which bounds they lie; categories have neither."""
        by_column = attack.limits(self.n_columns, self.names)
        if by_column is None:
            return None
        for key in (*attack.domain.integer, *(key for key, _ in (*attack.domain.minimum, *attack.domain.maximum))):
            if key != EVERY and self.categories[position(key, self.n_columns, self.names)] is not None:
                raise InvalidInputError(
                    f"feature {key!r} is categorical; only numbers can be declared whole numbers or have bounds"
                )
        return by_column.take(self.source, np.array([test is None for test in self.tests]))

    def can_become(self, attack: AttackModel, j: int) -> BoolArray:
        """Return what the attacker can make of each category of a column.

        Rows and columns are the categories and, last, all that are not among them. `attack` is that on one class.
        """
        categories = self.categories[j]
        assert categories is not None
        can_be = np.eye(len(categories) + 1, dtype=bool)
        named = attack.named(self.n_columns, self.names)
        if j in self._free_columns(attack):
            can_be[:] = True
        elif j in named and not _is_reach(named[j]):
            moves: Any = named[j]
            for source, targets in moves:
                rows = slice(None) if source is None else categories.index(source)
                can_be[rows, [categories.index(target) for target in targets]] = True
        return can_be

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "names": None if self.names is None else list(self.names),
            "categories": [None if categories is None else list(categories) for categories in self.categories],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> CategoryEncoding:
        """Inverse of `to_dict`; anything else is refused."""
        where = "the encoding of categories"
        data = as_entries(data, where, ("names", "categories"))
        columns = as_items(data["categories"], f"categories of {where}")
        names = data["names"]
        return cls(
            None if names is None else as_texts(names, f"names of {where}", len(columns)),
            tuple(None if column is None else cls._stored_categories(column, j) for j, column in enumerate(columns)),
        )

    @staticmethod
    def _stored_categories(column: Any, j: int) -> tuple[Any, ...]:
        found = as_labels(column, f"the categories of column {j}")
        if len(found) > MOST_CATEGORIES:
            raise InvalidInputError(
                f"column {j} has {len(found)} categories, more than the {MOST_CATEGORIES} it may have"
            )
        return tuple(found)


def _is_reach(entry: Any) -> bool:
    """Whether an entry of an attack is a pair of radii rather than moves between categories."""
    return len(entry) == 2 and all(isinstance(value, float) for value in entry)


def _chosen_columns(X: Any, categorical_features: Any, names: tuple[str, ...] | None) -> set[int]:
    if categorical_features is None:
        return set()
    if isinstance(categorical_features, str):
        if categorical_features != "from_dtype":
            raise InvalidInputError(
                f"categorical_features={categorical_features!r}; give names or indices of columns, 'from_dtype' or None"
            )
        return {j for j, kind in enumerate(getattr(X, "dtypes", [])) if str(kind).split("(")[0] in _CATEGORICAL_TYPES}
    if not isinstance(categorical_features, Iterable):
        raise InvalidInputError(f"categorical_features={categorical_features!r}; give names or indices of columns")
    chosen = set()
    for key in categorical_features:
        if isinstance(key, str):
            if names is None or key not in names:
                known = "has no column names" if names is None else f"has the columns {', '.join(map(repr, names))}"
                raise InvalidInputError(f"categorical_features names {key!r}; X {known}")
            chosen.add(names.index(key))
        elif isinstance(key, int | np.integer) and not isinstance(key, bool) and 0 <= key < _width(X):
            chosen.add(int(key))
        else:
            raise InvalidInputError(f"categorical_features names {key!r}; X has {_width(X)} columns, counted from 0")
    return chosen


_CATEGORICAL_TYPES = {"category", "Categorical", "Enum"}


def _width(X: Any) -> int:
    shape = np.shape(X) if not hasattr(X, "shape") else X.shape
    if len(shape) != 2:
        raise InvalidInputError(f"X must be two-dimensional (samples x features), not of shape {shape}")
    return int(shape[1])


def _cells(X: Any, j: int) -> list[Any]:
    if hasattr(X, "iloc"):
        return list(X.iloc[:, j].astype(object))
    column = X[:, j] if hasattr(X, "shape") else [row[j] for row in X]
    return column.to_list() if hasattr(column, "to_list") else list(column)


def _numbers(X: Any, columns: list[int], names: tuple[str, ...] | None) -> Table:
    if not columns:
        return Table(np.empty((len(X), 0)), None, np.empty((2, 0)))
    if hasattr(X, "iloc"):
        return as_table(X.iloc[:, columns])
    if column_names(X) is not None or getattr(getattr(X, "dtype", None), "kind", "") == "f":
        return as_table(X[:, columns])
    cells = np.array([[row[j] for j in columns] for row in X], dtype=object)
    result = np.empty(cells.shape)
    for k, j in enumerate(columns):
        for i, value in enumerate(cells[:, k]):
            try:
                result[i, k] = np.nan if value is None else float(value)
            except (TypeError, ValueError):
                raise InvalidInputError(
                    f"{describe_column(j, names)} holds {value!r} in row {i}, which is not a number; "
                    "declare it in categorical_features or drop the column"
                ) from None
    return Table(result, None, np.repeat(EXACT_DOUBLE, len(columns), axis=1))


def _plain(value: Any) -> Any:
    """Return a category as a plain value; None where it is missing."""
    if value is None or type(value).__name__ == "NAType" or value != value:
        return None
    return value.item() if isinstance(value, np.generic) else value


def _categories(cells: list[Any], j: int, names: tuple[str, ...] | None) -> tuple[Any, ...]:
    found = {_plain(cell) for cell in cells} - {None}
    where = describe_column(j, names)
    kinds = {type(category) for category in found}
    if not kinds <= {str} and not kinds <= {bool, int, float}:
        named = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise InvalidInputError(f"{where} mixes categories of different types ({named}); use text or numbers")
    if len(found) > MOST_CATEGORIES:
        raise InvalidInputError(
            f"{where} has {len(found)} different values, more than the {MOST_CATEGORIES} categories a column may have"
        )
    if not found:
        raise InvalidInputError(f"{where} has no value at all")
    return tuple(sorted(found))


def _codes(cells: list[Any], categories: tuple[Any, ...]) -> IntArray:
    code_of = {category: code for code, category in enumerate(categories)}
    plain = [_plain(cell) for cell in cells]
    return np.array([MISSING if cell is None else code_of.get(cell, UNKNOWN) for cell in plain], dtype=np.int64)
