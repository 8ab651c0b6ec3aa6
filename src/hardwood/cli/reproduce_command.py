"""``hardwood reproduce``."""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hardwood.cli.app import app
from hardwood.cli.inputs import checked_jobs
from hardwood.cli.output import exit_if_interrupted
from hardwood.errors import InvalidInputError, MissingEngineError

if TYPE_CHECKING:
    from hardwood.experiments.grid import Grid
    from hardwood.experiments.log import Log

MOST_ROWS, MOST_COLUMNS = 30, 130
"""Larger tables are not printed; they are in the files."""


@app.command()
def reproduce(
    experiment: Annotated[
        str,
        typer.Argument(
            help="table, runtime, optimality, epsilons or xor, as in the paper; ensembles; or a .toml file.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for results, tables, figures and the report.")
    ] = Path("hardwood-results"),
    quick: Annotated[bool, typer.Option("--quick", help="A few small sets and little time: minutes.")] = False,
    datasets: Annotated[str | None, typer.Option(help="Only these sets, separated by commas.")] = None,
    methods: Annotated[
        str | None, typer.Option(help="Only these methods, separated by commas or, where a name has one, semicolons.")
    ] = None,
    depths: Annotated[str | None, typer.Option(help="Only these depths, separated by commas.")] = None,
    time_limit: Annotated[float | None, typer.Option(help="Seconds per fit.")] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder with the paper's sets as CSV files; HARDWOOD_DATA by default.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", help="Processes on this machine; 0 for one per core.")] = 0,
    dask: Annotated[
        str | None, typer.Option(help="Run on the Dask cluster with this scheduler, e.g. tcp://host:8786.")
    ] = None,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Run cells that failed before again.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for another process that writes to the folder.")] = False,
) -> None:
    """Run an experiment of the paper, or go on with one that was stopped, and write its tables, figures and report."""
    from hardwood.experiments.grid_file import load_grid

    slots = checked_jobs(jobs or -1)
    grid = load_grid(
        experiment,
        quick=quick,
        datasets=_names(datasets, ","),
        methods=_names(methods, ";" if methods and ";" in methods else ","),
        depths=_depths(depths),
        time_limit=time_limit,
    )
    for method, reason in grid.skipped.items():
        typer.echo(f"Left out: {method}: {reason}.", err=True)
    if grid.kind != "curve" and not grid.methods:
        raise InvalidInputError("none of the methods can run here")
    results = output / f"{grid.name}.jsonl"
    log, was_interrupted = _run(grid, results, data, slots, dask, retry_failed=retry_failed, wait=wait)
    if log.cells:
        _write(grid, log, results, output)
    if was_interrupted:
        typer.echo(f"Stopped. The same command goes on where this one stopped; results so far: {results}", err=True)
    exit_if_interrupted(was_interrupted=was_interrupted)


def _run(
    grid: Grid, results: Path, data: Path | None, slots: int, dask: str | None, *, retry_failed: bool, wait: bool
) -> tuple[Log, bool]:
    """Run what has not been run, here or on a cluster, and return all results, and whether Ctrl-C ended it."""
    from hardwood.experiments.log import open_log
    from hardwood.experiments.progress import watch
    from hardwood.experiments.runner import DaskCluster, local_processes, run_grid
    from hardwood.experiments.sets import load_set

    with ExitStack() as stack:
        writer = stack.enter_context(open_log(results, wait=wait))
        cluster = None if dask is None else stack.enter_context(closing(DaskCluster(dask)))
        slots = slots if cluster is None else cluster.slots
        try:
            run_grid(
                grid,
                writer,
                lambda name: load_set(name, data),
                cluster or local_processes(slots),
                slots=slots,
                retry_failed=retry_failed,
                watcher=stack.enter_context(watch()),
            )
        except KeyboardInterrupt:
            return writer.log, True
        return writer.log, False


def _write(grid: Grid, log: Log, results: Path, output: Path) -> None:
    """Write and show what the results amount to."""
    from hardwood.experiments.outputs import write_figures, write_report, write_tables

    for name, table in write_tables(grid, log, output / "tables").items():
        text = table.to_text()
        fits = len(table.rows) <= MOST_ROWS and max(map(len, text.splitlines()[1:3])) <= MOST_COLUMNS
        typer.echo(text if fits else f"{table.title}: see {output / 'tables' / name}.md\n")
    try:
        figures = write_figures(grid, log, output / "figures")
    except MissingEngineError as error:
        typer.echo(f"No figures: {error}", err=True)
        figures = []
    page = output / f"{grid.name}.html"
    write_report([log], page)
    failed = sum(record.has_failed for record in log.cells.values())
    if failed:
        typer.echo(f"{failed} cells failed; --retry-failed runs them again. The reasons are in {results}.", err=True)
    made = f"{len(figures)} figure files, " if figures else ""
    typer.echo(f"Results in {results}; tables, {made}and the report {page} in {output}.")


def _names(text: str | None, separator: str) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(separator) if name.strip()]


def _depths(text: str | None) -> list[int] | None:
    names = _names(text, ",")
    if names is None:
        return None
    for name in names:
        if not name.isdecimal():
            raise InvalidInputError(f"--depths {text}; it must be whole numbers separated by commas, such as 0,1,2")
    return [int(name) for name in names]
