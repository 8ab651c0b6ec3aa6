"""``hardwood report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hardwood.cli.app import app
from hardwood.cli.output import check_output


@app.command()
def report(
    results: Annotated[
        list[Path], typer.Argument(help="Results files written by 'hardwood reproduce'.", show_default=False)
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path("report.html"),
) -> None:
    """Turn results into one web page that needs no network: tables, charts, trees to explore."""
    from hardwood.experiments.log import read_log
    from hardwood.experiments.outputs import write_report

    check_output(output)
    logs = [read_log(path) for path in results]
    write_report(logs, output)
    cells = sum(len(log.cells) for log in logs)
    typer.echo(f"Report on {cells} cells written to {output}. Open it in any browser.")
