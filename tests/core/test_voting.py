"""Trees that vote: votes one by one, certificates against all points, attacks against what they claim."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from core.cases import random_boxes, random_tree
from core.test_walk import reached
from hardwood import _core
from hardwood.arrays import FloatArray, IntArray


def check_voting(rng: np.random.Generator) -> None:
    n, p, n_classes, n_trees = (int(k) for k in rng.integers([0, 1, 1, 1], [6, 4, 4, 5]))
    trees = [random_tree(rng, p, int(rng.integers(0, 4)), n_classes) for _ in range(n_trees)]
    begin = np.cumsum([0] + [len(tree.feature) for tree in trees])[:-1]
    arrays = tuple(
        np.concatenate([getattr(tree, name) for tree in trees])
        for name in ("feature", "threshold", "left", "right", "label")
    )
    X, lower, upper = random_boxes(rng, n, p)
    truth = rng.integers(-1, n_classes, n)

    def votes(points: FloatArray) -> IntArray:
        leaves = [(tree, _core.apply(*tree.splits, points)) for tree in trees]
        labels = np.array([tree.label[leaf] for tree, leaf in leaves])
        return (labels[:, :, None] == np.arange(n_classes)).sum(axis=0)

    assert np.array_equal(_core.votes(begin, *arrays, X, n_classes), votes(X))
    cuts = [np.unique(arrays[1][(arrays[0] == j) & (arrays[2] >= 0)]) for j in range(p)]
    offset = np.cumsum([0] + [len(of) for of in cuts])
    certain = _core.certified(begin, *arrays, lower, upper, truth, n_classes)
    found, point = _core.attacked(begin, *arrays, X, lower, upper, truth, n_classes, offset, np.concatenate(cuts))
    for i in range(n):
        if found[i] and truth[i] >= 0:
            assert votes(point[[i]]).argmax() != truth[i]
            assert ((lower[i] <= point[i]) & (point[i] <= upper[i])).all()
        if truth[i] < 0:
            assert found[i]
            assert not certain[i]
            continue
        values = [
            [x for x in (max(lower[i, j], -9.0), *np.nextafter(cuts[j], np.inf)) if lower[i, j] <= x <= upper[i, j]]
            for j in range(p)
        ]
        answers = votes(np.array(list(product(*values)))).argmax(axis=1)
        assert not (certain[i] and (answers != truth[i]).any())
        assert not (certain[i] and found[i])
        if n_trees == 1:
            leaves = reached(trees[0], lower[i].tolist(), upper[i].tolist()) & set(trees[0].leaves)
            assert certain[i] == all(trees[0].label[leaf] == truth[i] for leaf in leaves)


@pytest.mark.parametrize("seed", range(80))
def test_votes_certificates_and_attacks_hold(seed: int) -> None:
    check_voting(np.random.default_rng(seed))
