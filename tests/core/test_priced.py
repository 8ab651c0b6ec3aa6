"""The core's search against attackers who pay: what it refuses, and that it stops and goes on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hardwood import AttackModel, Problem, Status, solve
from hardwood._core import Control, PricedSearch
from hardwood.errors import StoppedError
from hardwood.solvers.search.priced import PricedModel


def arguments() -> dict[str, Any]:
    """One feature with one threshold, two samples on its two sides, and a third price for a change."""
    return {
        "begin": np.array([0, 1]),
        "left": np.array([0, 5]),
        "right": np.array([5, 0]),
        "group": np.array([-1]),
        "category": np.array([0]),
        "yes_is_left": np.array([False]),
        "group_begin": np.array([0]),
        "category_cost": np.array([], np.int64),
        "label": np.array([0, 1]),
        "weight": np.array([1, 1]),
        "affordable": 4,
        "n_classes": 2,
        "leaf_penalty": 0,
        "step": 1,
        "depth": 1,
        "control": Control(),
    }


@pytest.mark.parametrize(("affordable", "cost"), [(4, 0), (5, 1)])
def test_a_sample_is_lost_where_a_wrong_leaf_is_affordable(affordable: int, cost: int) -> None:
    search = PricedSearch(**{**arguments(), "affordable": affordable})
    assert search.advance(1.0)
    assert search.cost == search.bound == cost


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("begin", np.array([0, 2])),
        ("left", np.array([0])),
        ("right", np.array([-1, 0])),
        ("group", np.array([0])),
        ("label", np.array([0, 2])),
        ("weight", np.array([1])),
        ("weight", np.array([1, -1])),
        ("depth", 0),
        ("step", 0),
        ("category_cost", np.array([1])),
    ],
)
def test_arrays_that_do_not_fit_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=r"must|one"):
        PricedSearch(**{**arguments(), name: value})


def hard_problem() -> Problem:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 30, (400, 6)).astype(float)
    y = ((X[:, 0] + X[:, 1] > X[:, 2]) ^ (rng.random(400) < 0.3)).astype(int)
    attack = AttackModel.parse({"*": "<>"}).with_integers(["*"]).with_budget(total=3, cost=1)
    return Problem.from_data(X, y, attack, 3)


def test_tables_of_prices_are_not_finished_where_the_time_is_over() -> None:
    model = PricedModel(hard_problem())
    with pytest.raises(StoppedError):
        model.core(3, Control(), lambda: True)


def test_a_search_that_is_stopped_has_a_tree_and_a_bound() -> None:
    result = solve(hard_problem(), "search", time_limit=1.0)
    assert result.status is Status.FEASIBLE
    assert 0 <= result.bound < result.objective
    assert result.runtime < 10


def test_a_bound_only_rises_and_never_passes_the_best_cost() -> None:
    problem = hard_problem().replace(max_depth=2)
    model = PricedModel(problem)
    search = model.core(2, Control(20.0))
    bounds: list[int] = []
    while not search.advance(0.02) and len(bounds) < 50:
        bounds.append(search.bound)
        assert search.bound <= search.cost
    assert bounds == sorted(bounds)
