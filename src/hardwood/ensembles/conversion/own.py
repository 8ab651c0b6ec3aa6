"""hardwood's own trees, forests and boosting."""

from __future__ import annotations

from typing import Any

from hardwood.ensembles.forest import voting
from hardwood.ensembles.scores import Ensemble
from hardwood.tree.tree import Tree


def convert(model: Any) -> Ensemble | None:
    """Convert a tree, or an estimator or a model file that holds a tree or an ensemble."""
    if isinstance(model, Tree):
        return voting([model])
    if type(model).__module__.split(".")[0] != "hardwood":
        return None
    for name in ("ensemble_", "ensemble", "tree_", "tree"):
        found = getattr(model, name, None)
        if isinstance(found, Tree):
            return voting([found])
        if isinstance(found, Ensemble):
            return found
    return None
