"""Walks of the core against walks written down node by node."""

from __future__ import annotations

import numpy as np
import pytest

from core.cases import RandomTree, random_boxes, random_ranks, random_tree
from hardwood import _core
from hardwood.data.frames import EXACT_DOUBLE
from hardwood.problem.boxes import lower_end, upper_end


def reached(tree: RandomTree, lower: list[float], upper: list[float], node: int = 0) -> set[int]:
    """All nodes that a box reaches: left iff lower <= b, right iff upper > b."""
    if tree.left[node] < 0:
        return {node}
    j, b = tree.feature[node], tree.threshold[node]
    left = reached(tree, lower, upper, int(tree.left[node])) if lower[j] <= b else set()
    right = reached(tree, lower, upper, int(tree.right[node])) if upper[j] > b else set()
    return {node} | left | right


def below(tree: RandomTree, node: int) -> set[int]:
    """The node and all nodes below it."""
    if tree.left[node] < 0:
        return {node}
    return {node} | below(tree, int(tree.left[node])) | below(tree, int(tree.right[node]))


def check_sums(
    rng: np.random.Generator, tree: RandomTree, nodes: list[set[int]], label: np.ndarray, boxes: tuple[np.ndarray, ...]
) -> None:
    weight = rng.integers(0, 5, len(label)).astype(float)
    size, leaves = len(tree.feature), set(tree.leaves)
    certain, kept, lost_below = np.zeros((3, size, 3))
    lost, count = np.zeros(size), np.zeros(size, int)
    for i, reached_nodes in enumerate(nodes):
        wrong = {leaf for leaf in reached_nodes & leaves if tree.label[leaf] != label[i]}
        for node in range(size):
            is_here = node in reached_nodes
            count[node] += is_here
            lost[node] += weight[i] if wrong and is_here else 0
            if label[i] < 0:
                continue
            certain[node, label[i]] += weight[i] if is_here and len(reached_nodes & leaves) == 1 else 0
            kept[node, label[i]] += weight[i] if is_here and not wrong else 0
            lost_below[node, label[i]] += weight[i] if wrong and wrong <= below(tree, node) else 0
    found = _core.node_sums(*tree.splits, tree.label, *boxes, label, weight, 3)
    for sums, expected in zip(found, (certain, kept, lost_below, lost, count), strict=True):
        np.testing.assert_array_equal(sums, expected)


def check_walks(rng: np.random.Generator) -> None:
    n, p = int(rng.integers(0, 12)), int(rng.integers(1, 5))
    tree = random_tree(rng, p, int(rng.integers(0, 8)), 3)
    X, lower, upper = random_boxes(rng, n, p)
    label = rng.integers(-1, 3, n)
    nodes = [reached(tree, lower[i].tolist(), upper[i].tolist()) for i in range(n)]
    ends = [(reached(tree, X[i].tolist(), X[i].tolist()) & set(tree.leaves)).pop() for i in range(n)]
    assert _core.apply(*tree.splits, X).tolist() == ends
    expected = [[k in nodes[i] for k in range(len(tree.feature))] for i in range(n)]
    assert _core.reached_nodes(*tree.splits, lower, upper).tolist() == expected
    nothing = np.zeros((1, lower.shape[1]))
    boxes = (lower, upper, nothing, nothing, np.zeros(n, np.int64), EXACT_DOUBLE)
    assert _core.reached_nodes_under_attack(*tree.splits, *boxes).tolist() == expected
    wrong = [any(tree.label[k] != label[i] for k in nodes[i] if tree.left[k] < 0) for i in range(n)]
    assert _core.fooled(*tree.splits, tree.label, lower, upper, label).tolist() == wrong
    check_sums(rng, tree, nodes, label, boxes)
    everywhere = np.ones(len(tree.feature), bool)
    words = _core.reached_leaves(*tree.splits, everywhere, everywhere, lower, upper)
    for i in range(n):
        bits = {leaf for k, leaf in enumerate(tree.leaves) if int(words[i, k // 64]) >> k % 64 & 1}
        assert bits == nodes[i] & set(tree.leaves)


def check_walks_on_ranks(rng: np.random.Generator) -> None:
    n, p = int(rng.integers(0, 12)), int(rng.integers(1, 4))
    tree = random_tree(rng, p, int(rng.integers(0, 8)), 2)
    index = np.where(tree.left < 0, -1, np.nan_to_num(tree.threshold * 10)).astype(np.int64)
    on_ranks = RandomTree(tree.feature, index.astype(float), tree.left, tree.right, tree.label)
    lower, upper = random_ranks(rng, n, p)
    can_left, can_right = np.ones((2, len(index)), bool)
    closed = rng.integers(0, len(index))
    can_left[closed] = False
    words = _core.reached_leaves(tree.feature, index, tree.left, tree.right, can_left, can_right, lower, upper)
    # Nobody goes left where no point can.
    shut = index.astype(float)
    shut[closed] = -np.inf if tree.left[closed] >= 0 else shut[closed]
    on_ranks = RandomTree(tree.feature, shut, tree.left, tree.right, tree.label)
    for i in range(n):
        bits = {leaf for k, leaf in enumerate(tree.leaves) if int(words[i, k // 64]) >> k % 64 & 1}
        assert bits == reached(on_ranks, lower[i].tolist(), upper[i].tolist()) & set(tree.leaves)


def check_nearest_points(rng: np.random.Generator) -> None:
    n, p, r = int(rng.integers(0, 10)), int(rng.integers(1, 4)), int(rng.integers(1, 6))
    X, lower, upper = random_boxes(rng, n, p)
    low = rng.integers(0, 9, (r, p)) / 10
    high = low + rng.integers(1, 4, (r, p)) / 10
    low[rng.random((r, p)) < 0.2], high[rng.random((r, p)) < 0.2] = -np.inf, np.inf
    region_label, label = rng.integers(0, 3, r), rng.integers(-1, 3, n)
    points, distance = _core.nearest_wrong_points(low, high, region_label, X, lower, upper, label)
    for i in range(n):
        best = np.inf
        for k in range(r):
            inside = (upper[i] > low[k]) & (lower[i] <= high[k])
            if region_label[k] != label[i] and inside.all():
                nearest = np.minimum(np.where(X[i] > low[k], X[i], np.nextafter(low[k], np.inf)), high[k])
                best = min(best, float(np.abs(nearest - X[i]).max(initial=0.0)))
        assert distance[i] == pytest.approx(best, abs=1e-300)
        if best < np.inf:
            there = (points[i] > low) & (points[i] <= high)
            assert (region_label[there.all(axis=1)] != label[i]).any()
            assert np.abs(points[i] - X[i]).max() == distance[i]
        else:
            assert np.isnan(points[i]).all()


def check_largest_factors(rng: np.random.Generator) -> None:
    n, p, r, groups = int(rng.integers(0, 10)), int(rng.integers(1, 4)), int(rng.integers(1, 6)), 2
    X = np.ascontiguousarray(rng.integers(0, 40, (n, p)) / rng.choice([1, 4, 10]))
    down, up = rng.choice([0.0, 0.1, 0.25, 1.0, np.inf], (2, groups, p))
    low = rng.integers(0, 9, (r, p)) / 2
    high = low + rng.integers(1, 4, (r, p)) / 2
    low[rng.random((r, p)) < 0.2], high[rng.random((r, p)) < 0.2] = -np.inf, np.inf
    region_label, label, group = rng.integers(0, 3, r), rng.integers(0, 3, n), rng.integers(0, groups, n)
    rounding = np.ascontiguousarray(EXACT_DOUBLE)
    factor = _core.largest_factors(low, high, region_label, X, X, down, up, group, rounding, label)

    def keeps_out(i: int, times: float) -> bool:
        reach = [np.zeros(p) if times == 0 else times * radius[group[i]] for radius in (down, up)]
        lower, upper = lower_end(X[i], reach[0]), upper_end(X[i], reach[1])
        outside = ((lower > high) | (upper <= low)).any(axis=1)
        return bool(outside[region_label != label[i]].all())

    for i in range(n):
        if factor[i] == -np.inf:
            assert not keeps_out(i, 0.0)
        elif factor[i] == np.inf:
            assert keeps_out(i, 0.0)
            assert keeps_out(i, 1e6)
        else:
            assert keeps_out(i, float(factor[i]))
            assert not keeps_out(i, float(factor[i]) * (1 + 1e-8) + 1e-9)


@pytest.mark.parametrize("check", [check_walks, check_walks_on_ranks, check_nearest_points, check_largest_factors])
@pytest.mark.parametrize("seed", range(60))
def test_walks_are_those_of_the_definition(check: object, seed: int) -> None:
    check(np.random.default_rng(seed))


def test_what_is_not_a_number_goes_right() -> None:
    rng = np.random.default_rng(0)
    tree = random_tree(rng, 1, 1, 2)
    while len(tree.feature) == 1:
        tree = random_tree(rng, 1, 1, 2)
    assert _core.apply(*tree.splits, np.array([[np.nan]])).tolist() == [tree.right[0]]
