"""Scans that count by blocks of ranks against enumeration, and against scans along the order of the ends."""

from __future__ import annotations

import numpy as np
import pytest

import hardwood._core as _core
from core.test_search_core import (
    Case,
    best_of_depth_two,
    cost_of,
    n_candidates_of,
    nested_of,
    random_case,
    solved,
)


def boxes(seed: int, most: int, *, heavy: bool = False) -> Case:
    """Boxes of different widths with many, some or no ties, infinite ends, and classes that depend on them."""
    rng = np.random.default_rng([seed, 91])
    n, p, n_classes = int(rng.integers(1, most + 1)), int(rng.integers(1, 5)), int(rng.integers(2, 6))
    n_classes = 2 if rng.random() < 0.5 else n_classes
    n_ranks = rng.choice([1, 3, 40, 500, 20 * most], p)
    middle = rng.random((n, p))
    width = rng.choice([0.0, 0.02, 0.2]) * rng.random((n, p))
    lower = np.clip((middle - width) * n_ranks, 0, n_ranks - 1).astype(np.int32)
    upper = np.clip((middle + width) * n_ranks, 0, n_ranks - 1).astype(np.int32)
    lower = np.where(rng.random((n, p)) < 0.02, -1, lower).astype(np.int32)
    upper = np.where(rng.random((n, p)) < 0.02, n_ranks, upper).astype(np.int32)
    signal = ((middle[:, 0] * 3).astype(int) + (middle[:, -1] * 2).astype(int)) % n_classes
    label = np.where(rng.random(n) < rng.choice([0.1, 0.5, 1.0]), rng.integers(0, n_classes, n), signal)
    weight = rng.integers(0, 40, n) * (2**36 if heavy else 1)
    penalty = int(rng.choice([0, 0, 2]))
    return Case(lower, upper, n_ranks, label.astype(np.int64), np.ones(n, np.int64), weight, n_classes, penalty, 0)


def test_depth_two_by_counts_is_the_best_of_all_trees() -> None:
    for seed in range(150):
        case = random_case(seed, 8)
        best, _ = solved(case, 2, _core.SearchOptions(coarse_from=0, coarse_from_many=0))
        leaf = min(cost_of(c, case) for c in range(case.n_classes))
        assert min(best, leaf) == best_of_depth_two(case), f"seed {seed}"


@pytest.mark.parametrize("heavy", [False, True], ids=["doubles", "64-bit"])
@pytest.mark.parametrize("depth", [2, 3])
def test_counts_and_scans_along_the_order_find_the_same_optimum(depth: int, heavy: bool) -> None:
    for seed in range(200, 215 if depth == 3 else 250):
        case = boxes(seed, 40 if depth == 3 else 600, heavy=heavy)
        rng = np.random.default_rng([seed, 92])
        choices = {
            "use_lazy_scan": bool(rng.integers(2)),
            "use_early_join": bool(rng.integers(2)),
            "use_ranges": bool(rng.integers(4)),
            "use_witness": bool(rng.integers(2)),
        }
        counted, scanned = (
            solved(case, depth, _core.SearchOptions(coarse_from=0, coarse_from_many=0, use_coarse_scan=use, **choices))[
                0
            ]
            for use in (True, False)
        )
        assert counted == scanned, f"seed {seed}"


def test_thresholds_that_matter_are_found_without_an_order() -> None:
    for seed in range(100):
        case = boxes(seed, 60)
        control = _core.Control(np.inf)
        counted, ordered = (
            _core.RootSearch(
                case.core(), _core.SearchOptions(coarse_from=0, coarse_from_many=0, use_coarse_scan=use), 2, 1, control
            )
            for use in (True, False)
        )
        for feature in range(len(case.n_ranks)):
            found = counted.n_candidates(feature), ordered.n_candidates(feature)
            assert found[0] == found[1] == n_candidates_of(case, feature), f"seed {seed}"


def test_polished_thresholds_are_the_best_one_by_one() -> None:
    for seed in range(60):
        case = boxes(seed, 30)
        rng = np.random.default_rng([seed, 93])
        features = rng.integers(0, len(case.n_ranks), 3)
        if np.any(case.n_ranks[features] < 2):
            continue
        thresholds = rng.integers(0, case.n_ranks[features] - 1)
        labels = rng.integers(0, case.n_classes, 4)
        rows = np.full((5, 7), -1)
        rows[0, [0, 1, 4]], rows[1, [0, 1, 4]] = features, thresholds
        rows[2, [0, 1, 4]], rows[3, [0, 1, 4]] = (1, 2, 5), (4, 3, 6)
        rows[4, [2, 3, 5, 6]] = labels
        core = case.core()
        cost, better = _core.Reoptimiser(core, _core.SearchOptions(), _core.Control()).polish(core, rows)
        assert cost == cost_of(nested_of(better), case) <= cost_of(nested_of(rows), case), f"seed {seed}"
        for node in (0, 1, 4):
            feature = better[0, node]
            # Elsewhere all samples reach one side, which is no split.
            for threshold in range(int(case.upper[:, feature].min()), int(case.lower[:, feature].max())):
                moved = better.copy()
                moved[1, node] = threshold
                assert cost_of(nested_of(moved), case) >= cost, f"seed {seed}"
