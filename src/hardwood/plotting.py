"""Figures. Every function draws into the axes it is given, or makes some, and returns them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from hardwood.bounds import EpsilonCurve
from hardwood.errors import MissingEngineError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe & Ito's colours, which readers with any colour vision tell apart, and shapes for print.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d31")
_DASHES: tuple[str, ...] = ("solid", "dashed", "dashdot", "dotted")


def _new_axes() -> Axes:
    """Return axes on a figure of their own."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise MissingEngineError("plots need matplotlib: pip install 'hardwood[plot]'") from error
    return plt.subplots(figsize=(7, 4.2), layout="constrained")[1]


def plot_epsilon_curve(
    curve: EpsilonCurve | Mapping[str, EpsilonCurve],
    ax: Axes | None = None,
    *,
    chosen: bool = True,
    floor: bool = True,
) -> Axes:
    """Draw the bound on the adversarial accuracy against the radius (figure "epsilons" of the paper).

    Parameters
    ----------
    curve : EpsilonCurve or mapping of name to EpsilonCurve
        One curve, or several sets at once.
    ax : matplotlib axes or None
        Where to draw; new axes if None.
    chosen : bool
        Mark the radii that `EpsilonCurve.choose` takes, where the radii go far enough for it.
    floor : bool
        Draw the share of the majority class, below which no bound falls.
    """
    ax = _new_axes() if ax is None else ax
    curves = dict(curve) if isinstance(curve, Mapping) else {"no model is better": curve}
    dots: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 5.5, "markeredgecolor": "white"}
    dotted: dict[str, Any] = {"linewidth": 0.9, "linestyle": (0, (1, 2))}
    for k, (name, one) in enumerate(curves.items()):
        colour = _COLOURS[k % len(_COLOURS)]
        dash = _DASHES[(k // len(_COLOURS)) % len(_DASHES)]
        order = np.argsort(one.epsilons, kind="stable")
        radii, bound = one.epsilons[order], one.bound[order]
        ax.plot(radii, bound, color=colour, linestyle=dash, linewidth=1.8, label=name, zorder=3)
        if floor:
            ax.axhline(one.floor, color=colour, alpha=0.7, zorder=2, **dotted)
        if chosen and one.reaches(0.25):
            picked = one.choose()
            ax.plot(picked, bound[np.searchsorted(radii, picked)], color=colour, zorder=4, **dots)
    # What dots and dotted lines mean is the same for all sets, so it is said once, in grey.
    if chosen and any(one.reaches(0.25) for one in curves.values()):
        ax.plot([], [], color="0.4", label="chosen radii", **dots)
    if floor:
        ax.plot([], [], color="0.4", label="majority class", **dotted)
    ax.set_xlabel("radius ε of the attack")
    ax.set_ylabel("bound on adversarial accuracy")
    ends = [end for one in curves.values() for end in (one.epsilons.min(), one.epsilons.max())]
    if min(ends) < max(ends):
        ax.set_xlim(min(ends), max(ends))
    ax.grid(color="0.9", linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    beside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} if len(curves) > 3 else {}
    ax.legend(frameon=False, **beside)
    return ax
