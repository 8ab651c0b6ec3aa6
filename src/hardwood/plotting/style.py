"""What all figures share: colours, axes, and how a model is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hardwood.errors import InvalidInputError, MissingEngineError
from hardwood.export.libraries import from_sklearn
from hardwood.tree.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe & Ito's colours, which readers with any colour vision tell apart, and shapes for print.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d31")
DASHES: tuple[str, ...] = ("solid", "dashed", "dashdot", "dotted")
MARKERS = ("o", "^", "s", "D", "v", "P", "X", "*")
FRAGILE = "#bdbdbd"


def new_axes(width: float = 7.0, height: float = 4.2) -> Axes:
    """Return axes on a figure of their own."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingEngineError("plots need matplotlib: pip install 'hardwood[plot]'") from error
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def tidy(ax: Axes) -> None:
    """Quiet grid, no frame on top and right."""
    ax.grid(color="0.9", linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def colour_of(index: int) -> str:
    """Return the colour of a class or curve."""
    return COLOURS[index % len(COLOURS)]


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
    if attack is not None:
        return attack
    for name in ("attack_", "attack"):
        if getattr(model, name, None) is not None:
            return getattr(model, name)
    raise InvalidInputError(f"say which attack=... to draw: {type(model).__name__} was not learned against one")


def named_models(models: Any, default: str) -> dict[str, Any]:
    """Return models by name; a single one gets the default name."""
    return dict(models) if isinstance(models, Mapping) else {default: models}
