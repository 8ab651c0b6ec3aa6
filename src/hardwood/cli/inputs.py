"""What commands read: tables, attacks, and the options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from hardwood.attack.model import AttackModel
from hardwood.attack.spelling import read_attack, with_labels_of
from hardwood.data.csv import CsvTable, read_csv
from hardwood.errors import InvalidInputError
from hardwood.tree.tree import Tree

DataArgument = Annotated[Path, typer.Argument(help="CSV file with a header row.", show_default=False)]
TargetOption = Annotated[str, typer.Option("--target", "-t", help="Column with the classes.", show_default=False)]
DropOption = Annotated[list[str] | None, typer.Option("--drop", help="Column to leave out; may be repeated.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
AttackOption = Annotated[
    str,
    typer.Option(
        "--attack",
        "-a",
        help="What the attacker can do: a radius (0.1), a share of each feature's range (10%), "
        "'age=5,income=0:100,links=>' by feature, or a .toml file.",
    ),
]
AttackedClassOption = Annotated[
    list[str] | None,
    typer.Option("--attacked-class", help="The attacker controls samples of this class only; may be repeated."),
]


def attack_for(text: str, attacked_classes: list[str] | None, classes: Any) -> AttackModel:
    """Read the attack options in terms of the classes of the data."""
    attack = read_attack(text)
    if attacked_classes:
        if attack.by_class is not None:
            raise InvalidInputError("--attacked-class cannot be combined with an attack file that names classes")
        attack = attack.only(attacked_classes)
    return with_labels_of(attack, classes)


def feature_columns(table: CsvTable, *, target: str, drop: list[str] | None, others: tuple[str, ...] = ()) -> list[str]:
    """Return the columns that are features: all but the target, the dropped and the otherwise used ones."""
    left_out = {target, *others, *(drop or ())}
    for name in left_out:
        table.position(name)
    features = [name for name in table.names if name not in left_out]
    if not features:
        raise InvalidInputError(f"{table.path} has no feature column besides {', '.join(sorted(left_out))}")
    return features


def labels_like(table: CsvTable, target: str, classes: NDArray[Any]) -> NDArray[Any]:
    """Return the target column in the type of a model's classes, matched by their text."""
    labels = table.labels(target)
    if classes.dtype.kind in "US":
        return labels.astype(str)
    by_text = {str(label): label for label in classes.tolist()}
    return np.array([by_text.get(str(label), label) for label in labels.tolist()])


def features_of_model(table: CsvTable, tree: Tree, drop: set[str]) -> tuple[list[str], NDArray[Any]]:
    """Return the columns that a tree wants and their content: numbers, or objects where some hold categories."""
    encoding, allow_missing = tree.encoding, tree.missing_left is not None
    if encoding is None:
        names = model_features(table, tree.feature_names, tree.n_features, drop)
        return names, table.numbers(names, allow_missing=allow_missing)
    names = model_features(table, encoding.names, encoding.n_columns, drop)
    categorical = {name for name, categories in zip(names, encoding.categories, strict=True) if categories is not None}
    matrix = table.mixed(names, categorical, allow_missing=allow_missing)
    for j, categories in enumerate(encoding.categories):
        # Files hold text; categories may be numbers.
        by_text = {str(category): category for category in categories or ()}
        if categories is not None:
            matrix[:, j] = [by_text.get(cell, cell) for cell in matrix[:, j]]
    return names, matrix


def model_features(table: CsvTable, names: tuple[str, ...] | None, n_features: int, drop: set[str]) -> list[str]:
    """Return the columns that a model wants: by name, or by position where it has no names."""
    if names is not None:
        missing = [name for name in names if name not in table.names]
        if missing:
            raise InvalidInputError(
                f"{table.path} has no column {missing[0]!r}, which the model needs; "
                f"its columns are {', '.join(table.names)}"
            )
        return list(names)
    features = [name for name in table.names if name not in drop]
    if len(features) != n_features:
        raise InvalidInputError(f"{table.path} has {len(features)} feature columns, but the model needs {n_features}")
    return features


__all__ = [
    "AttackOption",
    "AttackedClassOption",
    "DataArgument",
    "DropOption",
    "JsonOption",
    "TargetOption",
    "attack_for",
    "feature_columns",
    "features_of_model",
    "labels_like",
    "read_csv",
]
