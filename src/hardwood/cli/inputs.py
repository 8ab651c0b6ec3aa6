"""What commands read: samples and models from files, and the options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from hardwood.arrays import FloatArray
from hardwood.attack.model import AttackModel
from hardwood.attack.spelling import integers_from_text, read_attack, with_labels_of
from hardwood.cli.output import how_to_check
from hardwood.cli.reading import Reading
from hardwood.data.categories import CategoryEncoding
from hardwood.data.csv import CsvTable
from hardwood.data.holdout import hold_out
from hardwood.ensembles.model_file import EnsembleModel
from hardwood.ensembles.scores import Ensemble
from hardwood.errors import InvalidInputError
from hardwood.export.model_file import Model, load_model
from hardwood.problem.problem import Problem, prepare
from hardwood.problem.samples import fit_attack
from hardwood.solvers.options import MOST_JOBS, Whole, count_threads
from hardwood.tree.tree import Tree

DataArgument = Annotated[Path, typer.Argument(help="CSV file with a header row.", show_default=False)]
TargetOption = Annotated[str, typer.Option("--target", "-t", help="Column with the classes.", show_default=False)]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
AttackOption = Annotated[
    str,
    typer.Option(
        "--attack",
        "-a",
        help="What the attacker can do: a radius (0.1), a share of each feature's range (10%), "
        "'age=5,income=0:5%,links=>' by feature, or a .toml file; 0 for nobody.",
        show_default=False,
    ),
]
OtherAttackOption = Annotated[
    str | None, typer.Option("--attack", "-a", help="Another attack than the model was learned against.")
]
AttackedClassOption = Annotated[
    list[str] | None,
    typer.Option("--attacked-class", help="The attacker controls samples of this class only; may be repeated."),
]
IntegerOption = Annotated[
    str | None,
    typer.Option(
        "--integer",
        help="Features that are whole numbers, separated by commas; 'auto' for all that hold nothing else.",
    ),
]
ModelArgument = Annotated[Path, typer.Argument(help="Model file written by 'hardwood fit'.", show_default=False)]
WeightOption = Annotated[str | None, typer.Option("--weight", help="Column with sample weights.")]
DepthOption = Annotated[int, typer.Option("--depth", "-d", help="Largest number of splits on a path.")]
ProofOption = Annotated[
    Path | None, typer.Option("--proof", help="Write a proof to this file, for 'hardwood-checker PROOF DATA.csv'.")
]
JobsOption = Annotated[int, typer.Option("--jobs", "-j", help="Threads to use, where that helps; -1 for all cores.")]


def checked_jobs(jobs: int) -> int:
    """Return the number of threads that ``--jobs`` stands for."""
    if jobs != -1 and not 1 <= jobs <= MOST_JOBS:
        raise InvalidInputError(f"--jobs {jobs}; it must be {Whole(1, MOST_JOBS).text}, or -1 for all cores")
    return count_threads(jobs)


@dataclass(frozen=True, eq=False)
class Samples:
    """The columns of a CSV file, as what they are used for.

    Attributes
    ----------
    table : CsvTable
    features : tuple of str
        Names of the columns that are features.
    X : array of shape (n_samples, n_features)
        Numbers, or objects where some columns hold categories.
    y : array of shape (n_samples,)
        Labels.
    weight : float array of shape (n_samples,) or None
    encoding : CategoryEncoding or None
    reading : Reading
        The options with which they were read.
    """

    table: CsvTable
    features: tuple[str, ...]
    X: NDArray[Any]
    y: NDArray[Any]
    weight: FloatArray | None
    encoding: CategoryEncoding | None
    reading: Reading

    @classmethod
    def read(cls, path: Path, target: str, reading: Reading, *, weight: str | None = None) -> Samples:
        """Read a file; the options of the command line say what each column is.

        Columns that somebody must decide about are refused, all at once.
        """
        table = reading.table(path)
        categorical = reading.categories(table)
        features = _feature_columns(table, target, reading.dropped(table), weight, categorical)
        reading.check(table, features)
        encoding = None
        if categorical:
            X = table.mixed(features, set(categorical), allow_missing=reading.allows_missing)
            encoding = CategoryEncoding.fit(X, categorical, features)
        else:
            X = table.numbers(features, allow_missing=reading.allows_missing)
        weights = None if weight is None else table.numbers([weight])[:, 0]
        return cls(table, features, X, table.labels(target), weights, encoding, reading)

    def take(self, rows: NDArray[Any]) -> Samples:
        """Return some of the samples."""
        table = replace(self.table, rows=[self.table.rows[i] for i in rows], lines=[self.table.lines[i] for i in rows])
        weight = None if self.weight is None else self.weight[rows]
        return replace(self, table=table, X=self.X[rows], y=self.y[rows], weight=weight)

    def hold_out(self, share: float, seed: int) -> tuple[Samples, Samples]:
        """Split into samples to learn from and samples to test on, stratified by class."""
        kept, held_out = hold_out(self.y, share, seed)
        return self.take(kept), self.take(held_out)

    def how_to_check(self, proof: Path) -> str:
        """Return how a proof about these samples can be checked."""
        return how_to_check(proof, self.table, self.features, self.encoding)

    def attack(self, text: str, attacked_classes: list[str] | None, integer: str | None = None) -> AttackModel:
        """Return the attack options in terms of these classes."""
        return attack_for(text, attacked_classes, np.unique(self.y), integer)

    def problem(self, attack: str, attacked_classes: list[str] | None, integer: str | None, **others: Any) -> Problem:
        """State what is to be learned from the samples under the attack of the options."""
        return self.state(self.attack(attack, attacked_classes, integer), **others)

    def state(self, attack: AttackModel, **others: Any) -> Problem:
        """State what is to be learned from the samples under an attack."""
        return prepare(
            self.X,
            self.y,
            attack,
            sample_weight=self.weight,
            feature_names=self.features,
            categorical_features=self.encoding,
            missing=self.reading.missing.value,
            **others,
        )


def _feature_columns(
    table: CsvTable, target: str, drop: list[str], weight: str | None, categorical: list[str]
) -> tuple[str, ...]:
    """Return the columns that are features: all but the target, the dropped and the weights."""
    left_out = [target, *drop, *([] if weight is None else [weight])]
    for name in (*left_out, *categorical):
        table.position(name)
    if target in drop:
        raise InvalidInputError(f"--drop {target} would leave out the target; --target must name another column")
    if weight is not None and (weight == target or weight in drop):
        other = "the target" if weight == target else "dropped"
        raise InvalidInputError(f"--weight {weight}: the column is {other}; weights need a column of their own")
    for name in categorical:
        if name in left_out:
            raise InvalidInputError(f"--categorical {name}: the column is not a feature")
    features = tuple(name for name in table.names if name not in left_out)
    if not features:
        raise InvalidInputError(f"{table.path} has no feature column besides {', '.join(sorted(set(left_out)))}")
    return features


@dataclass(frozen=True, eq=False)
class ModelOnTable:
    """A model, and the columns of a CSV file that it looks at.

    Attributes
    ----------
    model : Model or EnsembleModel
    table : CsvTable
    features : list of str
    X : array of shape (n_samples, n_features)
    """

    model: Model | EnsembleModel
    table: CsvTable
    features: list[str]
    X: NDArray[Any]

    @classmethod
    def read(cls, model: Path, data: Path, reading: Reading, target: str | None = None) -> ModelOnTable:
        """Read both files; without names of its own the model takes all columns but the target and the dropped."""
        loaded = load_model(model)
        table = reading.table(data)
        if target is not None:
            table.position(target)
        left_out = {*reading.dropped(table), *(() if target is None else (target,))}
        given = cls.of(loaded, table, left_out)
        _check_reading(reading, table, given.trees, model)
        return given

    @classmethod
    def of(cls, model: Model | EnsembleModel, table: CsvTable, left_out: set[str]) -> ModelOnTable:
        """Return a model with the columns of a table that it looks at."""
        trees = model.tree if isinstance(model, Model) else model.ensemble
        return cls(model, table, *features_of_model(table, trees, left_out))

    @property
    def trees(self) -> Tree | Ensemble:
        """The tree or the trees of the model."""
        return self.model.tree if isinstance(self.model, Model) else self.model.ensemble

    @property
    def tree(self) -> Tree:
        """The tree of the model; an ensemble is refused."""
        if not isinstance(self.model, Model):
            raise InvalidInputError(f"the model has {self.model.ensemble.n_trees} trees, and this needs a single one")
        return self.model.tree

    def labels(self, target: str) -> NDArray[Any]:
        """Return the target column in the type of the model's classes, matched by their text.

        Labels of which the model knows none are refused: the column is not what it was trained for.
        """
        return labels_of(self.table, target, self.trees.classes)

    def unknown(self, labels: NDArray[Any]) -> list[Any]:
        """Return the labels that are no class of the model; every answer about such samples is wrong."""
        known = set(map(str, self.trees.classes.tolist()))
        return [label for label in np.unique(labels).tolist() if str(label) not in known]

    def attack(self, text: str | None, attacked_classes: list[str] | None, integer: str | None = None) -> AttackModel:
        """Return the attack of the options, or of the model where there are none."""
        if text is None:
            if attacked_classes or integer:
                raise InvalidInputError(f"{'--attacked-class' if attacked_classes else '--integer'} needs --attack")
            return self.model.attack
        trees = self.trees
        model = attack_for(text, attacked_classes, trees.classes, integer)
        return fit_attack(model, trees.rows(self.X), tuple(self.features), trees.encoding)


def _check_reading(reading: Reading, table: CsvTable, tree: Tree | Ensemble, path: Path) -> None:
    """Raise if options say other things about columns than the model has learned; it knows what it needs itself."""
    takes_missing = tree.missing_left is not None if isinstance(tree, Tree) else tree.takes_missing
    if reading.allows_missing and not takes_missing:
        raise InvalidInputError(
            f"--missing reachable: {path} was learned without missing values and has no way for them"
        )
    known: dict[str, Any] = {}
    if tree.encoding is not None:
        known = dict(zip(tree.encoding.names or (), tree.encoding.categories, strict=False))
    for name in reading.categories(table):
        if known.get(name) is None:
            raise InvalidInputError(f"--categorical {name}: the model in {path} knows no categories of that column")
    for name in reading.dropped(table):
        if name in (known or tree.feature_names or ()):
            raise InvalidInputError(f"--drop {name}: the model in {path} was learned on that column and needs it")


def labels_of(table: CsvTable, target: str, classes: NDArray[Any]) -> NDArray[Any]:
    """Return the target column in the type of a model's classes, matched by their text; see `ModelOnTable.labels`."""
    labels = table.labels(target)
    if classes.dtype.kind in "US":
        labels = labels.astype(str)
    else:
        by_text = {str(label): label for label in classes.tolist()}
        found = [by_text.get(_plain(label), label) for label in labels.tolist()]
        text = next((i for i, label in enumerate(found) if isinstance(label, str)), None)
        if text is not None and any(not isinstance(label, str) for label in found):
            raise InvalidInputError(
                f"{table.path}, line {table.lines[text]}: {target!r} is {found[text]!r}, and the classes of the model "
                f"are numbers ({', '.join(map(str, classes.tolist()))}); leave such rows out"
            )
        labels = np.array(found)
    if not np.isin(labels.astype(str), classes.astype(str)).any():
        raise InvalidInputError(
            f"column {target!r} of {table.path} holds no class of the model: it has labels such as "
            f"{labels[0].item()!r}, the classes are {', '.join(map(repr, classes.tolist()))}"
        )
    return labels


def _plain(label: Any) -> str:
    """Return a label as text, a whole number as it is usually written: 1 for +1 and 01."""
    try:
        return str(int(str(label)))
    except ValueError:
        return str(label)


def attack_for(text: str, attacked_classes: list[str] | None, classes: Any, integer: str | None = None) -> AttackModel:
    """Read the attack options in terms of the classes of the data."""
    attack = read_attack(text)
    if integer is not None:
        attack = attack.with_integers(integers_from_text(integer))
    if attacked_classes:
        if attack.by_class is not None:
            raise InvalidInputError("--attacked-class cannot be combined with an attack file that names classes")
        attack = attack.only(attacked_classes)
    return with_labels_of(attack, classes)


def features_of_model(table: CsvTable, trees: Tree | Ensemble, drop: set[str]) -> tuple[list[str], NDArray[Any]]:
    """Return the columns that a model wants and their content: numbers, or objects where some hold categories."""
    encoding = trees.encoding
    allow_missing = trees.missing_left is not None if isinstance(trees, Tree) else trees.takes_missing
    if encoding is None:
        names = model_features(table, trees.feature_names, trees.n_features, drop)
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
