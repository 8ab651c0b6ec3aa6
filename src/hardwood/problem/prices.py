"""Attackers who pay: what it costs to bring each sample to one side of a threshold, and which sums are affordable.

A leaf of a tree is an interval on every feature. Features are paid for one by one, so the cheapest way into a leaf
costs the sum over the features of the cheapest way into its interval. For a single feature that is the price of the one
side of the interval on which the sample is not yet: of ``cost_left(high)``, to get to at most `high`, and
``cost_right(low)``, to get above `low`, one is 0, and the larger one counts. A one-hot group, like a categorical
feature, is one block: its price is that of the cheapest category that the leaf admits.

Sums are compared in whole units, 2^40 to a budget, so that neither the order of a sum nor a rounding error decides; a
sum counts as affordable up to one part in 10^9 above the budget, and touching counts as reaching on both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from hardwood.arrays import BoolArray, FloatArray, IntArray
from hardwood.attack.budget import SLACK
from hardwood.errors import InvalidInputError

if TYPE_CHECKING:
    from hardwood.attack.model import AttackModel
    from hardwood.data.categories import CategoryEncoding

UNITS = 2**40
"""What a budget is worth in the whole numbers that are compared."""
AFFORDABLE = UNITS + int(UNITS * SLACK)
OUT_OF_REACH = 2**42


@dataclass(frozen=True, eq=False)
class CategoryPrices:
    """What it costs to make a sample one category or another, of a one-hot group or a categorical feature.

    Attributes
    ----------
    columns : int array of shape (n_categories,)
        The features that say "it is this one".
    yes : float
        What a feature holds where it is this one; the other of 0 and 1 where it is not.
    code : int array of shape (n_samples,)
        The category of each sample; n_categories for none of them.
    cost : float array of shape (n_samples, n_categories + 1)
        Price of becoming each category, and last none of them; infinite where that cannot be.
    """

    columns: IntArray
    yes: float
    code: IntArray
    cost: FloatArray

    def admitted(self, low: FloatArray, high: FloatArray) -> BoolArray:
        """Return which categories, and last none, the box ``(low, high]`` admits."""

        def holds(value: float) -> BoolArray:
            return np.asarray((low[self.columns] < value) & (value <= high[self.columns]))

        is_this, is_not = holds(self.yes), holds(1 - self.yes)
        others = is_not.sum() - is_not
        return np.append(is_this & (others == len(self.columns) - 1), is_not.all())

    def point(self, category: int) -> FloatArray:
        """Return the values of the columns for a category."""
        values = np.full(len(self.columns), 1 - self.yes)
        if category < len(self.columns):
            values[category] = self.yes
        return values

    def take(self, rows: Any) -> CategoryPrices:
        """Return the prices of some of the samples."""
        return replace(self, code=self.code[rows], cost=self.cost[rows])


class Prices(Protocol):
    """What an attacker pays; all arrays have one row for each sample."""

    @property
    def budget(self) -> FloatArray:
        """What can be spent on each sample; infinite for any sum."""

    @property
    def categories(self) -> Sequence[CategoryPrices]:
        """Features that are no numbers."""

    def sides(self, feature: int, thresholds: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the prices of getting to at most each threshold, and above it, of shape (n_samples, n_thresholds)."""

    def moved_to(self, feature: int, row: int, low: float, high: float) -> float:
        """Return the value at which a sample enters ``(low, high]`` at its least price."""


def in_units(cost: FloatArray, budget: FloatArray) -> IntArray:
    """Return prices of shape (n_samples, ...) in whole units of each sample's budget; see the module."""
    budget = budget.reshape(budget.shape + (1,) * (cost.ndim - 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(np.isinf(cost), np.inf, np.where((cost == 0) | np.isinf(budget), 0.0, cost / budget))
    return np.asarray(np.rint(np.minimum(share * UNITS, OUT_OF_REACH)), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class BoxPrices:
    """Prices of moves inside boxes.

    Attributes
    ----------
    X : float array of shape (n_samples, n_features)
        Samples; a missing value is everywhere, free of charge.
    lower, upper : float array of shape (n_samples, n_features)
        How far each feature can be moved at any price.
    amount, once : array of shape (n_samples, n_features)
        Price, and whether it is paid once rather than for each unit.
    integer : bool array of shape (n_features,)
    budget : float array of shape (n_samples,)
    categories : sequence of CategoryPrices
    """

    X: FloatArray
    lower: FloatArray
    upper: FloatArray
    amount: FloatArray
    once: BoolArray
    integer: BoolArray
    budget: FloatArray
    categories: Sequence[CategoryPrices]

    def sides(self, feature: int, thresholds: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the prices of getting to at most each threshold, and above it, of shape (n_samples, n_thresholds)."""
        x, amount, once = (part[:, [feature]] for part in (self.X, self.amount, self.once))
        b = np.asarray(thresholds, dtype=np.float64)[None, :]
        to, beyond = (np.floor(b), np.floor(b) + 1) if self.integer[feature] else (b, b)
        with np.errstate(invalid="ignore", over="ignore"):
            left = np.where(once, amount, amount * (x - to))
            right = np.where(once, amount, amount * (beyond - x))
        left = np.where(self.lower[:, [feature]] <= b, left, np.inf)
        right = np.where(self.upper[:, [feature]] > b, right, np.inf)
        missing = np.isnan(x)
        return np.where((x <= b) | missing, 0.0, left), np.where((x > b) | missing, 0.0, right)

    def moved_to(self, feature: int, row: int, low: float, high: float) -> float:
        """Return the value at which a sample enters ``(low, high]`` at its least price."""
        x = float(self.X[row, feature])
        if np.isnan(x) or low < x <= high:
            return x
        if x > high:
            return float(np.floor(high) if self.integer[feature] else high)
        above = float(np.nextafter(low, np.inf))
        # Beyond 2^53 the next number is a whole one, and more than 1 away.
        return max(float(np.floor(low)) + 1, above) if self.integer[feature] else above

    def price_of(self, points: FloatArray) -> FloatArray:
        """Return what it costs to move each sample to a point of its own; infinite where that cannot be."""
        with np.errstate(invalid="ignore"):
            distance = np.nan_to_num(np.abs(points - self.X))
            cost = np.where(self.once, np.where(distance > 0, self.amount, 0.0), self.amount * distance)
            cost[(points < self.lower) | (points > self.upper)] = np.inf
        cost[:, self.integer] = np.where(points != np.rint(points), np.inf, cost)[:, self.integer]
        for part in self.categories:
            cells = points[:, part.columns]
            is_yes = cells == part.yes
            code = np.where(is_yes.any(axis=1), is_yes.argmax(axis=1), len(part.columns))
            valid = ((cells == 0) | (cells == 1)).all(axis=1) & (is_yes.sum(axis=1) <= 1)
            cost[:, part.columns] = 0.0
            cost[:, part.columns[0]] = np.where(valid, part.cost[np.arange(len(code)), code], np.inf)
        return np.asarray(cost.sum(axis=1))

    def take(self, rows: Any) -> BoxPrices:
        """Return the prices of some of the samples."""
        return BoxPrices(
            self.X[rows],
            self.lower[rows],
            self.upper[rows],
            self.amount[rows],
            self.once[rows],
            self.integer,
            self.budget[rows],
            tuple(part.take(rows) for part in self.categories),
        )

    def boxes(self) -> tuple[FloatArray, FloatArray]:
        """Return the smallest boxes that hold all that is affordable; on several features at once it may be less."""
        spare = self.budget[:, None] * (1 + SLACK)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            far = np.where(self.amount > 0, spare / self.amount, np.inf)
            far = np.where(self.once, np.where(self.amount <= spare, np.inf, 0.0), far)
            lower = np.where(np.isnan(self.X), self.lower, np.maximum(self.lower, self.X - far))
            upper = np.where(np.isnan(self.X), self.upper, np.minimum(self.upper, self.X + far))
        lower, upper = np.where(self.integer, np.ceil(lower), lower), np.where(self.integer, np.floor(upper), upper)
        for part in self.categories:
            can_be = part.cost <= spare
            k = len(part.columns)
            is_this, is_not = can_be[:, :k], can_be.sum(axis=1, keepdims=True) > can_be[:, :k]
            yes, no = (is_not, is_this) if part.yes == 1 else (is_this, is_not)
            lower[:, part.columns], upper[:, part.columns] = np.where(yes, 0.0, 1.0), np.where(no, 1.0, 0.0)
        return lower, upper


def box_prices(
    matrix: FloatArray,
    ends: tuple[FloatArray, FloatArray],
    attack: AttackModel,
    names: tuple[str, ...] | None,
    classes: Sequence[Any],
    group: IntArray,
    encoding: CategoryEncoding | None,
    integer: BoolArray,
) -> BoxPrices:
    """Return what an attacker with a budget, or with one-hot groups, pays.

    Parameters
    ----------
    matrix, attack, names, group, encoding
        As in `hardwood.problem.boxes.reach_under_attack`.
    ends : pair of float arrays of shape (n_samples, n_features)
        How far features can be moved at any price.
    classes : sequence
        The label of each number in `group`; [None] for an attack that is the same for all.
    integer : bool array of shape (n_features,)
    """
    n, p = matrix.shape
    n_columns, column_names = (p, names) if encoding is None else (encoding.n_columns, encoding.names)
    source = np.arange(p) if encoding is None else encoding.source
    amount, once, budget = np.zeros((n, p)), np.zeros((n, p), bool), np.full(n, np.inf)
    models = [attack if label is None else attack.for_class(label) for label in classes]
    columns_of = _group_columns(models, matrix, names, encoding)
    categories = [_stay(matrix, columns, 1.0) for columns in columns_of]
    categories += _encoded(matrix, encoding)
    moved = _moved(ends, matrix, categories)
    for row, model in enumerate(models):
        own = np.flatnonzero(group == row)
        if model.budget is None:
            price, is_once = np.zeros((n, n_columns)), np.zeros(n_columns, bool)
        else:
            budget[own] = model.budget.totals(n)[own]
            by_column = np.zeros(n_columns, bool)
            np.logical_or.at(by_column, source, moved[own].any(axis=0) if len(own) else np.zeros(p, bool))
            for one in model.groups:
                # One price is enough for the columns of a group.
                columns = one.positions(p, names)
                by_column[columns[0]] |= not any(model.budget.names(j, p, names) for j in columns.tolist())
            price, is_once = model.budget.prices(n, n_columns, column_names, by_column)
        amount[own], once[own] = price[own][:, source], is_once[source]
        _change(categories, columns_of, model, own, amount, names, encoding)
    lower, upper = ends[0].copy(), ends[1].copy()
    for part in categories:
        lower[:, part.columns], upper[:, part.columns] = matrix[:, part.columns], matrix[:, part.columns]
    return BoxPrices(matrix, lower, upper, amount, once, integer, budget, tuple(categories))


def _group_columns(
    models: Sequence[AttackModel],
    matrix: FloatArray,
    names: tuple[str, ...] | None,
    encoding: CategoryEncoding | None,
) -> list[IntArray]:
    """Return the columns of each group that some model names; a column belongs to one group."""
    found: dict[tuple[int, ...], IntArray] = {}
    for model in models:
        for one in model.groups:
            if encoding is not None:
                raise InvalidInputError(
                    "one-hot groups and categorical features do not go together; use one of the two"
                )
            columns = one.positions(matrix.shape[1], names)
            one.codes(matrix, columns)
            for j, reach in model.named(matrix.shape[1], names).items():
                if j in columns and reach != (0.0, 0.0):
                    raise InvalidInputError(
                        f"feature {j if names is None else names[j]!r} is part of a group, whose moves say what may "
                        "happen to it; leave it out of the radii"
                    )
            found[tuple(columns.tolist())] = columns
    used = [j for key in found for j in key]
    if len(set(used)) < len(used):
        twice = next(j for j in used if used.count(j) > 1)
        name = twice if names is None else repr(names[twice])
        raise InvalidInputError(f"column {name} belongs to two groups")
    return list(found.values())


def _stay(matrix: FloatArray, columns: IntArray, yes: float) -> CategoryPrices:
    """Return a group that nobody changes."""
    cells = matrix[:, columns]
    if np.isnan(cells).any():
        raise InvalidInputError(
            "a value of a one-hot group or of a category is missing, which a price cannot be put on"
        )
    is_yes = cells == yes
    code = np.where(is_yes.any(axis=1), is_yes.argmax(axis=1), len(columns))
    cost = np.full((len(matrix), len(columns) + 1), np.inf)
    cost[np.arange(len(matrix)), code] = 0.0
    return CategoryPrices(columns, yes, code, cost)


def _encoded(matrix: FloatArray, encoding: CategoryEncoding | None) -> list[CategoryPrices]:
    if encoding is None:
        return []
    categorical = [j for j, known in enumerate(encoding.categories) if known is not None]
    return [_stay(matrix, np.flatnonzero(encoding.source == j), 0.0) for j in categorical]


def _moved(ends: tuple[FloatArray, FloatArray], matrix: FloatArray, categories: Sequence[CategoryPrices]) -> BoolArray:
    """Return which features of which samples the attacker can move at all, at some price."""
    moved: BoolArray = (ends[0] < matrix) | (ends[1] > matrix)
    for part in categories:
        moved[:, part.columns] = False
    return moved


def _change(
    categories: list[CategoryPrices],
    columns_of: list[IntArray],
    model: AttackModel,
    own: IntArray,
    amount: FloatArray,
    names: tuple[str, ...] | None,
    encoding: CategoryEncoding | None,
) -> None:
    """Write what a model lets the categories of its samples become, and for how much."""
    n_features = amount.shape[1]
    tables: list[BoolArray | None] = [None] * len(categories)
    if encoding is not None:
        encoded = [j for j, known in enumerate(encoding.categories) if known is not None]
        tables = [encoding.can_become(model, j) for j in encoded]
    for one in model.groups:
        columns = one.positions(n_features, names)
        place = next(k for k, known in enumerate(columns_of) if np.array_equal(known, columns))
        tables[place] = one.can_become()
    for part, table in zip(categories, tables, strict=True):
        if table is None:
            continue
        can_be = table[part.code[own]]
        # The columns of a group have one price; where several are named, the dearest is what it costs.
        price = amount[np.ix_(own, part.columns)].max(axis=1, initial=0.0)
        cost = np.where(can_be, price[:, None], np.inf)
        cost[np.arange(len(own)), part.code[own]] = 0.0
        part.cost[own] = cost
