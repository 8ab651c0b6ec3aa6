"""How commands print and write: tables for people, one JSON object for machines, pictures."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import typer

from hardwood.errors import InvalidInputError

PICTURES = (".png", ".svg", ".pdf")


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

    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for k, column in enumerate(columns):
        table.add_column(column, justify="left" if k < left else "right", overflow="fold")
    for row in rows:
        table.add_row(*(str(cell) for cell in row))
    Console().print(table)


def percent(share: float) -> str:
    """Write a share as people read it."""
    return f"{100 * share:.1f} %"


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
