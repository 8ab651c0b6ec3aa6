"""The true answers of tiny problems, by trying everything in exact arithmetic; imports nothing of the package.

A tree loses a set of samples, and a set that contains one that can be lost can be called lost too: what can be lost is
a family of sets that is closed under supersets. Of two subtrees joined by a split, what they lose together is the
*intersection* of their families; of several splits to choose from, the union of theirs. A family over n samples is a
whole number of 2^n bits, so both are one operation, and all trees are tried in the time of a few thousand of them.

Places on a feature are whole numbers of 10^-360, which holds every decimal that stands for a float, or infinite.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from itertools import pairwise
from math import inf, lcm, ulp
from typing import Any

import numpy as np

from fuzz.cases import MISSING, Case

Place = int | float
Box = tuple[Place, Place]
Noise = dict[int, list[tuple[int, int]]]
PARTS = 10**360
"""Parts of a unit in which places are counted."""
LARGEST = int(np.finfo(np.float64).max) * PARTS
MEANT = 10**9
"""Ends that rounding or this part of the reach tells apart may count as one or as two."""


@dataclass(frozen=True)
class Truth:
    """Boxes of the numeric columns and sides of the categorical tests, for one way to round.

    Attributes
    ----------
    boxes : by numeric column, the box of each sample
    tests : masks of the samples that can go left (is the category) and right, of all tests of categories
    """

    boxes: dict[int, list[Box]]
    tests: list[tuple[int, int]]

    def splits(self) -> set[tuple[int, int]]:
        """Masks of the samples that can go left and right, of one threshold in every gap between ends, and of tests."""
        found = set(self.tests)
        for boxes in self.boxes.values():
            ends = sorted({end for box in boxes for end in box if end not in (inf, -inf)})
            rank = {end: r for r, end in enumerate(ends)} | {-inf: -1, inf: len(ends)}
            ranked = [(rank[low], rank[high]) for low, high in boxes]
            for gap in range(len(ends) - 1):
                left = sum(1 << i for i, (low, _) in enumerate(ranked) if low <= gap)
                right = sum(1 << i for i, (_, high) in enumerate(ranked) if high > gap)
                found.add((left, right))
        return found

    def conflict(self, i: int, k: int) -> bool:
        """Whether the attacker can make two samples equal, as far as any model sees."""
        meet = all(max(b[i][0], b[k][0]) <= min(b[i][1], b[k][1]) for b in self.boxes.values())
        # Both reach left or both reach right, at every test.
        return meet and all(left >> i & left >> k & 1 or right >> i & right >> k & 1 for left, right in self.tests)


def truths(case: Case, noise: Noise | None = None) -> Iterator[Truth]:
    """The exact boxes if no two ends can be confused by rounding, else boxes a bit too small and a bit too large."""
    exact, tests = _boxes(case), _tests(case)
    noise = noise_of_ends(case) if noise is None else noise
    if _is_clear(_cut(exact, case), noise):
        yield Truth(_cut(exact, case), tests)
        return
    for share in (-4, 4):
        moved = {
            j: [
                _resized(box, slack, share, case.X[i][j])
                for i, (box, slack) in enumerate(zip(boxes, noise[j], strict=True))
            ]
            for j, boxes in exact.items()
        }
        yield Truth(_cut(moved, case), tests)


def _cut(boxes: dict[int, list[Box]], case: Case) -> dict[int, list[Box]]:
    """Return what bounds and whole numbers leave of the boxes."""

    def cut(j: int, box: Box) -> Box:
        low, high = box
        if j in case.minimum:
            low = max(low, _place(case.minimum[j]))
        if j in case.maximum:
            high = min(high, _place(case.maximum[j]))
        if j in case.integer:
            low = low if low == -inf else -(-int(low) // PARTS) * PARTS
            high = high if high == inf else int(high) // PARTS * PARTS
        return low, high

    return {j: [cut(j, box) for box in column] for j, column in boxes.items()}


def decimal(value: float) -> Place:
    """Return the place of a float's shortest decimal, which keeps the order of floats."""
    return value if abs(value) == inf else _place(repr(value))


@lru_cache(maxsize=10_000)
def _place(text: str) -> int:
    exact = Fraction(text) * PARTS
    assert exact.denominator == 1, f"{text} has too many digits"
    return int(exact)


def _radius(case: Case, i: int, j: int, side: int) -> Place:
    text = case.reach[case.y[i]][j][side]
    if text == "inf":
        return inf
    if case.unit == "raw":
        return _place(text)
    present = [_place(row[j]) for row in case.X if row[j] != MISSING]
    return _place(text) * (max(present) - min(present)) // PARTS


def _resized(box: Box, noise: tuple[int, int], share: int, value: str) -> Box:
    """Move both ends outwards by so many times their noise; inwards, not past the sample itself."""
    low, high = box
    if low != -inf:
        low = min(low - share * noise[0], _place(value))
    if high != inf:
        high = max(high + share * noise[1], _place(value))
    return low, high


def _boxes(case: Case) -> dict[int, list[Box]]:
    return {j: [_box(case, i, j) for i in range(case.n)] for j in range(case.n_features) if j not in case.moves}


def _box(case: Case, i: int, j: int) -> Box:
    if case.X[i][j] == MISSING:
        return -inf, inf
    value = _place(case.X[i][j])
    down, up = _radius(case, i, j, 0), _radius(case, i, j, 1)
    low = -inf if down == inf else value - down
    high = inf if up == inf else value + up
    # What no float can hold is without end.
    return (-inf if low < -LARGEST else low), (inf if high > LARGEST else high)


def noise_of_ends(case: Case) -> Noise:
    """What rounding can have done to each end: 0 where the attacker does not move it."""
    single = case.dtype == "float32"
    most = 1e38 if single else 1e308

    def of_end(i: int, j: int, side: int) -> int:
        radius = _radius(case, i, j, side)
        if case.X[i][j] == MISSING or radius in (0, inf):
            return 0
        assert isinstance(radius, int)
        size = min(abs(_place(case.X[i][j])) + radius, int(most) * PARTS) / PARTS
        above, below = (float(np.spacing(np.float32(size))) if single else ulp(size)).as_integer_ratio()
        return max(-(-radius // MEANT), -(-4 * above * PARTS // below))

    return {
        j: [(of_end(i, j, 0), of_end(i, j, 1)) for i in range(case.n)]
        for j in range(case.n_features)
        if j not in case.moves
    }


def _is_clear(exact: dict[int, list[Box]], noise: Noise) -> bool:
    """Whether ends of a feature are equal or farther apart than any rounding."""
    for j, boxes in exact.items():
        widest: dict[Place, int] = {}
        for box, slacks in zip(boxes, noise[j], strict=True):
            for end, slack in zip(box, slacks, strict=True):
                widest[end] = max(slack, widest.get(end, slack))
        ends = sorted(end for end in widest if end not in (inf, -inf))
        if any(b - a <= 10 * max(widest[a], widest[b]) for a, b in pairwise(ends)):
            return False
    return True


def _tests(case: Case) -> list[tuple[int, int]]:
    """For each category: who can be it (left), and who can be something else (right)."""
    found = []
    for j in case.moves:
        can_become = case.can_become(j)
        for word in can_become:
            left = right = 0
            for i, row in enumerate(case.X):
                can_be = {row[j], *can_become.get(row[j], ())}
                left |= (row[j] == MISSING or word in can_be) << i
                right |= (row[j] == MISSING or bool(can_be - {word})) << i
            found.append((left, right))
    return found


@cache
def _supersets(n: int) -> list[int]:
    """For every set of n samples, the family of its supersets."""
    size = 1 << n
    having = [sum(1 << s for s in range(size) if s >> b & 1) for b in range(n)]
    families = [(1 << size) - 1]
    for members in range(1, size):
        lowest = (members & -members).bit_length() - 1
        families.append(families[members & (members - 1)] & having[lowest])
    return families


def optimum(case: Case, truth: Truth) -> Fraction:
    """Least weighted robust errors plus leaf penalty over all trees of the depth that is asked for."""
    n, weights = case.n, case.weights
    # A share of weight may be missed by one part in 10^9.
    least_weight = Fraction(case.min_weight_fraction_leaf) * sum(weights) * (1 - Fraction(1, 10**9))
    supersets = _supersets(n)
    splits = sorted(truth.splits())
    of_class = [sum(1 << i for i in range(n) if case.y[i] == c) for c in range(case.n_classes)]
    everyone = (1 << n) - 1
    penalty = Fraction(float(case.leaf_penalty))
    # Without a penalty the number of leaves does not matter: one family for all of them.
    most_leaves = 1 if penalty == 0 else 1 << case.depth

    def may_be_leaf(certain: int) -> bool:
        weight = sum((weights[i] for i in range(n) if certain >> i & 1), Fraction(0))
        return certain.bit_count() >= case.min_samples_leaf and weight >= least_weight

    @cache
    def families(here: int, certain: int, depth: int, is_root: bool) -> tuple[int, ...]:
        """What can be lost with at most 1, 2, ... leaves (or with any number)."""
        found = [0] * most_leaves
        if is_root or may_be_leaf(certain):
            leaf = 0
            for members in of_class:
                leaf |= supersets[here & ~members]
            found = [leaf] * most_leaves
        if depth == 0:
            return tuple(found)
        for can_left, can_right in splits:
            left, right = here & can_left, here & can_right
            if left == here and right == here:
                continue
            below = families(left, certain & left & ~right, depth - 1, False)
            beside = families(right, certain & right & ~left, depth - 1, False)
            if most_leaves == 1:
                found[0] |= below[0] & beside[0]
                continue
            for k in range(2, most_leaves + 1):
                for on_left in range(1, k):
                    found[k - 1] |= below[on_left - 1] & beside[k - on_left - 1]
        return tuple(found)

    answers = families(everyone, everyone, case.depth, True)
    return min(_cheapest(case, family) + penalty * (k + 1) for k, family in enumerate(answers) if family)


@lru_cache(maxsize=4)
def _sets_by_weight(weights: tuple[Fraction, ...]) -> tuple[int, list[tuple[int, int]]]:
    """All sets of samples, the lightest first, with their weights as whole numbers, and the unit of these."""
    unit = lcm(*(weight.denominator for weight in weights))
    whole = [int(weight * unit) for weight in weights]
    costs = [0]
    for members in range(1, 1 << len(weights)):
        lowest = (members & -members).bit_length() - 1
        costs.append(costs[members & (members - 1)] + whole[lowest])
    return unit, sorted(zip(costs, range(len(costs)), strict=True))


def _cheapest(case: Case, family: int) -> Fraction:
    unit, sets = _sets_by_weight(tuple(case.weights))
    return next(Fraction(cost, unit) for cost, members in sets if family >> members & 1)


def fewest_errors_of_any_model(case: Case, truth: Truth) -> Fraction:
    """Weight of the lightest set of samples without which no two of different classes conflict."""
    edges = [
        1 << i | 1 << k for i in range(case.n) for k in range(i) if case.y[i] != case.y[k] and truth.conflict(i, k)
    ]
    unit, sets = _sets_by_weight(tuple(case.weights))
    return next(Fraction(cost, unit) for cost, given_up in sets if all(given_up & edge for edge in edges))


def lost_weight(case: Case, tree: Any, boxes: dict[int, list[Box]]) -> Fraction:
    """Weight of the samples of which some point gets another answer; for trees over numeric columns."""
    weights = case.weights
    return sum((weights[i] for i in range(case.n) if _is_fooled(tree, case.y[i], i, boxes)), Fraction(0))


def _is_fooled(tree: Any, label: int, i: int, boxes: dict[int, list[Box]]) -> bool:
    def walk(node: int, box: dict[int, tuple[Place, bool, Place]]) -> bool:
        """Box: by feature the lower end, whether it is open, and the upper end."""
        if tree.left[node] < 0:
            return int(tree.label[node]) != label
        j, b = int(tree.feature[node]), decimal(float(tree.threshold[node]))
        low, is_open, high = box[j]
        goes_left = low < b or (low == b and not is_open)
        if goes_left and walk(int(tree.left[node]), {**box, j: (low, is_open, min(high, b))}):
            return True
        right = (low, is_open, high) if low > b else (b, True, high)
        return high > b and walk(int(tree.right[node]), {**box, j: right})

    return walk(0, {j: (column[i][0], False, column[i][1]) for j, column in boxes.items()})
