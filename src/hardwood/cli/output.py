"""How commands print: tables for people, one JSON object for machines."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

import typer


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
