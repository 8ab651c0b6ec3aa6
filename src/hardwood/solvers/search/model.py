"""A problem as the search sees it: merged samples, whole-number weights, ranks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import fsum
from typing import Any, Protocol

import numpy as np

from hardwood import _core
from hardwood.arrays import IntArray, RankArray
from hardwood.errors import InvalidInputError, StoppedError
from hardwood.problem.merged import MergedBoxes, WholeWeights
from hardwood.problem.problem import Problem
from hardwood.tree.index_tree import IndexTree

LARGEST = 2**62
"""No sum inside the core may reach this."""

FINEST = 16
"""A unit of weight is divided into up to 2^16 parts, so that it can be shared between children."""

DEEPEST = 256
"""Levels that the core can search: each has a frame on the stack of a thread, and memory of its own."""


LARGE = 150_000
"""Numbers in the table from which on stages over all samples take long."""

VERY_LARGE = 1_500_000
"""Numbers in the table from which on even a search of depth 2 takes long."""

PLACING = 5e-8
"""Seconds, for each split of a tree and each sample of a table of which only the core knows ranks, to turn the ranks of
the tree into numbers."""


class Ranks(Protocol):
    """Ranks of the ends of all boxes, as `hardwood.problem.endpoints.Endpoints` has them."""

    @property
    def lower_rank(self) -> RankArray: ...  # noqa: D102
    @property
    def upper_rank(self) -> RankArray: ...  # noqa: D102
    @property
    def n_ranks(self) -> IntArray: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class SearchModel:
    """Samples with equal box and class are one sample with the summed weight; weights are scaled to integers.

    Attributes
    ----------
    group : int64 array of shape (n_samples,) or None
        The merged sample that each sample of the problem belongs to; None in the model of a large table.
    row : int64 array of shape (n,)
        A sample of the problem for each merged one.
    weight : int64 array of shape (n,)
        Weights in parts.
    exact_scale : (int, int)
        Parts per unit of the objective, as a fraction.
    step : int
        Costs of trees are multiples of this many parts.
    penalty : int
        Cost of a leaf in parts.
    forbidden : int
        More than any tree costs.
    resolution : float
        Largest difference between an objective and its parts: the sum of what was rounded off, 0 for whole weights and
        for fractions of powers of two such as 0.25.
    core : SearchProblem
        The same in the compiled core.
    orders_late : bool
        Whether the core gets the order of all ends only before a proof begins (`keep_order`).
    """

    problem: Problem
    group: IntArray | None
    row: IntArray
    weight: IntArray
    exact_scale: tuple[int, int]
    step: int
    penalty: int
    forbidden: int
    resolution: float
    core: _core.SearchProblem
    orders_late: bool = False

    @classmethod
    def of(cls, problem: Problem, ranks: Ranks | None = None) -> SearchModel:
        """Merge, order and scale; raise if the weights are too large or too uneven for exact arithmetic.

        Parameters
        ----------
        problem : Problem
        ranks : Ranks or None
            Other ranks of the ends than those of the problem.
        """
        if ranks is None:
            ranks, merged = problem.endpoints, problem.merged
        else:
            merged = MergedBoxes.of(ranks.lower_rank, ranks.upper_rank, problem.label)
        is_still = np.array_equal(ranks.lower_rank, ranks.upper_rank)
        columns = ranks.lower_rank, ranks.upper_rank, merged.first, ranks.n_ranks
        return cls._described(
            problem, merged, is_still, lambda *rest, **kind: _core.SearchProblem(*columns, *rest, **kind)
        )

    @classmethod
    def of_large(cls, problem: Problem, control: _core.Control, keeps_order: bool) -> SearchModel:
        """Return the same as `of`, without ranks of the problem's own: the core has the only copy.

        `StoppedError` where the control stops it. Whether ends are kept in order matters for time only: at depth 2
        every thread asks for it once; deeper, searches of points ask for it often, others from when a proof begins.
        """
        ranks = _core.rank_columns(*problem.reach.arrays, problem.values, control)
        groups = None if ranks is None else ranks.merge(problem.label, control)
        if ranks is None or groups is None:
            raise StoppedError("stopped while the ends of boxes were ranked")
        merged = MergedBoxes(*groups)
        is_still = ranks.shares_nothing

        is_deep = problem.max_depth > 2

        def make(*rest: Any, **others: Any) -> _core.SearchProblem:
            return ranks.take_problem(merged.first, *rest, **others, keeps_events=is_deep and is_still)

        model = cls._described(problem, merged, is_still, make)
        weight = model.weight
        if (weight == weight[0]).all():
            weight = np.broadcast_to(weight[0], weight.shape)  # one number for all takes no memory
        return replace(model, group=None, weight=weight, orders_late=is_deep and keeps_order and not is_still)

    @classmethod
    def _described(
        cls, problem: Problem, merged: MergedBoxes, is_still: bool, make: Callable[..., _core.SearchProblem]
    ) -> SearchModel:
        """Scale the weights and let the core make its problem."""
        most_leaves = _most_leaves(problem, len(merged))
        # What no split shares need not be divided, but steps of one part are for weights that are not whole.
        finest = 1 if is_still else FINEST
        exact_scale, step, scaled, penalty = _whole_parts(problem, merged, most_leaves, finest)
        forbidden = int(scaled.sum()) + penalty * most_leaves + 1
        limit = problem.leaf_limit
        core = make(
            problem.label[merged.first],
            merged.count if limit is None else merged.total_of_whole(limit.measure),
            scaled,
            n_classes=problem.n_classes,
            penalty=penalty,
            forbidden=forbidden,
            step=step,
            min_leaf=0 if limit is None else limit.least,
        )
        rounded_off = 0.0
        if not problem.has_integer_weights:
            # The scale is a power of two, so each difference is exact.
            scale = exact_scale[0] / exact_scale[1]
            lost = problem.weight - np.floor(problem.weight * scale) / scale
            rounded_off = fsum(lost) + (problem.leaf_penalty - penalty / scale) * most_leaves
        return cls(
            problem, merged.group, merged.first, scaled, exact_scale, step, penalty, forbidden, rounded_off, core
        )

    def keep_order(self) -> None:
        """Let the core keep the ends in order, for a proof; it takes as much memory as the ranks."""
        if self.orders_late:
            self.core.keep_events()

    @property
    def placing_seconds(self) -> float:
        """About how long it takes to turn the ranks of a tree into numbers, and to judge it."""
        return PLACING * self.problem.n_samples * (self.most_leaves - 1) if self.is_lean else 0.0

    @property
    def is_lean(self) -> bool:
        """Whether it is the model of a large table, of which only the core has ranks."""
        return self.group is None

    @property
    def n(self) -> int:
        """Number of merged samples."""
        return len(self.weight)

    @property
    def most_leaves(self) -> int:
        """Leaves that the best tree has at most."""
        return _most_leaves(self.problem, self.n)

    @property
    def scale(self) -> float:
        """Parts per unit of the objective."""
        parts, unit = self.exact_scale
        return parts / unit

    @property
    def most_splits(self) -> int:
        """Splits that a path of the best tree needs at most.

        Where all samples of a node reach one child, that child alone is as good as the split. So every split of the
        best tree leaves each child at least one sample less, and one sample needs none.
        """
        return min(self.problem.max_depth, self.n - 1)

    @property
    def depth(self) -> int:
        """Depth to which the core searches."""
        return min(self.most_splits, DEEPEST)

    @property
    def is_exhaustive(self) -> bool:
        """Whether the core searches all trees that matter, so that what it proves holds for every tree."""
        return self.depth == self.most_splits

    @property
    def is_quick(self) -> bool:
        """Whether the search ends before a start from some samples and first stages would have helped it."""
        size = self.n * self.problem.n_features
        return self.core.shares_nothing and self.depth == 2 and size < VERY_LARGE

    def next_cost(self, cost: int) -> int:
        """Return the least cost that a tree can have and that is at least this, in parts."""
        return -(-cost // self.step) * self.step

    def in_parts(self, objective: float) -> int:
        """Return an objective in parts, rounded up, at most `forbidden`."""
        return min(int(np.ceil(objective * self.scale)), self.forbidden)


def _most_leaves(problem: Problem, n: int) -> int:
    return min(1 << min(problem.max_depth, 40), n + 1)


def _whole_parts(
    problem: Problem, merged: MergedBoxes, most_leaves: int, finest: int
) -> tuple[tuple[int, int], int, IntArray, int]:
    """Return parts per unit, the step of all costs, the weights of the merged samples and the penalty in parts."""
    total = float(problem.weight.sum()) + problem.leaf_penalty * most_leaves
    # The largest sum: every sample marked as one that must not be lost.
    room = LARGEST / (len(merged) + 2)
    if not problem.has_integer_weights:
        # Rounded down, sample by sample, so that a bound on the scaled cost is a bound on the true one.
        # Parts per unit must be a float, too, however small the weights are.
        weights = WholeWeights.rounded(problem.weight, min(room, 2**52, total * 2.0**1022), most=total)
        return weights.exact_scale, 1, merged.total_of_whole(weights.value), weights.in_parts(problem.leaf_penalty)
    whole = WholeWeights.exactly(
        merged.total(problem.weight), room, others=(problem.leaf_penalty,), finest=finest, most=total
    )
    if whole is None or total >= 2**53:
        raise InvalidInputError(
            f"the weights sum to {total:g}, too much for exact arithmetic with {len(merged)} samples; divide them"
        )
    return whole.exact_scale, whole.step, whole.value, whole.in_parts(problem.leaf_penalty)


def tree_of(rows: IntArray) -> IndexTree:
    """Turn a tree of the core, one row per array of `IndexTree`, into an index tree."""
    return IndexTree(*rows)


def rows_of(tree: IndexTree) -> IntArray:
    """Inverse of `tree_of`."""
    return np.stack([tree.feature, tree.index, tree.left, tree.right, tree.label])
