"""CSV files as people have them, read with errors that name the column, the line and the value."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood.errors import InvalidInputError
from hardwood.files import read_text

_MISSING = {"", "na", "nan", "null", "none", "?", "n/a"}
_SEPARATORS = ",;\t|"


@dataclass(frozen=True, eq=False)
class CsvTable:
    """A CSV file as text cells; columns become numbers or labels on demand."""

    path: str
    names: tuple[str, ...]
    rows: list[list[str]]
    lines: list[int]

    def __len__(self) -> int:
        return len(self.rows)

    def position(self, name: str) -> int:
        """Return where the column of that name stands."""
        if name not in self.names:
            raise InvalidInputError(f"{self.path} has no column {name!r}; its columns are {', '.join(self.names)}")
        return self.names.index(name)

    def numbers(self, names: Iterable[str], *, allow_missing: bool = False) -> NDArray[np.float64]:
        """Return columns as a float matrix; a cell that is text, not finite or, unless allowed, empty is refused."""
        positions = [self.position(name) for name in names]
        matrix = np.empty((len(self.rows), len(positions)))
        for k, j in enumerate(positions):
            column = [row[j] for row in self.rows]
            if allow_missing:
                column = ["nan" if _is_missing(cell) else cell for cell in column]
            try:
                matrix[:, k] = column
            except ValueError:
                self._refuse_text(column, j)
            bad = np.isinf(matrix[:, k]) if allow_missing else ~np.isfinite(matrix[:, k])
            if bad.any():
                i = int(np.flatnonzero(bad)[0])
                raise InvalidInputError(
                    f"{self.path}, line {self.lines[i]}: column {self.names[j]!r} holds {column[i]!r}; "
                    "every value must be a finite number"
                )
        return matrix

    def mixed(self, names: Iterable[str], categorical: set[str], *, allow_missing: bool = False) -> NDArray[Any]:
        """Return columns as a matrix of objects: text (None where it is missing) in categorical ones, else numbers."""
        chosen = list(names)
        matrix = np.empty((len(self.rows), len(chosen)), dtype=object)
        for k, name in enumerate(chosen):
            if name in categorical:
                j = self.position(name)
                matrix[:, k] = [None if _is_missing(row[j]) else row[j] for row in self.rows]
            else:
                matrix[:, k] = self.numbers([name], allow_missing=allow_missing)[:, 0]
        return matrix

    def _refuse_text(self, column: Sequence[str], j: int) -> None:
        for i, cell in enumerate(column):
            try:
                float(cell)
            except ValueError:
                where = f"{self.path}, line {self.lines[i]}: column {self.names[j]!r}"
                if _is_missing(cell):
                    raise InvalidInputError(
                        f"{where} has no value ({cell!r}); fill in missing values, drop the row or the column, "
                        "or learn with missing values allowed"
                    ) from None
                raise InvalidInputError(
                    f"{where} holds the text {cell!r}, which is not a number; encode it as a number, drop the column, "
                    "or declare it as categorical"
                ) from None

    def labels(self, name: str) -> NDArray[Any]:
        """Return a column as labels: whole numbers where all are, text otherwise."""
        j = self.position(name)
        cells = [row[j] for row in self.rows]
        for i, cell in enumerate(cells):
            if _is_missing(cell):
                raise InvalidInputError(f"{self.path}, line {self.lines[i]}: the target column {name!r} is empty")
        try:
            return np.array([int(cell) for cell in cells], dtype=np.int64)
        except (ValueError, OverflowError):
            return np.array(cells)


def _is_missing(cell: str) -> bool:
    return cell.strip().lower() in _MISSING


def read_csv(path: str | os.PathLike[str]) -> CsvTable:
    """Read a CSV file with a header row; comma, semicolon, tab or bar between cells is found out by itself."""
    text = read_text(path, "CSV file")
    first_line = next((line for line in text.splitlines() if line.strip()), "")
    if not first_line:
        raise InvalidInputError(f"{path} is empty; a CSV file with a header row is needed")
    separator = max(_SEPARATORS, key=first_line.count)
    reader = csv.reader(io.StringIO(text), delimiter=separator)
    names: tuple[str, ...] = ()
    rows: list[list[str]] = []
    lines: list[int] = []
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if not names:
                names = tuple(cell.strip() for cell in cells)
                _check_header(path, names)
                continue
            if len(cells) != len(names):
                raise InvalidInputError(
                    f"{path}, line {reader.line_num}: {len(cells)} cells, but the header has {len(names)} columns"
                )
            rows.append([cell.strip() for cell in cells])
            lines.append(reader.line_num)
    except csv.Error as error:
        raise InvalidInputError(f"{path}, line {reader.line_num}: {error}") from error
    if not rows:
        raise InvalidInputError(f"{path} has a header but no rows")
    return CsvTable(str(path), names, rows, lines)


def _check_header(path: str | os.PathLike[str], names: tuple[str, ...]) -> None:
    for j, name in enumerate(names):
        if not name:
            raise InvalidInputError(f"{path}: column {j + 1} of the header has no name")
        if names.index(name) != j:
            raise InvalidInputError(f"{path}: two columns are called {name!r}")
