"""The search where every box is a point: counts by blocks against plain enumeration and against scans of samples."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import hardwood._core as _core
from core.test_search_core import Case, best_of_depth_two, cost_of, nested_of, solved


def points(seed: int, most: int, *, heavy: bool = False) -> Case:
    """Points with many, some or no ties, classes that depend on them, and weights."""
    rng = np.random.default_rng([seed, 79])
    n, p, n_classes = int(rng.integers(1, most + 1)), int(rng.integers(1, 5)), int(rng.integers(2, 8))
    n_ranks = rng.choice([1, 2, 5, 30, 10 * most], p)
    rank = np.column_stack([rng.integers(0, size, n) for size in n_ranks]).astype(np.int32)
    signal = (rank[:, 0] * 3 // n_ranks[0] + rank[:, -1] * 2 // n_ranks[-1]) % n_classes
    label = np.where(rng.random(n) < rng.choice([0.1, 0.5, 1.0]), rng.integers(0, n_classes, n), signal)
    weight = rng.integers(0, 4, n) * (2**33 if heavy else 1)
    count, penalty = np.ones(n, np.int64), int(rng.choice([0, 0, 2]))
    return Case(rank, rank, n_ranks, label.astype(np.int64), count, weight, n_classes, penalty, 0)


def best_by_counting(case: Case) -> int:
    """The optimum of depth 2: for every root split the best stump of each side, by class counts at every threshold."""

    def best_stump(members: np.ndarray) -> int:
        weight, label = case.weight[members], case.label[members]
        totals = np.bincount(label, weight, case.n_classes).astype(int)
        best = int(weight.sum() - totals.max()) + case.penalty
        for j in range(len(case.n_ranks)):
            for t in np.unique(case.lower[members, j]):
                left = np.bincount(label, weight * (case.lower[members, j] <= t), case.n_classes).astype(int)
                right = int((totals - left).max())
                best = min(best, int(weight.sum()) - int(left.max()) - right + 2 * case.penalty)
        return best

    best = min(cost_of(c, case) for c in range(case.n_classes))
    for j in range(len(case.n_ranks)):
        for t in np.unique(case.lower[:, j])[:-1]:
            goes_left = case.lower[:, j] <= t
            best = min(best, best_stump(goes_left) + best_stump(~goes_left))
    return best


def test_the_counting_twin_is_the_enumeration_on_small_cases() -> None:
    for seed in range(20):
        case = points(seed, 6)
        assert best_by_counting(case) == best_of_depth_two(case), f"seed {seed}"


@pytest.mark.parametrize("heavy", [False, True], ids=["32-bit", "64-bit"])
def test_depth_two_is_the_best_of_all_splits(heavy: bool) -> None:
    for seed in range(60):
        case = points(seed, 40, heavy=heavy)
        best, _ = solved(case, 2, _core.SearchOptions(blocks_from=0))
        leaf = min(cost_of(c, case) for c in range(case.n_classes))
        assert min(best, leaf) == best_by_counting(case), f"seed {seed}"


@pytest.mark.parametrize("depth", [2, 3])
def test_blocks_and_scans_of_samples_find_the_same_optimum(depth: int) -> None:
    for seed in range(100, 112 if depth == 3 else 130):
        case = points(seed, 100 if depth == 3 else 1000)
        rng = np.random.default_rng([seed, 80])
        by_blocks, by_samples = (
            solved(
                case,
                depth,
                _core.SearchOptions(
                    blocks_from=0,
                    use_blocks=use_blocks,
                    use_lazy_scan=bool(rng.integers(2)),
                    use_early_join=bool(rng.integers(2)),
                    use_ranges=bool(rng.integers(4)),
                ),
            )[0]
            for use_blocks in (True, False)
        )
        assert by_blocks == by_samples, f"seed {seed}"


def test_what_earlier_stages_know_holds_in_later_ones() -> None:
    for seed in range(200, 230):
        case = points(seed, 300)
        best, _ = solved(case, 2, _core.SearchOptions(use_blocks=False))
        if best == case.forbidden:
            continue  # there is no split
        core = case.core()
        search = _core.RootSearch(core, _core.SearchOptions(blocks_from=0), 2, 1, _core.Control())
        found = []
        for target in (best // 2, 3 * best // 4, best, best + 1):
            search.start(target, case.forbidden)
            is_running = True
            while is_running:
                trees, _, _, is_running = search.wait(0.05)
                found += [(cost, cost_of(nested_of(rows), case)) for cost, rows in trees]
            search.stop()
            assert bool(found) == (target > best), f"seed {seed}"
        assert all(cost == counted for cost, counted in found)
        assert all(b[0] < a[0] for a, b in pairwise(found))
        assert found[-1][0] == best, f"seed {seed}"
