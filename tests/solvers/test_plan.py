"""What a search of a very large table says that it will do is what it does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hardwood import Problem, RobustTreeClassifier, _core, solve
from hardwood.solvers.greedy import GreedyLearner
from hardwood.solvers.run import RunProgress
from hardwood.solvers.search import first_trees, parts, plan
from hardwood.solvers.search import solver as search_solver
from hardwood.solvers.search.root import RootSearch


def table(n: int = 3000, p: int = 3) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.random((n, p))
    y = np.where(rng.random(n) < 0.2, rng.integers(0, 2, n), (X[:, 0] < 0.5) ^ (X[:, 1] < 0.4))
    return X, y


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Make tables of a few thousand numbers very large, and write down what is done."""
    done: list[str] = []

    def noted(owner: Any, name: str, step: str) -> None:
        original = getattr(owner, name)

        def wrapper(*arguments: Any, **named: Any) -> Any:
            done.append(step)
            return original(*arguments, **named)

        monkeypatch.setattr(owner, name, wrapper)

    monkeypatch.setattr(first_trees, "VERY_LARGE", 5000)
    monkeypatch.setattr(search_solver, "LARGE", 5000)
    for share in ("WHOLE_FIRST", "EASY_FIRST"):
        monkeypatch.setattr(search_solver, share, 1e-9)  # the search on all is given up at once
    noted(GreedyLearner, "grow_tree", "greedy")
    noted(_core, "rank_columns", "rank")
    noted(first_trees, "_start_from_sample", "sample")
    noted(RootSearch, "prove", "all")
    noted(parts.BoundByParts, "_raise", "part")
    return done


@pytest.mark.parametrize("depth", [2, 3])
def test_a_very_large_table_is_searched_as_said(steps: list[str], depth: int) -> None:
    X, y = table()
    told: list[str] = []

    def listen(progress: RunProgress) -> None:
        if progress.plan is not None:
            assert not steps, "said before anything is done"
            told.append(progress.plan)

    result = solve(Problem.from_data(X, y, 0.01, depth), time_limit=3.0, on_progress=listen)
    assert told == [result.plan]
    assert told[0].startswith(
        "3,000 samples, 3 features: the best tree for 1,000 of them first, which is improved on all"
    )
    assert "bounds of parts of 1,000 that add up" in told[0]
    inner = list(dict.fromkeys(steps))
    assert inner[0] == "sample"
    assert inner.index("greedy") < inner.index("rank") < inner.index("part")
    greedy = solve(Problem.from_data(X, y, 0.01, depth), "greedy").objective
    assert result.objective <= greedy
    assert result.bound <= result.objective


@pytest.mark.parametrize("seed", range(6))
def test_a_very_large_table_has_the_same_optimum(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    X = np.round(rng.random((150, 3)), int(rng.integers(1, 4)))
    y = np.where(rng.random(150) < 0.2, rng.integers(0, 3, 150), (X[:, 0] < 0.5).astype(int) + (X[:, 1] < 0.4))
    problem = Problem.from_data(X, y, float(rng.choice([0.0, 0.01, 0.1])), 2)
    expected = solve(problem)
    monkeypatch.setattr(first_trees, "VERY_LARGE", 10)
    monkeypatch.setattr(first_trees, "SAMPLE", 50)
    fresh = problem.replace(reach=problem.reach)
    found = solve(fresh)
    assert not fresh.is_ranked
    assert (found.objective, found.bound, found.status) == (expected.objective, expected.bound, expected.status)


def test_without_a_limit_nothing_is_said_of_parts(steps: list[str]) -> None:
    result = solve(Problem.from_data(*table(2600, 2), 0.01, 2))
    assert result.plan is not None
    assert "parts" not in result.plan
    assert "part" not in steps


@pytest.mark.usefixtures("steps")
def test_the_plan_is_a_line_for_who_listens(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = table(2600, 2)
    silent = RobustTreeClassifier(2, attack=0.01, time_limit=2.0).fit(X, y)
    assert capsys.readouterr().err == ""
    clf = RobustTreeClassifier(2, attack=0.01, time_limit=2.0, verbose=1).fit(X, y)
    assert capsys.readouterr().err == f"{clf.result_.plan}\n"
    assert silent.result_.plan == clf.result_.plan
    assert silent.result_.objective >= clf.result_.bound


def test_small_tables_and_other_solvers_need_no_plan() -> None:
    problem = Problem.from_data(*table(100), 0.01, 2)
    assert solve(problem).plan is None
    assert solve(problem, "greedy").plan is None
    assert plan.plan_of(problem, 1.0) is None


def test_a_wide_table_of_few_rows_is_not_searched_in_samples() -> None:
    rng = np.random.default_rng(0)
    X = np.zeros((1001, 1500))
    X[:, 0] = rng.random(1001)
    result = solve(Problem.from_data(X, (X[:, 0] > 0.5).astype(int), 0.0, 2))
    assert (result.plan, result.objective) == (None, 0)
