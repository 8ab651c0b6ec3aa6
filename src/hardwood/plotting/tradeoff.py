"""The figure of a trade-off: what accuracy under attack costs in accuracy and in leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hardwood.evaluation.tradeoff import Tradeoff
from hardwood.plotting.style import FRAGILE, QUIET, colour_of, marker_of, new_axes, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_tradeoff(tradeoff: Tradeoff, ax: Axes | None = None, *, judged_on: str = "held-out data") -> Axes:
    """Draw every tree by its accuracy as is and under attack; those that nothing beats are filled, the knee is named.

    Parameters
    ----------
    tradeoff : Tradeoff
    ax : matplotlib axes or None
        Where to draw; new axes if None.
    judged_on : str
        What the accuracies were measured on.
    """
    ax = new_axes(7.4, 4.8) if ax is None else ax
    front, knee = tradeoff.front, tradeoff.knee
    for k, depth in enumerate(sorted({point.depth for point in tradeoff.points})):
        points = [(point, i) for i, point in enumerate(tradeoff.points) if point.depth == depth]
        places = np.array([[point.accuracy, point.attacked] for point, _ in points])
        for is_on_front in (False, True):
            chosen = np.array([front[i] == is_on_front for _, i in points])
            ax.scatter(
                places[chosen, 0], places[chosen, 1], 46 if is_on_front else 26, marker=marker_of(k), zorder=3,
                facecolors=colour_of(k) if is_on_front else "white", edgecolors=colour_of(k), linewidths=1.1,
            )  # fmt: skip
        ax.scatter([], [], 46, marker=marker_of(k), facecolors=colour_of(k), label=f"depth {depth}")
    for i in np.flatnonzero(front):
        point = tradeoff.points[i]
        ax.annotate(
            f"{point.radius:g}×, {point.leaves}", (point.accuracy, point.attacked), xytext=(6, -9),
            textcoords="offset points", fontsize=7, color=QUIET,
        )  # fmt: skip
    best = tradeoff.points[knee]
    ax.scatter([best.accuracy], [best.attacked], 190, facecolors="none", edgecolors="black", linewidths=1.4, zorder=4)
    ax.annotate(
        "knee", (best.accuracy, best.attacked), xytext=(-14, 12), textcoords="offset points", ha="right",
        arrowprops={"arrowstyle": "-", "color": FRAGILE}, fontsize=9,
    )  # fmt: skip
    ax.scatter([], [], 46, facecolors=QUIET, edgecolors=QUIET, label="filled: nothing beats it (radius, leaves)")
    ax.set_xlabel(f"accuracy as is, {judged_on}")
    ax.set_ylabel(f"accuracy under attack, {judged_on}")
    ax.margins(0.1)
    tidy(ax)
    ax.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax
