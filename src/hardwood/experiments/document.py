"""Everything the report shows, as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hardwood._version import __version__
from hardwood.experiments.charts import charts_of
from hardwood.experiments.grid import Grid
from hardwood.experiments.log import Log, Record
from hardwood.experiments.methods import Method
from hardwood.experiments.tables import Table, tables_of


def document_of(logs: Sequence[Log]) -> dict[str, Any]:
    """Gather the tables, charts and fits of some results files.

    Returns
    -------
    dict
        ``tables`` and ``charts`` of all experiments, and ``fits``: one entry per cell that fitted a tree, with all that
        its row, its tree and its convergence need; ``failures``: cells that failed, with the reason.
    """
    tables: list[dict[str, Any]] = []
    charts: list[dict[str, Any]] = []
    fits: list[dict[str, Any]] = []
    failures: list[dict[str, Any]] = []
    experiments = []
    for log in logs:
        grids = [Grid.from_record(record) for record in log.grids]
        # An experiment that was run again with other settings is shown as it was run last.
        for grid in {grid.name: grid for grid in grids}.values():
            experiments.append({"name": grid.name, "time_limit": grid.time_limit, "depths": list(grid.depths)})
            tables += [_table(name, table) for name, table in tables_of(grid, log).items() if len(table.rows) <= 60]
            for name, chart in charts_of(grid, log).items():
                panels = [panel.to_dict() for panel in chart] if isinstance(chart, list) else [chart.to_dict()]
                charts.append({"name": name, "panels": panels})
        names = _method_names(grids)
        for record in log.cells.values():
            if not record["ok"]:
                failures.append({"cell": record["cell"], "error": record["error"]})
            elif record["cell"]["kind"] == "fit":
                fits.append(_fit(record, names))
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


def _table(name: str, table: Table) -> dict[str, Any]:
    return {
        "name": name,
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
        method: Method
        for method in grid.methods:
            names.setdefault(repr(method.learner.to_dict()), method.name)
    return names


def _fit(record: Record, names: dict[str, str]) -> dict[str, Any]:
    cell, result = record["cell"], record["result"]
    learner = repr(cell["learner"])
    name = "constant" if cell["depth"] == 0 else names.get(learner, cell["learner"]["solver"])
    shown = ("status", "objective", "bound", "gap", "stopped_by", "seconds", "trace", "n_train", "n_test")
    scores = ("train_accuracy", "train_adversarial_accuracy", "test_accuracy", "test_adversarial_accuracy")
    whole = cell["fold"] is None
    return {
        "method": name,
        **{key: cell[key] for key in ("dataset", "radius", "depth", "radius_factor", "fold", "time_limit", "seed")},
        **{key: result[key] for key in (*shown, *scores)},
        # Trees of folds are many and of no use to a reader.
        "tree": result["tree"] if whole else None,
        "nodes": result.get("nodes"),
    }


def _machine(record: Record) -> str:
    machine, versions = record["machine"], record["versions"]
    return f"{machine['processor']}, {machine['cores']} cores, hardwood {versions['hardwood']}"
