"""Random tiny problems, in exact form for the oracle and as floats for the package."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import numpy as np
from hypothesis import strategies as st

from hardwood import AttackModel, Problem, Tree
from oracle import TinyProblem


@st.composite
def tiny_problems(
    draw: st.DrawFn, max_samples: int = 8, max_features: int = 3, max_classes: int = 4, weighted: bool = True
) -> TinyProblem:
    """Values on a coarse grid, so that ties, duplicates and touching boxes are common."""
    n = draw(st.integers(2, max_samples))
    p = draw(st.integers(1, max_features))
    k = draw(st.integers(2, min(max_classes, n)))
    grid = draw(st.sampled_from([3, 6, 12]))
    X = draw(st.lists(st.lists(st.integers(0, grid), min_size=p, max_size=p), min_size=n, max_size=n))
    # Every class occurs, so that codes and labels agree.
    y = list(range(k)) + draw(st.lists(st.integers(0, k - 1), min_size=n - k, max_size=n - k))
    y = draw(st.permutations(y))
    weight = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)) if weighted and draw(st.booleans()) else [1] * n
    if not any(weight):
        weight[0] = 1
    radius = st.sampled_from([Fraction(r, 20) for r in (0, 0, 1, 2, 2, 3, 4, 6)] + [inf])
    kind = draw(st.sampled_from(["ball", "box", "per class"]))
    if kind == "ball":
        r = draw(radius.filter(lambda r: r != inf))
        down = up = [[r] * p] * k
    elif kind == "box":
        down = [draw(st.lists(radius, min_size=p, max_size=p))] * k
        up = [draw(st.lists(radius, min_size=p, max_size=p))] * k
    else:
        down = [draw(st.lists(radius, min_size=p, max_size=p)) for _ in range(k)]
        up = [draw(st.lists(radius, min_size=p, max_size=p)) for _ in range(k)]
    return TinyProblem(
        tuple(tuple(Fraction(value, 10) for value in row) for row in X),
        tuple(y),
        tuple(weight),
        tuple(map(tuple, down)),
        tuple(map(tuple, up)),
    )


def attack_of(tiny: TinyProblem) -> AttackModel:
    """The attack of a tiny problem, as a user would write it."""
    return AttackModel.per_class(
        {
            c: [(float(d), float(u)) for d, u in zip(tiny.down[c], tiny.up[c], strict=True)]
            for c in range(len(tiny.down))
        }
    )


def problem_of(tiny: TinyProblem, max_depth: int, **others: float) -> Problem:
    """The same problem in floats."""
    return Problem.from_data(
        np.array(tiny.X, dtype=float),
        np.array(tiny.y),
        attack_of(tiny),
        max_depth,
        sample_weight=np.array(tiny.weight, dtype=float),
        **others,
    )


@st.composite
def trees(draw: st.DrawFn, n_features: int, n_classes: int, max_depth: int = 3) -> Tree:
    """Any tree, sensible or not, with thresholds on the grid of the values as well as between."""
    rows: list[list[float]] = []

    def grow(depth: int) -> int:
        position = len(rows)
        rows.append([-1, np.nan, -1, -1, 0])
        if depth == 0 or draw(st.booleans()):
            rows[position][4] = draw(st.integers(0, n_classes - 1))
        else:
            feature, threshold = draw(st.integers(0, n_features - 1)), draw(st.integers(-4, 28)) / 20
            rows[position] = [feature, threshold, grow(depth - 1), grow(depth - 1), -1]
        return position

    grow(max_depth)
    feature, threshold, left, right, label = (np.array(column) for column in zip(*rows, strict=True))
    return Tree(feature, threshold, left, right, label, np.arange(n_classes), n_features)
