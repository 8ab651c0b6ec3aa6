"""Both MILP formulations with thresholds kept apart by feature and, above the leaves, by labels.

In the paper's rows one threshold serves all features, ``a[m, j] - b[m, v] <= s``, and the leaf's class enters by
``s + [c != y] - 1 <= e``; a fractional a or c makes both sides vanish and the bound of the linear relaxation is 0. Here
every feature j of node m has its own threshold, which is 0 where j is not chosen, so that one row adds up all of them,

    s[i, m, 0] >= z[m] + sum_j left[i, m, j],      s[i, m, 1] >= sum_j right[i, m, j],

with z[m] = "no split at m". At a node above two leaves, each ordered pair (k, l) of different classes has its own
thresholds too, and one row says that the sample is wrong there (w):

    w[i, m] >= sum_j right[i, m, y, *, j] + sum_j left[i, m, *, y, j] + [neither label is y] + [leaf of another class]

and ``e[i] >= w[i, m] + (s on the path to m) - (length of that path)``. For a depth of 1 the relaxation of the binary
form has whole-numbered vertices: the linear program alone solves it. The terms are linear in the threshold variables:

- binary: ``left = a[j] - b[j, lower]``, ``right = b[j, upper]``, where b[j, v] = "j is chosen, its threshold lies below
  v" ascends to b[j, last] = a[j];
- continuous: ``left = (b'[j] - (lower - 1/2) a[j]) / M``, ``right = (upper a[j] - b'[j]) / M`` with M the largest value
  of the numerator for this sample and feature, and s, w whole numbers. Ranks are whole numbers, so that a margin of 1/2
  on the strict side is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hardwood.arrays import FloatArray, IntArray
from hardwood.solvers.formulations.encoding import Choice, Encoding
from hardwood.solvers.formulations.linear_model import ABSENT, ModelBuilder


@dataclass(frozen=True, eq=False)
class Terms:
    """A linear expression for each sample: columns and coefficients of shape (n_samples, k)."""

    column: IntArray
    value: FloatArray


class ChainThresholds:
    """Thresholds of one node (and one pair of labels) in the binary form."""

    reach_is_integer = False

    def __init__(self, encoding: Encoding, builder: ModelBuilder) -> None:
        size = np.array([encoding.n_splits(j) for j in range(encoding.n_features)])
        column = builder.columns(int(size.sum()), is_integer=True)
        self._first = (column[0] if len(column) else 0) + np.cumsum(size) - size
        self._size = size
        self.a = np.where(size > 0, self._first + size - 1, ABSENT)
        last = np.zeros(len(column), bool)
        last[np.cumsum(size)[size > 0] - 1] = True
        below = column[~last]
        builder.rows(np.stack([below, below + 1], axis=1), [-1.0, 1.0], lower=0.0)

    def left(self, encoding: Encoding) -> Terms:
        """Whether each box goes left at this node: a[j] - b[j, lower]."""
        b = np.where(encoding.lower >= 0, self._first + encoding.lower, ABSENT)
        a = np.broadcast_to(self.a, b.shape)
        # A box that only a node without a split sends left: the two terms are one column and cancel.
        never = a == b
        column = np.concatenate([np.where(never, ABSENT, a), np.where(never, ABSENT, b)], axis=1)
        return Terms(column, np.repeat([1.0, -1.0], b.shape[1]) * np.ones((len(b), 1)))

    def right(self, encoding: Encoding) -> Terms:
        """Whether each box goes right at this node: b[j, upper]."""
        column = np.where(encoding.upper >= 0, self._first + encoding.upper, ABSENT)
        return Terms(column, np.ones(column.shape))

    def set(self, x: FloatArray, feature: int, value: int) -> None:
        """Choose a feature and the value after which its threshold lies."""
        x[self._first[feature] + np.arange(value + 1, self._size[feature])] = 1.0

    def value(self, x: FloatArray, feature: int) -> int:
        """Read the value after which the threshold of the chosen feature lies."""
        b = x[self._first[feature] : self._first[feature] + self._size[feature]]
        return int(np.count_nonzero(b < 0.5)) - 1


class NumberThresholds:
    """Thresholds of one node (and one pair of labels) in the continuous form."""

    reach_is_integer = True

    def __init__(self, encoding: Encoding, builder: ModelBuilder) -> None:
        size = np.array([encoding.n_splits(j) for j in range(encoding.n_features)])
        used = np.flatnonzero(size > 0)
        self._highest = size - 2
        self.a, self._b = np.full(len(size), ABSENT), np.full(len(size), ABSENT)
        self.a[used] = builder.columns(len(used), is_integer=True)
        self._b[used] = builder.columns(len(used), lower=-1.0, upper=np.maximum(self._highest[used], 0))
        both = np.stack([self._b[used], self.a[used]], axis=1)
        builder.rows(both, [1.0, 1.0], lower=0.0)
        builder.rows(both, np.stack([np.ones(len(used)), -self._highest[used]], axis=1), upper=0.0)

    def left(self, encoding: Encoding) -> Terms:
        """Whether each box goes left at this node: at most 1, and above 0 wherever it does."""
        always, never = encoding.lower < 0, encoding.lower > self._highest
        scale = np.where(never, 1.0, self._highest - encoding.lower + 0.5)
        a = np.where(never, ABSENT, np.broadcast_to(self.a, scale.shape))
        b = np.where(never | always, ABSENT, np.broadcast_to(self._b, scale.shape))
        a_value = np.where(always, 1.0, -(encoding.lower - 0.5) / scale)
        return Terms(np.concatenate([a, b], axis=1), np.concatenate([a_value, 1.0 / scale], axis=1))

    def right(self, encoding: Encoding) -> Terms:
        """Whether each box goes right at this node: at most 1, and above 0 wherever it does."""
        never = encoding.upper < 0
        scale = np.where(never, 1.0, encoding.upper + 1.0)
        a = np.where(never, ABSENT, np.broadcast_to(self.a, scale.shape))
        b = np.where(never, ABSENT, np.broadcast_to(self._b, scale.shape))
        return Terms(np.concatenate([a, b], axis=1), np.concatenate([encoding.upper / scale, -1.0 / scale], axis=1))

    def set(self, x: FloatArray, feature: int, value: int) -> None:
        """Choose a feature and the value after which its threshold lies."""
        x[self.a[feature]] = 1.0
        x[self._b[feature]] = value

    def value(self, x: FloatArray, feature: int) -> int:
        """Read the value after which the threshold of the chosen feature lies."""
        # Half of the margin on either side absorbs the tolerances of a solver.
        return int(np.floor(x[self._b[feature]] + 0.25))


Thresholds = ChainThresholds | NumberThresholds


class StrengthenedFormulation:
    """The strengthened MILP of an encoding, thresholds as chains of binaries or as numbers."""

    def __init__(self, encoding: Encoding, *, continuous: bool) -> None:
        self._encoding = encoding
        builder = ModelBuilder()
        kind = NumberThresholds if continuous else ChainThresholds
        n, inner, bottom = encoding.n_samples, encoding.first_bottom, encoding.n_leaves // 2
        labels = range(encoding.n_classes)
        self._label_pairs = [(k, other) for k in labels for other in labels if k != other]
        self._inner: list[Thresholds] = [kind(encoding, builder) for _ in range(inner)]
        self._bottom: list[list[Thresholds]] = [
            [kind(encoding, builder) for _ in self._label_pairs] for _ in range(bottom)
        ]
        self._orientation = builder.columns(bottom, len(self._label_pairs))
        self._leaf = builder.columns(bottom, encoding.n_classes, is_integer=True)
        self._s = builder.columns(n, inner, 2, is_integer=kind.reach_is_integer)
        self._w = builder.columns(n, bottom, is_integer=kind.reach_is_integer)
        # At depth 1 to be wrong at the only node is to be lost.
        self._e = builder.columns(n) if inner else self._w[:, 0]
        for node, thresholds in enumerate(self._inner):
            self._add_inner(builder, node, thresholds)
        for position in range(bottom):
            self._add_bottom(builder, position)
        self._add_losses(builder)
        self.model = builder.build(self._e, encoding.weight)

    def _add_inner(self, builder: ModelBuilder, node: int, thresholds: Thresholds) -> None:
        encoding = self._encoding
        n = encoding.n_samples
        a = np.broadcast_to(thresholds.a, (n, encoding.n_features))
        builder.rows(thresholds.a[None, :], 1.0, upper=1.0)
        s_left, s_right = self._s[:, node, :1], self._s[:, node, 1:]
        left, right = thresholds.left(encoding), thresholds.right(encoding)
        # z = 1 - sum_j a[j]; a column may occur twice in a row, so equal ones are added up.
        column = np.concatenate([s_left, left.column, a], axis=1)
        value = np.concatenate([np.ones((n, 1)), -left.value, np.ones(a.shape)], axis=1)
        builder.rows(*_added_up(column, value), lower=1.0)
        column = np.concatenate([s_right, right.column], axis=1)
        value = np.concatenate([np.ones((n, 1)), -right.value], axis=1)
        builder.rows(*_added_up(column, value), lower=0.0)
        builder.rows(self._s[:, node], 1.0, lower=1.0)
        self._add_children_of_no_split(builder, node, thresholds)

    def _add_children_of_no_split(self, builder: ModelBuilder, node: int, thresholds: Thresholds) -> None:
        """Demand that a node without a split has children without a split."""
        for child in (2 * node + 1, 2 * node + 2):
            below = (
                self._inner[child].a
                if child < self._encoding.first_bottom
                else self._orientation[child - self._encoding.first_bottom]
            )
            sign = np.concatenate([np.ones(len(thresholds.a)), -np.ones(len(below))])
            builder.rows(np.concatenate([thresholds.a, below])[None, :], sign, lower=0.0)

    def _add_bottom(self, builder: ModelBuilder, position: int) -> None:
        encoding = self._encoding
        orientation, leaf = self._orientation[position], self._leaf[position]
        builder.rows(np.concatenate([orientation, leaf])[None, :], 1.0, lower=1.0, upper=1.0)
        for number, thresholds in enumerate(self._bottom[position]):
            column = np.concatenate([thresholds.a, orientation[number : number + 1]])[None, :]
            builder.rows(column, np.append(np.ones(encoding.n_features), -1.0), lower=0.0, upper=0.0)
        for y in range(encoding.n_classes):
            member = np.flatnonzero(encoding.label == y)
            parts = [Terms(self._w[member, position][:, None], -np.ones((len(member), 1)))]
            for number, (left_label, right_label) in enumerate(self._label_pairs):
                thresholds = self._bottom[position][number]
                if left_label == y:
                    parts.append(thresholds.right(encoding))
                elif right_label == y:
                    parts.append(thresholds.left(encoding))
                else:
                    parts.append(_constant(orientation[number : number + 1], encoding.n_samples))
            parts.append(_constant(np.delete(leaf, y), encoding.n_samples))
            whole = [parts[0], *(Terms(part.column[member], part.value[member]) for part in parts[1:])]
            builder.rows(
                *_added_up(np.hstack([p.column for p in whole]), np.hstack([p.value for p in whole])), upper=0.0
            )

    def _add_losses(self, builder: ModelBuilder) -> None:
        encoding = self._encoding
        for position in range(encoding.n_leaves // 2 if encoding.depth > 1 else 0):
            above = encoding.path(2 * position)[:-1]
            reached = [self._s[:, node, side] for node, side in above]
            column = np.stack([self._e, self._w[:, position], *reached], axis=1)
            builder.rows(column, [1.0] + [-1.0] * (len(above) + 1), lower=-float(len(above)))
        builder.rows(self._e[encoding.pair], 1.0, lower=1.0)
        builder.rows(self._e[None, :], encoding.weight, lower=encoding.least)

    def point(self, choice: Choice) -> FloatArray:
        """Return the values of all columns for a choice."""
        encoding = self._encoding
        x = np.zeros(self.model.n_columns)
        s = encoding.reach(choice)
        is_split = np.array([v < encoding.n_splits(j) - 1 for j, v in zip(choice.feature, choice.value, strict=True)])
        for node, thresholds in enumerate(self._inner):
            if is_split[node]:
                thresholds.set(x, choice.feature[node], choice.value[node])
        x[self._s] = s[:, : encoding.first_bottom]
        for position in range(encoding.n_leaves // 2):
            node = encoding.first_bottom + position
            left, right = int(choice.label[2 * position]), int(choice.label[2 * position + 1])
            if is_split[node]:
                number = self._label_pairs.index((left, right))
                self._bottom[position][number].set(x, choice.feature[node], choice.value[node])
                x[self._orientation[position, number]] = 1.0
            else:
                x[self._leaf[position, left]] = 1.0
            wrong = s[:, node, 0] & (encoding.label != left) | s[:, node, 1] & (encoding.label != right)
            x[self._w[:, position]] = wrong
        x[self._e] = encoding.lost(choice)
        return x

    def choice(self, x: FloatArray) -> Choice:
        """Read the choice from the values of the columns."""
        encoding = self._encoding
        feature = np.zeros(encoding.n_nodes, np.int64)
        value = np.full(encoding.n_nodes, encoding.n_values - 1)
        label = np.zeros(encoding.n_leaves, np.int64)
        for node, thresholds in enumerate(self._inner):
            chosen = _chosen(x, thresholds)
            if chosen is not None:
                feature[node], value[node] = chosen, thresholds.value(x, chosen)
        for position, by_labels in enumerate(self._bottom):
            node = encoding.first_bottom + position
            k = int(np.argmax(x[self._leaf[position]]))
            label[2 * position : 2 * position + 2] = k, (k + 1) % encoding.n_classes
            number = int(np.argmax(x[self._orientation[position]]))
            chosen = _chosen(x, by_labels[number])
            if chosen is not None:
                feature[node], value[node] = chosen, by_labels[number].value(x, chosen)
                label[2 * position : 2 * position + 2] = self._label_pairs[number]
        return Choice(feature, value, label)


def _chosen(x: FloatArray, thresholds: Thresholds) -> int | None:
    a = np.where(thresholds.a == ABSENT, 0.0, x[thresholds.a])
    return int(np.argmax(a)) if a.max() > 0.5 else None


def _constant(column: IntArray, n: int) -> Terms:
    """Return the sum of some columns, the same for every sample."""
    return Terms(np.broadcast_to(column, (n, len(column))), np.ones((n, len(column))))


def _added_up(column: IntArray, value: FloatArray) -> tuple[IntArray, FloatArray]:
    """Add up the coefficients of a column that occurs more than once in a row."""
    order = np.argsort(column, axis=1, kind="stable")
    column, value = np.take_along_axis(column, order, 1), np.take_along_axis(value, order, 1)
    value = np.where(column == ABSENT, 0.0, value)
    for k in range(column.shape[1] - 1, 0, -1):
        same = column[:, k] == column[:, k - 1]
        value[same, k - 1] += value[same, k]
        value[same, k] = 0.0
    return column, value
