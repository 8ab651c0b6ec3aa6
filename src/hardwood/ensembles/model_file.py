"""Ensembles as JSON: many trees in the format of model files, readable and safe to load."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._version import __version__
from hardwood.arrays import FloatArray
from hardwood.attack.model import AttackModel
from hardwood.data.categories import CategoryEncoding
from hardwood.ensembles.probabilities import shares_of_margins, shares_of_votes
from hardwood.ensembles.scores import Ensemble, Link, Rule, TreeOfScores
from hardwood.errors import InvalidInputError
from hardwood.export.model_file import ENSEMBLE_VERSION, FORMAT, as_training, check_attack_names
from hardwood.export.tree_data import MOST_FEATURES
from hardwood.files import write_whole
from hardwood.plain_data import (
    as_entries,
    as_flag,
    as_items,
    as_labels,
    as_number,
    as_text,
    as_texts,
    as_whole,
    as_wholes,
    label_array,
    plain,
)

_LINKS = {"cutoff": Link.CUTOFF, "argmax": Link.ARGMAX}
_REQUIRED = ("classes", "n_features", "feature_names", "encoding", "takes_missing", "link", "base", "trees")
_OF_TREE = ("feature", "threshold", "left", "right", "missing_left", "value")


@dataclass(frozen=True)
class EnsembleModel:
    """Many trees, the attack they were learned against, and how their learning went.

    Attributes
    ----------
    ensemble : Ensemble
    attack : AttackModel
        In the units of the data.
    training : dict
        As plain data.
    """

    ensemble: Ensemble
    attack: AttackModel
    training: dict[str, Any] = field(default_factory=dict)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row of X."""
        return self.ensemble.predict(X)

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class at each row of X, as the estimator that was saved does."""
        solver, loss = self.training.get("solver"), self.training.get("loss", "logistic")
        if solver == "forest":
            return shares_of_votes(self.ensemble.scores(X))
        if solver == "boosting" and loss in ("logistic", "exponential", "sigmoid"):
            return shares_of_margins(self.ensemble.scores(X), loss)
        raise InvalidInputError("the model does not say how its scores become probabilities")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model; an existing file is replaced as a whole or left as it is."""
        data = {
            "format": FORMAT,
            "version": ENSEMBLE_VERSION,
            "hardwood": __version__,
            "ensemble": ensemble_to_data(self.ensemble),
            "attack": self.attack.to_dict(),
            "training": plain(self.training, "training"),
        }
        write_whole(path, json.dumps(data, allow_nan=False) + "\n")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> EnsembleModel:
        """Read the content of a file."""
        as_entries(data, "the model", ("ensemble", "attack", "training"))
        if "hardwood" in data:
            as_text(data["hardwood"], "hardwood")
        ensemble, attack = ensemble_from_data(data["ensemble"]), AttackModel.from_dict(data["attack"])
        check_attack_names(attack, ensemble.classes, ensemble.n_features, ensemble.feature_names, ensemble.encoding)
        return cls(ensemble, attack, as_training(data["training"]))


def ensemble_to_data(ensemble: Ensemble) -> dict[str, Any]:
    """Return an ensemble as data that JSON can hold; only sums of float64 that are compared as they are."""
    link = next((name for name, known in _LINKS.items() if known is ensemble.rule.link), None)
    if link is None or ensemble.rule != Rule(_LINKS[link]):
        raise InvalidInputError(
            f"the scores of {ensemble.library} are not plain sums (float32, a softmax or a division), which model "
            "files do not hold; keep the file of the library itself"
        )
    return {
        "classes": as_labels(ensemble.classes.tolist(), "classes"),
        "n_features": ensemble.n_features,
        "feature_names": None
        if ensemble.feature_names is None
        else list(as_texts(ensemble.feature_names, "feature_names")),
        "encoding": None if ensemble.encoding is None else ensemble.encoding.to_dict(),
        "takes_missing": bool(ensemble.takes_missing),
        "link": link,
        "base": ensemble.base.tolist(),
        "trees": [_tree_to_data(tree) for tree in ensemble.trees],
    }


def _tree_to_data(tree: TreeOfScores) -> dict[str, Any]:
    is_leaf = tree.left < 0
    return {
        "feature": tree.feature.tolist(),
        "threshold": [None if leaf else float(t) for t, leaf in zip(tree.threshold, is_leaf, strict=True)],
        "left": tree.left.tolist(),
        "right": tree.right.tolist(),
        "missing_left": tree.missing_left.tolist(),
        "value": [row.tolist() if leaf else None for row, leaf in zip(tree.value, is_leaf, strict=True)],
    }


def ensemble_from_data(data: Any) -> Ensemble:
    """Return the ensemble that data describe; anything that is not a whole, well-formed one is refused."""
    where = "the ensemble"
    data = as_entries(data, where, _REQUIRED)
    classes = label_array(as_labels(data["classes"], f"classes of {where}"))
    if len(np.unique(classes)) < len(classes):
        raise InvalidInputError(f"classes of {where} name a class twice")
    n_features = as_whole(data["n_features"], f"n_features of {where}", 1, MOST_FEATURES)
    names, encoding = data["feature_names"], data["encoding"]
    link = as_text(data["link"], f"link of {where}")
    if link not in _LINKS:
        raise InvalidInputError(f"link of {where} is {link!r}; it must be one of {list(_LINKS)}")
    base = [as_number(one, f"base[{k}]") for k, one in enumerate(as_items(data["base"], f"base of {where}"))]
    trees = [
        _tree_from_data(one, f"tree {k}", n_features, len(base))
        for k, one in enumerate(as_items(data["trees"], f"trees of {where}"))
    ]
    return Ensemble(
        trees,
        np.array(base),
        Rule(_LINKS[link]),
        classes,
        n_features,
        None if names is None else as_texts(names, f"feature_names of {where}", n_features),
        takes_missing=as_flag(data["takes_missing"], f"takes_missing of {where}"),
        library="hardwood",
        encoding=None if encoding is None else CategoryEncoding.from_dict(encoding),
    )


def _tree_from_data(data: Any, where: str, n_features: int, n_scores: int) -> TreeOfScores:
    data = as_entries(data, where, _OF_TREE)
    feature = as_wholes(data["feature"], f"feature of {where}", None, -1, n_features - 1)
    n = len(feature)
    left, right = (as_wholes(data[side], f"{side} of {where}", n, -1, n - 1) for side in ("left", "right"))
    threshold = np.full(n, np.nan)
    value = np.zeros((n, n_scores))
    for k, one in enumerate(as_items(data["threshold"], f"threshold of {where}", n)):
        if (one is None) != (left[k] < 0):
            raise InvalidInputError(f"threshold of {where}: node {k} must have one if it is a split, and only then")
        if one is not None:
            threshold[k] = as_number(one, f"threshold[{k}] of {where}")
    for k, row in enumerate(as_items(data["value"], f"value of {where}", n)):
        if (row is None) != (left[k] >= 0):
            raise InvalidInputError(f"value of {where}: node {k} must have values if it is a leaf, and only then")
        if row is not None:
            listed = as_items(row, f"value[{k}] of {where}", n_scores)
            value[k] = [as_number(v, f"value[{k}][{c}] of {where}") for c, v in enumerate(listed)]
    missing = as_items(data["missing_left"], f"missing_left of {where}", n)
    return TreeOfScores.ordered(
        feature,
        threshold,
        left,
        right,
        value,
        [as_flag(one, f"missing_left[{k}] of {where}") for k, one in enumerate(missing)],
    )
