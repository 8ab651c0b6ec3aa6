"""Charts as PNG, PDF and SVG files, with matplotlib."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hardwood.experiments.charts import AROUND, Chart, Regions
from hardwood.plotting.style import colour_of, dash_of, marker_of, new_figure, save_figure, shown, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = ("png", "pdf", "svg")


def draw(chart: Chart | list[Regions], stem: Path) -> list[Path]:
    """Write a chart as ``stem.png``, ``stem.pdf`` and ``stem.svg`` and return the paths."""
    if isinstance(chart, list):
        figure = new_figure(3.2 * len(chart), 3.6)
        for ax, regions in zip(np.atleast_1d(figure.subplots(1, len(chart))), chart, strict=True):
            draw_regions(regions, ax)
    else:
        figure = new_figure(7.4, 4.3)
        {"lines": draw_lines, "points": draw_points, "dots": draw_dots}[chart.kind](chart, figure.subplots())
    paths = [stem.with_name(f"{stem.name}.{format_}") for format_ in FORMATS]
    for path in paths:
        # No date inside, so that equal results give equal files.
        metadata = {"CreationDate": None} if path.suffix == ".pdf" else {"Date": None} if path.suffix == ".svg" else {}
        save_figure(figure, path, dpi=160, metadata=metadata)
    return paths


def draw_lines(chart: Chart, ax: Axes) -> Axes:
    """Draw lines with their bands."""
    for k, series in enumerate(chart.series):
        colour = colour_of(k)
        where = "steps-post" if chart.steps else "default"
        step: dict[str, Any] = {"step": "post"} if chart.steps else {}
        ax.plot(
            series.x,
            series.y,
            color=colour,
            linestyle=dash_of(k),
            linewidth=1.8,
            drawstyle=where,
            label=shown(series.name),
            zorder=3,
        )
        if series.low:
            ax.fill_between(series.x, series.low, series.high, color=colour, alpha=0.08, linewidth=0, **step)
        if series.marked:
            x, y = zip(*series.marked, strict=True)
            ax.plot(
                x, y, color=colour, linestyle="none", marker=marker_of(k), markersize=6.5,
                markeredgecolor="white", zorder=4,
            )  # fmt: skip
    if chart.x_log:
        ax.set_xscale("log")
    ends = [end for series in chart.series for end in (min(series.x), max(series.x))]
    ax.set_xlim(min(ends), max(ends))
    return _finish(chart, ax)


def draw_points(chart: Chart, ax: Axes) -> Axes:
    """Draw clouds of points over whole numbers, beside each other so that equal ones are seen."""
    width = 0.7 / max(1, len(chart.series))
    for k, series in enumerate(chart.series):
        x = np.array(series.x) + (k - (len(chart.series) - 1) / 2) * width
        ax.plot(
            x, series.y, color=colour_of(k), linestyle="none", marker=marker_of(k),
            markersize=6, markeredgecolor="white", markeredgewidth=0.6, label=shown(series.name), zorder=3,
        )  # fmt: skip
    ax.axhline(1, color="0.45", linewidth=0.9, linestyle=(0, (4, 3)), zorder=2)
    ax.set_xticks(sorted({value for series in chart.series for value in series.x}))
    ax.xaxis.set_major_formatter("{x:.0f}")
    return _finish(chart, ax)


def draw_dots(chart: Chart, ax: Axes) -> Axes:
    """Draw dots with error bars beside names, those of several series a little apart."""
    for k, series in enumerate(chart.series):
        height = np.array(series.y) + 0.24 * (k - (len(chart.series) - 1) / 2)
        spread = [np.array(series.x) - series.low, np.array(series.high) - series.x]
        ax.errorbar(
            series.x, height, xerr=spread, color=colour_of(k), linestyle="none", marker=marker_of(k), markersize=6,
            linewidth=1.6, label=shown(series.name), zorder=3,
        )  # fmt: skip
    ax.set_yticks(range(len(chart.names)), [shown(name) for name in chart.names])
    ax.set_ylim(len(chart.names) - 0.4, -0.6)
    return _finish(chart, ax)


def draw_regions(regions: Regions, ax: Axes) -> Axes:
    """Draw what a tree answers where, the samples, and the boxes in which the attacker can move them."""
    from matplotlib.patches import Rectangle

    for x0, x1, y0, y1, label in regions.rectangles:
        ax.add_patch(
            Rectangle((x0, y0), x1 - x0, y1 - y0, color=colour_of(int(label)), alpha=0.16, linewidth=0, zorder=1)
        )
    r = regions.radius
    box: dict[str, Any] = {"fill": False, "linewidth": 0.5, "alpha": 0.35, "zorder": 2}
    for x, y, label in regions.samples:
        ax.add_patch(Rectangle((x - r, y - r), 2 * r, 2 * r, edgecolor=colour_of(int(label)), **box))
    for label in sorted({int(sample[2]) for sample in regions.samples}):
        across, up = zip(*((x, y) for x, y, kind in regions.samples if int(kind) == label), strict=True)
        ax.plot(
            across, up, linestyle="none", marker=marker_of(label), markersize=3.4, color=colour_of(label), zorder=3,
            label=f"class {label}",
        )  # fmt: skip
    ax.set_xlim(-AROUND, 1 + AROUND)
    ax.set_ylim(-AROUND, 1 + AROUND)
    ax.set_aspect("equal")
    ax.set_xticks([0, 0.5, 1])
    ax.set_yticks([0, 0.5, 1])
    ax.set_xlabel(shown(regions.feature_names[0]))
    ax.set_ylabel(shown(regions.feature_names[1]))
    ax.set_title(shown(regions.title, 100), fontsize=10)
    return ax


def _finish(chart: Chart, ax: Axes) -> Axes:
    ax.set_title(shown(chart.title, 100), fontsize=11, loc="left")
    ax.set_xlabel(chart.x_label)
    ax.set_ylabel(chart.y_label)
    tidy(ax)
    if len(chart.series) > 4 or chart.kind == "dots":
        ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=9)
    else:
        ax.legend(frameon=False, fontsize=9)
    return ax
