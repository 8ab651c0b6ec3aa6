"""What is written from a results file: tables, figures, the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hardwood.experiments.charts import charts_of
from hardwood.experiments.document import document_of
from hardwood.experiments.figures import draw
from hardwood.experiments.grid import Grid
from hardwood.experiments.log import Log, make_folder
from hardwood.experiments.tables import tables_of
from hardwood.experiments.text_table import TextTable
from hardwood.files import write_whole
from hardwood.report.page import render


def write_tables(grid: Grid, log: Log, folder: Path) -> dict[str, TextTable]:
    """Write the tables of an experiment as Markdown, CSV and LaTeX, and return them by name."""
    make_folder(folder)
    tables = tables_of(grid, log)
    for name, table in tables.items():
        write_whole(folder / f"{name}.md", table.to_markdown())
        write_whole(folder / f"{name}.csv", table.to_csv())
        write_whole(folder / f"{name}.tex", table.to_latex())
    return tables


def write_figures(grid: Grid, log: Log, folder: Path) -> list[Path]:
    """Draw the figures of an experiment as PNG, PDF and SVG and return their paths."""
    make_folder(folder)
    return [path for name, chart in charts_of(grid, log).items() for path in draw(chart, folder / name)]


def write_report(logs: Sequence[Log], path: Path) -> None:
    """Write one self-contained HTML page about everything in some results files."""
    write_whole(path, render(document_of(logs)))
