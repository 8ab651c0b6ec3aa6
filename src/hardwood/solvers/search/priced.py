"""Exact search against attackers who pay: budgets, prices, one-hot groups.

What a sample has spent on the way to a node leaves less to spend below it, so its reach depends on the node; see
`src/core/priced/search.h` for the search. Here thresholds are chosen and prices put into tables.

Which thresholds matter
-----------------------
Where a change costs once, or nothing, only the values and the ends of the boxes matter, and of the gaps between them
those above a value or an upper end and below a value or a lower end: beyond an upper end the right side is out of reach
for one sample more, and before a lower end the left side is. Where each unit costs, every whole number matters, since
what is spent on it is missing elsewhere; if the feature is not declared to be whole numbers, no finite set of
thresholds is enough, and such problems are refused rather than answered for some of the trees.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import hardwood._core as _core
from hardwood.arrays import FloatArray, IntArray
from hardwood.errors import InvalidInputError, StoppedError
from hardwood.problem.endpoints import midpoint
from hardwood.problem.prices import AFFORDABLE, BoxPrices, in_units
from hardwood.problem.problem import Problem
from hardwood.solvers.result import EndReason
from hardwood.solvers.run import Run
from hardwood.solvers.solve import solve
from hardwood.tree.conversion import tree_of
from hardwood.tree.draft import Fork, Leaf, grow
from hardwood.tree.tree import Tree

MOST_PRICES = 5 * 10**7
"""Tables of more prices are refused."""
PRICES_AT_ONCE = 10**6
"""So many are computed between two looks at the clock."""
PARTS = 2**12
"""Parts of a unit of weight that the children of a split share."""
MOST_WEIGHT = 2**40
LARGEST_SCALE = 2.0**1022
"""However small weights are, parts per unit of weight are a number."""
DEEPEST = 30
"""Levels that the core can search; of deeper trees nothing is proven."""
FIRST_SLICE, LONGEST_SLICE = 0.05, 1.0
"""Seconds between two reports of what is known."""
BOX_SECONDS, BOX_SHARE = 10.0, 0.1
"""The start, a tree against the boxes of all that is affordable, gets so many seconds, but no more than this share."""


class PricedModel:
    """A problem with prices as the core takes it: thresholds, prices in units, weights as whole numbers.

    Attributes
    ----------
    thresholds : list of float arrays
        By feature.
    scale : float
        Units of weight in which the core counts, for a weight of 1.
    resolution : float
        What rounding weights to units may hide; 0 where they are whole numbers.
    """

    def __init__(self, problem: Problem) -> None:
        assert problem.prices is not None
        self.problem, self.prices = problem, problem.prices
        self.thresholds = [_thresholds(problem, self.prices, j) for j in range(problem.n_features)]
        count = sum(len(values) for values in self.thresholds)
        if count * problem.n_samples > MOST_PRICES:
            raise InvalidInputError(
                f"{count} thresholds for {problem.n_samples} samples are too many for a search with prices; "
                "use coarser numbers, fewer samples or solver='greedy'"
            )
        self.step = PARTS if problem.has_integer_weights else 1
        heaviest = float(problem.weight.sum() + problem.leaf_penalty)
        if problem.has_integer_weights:
            self.scale, self.resolution = float(PARTS), 0.0
            if heaviest * PARTS > MOST_WEIGHT:
                raise InvalidInputError(f"weights of {heaviest:g} in all are too heavy for a search with prices")
        else:
            self.scale = min(MOST_WEIGHT / 2 / heaviest, LARGEST_SCALE)
            self.resolution = (problem.n_samples + 2) / self.scale

    def core(
        self, depth: int, control: _core.Control, should_stop: Callable[[], bool] = lambda: False
    ) -> _core.PricedSearch:
        """Return the search of the core; `StoppedError` where it should stop before all prices are known."""
        problem, prices = self.problem, self.prices
        n, p = problem.n_samples, problem.n_features
        group, category = np.full(p, -1, np.int64), np.zeros(p, np.int64)
        yes_is_left = np.zeros(p, bool)
        for g, part in enumerate(prices.categories):
            group[part.columns], category[part.columns] = g, np.arange(len(part.columns))
            yes_is_left[part.columns] = part.yes == 0
        begin = np.concatenate([[0], np.cumsum([len(cuts) for cuts in self.thresholds])]).astype(np.int64)
        tables = np.zeros((2, n * begin[-1]), np.int64)
        at_once = max(1, PRICES_AT_ONCE // n)
        for j in np.flatnonzero(group < 0).tolist():
            of_feature = tables[:, n * begin[j] : n * begin[j + 1]].reshape(2, n, -1)
            for k in range(0, of_feature.shape[2], at_once):
                if should_stop():
                    raise StoppedError("stopped while prices were put into tables")
                cuts = slice(k, k + at_once)
                for table, cost in zip(of_feature, prices.sides(j, self.thresholds[j][cuts]), strict=True):
                    table[:, cuts] = in_units(cost, prices.budget)
        categories = [in_units(part.cost, prices.budget) for part in prices.categories]
        return _core.PricedSearch(
            begin,
            tables[0],
            tables[1],
            group,
            category,
            yes_is_left,
            np.concatenate([[0], np.cumsum([cost.shape[1] for cost in categories])]).astype(np.int64),
            _joined(categories),
            problem.label,
            np.floor(problem.weight * self.scale + 1e-9).astype(np.int64),
            AFFORDABLE,
            problem.n_classes,
            int(problem.leaf_penalty * self.scale),
            self.step,
            depth,
            control,
        )

    def tree(self, rows: IntArray) -> Tree:
        """Return a tree of the core with its thresholds."""

        def node(k: int) -> Leaf | Fork[int]:
            feature, threshold, left, right, label = (int(entry) for entry in rows[k])
            return Leaf(label) if left < 0 else Fork(feature, float(self.thresholds[feature][threshold]), left, right)

        return tree_of(grow(0, node), self.problem)


def _joined(tables: list[IntArray]) -> IntArray:
    return np.concatenate([np.zeros(0, np.int64), *(table.ravel() for table in tables)])


def _thresholds(problem: Problem, prices: BoxPrices, j: int) -> FloatArray:
    """Return the thresholds of a feature that an optimal tree may need; see the module."""
    if any(j in part.columns for part in prices.categories):
        return np.array([0.5])
    x = prices.X[:, j]
    x = x[~np.isnan(x)]
    lower, upper = (ends[np.isfinite(ends)] for ends in (prices.lower[:, j], prices.upper[:, j]))
    moves = (prices.lower[:, j] < prices.X[:, j]) | (prices.upper[:, j] > prices.X[:, j])
    if np.any(moves & ~prices.once[:, j] & (prices.amount[:, j] > 0)):
        return _between_all_whole_numbers(problem, prices, j)
    values = np.unique(np.concatenate([x, lower, upper]))
    is_above_ok = np.isin(values, np.concatenate([x, upper]))[:-1]
    is_below_ok = np.isin(values, np.concatenate([x, lower]))[1:]
    places = np.flatnonzero(is_above_ok & is_below_ok)
    middles = np.array([midpoint(float(values[k]), float(values[k + 1])) for k in places])
    if prices.integer[j]:
        middles = np.floor(middles) + 0.5
    return middles


def _between_all_whole_numbers(problem: Problem, prices: BoxPrices, j: int) -> FloatArray:
    if not prices.integer[j]:
        name = j if problem.feature_names is None else repr(problem.feature_names[j])
        raise InvalidInputError(
            f"feature {name} costs by the unit and is not declared to be whole numbers: no finite set of thresholds is "
            "enough for a proof. Declare it (with_integers), let a change cost once, or use solver='greedy'"
        )
    least, most = float(np.nanmin(prices.X[:, j])), float(np.nanmax(prices.X[:, j]))
    if (most - least) * problem.n_samples > MOST_PRICES:
        raise InvalidInputError(f"feature {j} has more than {MOST_PRICES // problem.n_samples} whole numbers to cut at")
    return np.arange(least, most) + 0.5


def prove_priced(problem: Problem, run: Run) -> None:
    """Search until the bound meets the incumbent or the run must stop; report what is found on the way."""
    if problem.max_depth == 0:
        run.report(bound=run.best_objective)
        return
    model = PricedModel(problem)
    run.resolution = model.resolution
    _start_from_boxes(problem, run)
    # No path asks twice about the same threshold.
    depth = max(1, min(problem.max_depth, sum(map(len, model.thresholds))))
    core = model.core(min(depth, DEEPEST), run.control, run.should_stop)
    cost = np.inf
    slice_of_time = FIRST_SLICE
    is_done = False
    while not run.should_stop():
        core.lower(int(np.ceil(run.best_objective * model.scale)))
        is_done = core.advance(min(slice_of_time, run.remaining()))
        slice_of_time = min(2 * slice_of_time, LONGEST_SLICE)
        if core.cost < cost:
            cost = core.cost
            run.report(model.tree(core.rows()))
        if depth <= DEEPEST:
            run.report(bound=min(core.bound / model.scale, run.best_objective))
        if is_done:
            return


def _start_from_boxes(problem: Problem, run: Run) -> None:
    """Report the best tree against an attacker who can use all of the boxes at once, and the greedy one."""
    boxes = problem.replace(prices=None)
    limit = min(BOX_SECONDS, BOX_SHARE * run.remaining())
    # The first two know no penalty; the trees that they would find without one are no better than a start.
    for solver in ("greedy", "relabelled", "search") if problem.leaf_penalty == 0 else ("search",):
        if run.should_stop():
            return
        answer = solve(boxes, solver, time_limit=limit, random_state=run.random_state)
        run.report(answer.tree)
        if answer.stopped_by is EndReason.INTERRUPT:
            raise KeyboardInterrupt
