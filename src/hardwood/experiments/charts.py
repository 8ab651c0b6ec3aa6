"""The figures of an experiment as plain data: what is drawn as files and what the report draws are the same numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from hardwood.data.datasets import PAPER_RADII
from hardwood.experiments.cells import CurveCell, key_of
from hardwood.experiments.grid import Grid
from hardwood.experiments.log import Log
from hardwood.experiments.published import PUBLISHED
from hardwood.experiments.scores import Fit, Setting, error_at, fits_at, mean_and_error, ratios, standings

MOMENTS_PER_DECADE = 12
AROUND = 0.12
"""Decision regions are drawn this far beyond [0, 1]."""


@dataclass(frozen=True)
class Series:
    """One line or cloud of points.

    Attributes
    ----------
    name : str
    x, y : list of float
    low, high : list of float
        A band around the line; empty for none.
    labels : list of str
        What each point is; empty for lines.
    marked : list of [x, y]
        Points of a line that stand out.
    """

    name: str
    x: list[float]
    y: list[float]
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    marked: list[list[float]] = field(default_factory=list)


@dataclass(frozen=True)
class Chart:
    """A chart of lines, of points over depths, or of dots with error bars beside names.

    Attributes
    ----------
    kind : {"lines", "points", "dots"}
    title, x_label, y_label : str
    series : list of Series
        Of dots, `Series.y` counts names from the top and the band is the error bar.
    x_log : bool
        Whether the x axis is logarithmic.
    steps : bool
        Whether lines keep their value until the next point.
    names : list of str
        The rows of a chart of dots.
    """

    kind: str
    title: str
    x_label: str
    y_label: str
    series: list[Series]
    x_log: bool = False
    steps: bool = False
    names: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class Regions:
    """What a tree of two features answers where.

    Attributes
    ----------
    title : str
    radius : float
        Of the boxes around the samples.
    rectangles : list of [x0, x1, y0, y1, class]
    samples : list of [x, y, class]
    feature_names : list of str
    """

    title: str
    radius: float
    rectangles: list[list[float]]
    samples: list[list[float]]
    feature_names: list[str]
    kind: str = "regions"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def charts_of(grid: Grid, log: Log) -> dict[str, Chart | list[Regions]]:
    """Return the charts of an experiment by the names of their files; those without data are left out."""
    charts: dict[str, Chart | list[Regions]] = {}
    if grid.kind == "selection":
        charts[f"{grid.name}-means"] = means(grid, log)
    elif grid.kind == "curve":
        charts[f"{grid.name}-curves"] = curves(grid, log)
    elif grid.kind == "fit":
        if grid.bounds:
            charts[f"{grid.name}-groot"] = ratio_chart(grid, log, against_bound=False)
            charts[f"{grid.name}-bound"] = ratio_chart(grid, log, against_bound=True)
        elif shows_time(grid):
            charts[f"{grid.name}-over-time"] = over_time(grid, log)
        charts[f"{grid.name}-regions"] = regions_of(grid, log)
    return {name: chart for name, chart in charts.items() if (chart if isinstance(chart, list) else chart.series)}


def shows_time(grid: Grid) -> bool:
    """Whether the mean error over time makes sense: one depth, and several instances to take the mean of."""
    return len(grid.depths) == 1 and len(grid.instances) > 1


def means(grid: Grid, log: Log) -> Chart:
    """Mean adversarial accuracy on the test part with standard errors, ours beside the paper's."""
    ours = {
        name: mean_and_error(list(standing.scores.values()))
        for name, standing in standings(grid, log).items()
        if standing.scores
    }
    # The published means are over the paper's 24 instances and comparable to none but these.
    comparable = {(dataset, radius) for dataset, radii in PAPER_RADII.items() for radius in radii} == set(
        grid.instances
    )
    theirs = {name: row[:2] for name, row in PUBLISHED.items() if comparable}
    names = sorted(theirs | ours, key=lambda name: -(theirs | ours)[name][0])
    series = [_dots(title, values, names) for title, values in (("here", ours), ("published", theirs)) if values]
    return Chart(
        "dots",
        "Adversarial accuracy on the test part",
        "mean ± standard error",
        "",
        series if ours else [],
        names=names,
    )


def _dots(title: str, values: Mapping[str, tuple[float, float]], names: list[str]) -> Series:
    shown = [(names.index(name), mean, 0.0 if math.isnan(error) else error) for name, (mean, error) in values.items()]
    return Series(
        title,
        [mean for _, mean, _ in shown],
        [float(row) for row, _, _ in shown],
        low=[mean - error for _, mean, error in shown],
        high=[mean + error for _, mean, error in shown],
        labels=[names[row] for row, _, _ in shown],
    )


def curves(grid: Grid, log: Log) -> Chart:
    """Bound on the adversarial accuracy of every model against the radius (the paper's figure of ε-curves)."""
    series = []
    for dataset in grid.datasets:
        curve = log.curve(key_of(CurveCell(dataset)))
        if curve is not None:
            bound_at = dict(zip(curve.epsilons, curve.bound, strict=True))
            marked = [[radius, bound_at[radius]] for radius in curve.chosen]
            series.append(Series(dataset, list(curve.epsilons), list(curve.bound), marked=marked))
    title = "No model can do better (marked: the radii chosen)"
    return Chart("lines", title, "radius ε of the attack", "bound on adversarial accuracy", series)


def over_time(grid: Grid, log: Log) -> Chart:
    """Median training error of the methods over time, with bands that hold the middle half of the instances."""
    start = 0.01
    count = int(np.ceil(np.log10(grid.time_limit / start) * MOMENTS_PER_DECADE)) + 1
    moments = np.geomspace(start, grid.time_limit, count).tolist()
    series = []
    for method in grid.methods:
        found = list(fits_at(grid, log, method, grid.depths[0]).values())
        if not found:
            continue
        errors = np.array([[error_at(outcome, moment) for _, outcome in found] for moment in moments])
        low, median, high = np.quantile(errors, [0.25, 0.5, 0.75], axis=1).tolist()
        series.append(Series(method.name, moments, median, low=low, high=high))
    title = f"Training error over time, depth {grid.depths[0]}"
    return Chart("lines", title, "seconds", "median share of samples lost", series, x_log=True, steps=True)


def ratio_chart(grid: Grid, log: Log, *, against_bound: bool) -> Chart:
    """Ratios of training adversarial accuracies by depth: GROOT to optimal, or optimal to the bound for every model."""
    points: dict[str, list[tuple[int, float, Setting]]] = {}
    for depth in grid.depths:
        at_depth = ratios(grid, log, depth)
        for instance, ratio in (at_depth.to_bound if against_bound else at_depth.to_optimal).items():
            points.setdefault(instance[0], []).append((depth, ratio, instance))
    series = [
        Series(
            dataset,
            [float(depth) for depth, _, _ in found],
            [ratio for _, ratio, _ in found],
            labels=[f"{dataset}, ε = {instance[1]:g}" for _, _, instance in found],
        )
        for dataset, found in points.items()
    ]
    title = "Optimal trees against the bound for every model" if against_bound else "GROOT against optimal trees"
    y_label = "optimal / bound" if against_bound else "GROOT / optimal"
    return Chart("points", title, "depth", f"{y_label}, training", series)


def regions_of(grid: Grid, log: Log) -> list[Regions]:
    """Decision regions of every tree over two features whose samples were kept."""
    found = []
    for method in grid.methods:
        for depth in grid.depths:
            for fit in fits_at(grid, log, method, depth).values():
                samples = fit.outcome.samples
                if samples is not None and fit.outcome.tree.n_features == 2:
                    found.append(_regions(method.name, fit, samples))
    return found


def _regions(method: str, fit: Fit, samples: tuple[tuple[float, ...], ...]) -> Regions:
    tree = fit.outcome.tree
    low, high, label = tree.regions()
    low, high = np.clip(low, -AROUND, 1 + AROUND), np.clip(high, -AROUND, 1 + AROUND)
    score = fit.outcome.scores.train_adversarial_accuracy
    return Regions(
        title=f"{method}: {score:.0%} under attack",
        radius=fit.cell.radius,
        rectangles=[
            [*map(float, (low[k, 0], high[k, 0], low[k, 1], high[k, 1])), int(label[k])] for k in range(len(label))
        ],
        samples=[list(row) for row in samples],
        feature_names=list(tree.feature_names or ("x1", "x2")),
    )
