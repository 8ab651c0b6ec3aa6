"""Models as JSON: readable, diffable, safe to load."""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from hardwood._version import __version__
from hardwood.attack.model import AttackModel
from hardwood.errors import InvalidInputError
from hardwood.files import read_text, write_whole
from hardwood.solvers.result import Result
from hardwood.tree.tree import Tree

FORMAT = "hardwood-model"
FORMAT_VERSION = 1


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
    """

    tree: Tree
    attack: AttackModel
    training: dict[str, Any] = field(default_factory=dict)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row of X."""
        return self.tree.predict(X)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model; an existing file is replaced as a whole or left as it is."""
        data = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "hardwood": __version__,
            "tree": self.tree.to_dict(),
            "attack": self.attack.to_dict(),
            "training": self.training,
        }
        write_whole(path, json.dumps(data, indent=1, allow_nan=False) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """Read a model; anything else than a whole model of a known version is refused."""
        text = read_text(path, "model")
        try:
            data = json.loads(text)
        except json.JSONDecodeError as error:
            raise InvalidInputError(
                f"{path} is not a hardwood model: it is truncated or not JSON (line {error.lineno}: {error.msg})"
            ) from error
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise InvalidInputError(f'{path} is not a hardwood model: it has no \'"format": "{FORMAT}"\'')
        version = data.get("version")
        if not isinstance(version, int) or version < 1:
            raise InvalidInputError(f"{path} has the model version {version!r}; it must be a whole number >= 1")
        if version > FORMAT_VERSION:
            raise InvalidInputError(
                f"{path} has model version {version}, made by hardwood {data.get('hardwood')}; this hardwood "
                f"({__version__}) reads versions up to {FORMAT_VERSION}: upgrade it"
            )
        missing = [key for key in ("tree", "attack", "training") if key not in data]
        if missing:
            raise InvalidInputError(f"{path} is not a whole model: {missing[0]!r} is missing")
        try:
            return cls(Tree.from_dict(data["tree"]), AttackModel.from_dict(data["attack"]), data["training"])
        except InvalidInputError as error:
            raise InvalidInputError(f"{path} is damaged: {error}") from error


def load_model(path: str | os.PathLike[str]) -> Model:
    """Read a model written by ``save``."""
    return Model.load(path)


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
        "stopped_by": str(result.stopped_by),
        "runtime": round(result.runtime, 6),
    }
