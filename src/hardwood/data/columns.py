"""What the columns of a table are, and which of them somebody must decide about before a tree can be learned.

A column of numbers needs nobody. Text is a category or a name, and only the user knows; dates and identifiers are
seldom meant as features; gaps need a word about what they stand for. All such columns are found in one pass, so that
one answer names them all.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from hardwood.arrays import FloatArray
from hardwood.attack.quoting import quoted
from hardwood.data.categories import MOST_CATEGORIES
from hardwood.data.csv import CsvTable, is_boolean, is_missing

MOSTLY = 0.5
"""A column with a larger share of gaps is mostly missing."""
FEW_ROWS = 20
"""Below so many rows, values that all differ say nothing."""
MANY_DIFFERENT = 0.9
"""Text that differs in a larger share of the rows names them."""
_SIGNS = r"[\s€$£¥%‰]*"
_DRESSED = re.compile(rf"{_SIGNS}[+-]?{_SIGNS}(\d{{1,3}}([.,'’\s]\d{{3}})+([.,]\d+)?|\d+([.,]\d+)?){_SIGNS}")
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ]\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?\s*(Z|[+-]\d{2}:?\d{2})?)?"
    r"|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}([T ]\d{1,2}:\d{2}(:\d{2})?)?"
)
_CALLED_ID = re.compile(r"(^|[^a-z])(id|ids|uuid|guid|key|index|idx|nr|no|row|rowid|serial)([^a-z]|$)", re.IGNORECASE)
_CALLED_ID_IN_CAPITALS = re.compile(r"[a-z](ID|Id)$")


class ColumnKind(StrEnum):
    """What a column is."""

    NUMBER = "number"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    CATEGORY = "category"
    DATE = "date"
    IDENTIFIER = "ID-like"
    CONSTANT = "constant"
    MOSTLY_MISSING = "mostly missing"


@dataclass(frozen=True, eq=False)
class Column:
    """A column and what it is.

    Attributes
    ----------
    name : str
    kind : ColumnKind
    n_rows, n_missing, n_distinct : int
    values : float array of shape (n_rows,) or None
        Its numbers, NaN where they are missing; None if some cells are text.
    examples : tuple of str
        A few of its cells, the odd one first where all but few are numbers.
    odd : int or None
        The row of the first text in a column that is otherwise numbers.
    n_text : int
        How many cells are text.
    odd_texts : tuple of str
        The different texts in a column that is otherwise numbers.
    is_dressed : bool
        Whether all cells are numbers with signs that numbers here do not have: 5%, $ 3, 1,200.
    """

    name: str
    kind: ColumnKind
    n_rows: int
    n_missing: int
    n_distinct: int
    values: FloatArray | None
    examples: tuple[str, ...]
    odd: int | None = None
    n_text: int = 0
    odd_texts: tuple[str, ...] = ()
    is_dressed: bool = False

    @property
    def is_numeric(self) -> bool:
        """Whether all its values are numbers."""
        return self.values is not None

    @property
    def ends(self) -> tuple[float, float] | None:
        """The least and the largest value; None for text or where there is no value."""
        if self.values is None or self.n_missing == self.n_rows:
            return None
        return float(np.nanmin(self.values)), float(np.nanmax(self.values))


@dataclass(frozen=True)
class Decision:
    """A column that somebody must decide about.

    Attributes
    ----------
    column : Column
    reason : str
        What it is, in a few words.
    options : tuple of str
        Options of the command line that settle it, the suggested one first.
    """

    column: Column
    reason: str
    options: tuple[str, ...]


def describe_columns(table: CsvTable) -> tuple[Column, ...]:
    """Find out what each column is."""
    return tuple(_column(table, name) for name in table.names)


def _column(table: CsvTable, name: str) -> Column:
    cells = table.cells(name)
    present = [cell for cell in cells if not is_missing(cell)]
    distinct = set(present)
    values = table.as_numbers(cells)
    odd, n_text = None, 0
    texts: list[str] = []
    if values is None:
        texts = [cell for cell in distinct if table.as_numbers([cell]) is None or is_boolean(cell)]
        n_text = sum(cell in texts for cell in present) if len(texts) < 20 else len(present)
        if 0 < n_text <= 0.2 * len(present):
            odd = next(i for i, cell in enumerate(cells) if cell in texts)
    kind = _kind(name, present, distinct, values, len(cells))
    shown = list(dict.fromkeys(([] if odd is None else [cells[odd]]) + present[:20]))[:3]
    counts = len(cells), len(cells) - len(present), len(distinct)
    odd_texts = () if odd is None else tuple(sorted({text.strip() for text in texts}))
    is_dressed = values is None and bool(distinct) and all(_DRESSED.fullmatch(cell) for cell in distinct)
    return Column(name, kind, *counts, values, tuple(shown), odd, n_text, odd_texts, is_dressed)


def _kind(name: str, present: Sequence[str], distinct: set[str], values: FloatArray | None, n_rows: int) -> ColumnKind:
    if len(present) < (1 - MOSTLY) * n_rows:
        return ColumnKind.MOSTLY_MISSING
    if len(distinct) <= 1:
        return ColumnKind.CONSTANT
    if all(map(is_boolean, distinct)):
        return ColumnKind.BOOLEAN
    if values is None:
        if all(_DATE.fullmatch(cell) for cell in distinct):
            return ColumnKind.DATE
        names_rows = len(present) >= FEW_ROWS and len(distinct) > MANY_DIFFERENT * len(present)
        return ColumnKind.IDENTIFIER if names_rows or len(distinct) > MOST_CATEGORIES else ColumnKind.CATEGORY
    numbers = values[np.isfinite(values)]
    if not np.all(numbers == np.floor(numbers)):
        return ColumnKind.NUMBER
    return ColumnKind.IDENTIFIER if _numbers_rows(name, numbers) else ColumnKind.INTEGER


def _numbers_rows(name: str, numbers: FloatArray) -> bool:
    """Whether whole numbers only number the rows: all differ, and they count on or are called an ID."""
    if len(numbers) < FEW_ROWS or len(np.unique(numbers)) < len(numbers):
        return False
    counts_on = bool(np.all(np.diff(numbers) == 1))
    return counts_on or _CALLED_ID.search(name) is not None or _CALLED_ID_IN_CAPITALS.search(name) is not None


def decisions(
    table: CsvTable, columns: Sequence[Column], *, categorical: Collection[str] = (), allow_missing: bool = False
) -> list[Decision]:
    """Return the columns among those given that cannot be features before somebody decides.

    Parameters
    ----------
    table : CsvTable
    columns : sequence of Column
        Those that are to be features.
    categorical : collection of str
        Columns that were declared to hold categories.
    allow_missing : bool
        Whether gaps were allowed.
    """
    found = []
    for column in columns:
        decision = _decision(table, column, column.name in categorical, allow_missing)
        if decision is not None:
            found.append(decision)
    return found


def _decision(table: CsvTable, column: Column, is_categorical: bool, allow_missing: bool) -> Decision | None:
    drop = f"--drop {column.name}"
    if is_categorical:
        # A gap in a category needs the same word as one in a number.
        return None if column.n_missing == 0 or allow_missing else _gaps(column, drop)
    if column.is_numeric:
        assert column.values is not None
        infinite = np.isinf(column.values)
        if infinite.any():
            line = table.lines[int(np.flatnonzero(infinite)[0])]
            return Decision(column, f"{int(infinite.sum())} infinite values (line {line})", (drop,))
        return None if column.n_missing == 0 or allow_missing else _gaps(column, drop)
    if column.odd is not None:
        reason = f"numbers, but {column.n_text} cells are text (line {table.lines[column.odd]}: {column.examples[0]!r})"
        return Decision(column, reason, (*_as_missing(column), drop, *_as_categories(column)))
    if column.kind is ColumnKind.DATE:
        return Decision(column, "dates", (drop, *_as_categories(column)))
    if column.is_dressed:
        plain = next((cell for cell in column.examples if not cell.isdigit()), column.examples[0])
        return Decision(column, f"numbers with other signs ({plain!r}); write plain ones", (drop,))
    if column.kind is ColumnKind.CATEGORY:
        return Decision(column, f"text, {column.n_distinct} different values", (*_as_categories(column), drop))
    if column.kind is ColumnKind.CONSTANT:
        return Decision(column, "the same text everywhere", (drop,))
    if column.kind is ColumnKind.MOSTLY_MISSING:
        return Decision(column, f"text, {column.n_missing} of {column.n_rows} missing", (drop, *_as_categories(column)))
    return Decision(column, f"ID-like text, {column.n_distinct} different values", (drop,))


def _as_missing(column: Column) -> tuple[str, ...]:
    """Return the option that takes odd texts for gaps, where they may be that: few, and none looks like a number."""
    if len(column.odd_texts) > 3 or any(letter.isdigit() for text in column.odd_texts for letter in text):
        return ()
    return (f"--missing-as {','.join(map(quoted, column.odd_texts))}",)


def _as_categories(column: Column) -> tuple[str, ...]:
    return (f"--categorical {column.name}",) if column.n_distinct <= MOST_CATEGORIES else ()


def _gaps(column: Column, drop: str) -> Decision:
    reason = f"{column.n_missing} of {column.n_rows} values missing"
    is_most = column.kind is ColumnKind.MOSTLY_MISSING
    return Decision(column, reason, (drop, "--missing reachable") if is_most else ("--missing reachable", drop))
