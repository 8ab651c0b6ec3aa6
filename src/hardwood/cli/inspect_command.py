"""``hardwood inspect``: what is in a CSV file, before anything is learned from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import typer

from hardwood.attack.quoting import quoted
from hardwood.cli.app import app
from hardwood.cli.inputs import DataArgument, JsonOption, TargetOption
from hardwood.cli.output import percent, print_json, print_table
from hardwood.cli.reading import Reading, command_with, reads_csv, suggestions
from hardwood.data.columns import Column, ColumnKind, Decision, decisions, describe_columns
from hardwood.data.csv import CsvTable
from hardwood.errors import InvalidInputError

SHARE = 0.05
"""The attack that is suggested moves a feature by this share of what it usually spans."""
HEAVY_TAIL = 4.0
"""Where the range is so many times what nine tenths of the values span, a share of the range is no good unit."""


@app.command("inspect")
@reads_csv
def inspect_command(data: DataArgument, target: TargetOption, reading: Reading, json: JsonOption = False) -> None:
    """Say what is in a CSV file: types, ranges, duplicates, contradictions, classes, and attacks that make sense."""
    table = reading.table(data)
    table.position(target)
    dropped, categorical = reading.dropped(table), reading.categories(table)
    if target in dropped:
        raise InvalidInputError(f"--drop {target} would leave out the target; --target must name another column")
    labels = table.labels(target)
    columns = [column for column in describe_columns(table) if column.name not in (target, *dropped)]
    open_ones = decisions(table, columns, categorical=categorical, allow_missing=reading.allows_missing)
    classes, counts = np.unique(labels, return_counts=True)
    report = {
        "file": str(data),
        "rows": len(table),
        "separator": table.format.separator,
        "decimal": table.format.decimal,
        "encoding": table.format.encoding,
        "classes": {str(label): int(count) for label, count in zip(classes.tolist(), counts, strict=True)},
        "columns": [_described(column) for column in columns],
        "decisions": [
            {"column": one.column.name, "reason": one.reason, "options": list(one.options)} for one in open_ones
        ],
        **_repeated(table, [column.name for column in columns], labels),
        "attack": _suggested_attack(columns, [*categorical, *_to_be_dropped(open_ones)]),
    }
    if json:
        print_json(report)
        return
    _print(report, columns, open_ones, target)


def _described(column: Column) -> dict[str, Any]:
    ends = column.ends
    return {
        "name": column.name,
        "type": column.kind.value,
        "missing": column.n_missing,
        "distinct": column.n_distinct,
        "least": None if ends is None else ends[0],
        "largest": None if ends is None else ends[1],
        "examples": list(column.examples),
        "unit": _unit(column),
        "is_heavy_tailed": _is_heavy_tailed(column),
    }


def _spread(column: Column) -> float | None:
    """Return what the middle nine tenths of a column's values span; None for what has no distances."""
    if column.values is None or column.kind in (
        ColumnKind.BOOLEAN,
        ColumnKind.CONSTANT,
        ColumnKind.MOSTLY_MISSING,
        ColumnKind.IDENTIFIER,
    ):
        return None
    finite = column.values[np.isfinite(column.values)]
    if not len(finite):
        return None
    low, high = np.quantile(finite, [0.05, 0.95])
    return float(high - low) or float(finite.max() - finite.min())


def _unit(column: Column) -> float | None:
    """Return a radius that makes sense for a column: a share of its usual span, rounded; whole for whole numbers."""
    spread = _spread(column)
    if not spread or not np.isfinite(spread):
        return None
    radius = SHARE * spread
    return float(max(1, round(radius))) if column.kind is ColumnKind.INTEGER else float(f"{radius:.2g}")


def _is_heavy_tailed(column: Column) -> bool:
    spread, ends = _spread(column), column.ends
    if not spread or ends is None:
        return False
    return ends[1] - ends[0] > HEAVY_TAIL * spread


def _to_be_dropped(open_ones: Sequence[Decision]) -> list[str]:
    """Return the columns that are suggested to be left out."""
    return [one.column.name for one in open_ones if one.options[0].startswith("--drop ")]


def _suggested_attack(columns: Sequence[Column], left_out: Sequence[str]) -> str | None:
    """Return an attack by feature, as ``--attack`` takes it; None if no column has distances."""
    units = {column.name: _unit(column) for column in columns if column.name not in left_out}
    return ",".join(f"{quoted(name)}={unit:g}" for name, unit in units.items() if unit is not None) or None


def _repeated(table: CsvTable, names: Sequence[str], labels: Any) -> dict[str, int]:
    """Count rows that occur twice, and rows that contradict others: the same features, another class."""
    places = [table.position(name) for name in names]
    by_features: dict[tuple[str, ...], dict[Any, int]] = {}
    for row, label in zip(table.rows, labels.tolist(), strict=True):
        counts = by_features.setdefault(tuple(row[j] for j in places), {})
        counts[label] = counts.get(label, 0) + 1
    return {
        "duplicate_rows": sum(count - 1 for counts in by_features.values() for count in counts.values()),
        "conflicting_rows": sum(sum(counts.values()) for counts in by_features.values() if len(counts) > 1),
        "unavoidable_errors": sum(sum(counts.values()) - max(counts.values()) for counts in by_features.values()),
    }


def _print(report: dict[str, Any], columns: Sequence[Column], open_ones: Sequence[Decision], target: str) -> None:
    n_rows, n_classes = report["rows"], len(report["classes"])
    typer.echo(f"{report['file']}: {n_rows} rows, {len(columns)} feature columns, target {target!r}")
    shown = sorted(report["classes"].items(), key=lambda item: -item[1])[:20]
    print_table(
        f"Classes ({n_classes})", ("class", "rows", "share"), [(name, k, percent(k / n_rows)) for name, k in shown]
    )
    marked = {one.column.name for one in open_ones}
    print_table(
        "Columns (* needs a decision)",
        ("column", "type", "range or examples", "missing", "different", "radius"),
        [_row(column, column.name in marked) for column in columns],
        left=3,
    )
    typer.echo(_repetitions(report))
    for column in columns:
        if column.kind is ColumnKind.IDENTIFIER and column.is_numeric:
            typer.echo(f"{column.name!r} looks like an ID: a tree can learn rows by heart from it.")
        elif column.kind is ColumnKind.CONSTANT and column.is_numeric:
            typer.echo(f"{column.name!r} is the same everywhere: it decides nothing.")
    heavy = [column.name for column in columns if _is_heavy_tailed(column)]
    if heavy:
        typer.echo(
            f"A share of the range is a poor unit for {', '.join(heavy)}: few values lie far out, and 5% of the range "
            "is much of what is usual. Give radii by feature."
        )
    _print_next(report["attack"], open_ones)


def _row(column: Column, is_open: bool) -> tuple[str, ...]:
    ends, unit = column.ends, _unit(column)
    shown = ", ".join(column.examples) if ends is None else f"{ends[0]:g} to {ends[1]:g}"
    return (
        f"{column.name}{' *' if is_open else ''}",
        column.kind.value,
        shown[:50],
        str(column.n_missing or ""),
        str(column.n_distinct),
        "" if unit is None else f"{unit:g}",
    )


def _print_next(attack: str | None, open_ones: Sequence[Decision]) -> None:
    words = suggestions(open_ones)
    typer.echo("\nWhat to try (radius: 5 % of what nine tenths of the values span, in the units of the data):")
    for spelling in ("5%", *([] if attack is None or len(attack) > 300 else [attack])):
        typer.echo(f"  {command_with(['--attack', spelling, *words], instead_of='inspect', command='fit')}")


def _repetitions(report: dict[str, Any]) -> str:
    """Say in words how many rows repeat or contradict others."""
    repeated, contradicting = report["duplicate_rows"], report["conflicting_rows"]
    rows = {0: "No row repeats another", 1: "One row repeats another"}.get(repeated, f"{repeated} rows repeat others")
    if not contradicting:
        return f"{rows}; none contradicts another (same features, another class)."
    errors = report["unavoidable_errors"]
    return (
        f"{rows}; {contradicting} rows contradict others (same features, another class): at least "
        f"{errors} error{'s' if errors != 1 else ''}, whatever is learned."
    )
