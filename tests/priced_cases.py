"""Random tiny problems with budgets, prices and one-hot groups, as the package and as the oracle take them."""

from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import Any

import numpy as np

import oracle
from builders import make_tree
from hardwood import AttackModel, Tree
from priced_oracle import PricedProblem


class PricedCase:
    """A random problem: `kind` is "features", "prices", "once" (prices once only) or "groups"."""

    def __init__(self, seed: int, kind: str) -> None:
        rng = np.random.default_rng([seed, len(kind)])
        n, p = int(rng.integers(3, 8)), int(rng.integers(1, 4))
        self.kind = kind
        self.integer = rng.random(p) < (1.0 if kind == "prices" else 0.5)
        self.X = np.where(self.integer, rng.integers(0, 7, (n, p)), rng.integers(0, 13, (n, p)) / 2)
        self.groups: tuple[tuple[int, ...], ...] = ()
        self.at_most_one = bool(rng.random() < 0.4)
        if kind == "groups":
            size = int(rng.integers(2, 4))
            code = rng.integers(0, size + self.at_most_one, n)
            self.X = np.column_stack([self.X, code[:, None] == np.arange(size)]).astype(float)
            self.groups = (tuple(range(p, p + size)),)
            self.integer = np.append(self.integer, np.zeros(size, bool))
        self.y = rng.integers(0, 2, n)
        self.y[:2] = 0, 1
        self._attack(rng, n, p)
        self.tree = self._random_tree(rng)

    def _attack(self, rng: np.random.Generator, n: int, p: int) -> None:
        width = self.X.shape[1]
        radius = [[Fraction(int(rng.integers(0, 9)), 2) if rng.random() < 0.9 else inf for _ in range(p)] for _ in "du"]
        down, up = ([*one, *[Fraction(0)] * (width - p)] for one in radius)
        spec: dict[Any, Any] = {j: (float(down[j]), float(up[j])) for j in range(p)}
        model = AttackModel.parse(spec).with_integers(np.flatnonzero(self.integer).tolist())
        price, once = [Fraction(1)] * width, [True] * width
        budget: list[Any] = [inf] * n
        if self.kind == "features" or (self.kind == "groups" and rng.random() < 0.5):
            k = int(rng.integers(0, 3))
            budget = [k] * n
            model = model.with_budget(features=k)
        elif self.kind != "groups":
            price = [Fraction(int(rng.integers(0, 7)), 4) for _ in range(width)]
            once = [bool(self.kind == "once" or rng.random() < 0.4) for _ in range(width)]
            budget = [Fraction(int(rng.integers(0, 25)), 4) for _ in range(n)]
            cost = {j: {"once": float(c)} if o else float(c) for j, (c, o) in enumerate(zip(price, once, strict=True))}
            model = model.with_budget(total=[float(b) for b in budget], cost=cost)
        allowed: list[tuple[frozenset[int | None], ...]] = [()] * n
        if self.kind == "groups":
            columns = self.groups[0]
            states: list[int | None] = [*columns, *([None] if self.at_most_one else [])]
            names = {state: "" if state is None else state for state in states}
            pairs = [(a, b) for a in states for b in states if rng.random() < 0.4]
            free = bool(rng.random() < 0.3)
            moves: Any = "<>" if free else {names[a]: [names[b] for c, b in pairs if c == a] for a in states}
            model = model.with_group(columns, moves, at_most_one=self.at_most_one)
            own = [next((j for j in columns if row[j] == 1), None) for row in self.X]
            allowed = [(frozenset(states if free else [b for a, b in pairs if a == state]),) for state in own]
        self.attack = model
        base = oracle.CountedProblem(
            tuple(tuple(Fraction(float(x)) for x in row) for row in self.X),
            tuple(int(label) for label in self.y),
            (1,) * n,
            (tuple(down),) * 2,
            (tuple(up),) * 2,
            tuple(map(bool, self.integer)),
            (-inf,) * width,
            (inf,) * width,
        )
        self.tiny = PricedProblem(
            base,
            (tuple(price),) * n,
            (tuple(once),) * n,
            tuple(budget),
            self.groups,
            tuple(allowed),
            ((Fraction(1),),) * n,
        )

    def _random_tree(self, rng: np.random.Generator) -> Tree:
        width = self.X.shape[1]
        grouped = {j for columns in self.groups for j in columns}
        feature = rng.integers(0, width, 3)
        threshold = [0.5 if j in grouped else rng.integers(0, 26) / 4 for j in feature]
        leaf = [-1] * 4
        return make_tree(
            [*feature, *leaf], [*threshold, *[np.nan] * 4], [1, 3, 5, *leaf], [2, 4, 6, *leaf],
            [-1, -1, -1, *rng.integers(0, 2, 4)], np.array([0, 1]), width,
        )  # fmt: skip

    def lost(self, tree: Tree) -> list[bool]:
        """Whether each sample can be had for the budget."""
        found = []
        for i, budget in enumerate(self.tiny.budget):
            price = self.tiny.cheapest(tree, i)
            found.append(price < inf if budget == inf else price <= budget)
        return found
