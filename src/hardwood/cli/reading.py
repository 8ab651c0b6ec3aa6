"""How commands read CSV files: the options that say what is in them, and one answer for all columns in doubt."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from hardwood.attack.quoting import parts_of
from hardwood.attack.spelling import names_from_text
from hardwood.data.columns import ColumnKind, Decision, decisions, describe_columns
from hardwood.data.csv import CsvTable, read_csv
from hardwood.errors import InvalidInputError

TYPED: ContextVar[tuple[str, ...] | None] = ContextVar("typed", default=None)
"""The command line as it was typed, so that an answer can repeat it."""
_ENOUGH = 40
"""So many columns in doubt are listed one by one."""


class Missing(StrEnum):
    """What to do with missing values."""

    error = "error"
    reachable = "reachable"


_OPTIONS: dict[str, tuple[Any, Any]] = {
    "drop": (
        Annotated[list[str] | None, typer.Option("--drop", help="Columns to leave out, separated by commas.")],
        None,
    ),
    "categorical": (
        Annotated[
            list[str] | None,
            typer.Option("--categorical", help="Columns that hold categories, separated by commas."),
        ],
        None,
    ),
    "missing": (
        Annotated[Missing, typer.Option(help="Refuse missing values, or let them reach both sides of every split.")],
        Missing.error,
    ),
    "missing_as": (
        Annotated[
            str | None,
            typer.Option(
                "--missing-as", help="Further cells that mean a missing value, with commas between: 'unknown,-'."
            ),
        ],
        None,
    ),
    "separator": (
        Annotated[str | None, typer.Option(help="What stands between cells: ',', ';', 'tab'; found out by itself.")],
        None,
    ),
    "decimal": (
        Annotated[str | None, typer.Option(help="What stands before decimals: '.' or ','; found out by itself.")],
        None,
    ),
    "encoding": (
        Annotated[str | None, typer.Option(help="Encoding of the file, such as cp1252; found out by itself.")],
        None,
    ),
}


@dataclass(frozen=True)
class Reading:
    """The options that say how a CSV file is read.

    Attributes
    ----------
    drop, categorical : tuple of str
        As typed: names of columns, or several with commas between.
    missing : Missing
    missing_as : str or None
        As typed: cells that mean a missing value, with commas between.
    separator, decimal, encoding : str or None
    """

    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    missing: Missing = Missing.error
    missing_as: str | None = None
    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None

    @property
    def allows_missing(self) -> bool:
        """Whether missing values are allowed."""
        return self.missing is Missing.reachable

    @property
    def how_it_is_written(self) -> list[str]:
        """The options that any command needs that reads such a file, as words of a command line."""
        options = {
            "--missing-as": self.missing_as,
            "--separator": self.separator,
            "--decimal": self.decimal,
            "--encoding": self.encoding,
        }
        return [word for name, value in options.items() if value is not None for word in (name, value)]

    def table(self, path: Path) -> CsvTable:
        """Read a file, and say what was found out about how it is written."""
        marks = () if self.missing_as is None else names_from_text(self.missing_as)
        table = read_csv(path, separator=self.separator, decimal=self.decimal, encoding=self.encoding, missing_as=marks)
        if table.format.guessed:
            typer.echo(f"{path.name}: {'; '.join(table.format.guessed)}", err=True)
        return table

    def dropped(self, table: CsvTable) -> list[str]:
        """Return the columns to leave out."""
        return _named(table, self.drop)

    def categories(self, table: CsvTable) -> list[str]:
        """Return the columns that hold categories."""
        return _named(table, self.categorical)

    def check(self, table: CsvTable, features: Sequence[str]) -> None:
        """Raise, once for all, if somebody must decide about some features first; warn about what looks odd."""
        columns = [column for column in describe_columns(table) if column.name in features]
        categorical = self.categories(table)
        open_ones = decisions(table, columns, categorical=categorical, allow_missing=self.allows_missing)
        if open_ones:
            raise InvalidInputError(_summary(table, open_ones, len(features)))
        for column in columns:
            if column.kind is ColumnKind.IDENTIFIER and column.name not in categorical:
                typer.echo(
                    f"Warning: {column.name!r} looks like an ID: {column.n_distinct} different whole numbers in "
                    f"{column.n_rows} rows; a tree can learn rows by heart from it (--drop {shlex.quote(column.name)})",
                    err=True,
                )


def reads_csv(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `Reading`; it gets them as its argument ``reading``."""
    hints = get_type_hints(command, include_extras=True)
    signature = inspect.signature(command)
    parameters = [
        parameter.replace(annotation=hints[name])
        for name, parameter in signature.parameters.items()
        if name != "reading"
    ]
    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in _OPTIONS.items()
    ]
    keyword_only = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]

    def read_and_run(**given: Any) -> None:
        chosen = {name: given.pop(name) for name in _OPTIONS}
        for name in ("drop", "categorical"):
            chosen[name] = tuple(chosen[name] or ())
        command(**given, reading=Reading(**chosen))

    all_parameters = [*keyword_only, *added]
    read_and_run.__name__ = command.__name__
    read_and_run.__doc__ = command.__doc__
    read_and_run.__annotations__ = {p.name: p.annotation for p in all_parameters} | {"return": None}
    read_and_run.__signature__ = inspect.Signature(all_parameters)  # type: ignore[attr-defined]
    return read_and_run


def _named(table: CsvTable, texts: Sequence[str]) -> list[str]:
    """Return the columns that texts name: a name, or several with commas between."""
    found: list[str] = []
    for text in texts:
        parts = [text] if text in table.names else [part.strip() for part in text.split(",") if part.strip()]
        for name in parts:
            table.position(name)
            found.append(name)
    return list(dict.fromkeys(found))


def _summary(table: CsvTable, found: Sequence[Decision], n_features: int) -> str:
    """Return one answer for all columns in doubt, with a command that settles them."""
    rows = [("column", "what it is", "what settles it")]
    rows += [
        (decision.column.name[:40], decision.reason, "  or  ".join(_quoted(option) for option in decision.options))
        for decision in found[:_ENOUGH]
    ]
    widths = [max(len(row[k]) for row in rows) for k in range(2)]
    lines = [f"  {row[0]:<{widths[0]}}  {row[1]:<{widths[1]}}  {row[2]}" for row in rows]
    if len(found) > _ENOUGH:
        lines.append(f"  and {len(found) - _ENOUGH} more ('hardwood inspect' shows all)")
    what = "one column needs" if len(found) == 1 else f"{len(found)} columns need"
    text = f"{what} a decision, of {n_features} features of {table.path}:\n\n" + "\n".join(lines)
    command = command_with(suggestions(found))
    return text if command is None else f"{text}\n\nTo go on with what stands first in each line:\n\n  {command}\n"


def suggestions(found: Sequence[Decision]) -> list[str]:
    """Return the suggested options for some columns, as words of a command line."""
    chosen: dict[str, list[str]] = {}
    for decision in found:
        option, _, value = decision.options[0].partition(" ")
        chosen.setdefault(option, []).append(value)
    words: list[str] = []
    for option, values in chosen.items():
        if option == "--missing":
            continue
        if option == "--missing-as":
            words += [option, ",".join(dict.fromkeys(mark for value in values for mark in parts_of(value, ",")))]
            continue
        plain = [value for value in values if "," not in value]
        words += [option, ",".join(plain)] if plain else []
        for value in values:
            words += [option, value] if "," in value else []
    return [*words, *(["--missing", "reachable"] if {"--missing", "--missing-as"} & chosen.keys() else [])]


def command_with(words: Sequence[str], *, instead_of: str = "", command: str = "") -> str | None:
    """Return the command that is running, with further words, to be copied; None outside of one.

    Where another command is to be run with the same options, `command` stands for the word `instead_of`.
    """
    typed = TYPED.get()
    if typed is None:
        return None
    renamed = [command if word == instead_of and k == 0 else word for k, word in enumerate(typed)]
    return shlex.join(["hardwood", *renamed, *words])


def _quoted(option: str) -> str:
    name, _, value = option.partition(" ")
    return f"{name} {shlex.quote(value)}"
