"""The search over leaf labels against trying all of them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from hardwood import _core


def check_labelings(rng: np.random.Generator) -> None:
    n_leaves, n_classes, n_groups = (int(k) for k in rng.integers(1, [6, 4, 8]))
    leaves = [sorted(rng.permutation(n_leaves)[: int(rng.integers(1, n_leaves + 1))].tolist()) for _ in range(n_groups)]
    begin = np.concatenate([[0], np.cumsum([len(of) for of in leaves])])
    label, weight = rng.integers(0, n_classes, n_groups), rng.integers(1, 9, n_groups) / 4

    def cost(labels: tuple[int, ...]) -> float:
        return sum(w for of, c, w in zip(leaves, label, weight, strict=True) if any(labels[k] != c for k in of))

    start = tuple(rng.integers(0, n_classes, n_leaves).tolist())
    best, finished = _core.try_labelings(
        begin, np.concatenate(leaves), label, weight, n_classes, cost(start), 10**9, np.array(start)
    )
    assert finished
    assert cost(tuple(best)) == min(cost(labels) for labels in product(range(n_classes), repeat=n_leaves))


@pytest.mark.parametrize("seed", range(60))
def test_the_best_labels_are_found(seed: int) -> None:
    check_labelings(np.random.default_rng(seed))


def test_a_search_that_may_look_at_nothing_keeps_what_is_known() -> None:
    best, finished = _core.try_labelings(
        np.array([0, 1]), np.array([0]), np.array([1]), np.ones(1), 2, 1.0, 0, np.array([0])
    )
    assert not finished
    assert best.tolist() == [0]
