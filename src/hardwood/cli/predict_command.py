"""``hardwood predict``."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated

import typer

from hardwood.cli.app import app
from hardwood.cli.inputs import DataArgument, JsonOption, ModelArgument, ModelOnTable
from hardwood.cli.output import check_output, print_json
from hardwood.files import write_whole


@app.command()
def predict(
    model: ModelArgument,
    data: DataArgument,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="CSV file to write.")] = None,
    json: JsonOption = False,
) -> None:
    """Classify the rows of a CSV file; prints the file with a column 'prediction' added."""
    check_output(output)
    given = ModelOnTable.read(model, data)
    table, predicted = given.table, given.trees.predict(given.X).tolist()
    if json:
        print_json({"predictions": predicted})
        return
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([*table.names, "prediction"])
    writer.writerows([*row, label] for row, label in zip(table.rows, predicted, strict=True))
    if output is None:
        typer.echo(buffer.getvalue(), nl=False)
    else:
        write_whole(output, buffer.getvalue())
        typer.echo(f"{len(predicted)} predictions written to {output}")
