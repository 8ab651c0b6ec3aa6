"""One random problem: drawn from a seed, written to a file, read again.

Numbers are kept as decimal text, which is what users have: ``"0.3"`` is the float nearest to 3/10 for the package and
3/10 for the judge. So boxes that touch in decimals touch for the judge, whatever floats make of it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

MISSING = "nan"
CATEGORIES = ("red", "green", "blue")


@dataclass(frozen=True)
class Case:
    """A problem, how its attack is spelled, and what is asked of the solvers.

    Attributes
    ----------
    X : rows of decimal text; ``"nan"`` is a missing value, columns in `categorical` hold words
    y : class of each row, 0 to n_classes - 1, all of them present
    weight : decimal text, or None for no weights
    reach : by class and feature, (down, up) as decimal text; in shares of the range where `unit` is "range"
    spelling : how the attack is written, see `checks.spelled`
    moves : by categorical column, what each category may become
    dtype : "float64", "float32" or "int64"
    integer : columns that are said to hold whole numbers, and nothing else
    minimum, maximum : by column, bounds that no value can pass, as decimal text
    """

    seed: int
    X: list[list[str]]
    y: list[int]
    weight: list[str] | None
    reach: list[list[tuple[str, str]]]
    unit: str
    spelling: str
    depth: int
    dtype: str = "float64"
    moves: dict[int, dict[str, list[str]]] = field(default_factory=dict)
    leaf_penalty: str = "0"
    min_samples_leaf: int = 0
    min_weight_fraction_leaf: str = "0"
    integer: list[int] = field(default_factory=list)
    minimum: dict[int, str] = field(default_factory=dict)
    maximum: dict[int, str] = field(default_factory=dict)
    n_jobs: int = 1
    random_state: int = 0
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Number of samples."""
        return len(self.X)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return len(self.X[0])

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return max(self.y) + 1

    @property
    def has_missing(self) -> bool:
        """Whether some value is missing."""
        return any(value == MISSING for row in self.X for value in row)

    @property
    def has_domain(self) -> bool:
        """Whether something is said of the values that there are."""
        return bool(self.integer or self.minimum or self.maximum)

    @property
    def limits_leaves(self) -> bool:
        """Whether a leaf must hold something."""
        return self.min_samples_leaf > 0 or self.min_weight_fraction_leaf != "0"

    def can_become(self, j: int) -> dict[str, list[str]]:
        """What each category that occurs in a column may be changed to, itself left out; of those that occur."""
        words = sorted({row[j] for row in self.X} - {MISSING})
        return {
            word: [target for target in self.moves[j][word] if target in words and target != word] for word in words
        }

    @property
    def weights(self) -> list[Fraction]:
        """Weights as the package sees them: floats, taken exactly."""
        return [Fraction(1)] * self.n if self.weight is None else [Fraction(float(w)) for w in self.weight]

    def to_json(self) -> str:
        """Text from which `from_json` makes the same case."""
        return json.dumps(asdict(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> Case:
        """Inverse of `to_json`."""
        data = json.loads(text)
        data.pop("failure", None)
        data["reach"] = [[(down, up) for down, up in row] for row in data["reach"]]
        for name in ("moves", "minimum", "maximum"):
            data[name] = {int(column): entry for column, entry in data.get(name, {}).items()}
        return cls(**data)

    def without_row(self, i: int) -> Case | None:
        """Return the case without one sample; None if a class would be gone."""
        y = self.y[:i] + self.y[i + 1 :]
        if set(y) != set(range(self.n_classes)) or len(y) < 2:
            return None
        weight = None if self.weight is None else self.weight[:i] + self.weight[i + 1 :]
        if weight is not None and all(float(w) == 0 for w in weight):
            return None
        return replace(self, X=self.X[:i] + self.X[i + 1 :], y=y, weight=weight)

    def without_feature(self, j: int) -> Case | None:
        """Return the case without one column; None if it is the last one."""
        if self.n_features == 1:
            return None
        by_column: dict[str, Any] = {
            name: {column - (column > j): entry for column, entry in getattr(self, name).items() if column != j}
            for name in ("moves", "minimum", "maximum")
        }
        return replace(
            self,
            X=[row[:j] + row[j + 1 :] for row in self.X],
            reach=[row[:j] + row[j + 1 :] for row in self.reach],
            integer=[column - (column > j) for column in self.integer if column != j],
            **by_column,
        )


def draw(seed: int) -> Case:
    """Draw a problem; the same seed gives the same problem."""
    rng = random.Random(seed)
    n_classes = rng.choice([2, 2, 2, 2, 3, 3, 4, rng.randint(5, 12)])
    n = max(n_classes, rng.randint(2, 9))
    p = rng.choice([1, 1, 2, 2, 3])
    y = [*range(n_classes), *(rng.randrange(n_classes) for _ in range(n - n_classes))]
    rng.shuffle(y)
    dtype = rng.choice(["float64"] * 6 + ["float32"] * 2 + ["int64"])
    columns, reaches = zip(*(_column(rng, n, n_classes, dtype) for _ in range(p)), strict=True)
    X = [[column[i] for column in columns] for i in range(n)]
    for _ in range(rng.choice([0, 0, 1, 3])):  # duplicates, of the same class or not
        X[rng.randrange(n)] = list(rng.choice(X))
    moves = {}
    if rng.random() < 0.1 and dtype != "int64":
        j = rng.randrange(p)
        moves = {j: {word: rng.sample(CATEGORIES, rng.choice([0, 0, 1, 2])) for word in CATEGORIES}}
        for row in X:
            row[j] = rng.choice(CATEGORIES)
    if rng.random() < 0.1 and dtype != "int64":
        for _ in range(rng.randint(1, 3)):
            i, j = rng.randrange(n), rng.randrange(p)
            if any(X[k][j] != MISSING for k in range(n) if k != i):
                X[i][j] = MISSING
    by_class = rng.random() < 0.3
    reach = [[reaches[j][c if by_class else 0] for j in range(p)] for c in range(n_classes)]
    spelling = rng.choice(["per class", "entries"] if by_class else ["entries", "names", "per class", "all classes"])
    unit = "raw"
    if rng.random() < 0.15 and not moves:
        unit = "range"
        shares = [[(_share(rng, down), _share(rng, up)) for down, up in row] for row in reach]
        reach = shares if by_class else [shares[0]] * n_classes
    depth = rng.choice([0, 1, 1, 2, 2, 2, 2, 3, 3, 4]) if n <= 7 else rng.choice([1, 1, 2, 2, 2, 3])
    penalised = rng.random() < 0.15 and depth <= 3
    weight = _weights(rng, n)
    case = Case(
        seed=seed,
        X=X,
        y=y,
        weight=weight,
        reach=reach,
        unit=unit,
        spelling="per class" if by_class else spelling,
        depth=depth,
        dtype=dtype,
        moves=moves,
        leaf_penalty=rng.choice(["1", "2", "0.5", "0.001"]) if penalised else "0",
        min_samples_leaf=rng.randint(1, 3) if rng.random() < 0.1 else 0,
        n_jobs=rng.choice([1, 1, 1, 2]),
        random_state=rng.randrange(1000),
        options=_options(rng) if rng.random() < 0.3 else {},
    )
    # From a generator of their own, so that a seed's other numbers stay what they were.
    return _with_leaf_weight(_with_domain(case, random.Random(f"{seed} domain")), random.Random(f"{seed} leaf"))


def _with_domain(case: Case, rng: random.Random) -> Case:
    """Say of some columns that they hold whole numbers, and that their least and largest values are bounds."""
    if case.moves or case.has_missing or case.dtype == "float32" or rng.random() < 0.8:
        return case
    if case.unit == "raw" and rng.random() < 0.7:
        case = _with_counts(case, rng.randrange(case.n_features), rng)
    integer, minimum, maximum = [], {}, {}
    for j in range(case.n_features):
        column = sorted((Fraction(row[j]), row[j]) for row in case.X)
        is_whole = all(value.denominator == 1 and abs(value) < 2**40 for value, _ in column)
        if is_whole and rng.random() < 0.8:
            integer.append(j)
        if rng.random() < 0.4:
            minimum[j] = column[0][1]
        if rng.random() < 0.4:
            maximum[j] = column[-1][1]
    return replace(case, integer=integer, minimum=minimum, maximum=maximum)


def _with_counts(case: Case, j: int, rng: random.Random) -> Case:
    """Let a column hold small counts, which move by fractions: as boxes they touch, as whole numbers they do not."""
    most = rng.choice([3, 6, 12])
    X = [[*row[:j], _as_text(Fraction(rng.randint(0, most)), case.dtype), *row[j + 1 :]] for row in case.X]
    by_class = [_radius_text(Fraction(rng.choice(["0.5", "0.5", "0.75", "0.999", "1", "1.5"]))) for _ in case.reach]
    same = all(row == case.reach[0] for row in case.reach)
    radius = [by_class[0]] * len(by_class) if same else by_class
    reach = [[*row[:j], (own, own), *row[j + 1 :]] for row, own in zip(case.reach, radius, strict=True)]
    return replace(case, X=X, reach=reach)


def _with_leaf_weight(case: Case, rng: random.Random) -> Case:
    """Demand a share of all weight in every leaf; of weights that are whole numbers, so that sums are exact."""
    is_whole = case.weight is None or all(float(w).is_integer() for w in case.weight)
    if case.min_samples_leaf or not is_whole or rng.random() < 0.9:
        return case
    return replace(case, min_weight_fraction_leaf=rng.choice(["0.07", "0.1", "0.25", "0.3", "0.5"]))


def _column(rng: random.Random, n: int, n_classes: int, dtype: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Values of one feature and, by class, how far they move; radii fit the gaps between the values."""
    kind: Callable[..., tuple[list[Fraction], Fraction]] = rng.choice(
        [_grid] * 4 + [_heavy_tail, _outlier, _magnitudes, _anywhere, _close]
    )
    if dtype == "int64":
        kind = rng.choice([_integers, _unix_times])
    values, gap = kind(rng, n)
    text = [_as_text(value, dtype) for value in values]
    radii = [Fraction(0), gap / 2, gap / 2, gap, gap / 4, 3 * gap / 2, gap * Fraction(rng.randint(1, 999), 500)]

    def radius() -> str:
        return rng.choice(["0", "inf"]) if rng.random() < 0.1 else _radius_text(rng.choice(radii))

    sided = rng.random() < 0.2
    reaches = []
    for _ in range(n_classes):
        down = radius()
        reaches.append((down, radius() if sided else down))
    return text, reaches


def _grid(rng: random.Random, n: int) -> tuple[list[Fraction], Fraction]:
    """Few decimals, so that ends touch; of any magnitude."""
    unit = Fraction(10) ** (rng.randint(-3, 1) if rng.random() < 0.7 else rng.randint(-290, 290))
    offset = rng.choice([0, 0, rng.randint(-50, 50), 10_000])
    steps = rng.choice([3, 6, 20])
    return [(offset + rng.randint(0, steps)) * unit for _ in range(n)], unit


def _heavy_tail(rng: random.Random, n: int) -> tuple[list[Fraction], Fraction]:
    values = [Fraction(float(f"{rng.lognormvariate(0, rng.choice([1, 4, 8])):.4g}")) for _ in range(n)]
    return values, Fraction(str(rng.choice([0.01, 0.1, 1.0])))


def _outlier(rng: random.Random, n: int) -> tuple[list[Fraction], Fraction]:
    values, unit = _grid(rng, n)
    far = Fraction(10) ** rng.randint(5, 300)
    values[rng.randrange(n)] = rng.choice([-1, 1]) * min(far, Fraction(10) ** 308)
    return values, unit


def _magnitudes(rng: random.Random, n: int) -> tuple[list[Fraction], Fraction]:
    values = [rng.randint(-9, 9) * Fraction(10) ** rng.randint(-300, 300) for _ in range(n)]
    return values, Fraction(10) ** rng.randint(-300, 300)


def _anywhere(rng: random.Random, n: int) -> tuple[list[Fraction], Fraction]:
    """Floats with all their digits."""
    return [Fraction(repr(rng.random())) for _ in range(n)], Fraction(str(rng.choice([0.05, 0.1, 0.3])))


def _close(rng: random.Random, n: int) -> tuple[list[Fraction], Fraction]:
    """Values that differ in the last few bits, at one place or two."""
    base = rng.choice([1.0, 0.3, 1e9, 1e-200])
    values = []
    for _ in range(n):
        value = base * rng.choice([1, 1, 2])
        for _ in range(rng.choice([0, 1, 2, 3, 5, 8, 100])):
            value = float(np.nextafter(value, np.inf))
        values.append(Fraction(repr(value)))
    return values, Fraction(repr(base / 2))


def _integers(rng: random.Random, n: int) -> tuple[list[Fraction], Fraction]:
    values = [Fraction(rng.randint(0, rng.choice([5, 30]))) for _ in range(n)]
    if rng.random() < 0.3:
        values[rng.randrange(n)] = Fraction(2**31 - 1)
    return values, Fraction(1)


def _unix_times(rng: random.Random, n: int) -> tuple[list[Fraction], Fraction]:
    values = [Fraction(1_700_000_000 + rng.randint(0, 20) * 60) for _ in range(n)]
    if rng.random() < 0.5:
        values[rng.randrange(n)] = Fraction(0)
    return values, Fraction(60)


def _as_text(value: Fraction, dtype: str) -> str:
    """Return the shortest decimal that the data type tells apart: what a user would have written."""
    if dtype == "int64":
        return str(int(value))
    if dtype == "float32":
        limit = Fraction(3 * 10**38)
        with np.errstate(under="ignore"):
            return str(np.float32(float(max(-limit, min(limit, value)))))
    limit = Fraction(10) ** 308
    return repr(float(max(-limit, min(limit, value))))


def _radius_text(radius: Fraction) -> str:
    return repr(float(radius))


def _share(rng: random.Random, radius: str) -> str:
    return radius if radius == "inf" else rng.choice(["0", "0.05", "0.1", "0.25", "0.5"])


def _weights(rng: random.Random, n: int) -> list[str] | None:
    kind = rng.choice(["none", "none", "none", "whole", "whole", "float", "uneven"])
    if kind == "none":
        return None
    if kind == "whole":
        weights = [str(rng.choice([0, 1, 1, 2, 3, 5])) for _ in range(n)]
    elif kind == "float":
        weights = [repr(round(rng.uniform(0, 3), 3)) for _ in range(n)]
    else:
        weights = [repr(10 ** rng.uniform(-6, 6)) for _ in range(n)]
    return weights if any(float(w) > 0 for w in weights) else None


def _options(rng: random.Random) -> dict[str, Any]:
    """Return options of `search`, anywhere in their ranges: none may change an objective."""
    whole = {
        "rounds": (0, 40),
        "range_rounds": (0, 10),
        "deep_rounds": (1, 80),
        "deep_range_rounds": (1, 30),
        "ascent_steps": (1, 120),
        "blocks_from": (0, 1),
        "restarts": (0, 3),
    }
    switches: tuple[str, ...] = ("first_tree", "use_memory", "use_ranges", "use_pool", "use_lazy_scan", "use_carry")
    switches += (
        "use_witness",
        "use_early_join",
        "use_blocks",
        "use_resplit",
        "use_solved",
        "use_late_branching",
        "use_doubtful_first",
        "use_room",
    )
    options: dict[str, Any] = {name: rng.randint(*ends) for name, ends in whole.items() if rng.random() < 0.3}
    return options | {name: rng.random() < 0.5 for name in switches if rng.random() < 0.5}
