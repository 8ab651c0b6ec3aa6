"""What the fits of a grid amount to: scores, ranks, ratios. All numbers of tables and charts come from here."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from hardwood.evaluation.methods import Method
from hardwood.evaluation.selection import Candidate
from hardwood.experiments.cells import BoundCell, FitCell, key_of
from hardwood.experiments.ensembles import EnsembleCell
from hardwood.experiments.grid import Grid
from hardwood.experiments.log import Log
from hardwood.experiments.outcomes import EnsembleOutcome, FitOutcome, Scores
from hardwood.experiments.schedule import final_cell
from hardwood.solvers.result import Status

Setting = tuple[str, float, int]
"""Data set, radius, seed."""


class Fit(NamedTuple):
    """A fit that ended well."""

    cell: FitCell
    outcome: FitOutcome


def settings_of(grid: Grid) -> list[Setting]:
    """Return all instances of a grid."""
    return [(dataset, radius, seed) for (dataset, radius), seed in product(grid.instances, grid.seeds)]


class Chosen(NamedTuple):
    """The model that cross validation led to: what it chose, in a few letters, and how good it is."""

    choice: str
    scores: Scores


def final_fits(grid: Grid, log: Log, method: Method) -> dict[Setting, Chosen]:
    """Return, by instance, the model that cross validation led to, where there is one."""
    found = {}
    for dataset, radius, seed in settings_of(grid):
        cell = final_cell(grid, (dataset, radius), method, seed, log)
        if cell is None:
            continue
        outcome = log.fit(key_of(cell)) or log.ensemble(key_of(cell))
        if isinstance(outcome, EnsembleOutcome) and isinstance(cell, EnsembleCell):
            given = {**json.loads(cell.settings)["fixed"], **outcome.chosen}
            found[dataset, radius, seed] = Chosen(_choice_of_ensemble(given), outcome.scores)
        elif outcome is not None and isinstance(cell, FitCell):
            found[dataset, radius, seed] = Chosen(_choice(cell.depth, cell.radius_factor), outcome.scores)
    return found


def _choice(depth: int, radius_factor: float) -> str:
    factor = "" if radius_factor == 1 else f", {radius_factor:g}ε"
    return f"d{depth}{factor}"


def _choice_of_ensemble(given: dict[str, Any]) -> str:
    if given.get("rounds") == 0:
        return "constant"
    several = f"{given['rounds']} × " if "rounds" in given else ""
    if "members" in given:
        return f"{several}{len(given['members'])} trees"
    loss = "" if given.get("loss", "logistic") == "logistic" else f", {given['loss']}"
    return f"{several}{_choice(given['max_depth'], given['radius_factor'])}{loss}"


def fits_at(grid: Grid, log: Log, method: Method, depth: int) -> dict[Setting, Fit]:
    """Return, by instance, a method's fit of a depth on the training part, where there is one."""
    found = {}
    for dataset, radius, seed in settings_of(grid):
        cell = grid.fit_cell((dataset, radius), method, seed, Candidate(depth))
        outcome = log.fit(key_of(cell))
        if outcome is not None:
            found[dataset, radius, seed] = Fit(cell, outcome)
    return found


@dataclass(frozen=True)
class Standing:
    """How a method does over the instances.

    Attributes
    ----------
    scores : dict
        Adversarial accuracy on the test part by instance.
    ranks : list of float
        1 for the best method of an instance; methods that are equally good share the better rank.
    wins : int
        Instances with rank 1.
    """

    scores: dict[Setting, float]
    ranks: list[int]
    wins: int


def standings(grid: Grid, log: Log) -> dict[str, Standing]:
    """Compare the methods of a grid with selection, by name."""
    scores = {
        method.name: {
            instance: chosen.scores.test_adversarial_accuracy
            for instance, chosen in final_fits(grid, log, method).items()
        }
        for method in grid.methods
    }
    ranks: dict[str, list[int]] = {name: [] for name in scores}
    for instance in settings_of(grid):
        here = {
            name: round(by_instance[instance], 12) for name, by_instance in scores.items() if instance in by_instance
        }
        for name, score in here.items():
            ranks[name].append(1 + sum(other > score for other in here.values()))
    return {name: Standing(scores[name], ranks[name], ranks[name].count(1)) for name in scores}


def mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    """Return mean and standard error; not a number where there are too few values."""
    if not values:
        return math.nan, math.nan
    error = float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan
    return float(np.mean(values)), error


@dataclass(frozen=True)
class Ratios:
    """Trees of one depth compared with each other and with the bound for every model, on the training part.

    Attributes
    ----------
    proven : dict
        Adversarial accuracy of proven optimal trees by instance.
    to_optimal : dict
        By instance, GROOT's adversarial accuracy over the optimal one, where that is proven.
    to_bound : dict
        By instance, the optimal adversarial accuracy over the bound for every model.
    """

    proven: dict[Setting, float]
    to_optimal: dict[Setting, float]
    to_bound: dict[Setting, float]


def ratios(grid: Grid, log: Log, depth: int) -> Ratios:
    """Compare GROOT, optimal trees and the bound at one depth."""
    proven: dict[Setting, float] = {}
    greedy: dict[Setting, float] = {}
    for method in grid.methods:
        for instance, (_, outcome) in fits_at(grid, log, method, depth).items():
            score = outcome.scores.train_adversarial_accuracy
            if outcome.status is Status.OPTIMAL:
                proven[instance] = score
            if method.name == "GROOT":
                greedy[instance] = score
    bounds = {}
    for dataset, radius, seed in settings_of(grid):
        bound = log.bound(key_of(BoundCell(dataset, radius, seed)))
        if bound is not None:
            bounds[dataset, radius, seed] = bound.bound
    return Ratios(
        proven,
        {instance: greedy[instance] / score for instance, score in proven.items() if instance in greedy},
        {instance: score / bounds[instance] for instance, score in proven.items() if instance in bounds},
    )


def error_at(outcome: FitOutcome, seconds: float) -> float:
    """Return the share of training samples that the best tree of this moment loses."""
    known = [(moment, objective) for moment, objective, _ in outcome.trace if objective is not None]
    # Before its first tree a solver has none; the first one it reports is the best leaf, so charge that.
    first = known[0][1] if known else outcome.objective
    so_far = [first, *(objective for moment, objective in known if moment <= seconds)]
    return so_far[-1] / outcome.n_train
