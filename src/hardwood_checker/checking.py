"""A proof against data: build the samples, run the claims, count what the tree loses."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from typing import Any

import numpy as np

from hardwood_checker.boxes import read_boxes
from hardwood_checker.machine import Claim, Machine
from hardwood_checker.reading import Reader, Refused, Unusable, field, number
from hardwood_checker.samples import Samples

MOST_DEPTH = 64


@dataclass(frozen=True)
class Verdict:
    """What was proven.

    Attributes
    ----------
    bound : Fraction
        Every tree of at most `depth` costs at least this: weight of lost samples, plus the penalty of its leaves.
    objective : Fraction or None
        What the tree of the proof costs; None if the proof has no tree.
    depth : int or None
        None if the bound holds for every model whatever.
    total : Fraction
        Weight of all samples.
    tolerance : Fraction
        What rounding weights to units may have cost the bound; 0 where all weights are whole numbers.
    records, ranges : dict
        Numbers of records by kind, and of ranges by depth and feature.
    claims : list of Claim
        The claims of children, in the order in which they were opened; the first is the root.
    leaf_penalty : Fraction
        What each leaf costs.
    """

    bound: Fraction
    objective: Fraction | None
    depth: int | None
    total: Fraction
    tolerance: Fraction
    records: dict[str, int]
    ranges: dict[tuple[int, int], int]
    claims: list[Claim]
    leaf_penalty: Fraction = Fraction(0)

    @property
    def is_optimal(self) -> bool:
        """Whether the tree of the proof is as good as any, up to the tolerance."""
        return self.objective is not None and self.objective <= self.bound + self.tolerance

    def __str__(self) -> str:
        verb = "loses" if self.leaf_penalty == 0 else f"costs (lost samples and {_shown(self.leaf_penalty)} a leaf)"
        tree = "" if self.objective is None else f"; this one {verb.partition(' ')[0]} {_shown(self.objective)}"
        who = "every model" if self.depth is None else f"every tree of depth {self.depth}"
        return f"proven: {who} {verb} at least {_shown(self.bound)} of {_shown(self.total)}{tree}"


def check(
    path: str | os.PathLike[str],
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    watch: Callable[[float], None] | None = None,
) -> Verdict:
    """Check a proof against data; raise `Refused` if it does not hold and `Unusable` if it cannot be checked.

    Parameters
    ----------
    path : path of the proof
    X : path of a CSV file, or table of shape (n_samples, n_columns)
    y : array of shape (n_samples,) or None
        The labels, where X is a table.
    sample_weight : array of shape (n_samples,) or None
        Where given, it must equal the weights that the proof speaks of.
    watch : callable or None
        Told now and then how much of the file has been read, from 0 to 1.
    """
    reader = Reader(path)
    try:
        return _checked(reader, X, y, sample_weight, watch or (lambda share: None))
    finally:
        reader.close()


def _checked(reader: Reader, X: Any, y: Any, sample_weight: Any, watch: Callable[[float], None]) -> Verdict:
    header = reader.header
    claim, scale = field(header, "claim", dict), field(header, "scale", list)
    depth, claimed = field(claim, "depth", int, type(None)), field(claim, "bound", int)
    penalty = Fraction(number(claim.get("leaf_penalty"), "leaf_penalty"))
    if not 0 <= (depth or 0) <= MOST_DEPTH or penalty < 0:
        raise Unusable(f"a claim about depth {depth} and penalty {penalty} cannot be checked")
    if len(scale) != 2 or not all(isinstance(s, int) and 0 < s < 1 << 1100 for s in scale):
        raise Unusable("the header's 'scale' must be two whole numbers")
    lower, upper, label = read_boxes(header, X, y)
    weights = _weights(header, len(label), sample_weight)
    unit = 1 / Fraction(*scale)
    samples = Samples(lower, upper, label, weights, penalty, 1 / unit, field(header, "heavy", int))
    # Every split of the best tree leaves each child at least one sample less.
    machine = Machine(samples, None if depth is None else min(depth, samples.n - 1), reader, watch)
    machine.run()
    if machine.proven < claimed:
        raise Refused(f"the claim is {claimed} units, but only {machine.proven} were proven")
    bound, tolerance = machine.proven * unit, Fraction(0)
    if not samples.is_whole:
        tolerance = (len(label) + min(2 ** (depth or 0), samples.n + 1)) * unit
    else:
        # Costs are multiples of what all weights and the penalty are multiples of.
        step = gcd(*samples.weight.tolist(), samples.penalty) * unit or Fraction(1)
        bound = -(-bound // step) * step
    objective = _objective(header, lower, upper, label, weights, penalty, MOST_DEPTH if depth is None else depth)
    if objective is not None and objective < bound:
        raise Refused(f"the tree costs {_shown(objective)}, less than the bound {_shown(bound)}")
    total = sum(weights, Fraction(0))
    return Verdict(bound, objective, depth, total, tolerance, machine.records, machine.ranges, machine.claims, penalty)


def _weights(header: Any, n: int, given: Any) -> list[Fraction]:
    stored = field(header, "weights", list, type(None))
    numbers = [1] * n if stored is None else [number(w, "weights") for w in stored]
    if len(numbers) != n or any(w < 0 for w in numbers):
        raise Unusable(f"the header's 'weights' must be {n} numbers that are not negative")
    if given is not None and [float(w) for w in given] != [float(w) for w in numbers]:
        raise Unusable("the proof is about other weights than those that were given")
    return [Fraction(w) for w in numbers]


def _objective(
    header: Any, lower: Any, upper: Any, label: Any, weights: list[Fraction], penalty: Fraction, depth: int
) -> Fraction | None:
    """Count what the tree of the proof loses, row by row."""
    tree = header.get("tree")
    if tree is None:
        return None
    columns = [field(tree, name, list) for name in ("feature", "threshold", "left", "right", "label")]
    if len({len(column) for column in columns}) != 1 or not columns[0]:
        raise Unusable("the arrays of the tree differ in length")
    lost = np.zeros(len(label), bool)
    reached: dict[int, tuple[Any, int]] = {0: (np.ones(len(label), bool), 0)}
    n_leaves = 0
    for node, (feature, threshold, left, right, answer) in enumerate(zip(*columns, strict=True)):
        if not all(type(v) is int for v in (feature, left, right, answer)) or node not in reached:
            raise Unusable(f"node {node} of the tree is no node, or nobody's child")
        here, level = reached.pop(node)
        if left < 0:
            n_leaves += 1
            lost |= here & (label != answer)
            continue
        if not 0 <= feature < lower.shape[1] or level >= depth or left == right or {left, right} & set(reached):
            raise Unusable(f"node {node} of the tree is impossible at depth {level}")
        b = number(threshold, "threshold")
        reached[left] = here & (lower[:, feature] <= b), level + 1
        reached[right] = here & (upper[:, feature] > b), level + 1
    if reached:
        raise Unusable("a child of the tree is missing")
    return sum((w for w, is_lost in zip(weights, lost, strict=True) if is_lost), Fraction(0)) + penalty * n_leaves


def _shown(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{float(value):.12g}"
