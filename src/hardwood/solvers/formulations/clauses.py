"""The binary formulation of the paper as clauses, built with array operations.

Each implication of the table in `hardwood.solvers.formulations.encoding` is one block of clauses. A clause
``l1 or .. or lk`` is at the same time a row ``l1 + .. + lk >= 1`` of a MILP (a negated literal counting as 1 - x), so
MaxSAT, CP-SAT and Binary-MILP share this module.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardwood.arrays import Int32Array
from hardwood.solvers.formulations.encoding import Choice, Encoding


class Layout:
    """Numbers of the variables a, b, c, s, e, counted from 1 as SAT solvers do."""

    def __init__(self, encoding: Encoding) -> None:
        n, nodes, leaves = encoding.n_samples, encoding.n_nodes, encoding.n_leaves
        self.encoding = encoding
        self.is_binary = encoding.n_classes == 2
        self._top = 0
        self.a = self._take(nodes, encoding.n_features)
        self.b = self._take(nodes, encoding.n_values)
        self.c = self._take(leaves) if self.is_binary else self._take(leaves, encoding.n_classes)
        self.s = self._take(n, nodes, 2)
        self.e = self._take(n)

    def _take(self, *shape: int) -> Int32Array:
        size = int(np.prod(shape))
        self._top += size
        return np.arange(self._top - size + 1, self._top + 1, dtype=np.int32).reshape(shape)

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return self._top

    def is_class(self, leaf: int) -> Int32Array:
        """Literals that say "leaf has class k", one for each class k."""
        if self.is_binary:
            return np.array([-self.c[leaf], self.c[leaf]], dtype=np.int32)
        return np.asarray(self.c[leaf])

    def assignment(self, choice: Choice) -> NDArray[np.bool_]:
        """Truth of every variable, in their order, under a choice."""
        encoding = self.encoding
        a = np.arange(encoding.n_features) == choice.feature[:, None]
        c = choice.label == 1 if self.is_binary else np.arange(encoding.n_classes) == choice.label[:, None]
        parts = (a, encoding.chain(choice), c, encoding.reach(choice), encoding.lost(choice))
        return np.concatenate([np.ravel(part) for part in parts])

    def choice(self, truth: NDArray[np.bool_]) -> Choice:
        """Read the choice from the truth of the variables, a first: inverse of `assignment`."""
        encoding = self.encoding
        a, b, c = (truth[part - 1] for part in (self.a, self.b, self.c))
        return Choice(
            feature=np.argmax(a, axis=1),
            value=encoding.n_values - 1 - np.count_nonzero(b, axis=1),
            label=c.astype(np.int64) if self.is_binary else np.argmax(c, axis=1),
        )


@dataclass(frozen=True)
class Formula:
    """Clauses by length and groups of literals of which exactly one is true.

    Attributes
    ----------
    clauses : list of int arrays of shape (m, k)
    exactly_one : list of int arrays of shape (k,)
    """

    clauses: list[Int32Array]
    exactly_one: list[Int32Array]


def formula(layout: Layout) -> Formula:
    """Return the hard constraints: the paper's, and the valid additions if the encoding is strengthened."""
    encoding = layout.encoding
    clauses = [_chain(layout), *_reach(layout), *_errors(layout)]
    exactly_one = list(layout.a)
    if not layout.is_binary:
        exactly_one += list(layout.c)
    if encoding.strengthened:
        clauses += [*_no_split_is_canonical(layout), *_siblings_differ(layout), _conflicts(layout), _one_side(layout)]
    return Formula([block for block in clauses if len(block)], exactly_one)


def _chain(layout: Layout) -> Int32Array:
    """b[m, v] => b[m, v + 1]."""
    return np.stack([-layout.b[:, :-1].ravel(), layout.b[:, 1:].ravel()], axis=1)


def _reach(layout: Layout) -> list[Int32Array]:
    """a[m, j] and not b[m, lower] => s[i, m, 0];  a[m, j] and b[m, upper] => s[i, m, 1]."""
    encoding = layout.encoding
    sample = np.arange(encoding.n_samples)[:, None].repeat(encoding.n_features, axis=1)
    feature = np.arange(encoding.n_features)[None, :].repeat(encoding.n_samples, axis=0)
    blocks = []
    for node in range(encoding.n_nodes):
        a, b, s = layout.a[node], layout.b[node], layout.s[:, node]
        for side, value, sign in ((0, encoding.lower, 1), (1, encoding.upper, -1)):
            always = (value < 0) if side == 0 else (value == encoding.n_values)
            inside = (value >= 0) & (value < encoding.n_values)
            for where, threshold in ((always, []), (inside, [sign * b[value[inside]]])):
                blocks.append(np.stack([-a[feature[where]], *threshold, s[sample[where], side]], axis=1))
    return blocks


def _errors(layout: Layout) -> list[Int32Array]:
    """Lose sample i where it reaches leaf t: s on the path to t and c[t] != y_i => e[i]."""
    encoding = layout.encoding
    blocks = []
    for leaf in range(encoding.n_leaves):
        on_path = [-layout.s[:, node, side] for node, side in encoding.path(leaf)]
        blocks.append(np.stack([*on_path, layout.is_class(leaf)[encoding.label], layout.e], axis=1))
    return blocks


def _no_split_is_canonical(layout: Layout) -> list[Int32Array]:
    """Allow one way to write a leaf: no split is feature 0, the last value, and no split at the children."""
    encoding = layout.encoding
    is_split = layout.b[:, -1]
    blocks = [np.stack([layout.a[:, 0], is_split], axis=1)]
    for j in range(encoding.n_features):
        n_splits = encoding.n_splits(j)
        parts = [-layout.a[:, j]]
        if n_splits > 0:
            parts.append(layout.b[:, n_splits - 1])
        if j == 0:
            parts.append(-is_split)
        if n_splits < encoding.n_values or j > 0:
            blocks.append(np.stack(parts, axis=1))
    parent = np.arange(encoding.first_bottom)
    blocks += [np.stack([-is_split[2 * parent + side], is_split[parent]], axis=1) for side in (1, 2)]
    return blocks


def _siblings_differ(layout: Layout) -> list[Int32Array]:
    """Sibling leaves of one class are a node without a split, so sibling leaves may be taken to differ."""
    left, right = layout.c[0::2], layout.c[1::2]
    if layout.is_binary:
        return [np.stack([left, right], axis=1), np.stack([-left, -right], axis=1)]
    return [np.stack([-left.ravel(), -right.ravel()], axis=1)]


def _conflicts(layout: Layout) -> Int32Array:
    """Of two conflicting samples of different classes one is lost (Theorem 2)."""
    return layout.e[layout.encoding.pair]


def _one_side(layout: Layout) -> Int32Array:
    """Every box goes somewhere."""
    return layout.s.reshape(-1, 2)


def count_literals(encoding: Encoding) -> int:
    """Upper estimate of the number of literals in all clauses."""
    n, nodes, leaves = encoding.n_samples, encoding.n_nodes, encoding.n_leaves
    reach = 2 * 3 * n * encoding.n_features * nodes
    errors = n * leaves * (encoding.depth + 2)
    return reach + errors + 2 * nodes * encoding.n_values + 4 * n * nodes
