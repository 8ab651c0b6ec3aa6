"""The look of every figure, in files, in notebooks and in the report: one palette, one style."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hardwood.errors import MissingEngineError
from hardwood.files import write_whole
from hardwood.markup import COLOURS
from hardwood.plain_data import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS_ON_DARK = ("#4aa8e0", "#f08a45", "#3fc79a", "#dd92bc", "#edb84d", "#9ad4f5", "#e8eaed", "#c6a565")
"""The same on a dark page."""
DASHES: tuple[Any, ...] = ("solid", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 2, 1, 2)))
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "p")
"""Shapes and dashes, for readers who see no colour and for print."""
AS_IS, ATTACKED, BOUND = COLOURS[5], COLOURS[1], COLOURS[6]
FRAGILE, QUIET = "#bdbdbd", "0.4"

_LONGEST = 40


def colour_of(index: int) -> str:
    """Return the colour of a class or curve."""
    return COLOURS[index % len(COLOURS)]


def dash_of(index: int) -> Any:
    """Return the dashes of a curve; where colours begin anew, they go with others."""
    return DASHES[(index // len(COLOURS) + index) % len(DASHES)]


def marker_of(index: int) -> str:
    """Return the shape of the points of a class or series."""
    return MARKERS[index % len(MARKERS)]


def new_axes(width: float = 7.0, height: float = 4.2) -> Axes:
    """Return axes on a figure of their own, which pyplot shows."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise _without_matplotlib() from error
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def new_figure(width: float, height: float) -> Figure:
    """Return a figure that is written to a file and known to nobody else."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise _without_matplotlib() from error
    return Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: Figure, path: Path, *, dpi: int, metadata: dict[str, Any] | None = None) -> None:
    """Write a figure in the format that the name's ending says, whole or not at all."""
    picture = io.BytesIO()
    figure.savefig(picture, format=path.suffix[1:], dpi=dpi, metadata=metadata or {})
    write_whole(path, picture.getvalue())


def _without_matplotlib() -> MissingEngineError:
    return MissingEngineError("plots need matplotlib: pip install 'hardwood[plot]'")


def tidy(ax: Axes) -> None:
    """Quiet grid, no frame on top and right."""
    ax.grid(color="0.9", linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def shown(text: Any, longest: int = _LONGEST) -> str:
    """Return a name or label from outside as matplotlib shows it letter by letter.

    Otherwise dollars would start formulas, which may not even parse, a first underscore would hide it from legends, and
    ten thousand letters would push everything else off the page.
    """
    plain = printable(text)
    if len(plain) > longest:
        plain = plain[: longest - 1] + "…"
    return (" " if plain.startswith("_") else "") + plain.replace("$", r"\$")
