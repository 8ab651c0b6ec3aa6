"""Models as JSON: readable, diffable, safe to load."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from numpy.typing import NDArray

from hardwood._version import __version__
from hardwood.attack.model import AttackModel
from hardwood.attack.rules import AttackRules
from hardwood.data.categories import CategoryEncoding
from hardwood.errors import InvalidInputError
from hardwood.export.tree_data import tree_from_data, tree_to_data
from hardwood.files import read_text, write_whole
from hardwood.plain_data import as_entries, as_items, as_number, as_text, parse_json, plain
from hardwood.solvers.result import Result, Status
from hardwood.tree.tree import Tree

Read = TypeVar("Read")
FORMAT = "hardwood-model"
FORMAT_VERSION = 1
ENSEMBLE_VERSION = 2
"""Of files that hold many trees (`hardwood.ensembles.model_file`); a single tree is written as before."""


@dataclass(frozen=True)
class Model:
    """A tree, the attack it was learned against, and how its learning went.

    Attributes
    ----------
    tree : Tree
    attack : AttackModel
        In the units of the data.
    training : dict
        Solver, status, objective, bound and so on, as plain data.
    leaf_weight : tuple of tuple of float, or None
        Weight of the training samples of each class that reach each node for certain, for probabilities.
    """

    tree: Tree
    attack: AttackModel
    training: dict[str, Any] = field(default_factory=dict)
    leaf_weight: tuple[tuple[float, ...], ...] | None = None

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row of X."""
        return self.tree.predict(X)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model; an existing file is replaced as a whole or left as it is."""
        data = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "hardwood": __version__,
            "tree": tree_to_data(self.tree),
            "attack": self.attack.to_dict(),
            "training": plain(self.training, "training"),
            **({} if self.leaf_weight is None else {"leaf_weight": [list(row) for row in self.leaf_weight]}),
        }
        write_whole(path, json.dumps(data, indent=1, allow_nan=False) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """Read a tree; anything else than a whole model of a known version is refused."""
        data = read_model_data(path)
        if "ensemble" in data:
            raise InvalidInputError(
                f"{path} holds an ensemble of trees where a single tree is needed; hardwood.load_model reads it"
            )
        return from_data(cls._from_data, data, path)

    @classmethod
    def _from_data(cls, data: dict[str, Any]) -> Model:
        as_entries(data, "the model", ("tree", "attack", "training"))
        if "hardwood" in data:
            as_text(data["hardwood"], "hardwood")
        tree, attack = tree_from_data(data["tree"]), AttackModel.from_dict(data["attack"])
        check_attack_names(attack, tree.classes, tree.n_features, tree.feature_names, tree.encoding)
        weight = None if data.get("leaf_weight") is None else _leaf_weight(data["leaf_weight"], tree)
        return cls(tree, attack, as_training(data["training"]), weight)


def read_model_data(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read a model file as far as its format and version."""
    content = read_text(path, "model")
    try:
        data = parse_json(content)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path} is not a hardwood model: {error}") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InvalidInputError(f'{path} is not a hardwood model: it has no \'"format": "{FORMAT}"\'')
    version = data.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise InvalidInputError(f"{path} has the model version {version!r}; it must be a whole number >= 1")
    newest = ENSEMBLE_VERSION if "ensemble" in data else FORMAT_VERSION
    if version > newest:
        raise InvalidInputError(
            f"{path} has model version {version}, made by hardwood {data.get('hardwood')!r}; this hardwood "
            f"({__version__}) reads versions up to {newest}: upgrade it"
        )
    return data


def from_data(read: Callable[[dict[str, Any]], Read], data: dict[str, Any], path: str | os.PathLike[str]) -> Read:
    """Make a model of what is in a file; whatever is wrong with it is said with the file's name."""
    try:
        return read(data)
    except InvalidInputError as error:
        raise InvalidInputError(f"{path} is damaged: {error}") from error


def load_model(path: str | os.PathLike[str]) -> Any:
    """Read a model written by ``save``: a `Model` with a tree, or an `EnsembleModel` with many."""
    data = read_model_data(path)
    if "ensemble" not in data:
        return from_data(Model._from_data, data, path)
    from hardwood.ensembles.model_file import EnsembleModel

    return from_data(EnsembleModel.from_dict, data, path)


def model_schema() -> dict[str, Any]:
    """Return the JSON Schema of model files."""
    from importlib.resources import files

    schema: dict[str, Any] = json.loads(
        files("hardwood.export").joinpath("model.schema.json").read_text(encoding="utf-8")
    )
    return schema


def training_record(result: Result) -> dict[str, Any]:
    """Return what a model file keeps of a result."""
    return {
        "solver": result.solver,
        "status": result.status.value,
        "objective": result.objective,
        "bound": result.bound if math.isfinite(result.bound) else None,
        "gap": result.gap,
        "tolerance": result.tolerance,
        "stopped_by": str(result.stopped_by),
        "runtime": round(result.runtime, 6),
    }


def check_attack_names(
    attack: AttackModel,
    classes: NDArray[Any],
    n_features: int,
    feature_names: tuple[str, ...] | None,
    encoding: CategoryEncoding | None,
) -> None:
    """Refuse an attack that names features or classes that the trees do not have."""
    known = set(classes.tolist())
    for label, model in attack.by_class or ():
        if label not in known:
            raise InvalidInputError(f"the attack names class {label!r}, which the tree does not know")
        check_attack_names(model, classes, n_features, feature_names, encoding)
    count, names = (n_features, feature_names) if encoding is None else (encoding.n_columns, encoding.names)
    if attack.n_features not in (None, count):
        raise InvalidInputError(f"the attack is on {attack.n_features} features, the tree has {count}")
    attack.named(count, names)


def weight_by_leaf(weight: Any) -> tuple[tuple[float, ...], ...]:
    """Return the weights of classes at nodes as a model keeps them."""
    return tuple(tuple(float(value) for value in row) for row in weight)


def _leaf_weight(value: Any, tree: Tree) -> tuple[tuple[float, ...], ...]:
    where = "leaf_weight"
    rows = as_items(value, where, tree.n_nodes)
    return tuple(
        tuple(as_number(cell, f"{where}[{k}]", 0) for cell in as_items(row, f"{where}[{k}]", len(tree.classes)))
        for k, row in enumerate(rows)
    )


def as_training(value: Any) -> dict[str, Any]:
    """Check the record of a training."""
    training = dict(as_entries(plain(value, "training"), "training", ()))
    for key in ("solver", "status", "stopped_by"):
        if key in training:
            as_text(training[key], f"training.{key}")
    if "status" in training and training["status"] not in {status.value for status in Status}:
        raise InvalidInputError(
            f"training.status is {training['status']!r}; it must be one of {[s.value for s in Status]}"
        )
    for key in ("objective", "gap", "tolerance", "runtime"):
        if key in training:
            as_number(training[key], f"training.{key}", 0, 1 if key == "gap" else math.inf)
    if training.get("bound") is not None:
        as_number(training["bound"], "training.bound")
    if "attack_rules" in training:
        AttackRules.from_dict(training["attack_rules"])
    return training
