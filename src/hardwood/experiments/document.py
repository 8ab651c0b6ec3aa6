"""Everything the report shows, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hardwood._version import __version__
from hardwood.experiments.cells import FitCell, key_of
from hardwood.experiments.charts import charts_of
from hardwood.experiments.grid import Grid
from hardwood.experiments.log import Log
from hardwood.experiments.outcomes import Failure, FitOutcome
from hardwood.experiments.records import CellRecord
from hardwood.experiments.schedule import cells_of
from hardwood.experiments.summary import QUICK, summarise
from hardwood.experiments.tables import tables_of
from hardwood.experiments.text_table import TextTable
from hardwood.solvers.result import EndReason

MOST_ROWS = 60
"""Larger tables are not on the page; they are in the files."""
_ORDER = ("selection", "fit", "curve")


def document_of(logs: Sequence[Log]) -> dict[str, Any]:
    """Gather the tables, charts and fits of some results files.

    Returns
    -------
    dict
        ``experiments``: what each asked and found;
        ``tables`` and ``charts`` of all of them, and ``fits``: one entry per cell that fitted a tree, with all that
        its row, its tree and its convergence need; ``failures``: cells that failed, with the reason.
    """
    tables: list[dict[str, Any]] = []
    charts: list[dict[str, Any]] = []
    fits: list[dict[str, Any]] = []
    failures: list[dict[str, Any]] = []
    experiments = []
    # Main results come before the quick ones, and what was found before what bounds it.
    shown = [(log, grid) for log in logs for grid in _latest(log)]
    for log, grid in sorted(shown, key=lambda pair: (pair[1].name.endswith(QUICK), _ORDER.index(pair[1].kind))):
        summary = summarise(grid, log)
        experiments.append(summary.to_dict())
        tables += [
            _table(name, summary.title, table)
            for name, table in tables_of(grid, log).items()
            if len(table.rows) <= MOST_ROWS
        ]
        for name, chart in charts_of(grid, log).items():
            panels = [panel.to_dict() for panel in chart] if isinstance(chart, list) else [chart.to_dict()]
            charts.append({"name": name, "experiment": summary.title, "panels": panels})
    for log in logs:
        names = _method_names(log.grids)
        titles = _experiments_of_cells(log)
        for record in log.cells.values():
            if isinstance(record.outcome, Failure):
                failures.append({"cell": record.cell.to_dict(), "error": record.outcome.error})
            elif isinstance(record.cell, FitCell) and isinstance(record.outcome, FitOutcome):
                fits.append(_fit(record.cell, record.outcome, names, titles.get(record.key, "")))
    machines = sorted({_machine(record) for log in logs for record in log.cells.values()})
    return {
        "version": __version__,
        "experiments": experiments,
        "machines": machines,
        "tables": tables,
        "charts": charts,
        "fits": fits,
        "failures": failures,
    }


def _latest(log: Log) -> list[Grid]:
    """Return the experiments of a file; one that was run again with other settings as it was run last."""
    return list({grid.name: grid for grid in log.grids}.values())


def _experiments_of_cells(log: Log) -> dict[str, str]:
    """Return to which experiments each cell belongs."""
    found: dict[str, list[str]] = {}
    for grid in _latest(log):
        for key in dict.fromkeys(key_of(cell) for cell in cells_of(grid, log)):
            found.setdefault(key, []).append(grid.name)
    return {key: ", ".join(names) for key, names in found.items()}


def _table(name: str, experiment: str, table: TextTable) -> dict[str, Any]:
    return {
        "name": name,
        "experiment": experiment,
        "title": table.title,
        "columns": table.columns,
        "rows": table.rows,
        "left": table.left,
        "bold": sorted(list(cell) for cell in table.bold),
        "notes": table.notes,
    }


def _method_names(grids: Sequence[Grid]) -> dict[str, str]:
    """Return how each learner is called; of methods that share one, the first, which chooses the least."""
    names: dict[str, str] = {}
    for grid in grids:
        for method in grid.methods:
            names.setdefault(repr(method.recipe), method.name)
    return names


def _fit(cell: FitCell, outcome: FitOutcome, names: dict[str, str], experiment: str) -> dict[str, Any]:
    shown = ("dataset", "radius", "depth", "radius_factor", "fold", "time_limit", "seed")
    found = outcome.to_dict()
    for left_out in ("cpu_seconds", "samples"):
        found.pop(left_out, None)
    if outcome.stopped_by == EndReason.HEURISTIC:
        # Whoever proves nothing has no bound; 0 would look like one.
        found["bound"] = found["gap"] = None
    return {
        "experiment": experiment,
        "method": "constant" if cell.depth == 0 else names.get(repr(cell.recipe), cell.recipe.solver),
        **{name: getattr(cell, name) for name in shown},
        **found,
        # Trees of folds are many and of no use to a reader.
        "tree": found["tree"] if cell.fold is None else None,
        "nodes": found.get("nodes"),
    }


def _machine(record: CellRecord) -> str:
    machine = record.machine
    version = record.versions.get("hardwood", "of unknown version")
    return f"{machine.processor}, {machine.cores} cores, hardwood {version}"
