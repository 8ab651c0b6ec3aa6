"""The tables of an experiment, as Markdown, CSV and LaTeX, with the paper's published numbers beside ours."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass, field

from hardwood.data.datasets import PAPER_RADII
from hardwood.experiments.cells import CurveCell, key_of
from hardwood.experiments.charts import shows_time
from hardwood.experiments.grid import Grid
from hardwood.experiments.log import Log
from hardwood.experiments.published import PUBLISHED
from hardwood.experiments.scores import (
    error_at,
    final_fits,
    fits_at,
    mean_and_error,
    ratios,
    settings_of,
    standings,
)
from hardwood.solvers.result import EndReason

NOTHING = "–"


@dataclass(frozen=True)
class TextTable:
    """Text in rows and columns.

    Attributes
    ----------
    title : str
    columns : list of str
    rows : list of list of str
    left : int
        The first so many columns are text, the others numbers.
    bold : set of (int, int)
        Row and column of the cells that stand out.
    notes : list of str
        What a reader must know to read the numbers right.
    """

    title: str
    columns: list[str]
    rows: list[list[str]]
    left: int = 1
    bold: set[tuple[int, int]] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)

    def to_markdown(self) -> str:
        """Return a pipe table under its title, with the notes below."""
        rule = ["---" if k < self.left else "---:" for k in range(len(self.columns))]
        body = [
            [f"**{cell}**" if (i, k) in self.bold else cell for k, cell in enumerate(row)]
            for i, row in enumerate(self.rows)
        ]
        lines = ["| " + " | ".join(cells) + " |" for cells in [self.columns, rule, *body]]
        return "\n".join([f"### {self.title}", "", *lines, "", *(f"{note}  " for note in self.notes)]).rstrip() + "\n"

    def to_text(self) -> str:
        """Return columns of even width, for a terminal."""
        width = [max(map(len, cells)) for cells in zip(self.columns, *self.rows, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(w) if k < self.left else cell.rjust(w)
                for k, (cell, w) in enumerate(zip(row, width, strict=True))
            )
            for row in [self.columns, ["─" * w for w in width], *self.rows]
        ]
        return "\n".join([self.title, *(line.rstrip() for line in lines), *self.notes]) + "\n"

    def to_csv(self) -> str:
        """Return columns and rows, nothing else."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(["" if cell == NOTHING else cell for cell in row] for row in self.rows)
        return text.getvalue()

    def to_latex(self) -> str:
        """Return a table in the style of the paper, for the package booktabs."""
        shape = "l" * self.left + "r" * (len(self.columns) - self.left)
        body = [
            [rf"\textbf{{{_latex(cell)}}}" if (i, k) in self.bold else _latex(cell) for k, cell in enumerate(row)]
            for i, row in enumerate(self.rows)
        ]
        lines = [" & ".join(cells) + r" \\" for cells in body]
        header = " & ".join(map(_latex, self.columns)) + r" \\"
        caption = _latex(" ".join([f"{self.title}.", *self.notes]))
        return "\n".join(
            [
                r"\begin{table}[tb]",
                r"    \centering",
                rf"    \caption{{{caption}}}",
                rf"    \begin{{tabular}}{{{shape}}}",
                r"    \toprule",
                f"    {header}",
                r"    \midrule",
                *(f"    {line}" for line in lines),
                r"    \bottomrule",
                r"    \end{tabular}",
                r"\end{table}",
                "",
            ]
        )


_LATEX = {"%": r"\%", "&": r"\&", "_": r"\_", "#": r"\#", "±": r"$\pm$", "ε": r"$\epsilon$", "≤": r"$\le$", "–": "--"}


def _latex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)


def tables_of(grid: Grid, log: Log) -> dict[str, TextTable]:
    """Return the tables of an experiment by the names of their files."""
    if grid.kind == "selection":
        return {f"{grid.name}-aggregate": aggregate(grid, log), f"{grid.name}-instances": per_instance(grid, log)}
    if grid.kind == "curve":
        return {f"{grid.name}-radii": chosen_radii(grid, log)}
    tables = {f"{grid.name}-fits": fits(grid, log)}
    if grid.bounds:
        tables[f"{grid.name}-shares"] = shares(grid, log)
    elif shows_time(grid):
        tables[f"{grid.name}-over-time"] = over_time(grid, log)
    return tables


def aggregate(grid: Grid, log: Log) -> TextTable:
    """Return the paper's table: mean adversarial accuracy, mean rank and wins, theirs and ours."""
    result = standings(grid, log)
    total = len(settings_of(grid))
    ordered = sorted(result, key=lambda name: mean_and_error(list(result[name].scores.values()))[0])
    rows = []
    for name in ordered:
        standing = result[name]
        published = PUBLISHED.get(name)
        rows.append(
            [
                name,
                _with_error(*mean_and_error(list(standing.scores.values()))),
                _with_error(*mean_and_error(standing.ranks)),
                str(standing.wins),
                f"{len(standing.scores)}/{total}",
                NOTHING if published is None else _with_error(published.accuracy, published.accuracy_error),
                NOTHING if published is None else _with_error(published.rank, published.rank_error),
                NOTHING if published is None else str(published.wins),
            ]
        )
    rows += [
        [
            name,
            *[NOTHING] * 4,
            _with_error(published.accuracy, published.accuracy_error),
            _with_error(published.rank, published.rank_error),
            str(published.wins),
        ]
        for name, published in PUBLISHED.items()
        if name not in result
    ]
    return TextTable(
        "Adversarial accuracy on the test part",
        ["method", "mean", "mean rank", "wins", "instances", "paper: mean", "paper: mean rank", "paper: wins"],
        rows,
        bold={(i, 1) for i in range(len(ordered)) if rows[i][1] == rows[len(ordered) - 1][1]},
        notes=[
            f"Means ± standard errors over {total} instances; depth {_range(grid.depths)} by {grid.folds}-fold cross "
            f"validation, at most {grid.time_limit:g} s per fit.",
            "Ranks and wins are among the methods listed, those of the paper among its own eight (24 instances, "
            "1800 s per fit).",
        ],
    )


def per_instance(grid: Grid, log: Log) -> TextTable:
    """Return the test score of every method on every instance, with the depth that was chosen."""
    found = {method.name: final_fits(grid, log, method) for method in grid.methods}
    rows, bold = [], set()
    for i, instance in enumerate(settings_of(grid)):
        here = {
            name: round(by_instance[instance].outcome.scores.test_adversarial_accuracy, 12)
            for name, by_instance in found.items()
            if instance in by_instance
        }
        row = [instance[0], f"{instance[1]:g}"]
        for k, name in enumerate(found):
            if name not in here:
                row.append(NOTHING)
                continue
            cell = found[name][instance].cell
            factor = "" if cell.radius_factor == 1 else f", {cell.radius_factor:g}ε"
            row.append(f"{_number(here[name])} (d{cell.depth}{factor})")
            if here[name] == max(here.values()):
                bold.add((i, k + 2))
        rows.append(row)
    return TextTable(
        "Adversarial accuracy on the test part, by instance",
        ["data set", "ε", *found],
        rows,
        bold=bold,
        notes=["In parentheses the depth that cross validation chose, and the training radius where it is not ε."],
    )


def shares(grid: Grid, log: Log) -> TextTable:
    """Return, by depth, how often optimality was proven, and the ratios of the paper's figure."""
    rows = []
    total = len(settings_of(grid))
    for depth in grid.depths:
        at_depth = ratios(grid, log, depth)
        rows.append(
            [
                str(depth),
                f"{len(at_depth.proven)}/{total}",
                f"{len(at_depth.proven) / total:.0%}",
                str(sum(_all_radii_proven(grid, at_depth.proven).values())),
                *_mean_and_least(list(at_depth.to_optimal.values())),
                *_mean_and_least(list(at_depth.to_bound.values())),
            ]
        )
    return TextTable(
        "Proven optima and ratios by depth, training part",
        [
            "depth",
            "proven",
            "share",
            "sets with all proven",
            "GROOT / optimal",
            "least",
            "optimal / bound",
            "least",
        ],
        rows,
        notes=[
            f"{total} instances, at most {grid.time_limit:g} s per fit; ratios of adversarial accuracies over the "
            "instances with a proof.",
        ],
    )


def _all_radii_proven(grid: Grid, proven: dict[tuple[str, float, int], float]) -> dict[str, bool]:
    by_set = dict.fromkeys(grid.datasets, True)
    for instance in settings_of(grid):
        by_set[instance[0]] &= instance in proven
    return by_set


def _mean_and_least(values: list[float]) -> tuple[str, str]:
    return (_number(sum(values) / len(values)), _number(min(values))) if values else (NOTHING, NOTHING)


def fits(grid: Grid, log: Log) -> TextTable:
    """Return every fit of a grid without selection."""
    rows = []
    for depth in grid.depths:
        for method in grid.methods:
            for (dataset, radius, _), (_, outcome) in fits_at(grid, log, method, depth).items():
                proves_nothing = outcome.bound is None or outcome.stopped_by == EndReason.HEURISTIC
                bound = NOTHING if proves_nothing else f"{outcome.bound:g}"
                rows.append(
                    [
                        dataset,
                        method.name,
                        outcome.status.value,
                        f"{radius:g}",
                        str(depth),
                        f"{outcome.objective:g}",
                        bound,
                        _number(outcome.scores.train_adversarial_accuracy),
                        _number(outcome.scores.test_adversarial_accuracy),
                        f"{outcome.seconds:.2f}",
                    ]
                )
    rows.sort(key=lambda row: (row[0], float(row[3]), int(row[4])))
    columns = ["data set", "method", "status", "ε", "depth", "errors", "bound", "training", "test", "seconds"]
    return TextTable("Fits on the training part, adversarial accuracy", columns, rows, left=3)


def over_time(grid: Grid, log: Log) -> TextTable:
    """Return the mean training error at some moments."""
    moments = [moment for moment in (0.1, 1.0, 10.0, 100.0, 1000.0) if moment < grid.time_limit] + [grid.time_limit]
    rows = []
    for method in grid.methods:
        found = list(fits_at(grid, log, method, grid.depths[0]).values())
        errors = [mean_and_error([error_at(outcome, moment) for _, outcome in found])[0] for moment in moments]
        rows.append([method.name, *(_number(error) for error in errors), str(len(found))])
    return TextTable(
        f"Mean share of training samples lost over time, depth {grid.depths[0]}",
        ["method", *(f"{moment:g} s" for moment in moments), "instances"],
        rows,
    )


def chosen_radii(grid: Grid, log: Log) -> TextTable:
    """Return the radii at 75 %, 50 % and 25 % of the bound's range, ours and the paper's."""
    rows = []
    for dataset in grid.datasets:
        curve = log.curve(key_of(CurveCell(dataset)))
        ours = NOTHING if curve is None else _radii_text(curve.chosen)
        rows.append([dataset, ours, _radii_text(PAPER_RADII[dataset]) if dataset in PAPER_RADII else NOTHING])
    return TextTable("Radii at 75 %, 50 % and 25 % of the bound's range", ["data set", "ours", "paper"], rows)


def _radii_text(radii: tuple[float, ...]) -> str:
    return ", ".join(f"{radius:g}" for radius in radii)


def _range(depths: tuple[int, ...]) -> str:
    return f"{min(depths)} to {max(depths)}" if len(depths) > 1 else str(depths[0])


def _number(value: float) -> str:
    return NOTHING if math.isnan(value) else f"{value:.4f}"


def _with_error(value: float, error: float) -> str:
    if math.isnan(value):
        return NOTHING
    return f"{value:.3f}" if math.isnan(error) else f"{value:.3f} ± {error:.3f}"
