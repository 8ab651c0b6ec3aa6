"""Tiny problems for the exact search, and what must hold of every answer."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import numpy as np

from hardwood.solvers.result import Result, Status
from oracle import TinyProblem


def random_tiny(rng: np.random.Generator, max_samples: int) -> TinyProblem:
    """Values on a coarse grid: ties, duplicates and touching boxes are common; some reach is infinite."""
    n = int(rng.integers(2, max_samples + 1))
    p = int(rng.integers(1, 4))
    k = int(rng.integers(2, min(4, n) + 1))
    grid = int(rng.choice([2, 5, 11]))
    y = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    rng.shuffle(y)
    radii = [Fraction(r, 20) for r in (0, 0, 1, 2, 2, 3, 4, 6)] + [inf]

    def reach(per_class: bool) -> tuple[tuple[Fraction | float, ...], ...]:
        rows = [tuple(radii[rng.integers(len(radii))] for _ in range(p)) for _ in range(k if per_class else 1)]
        return tuple(rows) if per_class else tuple(rows) * k

    kind = rng.integers(3)
    if kind == 0:
        radius = radii[rng.integers(len(radii) - 1)]
        down = up = ((radius,) * p,) * k
    else:
        down, up = reach(kind == 2), reach(kind == 2)
    weight = rng.integers(0, 5, n) if rng.random() < 0.5 else np.ones(n, int)
    weight[0] = max(1, weight[0])
    X = rng.integers(0, grid, (n, p))
    return TinyProblem(
        tuple(tuple(Fraction(int(v), 10) for v in row) for row in X),
        tuple(map(int, y)),
        tuple(map(int, weight)),
        down,
        up,
    )


def assert_sound(result: Result, optimum: float) -> None:
    """At every moment the bound is at most the optimum, and the objective at least."""
    for point in result.trace:
        assert point.bound <= optimum <= point.objective
    if result.status is Status.OPTIMAL:
        assert result.objective == optimum
