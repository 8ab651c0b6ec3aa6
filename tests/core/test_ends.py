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


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("seed", range(20))
def test_thresholds_a_hair_from_an_end_are_reached_lazily_as_by_whole_boxes(seed: int, dtype: str) -> None:
    rng = np.random.default_rng(seed)
    n = 2_000
    X = wild_numbers(rng, (n, 1)) if seed % 2 else np.round(rng.normal(size=(n, 1)), 2)
    radii = np.abs(wild_numbers(rng, (4, 1)) if seed % 4 == 1 else rng.integers(0, 5, (4, 1)) / 10)
    down, up = np.ascontiguousarray(radii[:2]), np.ascontiguousarray(radii[2:])
    group, label = rng.integers(0, 2, n), rng.integers(0, 2, n)
    rounding = np.ascontiguousarray(rounding_of(np.zeros((1, 1), dtype), 1))
    lower, upper = lower_end(X, down[group], rounding), upper_end(X, up[group], rounding)
    with np.errstate(over="ignore"):
        ends = np.concatenate([lower, upper, X, X - down[group], X + up[group]])[:, 0]
    ends = ends[np.abs(ends) < np.finfo(np.float64).max]
    for b in (*rng.choice(ends, 20), *np.nextafter(rng.choice(ends, 20), rng.choice([-np.inf, np.inf], 20))):
        tree = np.array([0, -1, -1]), np.array([b, np.nan, np.nan]), np.array([1, -1, -1]), np.array([2, -1, -1])
        answer = np.array([-1, 0, 1])
        lazy = _core.fooled_under_attack(*tree, answer, X, X, down, up, group, rounding, label)
        np.testing.assert_array_equal(lazy, _core.fooled(*tree, answer, lower, upper, label))
        nodes = _core.reached_nodes_under_attack(*tree, X, X, down, up, group, rounding)
        np.testing.assert_array_equal(nodes, _core.reached_nodes(*tree, lower, upper))


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
