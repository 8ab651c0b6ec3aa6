"""Which samples exclude each other: boxes of different classes that share a point.

Two samples of different classes conflict iff their boxes meet on every feature; then no model whatever can get both
right against the attacker. The comparison is one of endpoint ranks (`hardwood.problem.endpoints`), so that boxes which
touch up to rounding conflict, and it is made in one place, `meet` of `src/core/conflicts`.

Pairs are never kept as an n × n matrix. Equal samples are merged, vertices are put into an order in which neighbours
stand together, and an index of bitsets answers "whom does this box meet?" for many boxes at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hardwood import _core
from hardwood.arrays import Int32Array, IntArray
from hardwood.bounds.conflict_index import ConflictIndex, RankedBoxes
from hardwood.bounds.cover_search import MEMORY_LIMIT
from hardwood.errors import InvalidInputError
from hardwood.problem.merged import MergedBoxes

if TYPE_CHECKING:
    from hardwood.problem.problem import Problem

BYTES_PER_PAIR = 16
"""Memory that one conflict takes in a list of pairs."""


@dataclass(frozen=True, eq=False)
class Vertices:
    """Samples of equal class and box, merged, class by class, in an order that depends on values and not on rows.

    Attributes
    ----------
    member : int array
        The samples, vertex by vertex.
    start : int array of shape (n_vertices + 1,)
        ``member[start[v]:start[v + 1]]`` are the samples of vertex v.
    label : int array of shape (n_vertices,)
    """

    member: IntArray
    start: IntArray
    label: IntArray

    @classmethod
    def of(
        cls,
        lower: Int32Array,
        upper: Int32Array,
        label: IntArray,
        sample: IntArray | None = None,
        control: _core.Control | None = None,
    ) -> Vertices:
        """Merge samples whose class and ends, ranks or other codes, are equal, and let neighbours stand together.

        Parameters
        ----------
        lower, upper : int array of shape (n_samples, n_features)
        label : int array of shape (n_samples,)
        sample : int array or None
            The samples to take part; all by default.
        control : Control or None
            Where it stops merging, `StoppedError` is raised.
        """
        if sample is not None:
            lower, upper, label = lower[sample], upper[sample], label[sample]
        merged = cls.of_merged(MergedBoxes.of(lower, upper, label, control), lower, upper, label, control)
        return merged if sample is None else Vertices(sample[merged.member], merged.start, merged.label)

    @classmethod
    def of_merged(
        cls,
        merged: MergedBoxes,
        lower: Int32Array,
        upper: Int32Array,
        label: IntArray,
        control: _core.Control | None = None,
    ) -> Vertices:
        """Put merged samples class by class and, within a class, neighbours together, as far as the control lets."""
        first = merged.first
        label, lower, upper = label[first], lower[first], upper[first]
        by_class = [np.flatnonzero(label == c) for c in np.unique(label)]
        leaf = _core.BoxIndex.BLOCK
        orders = [_core.order_neighbours(lower, upper, of, leaf, control) for of in by_class]
        return _reorder(cls(merged.member, merged.start, label), np.concatenate([*orders, np.empty(0, np.int64)]))

    @property
    def size(self) -> int:
        """Number of vertices."""
        return len(self.label)

    @property
    def first_member(self) -> IntArray:
        """One sample of each vertex."""
        return self.member[self.start[:-1]]

    def total(self, values: IntArray) -> IntArray:
        """Sum of the values of each vertex's samples."""
        return np.add.reduceat(values[self.member], self.start[:-1]) if self.size else np.empty(0, np.int64)

    def members_of(self, vertices: IntArray) -> IntArray:
        """All samples of these vertices, sorted."""
        chosen = np.zeros(self.size, np.bool_)
        chosen[vertices] = True
        return np.sort(self.member[np.repeat(chosen, np.diff(self.start))])


def _reorder(vertices: Vertices, order: IntArray) -> Vertices:
    """Return the same vertices in another order."""
    length = np.diff(vertices.start)[order]
    start = np.concatenate([[0], np.cumsum(length)])
    source = np.repeat(vertices.start[order] - start[:-1], length) + np.arange(start[-1])
    return Vertices(vertices.member[source], start, vertices.label[order])


def conflict_pairs(problem: Problem, memory_limit: int = MEMORY_LIMIT) -> IntArray:
    """List all pairs of samples that cannot both be right.

    Parameters
    ----------
    problem : Problem
    memory_limit : int
        Bytes that the list may take; if it would take more, that is said before any of it is made.

    Returns
    -------
    ndarray of shape (n_conflicts, 2)
        Row numbers ``i < k``, sorted. Samples of weight zero take part.
    """
    boxes = RankedBoxes(problem.lower_rank, problem.upper_rank)
    sides = []
    n_conflicts = 0
    for c in range(problem.n_classes - 1):
        mine, others = np.flatnonzero(problem.label == c), np.flatnonzero(problem.label > c)
        index = ConflictIndex(boxes.take(mine), boxes.take(others), problem.label[mine], problem.label[others])
        rows, allowed = np.arange(len(mine), dtype=np.int32), np.ones(len(others), np.bool_)
        n_conflicts += int(index.count(rows, allowed).sum())
        if n_conflicts * BYTES_PER_PAIR > memory_limit:
            raise InvalidInputError(
                f"there are at least {n_conflicts:,} conflicts, whose list takes more than memory_limit="
                f"{memory_limit:,} bytes; adversarial_accuracy_bound does without the list"
            )
        sides.append((mine, others, index, rows, allowed))
    pairs = [np.empty((0, 2), np.int64)]
    for mine, others, index, rows, allowed in sides:
        row, column = index.find(rows, allowed)
        pairs.append(np.sort(np.column_stack([mine[row], others[column]]), axis=1))
    found = np.concatenate(pairs)
    place = np.sort(found[:, 0] * problem.n_samples + found[:, 1])
    return np.column_stack(np.divmod(place, problem.n_samples))


def first_conflict(problem: Problem, sample: IntArray) -> tuple[int, int] | None:
    """Return a conflict among these samples, or None, found by a plain sweep along one feature.

    It shares nothing with `ConflictIndex` but the definition, so that one can check the other.
    """
    if len(sample) == 0:
        return None
    lower, upper = problem.lower_rank[sample], problem.upper_rank[sample]
    width = (upper - lower).mean(axis=0) / (upper.max(axis=0) - lower.min(axis=0) + 1.0)
    narrow = int(np.argmin(width))
    order = np.argsort(lower[:, narrow], kind="stable")
    i, k = _core.sweep_for_conflict(lower[order], upper[order], problem.label[sample[order]], narrow)
    return None if i < 0 else (int(sample[order[i]]), int(sample[order[k]]))


def estimate_conflicts(
    index: ConflictIndex, n_rows: int, n_columns: int, control: _core.Control | None = None
) -> float:
    """Estimate the number of conflicts from those of 256 rows, evenly spread; stopped, too few."""
    rows = np.unique(np.linspace(0, n_rows - 1, 256).astype(np.int32))
    return float(index.count(rows, np.ones(n_columns, np.bool_), control).mean()) * n_rows
