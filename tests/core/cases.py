"""Random inputs for the functions of the core: small, with many ties, now and then infinite or empty."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hardwood.arrays import FloatArray, Int32Array, IntArray


@dataclass(frozen=True)
class RandomTree:
    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    label: IntArray

    @property
    def splits(self) -> tuple[IntArray, FloatArray, IntArray, IntArray]:
        return self.feature, self.threshold, self.left, self.right

    @property
    def leaves(self) -> list[int]:
        return np.flatnonzero(self.left < 0).tolist()


def random_tree(rng: np.random.Generator, n_features: int, depth: int, n_classes: int) -> RandomTree:
    rows: list[list[float]] = []

    def add(levels: int) -> int:
        place = len(rows)
        if levels == 0 or rng.random() < 0.15:
            rows.append([-1, np.nan, -1, -1, int(rng.integers(n_classes))])
            return place
        rows.append([int(rng.integers(n_features)), float(rng.integers(0, 10)) / 10, -1, -1, -1])
        rows[place][2] = add(levels - 1)
        rows[place][3] = add(levels - 1)
        return place

    add(depth)
    table = np.array(rows)
    whole = table[:, [0, 2, 3, 4]].astype(np.int64)
    feature, left, right, label = (np.ascontiguousarray(whole[:, k]) for k in range(4))
    return RandomTree(feature, np.ascontiguousarray(table[:, 1]), left, right, label)


def random_boxes(rng: np.random.Generator, n: int, n_features: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Points and boxes around them on a coarse grid, some of them unbounded."""
    X = rng.integers(0, 10, (n, n_features)) / 10
    lower = X - rng.integers(0, 4, (n, n_features)) / 10
    upper = X + rng.integers(0, 4, (n, n_features)) / 10
    lower[rng.random((n, n_features)) < 0.05] = -np.inf
    upper[rng.random((n, n_features)) < 0.05] = np.inf
    return X, lower, upper


def random_ranks(rng: np.random.Generator, n: int, n_features: int, most: int = 12) -> tuple[Int32Array, Int32Array]:
    lower = rng.integers(-1, most, (n, n_features)).astype(np.int32)
    return lower, lower + rng.integers(0, 5, (n, n_features)).astype(np.int32)


def random_weights(rng: np.random.Generator, n: int) -> FloatArray:
    """Weights whose sums are exact, so that no order of adding up matters: ones, whole numbers or quarters."""
    return [np.ones(n), rng.integers(1, 5, n).astype(float), rng.integers(1, 9, n) / 4][int(rng.integers(3))]
