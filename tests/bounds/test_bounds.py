from __future__ import annotations

import doctest
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching

from hardwood import AttackModel, InvalidInputError, Problem, SolverError, _core, adversarial_accuracy_bound, solve
from hardwood.bounds import (
    AccuracyBound,
    accuracy,
    bound_problem,
    conflict_pairs,
    epsilons,
    feature_report,
    many_classes,
    matching_bound,
)
from hardwood.bounds.conflict_index import ConflictIndex, RankedBoxes
from hardwood.data import datasets
from hardwood.solvers import registered_solvers
from hardwood.tree.reach import robust_errors
from oracle import TinyProblem
from strategies import problem_of, tiny_problems, trees

SEEDS = range(8)


def exact_conflicts(tiny: TinyProblem) -> list[tuple[int, int]]:
    """The definition in exact arithmetic: boxes of different classes with a common point."""
    p = len(tiny.X[0])
    return [
        (i, k)
        for i, k in combinations(range(tiny.n), 2)
        if tiny.y[i] != tiny.y[k]
        and all(
            max(tiny.box(i, j)[0], tiny.box(k, j)[0]) <= min(tiny.box(i, j)[1], tiny.box(k, j)[1]) for j in range(p)
        )
    ]


def least_cover(n: int, weight: list[Fraction], conflicts: list[tuple[int, int]]) -> Fraction:
    """Weight of the lightest set that touches every conflict, by trying all sets."""
    sets = (chosen for chosen in range(1 << n) if all(chosen >> i & 1 or chosen >> k & 1 for i, k in conflicts))
    return min(sum((weight[i] for i in range(n) if chosen >> i & 1), Fraction(0)) for chosen in sets)


def integer_optimum(weight: NDArray[np.float64], pairs: NDArray[np.int64]) -> float:
    """The same for larger graphs, by integer programming."""
    if len(pairs) == 0:
        return 0.0
    rows = np.repeat(np.arange(len(pairs)), 2)
    touches = coo_matrix((np.ones(2 * len(pairs)), (rows, pairs.ravel())), shape=(len(pairs), len(weight)))
    found = milp(
        weight,
        constraints=LinearConstraint(touches.tocsr(), 1),
        integrality=np.ones(len(weight), int),
        bounds=Bounds(0, 1),
    )
    assert found.status == 0
    return float(found.fun)


def random_problem(seed: int, n: int = 300, p: int = 3, n_classes: int = 2, **others: Any) -> Problem:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 25, (n, p)) / 10
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
    radius = [0.1, [(0.0, 0.2)] * p, ["<>"] + [0.05] * (p - 1), AttackModel.parse(0.3).only([0])][seed % 4]
    return Problem.from_data(X, y, radius, **others)


def all_pairs(problem: Problem) -> NDArray[np.int64]:
    """Conflicts by comparing every pair of ranks."""
    low, high, label = problem.lower_rank, problem.upper_rank, problem.label
    meet = np.all((low[:, None] <= high[None]) & (low[None] <= high[:, None]), axis=2)
    return np.argwhere(np.triu(meet & (label[:, None] != label[None])))


@given(tiny_problems())
@settings(max_examples=100)
def test_conflicts_are_boxes_of_different_classes_with_a_common_point(tiny: TinyProblem) -> None:
    assert conflict_pairs(problem_of(tiny, 0)).tolist() == [list(pair) for pair in exact_conflicts(tiny)]


@given(tiny_problems())
@settings(max_examples=200)
def test_errors_are_the_weight_of_the_least_cover(tiny: TinyProblem) -> None:
    result = bound_problem(problem_of(tiny, 0))
    truth = least_cover(tiny.n, [Fraction(w) for w in tiny.weight], exact_conflicts(tiny))
    assert result.check()
    assert result.complete
    # Graphs this small are solved exactly whatever the number of classes.
    assert result.exact
    assert result.errors == truth
    assert result.bound == pytest.approx(1 - truth / sum(tiny.weight))


@given(tiny_problems(max_classes=2), st.data())
@settings(max_examples=100)
def test_float_weights_never_overstate_the_errors(tiny: TinyProblem, data: st.DataObject) -> None:
    weight = data.draw(st.lists(st.floats(0, 1e3), min_size=tiny.n, max_size=tiny.n).filter(any))
    problem = problem_of(replace(tiny, weight=tuple(1 for _ in weight)), 0).replace(weight=np.array(weight))
    result = bound_problem(problem)
    truth = float(least_cover(tiny.n, [Fraction(w) for w in weight], exact_conflicts(tiny)))
    assert result.check()
    assert truth - 1e-12 * sum(weight) <= result.errors <= truth * (1 + 1e-15)


@given(tiny_problems(max_samples=10), st.randoms(use_true_random=False))
@settings(max_examples=100)
def test_row_order_changes_nothing(tiny: TinyProblem, random: object) -> None:
    order = list(range(tiny.n))
    random.shuffle(order)  # type: ignore[attr-defined]
    shuffled = replace(
        tiny,
        X=tuple(tiny.X[i] for i in order),
        y=tuple(tiny.y[i] for i in order),
        weight=tuple(tiny.weight[i] for i in order),
    )
    one, two = bound_problem(problem_of(tiny, 0)), bound_problem(problem_of(shuffled, 0))
    assert one.errors == two.errors
    assert one.cover.tolist() == sorted(order[i] for i in two.cover)
    # Samples of equal boxes may stand in for each other in the matching.
    assert pairs_by_box(tiny, one) == pairs_by_box(shuffled, two)


def pairs_by_box(tiny: TinyProblem, result: AccuracyBound) -> dict[object, float]:
    total: dict[object, float] = {}
    for pair, amount in zip(result.matching.tolist(), result.matching_weight, strict=True):
        key = frozenset((*(tiny.box(i, j) for j in range(len(tiny.X[i]))), tiny.y[i]) for i in pair)
        total[key] = total.get(key, 0.0) + amount
    return total


@pytest.mark.parametrize("seed", SEEDS)
def test_bitsets_find_the_conflicts_that_comparing_all_pairs_finds(seed: int) -> None:
    problem = random_problem(seed, n=1500, p=2 + seed % 4, n_classes=2 + seed % 3)
    assert conflict_pairs(problem).tolist() == all_pairs(problem).tolist()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_limited_search_finds_true_conflicts_within_its_limits(seed: int) -> None:
    problem = random_problem(seed, n=1800, p=3)
    boxes = RankedBoxes(problem.lower_rank, problem.upper_rank)
    mine, others = np.flatnonzero(problem.label == 0), np.flatnonzero(problem.label == 1)
    index = ConflictIndex(boxes.take(mine), boxes.take(others), problem.label[mine], problem.label[others])
    rng = np.random.default_rng(seed)
    rows = np.flatnonzero(rng.random(len(mine)) < 0.5).astype(np.int32)
    allowed = rng.random(len(others)) < 0.5
    row, column = index.find(rows, allowed, 3)
    known = {(int(i), int(k)) for i, k in np.sort(all_pairs(problem), axis=1)}
    found = {tuple(sorted((int(mine[r]), int(others[c])))) for r, c in zip(row, column, strict=True)}
    assert found <= known
    assert len(found) == len(row) > 0
    assert set(row) <= set(rows)
    assert allowed[column].all()
    assert max(np.bincount(row).max(), np.bincount(column).max()) <= 3
    # A row goes without only if its columns are spent.
    possible = index.count(rows, allowed) > 0
    spent = np.bincount(column, minlength=len(others)) == 3
    hungry = rows[possible & ~np.isin(rows, row)]
    assert not index.count(hungry, allowed & ~spent).any()


@pytest.mark.parametrize("seed", SEEDS)
def test_two_classes_agree_with_hopcroft_and_karp_of_scipy(seed: int) -> None:
    problem = random_problem(seed, n=1200, p=3)
    pairs = all_pairs(problem)
    zero_first = np.where((problem.label[pairs[:, 0]] == 0)[:, None], pairs, pairs[:, ::-1])
    graph = coo_matrix((np.ones(len(pairs)), tuple(zero_first.T)), shape=(1200, 1200)).tocsr()
    result = bound_problem(problem)
    assert result.errors == np.sum(maximum_bipartite_matching(graph) >= 0)
    assert result.exact
    assert len(result.matching) == result.errors == len(result.cover)
    assert len(np.unique(result.matching)) == 2 * len(result.matching)
    assert result.check()
    assert matching_bound(problem) == result.errors


@pytest.mark.parametrize("seed", SEEDS)
def test_weights_and_many_classes_agree_with_integer_programming(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_problem(
        seed, n=120, p=2, n_classes=2 + seed % 4, sample_weight=rng.integers(0, 6, 120) if seed % 2 else None
    )
    truth = integer_optimum(problem.weight, all_pairs(problem))
    result = bound_problem(problem)
    assert result.check()
    assert result.errors <= truth + 1e-6
    assert result.cover_weight >= truth - 1e-6
    if result.exact:
        assert result.errors == pytest.approx(truth)
    if problem.n_classes == 2:
        assert result.exact


@pytest.mark.parametrize(("limit", "value"), [("MAX_WORK", 1), ("MAX_EDGES", 40), ("MAX_GROUP", 7)])
@pytest.mark.parametrize("seed", SEEDS)
def test_bounds_hold_where_odd_components_are_too_large_to_solve(
    monkeypatch: pytest.MonkeyPatch, limit: str, value: int, seed: int
) -> None:
    monkeypatch.setattr(many_classes, limit, value)
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 9, (60, 2)) / 10, rng.integers(0, 4, 60)
    result = adversarial_accuracy_bound(X, y, 0.1, rng.integers(1, 4, 60))
    problem = result.problem
    pairs = all_pairs(problem)
    assert result.check()
    assert result.matching_weight.sum() <= result.errors <= integer_optimum(problem.weight, pairs) + 1e-6


def test_of_samples_that_all_exclude_each_other_one_can_be_right() -> None:
    for n_classes in (2, 3, 4, 7):
        result = adversarial_accuracy_bound(np.zeros((n_classes, 1)), np.arange(n_classes), 0)
        assert result.errors == n_classes - 1
        assert result.exact
        assert result.check()


def test_boxes_that_touch_up_to_rounding_conflict() -> None:
    assert 0.3 + 0.05 < 0.4 - 0.05
    assert adversarial_accuracy_bound([[0.3], [0.4]], [0, 1], 0.05).errors == 1
    assert adversarial_accuracy_bound([[0.3], [0.4], [9.0]], [0, 1, 1], 0.0499).errors == 0


def test_an_unbounded_attacker_leaves_the_majority_class() -> None:
    y = np.repeat([0, 1, 2], [5, 3, 4])
    X = np.arange(12.0)[:, None]
    result = adversarial_accuracy_bound(X, y, ["<>"])
    assert result.errors == 7
    assert result.bound == result.majority_share
    assert float(result) == result.bound
    assert adversarial_accuracy_bound(X, y, [">"]).check()
    # Class 0 stands lowest, so whoever may only raise it still reaches the others.
    assert adversarial_accuracy_bound(X, y, AttackModel.parse([">"]).only([0])).errors == 5
    assert adversarial_accuracy_bound(X, y, AttackModel.parse(["<"]).only([0])).errors == 0


@given(tiny_problems(max_classes=3))
@settings(max_examples=50)
def test_repeating_all_samples_multiplies_the_errors(tiny: TinyProblem) -> None:
    thrice = replace(tiny, X=tiny.X * 3, y=tiny.y * 3, weight=tiny.weight * 3)
    result = bound_problem(problem_of(thrice, 0))
    assert result.check()
    assert result.errors == 3 * bound_problem(problem_of(tiny, 0)).errors


def test_a_false_proof_is_found_out() -> None:
    X, y = [[0.0], [1.0], [1.5], [9.0]], [0, 1, 0, 1]
    result = adversarial_accuracy_bound(X, y, 0.5)
    assert result.check()
    assert result.errors == 1
    false_claims = {
        "do not conflict": {"matching": np.array([[0, 3]])},
        "matched, but do not conflict": {"matching": np.array([[0, 2]])},
        "beyond its weight": {"matching": np.array([[0, 1], [1, 2]]), "matching_weight": np.ones(2)},
        "neither is in the cover": {"cover": np.array([3])},
        "errors are claimed": {"errors": 2.0},
        "suffice": {"errors": 0.0},
        "not the weight of the cover": {"cover": np.array([0, 1, 2])},
    }
    for message, change in false_claims.items():
        with pytest.raises(SolverError, match=message):
            replace(result, **change).check()  # type: ignore[arg-type]


def test_when_memory_runs_out_the_bound_errs_on_the_safe_side(caplog: pytest.LogCaptureFixture) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((400, 2)), rng.integers(0, 2, 400)
    truth = adversarial_accuracy_bound(X, y, 0.1)
    assert truth.exact
    assert not caplog.records
    cut = adversarial_accuracy_bound(X, y, 0.1, memory_limit=64 * 50)
    assert "conflicts (estimated from some samples) would take" in caplog.text
    assert not cut.complete
    assert not cut.exact
    assert 0 < cut.errors < truth.errors
    assert cut.check()
    with pytest.raises(InvalidInputError, match="conflicts, whose list takes more than memory_limit=1,000 bytes"):
        conflict_pairs(truth.problem, memory_limit=1000)
    three = adversarial_accuracy_bound(X, rng.integers(0, 3, 400), 0.1, memory_limit=64 * 50)
    assert not three.complete
    assert three.check()


def test_samples_of_weight_zero_are_no_errors() -> None:
    result = adversarial_accuracy_bound([[0.0], [0.0], [0.0]], [0, 1, 1], 0, sample_weight=[1, 0, 0])
    assert result.errors == 0
    assert result.cover.tolist() == []
    assert result.check()


def test_the_result_can_be_read_by_people_and_machines() -> None:
    result = adversarial_accuracy_bound([[0.0], [1.0], [5.0]], ["a", "b", "b"], 0.5)
    assert str(result).startswith("No model has an adversarial accuracy above 0.6667 (exact): at least 1 of 3")
    assert result.to_dict()["matching"] == [[0, 1]]
    assert result.to_dict()["cover_weight"] == 1


@pytest.mark.parametrize("module", [accuracy, epsilons, feature_report])
def test_the_examples_in_the_documentation_are_true(module: ModuleType) -> None:
    outcome = doctest.testmod(module)
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_known_bounds_of_the_papers_data(paper_data: object, known_answers: list[dict[str, str]]) -> None:
    for row in known_answers:
        data = datasets.load(row["dataset"], paper_data)  # type: ignore[arg-type]
        part = datasets.paper_split(data.X, data.y)
        result = adversarial_accuracy_bound(part.X_train, part.y_train, float(row["epsilon"]))
        assert (row["dataset"], result.errors) == (row["dataset"], float(row["matching_bound_errors"]))
        assert result.check()


@given(tiny_problems(), st.data())
@settings(max_examples=100)
def test_no_tree_beats_the_bound(tiny: TinyProblem, data: st.DataObject) -> None:
    problem = problem_of(tiny, 3)
    tree = data.draw(trees(problem.n_features, problem.n_classes))
    assert problem.weight[robust_errors(tree, problem)].sum() >= matching_bound(problem)


@pytest.mark.parametrize("name", sorted(registered_solvers()))
def test_no_learner_beats_the_bound(name: str) -> None:
    solver = registered_solvers()[name]
    if solver.engines and not solver.engines[0].is_installed:
        pytest.skip(f"{solver.engines[0].name} is not installed")
    for seed, n_classes in enumerate((2, 3)):
        problem = random_problem(seed, n=16, n_classes=n_classes, max_depth=2)
        try:
            solver().check(problem)
        except InvalidInputError:
            # Some are for two classes only; those all are for.
            assert n_classes > 2
            continue
        assert solve(problem, name, time_limit=60).objective >= matching_bound(problem)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("seconds", [0.0, 0.002, 0.02])
def test_a_bound_that_is_stopped_holds(n_classes: int, seconds: float) -> None:
    problem = random_problem(n_classes, n=1500, p=2, n_classes=n_classes)
    stopped = matching_bound(problem, _core.Control(seconds))
    assert 0 <= stopped <= matching_bound(problem)
