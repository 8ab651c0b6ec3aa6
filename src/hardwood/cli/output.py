"""How commands print and write: tables for people, one JSON object for machines, pictures."""

from __future__ import annotations

import json
import math
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from hardwood.data.categories import CategoryEncoding
from hardwood.data.csv import SEPARATORS, CsvTable, is_boolean
from hardwood.errors import InvalidInputError
from hardwood.solvers.result import EndReason, Result

INTERRUPTED = 130
"""Exit code of what Ctrl-C ended."""
PICTURES = (".png", ".svg", ".pdf")


def how_to_check(proof: Path, table: CsvTable, features: Sequence[str], encoding: CategoryEncoding | None) -> str:
    """Return the command that checks a proof, or why that needs another file: the checker reads plain tables only."""
    data = table.path
    numbers = [name for j, name in enumerate(features) if encoding is None or encoding.categories[j] is None]
    strange = []
    if table.format.encoding.lower() not in ("utf-8", "ascii"):
        strange.append(f"is {table.format.encoding} text")
    if table.format.separator not in SEPARATORS:
        strange.append(f"has cells separated by {table.format.separator!r}")
    if table.format.decimal == ",":
        strange.append("writes decimals with a comma")
    if any(is_boolean(cell) for name in numbers for cell in table.cells(name)):
        strange.append("says true and false where numbers stand")
    if table.format.missing_as:
        strange.append("has words for missing values")
    if not strange:
        return f"To check it: {shlex.join(['hardwood-checker', str(proof), data])}"
    return (
        f"hardwood-checker reads UTF-8 files with decimal points and numbers, and {data} {' and '.join(strange)}: hand "
        f"it the arrays, hardwood_checker.check({str(proof)!r}, X, y), or learn from a file that is written so"
    )


def print_json(data: Any) -> None:
    """Print one JSON object; what JSON cannot say (NaN, infinities) becomes null."""
    typer.echo(json.dumps(_plain(data), indent=2))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "item") and not isinstance(value, str):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, left: int = 1) -> None:
    """Print a table; the first `left` columns are text, the others numbers on the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for k, column in enumerate(columns):
        table.add_column(Text(column), justify="left" if k < left else "right", overflow="fold")
    for row in rows:
        # Names and labels are text, whatever brackets are in them.
        table.add_row(*(Text(str(cell)) for cell in row))
    Console().print(table)


def percent(share: float) -> str:
    """Write a share as people read it."""
    return f"{100 * share:.1f} %"


def exit_if_interrupted(result: Result | None = None, *, was_interrupted: bool = False) -> None:
    """End with exit code 130 where somebody pressed Ctrl-C; what was finished has been shown and saved by then."""
    if was_interrupted or (result is not None and result.stopped_by is EndReason.INTERRUPT):
        typer.echo("Interrupted: this is what was finished by then.", err=True)
        raise typer.Exit(INTERRUPTED)


@contextmanager
def progress_bar(shown: bool, what: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show how much is done on standard error, if that is a terminal."""
    if not shown or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def steps_display(shown: bool, doing: str) -> Iterator[Callable[[str, int, int], None] | None]:
    """Show which of some steps runs, how many are done and how many are left: a bar on a terminal, else lines."""
    if not shown:
        yield None
        return
    if not sys.stderr.isatty():
        yield lambda what, done, total: typer.echo(f"{doing} {done + 1}/{total}: {what}", err=True)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(doing)
        yield lambda what, done, total: bar.update(task, completed=done, total=total, description=f"{doing}: {what}")


def check_output(path: Path | None) -> None:
    """Raise if a file cannot be written there, before any work is done for it."""
    if path is None:
        return
    if path.is_dir():
        raise InvalidInputError(f"cannot write {path}: it is a folder; give the name of a file")
    if not path.parent.is_dir():
        raise InvalidInputError(f"cannot write {path}: there is no folder {path.parent}")


def check_picture(path: Path | None) -> None:
    """Raise if a picture cannot be drawn into the file, before any work is done for it."""
    if path is not None and path.suffix not in PICTURES:
        raise InvalidInputError(f"cannot draw into {path}: the name must end in .png, .svg or .pdf")
    check_output(path)


def save_picture(ax: Any, path: Path) -> None:
    """Write the figure of some axes."""
    from hardwood.plotting.style import save_figure

    save_figure(ax.get_figure(root=True), path, dpi=150)
