"""``hardwood report``: results of experiments, or one model, as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hardwood.cli.app import app
from hardwood.cli.inputs import AttackedClassOption, IntegerOption, ModelOnTable, OtherAttackOption
from hardwood.cli.output import check_output
from hardwood.cli.reading import Reading, reads_csv
from hardwood.errors import InvalidInputError
from hardwood.export.model_file import Model
from hardwood.files import write_whole
from hardwood.problem.problem import Problem, prepare

RADII = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0)


@app.command()
@reads_csv
def report(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Results files written by 'hardwood reproduce'; or, with --target, a model and a CSV file.",
            show_default=False,
        ),
    ],
    reading: Reading,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path("report.html"),
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="Column with the classes, for the report on one model.")
    ] = None,
    attack: OtherAttackOption = None,
    attacked_class: AttackedClassOption = None,
    integer: IntegerOption = None,
) -> None:
    """Write one web page that needs no network: results of experiments, or what an attacker can do to one model."""
    check_output(output)
    if target is not None:
        _report_on_model(files, reading, target, (attack, attacked_class, integer), output)
        return
    from hardwood.experiments.log import read_log
    from hardwood.experiments.outputs import write_report

    if any(path.suffix.lower() in (".json", ".csv") for path in files):
        raise InvalidInputError(
            "a report on a model needs --target: hardwood report MODEL.json DATA.csv --target CLASS"
        )
    logs = [read_log(path) for path in files]
    write_report(logs, output)
    cells = sum(len(log.cells) for log in logs)
    typer.echo(f"Report on {cells} cells written to {output}. Open it in any browser.")


def _report_on_model(
    files: list[Path],
    reading: Reading,
    target: str,
    attack: tuple[str | None, list[str] | None, str | None],
    output: Path,
) -> None:
    from hardwood.evaluation.tradeoff import Part
    from hardwood.report.explore import model_document
    from hardwood.report.page import render_exploration

    if len(files) != 2:
        raise InvalidInputError(f"--target goes with two files, a model and a CSV file; {len(files)} are given")
    given = ModelOnTable.read(files[0], files[1], reading, target)
    y, tree = given.labels(target), given.tree
    if unknown := given.unknown(y):
        raise InvalidInputError(f"{files[1]} has the label {unknown[0]!r}, which is no class of the model")
    model = Model(tree, given.attack(*attack), given.model.training)

    def state(scaled: Any, depth: int) -> Problem:
        return prepare(
            given.X,
            y,
            scaled,
            depth,
            feature_names=tuple(given.features),
            missing="error" if tree.missing_left is None else "reachable",
            categorical_features=tree.encoding,
        )

    names = {"name": files[1].name, "model_name": files[0].name, "target": target}
    document = model_document(model, state, Part(given.X, y), RADII, lines=given.table.lines, **names)
    write_whole(output, render_exploration(document))
    typer.echo(f"Report on {files[0]} written to {output}. Open it in any browser.")
