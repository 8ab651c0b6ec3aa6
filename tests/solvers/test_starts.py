"""Where solvers start: greedy trees that keep the limits on leaves, and trees no deeper than is of use."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from builders import index_tree, make_tree
from hardwood import EndReason, InvalidInputError, Problem, Status, solve
from hardwood.solvers import registered_solvers
from hardwood.solvers.starts import repaired, useful_depth, without_needless_splits
from hardwood.tree.conversion import place
from hardwood.tree.reach import objective


def random_problem(seed: int, **changes: Any) -> Problem:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 40))
    X, y = rng.integers(0, 9, (n, 2)), rng.integers(0, int(rng.integers(2, 4)), n)
    y[:2] = 0, 1
    return Problem.from_data(X, y, float(rng.choice([0, 0.3, 0.6])), 4, **changes)


LIMITS = [{"leaf_penalty": 1.0}, {"min_samples_leaf": 3}, {"leaf_penalty": 0.7, "min_samples_leaf": 2}]


@pytest.mark.parametrize("limits", LIMITS)
def test_a_greedy_start_keeps_the_limits_on_leaves(limits: dict[str, Any]) -> None:
    for seed in range(30):
        problem = random_problem(seed, **limits)
        plain = problem.replace(leaf_penalty=0.0, min_samples_leaf=0)
        tree = repaired(solve(plain, "greedy").index_tree, problem)
        cost = objective(place(tree, problem), problem)
        assert np.isfinite(cost), seed
        leaf = float(problem.class_weight_sums.sum() - problem.class_weight_sums.max()) + problem.leaf_penalty
        # A penalty is paid for what it buys; a leaf that must be large may cost more than none.
        assert cost <= leaf or problem.leaf_penalty == 0, seed
        result = solve(problem.replace(max_depth=2), start="greedy")
        assert result.status is Status.OPTIMAL
        assert result.objective == pytest.approx(solve(problem.replace(max_depth=2)).objective), seed


def test_without_limits_a_greedy_start_is_the_greedy_tree() -> None:
    problem = random_problem(0)
    greedy = solve(problem, "greedy").index_tree
    assert repaired(greedy, problem) is greedy


def test_a_useless_depth_is_cut_for_every_solver() -> None:
    problem = Problem.from_data([[0.0], [1.0], [2.0]], [0, 1, 0], 0.1, 10**5)
    assert useful_depth(problem) == 2
    for name, cls in registered_solvers().items():
        if all(engine.is_installed for engine in cls.engines[:1]):
            result = solve(problem, name, time_limit=60)
            assert result.objective == 0, name
            assert result.tree.depth <= 2, name


@pytest.mark.parametrize("solver", ["greedy", "treant", "relabelled", "search"])
def test_a_huge_depth_takes_no_more_than_the_samples_ask_for(solver: str) -> None:
    rng = np.random.default_rng(3)
    problem = Problem.from_data(rng.random((60, 3)), rng.integers(0, 2, 60), 0.01, 10**5)
    assert solve(problem, solver, time_limit=2).tree.depth < 60


def test_a_start_deeper_than_is_of_use_is_taken_without_its_needless_splits() -> None:
    problem = Problem.from_data([[0.0], [1.0], [2.0]], [0, 1, 0], 0.1, 5)
    deep = index_tree((0, 1, 0, (0, 3, (0, 1, 0, (0, 1, 0, 1)), 0)))
    thin = without_needless_splits(deep, problem)
    assert thin.depth == 2
    assert objective(place(thin, problem), problem) <= objective(place(deep, problem), problem) == 0
    for solver in ("search", "milp"):
        assert solve(problem, solver, start=deep).objective == 0


@pytest.mark.parametrize(
    ("start", "said"),
    [
        (index_tree((7, 0, 0, 1)), "splits on feature 7, the data has 1 features"),
        (index_tree((0, 0, 0, 5)), "answers class number 5, the data has 2 classes"),
        (make_tree([-1], [np.nan], [-1], [-1], [1], np.array(["no", "maybe"]), 1), "answers class 'maybe'"),
    ],
)
def test_a_start_for_other_data_is_refused(start: Any, said: str) -> None:
    problem = Problem.from_data([[0.0], [1.0], [2.0]], ["no", "yes", "no"], 0.1, 2)
    with pytest.raises(InvalidInputError, match=said):
        solve(problem, start=start)


def test_ctrl_c_while_the_start_is_grown_leaves_the_best_leaf() -> None:
    problem = random_problem(1)

    def press_ctrl_c(progress: Any) -> None:
        raise KeyboardInterrupt

    result = solve(problem, start="greedy", on_progress=press_ctrl_c)
    assert result.stopped_by is EndReason.INTERRUPT
    assert result.tree.n_leaves == 1
    # Where nothing is known when the time is over, nobody is told of the leaf that is returned.
    late = solve(problem, "greedy", time_limit=0, on_progress=press_ctrl_c)
    assert (late.stopped_by, late.tree.n_leaves) == (EndReason.TIME_LIMIT, 1)
