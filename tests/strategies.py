"""Random tiny problems, in exact form for the oracle and as floats for the package."""

from __future__ import annotations

from fractions import Fraction
from math import inf
from typing import Any

import numpy as np
from hypothesis import strategies as st

from hardwood import AttackModel, Problem, Tree
from oracle import NoisyProblem, TinyProblem


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


@st.composite
def wild_values(draw: st.DrawFn, kind: type[np.floating], n: int) -> list[float]:
    """Values of one feature of any magnitude: heavy tails, outliers, neighbouring floats, touching decimals."""
    largest = 35 if kind is np.float32 else 300
    exponent = draw(st.integers(-largest, largest))
    unit = 10.0**exponent
    shape = draw(st.sampled_from(["grid", "outlier", "heavy tail", "neighbours", "far from zero", "anything"]))
    if shape == "grid":
        values = [draw(st.integers(-6, 6)) * unit for _ in range(n)]
    elif shape == "outlier":
        values = [draw(st.integers(0, 5)) * unit for _ in range(n)]
        values[draw(st.integers(0, n - 1))] = draw(st.sampled_from([-1.0, 1.0])) * 10.0 ** draw(
            st.integers(exponent, largest)
        )
    elif shape == "heavy tail":
        values = [10.0 ** draw(st.integers(-largest, largest)) for _ in range(n)]
    elif shape == "neighbours":
        start = kind(unit)
        values = [float(start + draw(st.integers(-3, 3)) * np.spacing(start)) for _ in range(n)]
    elif shape == "far from zero":
        values = [unit * (1000 + draw(st.integers(0, 9)) / 10) for _ in range(n)]
    else:
        numbers = st.floats(allow_nan=False, allow_infinity=False, width=32 if kind is np.float32 else 64)
        values = draw(st.lists(numbers, min_size=n, max_size=n))
    with np.errstate(over="ignore"):
        rounded = [float(kind(value)) for value in values]
    return [value if np.isfinite(value) else float(np.finfo(kind).max) for value in rounded]


@st.composite
def wild_problems(draw: st.DrawFn, max_samples: int = 6, max_features: int = 2) -> tuple[NoisyProblem, np.ndarray]:
    """Problems in numbers of any size, in exact form and as the array that a user has."""
    kinds: list[type[np.floating[Any]]] = [np.float64, np.float32]
    kind = draw(st.sampled_from(kinds))
    n, p = draw(st.integers(2, max_samples)), draw(st.integers(1, max_features))
    k = draw(st.integers(2, min(3, n)))
    columns = [draw(wild_values(kind, n)) for _ in range(p)]
    y = draw(st.permutations(list(range(k)) + draw(st.lists(st.integers(0, k - 1), min_size=n - k, max_size=n - k))))
    weight = draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))

    def radius(j: int) -> st.SearchStrategy[float]:
        """Nothing, everything, or something that has to do with the values: gaps, halves of gaps, shares of them."""
        values = sorted(set(columns[j]))
        with np.errstate(over="ignore"):
            gaps = [b - a for a in values for b in values if a < b and np.isfinite(b - a)] or [1.0]
        factor = st.sampled_from([0.0, 0.0, 0.5, 0.25, 1.0, 1e-3, 1e-12, 0.1])
        return st.one_of(
            st.builds(lambda gap, share: gap * share, st.sampled_from(gaps), factor), st.sampled_from([0.0, inf])
        )

    def reach() -> list[tuple[float, ...]]:
        return [tuple(draw(radius(j)) for j in range(p))] * k

    if draw(st.booleans()):
        down = up = reach()
    else:
        down = [tuple(draw(radius(j)) for j in range(p)) for _ in range(k)]
        up = [tuple(draw(radius(j)) for j in range(p)) for _ in range(k)]
    exact = NoisyProblem(
        tuple(tuple(Fraction(column[i]) for column in columns) for i in range(n)),
        tuple(y),
        tuple(weight),
        tuple(tuple(_exact(r) for r in row) for row in down),
        tuple(tuple(_exact(r) for r in row) for row in up),
        bits=24 if kind is np.float32 else 53,
        least_exponent=-149 if kind is np.float32 else -1074,
    )
    return exact, np.array(columns, dtype=kind).T


def _exact(radius: float) -> Fraction | float:
    return radius if radius == inf else Fraction(radius)


@st.composite
def trees_at_the_ends(draw: st.DrawFn, lower: np.ndarray, upper: np.ndarray, n_classes: int, max_depth: int) -> Tree:
    """Trees whose thresholds lie on ends of boxes, a float beside them, or midway between two of them."""
    rows: list[list[float]] = []
    n_features = lower.shape[1]
    ends = [np.unique(np.concatenate([lower[:, j], upper[:, j]])) for j in range(n_features)]
    ends = [column[np.isfinite(column)] for column in ends]

    def grow(depth: int) -> int:
        position = len(rows)
        rows.append([-1, np.nan, -1, -1, draw(st.integers(0, n_classes - 1))])
        j = draw(st.integers(0, n_features - 1))
        if depth and len(ends[j]) and draw(st.booleans()):
            a, b = (float(draw(st.sampled_from(ends[j].tolist()))) for _ in range(2))
            with np.errstate(over="ignore"):
                beside = [a, float(np.nextafter(a, -np.inf)), float(np.nextafter(a, np.inf)), a / 2 + b / 2]
            threshold = draw(st.sampled_from([value for value in beside if np.isfinite(value)]))
            rows[position] = [j, threshold, -1, -1, -1]
            rows[position][2] = grow(depth - 1)
            rows[position][3] = grow(depth - 1)
        return position

    grow(max_depth)
    feature, threshold, left, right, label = (np.array(column) for column in zip(*rows, strict=True))
    return Tree(feature, threshold, left, right, label, np.arange(n_classes), n_features)


# What breaks out of strings, comments, scripts and formulas, in one language or another.
_SHARDS = (
    '"', "'", "`", "\\", '\\"', "\\'", "\\\n", "\n", "\r\n", "\t", "\0", "\x01", "\x01f", "\x1b[2J", "\x7f", "\x85",
    "??/", '??/"};', "??<", "?", "*/", "/*", "//", "--", ";", "#", "{", "}", "{x}", "${x}", "$", "%s", "%n", '"""',
    "</script>", "<!--", "<!--<script>", "<script>alert(1)</script>", "-->", "]]>", "&amp;", "&", "<", ">", "\\N",
    "__proto__", "constructor", "_", " ", "é", "😀", "שלום", "\u202e", "\u200b", "\u2028", "\ufeff", "\uffff",
    "\U0010ffff", "a", "0", "7", "NULL", "x" * 10_000, "😀" * 2_500,
)  # fmt: skip


def hostile_texts() -> st.SearchStrategy[str]:
    """Names and labels that somebody chose in order to break what is written around them."""
    return st.lists(st.one_of(st.sampled_from(_SHARDS), st.text(max_size=3)), max_size=5).map("".join)
