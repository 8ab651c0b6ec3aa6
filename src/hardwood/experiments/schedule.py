"""Which cells of a grid can run next, and what cross validation has chosen, given the results so far."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from hardwood.evaluation.methods import Method
from hardwood.evaluation.selection import Candidate, best_candidate
from hardwood.experiments.cells import BoundCell, Cell, CurveCell, FitCell, key_of
from hardwood.experiments.ensembles import EnsembleCell
from hardwood.experiments.grid import Grid
from hardwood.experiments.log import Log


def selected(grid: Grid, instance: tuple[str, float], method: Method, seed: int, log: Log) -> Candidate | None:
    """Return what cross validation chooses: the best mean adversarial accuracy on the held-out folds.

    None as long as a fold has not been run. A candidate with a failed fold is out of the question; None if all are.
    """
    scores: dict[Candidate, list[float]] = {}
    for candidate in grid.candidates(method):
        keys = [key_of(grid.fit_cell(instance, method, seed, candidate, fold)) for fold in range(grid.folds)]
        if any(key not in log.cells for key in keys):
            return None
        outcomes = [log.fit(key) for key in keys]
        found = [outcome.scores.test_adversarial_accuracy for outcome in outcomes if outcome is not None]
        if len(found) == grid.folds:
            scores[candidate] = found
    return best_candidate(scores)


def final_cell(
    grid: Grid, instance: tuple[str, float], method: Method, seed: int, log: Log
) -> FitCell | EnsembleCell | None:
    """Return the cell whose test score a table shows, once it is known which one that is."""
    if method.recipe is None:
        return grid.ensemble_cell(instance, method, seed)
    candidate = selected(grid, instance, method, seed, log)
    return None if candidate is None else grid.fit_cell(instance, method, seed, candidate)


def cells_of(grid: Grid, log: Log) -> Iterator[Cell]:
    """Yield the cells that are known to belong to the experiment, given the results so far; some more than once.

    Seeds come one after another, and within a seed instances with all their methods, so that what is stopped halfway
    compares the methods on whole instances.
    """
    if grid.kind == "curve":
        yield from map(CurveCell, grid.datasets)
        return
    if grid.bounds:
        yield from (BoundCell(*instance, seed) for instance, seed in product(grid.instances, grid.seeds))
    for seed, instance, method in product(grid.seeds, grid.instances, grid.methods):
        if grid.kind == "fit":
            yield from (grid.fit_cell(instance, method, seed, Candidate(depth)) for depth in grid.depths)
            continue
        if method.recipe is not None:
            for candidate, fold in product(grid.candidates(method), range(grid.folds)):
                yield grid.fit_cell(instance, method, seed, candidate, fold)
        final = final_cell(grid, instance, method, seed, log)
        if final is not None:
            yield final


def pending(grid: Grid, log: Log, *, retry_failed: bool = False) -> dict[str, Cell]:
    """Return the cells that can run now and have not been run, by key."""
    wanted = {key_of(cell): cell for cell in cells_of(grid, log)}
    return {key: cell for key, cell in wanted.items() if key not in log.cells or (retry_failed and log.has_failed(key))}
