"""A tree as a diagram, with what the attacker takes at each node."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hardwood.plain_data import printable
from hardwood.plotting.models import attack_of, tree_of
from hardwood.plotting.style import FRAGILE, QUIET, colour_of, new_axes, shown
from hardwood.problem.boxes import Reach
from hardwood.tree.attacked import AttackedData
from hardwood.tree.statistics import NodeStatistics
from hardwood.tree.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDTH, _HEIGHT = 0.88, 0.66
_BAR = 0.1


def plot_tree(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    attack: Any = None,
    sample_weight: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a tree; with data, each node shows how much of it is safe and how much the attacker can take.

    The bar under a node stands for all samples that can reach it: coloured by class where the sample stays right
    whatever the attacker does, grey where it is lost (fragile, or wrong as it is). A sample that the attacker can send
    to several leaves counts in each of them.

    Parameters
    ----------
    model : Tree, fitted tree estimator, Model or scikit-learn decision tree
    X : array-like of shape (n_samples, n_features) or None
    y : array-like of shape (n_samples,) or None
    attack : anything `hardwood.AttackModel.parse` takes, or None
        What the model was learned against by default.
    sample_weight : array-like of shape (n_samples,) or None
    ax : matplotlib axes or None
        Where to draw; new axes if None.
    """
    tree = tree_of(model)
    place, level = _layout(tree)
    if ax is None:
        ax = new_axes(max(4.0, 1.9 * tree.n_leaves), 1.3 * (tree.depth + 1) + 0.5)
    statistics = None
    if X is not None:
        data = AttackedData.prepare(tree, X, y, attack_of(model, attack))
        weight = np.ones(len(data.X)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        statistics = NodeStatistics.of_reach(tree, Reach.fixed(data.boxes.lower, data.boxes.upper), data.label, weight)
    for node in range(tree.n_nodes):
        if tree.left[node] >= 0:
            for child, word in ((int(tree.left[node]), "yes"), (int(tree.right[node]), "no")):
                start, end = -level[node] - _HEIGHT / 2, -level[child] + _HEIGHT / 2
                ax.plot([place[node], place[child]], [start, end], color="0.55", linewidth=1.1, zorder=1)
                middle: Any = ((place[node] + place[child]) / 2, (start + end) / 2)
                plate = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
                ax.annotate(word, middle, ha="center", va="center", fontsize=8, color="0.35", bbox=plate, zorder=2)
    for node in range(tree.n_nodes):
        _draw_node(ax, tree, node, float(place[node]), -float(level[node]), statistics)
    if statistics is not None:
        _draw_legend(ax, tree)
    ax.set_xlim(-0.6, tree.n_leaves - 0.4)
    ax.set_ylim(-tree.depth - 0.45, 0.4)
    ax.set_axis_off()
    return ax


def _layout(tree: Tree) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Leaves stand side by side, splits above the middle of their children."""
    place, level = np.zeros(tree.n_nodes), np.zeros(tree.n_nodes, dtype=np.int64)
    for node in np.flatnonzero(tree.left >= 0):
        level[tree.left[node]] = level[tree.right[node]] = level[node] + 1
    position = 0

    def settle(node: int) -> float:
        nonlocal position
        if tree.left[node] < 0:
            place[node] = position
            position += 1
        else:
            place[node] = (settle(int(tree.left[node])) + settle(int(tree.right[node]))) / 2
        return float(place[node])

    settle(0)
    return place, level


def _draw_node(ax: Axes, tree: Tree, node: int, x: float, y: float, statistics: NodeStatistics | None) -> None:
    from matplotlib.patches import FancyBboxPatch

    is_leaf = tree.left[node] < 0
    colour = colour_of(int(tree.label[node])) if is_leaf else QUIET
    ax.add_patch(
        FancyBboxPatch(
            (x - _WIDTH / 2, y - _HEIGHT / 2), _WIDTH, _HEIGHT, boxstyle="round,pad=0,rounding_size=0.06",
            facecolor="white", edgecolor=colour, linewidth=1.8 if is_leaf else 1.1, zorder=3,
        )
    )  # fmt: skip
    text = shown(tree.classes[tree.label[node]], 14) if is_leaf else _question(tree, node)
    ax.text(
        x, y + (0.1 if statistics is not None else 0), text, ha="center", va="center", fontsize=9, linespacing=1.25,
        color=colour if is_leaf else "black", weight="bold" if is_leaf else "normal", zorder=4,
    )  # fmt: skip
    if statistics is not None:
        _draw_bar(ax, tree, node, x, y - _HEIGHT / 2 + 0.045, statistics)


def _question(tree: Tree, node: int) -> str:
    """Return the condition of a split in lines that fit into its box."""
    j = int(tree.feature[node])
    test = None if tree.encoding is None else tree.encoding.tests[j]
    if tree.encoding is None or test is None:
        name, question = tree.name_of(j), f"≤ {tree.threshold[node]:.4g}"
    else:
        name, question = printable(tree.encoding.column_name(test[0])), f"= {shown(test[1], 18)}"
    lines = textwrap.wrap(name, 20, max_lines=2, placeholder="…")
    return "\n".join([*map(shown, lines), question])


def _draw_bar(ax: Axes, tree: Tree, node: int, x: float, y: float, statistics: NodeStatistics) -> None:
    from matplotlib.patches import Rectangle

    total = float(statistics.reaching[node])
    if total == 0:
        return
    start, width = x - _WIDTH / 2 + 0.04, _WIDTH - 0.08
    parts = [(colour_of(c), float(weight)) for c, weight in enumerate(statistics.kept[node])]
    parts.append((FRAGILE, float(statistics.lost[node])))
    for colour, weight in parts:
        length = width * weight / total
        ax.add_patch(Rectangle((start, y), length, _BAR, facecolor=colour, edgecolor="none", zorder=4))
        start += length
    lost = parts[-1][1] / total
    ax.text(
        x, y + _BAR + 0.02, f"{total:g} samples, {lost:.0%} lost", ha="center", va="bottom", fontsize=7,
        color="0.35", zorder=4,
    )  # fmt: skip


def _draw_legend(ax: Axes, tree: Tree) -> None:
    from matplotlib.patches import Patch

    handles = [
        Patch(color=colour_of(c), label=f"{shown(label, 20)}, safe") for c, label in enumerate(tree.classes.tolist())
    ]
    handles.append(Patch(color=FRAGILE, label="lost to the attacker"))
    beneath: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.02), "borderaxespad": 0}
    ax.legend(handles=handles, frameon=False, fontsize=8, ncols=2 if tree.n_leaves < 5 else 4, **beneath)
