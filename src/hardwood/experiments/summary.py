"""What an experiment asked and what it found, in sentences: the report opens with them."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass
from typing import Any

import numpy as np

from hardwood.experiments.cells import CurveCell, key_of
from hardwood.experiments.charts import shows_time
from hardwood.experiments.grid import Grid
from hardwood.experiments.log import Log
from hardwood.experiments.scores import error_at, fits_at, mean_and_error, ratios, settings_of, standings
from hardwood.solvers.result import Status

QUICK = "-quick"


@dataclass(frozen=True)
class Summary:
    """An experiment in sentences.

    Attributes
    ----------
    name, title, asked : str
    found : list of str
        The most important first; empty if nothing has been run.
    is_quick : bool
        Whether it is the small version of an experiment.
    """

    name: str
    title: str
    asked: str
    found: list[str]
    is_quick: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return dict(vars(self))


def summarise(grid: Grid, log: Log) -> Summary:
    """Return what an experiment asked and found."""
    is_quick = grid.name.endswith(QUICK)
    if grid.kind == "selection":
        title, asked, found = _selection(grid, log)
    elif grid.kind == "curve":
        title, asked, found = _curve(grid, log)
    elif grid.bounds:
        title, asked, found = _optimality(grid, log)
    elif shows_time(grid):
        title, asked, found = _time(grid, log)
    else:
        title, asked, found = _fits(grid, log)
    return Summary(grid.name, f"{title} (quick)" if is_quick else title, asked, found, is_quick)


def _sets(grid: Grid) -> str:
    names = grid.datasets
    shown = ", ".join(names) if len(names) <= 4 else f"{len(names)} data sets"
    return f"{len(settings_of(grid))} instances ({shown})"


def _selection(grid: Grid, log: Log) -> tuple[str, str, list[str]]:
    asked = (
        f"Which learner keeps the most accuracy under attack on data it has not seen? {_sets(grid)}, "
        f"{len(grid.methods)} learners, depth {_span(grid.depths)} by {grid.folds}-fold cross validation, at most "
        f"{grid.limit} per fit."
    )
    done = {name: standing for name, standing in standings(grid, log).items() if standing.scores}
    means = {name: mean_and_error(list(standing.scores.values())) for name, standing in done.items()}
    order = sorted(means, key=lambda name: -means[name][0])
    found = []
    if len(order) == 1:
        found.append(f"{order[0]} was the only one that ran: {_with_error(*means[order[0]])} on average.")
    if len(order) > 1:
        best, second = order[:2]
        difference = means[best][0] - means[second][0]
        if difference > 2 * means[best][1]:
            found.append(
                f"{best} keeps the most: {_with_error(*means[best])} on average over {_many(done[best].scores)}."
            )
            found.append(f"Then {second} with {_with_error(*means[second])}, more than two standard errors below.")
        else:
            found.append(
                f"{best} ({_with_error(*means[best])}) and {second} ({_with_error(*means[second])}) keep the most on "
                f"average over {_many(done[best].scores)}; the means alone do not tell them apart."
            )
        wins = sorted(done, key=lambda name: -done[name].wins)[:3]
        found.append(
            "Best or equal to the best: " + ", ".join(f"{name} {_times(done[name].wins)}" for name in wins) + "."
        )
    return "Accuracy under attack on held-out data", asked, found


def _many(scores: Sized) -> str:
    return "one instance" if len(scores) == 1 else f"{len(scores)} instances"


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")


def _curve(grid: Grid, log: Log) -> tuple[str, str, list[str]]:
    asked = f"How strong may an attacker be before no model of any kind can resist? {', '.join(grid.datasets)}."
    outcomes = {name: log.curve(key_of(CurveCell(name))) for name in grid.datasets}
    found = [
        f"{name}: half of what a model could gain over the majority class is gone at ε = {curve.chosen[1]:g}."
        for name, curve in outcomes.items()
        if curve is not None and len(curve.chosen) > 1
    ]
    return "What no model can beat", asked, found


def _optimality(grid: Grid, log: Log) -> tuple[str, str, list[str]]:
    asked = (
        "How often is the best tree proven, how far is GROOT from it, and how far is it from what any model could "
        f"reach? {_sets(grid)}, depth {_span(grid.depths)}, at most {grid.limit} per fit."
    )
    found, total = [], len(settings_of(grid))
    for depth in grid.depths:
        here = ratios(grid, log, depth)
        if not here.proven:
            continue
        text = f"Depth {depth}: {len(here.proven)} of {total} proven optimal"
        if here.to_optimal:
            text += f"; GROOT reaches {np.mean(list(here.to_optimal.values())):.1%} of the optimum on average"
        if here.to_bound:
            text += f", the optimum {np.mean(list(here.to_bound.values())):.1%} of the bound on any model"
        found.append(f"{text}.")
    return "How good trees can be", asked, found


def _time(grid: Grid, log: Log) -> tuple[str, str, list[str]]:
    depth = grid.depths[0]
    asked = f"Who finds good trees of depth {depth} how fast? {_sets(grid)}, at most {grid.limit} per fit."
    found = []
    for moment in (moment for moment in (1.0, grid.time_limit) if moment <= grid.time_limit):
        medians = {}
        for method in grid.methods:
            errors = [error_at(outcome, moment) for _, outcome in fits_at(grid, log, method, depth).values()]
            if errors:
                medians[method.name] = float(np.median(errors))
        if medians:
            least = min(medians.values())
            best = [name for name, median in medians.items() if median <= least + 1e-12]
            found.append(
                f"After {moment:g} s the median share of samples lost is least, {least:.1%}, with {_and(best)}."
            )
    return "Training error over time", asked, list(dict.fromkeys(found))


def _fits(grid: Grid, log: Log) -> tuple[str, str, list[str]]:
    asked = f"What do learners make of {', '.join(grid.datasets)}, depth {_span(grid.depths)}?"
    found = []
    for method in grid.methods:
        outcomes = [fit.outcome for depth in grid.depths for fit in fits_at(grid, log, method, depth).values()]
        if outcomes:
            proven = sum(outcome.status is Status.OPTIMAL for outcome in outcomes)
            score = float(np.mean([outcome.scores.train_adversarial_accuracy for outcome in outcomes]))
            end = f", {proven} of {len(outcomes)} proven optimal" if proven else ""
            found.append(f"{method.name}: {score:.1%} of the training samples stay right under attack{end}.")
    return "Single fits", asked, found


def _span(depths: tuple[int, ...]) -> str:
    return f"{min(depths)} to {max(depths)}" if len(depths) > 1 else str(depths[0])


def _and(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _with_error(mean: float, error: float) -> str:
    return f"{mean:.3f}" if np.isnan(error) else f"{mean:.3f} ± {error:.3f}"
