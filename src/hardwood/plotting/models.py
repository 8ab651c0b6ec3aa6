"""How the models of a figure may be given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hardwood.errors import InvalidInputError
from hardwood.export import from_sklearn
from hardwood.tree.tree import Tree


def tree_of(model: Any) -> Tree:
    """Return the tree of an estimator, a model file, a scikit-learn tree, or a tree."""
    if isinstance(model, Tree):
        return model
    for name in ("tree_", "tree"):
        inner = getattr(model, name, None)
        if isinstance(inner, Tree):
            return inner
        if hasattr(inner, "children_left"):
            return from_sklearn(model)
    raise InvalidInputError(
        f"{type(model).__name__} has no decision tree to draw; give a fitted tree estimator or a Tree"
    )


def attack_of(model: Any, attack: Any) -> Any:
    """Return the attack to draw: the given one, or that which the model was learned against."""
    known = own_attack(model) if attack is None else attack
    if known is not None:
        return known
    raise InvalidInputError(f"say which attack=... to draw: {type(model).__name__} was not learned against one")


def own_attack(model: Any) -> Any:
    """Return the attack that a model was learned against, in the units of the data; None if it was none."""
    found = getattr(model, "attack_", None)
    return getattr(model, "attack", None) if found is None else found


def named_models(models: Any, default: str) -> dict[str, Any]:
    """Return models by name; a single one gets the default name."""
    return dict(models) if isinstance(models, Mapping) else {default: models}
