"""The methods on the paper's instances, against proven answers. Slow: minutes each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hardwood import Problem, Status, solve
from hardwood.data import datasets

pytestmark = pytest.mark.slow

SMALL = ("haberman", "breast-cancer", "blood-transfusion", "cylinder-bands", "ionosphere")
PATIENCE = 600.0


@pytest.fixture(scope="module")
def instances(paper_data: Path, known_answers: list[dict[str, str]]) -> dict[str, dict[str, Any]]:
    found = {}
    for row in known_answers:
        data = datasets.load(row["dataset"], paper_data)
        part = datasets.paper_split(data.X, data.y)
        found[row["dataset"]] = {
            "optimum": {1: float(row["optimal_depth1"]), 2: float(row["optimal_depth2"])},
            "problem": Problem.from_data(part.X_train, part.y_train, float(row["epsilon"]), 1),
            "matching": float(row["matching_bound_errors"]),
        }
    return found


def _proves(instance: dict[str, Any], depth: int, solver: str, start: str | None = None) -> None:
    result = solve(instance["problem"].replace(max_depth=depth), solver, start=start, time_limit=PATIENCE)
    assert (result.objective, result.status) == (instance["optimum"][depth], Status.OPTIMAL)


def test_lsu_proves_depth_1_on_all_eight(instances: dict[str, dict[str, Any]]) -> None:
    for instance in instances.values():
        _proves(instance, 1, "maxsat-lsu")


@pytest.mark.parametrize("name", SMALL)
def test_lsu_proves_depth_2(instances: dict[str, dict[str, Any]], name: str) -> None:
    _proves(instances[name], 2, "maxsat-lsu")


@pytest.mark.parametrize("solver", ["maxsat-rc2", "cp-sat"])
@pytest.mark.parametrize("name", ["haberman", "breast-cancer", "blood-transfusion"])
def test_rc2_and_cp_sat_prove_depth_2(instances: dict[str, dict[str, Any]], name: str, solver: str) -> None:
    _proves(instances[name], 2, solver)


@pytest.mark.parametrize("start", [None, "greedy"])
@pytest.mark.parametrize("solver", ["milp", "binary-milp"])
@pytest.mark.parametrize("name", ["haberman", "breast-cancer", "cylinder-bands"])
def test_the_milp_methods_prove_depth_1(
    instances: dict[str, dict[str, Any]], name: str, solver: str, start: str | None
) -> None:
    _proves(instances[name], 1, solver, start)


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("solver", ["milp", "binary-milp"])
def test_warm_milp_is_near_the_optimum_and_above_the_matching_bound(
    instances: dict[str, dict[str, Any]], solver: str, depth: int
) -> None:
    near = 0
    for instance in instances.values():
        problem = instance["problem"].replace(max_depth=depth)
        greedy = solve(problem, "greedy").objective
        result = solve(problem, solver, start="greedy", time_limit=20)
        assert instance["matching"] <= result.bound <= instance["optimum"][depth] <= result.objective <= greedy
        near += result.objective <= 1.03 * instance["optimum"][depth]
    assert near >= 6
