"""Better trees from a tree: re-optimise one node at a time, exactly, the others held fixed.

With the rest of the tree fixed, a sample is lost below node m iff it goes left and the left subtree loses it, or goes
right and the right subtree loses it. So the cost of every threshold of every feature at m is a sum of weights over
sorted ends, as for a single split (ALGORITHMS: subtree re-optimisation, with subtrees of one split). `descend` repeats
this until no node improves; `search_nearby` shakes the result and descends again. Engines are started from the result
and their solutions are passed through it. (`hardwood.solvers.search.local_search` does more, on the search's whole
weights; this works on what the engine was given, its values and its weights, so that the two never disagree.)
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hardwood.arrays import BoolArray
from hardwood.solvers.formulations.encoding import Choice, Encoding


def descend(encoding: Encoding, choice: Choice, seconds: float = 1.0) -> Choice:
    """Re-optimise node after node until none improves or the time is up; the objective never rises."""
    deadline = time.perf_counter() + seconds
    best = encoding.objective(choice)
    improved = True
    while improved:
        improved = False
        for node in range(encoding.n_nodes - 1, -1, -1):
            if time.perf_counter() > deadline:
                return choice
            candidate = _best_at(encoding, choice, node, deadline)
            cost = encoding.objective(candidate)
            if cost < best:
                choice, best, improved = candidate, cost, True
    return choice


def search_nearby(encoding: Encoding, choice: Choice, seconds: float, seed: int) -> Choice:
    """Change some nodes at random, descend, keep what is no worse; for so long."""
    rng = np.random.default_rng(seed)
    deadline = time.perf_counter() + seconds
    choice = descend(encoding, choice, seconds)
    best = encoding.objective(choice)
    while best > encoding.least and (left := deadline - time.perf_counter()) > 0:
        feature, value = choice.feature.copy(), choice.value.copy()
        for node in rng.choice(encoding.n_nodes, size=rng.integers(1, encoding.n_nodes + 1), replace=False):
            j = int(rng.integers(encoding.n_features))
            if encoding.n_splits(j) > 0:
                feature[node], value[node] = j, rng.integers(-1, encoding.n_splits(j) - 1)
        candidate = descend(encoding, replace(choice, feature=feature, value=value), left)
        cost = encoding.objective(candidate)
        if cost <= best:
            choice, best = candidate, cost
    return choice


def _best_at(encoding: Encoding, choice: Choice, node: int, deadline: float) -> Choice:
    """Return the best choice at one node, the others held fixed; of the labels that there was time for."""
    lost, undecided = _around(encoding, choice, node)
    feature, value, label = choice.feature.copy(), choice.value.copy(), choice.label.copy()
    if node < encoding.first_bottom:
        wrong_left, wrong_right = lost[2 * node + 1], lost[2 * node + 2]
        _, feature[node], value[node] = _best_split(encoding, undecided, wrong_left, wrong_right)
        return Choice(feature, value, label)
    weight = encoding.weight * undecided
    by_class = np.bincount(encoding.label, weight, encoding.n_classes)
    leaf = int(np.argmax(by_class))
    first = 2 * node + 1 - encoding.n_nodes
    best = float(by_class.sum() - by_class[leaf])
    # No split: all samples go left, or both leaves have one class.
    feature[node], value[node] = 0, encoding.n_values - 1
    label[first : first + 2] = leaf, (leaf + 1) % encoding.n_classes if encoding.strengthened else leaf
    for k in range(encoding.n_classes):
        for other in range(encoding.n_classes):
            if other != k and time.perf_counter() <= deadline:
                cost, j, t = _best_split(encoding, undecided, encoding.label != k, encoding.label != other)
                if cost < best:
                    best, feature[node], value[node] = cost, j, t
                    label[first : first + 2] = k, other
    return Choice(feature, value, label)


def _around(encoding: Encoding, choice: Choice, node: int) -> tuple[dict[int, BoolArray], BoolArray]:
    """Return which samples each subtree would lose, and which reach `node` without being lost elsewhere."""
    s = encoding.reach(choice)
    lost: dict[int, BoolArray] = {}
    for leaf in range(encoding.n_leaves):
        lost[encoding.n_nodes + leaf] = encoding.label != choice.label[leaf]
    for m in range(encoding.n_nodes - 1, -1, -1):
        lost[m] = (s[:, m, 0] & lost[2 * m + 1]) | (s[:, m, 1] & lost[2 * m + 2])
    undecided = np.ones(encoding.n_samples, bool)
    steps = []
    below = node
    while below > 0:
        above = (below - 1) // 2
        steps.append((above, below - 2 * above - 1))
        below = above
    for above, side in reversed(steps):
        sibling = 2 * above + 2 - side
        undecided &= s[:, above, side] & ~(s[:, above, 1 - side] & lost[sibling])
    return lost, undecided


def _best_split(
    encoding: Encoding, undecided: BoolArray, wrong_left: BoolArray, wrong_right: BoolArray
) -> tuple[float, int, int]:
    """Return cost, feature and value of the best split; cost is what the undecided samples lose."""
    n_features, width = encoding.n_features, encoding.n_values + 2
    offset = width * np.arange(n_features)

    def sums(ends: NDArray[np.int32], counted: BoolArray) -> NDArray[np.float64]:
        """Weight of the counted samples whose end is v, in column v + 1, for every feature."""
        cell = (ends[counted] + 1 + offset).ravel()
        weight = np.repeat(encoding.weight[counted], n_features)
        total = np.bincount(cell, weight, n_features * width).astype(np.float64)
        return total.reshape(n_features, width)

    only_left = sums(encoding.lower, undecided & wrong_left & ~wrong_right)
    only_right = sums(encoding.upper, undecided & wrong_right & ~wrong_left)
    # Column t + 1: ends up to t for the left, ends above t for the right.
    cost = np.cumsum(only_left, axis=1) + only_right.sum(axis=1, keepdims=True) - np.cumsum(only_right, axis=1)
    n_splits = np.array([encoding.n_splits(j) for j in range(n_features)])
    cost[np.arange(width) >= n_splits[:, None]] = np.inf
    j, column = np.unravel_index(int(np.argmin(cost)), cost.shape)
    both = float(encoding.weight[undecided & wrong_left & wrong_right].sum())
    return float(cost[j, column]) + both, int(j), int(column) - 1
