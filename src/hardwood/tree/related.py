"""Attacks that hold to linear relations between features: a mixed-integer program for each sample and wrong leaf.

Leaves are boxes, so whether a sample can be brought to one without breaking a relation is a linear program for a point
inside the leaf and the sample's box, with the relations as rows; whole numbers and one-hot groups make it a
mixed-integer one, and a budget is one more row over what the changes cost. HiGHS decides it. Only samples that are lost
without the relations are asked for, leaf by leaf, and where time runs out they count as lost: without an answer the box
is a sound bound.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hardwood.arrays import BoolArray, FloatArray
from hardwood.attack.budget import SLACK
from hardwood.attack.relations import Relation
from hardwood.errors import InvalidInputError, SolverError
from hardwood.problem.prices import BoxPrices

if TYPE_CHECKING:
    from hardwood.tree.attacked import AttackedData


@dataclass(frozen=True, eq=False)
class RelatedAttacks:
    """Which samples can be fooled without breaking a relation.

    Attributes
    ----------
    fooled : bool array of shape (n_samples,)
        With an example, or undecided.
    undecided : bool array of shape (n_samples,)
        Time ran out.
    points : float array of shape (n_samples, n_features)
        Misclassified points that hold to the relations; NaN where none is known.
    """

    fooled: BoolArray
    undecided: BoolArray
    points: FloatArray


def related_attacks(data: AttackedData, relations: tuple[Relation, ...], deadline: float = math.inf) -> RelatedAttacks:
    """Find an attack on each sample that holds to the relations, until a moment of `time.monotonic`."""
    if data.tree.encoding is not None:
        raise InvalidInputError("relations are about numbers; the tree has categorical features")
    for relation in relations:
        relation.check(data.X, data.names)
    assert isinstance(data.prices, BoxPrices)
    low, high, leaf = data.regions()
    reached = data.reached_regions()
    n = len(data.label)
    fooled, undecided = np.zeros(n, bool), np.zeros(n, bool)
    points = np.full(data.X.shape, np.nan)
    rows = np.array([relation.row(data.X.shape[1], data.names) for relation in relations])
    ends = np.array([[relation.low, relation.high] for relation in relations])
    for i in range(n):
        for r in np.flatnonzero(reached[i] & (leaf != data.label[i])):
            left = deadline - time.monotonic()
            program = _Program(data.prices, i, low[r], high[r], rows, ends)
            point = program.stay() if left > 0 else None
            if point is None:
                point, is_decided = program.solve(left) if left > 0 else (None, False)
                undecided[i] |= not is_decided
            if point is not None and data.tree.predict(point[None])[0] != data.tree.classes[data.label[i]]:
                points[i] = point
                break
        undecided[i] &= bool(np.isnan(points[i]).all())
        fooled[i] = undecided[i] or not bool(np.isnan(points[i]).all())
    return RelatedAttacks(fooled, undecided, points)


class _Program:
    """One sample, one leaf: variables are the point and, where there is a budget, what each feature costs."""

    def __init__(
        self, prices: BoxPrices, i: int, low: FloatArray, high: FloatArray, rows: FloatArray, ends: FloatArray
    ) -> None:
        self.x, self.rows, self.ends = prices.X[i], rows, ends
        self.lower = np.maximum(prices.lower[i], np.nextafter(low, np.inf))
        self.upper = np.minimum(prices.upper[i], high)
        self.integer = prices.integer.copy()
        self.parts = [(part.columns, part.cost[i], part.code[i]) for part in prices.categories]
        for columns, cost, _ in self.parts:
            possible = np.isfinite(cost[: len(columns)])
            self.integer[columns] = True
            self.lower[columns] = np.maximum(0.0, np.nextafter(low[columns], np.inf))
            self.upper[columns] = np.minimum(np.where(possible, 1.0, 0.0), high[columns])
        self.lower = np.where(self.integer, np.ceil(self.lower), self.lower)
        self.upper = np.where(self.integer, np.floor(self.upper), self.upper)
        self.amount, self.once, self.budget = prices.amount[i], prices.once[i], float(prices.budget[i])

    def stay(self) -> FloatArray | None:
        """Return the sample itself, if it is in the leaf already."""
        return self.x.copy() if np.all((self.lower <= self.x) & (self.x <= self.upper)) else None

    def solve(self, time_limit: float) -> tuple[FloatArray | None, bool]:
        """Return a point, or None if there is none, and whether that is certain."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        if np.any(self.lower > self.upper):
            return None, True
        p = len(self.x)
        table, low, high = self._constraints()
        integrality = np.concatenate([self.integer, self.once]).astype(np.int64)
        bounds = Bounds(
            np.concatenate([self.lower, np.zeros(p)]),
            np.concatenate([self.upper, np.where(self.once, 1.0, np.inf)]),
        )
        answer = milp(
            np.zeros(2 * p),
            integrality=integrality,
            bounds=bounds,
            constraints=LinearConstraint(table, low, high),
            options={} if math.isinf(time_limit) else {"time_limit": time_limit},
        )
        # HiGHS, as SciPy reports it: 0 solved, 1 out of time, 2 infeasible.
        if answer.status not in (0, 1, 2):
            raise SolverError(f"HiGHS could not decide whether an attack holds to the relations: {answer.message}")
        if answer.x is None:
            return None, bool(answer.status == 2)
        point = np.where(self.integer, np.rint(answer.x[:p]), answer.x[:p])
        return np.clip(point, self.lower, self.upper), True

    def _constraints(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the rows over (point, cost variables): relations, groups, and the budget."""
        p = len(self.x)
        table = [np.concatenate([row, np.zeros(p)]) for row in self.rows]
        low, high = list(self.ends[:, 0]), list(self.ends[:, 1])
        price = np.where(np.isnan(self.x), 0.0, self.amount)
        grouped = np.zeros(p, bool)
        in_groups = np.zeros(p)
        base = 0.0
        for columns, cost, code in self.parts:
            grouped[columns] = True
            row = np.zeros(2 * p)
            row[columns] = 1.0
            table.append(row)
            low.append(0.0 if np.isfinite(cost[-1]) else 1.0)
            high.append(1.0)
            none = cost[-1] if np.isfinite(cost[-1]) else 0.0
            base += none
            in_groups[columns] = np.where(np.isfinite(cost[:-1]), cost[:-1], 0.0) - none
            assert cost[code] == 0
        if math.isinf(self.budget):
            return np.array(table), np.array(low), np.array(high)
        for j in np.flatnonzero(~grouped & (price > 0)):
            # |x - x0| <= d, or <= the width of the box times whether it changes.
            reach = max(abs(self.lower[j] - self.x[j]), abs(self.upper[j] - self.x[j])) if self.once[j] else 1.0
            if not np.isfinite(reach):
                raise InvalidInputError(
                    f"feature {j} costs once and has no limit; relations need finite radii or bounds there"
                )
            for sign in (1.0, -1.0):
                row = np.zeros(2 * p)
                row[j], row[p + j] = sign, -reach
                table.append(row)
                low.append(-np.inf)
                high.append(sign * self.x[j])
        table.append(np.concatenate([in_groups, np.where(grouped, 0.0, price)]))
        low.append(-np.inf)
        high.append(self.budget * (1 + SLACK) - base)
        return np.array(table), np.array(low), np.array(high)
