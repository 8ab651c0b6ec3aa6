"""The figure of a comparison: how much accuracy the attacker takes from each learner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hardwood.evaluation.comparison import Comparison
from hardwood.plotting.style import AS_IS, ATTACKED, BOUND, FRAGILE, QUIET, new_axes, shown, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_comparison(comparison: Comparison, ax: Axes | None = None) -> Axes:
    """Draw, for each learner, the accuracy as it is and under attack, on training and held-out data.

    Parameters
    ----------
    comparison : Comparison
    ax : matplotlib axes or None
        Where to draw; new axes if None.
    """
    ax = new_axes(8, 1.4 + 0.5 * len(comparison.rows)) if ax is None else ax
    held_out = comparison.n_test > 0
    for place, row in enumerate(comparison.rows):
        for part, shift, is_filled in ((row.test or row.train, -0.12, True), (row.train, 0.16, False)):
            if held_out or is_filled:
                height, size = place + shift, 60 if is_filled else 24
                ax.plot([part.attacked, part.accuracy], [height, height], color=FRAGILE, linewidth=1.2, zorder=1)
                for value, colour in ((part.accuracy, AS_IS), (part.attacked, ATTACKED)):
                    face = colour if is_filled else "white"
                    ax.scatter([value], [height], size, facecolors=face, edgecolors=colour, linewidths=1.3, zorder=3)
        if row.train.attacked != row.train.attacked_at_most:
            part = row.test or row.train
            ax.plot([part.attacked, part.attacked_at_most], [place - 0.12] * 2, color=ATTACKED, linewidth=3, zorder=2)
    if comparison.bound > 0:
        # The bound holds for training data under attack, so it stands beside these dots and nowhere else.
        height = 0.16 if held_out else -0.12
        for place, row in enumerate(comparison.rows):
            if row.errors is not None:
                ends = [place + height - 0.17, place + height + 0.17]
                ax.plot([comparison.accuracy_bound] * 2, ends, color=BOUND, linewidth=2.2, zorder=2)
        ax.plot([], [], color=BOUND, linewidth=2.2, label="no tree keeps more under attack (training)")
    marks = [("as is", AS_IS, AS_IS), ("under attack", ATTACKED, ATTACKED)]
    if held_out:
        marks += [("same, training data", "white", QUIET)]
    for label, face, edge in marks:
        ax.scatter([], [], 45, facecolors=face, edgecolors=edge, label=label)
    ax.set_yticks(range(len(comparison.rows)), [shown(row.title) for row in comparison.rows])
    ax.set_ylim(len(comparison.rows) - 0.4, -0.9)
    part_name = "held-out" if held_out else "training"
    ax.set_xlabel(
        f"accuracy on {part_name} data, depth {comparison.max_depth}, attack: {comparison.attack}", fontsize=9
    )
    tidy(ax)
    ax.grid(visible=False, axis="y")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False, fontsize=9)
    return ax
