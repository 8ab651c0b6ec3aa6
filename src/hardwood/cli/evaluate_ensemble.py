"""``hardwood evaluate`` of ensembles: hardwood's own and those that other libraries saved."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import typer

from hardwood.attack.model import AttackModel
from hardwood.cli.inputs import attack_for, features_of_model, labels_of
from hardwood.cli.output import percent, print_json, print_table
from hardwood.cli.reading import Reading
from hardwood.ensembles.conversion import as_ensemble
from hardwood.ensembles.conversion.files import is_of_another_library
from hardwood.ensembles.model_file import EnsembleModel
from hardwood.ensembles.scores import Ensemble
from hardwood.ensembles.verification import Robustness, robustness
from hardwood.errors import InvalidInputError
from hardwood.export.model_file import load_model
from hardwood.problem.samples import fit_attack


def load_ensemble(path: Path, *, unpickle: bool) -> tuple[Ensemble, AttackModel | None] | None:
    """Return an ensemble, and the attack it was learned against if any; None if the file is no such thing.

    A pickle runs whatever is in it when it is loaded, so it takes a word of the user's, and a warning comes with it.
    """
    if unpickle:
        typer.echo(f"Warning: {path} is loaded as a pickle, which runs whatever code is in it", err=True)
        try:
            with path.open("rb") as stream:
                return as_ensemble(pickle.load(stream)), None
        except (OSError, pickle.UnpicklingError, EOFError) as error:
            raise InvalidInputError(f"cannot load {path}: {error}") from error
    if is_of_another_library(path):
        return as_ensemble(path), None
    try:
        with path.open("rb") as stream:
            is_pickle = stream.read(1) == pickle.PROTO
    except OSError:
        return None
    if is_pickle:
        raise InvalidInputError(
            f"{path} is a pickle, which runs whatever is in it when it is loaded; save the model as JSON (XGBoost, "
            "CatBoost) or as text (LightGBM), or say --unpickle if you trust it"
        )
    model = load_model(path)
    return (model.ensemble, model.attack) if isinstance(model, EnsembleModel) else None


def evaluate_ensemble(
    ensemble: Ensemble,
    learned_against: AttackModel | None,
    data: Path,
    target: str,
    reading: Reading,
    attack: str | None,
    attacked_class: list[str] | None,
    integer: str | None,
    *,
    time_limit: float | None,
    jobs: int,
    json: bool,
) -> None:
    """Print what is known about the samples of a CSV file under attack."""
    table = reading.table(data)
    table.position(target)
    features, X = features_of_model(table, ensemble, {target, *reading.dropped(table)})
    y = labels_of(table, target, ensemble.classes)
    if attack is not None:
        given = attack_for(attack, attacked_class, ensemble.classes, integer)
        used = fit_attack(given, ensemble.rows(X), tuple(features), ensemble.encoding)
    elif learned_against is None:
        raise InvalidInputError("the model was not learned against an attack; say which with --attack")
    else:
        used = learned_against
    found = robustness(ensemble, X, y, used, time_limit=time_limit, n_jobs=jobs)
    report = _report(ensemble, X, y, used.describe(features), found)
    if json:
        print_json(report)
        return
    typer.echo(f"{len(y)} samples of {data.name}, {report['model']}, attack: {report['attack']}")
    rows = [*report["classes"], {"class": "all", **report}]
    print_table(
        "Accuracy",
        ("class", "samples", "as is", "under attack"),
        [(row["class"], row["samples"], percent(row["accuracy"]), _interval(row)) for row in rows],
    )
    if report["open"]:
        typer.echo(f"{report['open']} samples were not decided in time; give more with --time-limit")


def _report(ensemble: Ensemble, X: Any, y: Any, attack: str, found: Robustness) -> dict[str, Any]:
    right = ensemble.predict(X) == y

    def part(rows: Any) -> dict[str, Any]:
        return {
            "samples": int(np.sum(rows)),
            "accuracy": float(np.mean(right[rows])),
            "adversarial_accuracy": float(np.mean(found.is_robust[rows])),
            "adversarial_accuracy_upper": float(np.mean(~found.is_fooled[rows])),
        }

    return {
        "model": repr(ensemble),
        "attack": attack,
        **part(np.ones(len(y), bool)),
        "open": int(found.is_open.sum()),
        "classes": [{"class": label, **part(y == label)} for label in np.unique(y).tolist()],
    }


def _interval(row: dict[str, Any]) -> str:
    low, high = percent(row["adversarial_accuracy"]), percent(row["adversarial_accuracy_upper"])
    return low if low == high else f"{low} to {high}"
