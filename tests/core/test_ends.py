"""The ends of boxes in the core are those of the definition in NumPy, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest

from hardwood import Tree, _core, adversarial_accuracy, robust_radius
from hardwood.data.frames import rounding_of
from hardwood.problem.boxes import lower_end, upper_end

SEED = 41


def wild_numbers(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of every size, whole numbers, quarters, decimals, zeros, subnormal and largest ones."""
    kinds = np.stack(
        [
            np.exp(rng.uniform(-700, 700, shape)) * rng.choice([-1, 1], shape),
            rng.integers(-100, 100, shape).astype(float),
            rng.integers(-100, 100, shape) / 4,
            rng.integers(-100, 100, shape) / 10,
            rng.integers(-(2**33), 2**33, shape).astype(float),
            rng.integers(0, 5, shape) * 5e-324,
            np.full(shape, np.finfo(np.float64).max),
            np.zeros(shape),
        ]
    )
    return np.ascontiguousarray(np.take_along_axis(kinds, rng.integers(0, len(kinds), (1, *shape)), axis=0)[0])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_ends_are_those_of_the_definition(dtype: str) -> None:
    rng = np.random.default_rng(SEED)
    n, p, groups = 20_000, 3, 5
    X = wild_numbers(rng, (n, p))
    down, up = np.abs(wild_numbers(rng, (groups, p))), np.abs(wild_numbers(rng, (groups, p)))
    down[0], up[1, 0] = 0.0, np.inf
    group = rng.integers(0, groups, n)
    rounding = np.ascontiguousarray(rounding_of(np.zeros((1, p), dtype), p))
    lower, upper = _core.box_ends(X, X, down, up, group, rounding)
    np.testing.assert_array_equal(lower, lower_end(X, down[group], rounding))
    np.testing.assert_array_equal(upper, upper_end(X, up[group], rounding))


def test_lazy_ends_fool_the_same_samples_as_whole_boxes() -> None:
    rng = np.random.default_rng(SEED)
    n, p = 5_000, 2
    X = rng.integers(0, 12, (n, p)) / rng.choice([1, 4, 10], (n, p))
    down, up = rng.integers(0, 8, (3, p)) / 10, rng.integers(0, 8, (3, p)) / 4
    group, label = rng.integers(0, 3, n), rng.integers(0, 2, n)
    rounding = np.ascontiguousarray(rounding_of(np.zeros((1, p)), p))
    tree = (
        np.array([0, 1, -1, -1, -1]),
        np.array([0.5, 1.3, np.nan, np.nan, np.nan]),
        np.array([1, 2, -1, -1, -1]),
        np.array([4, 3, -1, -1, -1]),
        np.array([-1, -1, 0, 1, 0]),
    )
    lazy = _core.fooled_under_attack(*tree, X, X, down, up, group, rounding, label)
    lower, upper = lower_end(X, down[group], rounding), upper_end(X, up[group], rounding)
    np.testing.assert_array_equal(lazy, _core.fooled(*tree, lower, upper, label))
    assert 0 < lazy.sum() < n


def test_arrays_that_do_not_fit_are_refused() -> None:
    X, still, group, rounding = np.zeros((4, 2)), np.zeros((1, 2)), np.zeros(4, np.int64), np.ones((2, 1))
    _core.box_ends(X, X, still, still, group, rounding)
    for changed in (
        (X[:3], X, still, still, group, rounding),
        (X, X, still, np.zeros((1, 3)), group, rounding),
        (X, X, still, still, group + 1, rounding),
        (X, X, still, still, group[:2], rounding),
        (X, X, still, still, group, np.ones((1, 2))),
    ):
        with pytest.raises(ValueError):
            _core.box_ends(*changed)


def test_a_sample_that_the_attack_leaves_has_a_radius_of_at_least_one() -> None:
    # The lower end 4 - 2 is exact and just above the threshold, while radii a little below 2 are rounded.
    tree = Tree(
        np.array([0, -1, -1]),
        np.array([2 - 1e-12, np.nan, np.nan]),
        np.array([1, -1, -1]),
        np.array([2, -1, -1]),
        np.array([-1, 0, 1]),
        classes=np.array([0, 1]),
        n_features=1,
    )
    X, y = np.array([[4.0]]), np.array([1])
    assert adversarial_accuracy(tree, X, y, 2.0) == 1
    assert robust_radius(tree, X, y, 2.0)[0] >= 1
