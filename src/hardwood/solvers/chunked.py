"""Greedy robust trees of tables that do not fit into memory.

GROOT's rule (`hardwood.solvers.greedy`), level by level, with thresholds from a grid. One pass over the chunks draws a
uniform sample of rows, whose ends give each feature up to `THRESHOLDS` thresholds; one more pass per level counts, for
every node, feature and class, how many lower ends, values and upper ends lie between neighbouring thresholds. For a
threshold t these three counts say all that the rule asks for,

    surely left = #{upper <= t},   reaches left = #{lower <= t},   stands left = #{x <= t},

so that splits are scored with exact counts of all rows. Samples that reach both sides are dealt out to the children in
the shares that the worst placement gives them, at random.

What is guaranteed. The score of a split on the grid is exact. The grid is an approximation: with probability
1 - `RISK`, at most a share 1 / `THRESHOLDS` + 2 sqrt(ln(2 p / RISK) / (2 m)) of a feature's ends lies between two
neighbouring thresholds, for m sampled rows and p features (Dvoretzky, Kiefer & Wolfowitz 1956; Massart 1990). The tree
is an ordinary tree: how good it is under attack is computed exactly, chunk by chunk (`adversarial_accuracy`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood.arrays import BoolArray, FloatArray, IntArray
from hardwood.attack.model import AttackModel
from hardwood.data.chunks import chunks_of, is_chunked
from hardwood.data.frames import Table, as_table, check_finite
from hardwood.data.labels import as_labels, encode_labels
from hardwood.data.weights import as_weights
from hardwood.errors import InvalidInputError
from hardwood.problem.boxes import reach_under_attack
from hardwood.problem.endpoints import midpoint
from hardwood.tree.draft import Draft, Leaf
from hardwood.tree.tree import Tree

THRESHOLDS = 255
"""Of a feature; the places between them are numbered with one byte."""

SAMPLE = 200_000
"""Rows of which the ends are sorted."""

RISK = 1e-3

MOST_BYTES_KEPT = 1_500_000_000
"""Of numbered ends; beyond this they are computed anew for every level."""

LOWER, VALUE, UPPER = 0, 1, 2
Codes = NDArray[np.uint8]


@dataclass
class _Chunk:
    """Rows as the learner sees them: between which thresholds their ends lie, of shape (3, n_features, n)."""

    codes: Codes
    label: IntArray
    weight: FloatArray | None


def _split(draft: Draft, node: int, feature: int, threshold: float) -> tuple[int, int]:
    draft.feature[node], draft.threshold[node], draft.answer[node] = feature, threshold, None
    draft.left[node], draft.right[node] = draft.add(Leaf(0)), draft.add(Leaf(0))
    return draft.left[node], draft.right[node]


def _without_idle_splits(draft: Draft) -> Draft:
    """Cut splits between two leaves of one class; children stand behind their parents."""
    for node in reversed(range(len(draft))):
        if not draft.is_leaf(node):
            left, right = draft.left[node], draft.right[node]
            if draft.is_leaf(left) and draft.is_leaf(right) and draft.answer[left] == draft.answer[right]:
                draft.cut(node, draft.answer[left])
    return draft.reached()[0]


class ChunkedGreedy:
    """A table in chunks, ready to grow greedy trees on.

    Parameters
    ----------
    X : dask array or dataframe of shape (n_samples, n_features)
        Finite numbers.
    y : dask array or series with the same chunks, or array of shape (n_samples,)
    attack : anything `AttackModel.parse` takes
        In the units of X.
    sample_weight : like y, or None
    random_state : int
    """

    def __init__(self, X: Any, y: Any, attack: Any = 0.0, sample_weight: Any = None, *, random_state: int = 0) -> None:
        if not is_chunked(X):
            raise InvalidInputError("X is no Dask array or dataframe; for others there is GreedyRobustTreeClassifier")
        self._data = (X, y, sample_weight)
        self.attack = AttackModel.parse(attack)
        if self.attack.is_relative:
            raise InvalidInputError(
                "on data in chunks an attack must be in units of the data, not in shares of a range"
            )
        self._seed = random_state
        self.names: tuple[str, ...] | None = None
        self.n_features = 0
        self._kept: list[_Chunk] | None = None
        self._survey()

    def _tables(self) -> Iterator[tuple[Table, NDArray[Any], FloatArray | None]]:
        for values, labels, weight in chunks_of(*self._data):
            table = as_table(values)
            check_finite(table.values, table.names, allow_missing=False)
            checked = None if weight is None else as_weights(weight, len(table))
            yield table, as_labels(labels, len(table)), checked

    def _survey(self) -> None:
        """Draw a sample of rows in one pass; its ends give the thresholds."""
        rng = np.random.default_rng([self._seed, 0])
        kept: list[tuple[FloatArray, FloatArray, NDArray[Any]]] = []
        classes: NDArray[Any] | None = None
        rows = 0
        for table, labels, _ in self._tables():
            if len(table) == 0:
                continue
            self.names, self.n_features = table.names, table.shape[1]
            present = np.unique(labels)
            classes = present if classes is None else np.union1d(classes, present)
            key = rng.random(len(table))
            taken = np.argsort(key)[:SAMPLE]
            kept.append((key[taken], table.values[taken], labels[taken]))
            rows += len(table)
            if sum(len(one[0]) for one in kept) > 4 * SAMPLE:
                kept = [_least_keys(kept)]
            self._rounding = table.rounding
        if classes is None or len(classes) < 2:
            raise InvalidInputError("the data need at least two classes")
        self.n_samples, self.classes = rows, classes
        _, values, labels = _least_keys(kept)
        lower, upper = self._ends(values, encode_labels(labels, self.classes))
        self.thresholds = [_grid(np.concatenate([lower[:, j], upper[:, j]])) for j in range(self.n_features)]

    def _ends(self, values: FloatArray, label: IntArray) -> tuple[FloatArray, FloatArray]:
        by_class = self.attack.by_class is not None
        group = label if by_class else np.zeros(len(label), np.int64)
        classes = self.classes if by_class else None
        return reach_under_attack(values, self.attack, self.names, classes, group, None, self._rounding).ends()

    def _chunks(self) -> Iterator[_Chunk]:
        if self._kept is not None:
            yield from self._kept
            return
        keeps = 3 * self.n_samples * self.n_features <= MOST_BYTES_KEPT
        kept: list[_Chunk] = []
        for table, labels, weight in self._tables():
            label = encode_labels(labels, self.classes)
            lower, upper = self._ends(table.values, label)
            codes = np.empty((3, self.n_features, len(label)), np.uint8)
            for j, grid in enumerate(self.thresholds):
                for kind, ends in ((LOWER, lower), (VALUE, table.values), (UPPER, upper)):
                    codes[kind, j] = np.searchsorted(grid, ends[:, j], side="left")
            chunk = _Chunk(codes, label, weight)
            if keeps:
                kept.append(_Chunk(codes, label.astype(np.int16) if len(self.classes) < 2**15 else label, weight))
            yield chunk
        if keeps:
            self._kept = kept

    def grow(
        self,
        max_depth: int,
        *,
        min_samples_leaf: float = 1.0,
        max_features: int | None = None,
        bootstrap: bool = False,
        random_state: int = 0,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> Tree:
        """Grow a tree: one pass over the chunks per level.

        Parameters
        ----------
        max_depth : int
        min_samples_leaf : float
            Least weight on each side of a split, as the attacker distributes the samples.
        max_features : int or None
            How many features, drawn at random, each split looks at; more as long as none of them gains anything.
        bootstrap : bool
            Whether rows are drawn with replacement: each counts as often as a Poisson variable of mean 1 says.
        random_state : int
        should_stop : callable
            Asked after every chunk; the nodes still open then become leaves.
        """
        draft, seed = Draft(), [self._seed, 1, random_state]
        draft.add(Leaf(0))
        draw = np.random.default_rng([*seed, 2])
        open_nodes = [0]
        rules: list[_Level] = []
        for level in range(max_depth + 1):
            counts = self._count(open_nodes, rules, seed, bootstrap, should_stop)
            if counts is None:
                break
            best = [
                _best_of_drawn(counts[k], self.thresholds, min_samples_leaf, draw, max_features)
                for k in range(len(open_nodes))
            ]
            rule = _Level({}, {})
            children: list[int] = []
            for k, node in enumerate(open_nodes):
                draft.answer[node] = int(counts[k][0, LOWER].sum(axis=1).argmax())
                split = best[k] if level < max_depth else None
                if split is not None:
                    feature, index, share = split
                    left, right = _split(draft, node, feature, float(self.thresholds[feature][index]))
                    rule.split[node] = (feature, index, left, right)
                    rule.share[node] = share
                    children += [left, right]
            rules.append(rule)
            if not children:
                break
            open_nodes = children
        kept = _without_idle_splits(draft)
        label = np.array([-1 if answer is None else answer for answer in kept.answer])
        threshold = np.array(kept.threshold, np.float64)
        columns = (np.array(kept.feature), threshold, np.array(kept.left), np.array(kept.right), label)
        return Tree(*columns, self.classes, self.n_features, self.names)

    def _count(
        self, nodes: list[int], rules: list[_Level], seed: list[int], bootstrap: bool, should_stop: Callable[[], bool]
    ) -> FloatArray | None:
        """Return weights by node, feature, kind of end, class and place between thresholds."""
        n_classes = len(self.classes)
        slot = np.full(max(nodes) + 2, -1)
        slot[nodes] = np.arange(len(nodes))
        shape = (len(nodes), self.n_features, 3, n_classes, THRESHOLDS + 1)
        total = np.zeros(shape)
        for k, chunk in enumerate(self._chunks()):
            weight = chunk.weight
            if bootstrap:
                times = np.random.default_rng([*seed, 3, k]).poisson(1.0, len(chunk.label)).astype(float)
                weight = times if weight is None else weight * times
            at = _node_of(chunk, rules, [*seed, 4, k])
            here = slot[np.minimum(at, len(slot) - 1)]
            rows = np.flatnonzero((here >= 0) & (at < len(slot) - 1))
            base = (here[rows] * n_classes + chunk.label[rows]) * (THRESHOLDS + 1)
            weights = None if weight is None else weight[rows]
            size = len(nodes) * n_classes * (THRESHOLDS + 1)
            for j in range(self.n_features):
                for kind in range(3):
                    found = np.bincount(base + chunk.codes[kind, j, rows], weights, size)
                    total[:, j, kind] += found.reshape(len(nodes), n_classes, THRESHOLDS + 1)
            if should_stop():
                return None
        return total


@dataclass
class _Level:
    """What was decided on one level: feature, index, children by node; what share of each class the left child gets."""

    split: dict[int, tuple[int, int, int, int]]
    share: dict[int, FloatArray]


def _node_of(chunk: _Chunk, rules: list[_Level], seed: list[int]) -> IntArray:
    """Return the node that each row has come to, movable ones dealt out as the attacker would."""
    n = len(chunk.label)
    at = np.zeros(n, np.int64)
    for level, rule in enumerate(rules):
        if not rule.split:
            break
        lot = np.random.default_rng([*seed, level]).random(n, dtype=np.float32)
        size = max(rule.split) + 1
        table = np.full((4, size), -1)
        share = np.zeros((size, len(next(iter(rule.share.values())))))
        for number, entry in rule.split.items():
            table[:, number] = entry
            share[number] = rule.share[number]
        rows = np.flatnonzero((at < size) & (table[0, np.minimum(at, size - 1)] >= 0))
        node = at[rows]
        feature, index, left, right = table[:, node]
        to_left = chunk.codes[LOWER, feature, rows] <= index
        to_right = chunk.codes[UPPER, feature, rows] > index
        goes_left: BoolArray = to_left & (~to_right | (lot[rows] < share[node, chunk.label[rows]]))
        at[rows] = np.where(goes_left, left, right)
    return at


def _least_keys(kept: list[tuple[FloatArray, FloatArray, NDArray[Any]]]) -> tuple[FloatArray, FloatArray, NDArray[Any]]:
    """Return the rows with the smallest random keys: a uniform sample of all."""
    key, values, labels = (np.concatenate([one[k] for one in kept]) for k in range(3))
    taken = np.argsort(key, kind="stable")[:SAMPLE]
    return key[taken], values[taken], labels[taken]


def _grid(ends: FloatArray) -> FloatArray:
    """Return up to `THRESHOLDS` thresholds between finite ends, with as many of these between each two."""
    finite = np.sort(ends[np.isfinite(ends)])
    values = np.unique(finite)
    if len(values) < 2:
        return np.empty(0)
    if len(values) > THRESHOLDS + 1:
        at = np.linspace(0, len(finite) - 1, THRESHOLDS + 2)[1:-1].astype(int)
        chosen = np.unique(finite[at])
        chosen = chosen[chosen < values[-1]]
    else:
        chosen = values[:-1]
    above = values[np.searchsorted(values, chosen, side="right")]
    return np.array([midpoint(float(a), float(b)) for a, b in zip(chosen, above, strict=True)])


def _best_of_drawn(
    counts: FloatArray, thresholds: list[FloatArray], least: float, rng: np.random.Generator, most: int | None
) -> tuple[int, int, FloatArray] | None:
    """Return the best split on features drawn at random, and on one more at a time as long as there is none."""
    p = len(thresholds)
    if most is None or most >= p:
        return _best_split(counts, thresholds, least, np.arange(p))
    drawn = np.sort(rng.choice(p, max(1, most), replace=False))
    found = _best_split(counts, thresholds, least, drawn)
    if found is None:
        others = rng.permutation(np.setdiff1d(np.arange(p), drawn))
        alone = (_best_split(counts, thresholds, least, others[k : k + 1]) for k in range(len(others)))
        found = next((split for split in alone if split is not None), None)
    return found


def _best_split(
    counts: FloatArray, thresholds: list[FloatArray], least: float, features: IntArray
) -> tuple[int, int, FloatArray] | None:
    """Return feature, index and the shares of the movable samples that go left, for the best split; None: no split."""
    best: tuple[float, int, int, FloatArray] | None = None
    total = counts[0, LOWER].sum(axis=1)
    now = _gini(total[:, None])[0]
    for j in features.tolist():
        n = len(thresholds[j])
        if n == 0:
            continue
        reaches, stands, sure = (np.cumsum(counts[j, kind], axis=1)[:, :n] for kind in (LOWER, VALUE, UPPER))
        impurity, moved, held = _worst(sure, stands, reaches, total[:, None])
        in_left, in_right = (sure + moved).sum(axis=0), (total[:, None] - sure - moved).sum(axis=0)
        impurity = np.where((in_left >= least) & (in_right >= least), impurity, np.inf)
        t = int(impurity.argmin())
        if impurity[t] < now * (1 - 1e-9) and (best is None or impurity[t] < best[0]):
            share = np.divide(moved[:, t], held[:, t], out=np.zeros(len(total)), where=held[:, t] > 0)
            best = (float(impurity[t]), j, t, share)
    return None if best is None else best[1:]


def _gini(weight: FloatArray) -> FloatArray:
    """Return the weighted impurity of columns of class weights: W (1 - sum p²)."""
    total = weight.sum(axis=0)
    squares = (weight**2).sum(axis=0)
    return np.asarray(total - np.divide(squares, total, out=np.zeros_like(total), where=total > 0))


def _worst(
    sure: FloatArray, stands: FloatArray, reaches: FloatArray, total: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the impurity that the attacker can force, what he places on the left, and what he can place.

    Impurity is largest where both sides have the class shares of their parent: moved = share · total - sure, as near to
    where the samples stand as the box 0 <= moved <= held allows (`src/core/greedy/placement.h`).
    """
    held = reaches - sure
    there = total > 0
    safe = np.where(there, total, 1.0)
    share = (total * stands).sum(axis=0) / (total**2).sum()
    lowest = np.where(there, sure / safe, 0.0).max(axis=0)
    highest = np.where(there, reaches / safe, 1.0).min(axis=0)
    share = np.where(lowest > highest, (lowest + highest) / 2, np.clip(share, lowest, np.maximum(lowest, highest)))
    moved = np.clip(share * total - sure, 0.0, held)
    return _gini(sure + moved) + _gini(total - sure - moved), moved, held
