"""Brute force for tiny problems, written from the definitions and sharing no code with the package.

Everything is exact: values and radii are fractions, so boxes that touch in decimal arithmetic touch here. A sample is
robustly right iff the tree is right at every point to which the attacker can move it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from math import ceil, floor, inf

Number = Fraction | float


@dataclass(frozen=True)
class TinyProblem:
    """A problem small enough to try everything. ``down`` and ``up`` are per class and feature."""

    X: tuple[tuple[Fraction, ...], ...]
    y: tuple[int, ...]
    weight: tuple[int, ...]
    down: tuple[tuple[Number, ...], ...]
    up: tuple[tuple[Number, ...], ...]

    @property
    def n(self) -> int:
        return len(self.X)

    def box(self, i: int, j: int) -> tuple[Number, Number]:
        down, up = self.down[self.y[i]][j], self.up[self.y[i]][j]
        low = -inf if down == inf else self.X[i][j] - down
        high = inf if up == inf else self.X[i][j] + up
        return low, high

    def splits(self) -> list[tuple[int, Fraction]]:
        """One threshold in every gap between neighbouring finite ends of boxes."""
        found: list[tuple[int, Fraction]] = []
        for j in range(len(self.X[0])):
            ends = sorted({end for i in range(self.n) for end in self.box(i, j) if end not in (inf, -inf)})
            found += [(j, Fraction((a + b) / 2)) for a, b in pairwise(ends)]
        return found

    def sides(self, split: tuple[int, Fraction]) -> tuple[int, int]:
        """Bit masks of the samples that have some point at most b, and some point above b, on feature j."""
        j, b = split
        can_left = can_right = 0
        for i in range(self.n):
            low, high = self.box(i, j)
            if not low > b:
                can_left |= 1 << i
            if not high <= b:
                can_right |= 1 << i
        return can_left, can_right


@dataclass(frozen=True)
class NoisyProblem(TinyProblem):
    """The same in numbers that were rounded: every end may be off by its noise, and is moved outwards by a share of it.

    The noise of an end with radius r around x is the larger of r / 10⁹ and 4 units in the last place of |x| + r, for
    numbers of so many significant bits; it is 0 where r is 0, or where x and r are multiples of 2⁻²⁰ and of 2²⁰ such
    units (2¹⁰ where there are fewer than 53 bits).
    """

    bits: int = 53
    least_exponent: int = -1074
    share: Fraction = Fraction(1)

    def noise(self, x: Fraction, radius: Number) -> Fraction:
        if radius in (0, inf):
            return Fraction(0)
        size = min(abs(x) + Fraction(radius), LARGEST)
        exponent = size.numerator.bit_length() - size.denominator.bit_length()
        if Fraction(2) ** exponent > size:
            exponent -= 1
        ulp = Fraction(2) ** max(exponent + 1 - self.bits, self.least_exponent)
        step = max(Fraction(1, 2**20), ulp * 2 ** (20 if self.bits == 53 else 10))
        if all((number / step).denominator == 1 for number in (x, Fraction(radius))):
            return Fraction(0)  # whole numbers, halves, quarters: nothing was rounded
        return max(Fraction(radius) / 10**9, 4 * ulp)

    def box(self, i: int, j: int) -> tuple[Number, Number]:
        x, low, high = self.X[i][j], *super().box(i, j)
        down, up = self.down[self.y[i]][j], self.up[self.y[i]][j]
        if low != -inf:
            low -= self.share * self.noise(x, down)
        if high != inf:
            high += self.share * self.noise(x, up)
        # Beyond the largest number there is no end.
        return (-inf if low < -LARGEST else low), (inf if high > LARGEST else high)


@dataclass(frozen=True)
class CountedProblem(TinyProblem):
    """The same where features have bounds, and some are whole numbers: a box holds the values that there are."""

    integer: tuple[bool, ...] = ()
    minimum: tuple[Number, ...] = ()
    maximum: tuple[Number, ...] = ()

    def box(self, i: int, j: int) -> tuple[Number, Number]:
        low, high = super().box(i, j)
        low, high = max(low, self.minimum[j]), min(high, self.maximum[j])
        if self.integer[j]:
            low = low if low == -inf else Fraction(ceil(low))
            high = high if high == inf else Fraction(floor(high))
        return low, high


LARGEST = Fraction(2) ** 1024 - Fraction(2) ** 970


def fewest_errors(problem: TinyProblem) -> int:
    """Weight of the lightest set of samples without which no two boxes of different classes meet, by trying all."""
    conflicts = [
        1 << i | 1 << k
        for i in range(problem.n)
        for k in range(i)
        if problem.y[i] != problem.y[k]
        and all(
            problem.box(i, j)[0] <= problem.box(k, j)[1] and problem.box(k, j)[0] <= problem.box(i, j)[1]
            for j in range(len(problem.X[0]))
        )
    ]
    return min(
        sum(w for i, w in enumerate(problem.weight) if given_up >> i & 1)
        for given_up in range(1 << problem.n)
        if all(given_up & pair for pair in conflicts)
    )


def optimal_objective(
    problem: TinyProblem,
    depth: int,
    *,
    leaf_penalty: int = 0,
    min_samples_leaf: int = 0,
    min_weight_leaf: Fraction = Fraction(0),
) -> int:
    """Least weighted robust errors plus leaf penalty over all trees of at most this depth.

    Enumerates, for every set of samples that can stand at a node, all inclusion-minimal sets of samples that some
    subtree loses, with the number of leaves it takes.
    """
    all_sides = sorted({problem.sides(split) for split in problem.splits()})
    of_class = [sum(1 << i for i in range(problem.n) if problem.y[i] == c) for c in range(max(problem.y) + 1)]
    everyone = (1 << problem.n) - 1

    @cache
    def outcomes(here: int, certain: int, depth: int, is_root: bool) -> frozenset[tuple[int, int]]:
        found: set[tuple[int, int]] = set()
        is_heavy = not min_weight_leaf or cost(certain) >= min_weight_leaf
        if is_root or (certain.bit_count() >= min_samples_leaf and is_heavy):
            found |= {(here & ~members, 1) for members in of_class}
        if depth > 0:
            for can_left, can_right in all_sides:
                left, right = here & can_left, here & can_right
                if left == here and right == here:
                    continue
                for lost_left, leaves_left in outcomes(left, certain & left & ~right, depth - 1, False):
                    for lost_right, leaves_right in outcomes(right, certain & right & ~left, depth - 1, False):
                        found.add((lost_left | lost_right, leaves_left + leaves_right))
        return frozenset(
            (lost, leaves)
            for lost, leaves in found
            if not any(
                other | lost == lost and count <= leaves and (other, count) != (lost, leaves) for other, count in found
            )
        )

    def cost(lost: int) -> int:
        return sum(problem.weight[i] for i in range(problem.n) if lost >> i & 1)

    return min(cost(lost) + leaf_penalty * leaves for lost, leaves in outcomes(everyone, everyone, depth, True))


def answer(tree: object, point: tuple[Number, ...]) -> int:
    """Class index that a `hardwood.Tree` (its arrays, not its methods) gives to an exact point."""
    node = 0
    while tree.left[node] >= 0:  # type: ignore[attr-defined]
        threshold = Fraction(float(tree.threshold[node]))  # type: ignore[attr-defined]
        goes_left = point[tree.feature[node]] <= threshold  # type: ignore[attr-defined]
        node = int(tree.left[node] if goes_left else tree.right[node])  # type: ignore[attr-defined]
    return int(tree.label[node])  # type: ignore[attr-defined]


def is_fooled(
    tree: object, low: Sequence[Number], high: Sequence[Number], label: int, integer: Sequence[bool] = ()
) -> bool:
    """Whether some point of the box gets another answer, by trying one point of every cell that the box meets.

    Of features that are whole numbers, by trying all of them from below the first cut to above the last.
    """
    axes: list[list[Number]] = []
    for j in range(len(low)):
        if any(integer[j : j + 1]):
            near = [Fraction(float(b)) for f, b in zip(tree.feature, tree.threshold, strict=True) if f == j]  # type: ignore[attr-defined]
            first = floor(min(near, default=Fraction(0))) - 1 if low[j] == -inf else int(low[j])
            last = ceil(max(near, default=Fraction(0))) + 1 if high[j] == inf else int(high[j])
            # Where one end is far away and the other is not there, a few steps beyond the cuts are enough.
            axes.append([Fraction(k) for k in range(min(first, last), max(first, last) + 1) if low[j] <= k <= high[j]])
            continue
        cuts = sorted({Fraction(float(b)) for f, b in zip(tree.feature, tree.threshold, strict=True) if f == j})  # type: ignore[attr-defined]
        # One point at each cut, one in each gap, and the ends of the box: every cell that the box meets has one.
        points: set[Number] = {cut for cut in cuts if low[j] <= cut <= high[j]}
        below: list[Number] = [-inf, *cuts]
        above: list[Number] = [*cuts, inf]
        for a, b in zip(below, above, strict=True):
            start, stop = max(a, low[j]), min(b, high[j])
            if start < stop:
                finite = [Fraction(end) for end in (start, stop) if end not in (inf, -inf)]
                middle = sum(finite, Fraction(0)) / max(1, len(finite))
                points.add(middle if len(finite) == 2 else middle + (1 if start != -inf else -1) * (len(finite) > 0))
        points |= {end for end in (low[j], high[j]) if end not in (inf, -inf)}
        axes.append(sorted(points))
    return any(answer(tree, point) != label for point in product(*axes))
