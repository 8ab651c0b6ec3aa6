"""What the fits of a grid amount to: scores, ranks, ratios. All numbers of tables and charts come from here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from hardwood.experiments.cells import BoundCell, key_of
from hardwood.experiments.grid import Choice, Grid
from hardwood.experiments.log import Log, Record
from hardwood.experiments.methods import Method

Instance = tuple[str, float, int]
"""Data set, radius, seed."""


def instances_of(grid: Grid) -> list[Instance]:
    """Return all instances of a grid."""
    return [(dataset, radius, seed) for (dataset, radius), seed in product(grid.instances, grid.seeds)]


def final_records(grid: Grid, log: Log, method: Method) -> dict[Instance, Record]:
    """Return, by instance, the record of the tree that cross validation led to, where there is one."""
    found = {}
    for dataset, radius, seed in instances_of(grid):
        cell = grid.final_cell((dataset, radius), method, seed, log)
        record = None if cell is None else log.succeeded(key_of(cell))
        if record is not None:
            found[dataset, radius, seed] = record
    return found


def fit_records(grid: Grid, log: Log, method: Method, depth: int) -> dict[Instance, Record]:
    """Return, by instance, the record of a method's fit of a depth on the training part, where there is one."""
    found = {}
    for dataset, radius, seed in instances_of(grid):
        record = log.succeeded(key_of(grid.fit_cell((dataset, radius), method, seed, Choice(depth, 1.0))))
        if record is not None:
            found[dataset, radius, seed] = record
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

    scores: dict[Instance, float]
    ranks: list[int]
    wins: int


def standings(grid: Grid, log: Log) -> dict[str, Standing]:
    """Compare the methods of a grid with selection, by name."""
    scores = {
        method.name: {
            instance: float(record["result"]["test_adversarial_accuracy"])
            for instance, record in final_records(grid, log, method).items()
        }
        for method in grid.methods
    }
    ranks: dict[str, list[int]] = {name: [] for name in scores}
    for instance in instances_of(grid):
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

    proven: dict[Instance, float]
    to_optimal: dict[Instance, float]
    to_bound: dict[Instance, float]


def ratios(grid: Grid, log: Log, depth: int) -> Ratios:
    """Compare GROOT, optimal trees and the bound at one depth."""
    proven: dict[Instance, float] = {}
    greedy: dict[Instance, float] = {}
    for method in grid.methods:
        for instance, record in fit_records(grid, log, method, depth).items():
            score = record["result"]["train_adversarial_accuracy"]
            if record["result"]["status"] == "optimal":
                proven[instance] = score
            if method.name == "GROOT":
                greedy[instance] = score
    bounds = {}
    for dataset, radius, seed in instances_of(grid):
        bound_record = log.succeeded(key_of(BoundCell(dataset, radius, seed)))
        if bound_record is not None:
            bounds[dataset, radius, seed] = bound_record["result"]["bound"]
    return Ratios(
        proven,
        {instance: greedy[instance] / score for instance, score in proven.items() if instance in greedy},
        {instance: score / bounds[instance] for instance, score in proven.items() if instance in bounds},
    )


def error_at(record: Record, seconds: float) -> float:
    """Return the share of training samples that the best tree of this moment loses."""
    result = record["result"]
    known = [objective for moment, objective, _ in result["trace"] if moment <= seconds and objective is not None]
    # Before its first tree a solver has none; the first one it reports is the best leaf, so charge that.
    objective = known[-1] if known else result["trace"][0][1]
    return float(objective) / float(result["n_train"])
