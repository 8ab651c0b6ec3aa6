"""CSV files as people have them, read with errors that name the column, the line and the value."""

from __future__ import annotations

import csv
import difflib
import io
import os
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood.arrays import FloatArray
from hardwood.errors import InvalidInputError
from hardwood.files import read_bytes, with_plain_newlines

_MISSING = {"", "na", "nan", "null", "none", "?", "n/a"}
_BOOLEANS = {"true": "1", "false": "0"}
"""True is 1 and False is 0, as in Python."""
SEPARATORS = ",;\t|"
"""What separates cells, as far as it is found out by itself."""
_COMPRESSED = {
    "gzip": b"\x1f\x8b",
    "zip": b"PK\x03\x04",
    "bzip2": b"BZh91AY&SY",
    "xz": b"\xfd7zXZ\0",
    "zstd": b"(\xb5/\xfd",
}
_NAMES_OF_SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|", "space": " "}
_WITH_COMMA = re.compile(r"[+-]?(\d+(,\d*)?|,\d+)([eE][+-]?\d+)?")
_ROWS_LOOKED_AT = 1000
"""How many rows are enough to tell how decimals are written."""


@dataclass(frozen=True)
class CsvFormat:
    """How a file is written.

    Attributes
    ----------
    separator : str
        What stands between cells.
    decimal : {".", ","}
        What stands before the decimals of a number.
    encoding : str
    guessed : tuple of str
        What was found out and is not as one would expect, in words, with the option that says otherwise.
    missing_as : frozenset of str
        Cells that mean a missing value, besides empty ones, NA, NaN, null, none, n/a and ``?``.
    """

    separator: str = ","
    decimal: str = "."
    encoding: str = "utf-8"
    guessed: tuple[str, ...] = ()
    missing_as: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class CsvTable:
    """A CSV file as text cells; columns become numbers or labels on demand."""

    path: str
    names: tuple[str, ...]
    rows: list[list[str]]
    lines: list[int]
    format: CsvFormat = CsvFormat()

    def __len__(self) -> int:
        return len(self.rows)

    def position(self, name: str) -> int:
        """Return where the column of that name stands."""
        if name not in self.names:
            near = difflib.get_close_matches(name.lower(), [known.lower() for known in self.names], 1)
            meant = next((known for known in self.names if [known.lower()] == near), None)
            hint = "" if meant is None else f" (do you mean {meant!r}?)"
            raise InvalidInputError(
                f"{self.path} has no column {name!r}{hint}; its columns are {', '.join(self.names)}"
            )
        return self.names.index(name)

    def cells(self, name: str) -> list[str]:
        """Return a column as text, empty where a cell was said to mean a missing value."""
        j = self.position(name)
        if not self.format.missing_as:
            return [row[j] for row in self.rows]
        return ["" if row[j].strip() in self.format.missing_as else row[j] for row in self.rows]

    def as_numbers(self, cells: Sequence[str]) -> FloatArray | None:
        """Return cells as numbers, NaN where they are missing, 1 and 0 for true and false; None if some are text."""
        present = ["nan" if is_missing(cell) else cell for cell in cells]
        if self.format.decimal == ",":
            # A point is no part of such a number: 1.234 might be a thousand or one.
            present = [cell.replace(",", ".") if "." not in cell else f"{cell} has a point" for cell in present]
        try:
            # Python reads 2024_1 as 20241; who writes such a thing means a name.
            if not any("_" in cell for cell in present):
                return np.array(present, dtype=np.float64)
        except (ValueError, OverflowError):
            pass
        try:
            return np.array([np.nan if cell == "nan" else float(_BOOLEANS[cell.lower()]) for cell in present])
        except KeyError:
            return None

    def numbers(self, names: Iterable[str], *, allow_missing: bool = False) -> FloatArray:
        """Return columns as a float matrix; a cell that is text, not finite or, unless allowed, empty is refused."""
        chosen = list(names)
        matrix = np.empty((len(self.rows), len(chosen)))
        for k, name in enumerate(chosen):
            cells = self.cells(name)
            values = self.as_numbers(cells)
            if values is None:
                self._refuse_text(cells, name)
            matrix[:, k] = values
            bad = np.isinf(matrix[:, k]) if allow_missing else ~np.isfinite(matrix[:, k])
            if bad.any():
                self._refuse_cell(int(np.flatnonzero(bad)[0]), name)
        return matrix

    def mixed(self, names: Iterable[str], categorical: set[str], *, allow_missing: bool = False) -> NDArray[Any]:
        """Return columns as a matrix of objects: text (None where it is missing) in categorical ones, else numbers."""
        chosen = list(names)
        matrix = np.empty((len(self.rows), len(chosen)), dtype=object)
        for k, name in enumerate(chosen):
            if name in categorical:
                matrix[:, k] = [None if is_missing(cell) else cell for cell in self.cells(name)]
            else:
                matrix[:, k] = self.numbers([name], allow_missing=allow_missing)[:, 0]
        return matrix

    def first_text(self, cells: Sequence[str]) -> int | None:
        """Return the first row of a column that is no number; None if there is none."""
        return next((i for i, cell in enumerate(cells) if self.as_numbers([cell]) is None), None)

    def _refuse_text(self, cells: Sequence[str], name: str) -> None:
        # True and false are numbers only where nothing else is: the first of them is as odd as anything.
        i = self.first_text(cells)
        i = next(i for i, cell in enumerate(cells) if cell.lower() in _BOOLEANS) if i is None else i
        raise InvalidInputError(
            f"{self.path}, line {self.lines[i]}: column {name!r} holds the text {cells[i]!r}, which is not a number; "
            f"declare it with --categorical {name}, leave it out with --drop {name}, or encode it as a number"
        )

    def _refuse_cell(self, i: int, name: str) -> None:
        cell = self.cells(name)[i]
        where = f"{self.path}, line {self.lines[i]}: column {name!r}"
        if is_missing(cell):
            raise InvalidInputError(
                f"{where} has no value ({cell!r}); allow missing values with --missing reachable, leave the column out "
                f"with --drop {name}, or fill them in"
            )
        raise InvalidInputError(f"{where} holds {cell!r}; every value must be a finite number")

    def labels(self, name: str) -> NDArray[Any]:
        """Return a column as labels: whole numbers where all are written as such, text otherwise (``01``, ``+1``)."""
        cells = self.cells(name)
        for i, cell in enumerate(cells):
            if is_missing(cell):
                raise InvalidInputError(f"{self.path}, line {self.lines[i]}: the target column {name!r} is empty")
        try:
            numbers = np.array([int(cell) for cell in cells], dtype=np.int64)
        except (ValueError, OverflowError):
            return np.array(cells)
        # 7 and 007 are two classes, and whoever reads the file again, as the checker does, compares texts.
        return numbers if list(map(str, numbers.tolist())) == cells else np.array(cells)


def is_missing(cell: str) -> bool:
    """Whether a cell says that there is no value."""
    return cell.strip().lower() in _MISSING


def is_boolean(cell: str) -> bool:
    """Whether a cell says true or false."""
    return cell.lower() in _BOOLEANS


def read_csv(
    path: str | os.PathLike[str],
    *,
    separator: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    missing_as: Collection[str] = (),
) -> CsvTable:
    """Read a CSV file with a header row.

    Parameters
    ----------
    path : path
    separator : str or None
        What stands between cells; comma, semicolon, tab or bar is found out by itself.
    decimal : {".", ","} or None
        What stands before decimals; found out where cells are not separated by commas.
    encoding : str or None
        UTF-8 by default, UTF-16 where the file says so; what is neither is read as Windows-1252.
    missing_as : collection of str
        Further cells that mean a missing value.
    """
    if decimal not in (None, ".", ","):
        raise InvalidInputError(f"--decimal {decimal!r}; it must be '.' or ','")
    text, encoding, guessed = _decoded(path, encoding)
    first_line = next((line for line in text.splitlines() if line.strip()), "")
    if not first_line:
        raise InvalidInputError(f"{path} is empty; a CSV file with a header row is needed")
    if separator is None:
        separator = max(SEPARATORS, key=first_line.count)
        if separator != ",":
            shown = {"\t": "tabs", ";": "semicolons", "|": "bars"}[separator]
            guessed += [f"cells are separated by {shown} (--separator says otherwise)"]
    else:
        separator = _checked_separator(separator)
    if decimal == separator:
        raise InvalidInputError(f"--decimal {decimal!r} is the separator too; give another --separator")
    names, rows, lines = _split(path, text, separator)
    if decimal is None:
        decimal = _guess_decimal(rows) if separator != "," else "."
        if decimal == ",":
            guessed += ["decimals are written with a comma (--decimal says otherwise)"]
    written = CsvFormat(separator, decimal, encoding, tuple(guessed), frozenset(missing_as))
    return CsvTable(str(path), names, rows, lines, written)


def _decoded(path: str | os.PathLike[str], encoding: str | None) -> tuple[str, str, list[str]]:
    """Return the text of a file, its encoding, and what was guessed about it."""
    data = read_bytes(path, "CSV file")
    for name, beginning in _COMPRESSED.items():
        if data.startswith(beginning):
            raise InvalidInputError(f"cannot read CSV file {path}: it is compressed ({name}); unpack it first")
    guessed: list[str] = []
    if encoding is None:
        encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        try:
            data.decode(encoding)
        except UnicodeDecodeError as error:
            if b"\0" in data:
                raise InvalidInputError(f"cannot read CSV file {path}: it is not text ({error.reason})") from error
            # Latin-1 knows every byte, where Windows leaves a few open.
            encoding = next(name for name in ("cp1252", "latin-1") if _can_decode(data, name))
            guessed.append(f"it is not UTF-8 and was read as {encoding} (--encoding says otherwise)")
    try:
        text = data.decode(encoding)
    except LookupError:
        raise InvalidInputError(
            f"--encoding {encoding!r} is not known; use utf-8, cp1252, latin-1 or the like"
        ) from None
    except (UnicodeError, ValueError) as error:
        raise InvalidInputError(f"cannot read CSV file {path}: it is not {encoding} text ({error})") from error
    return with_plain_newlines(text), encoding.removesuffix("-sig"), guessed


def _can_decode(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _checked_separator(separator: str) -> str:
    found = _NAMES_OF_SEPARATORS.get(separator.lower(), separator)
    if len(found) != 1 or found in '"\r\n':
        raise InvalidInputError(f"--separator {separator!r}; it must be one character, such as ',', ';', '|' or 'tab'")
    return found


def _split(
    path: str | os.PathLike[str], text: str, separator: str
) -> tuple[tuple[str, ...], list[list[str]], list[int]]:
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
                    f"{path}, line {reader.line_num}: {len(cells)} cells, but the header has {len(names)}; "
                    f"cells are taken to be separated by {separator!r} (--separator says otherwise)"
                )
            rows.append([cell.strip() for cell in cells])
            lines.append(reader.line_num)
    except csv.Error as error:
        raise InvalidInputError(f"{path}, line {reader.line_num}: {error}") from error
    if not rows:
        raise InvalidInputError(f"{path} has a header but no rows")
    return names, rows, lines


def _guess_decimal(rows: list[list[str]]) -> str:
    """Return a comma if some column is made of numbers with commas, and no column of numbers with points."""
    has_commas = False
    for column in zip(*rows[:_ROWS_LOOKED_AT], strict=True):
        present = [cell for cell in column if not is_missing(cell)]
        if any("," in cell for cell in present):
            has_commas |= all(_WITH_COMMA.fullmatch(cell) for cell in present)
        elif any("." in cell for cell in present):
            try:
                np.array(present, dtype=np.float64)
            except ValueError:
                continue
            return "."
    return "," if has_commas else "."


def _check_header(path: str | os.PathLike[str], names: tuple[str, ...]) -> None:
    for j, name in enumerate(names):
        if not name:
            raise InvalidInputError(f"{path}: column {j + 1} of the header has no name")
        if names.index(name) != j:
            raise InvalidInputError(f"{path}: two columns are called {name!r}")
