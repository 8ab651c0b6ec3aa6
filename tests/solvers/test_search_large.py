"""What only large tables do: ranks that the core has alone, bounds of thresholds by blocks, conflicts part by part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hardwood import _core
from hardwood.bounds import accuracy
from hardwood.bounds.accuracy import matching_bound, matching_bound_of_parts
from hardwood.problem.problem import Problem
from hardwood.solvers import solve
from hardwood.solvers.relabel import relabel
from hardwood.solvers.search import first_trees, model, solver
from hardwood.solvers.search.lean import LeanTrees
from hardwood.solvers.search.model import SearchModel, tree_of
from hardwood.tree.conversion import place
from hardwood.tree.reach import objective


def random_table(seed: int, n: int, p: int, depth: int) -> Problem:
    rng = np.random.default_rng(seed)
    X = np.round(rng.random((n, p)), int(rng.integers(1, 4)))
    y = (X[:, 0] + rng.normal(0, 0.3, n) > 0.5).astype(int) + (rng.random(n) < 0.1) * int(rng.integers(0, 2))
    return Problem.from_data(X, y, float(rng.choice([0.0, 0.02, 0.2])), depth)


@pytest.mark.parametrize("seed", range(20))
def test_a_model_without_ranks_of_the_problem_is_the_same(seed: int) -> None:
    problem = random_table(seed, 200, 3, 2 + seed % 2)
    ours, twin = SearchModel.of_large(problem, _core.Control(), bool(seed % 2)), SearchModel.of(problem)
    assert ours.group is None
    for name in ("row", "weight"):
        np.testing.assert_array_equal(getattr(ours, name), getattr(twin, name))
    for name in ("exact_scale", "step", "penalty", "forbidden", "resolution", "depth"):
        assert getattr(ours, name) == getattr(twin, name)
    assert ours.core.shares_nothing == twin.core.shares_nothing
    np.testing.assert_array_equal(ours.core.n_ranks, twin.core.n_ranks)
    for sample, row in enumerate(ours.row):
        for j in range(problem.n_features):
            rank = problem.upper_rank[row, j]
            assert ours.core.upper_rank(sample, j) == twin.core.upper_rank(sample, j) == rank
    answers = []
    for one in (ours, twin):
        cost, rows = _core.best_stump(one.core)
        assert objective(place(tree_of(rows), problem), problem) == cost / one.scale
        control = _core.Control()
        search = _core.RootSearch(one.core, _core.SearchOptions(), one.depth, 1, control)
        search.start(one.forbidden, one.forbidden)
        while search.wait(1.0)[3]:
            pass
        answers.append((cost, search.best, search.counters(one.depth)))
    assert answers[0] == answers[1]


def test_ranks_can_be_taken_once() -> None:
    problem = random_table(0, 50, 2, 2)
    ranks = _core.rank_columns(*problem.reach.arrays, problem.values)
    assert ranks is not None
    one = np.ones(50, np.int64)
    rest: dict[str, Any] = {
        "n_classes": 3,
        "penalty": 0,
        "forbidden": 51,
        "step": 1,
        "min_leaf": 0,
        "keeps_events": False,
    }
    for rows in (np.full(50, 50), np.zeros(51, np.int64)):
        with pytest.raises(ValueError):
            ranks.take_problem(rows, one[: len(rows)], one[: len(rows)], one[: len(rows)], **rest)
    ranks.take_problem(np.arange(50), one, one, one, **rest)
    with pytest.raises(ValueError, match="taken"):
        ranks.take_problem(np.arange(50), one, one, one, **rest)
    stopped = _core.Control()
    stopped.request_stop()
    assert _core.rank_columns(*problem.reach.arrays, problem.values, stopped) is None


@pytest.mark.parametrize("seed", range(6))
def test_a_table_that_is_taken_for_large_has_the_same_optimum(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_table(seed, 300, 3, 2 + seed % 2)
    known = solve(problem, "search")
    for module in (first_trees, model):
        monkeypatch.setattr(module, "VERY_LARGE", 1)
    monkeypatch.setattr(first_trees, "SAMPLE", 100)
    fresh = problem.replace(reach=problem.reach)
    assert first_trees.looks_first(fresh)
    found = solve(fresh, "search")
    assert (found.objective, found.bound) == (known.objective, known.bound)
    assert not fresh.is_ranked


@pytest.mark.parametrize("seed", range(4))
def test_bounds_by_blocks_of_thresholds_settle_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.random((2500, 2))  # more ends on a feature than one block of bounds holds
    y = (np.abs(X - 0.5).sum(axis=1) + rng.normal(0, 0.1, len(X)) > 0.5).astype(int)
    problem = Problem.from_data(X, y, 0.02, 2)
    assert problem.n_ranks.min() > 4096
    with_memory, without = (
        solve(problem, "search", options={"use_memory": use, "stages": (0.5, 0.9, 0.99)}) for use in (True, False)
    )
    assert with_memory.objective == with_memory.bound == without.objective == without.bound


@pytest.mark.parametrize("seed", range(5))
def test_labels_of_a_problem_that_is_not_ranked(seed: int) -> None:
    problem = random_table(seed, 200, 4, 2)
    tree = solve(problem, "greedy").tree
    assert relabel(tree, problem) == relabel(tree, problem.replace(reach=problem.reach))
    known = solve(problem, "search", options={"restarts": 0}).tree
    assert known == relabel(known, problem)
    rows = _core.best_stump(SearchModel.of(problem).core)[1]
    fresh = problem.replace(reach=problem.reach)
    labels = [relabel(tree_of(rows), one).label.tolist() for one in (problem, fresh)]
    assert labels[0] == labels[1]
    assert problem.is_ranked
    assert not fresh.is_ranked


@pytest.mark.parametrize("seed", range(5))
def test_conflicts_of_parts_are_no_more_than_those_of_all(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_table(seed, 300, 2, 2)
    alone = matching_bound_of_parts(problem)
    assert alone == matching_bound(problem)
    monkeypatch.setattr(accuracy, "PART", 100)
    in_parts = matching_bound_of_parts(problem)
    assert in_parts <= alone
    parts = [matching_bound(problem.take(np.arange(k, 300, 3))) for k in range(3)]
    first_without = parts.index(0.0) if 0.0 in parts else 3
    assert in_parts == pytest.approx(sum(parts[:first_without]))


@pytest.mark.slow
@pytest.mark.parametrize(("depth", "seconds"), [(2, None), (3, 20.0)])
def test_what_large_tables_do_not_keep_changes_nothing(depth: int, seconds: float | None) -> None:
    """Constant features make a table large, for which less is kept, and leave its trees what they are."""
    rng = np.random.default_rng(depth)
    X = rng.random((52_000, 24))
    y = np.where(rng.random(len(X)) < 0.1, rng.integers(0, 2, len(X)), (X[:, 0] < 0.5) ^ (X[:, 1] < 0.4))
    wide = np.column_stack([X, np.zeros((len(X), 6))])
    small, large = (solve(Problem.from_data(T, y, 0.01, depth), "search", time_limit=seconds) for T in (X, wide))
    assert small.bound <= large.objective
    assert large.bound <= small.objective
    if seconds is None:
        assert small.objective == small.bound == large.objective == large.bound


@pytest.mark.parametrize("seed", range(20))
def test_trees_are_converted_without_ranks_as_with_them(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardwood.solvers.search.lean.ROWS_AT_A_TIME", (7, 1 << 16)[seed % 2])
    rng = np.random.default_rng([seed, 94])
    n, p = 150, 3
    X = np.round(rng.random((n, p)), int(rng.integers(1, 16)))
    y = (X[:, 0] + rng.normal(0, 0.3, n) > 0.5).astype(int)
    problem = Problem.from_data(X, y, float(rng.choice([0.0, 0.02, 0.2])), 3)
    model = SearchModel.of_large(problem, _core.Control(), False)
    lean = LeanTrees(model)
    for start in range(10):
        tree = solve(problem.take(rng.choice(n, 40)), "greedy", random_state=start).tree
        index = lean.in_indices(tree)
        assert objective(place(index, problem), problem) <= objective(tree, problem), f"seed {seed}"
        ours, twin = lean.placed(index), place(index, problem)
        np.testing.assert_array_equal(ours.threshold, twin.threshold)
        np.testing.assert_array_equal(ours.feature, twin.feature)
        np.testing.assert_array_equal(ours.label, twin.label)


@pytest.mark.parametrize("seed", range(6))
def test_easy_stages_after_one_that_took_too_long_change_no_optimum(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_table(seed, 60, 3, 3)
    expected = solve(problem)
    monkeypatch.setattr(solver, "LARGE", 0)
    monkeypatch.setattr(solver, "WHOLE_FIRST", 0.0)  # the first stage is cut short at once
    result = solve(problem, time_limit=1e6)
    assert result.objective == result.bound == expected.objective
