"""The exact search against brute force, against known answers, and as something that can be stopped."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardwood import Problem, _core
from hardwood.errors import InvalidInputError
from hardwood.solvers import solve
from hardwood.solvers.result import Status
from hardwood.solvers.run import RunProgress
from hardwood.solvers.search.model import SearchModel
from oracle import optimal_objective
from search_cases import assert_sound, random_tiny
from strategies import problem_of


@pytest.mark.parametrize("block", range(11))
def test_search_finds_what_brute_force_finds(block: int) -> None:
    for seed in range(100 * block, 100 * (block + 1)):
        rng = np.random.default_rng(seed)
        depth = int(rng.choice([0, 1, 2, 3], p=[0.05, 0.15, 0.4, 0.4]))
        tiny = random_tiny(rng, 7 if depth == 3 else 10)
        penalty = int(rng.choice([0, 0, 1, 2]))
        least = int(rng.choice([0, 0, 0, 1, 2]))
        result = solve(problem_of(tiny, depth, leaf_penalty=penalty, min_samples_leaf=least), "search")
        optimum = optimal_objective(tiny, depth, leaf_penalty=penalty, min_samples_leaf=least)
        assert (result.objective, result.status) == (optimum, Status.OPTIMAL), f"seed {seed}"
        assert_sound(result, optimum)


def test_every_combination_of_bounds_finds_the_optimum() -> None:
    switches: tuple[str, ...] = ("use_memory", "use_ranges", "use_pool", "use_lazy_scan", "use_carry", "first_tree")
    switches += ("use_witness", "use_early_join", "use_blocks")
    for seed in range(120):
        rng = np.random.default_rng([seed, 1])
        tiny = random_tiny(rng, 7)
        depth = int(rng.integers(2, 5)) if seed % 4 == 0 else int(rng.integers(2, 4))
        options: dict[str, Any] = {name: bool(rng.integers(2)) for name in switches}
        options |= {name: int(rng.integers(1, 6)) for name in ("rounds", "range_rounds", "deep_rounds")}
        options |= {
            "blocks_from": 0,
            "deep_range_rounds": int(rng.integers(1, 6)),
            "ascent_steps": int(rng.integers(1, 9)),
        }
        # No local search, so that the kernels have to find the tree themselves.
        options |= {"blocks_from": 0, "restarts": 0, "stages": (0.5,) if rng.integers(2) else ()}
        result = solve(problem_of(tiny, depth), "search", options=options)
        assert result.objective == result.bound == optimal_objective(tiny, depth), f"seed {seed}: {options}"


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_number_of_threads_does_not_change_the_objective(n_jobs: int) -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y = rng.random((60, 4)), rng.integers(0, 3, 60)
        problem = Problem.from_data(X, y, 0.05, 3)
        alone, together = (solve(problem, "search", n_jobs=jobs) for jobs in (1, n_jobs))
        assert alone.status is together.status is Status.OPTIMAL
        assert alone.objective == together.objective


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_side_by_side_at_depth_two_prove_what_one_proves(n_jobs: int) -> None:
    for seed in range(12):
        rng = np.random.default_rng([seed, 7])
        n, n_classes = int(rng.integers(300, 1500)), int(rng.integers(2, 4))
        X = rng.random((n, 4)) if seed % 2 else rng.integers(0, 30, (n, 4)) / 20
        y = (np.floor(3 * X[:, 0]) + (X[:, 3] > 0.4) + (rng.random(n) < 0.3)).astype(int) % n_classes
        problem = Problem.from_data(X, y, 0.03, 2, sample_weight=rng.integers(1, 4, n))
        alone, together = (solve(problem, "search", n_jobs=jobs) for jobs in (1, n_jobs))
        assert alone.status is together.status is Status.OPTIMAL, f"seed {seed}"
        assert alone.objective == together.objective, f"seed {seed}"


def test_same_random_state_gives_the_same_tree() -> None:
    rng = np.random.default_rng(5)
    problem = Problem.from_data(rng.random((80, 4)), rng.integers(0, 2, 80), 0.04, 3)
    first, second = (solve(problem, "search", random_state=3) for _ in range(2))
    assert first.tree == second.tree


def test_rows_in_another_order_have_the_same_optimum() -> None:
    rng = np.random.default_rng(11)
    X, y = rng.random((50, 3)).round(1), rng.integers(0, 2, 50)
    order = rng.permutation(50)
    one, other = (solve(Problem.from_data(X[o], y[o], 0.05, 3), "search") for o in (np.arange(50), order))
    assert one.objective == other.objective


def test_weights_that_are_not_whole_numbers_are_proven_within_the_tolerance() -> None:
    for seed in range(60):
        rng = np.random.default_rng([seed, 2])
        tiny = random_tiny(rng, 7)
        depth = int(rng.integers(1, 4))
        exact = optimal_objective(tiny, depth)
        problem = problem_of(tiny, depth)
        scaled = problem.replace(weight=problem.weight / 7)
        result = solve(scaled, "search")
        assert result.status is Status.OPTIMAL
        assert result.objective == pytest.approx(exact / 7, abs=1e-9)


def test_a_common_factor_of_the_weights_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((40, 3)), rng.integers(0, 2, 40)
    small = solve(Problem.from_data(X, y, 0.05, 2), "search")
    large = solve(Problem.from_data(X, y, 0.05, 2, sample_weight=np.full(40, 10.0**9)), "search")
    assert large.status is Status.OPTIMAL
    assert large.objective == small.objective * 1e9


def test_weights_too_large_for_exact_sums_are_refused() -> None:
    rng = np.random.default_rng(0)
    weight = rng.integers(2**50, 2**52, 60).astype(float)
    problem = Problem.from_data(rng.random((60, 3)), rng.integers(0, 2, 60), 0.05, 2, sample_weight=weight)
    with pytest.raises(InvalidInputError, match="too much for exact arithmetic"):
        solve(problem, "search")


def test_no_sum_inside_the_kernels_can_overflow() -> None:
    for seed in range(200):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 200))
        high = int(2.0 ** rng.integers(1, 40))
        weight = rng.integers(1, high + 1, n) * (1.0 if seed % 2 else 0.37)
        problem = Problem.from_data(
            rng.random((n, 2)), np.arange(n) % 2, 0.1, 3, sample_weight=weight, leaf_penalty=float(rng.integers(3))
        )
        model = SearchModel.of(problem)
        worst = model.forbidden * (model.n + 1)
        assert worst < 2**63 - 1
        assert model.weight.sum() < model.forbidden


def test_best_stump_is_the_optimum_of_depth_one() -> None:
    for seed in range(200):
        rng = np.random.default_rng([seed, 3])
        tiny = random_tiny(rng, 10)
        penalty, least = int(rng.integers(2)), int(rng.integers(3))
        model = SearchModel.of(problem_of(tiny, 1, leaf_penalty=penalty, min_samples_leaf=least))
        cost, _ = _core.best_stump(model.core)
        assert cost / model.scale == optimal_objective(tiny, 1, leaf_penalty=penalty, min_samples_leaf=least)


@pytest.fixture(scope="module")
def hard_problem() -> Problem:
    """Far from provable in the seconds that the tests below give it."""
    rng = np.random.default_rng(1)
    return Problem.from_data(rng.random((600, 12)), rng.integers(0, 2, 600), 0.03, 5)


def test_a_search_that_runs_out_of_time_claims_no_optimum(hard_problem: Problem) -> None:
    result = solve(hard_problem, "search", time_limit=1.5)
    assert result.status is Status.FEASIBLE
    assert result.stopped_by == "time limit"
    assert 0 <= result.bound < result.objective < 300


def test_no_time_at_all_still_gives_a_tree(hard_problem: Problem) -> None:
    result = solve(hard_problem, "search", time_limit=0)
    assert result.status is Status.FEASIBLE
    assert result.objective <= 300


def test_a_wide_gap_ends_the_search_early() -> None:
    rng = np.random.default_rng(2)
    problem = Problem.from_data(rng.random((150, 4)), rng.integers(0, 2, 150), 0.05, 3)
    result = solve(problem, "search", max_gap=0.3)
    proven = solve(problem, "search")
    assert result.gap <= 0.3
    assert result.bound <= proven.objective <= result.objective
    assert (result.stopped_by, proven.stopped_by) == ("gap", "proof")
    assert result.stats["depth 2"]["scans"] < proven.stats["depth 2"]["scans"]


def test_interrupt_returns_the_best_tree_so_far(hard_problem: Problem) -> None:
    import _thread

    finger = threading.Timer(0.2, _thread.interrupt_main)

    def press(progress: RunProgress) -> None:
        """Press Ctrl-C soon, once the search surely runs: the signal comes while the core searches."""
        if progress.objective < 300 and finger.ident is None:
            finger.start()

    result = solve(hard_problem, "search", time_limit=60, on_progress=press)
    finger.join()
    assert result.stopped_by == "interrupt"
    assert result.status is Status.FEASIBLE
    assert result.objective < 300


def test_start_is_never_lost() -> None:
    rng = np.random.default_rng(4)
    problem = Problem.from_data(rng.random((60, 3)), rng.integers(0, 2, 60), 0.05, 3)
    best = solve(problem, "search")
    again = solve(problem, "search", start=best.tree, time_limit=0)
    assert again.objective == best.objective


@pytest.mark.parametrize("depth", [1, 2])
def test_known_optima_of_the_paper_sets_are_met(
    depth: int, paper_data: Path, known_answers: list[dict[str, str]]
) -> None:
    for row in known_answers:
        problem = paper_problem(paper_data, row["dataset"], float(row["epsilon"]), depth)
        result = solve(problem, "search")
        assert result.status is Status.OPTIMAL
        assert result.objective == int(row[f"optimal_depth{depth}"]), row["dataset"]
        assert_sound(result, result.objective)


def paper_problem(folder: Path, name: str, epsilon: float, depth: int) -> Problem:
    """The paper's split and scaling."""
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import MinMaxScaler

    table = np.genfromtxt(folder / f"{name}.csv", delimiter=",", skip_header=1)
    X, y = table[:, :-1], table[:, -1].astype(int)
    X, _, y, _ = train_test_split(X, y, stratify=y, test_size=0.2, random_state=0)
    return Problem.from_data(MinMaxScaler().fit_transform(X), y, epsilon, depth)
