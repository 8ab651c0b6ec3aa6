"""What any model could reach, over the radius of the attack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from hardwood.bounds import EpsilonCurve
from hardwood.plotting.style import QUIET, colour_of, dash_of, new_axes, shown, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    ax = new_axes() if ax is None else ax
    curves = dict(curve) if isinstance(curve, Mapping) else {"no model is better": curve}
    dots: dict[str, Any] = {"marker": "o", "linestyle": "none", "markersize": 5.5, "markeredgecolor": "white"}
    dotted: dict[str, Any] = {"linewidth": 0.9, "linestyle": (0, (1, 2))}
    for k, (name, one) in enumerate(curves.items()):
        colour = colour_of(k)
        order = np.argsort(one.epsilons, kind="stable")
        radii, bound = one.epsilons[order], one.bound[order]
        ax.plot(radii, bound, color=colour, linestyle=dash_of(k), linewidth=1.8, label=shown(name), zorder=3)
        if floor:
            ax.axhline(one.floor, color=colour, alpha=0.7, zorder=2, **dotted)
        if chosen and one.reaches(0.25):
            picked = one.choose()
            ax.plot(picked, bound[np.searchsorted(radii, picked)], color=colour, zorder=4, **dots)
    # What dots and dotted lines mean is the same for all sets, so it is said once, in grey.
    if chosen and any(one.reaches(0.25) for one in curves.values()):
        ax.plot([], [], color=QUIET, label="chosen radii", **dots)
    if floor:
        ax.plot([], [], color=QUIET, label="majority class", **dotted)
    ax.set_xlabel("radius ε of the attack")
    ax.set_ylabel("bound on adversarial accuracy")
    ends = [end for one in curves.values() for end in (one.epsilons.min(), one.epsilons.max())]
    if min(ends) < max(ends):
        ax.set_xlim(min(ends), max(ends))
    tidy(ax)
    beside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} if len(curves) > 3 else {}
    ax.legend(frameon=False, **beside)
    return ax
