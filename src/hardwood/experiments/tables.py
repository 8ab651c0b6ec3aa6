"""The tables of an experiment, as Markdown, CSV and LaTeX, with the paper's published numbers beside ours."""

from __future__ import annotations

import math
from typing import Any

from hardwood.data.datasets import PAPER_RADII
from hardwood.experiments.cells import CurveCell, key_of
from hardwood.experiments.charts import shows_time
from hardwood.experiments.ensembles import ENSEMBLES
from hardwood.experiments.grid import Grid
from hardwood.experiments.log import Log
from hardwood.experiments.pairs import gain_in_hindsight, means_by_seed, paired_tests
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
from hardwood.experiments.text_table import NOTHING, TextTable
from hardwood.solvers.result import EndReason


def tables_of(grid: Grid, log: Log) -> dict[str, TextTable]:
    """Return the tables of an experiment by the names of their files."""
    if grid.kind == "selection":
        chosen = {"aggregate": aggregate, "instances": per_instance, "pairs": pairs, "seeds": by_seed}
        if len(grid.seeds) == 1 and not _is_partial(grid, log):
            del chosen["seeds"]
        return {f"{grid.name}-{name}": table(grid, log) for name, table in chosen.items()}
    if grid.kind == "curve":
        return {f"{grid.name}-radii": chosen_radii(grid, log)}
    tables = {f"{grid.name}-fits": fits(grid, log)}
    if grid.bounds:
        tables[f"{grid.name}-shares"] = shares(grid, log)
    elif shows_time(grid):
        tables[f"{grid.name}-over-time"] = over_time(grid, log)
    return tables


def _is_partial(grid: Grid, log: Log) -> bool:
    """Whether some methods have been run on more instances than others, so that their means are not comparable."""
    return len({len(standing.scores) for standing in standings(grid, log).values()}) > 1


def aggregate(grid: Grid, log: Log) -> TextTable:
    """Return the paper's table: mean adversarial accuracy, mean rank and wins, theirs and ours."""
    result = standings(grid, log)
    total, partial = len(settings_of(grid)), _is_partial(grid, log)
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
            f"Means ± standard errors over {_instances(grid)}; depth {_range(grid.depths)} by {grid.folds}-fold cross "
            f"validation, at most {grid.limit} per fit.",
            *_about_ensembles(grid),
            *(["Methods with fewer instances are not comparable by these means; see the table by seed."] * partial),
            "Ranks and wins are among the methods listed, those of the paper among its own eight (24 instances, "
            "1800 s per fit).",
        ],
    )


def per_instance(grid: Grid, log: Log) -> TextTable:
    """Return the test score of every method on every instance, with the depth that was chosen."""
    found = {method.name: final_fits(grid, log, method) for method in grid.methods}
    rows, bold, several = [], set(), len(grid.seeds) > 1
    for i, instance in enumerate(settings_of(grid)):
        here = {
            name: round(by_instance[instance].scores.test_adversarial_accuracy, 12)
            for name, by_instance in found.items()
            if instance in by_instance
        }
        row = [instance[0], f"{instance[1]:g}", *([f"{instance[2]}"] if several else [])]
        for k, name in enumerate(found, start=len(row)):
            if name not in here:
                row.append(NOTHING)
                continue
            row.append(f"{_number(here[name])} ({found[name][instance].choice})")
            if here[name] == max(here.values()):
                bold.add((i, k))
        rows.append(row)
    return TextTable(
        "Adversarial accuracy on the test part, by instance",
        ["data set", "ε", *(["seed"] if several else []), *found],
        rows,
        bold=bold,
        notes=[
            "In parentheses the depth that cross validation chose, before it the rounds of boosting, and the training "
            "radius where it is not ε."
            if any(method.name == "boosting" for method in grid.methods)
            else "In parentheses the depth that cross validation chose, and the training radius where it is not ε."
        ],
    )


def pairs(grid: Grid, log: Log) -> TextTable:
    """Return every method against one, instance by instance, with Wilcoxon's test."""
    reference, tests = paired_tests(grid, log)
    rows = [
        [
            name,
            f"{test.mean:+.4f}",
            f"{test.better}/{len(test.differences) - test.better - test.worse}/{test.worse}",
            f"{test.effect:+.2f}",
            f"{test.p:.2g}",
            str(len(test.differences)),
            f"{test.n_seeds:.2g}",
        ]
        for name, test in sorted(tests.items(), key=lambda item: item[1].mean)
    ]
    return TextTable(
        f"Differences to {reference} on the test part, under attack",
        ["method", "mean difference", "better/equal/worse", "effect", "p", "instances", "seeds"],
        rows,
        notes=[
            f"By instance, the mean over the seeds that both have, less that of {reference}; effect: rank-biserial "
            "correlation, from -1 to 1; p: Wilcoxon's signed-rank test, two-sided, without correction for several "
            "comparisons. Three radii of one set are not independent, so p is on the small side.",
            *_in_hindsight(grid, log, reference),
        ],
    )


def _in_hindsight(grid: Grid, log: Log, reference: str) -> list[str]:
    gains = gain_in_hindsight(grid, log)
    if gains is None:
        return []
    return [
        f"In hindsight: who had taken the method that does best on the test parts of each instance would be ahead of "
        f"{reference} by {gains[0]:+.4f}, and who had done so on each split by {gains[1]:+.4f}. Nobody can."
    ]


def by_seed(grid: Grid, log: Log) -> TextTable:
    """Return the mean of every method over the instances, seed by seed."""
    counts, means = means_by_seed(grid, log)
    shown = {name: of for name, of in means.items() if of}
    shared = [seed for seed in grid.seeds if shown and all(seed in of for of in shown.values())]
    together = {name: _mean({seed: of[seed] for seed in shared}) for name, of in shown.items()}
    rows = [
        [name, *(_number(of[seed]) if seed in of else NOTHING for seed in grid.seeds), _number(together[name])]
        for name, of in sorted(shown.items(), key=lambda item: together[item[0]] if shared else _mean(item[1]))
    ]
    which = "all seeds" if len(shared) == len(grid.seeds) else f"seeds {', '.join(map(str, shared)) or NOTHING}"
    return TextTable(
        "Mean adversarial accuracy on the test part, by seed",
        ["method", *(f"seed {seed} ({counts[seed]})" for seed in grid.seeds), f"mean over {which}"],
        rows,
        notes=[
            "In parentheses how many instances the methods of a seed share; means are over these. The last column has "
            "the seeds that all methods have."
        ],
    )


def _mean(values: dict[int, float]) -> float:
    return sum(values.values()) / len(values) if values else math.nan


def _instances(grid: Grid) -> str:
    several = "" if len(grid.seeds) == 1 else f" × {len(grid.seeds)} seeds"
    return f"{len(grid.instances)} instances{several}"


def _about_ensembles(grid: Grid) -> list[str]:
    """Say how ensembles are chosen, where there are some: not by the depths and limits of the trees."""
    notes = []
    for name in (method.name for method in grid.methods if method.recipe is None):
        settings = ENSEMBLES[name]
        given = {**settings["choices"], **settings["fixed"]}
        words = ", ".join(f"{key} {_value(value)}" for key, value in given.items())
        notes.append(f"{name}: {words}, by {grid.folds}-fold cross validation.")
    return notes


def _value(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(one, dict) for one in value):
        return ", ".join(f"({', '.join(f'{key} {_value(item)}' for key, item in one.items())})" for one in value)
    return " or ".join(f"{one}" for one in value) if isinstance(value, list) else f"{value}"


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
            f"{total} instances, at most {grid.limit} per fit; ratios of adversarial accuracies over the "
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
