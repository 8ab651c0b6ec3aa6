"""``hardwood evaluate``."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from hardwood.arrays import BoolArray
from hardwood.attack.model import AttackModel
from hardwood.cli.app import app
from hardwood.cli.evaluate_ensemble import evaluate_ensemble, load_ensemble
from hardwood.cli.inputs import (
    AttackedClassOption,
    DataArgument,
    IntegerOption,
    JobsOption,
    JsonOption,
    ModelArgument,
    ModelOnTable,
    OtherAttackOption,
    TargetOption,
)
from hardwood.cli.output import percent, print_json, print_table
from hardwood.cli.reading import Reading, reads_csv
from hardwood.evaluation.fragility import fragility
from hardwood.tree.attacked import AttackedData


@app.command()
@reads_csv
def evaluate(
    model: ModelArgument,
    data: DataArgument,
    target: TargetOption,
    reading: Reading,
    attack: OtherAttackOption = None,
    attacked_class: AttackedClassOption = None,
    integer: IntegerOption = None,
    fragile: Annotated[int, typer.Option(help="How many of the most fragile samples to list.")] = 5,
    time_limit: Annotated[
        float | None, typer.Option(help="Seconds, for ensembles; what is open then is said to be.")
    ] = None,
    jobs: JobsOption = 1,
    unpickle: Annotated[
        bool, typer.Option("--unpickle", help="Load the model as a pickle, which runs whatever code is in it.")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Score a model on a CSV file, with and without the attacker.

    The model is one of 'hardwood fit', or an ensemble that XGBoost or CatBoost saved as JSON, or LightGBM as text or
    JSON.
    """
    found = load_ensemble(model, unpickle=unpickle)
    if found is not None:
        evaluate_ensemble(
            *found,
            data,
            target,
            reading,
            attack,
            attacked_class,
            integer,
            time_limit=time_limit,
            jobs=jobs,
            json=json,
        )
        return
    given = ModelOnTable.read(model, data, reading, target)
    y = given.labels(target)
    attack_used = given.attack(attack, attacked_class, integer)
    fooled = AttackedData.prepare(given.tree, given.X, y, attack_used).fooled()
    wrong = given.tree.predict(given.X) != y
    unknown = given.unknown(y)
    report = {
        "samples": len(y),
        "attack": attack_used.describe(given.features),
        "accuracy": float(np.mean(~wrong)),
        "adversarial_accuracy": float(np.mean(~fooled)),
        "classes": _by_class(y, wrong, fooled),
        "unknown_labels": unknown,
        "most_fragile": _most_fragile(given, y, attack_used, wrong, fragile),
    }
    _warn_of_unknown(unknown, y)
    if json:
        print_json(report)
    else:
        typer.echo(f"{len(y)} samples of {data.name}, attack: {report['attack']}")
        _print(report)


def _warn_of_unknown(unknown: list[Any], y: NDArray[Any]) -> None:
    if not unknown:
        return
    count = int(np.sum(np.isin(y, unknown)))
    named = ", ".join(map(repr, unknown[:3])) + (", ..." if len(unknown) > 3 else "")
    typer.echo(f"Warning: {count} of {len(y)} samples are of no class of the model ({named}); they are lost", err=True)


def _by_class(y: NDArray[Any], wrong: BoolArray, fooled: BoolArray) -> list[dict[str, Any]]:
    return [
        {
            "class": label,
            "samples": int(np.sum(y == label)),
            "accuracy": float(np.mean(~wrong[y == label])),
            "adversarial_accuracy": float(np.mean(~fooled[y == label])),
        }
        for label in np.unique(y).tolist()
    ]


def _print(report: dict[str, Any]) -> None:
    rows = [*report["classes"], {"class": "all", **report}]
    print_table(
        "Accuracy",
        ("class", "samples", "as is", "under attack"),
        [
            (row["class"], row["samples"], percent(row["accuracy"]), percent(row["adversarial_accuracy"]))
            for row in rows
        ],
    )
    if report["most_fragile"]:
        print_table(
            "Most fragile samples that are right as they are",
            ("line", "class", "bears", "change that flips it"),
            [
                (row["line"], row["class"], f"{row['bears']:.3g} x attack", row["change"])
                for row in report["most_fragile"]
            ],
            left=4,
        )


def _most_fragile(
    given: ModelOnTable, y: NDArray[Any], attack: AttackModel, wrong: BoolArray, count: int
) -> list[dict[str, Any]]:
    """Return the samples that are right as they are but bear the least multiple of the attack."""
    if count < 1:
        return []
    found = fragility(given.tree, given.X, y, attack)
    order = [int(i) for i in np.argsort(found.bears, kind="stable") if not wrong[i] and found.bears[i] < np.inf]
    return [
        {
            "line": given.table.lines[i],
            "class": y[i].item(),
            "bears": max(0.0, float(found.bears[i])),
            "change": ", ".join(f"{name} {before} -> {after}" for name, before, after in found.changes(i)),
        }
        for i in order[:count]
    ]
