"""``hardwood explain`` and ``hardwood export``."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from hardwood.cli.app import app
from hardwood.cli.inputs import (
    AttackedClassOption,
    DataArgument,
    IntegerOption,
    JsonOption,
    ModelArgument,
    ModelOnTable,
    OtherAttackOption,
)
from hardwood.cli.output import check_output, print_json
from hardwood.cli.reading import Reading, reads_csv
from hardwood.errors import InvalidInputError
from hardwood.evaluation.explanation import explain as explain_sample
from hardwood.export.model_file import Model, load_model
from hardwood.files import write_whole
from hardwood.tree.tree import Tree


@app.command()
@reads_csv
def explain(
    model: ModelArgument,
    data: DataArgument,
    reading: Reading,
    row: Annotated[int, typer.Option("--row", "-r", help="Row of the file, the first below the header is 1.")],
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="Column with the classes, for attacks that differ by class.")
    ] = None,
    attack: OtherAttackOption = None,
    attacked_class: AttackedClassOption = None,
    integer: IntegerOption = None,
    json: JsonOption = False,
) -> None:
    """Say why one row is classified as it is, and what it would take to change that."""
    given = ModelOnTable.read(model, data, reading, target)
    table = given.table
    if not 1 <= row <= len(table):
        raise InvalidInputError(f"--row {row}; {data} has the rows 1 to {len(table)}")
    used = given.attack(attack, attacked_class, integer)
    label = None if target is None else given.labels(target)[row - 1]
    explanation = explain_sample(given.tree, given.X[[row - 1]], used, label=label)
    if json:
        print_json({"row": row, **explanation.to_dict()})
        return
    typer.echo(f"Row {row} of {data.name} (line {table.lines[row - 1]})")
    typer.echo(explanation.to_text())


class CodeFormat(StrEnum):
    """What a model can be exported to."""

    python = "python"
    c = "c"
    sql = "sql"
    dot = "dot"
    onnx = "onnx"
    text = "text"


@app.command()
def export(
    model: ModelArgument,
    to: Annotated[CodeFormat, typer.Option("--to", help="What to write.")],
    name: Annotated[str, typer.Option(help="Name of the function.")] = "predict",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File to write.")] = None,
) -> None:
    """Write a model as source code that needs no library, as a graph, or for ONNX runtimes."""
    check_output(output)
    loaded = load_model(model)
    tree = loaded.tree if isinstance(loaded, Model) else loaded.ensemble
    if to is CodeFormat.onnx and output is None:
        raise InvalidInputError("an ONNX model is no text; say where to write it with --output")
    if not isinstance(tree, Tree) and to in (CodeFormat.dot, CodeFormat.text):
        raise InvalidInputError(f"--to {to.value} draws one tree, and the model has {tree.n_trees}")
    writers: dict[CodeFormat, Callable[[], str | bytes]] = {
        CodeFormat.python: lambda: tree.to_python(name),
        CodeFormat.c: lambda: tree.to_c(name),
        CodeFormat.sql: lambda: tree.to_sql() + "\n",
        CodeFormat.dot: lambda: tree.to_dot(),
        CodeFormat.onnx: tree.to_onnx,
        CodeFormat.text: lambda: tree.to_text() + "\n",
    }
    code = writers[to]()
    if output is None:
        typer.echo(code, nl=False)
    else:
        write_whole(output, code)
        typer.echo(f"{to.value} written to {output}")
