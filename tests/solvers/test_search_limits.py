"""What keeps the search within its limits: depth, budgets of heuristic steps, bounds by parts, threads that end."""

from __future__ import annotations

import _thread
import gc
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hardwood import Problem
from hardwood.solvers import solve
from hardwood.solvers.greedy import GreedyLearner
from hardwood.solvers.result import EndReason, Status
from hardwood.solvers.search import local_search, parts
from hardwood.solvers.search.model import SearchModel, rows_of
from oracle import optimal_objective
from search_cases import assert_sound, random_tiny
from strategies import problem_of

DEEP = """
import resource
resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))
import numpy as np
from hardwood import RobustTreeClassifier
rng = np.random.default_rng(0)
X, y = rng.random((60, 3)), rng.integers(0, 2, 60)
classifier = RobustTreeClassifier(max_depth=100_000, attack=0.02, time_limit=2).fit(X, y)
print(classifier.result_.objective, classifier.result_.tree.depth)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")
def test_any_depth_needs_little_memory() -> None:
    done = subprocess.run([sys.executable, "-c", DEEP], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    objective, depth = map(float, done.stdout.split())
    assert objective < 30
    assert depth < 60


def test_depth_beyond_what_samples_can_use_changes_nothing() -> None:
    for seed in range(40):
        rng = np.random.default_rng([seed, 4])
        tiny = random_tiny(rng, 5)
        deep = solve(problem_of(tiny, 1000), "search")
        model = SearchModel.of(problem_of(tiny, 1000))
        assert model.depth < tiny.n
        assert deep.status is Status.OPTIMAL
        assert deep.objective == optimal_objective(tiny, 4), f"seed {seed}"


def test_nodes_that_share_memory_below_many_levels_find_the_optimum() -> None:
    # Twelve levels: more than have nodes of their own.
    for seed in range(6):
        rng = np.random.default_rng([seed, 5])
        X, y = rng.random((16, 2)).round(1), rng.integers(0, 2, 16)
        problem = Problem.from_data(X, y, 0.04, 12)
        result = solve(problem, "search", options={"restarts": 0}, time_limit=60)
        assert_sound(result, result.objective)
        if result.status is Status.OPTIMAL:
            assert result.objective <= solve(problem.replace(max_depth=4), "search").objective, f"seed {seed}"


def test_bounds_by_parts_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "SIZE", 4)
    monkeypatch.setattr("hardwood.solvers.search.solver.LARGE", 0)
    for seed in range(60):
        rng = np.random.default_rng([seed, 6])
        tiny = random_tiny(rng, 9)
        depth = int(rng.integers(2, 4))
        penalty = int(rng.choice([0, 0, 2]))
        least = int(rng.choice([0, 0, 1]))
        problem = problem_of(tiny, depth, leaf_penalty=penalty, min_samples_leaf=least)
        result = solve(problem, "search", time_limit=600, options={"restarts": 0})
        optimum = optimal_objective(tiny, depth, leaf_penalty=penalty, min_samples_leaf=least)
        assert_sound(result, optimum)
        assert result.objective == result.bound == optimum, f"seed {seed}"


def test_a_bound_by_parts_is_there_before_anything_is_proven_for_all_samples() -> None:
    rng = np.random.default_rng(7)
    X = rng.random((4000, 4))
    y = (X[:, 0] < 0.5) ^ (rng.random(4000) < 0.2)
    problem = Problem.from_data(X, y.astype(int), 0.01, 2)
    model = SearchModel.of(problem)
    from hardwood._core import SearchOptions
    from hardwood.solvers.run import Run
    from hardwood.solvers.stopping import TimeLimit

    run = Run(
        problem,
        time_limit=TimeLimit(600),
        max_gap=0.0,
        random_state=0,
        n_jobs=1,
        options={"effort": None},
        on_progress=None,
    )
    optimum = solve(problem, "search").objective
    run.report(solve(problem, "greedy").index_tree)
    parts.BoundByParts(model, SearchOptions(), run).prove()
    assert 0.5 * optimum <= run.bound <= optimum


def test_budgets_of_heuristic_steps_do_not_change_the_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(40):
        rng = np.random.default_rng([seed, 8])
        tiny = random_tiny(rng, 7)
        monkeypatch.setattr(local_search, "EFFORT_OF_A_STEP", int(rng.integers(0, 200)))
        result = solve(problem_of(tiny, 3), "search")
        assert result.objective == result.bound == optimal_objective(tiny, 3), f"seed {seed}"


def test_a_search_whose_effort_is_spent_claims_no_optimum() -> None:
    rng = np.random.default_rng(1)
    problem = Problem.from_data(rng.random((200, 6)), rng.integers(0, 2, 200), 0.03, 4)
    result = solve(problem, "search", options={"effort": 1000, "restarts": 0})
    assert result.status is Status.FEASIBLE
    assert result.stopped_by is EndReason.STOPPED
    again = solve(problem, "search", options={"effort": 1000, "restarts": 0})
    assert again.tree == result.tree


def count_threads() -> int:
    tasks = Path("/proc/self/task")
    return len(list(tasks.iterdir())) if tasks.is_dir() else threading.active_count()


@pytest.fixture
def no_garbage_is_collected() -> Iterator[None]:
    """Ctrl-C while Python runs a callback of its garbage collector is lost: what a callback raises is only printed.

    Libraries that tests import (hypothesis, distributed) have such callbacks.
    """
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_garbage_is_collected")
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_no_thread_survives_an_interrupt(n_jobs: int) -> None:
    rng = np.random.default_rng(1)
    problem = Problem.from_data(rng.random((300, 8)), rng.integers(0, 2, 300), 0.03, 4)
    solve(problem, "search", time_limit=0)
    before = count_threads()
    for k in range(8):
        timer = threading.Timer(0.02 + 0.05 * k, _thread.interrupt_main)
        timer.start()
        try:
            result = solve(problem, "search", n_jobs=n_jobs, time_limit=60)
            timer.join()
        except KeyboardInterrupt:
            # The signal came before the run began, or after it was over.
            timer.join()
            continue
        assert result.stopped_by in (EndReason.INTERRUPT, EndReason.PROOF)
    # The system may take a moment to clear away a thread that has been waited for.
    patience = time.monotonic() + 10
    while count_threads() > before and time.monotonic() < patience:
        time.sleep(0.01)
    assert count_threads() == before


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_change_neither_objective_nor_bound_nor_status(n_jobs: int) -> None:
    for seed in range(12):
        rng = np.random.default_rng([seed, 9])
        X, y = rng.random((50, 3)), rng.integers(0, 2 + seed % 2, 50)
        problem = Problem.from_data(
            X, y, 0.05, 2 + seed % 2, leaf_penalty=float(seed % 3), min_samples_leaf=2 * (seed % 4 == 0)
        )
        alone, together = (solve(problem, "search", n_jobs=jobs) for jobs in (1, n_jobs))
        assert (alone.objective, alone.bound, alone.status) == (together.objective, together.bound, together.status)


def test_weights_that_are_fractions_of_powers_of_two_are_not_rounded() -> None:
    rng = np.random.default_rng(3)
    X, y = rng.random((40, 3)), rng.integers(0, 2, 40)
    weight = rng.integers(1, 9, 40) / 4
    problem = Problem.from_data(X, y, 0.05, 2, sample_weight=weight)
    assert SearchModel.of(problem).resolution == 0
    result = solve(problem, "search")
    assert result.bound == result.objective
    uneven = Problem.from_data(X, y, 0.05, 2, sample_weight=weight / 3)
    assert 0 < SearchModel.of(uneven).resolution < 1e-12


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_looking_for_trees_between_spells_changes_no_answer(n_jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardwood.solvers.search.root.FIRST_SPELL", 1000)
    for seed in range(6):
        rng = np.random.default_rng([seed, 23])
        problem = Problem.from_data(rng.random((60, 4)), rng.integers(0, 3, 60), 0.05, 4)
        plain = solve(problem, "search", options={"use_deep_steps": False})
        spells = solve(problem, "search", n_jobs=n_jobs)
        assert spells.status is Status.OPTIMAL
        assert (spells.objective, spells.bound) == (plain.objective, plain.bound), f"seed {seed}"


@pytest.mark.parametrize(("n_jobs", "radius"), [(1, 0.0), (1, 0.05), (2, 0.05)])
def test_looking_near_the_best_tree_between_stages_changes_no_answer(
    n_jobs: int, radius: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hardwood.solvers.search.root.LEAST_LOOK", 1)
    looks: list[int] = []
    look_nearby = local_search.LocalSearch.look_nearby

    def noted(self: local_search.LocalSearch, most: int) -> None:
        looks.append(most)
        look_nearby(self, most)

    monkeypatch.setattr(local_search.LocalSearch, "look_nearby", noted)
    for seed in range(6):
        rng = np.random.default_rng([seed, 29])
        problem = Problem.from_data(rng.random((60, 4)), rng.integers(0, 3, 60), radius, 3)
        plain = solve(problem, "search", options={"use_shifts": False})
        assert not looks
        nearby = solve(problem, "search", n_jobs=n_jobs)
        assert looks or n_jobs > 1  # a scout may look for trees until the last stage
        assert nearby.status is Status.OPTIMAL
        assert (nearby.objective, nearby.bound) == (plain.objective, plain.bound), f"seed {seed}"
        looks.clear()


def test_neighbours_of_a_tree_come_only_once_and_move_only_splits_above_what_is_re_optimised() -> None:
    rng = np.random.default_rng(31)
    model = SearchModel.of(Problem.from_data(rng.random((200, 3)), rng.integers(0, 2, 200), 0.0, 4))
    tree = rows_of(GreedyLearner().grow(model.problem, rng))
    shifts = local_search.Shifts(model)
    found = list(shifts.of(tree))
    assert len(found) == len({rows.tobytes() for rows in found}) > 0
    upper = (0, tree[2, 0], tree[3, 0])
    for rows in found:
        # Nodes may have other numbers: what counts is which splits there are.
        (old,) = set(zip(*tree[:2].tolist(), strict=True)) - set(zip(*rows[:2].tolist(), strict=True))
        assert old in {(tree[0, node], tree[1, node]) for node in upper}
    assert not list(shifts.of(tree))
