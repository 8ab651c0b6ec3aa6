"""A weighted sum kept below a limit, as clauses.

The generalised totalizer of Joshi, Martins & Manquinho, "Generalized Totalizer Encoding for Pseudo-Boolean
Constraints", CP 2015: a balanced tree of partial sums with one variable for every sum that can occur ("at least that
much"). With unit weights it is the totalizer of Bailleux & Boufkhad, "Efficient CNF Encoding of Boolean Cardinality
Constraints", CP 2003. Sums at or above the limit get no variable: they are forbidden at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hardwood.arrays import IntArray


@dataclass(frozen=True, eq=False)
class Sums:
    """Partial sums: ``literal[k]`` is true if the sum is at least ``value[k]``; values ascend."""

    value: IntArray
    literal: IntArray

    def forbid_from(self, least: int) -> IntArray:
        """Return the unit clause, of shape (0 or 1, 1), that keeps the sum below `least`."""
        position = int(np.searchsorted(self.value, least))
        return -self.literal[position : position + 1, None]


def totalizer(literal: IntArray, weight: IntArray, limit: int, top: int) -> tuple[Sums, list[IntArray]]:
    """Encode ``sum(weight * literal) < limit``.

    Parameters
    ----------
    literal, weight : int array of shape (m,)
        Terms of the sum, weights positive.
    limit : int
        The sum must stay below it.
    top : int
        Highest variable in use; new ones follow.

    Returns
    -------
    sums : Sums
        Sums below the limit that can occur, to tighten the limit later.
    clauses : list of int arrays of shape (m, 1), (m, 2) or (m, 3)
    """
    too_heavy = weight >= limit
    clauses: list[IntArray] = [-literal[too_heavy, None]]
    nodes = [Sums(np.array([w]), np.array([x])) for x, w in zip(literal[~too_heavy], weight[~too_heavy], strict=True)]
    while len(nodes) > 1:
        merged = []
        for left, right in zip(nodes[0::2], nodes[1::2], strict=False):
            node, top = _merge(left, right, limit, top, clauses)
            merged.append(node)
        nodes = merged + (nodes[-1:] if len(nodes) % 2 else [])
    sums = nodes[0] if nodes else Sums(np.empty(0, np.int64), np.empty(0, np.int64))
    return sums, [block for block in clauses if len(block)]


def _merge(left: Sums, right: Sums, limit: int, top: int, clauses: list[IntArray]) -> tuple[Sums, int]:
    both = left.value[:, None] + right.value
    value = np.unique(np.concatenate([left.value, right.value, both[both < limit]]))
    literal = np.arange(top + 1, top + len(value) + 1)
    clauses.append(np.stack([-literal[1:], literal[:-1]], axis=1))
    clauses += [
        np.stack([-child.literal, literal[np.searchsorted(value, child.value)]], axis=1) for child in (left, right)
    ]
    i, k = np.nonzero(both < limit)
    clauses.append(np.stack([-left.literal[i], -right.literal[k], literal[np.searchsorted(value, both[i, k])]], axis=1))
    # Larger right sums imply the smallest that is too much, so that one alone is forbidden.
    smallest = np.searchsorted(right.value, limit - left.value)
    i = np.flatnonzero(smallest < len(right.value))
    clauses.append(np.stack([-left.literal[i], -right.literal[smallest[i]]], axis=1))
    return Sums(value, literal), top + len(value)


def count_literals(n_terms: int, limit: int) -> int:
    """Upper estimate of the literals in the clauses of a totalizer with unit weights."""
    total, size, nodes = 0, 1, n_terms
    while nodes > 1:
        nodes = (nodes + 1) // 2
        total += 3 * nodes * (min(size, limit) + 1) ** 2
        size *= 2
    return total
