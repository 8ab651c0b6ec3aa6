"""What happens at each node of a tree under attack, for pages that show it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from hardwood.arrays import BoolArray
from hardwood.data.fields import MOST, Fields
from hardwood.plain_data import as_flag, as_items, as_number, as_whole
from hardwood.problem.problem import Problem
from hardwood.tree.reach import reached_nodes, robust_errors
from hardwood.tree.tree import Tree

MOST_SAMPLES_LISTED = 25
"""Of the samples that can be pushed across a split, so many are listed, those nearest to the threshold first."""


@dataclass(frozen=True)
class SplitReach:
    """Samples at a split.

    Attributes
    ----------
    left, right, both : tuple of int
        By class: how many of the samples that come by reach only the left child, only the right one, both.
    margin : float or None
        How far the nearest box that lies on one side is from the threshold.
    across : tuple of (sample, class, value, lost)
        Samples that the attacker can push across.
    """

    left: tuple[int, ...]
    right: tuple[int, ...]
    both: tuple[int, ...]
    margin: float | None
    across: tuple[tuple[int, int, float, bool], ...]


@dataclass(frozen=True)
class LeafReach:
    """Samples at a leaf.

    Attributes
    ----------
    certain : tuple of int
        By class: samples that reach no other leaf.
    lost : int
        Samples of another class that reach it.
    """

    certain: tuple[int, ...]
    lost: int


@dataclass(frozen=True)
class NodeReach:
    """How many samples of each class can be made to come by a node, and what happens to them there."""

    reach: tuple[int, ...]
    here: SplitReach | LeafReach

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"reach": list(self.reach), **{name: _plain(value) for name, value in asdict(self.here).items()}}

    @classmethod
    def from_fields(cls, given: Fields) -> Self:
        """Inverse of `to_dict`."""
        reach = tuple(given.wholes("reach"))
        if "certain" in given.data:
            return cls(reach, LeafReach(tuple(given.wholes("certain")), given.whole("lost")))
        split = SplitReach(
            left=tuple(given.wholes("left")),
            right=tuple(given.wholes("right")),
            both=tuple(given.wholes("both")),
            margin=given.number_or_nothing("margin"),
            across=tuple(_read_sample(row, given.place("across")) for row in given.items("across")),
        )
        return cls(reach, split)


def _read_sample(row: Any, where: str) -> tuple[int, int, float, bool]:
    sample, label, value, lost = as_items(row, where, 4)
    whole = as_whole(sample, where, 0, MOST), as_whole(label, where, 0, MOST)
    return *whole, as_number(value, where), as_flag(lost, where)


def _plain(value: Any) -> Any:
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def describe_nodes(tree: Tree, problem: Problem) -> tuple[NodeReach, ...]:
    """Describe every node."""
    reached = reached_nodes(tree, problem)
    is_leaf = tree.left < 0
    leaf_count = reached[:, is_leaf].sum(axis=1)
    lost = robust_errors(tree, problem)
    described = []
    for node in range(tree.n_nodes):
        here = reached[:, node]
        if is_leaf[node]:
            wrong = int((here & (problem.label != tree.label[node])).sum())
            found: SplitReach | LeafReach = LeafReach(_by_class(here & (leaf_count == 1), problem), wrong)
        else:
            found = _describe_split(tree, problem, node, here, reached, lost)
        described.append(NodeReach(_by_class(here, problem), found))
    return tuple(described)


def _describe_split(
    tree: Tree, problem: Problem, node: int, here: BoolArray, reached: BoolArray, lost: BoolArray
) -> SplitReach:
    j, threshold = int(tree.feature[node]), float(tree.threshold[node])
    left, right = here & reached[:, tree.left[node]], here & reached[:, tree.right[node]]
    both = left & right
    lower, upper = problem.ends_on(j)
    distance = np.concatenate([threshold - upper[left & ~both], lower[right & ~both] - threshold])
    value = problem.values[:, j]
    nearest = np.flatnonzero(both)[np.argsort(np.abs(value[both] - threshold), kind="stable")][:MOST_SAMPLES_LISTED]
    return SplitReach(
        left=_by_class(left & ~both, problem),
        right=_by_class(right & ~both, problem),
        both=_by_class(both, problem),
        margin=float(distance.min()) if len(distance) else None,
        across=tuple((int(i), int(problem.label[i]), round(float(value[i]), 9), bool(lost[i])) for i in nearest),
    )


def _by_class(chosen: BoolArray, problem: Problem) -> tuple[int, ...]:
    return tuple(int(count) for count in np.bincount(problem.label[chosen], minlength=problem.n_classes))
