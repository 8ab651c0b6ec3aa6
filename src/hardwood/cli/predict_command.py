"""``hardwood predict``."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from hardwood.attack.model import AttackModel
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
from hardwood.ensembles.verification import robustness
from hardwood.errors import InvalidInputError
from hardwood.export.model_file import Model
from hardwood.files import write_whole
from hardwood.tree.attacked import AttackedData
from hardwood.tree.statistics import class_shares


@app.command()
@reads_csv
def predict(
    model: ModelArgument,
    data: DataArgument,
    reading: Reading,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="CSV file to write.")] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", "-p", help="Add a column 'P(class)' for each class.")
    ] = False,
    robust: Annotated[
        bool, typer.Option("--robust", help="Add a column 'robust': whether no attack can change the prediction.")
    ] = False,
    attack: OtherAttackOption = None,
    attacked_class: AttackedClassOption = None,
    integer: IntegerOption = None,
    json: JsonOption = False,
) -> None:
    """Classify the rows of a CSV file; prints the file with a column 'prediction' added."""
    check_output(output)
    if attack is not None and not robust:
        raise InvalidInputError("--attack says what --robust is about; give both")
    given = ModelOnTable.read(model, data, reading)
    added: dict[str, list[Any]] = {"prediction": given.trees.predict(given.X).tolist()}
    if probabilities:
        added |= _probabilities(given, model)
    if robust:
        added["robust"] = _robust(given, given.attack(attack, attacked_class, integer))
    if json:
        print_json(_as_json(given, added))
        return
    taken = next((name for name in added if name in given.table.names), None)
    if taken is not None:
        raise InvalidInputError(
            f"{data} has a column {taken!r} already, the name of one that is to be added: rename it, or use --json"
        )
    text = _as_csv(given, added)
    if output is None:
        typer.echo(text, nl=False)
    else:
        write_whole(output, text)
        typer.echo(f"{len(given.table)} predictions written to {output}")


def _probabilities(given: ModelOnTable, path: Path) -> dict[str, list[Any]]:
    """Return the probability of each class by column, as the estimators compute it."""
    if not isinstance(given.model, Model):
        shares = given.model.predict_proba(given.X)
        return {f"P({label})": shares[:, c].tolist() for c, label in enumerate(given.trees.classes.tolist())}
    weight = given.model.leaf_weight
    if weight is None:
        raise InvalidInputError(
            f"--probabilities: {path} does not say which training samples reach its leaves; learn it again with this "
            "version of hardwood"
        )
    shares = class_shares(np.array(weight), given.tree, 0.0)[given.tree.apply(given.X)]
    return {f"P({label})": shares[:, c].tolist() for c, label in enumerate(given.tree.classes.tolist())}


def _robust(given: ModelOnTable, used: AttackModel) -> list[bool]:
    """Return whether each row stays what it is predicted to be, whatever the attacker does.

    The attacker is he who attacks rows of the predicted class, since the true one is not known.
    """
    predicted = given.trees.predict(given.X)
    if isinstance(given.model, Model):
        is_robust = ~AttackedData.prepare(given.tree, given.X, predicted, used).fooled()
    else:
        is_robust = robustness(given.model.ensemble, given.X, predicted, used).is_robust
    return [bool(robust) for robust in is_robust]


def _as_json(given: ModelOnTable, added: dict[str, list[Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {"predictions": added["prediction"]}
    names = [f"P({label})" for label in given.trees.classes.tolist()]
    if names[0] in added:
        found["classes"] = given.trees.classes.tolist()
        found["probabilities"] = list(map(list, zip(*(added[name] for name in names), strict=True)))
    if "robust" in added:
        found["robust"] = added["robust"]
    return found


def _as_csv(given: ModelOnTable, added: dict[str, list[Any]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n", delimiter=given.table.format.separator)
    writer.writerow([*given.table.names, *added])
    decimal = given.table.format.decimal
    columns = [[_cell(value, decimal) for value in column] for column in added.values()]
    for row, cells in zip(given.table.rows, zip(*columns, strict=True), strict=True):
        writer.writerow([*row, *cells])
    return buffer.getvalue()


def _cell(value: Any, decimal: str) -> Any:
    """Return a value as the file would write it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}".replace(".", decimal) if isinstance(value, float) else value
