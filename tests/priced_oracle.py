"""Attackers who pay, by brute force in exact arithmetic; shares no code with the package.

A sample is a tuple of fractions. The attacker chooses a point: for each feature a value within its box (a whole number
where the feature has no others), for each group a category that the moves allow. Prices are added up as fractions, and
a point is affordable iff its price is at most the budget. Above a threshold there is no first number, so the price of
getting there is that of the threshold itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from math import inf

import oracle
from oracle import Number

NEAR = Fraction(1, 10**15)
Option = tuple[Number, dict[int, Fraction]]
Interval = tuple[Number, Number]


@dataclass(frozen=True)
class PricedProblem:
    """Prices, boxes and budgets are those of each sample, whatever made them.

    ``groups`` are the columns of one-hot groups; ``allowed[i][g]`` are the categories (columns, or None for no column)
    that sample i can become, and ``group_price[i][g]`` what any change costs.
    """

    base: oracle.CountedProblem
    price: tuple[tuple[Fraction, ...], ...]
    once: tuple[tuple[bool, ...], ...]
    budget: tuple[Number, ...]
    groups: tuple[tuple[int, ...], ...] = ()
    allowed: tuple[tuple[frozenset[int | None], ...], ...] = ()
    group_price: tuple[tuple[Fraction, ...], ...] = ()

    @property
    def numbers(self) -> list[int]:
        grouped = {j for columns in self.groups for j in columns}
        return [j for j in range(len(self.base.X[0])) if j not in grouped]

    def move(self, i: int, j: int, distance: Fraction) -> Number:
        """The price of a move of that length, or a little more; so a move of length 0 is one, too."""
        return self.price[i][j] if self.once[i][j] else self.price[i][j] * distance

    def into(self, i: int, j: int, interval: Interval) -> Option | None:
        """The cheapest value of feature j in ``(low, high]``, with its price."""
        x, (lower, upper) = self.base.X[i][j], self.base.box(i, j)
        low, high = interval
        if low < x <= high:
            return Fraction(0), {j: x}
        if x > high:
            value = Fraction(high.__floor__()) if self.base.integer[j] else Fraction(high)
            return (self.move(i, j, x - value), {j: value}) if lower <= value and value > low else None
        if self.base.integer[j]:
            value = Fraction(low.__floor__() + 1)
            return (self.move(i, j, value - x), {j: value}) if value <= min(upper, high) else None
        return (self.move(i, j, Fraction(low) - x), {j: Fraction(low) + NEAR}) if upper > low else None

    def category(self, i: int, g: int) -> int | None:
        return next((j for j in self.groups[g] if self.base.X[i][j] == 1), None)

    def categories(self, i: int, g: int) -> Iterator[tuple[Number, int | None]]:
        own = self.category(i, g)
        for other in {own, *self.allowed[i][g]}:
            yield (Fraction(0) if other == own else self.group_price[i][g]), other

    def region_price(self, i: int, region: dict[int, Interval]) -> Number:
        """The least price of any point of a region, infinite if there is none."""
        total: Number = Fraction(0)
        for j in self.numbers:
            if j in region:
                found = self.into(i, j, region[j])
                total = inf if found is None else total + found[0]
        for g, columns in enumerate(self.groups):
            prices = [
                price
                for price, category in self.categories(i, g)
                if all(region[j][0] < (1 if j == category else 0) <= region[j][1] for j in columns if j in region)
            ]
            total += min(prices, default=inf)
        return total

    def cheapest(self, tree: object, i: int) -> Number:
        """The least price of a point that the tree misclassifies, by trying points of every cell."""
        blocks: list[list[Option]] = []
        for j in self.numbers:
            cuts = sorted({Fraction(float(b)) for f, b in zip(tree.feature, tree.threshold, strict=True) if f == j})  # type: ignore[attr-defined]
            below: list[Number] = [-inf, *cuts]
            above: list[Number] = [*cuts, inf]
            cells = [self.into(i, j, interval) for interval in zip(below, above, strict=True)]
            blocks.append([cell for cell in cells if cell is not None])
        for g, columns in enumerate(self.groups):
            blocks.append(
                [
                    (price, {j: Fraction(int(j == category)) for j in columns})
                    for price, category in self.categories(i, g)
                ]
            )
        best: Number = inf
        for options in product(*blocks):
            price = sum((option[0] for option in options), Fraction(0))
            values = {j: value for option in options for j, value in option[1].items()}
            point = tuple(values[j] for j in range(len(self.base.X[0])))
            if price < best and oracle.answer(tree, point) != self.base.y[i]:
                best = price
        return best

    def thresholds(self, j: int) -> list[Fraction]:
        """One threshold in every gap between values and ends, or between whole numbers."""
        if any(j in columns for columns in self.groups):
            return [Fraction(1, 2)]
        ends = {self.base.X[i][j] for i in range(self.base.n)}
        ends |= {Fraction(e) for i in range(self.base.n) for e in self.base.box(i, j) if e not in (inf, -inf)}
        if self.base.integer[j]:
            return [Fraction(2 * k + 1, 2) for k in range(int(min(ends)) - 1, int(max(ends)) + 1)]
        ordered = sorted(ends)
        return [(a + b) / 2 for a, b in pairwise(ordered)]

    def reaches(self, region: dict[int, Interval]) -> int:
        """Bits of the samples that can be brought into a region."""
        return sum(
            1 << i for i in range(self.base.n) if self.region_price(i, region) <= self.budget[i] < inf
            or (self.budget[i] == inf and self.region_price(i, region) < inf)
        )  # fmt: skip

    def optimum(self, depth: int) -> int:
        """Least weighted errors over all trees of at most this depth, by trying all."""
        splits = [(j, b) for j in range(len(self.base.X[0])) for b in self.thresholds(j)]
        classes = sorted(set(self.base.y))
        wrong = {c: sum(1 << i for i, label in enumerate(self.base.y) if label != c) for c in classes}

        def outcomes(region: dict[int, Interval], depth: int) -> set[int]:
            here = self.reaches(region)
            found = {here & wrong[c] for c in classes}
            if depth and 0 not in found:
                for j, b in splits:
                    low, high = region.get(j, (-inf, inf))
                    if low < b < high:
                        left = outcomes({**region, j: (low, b)}, depth - 1)
                        right = outcomes({**region, j: (b, high)}, depth - 1)
                        found |= {a | c for a in left for c in right}
            return {a for a in found if not any(b != a and b & a == b for b in found)}

        weight = self.base.weight
        return min(sum(w for i, w in enumerate(weight) if lost >> i & 1) for lost in outcomes({}, depth))
