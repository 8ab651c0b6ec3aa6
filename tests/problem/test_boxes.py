"""Which ends count as one: the properties that `hardwood.problem.boxes` promises, against exact arithmetic."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import inf

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardwood import (
    AttackModel,
    Problem,
    RobustTreeClassifier,
    Status,
    adversarial_accuracy,
    adversarial_accuracy_bound,
    relabel,
    robust_radius,
    solve,
)
from hardwood.bounds import epsilon_curve, matching_bound
from hardwood.tree.conversion import place, to_indices
from hardwood.tree.reach import objective, robust_errors
from oracle import NoisyProblem, TinyProblem, fewest_errors, optimal_objective
from strategies import attack_of, problem_of, tiny_problems, trees_at_the_ends, wild_problems

Wild = tuple[NoisyProblem, np.ndarray]
FLOATS = st.sampled_from([np.float64, np.float32])
RADII = st.lists(st.sampled_from([0.0, 1e-12, 0.1, 0.5, 1.0, 1.0 + 1e-12, 3.0]), min_size=1, max_size=5)


def problem_in_floats(wild: Wild, depth: int = 2) -> Problem:
    exact, X = wild
    return Problem.from_data(X, np.array(exact.y), attack_of(exact), depth, sample_weight=np.array(exact.weight, float))


def meetings(problem: Problem) -> np.ndarray:
    """Whether the lower end of the first box is at most the upper end of the second, by ranks: (n, n, p)."""
    return problem.lower_rank[:, None, :] <= problem.upper_rank[None, :, :]


# P1


@settings(max_examples=150)
@given(wild_problems())
def test_values_that_cannot_be_moved_are_distinct_iff_they_are_different(wild: Wild) -> None:
    exact, X = wild
    problem = problem_in_floats(wild)
    for j in range(X.shape[1]):
        still = [i for i in range(exact.n) if exact.down[exact.y[i]][j] == exact.up[exact.y[i]][j] == 0]
        for i in still:
            assert problem.lower_rank[i, j] == problem.upper_rank[i, j]
            for k in still:
                assert (problem.lower_rank[i, j] < problem.lower_rank[k, j]) == (X[i, j] < X[k, j])
    unattacked = Problem.from_data(X, np.array(exact.y), 0.0, 1)
    assert unattacked.n_ranks.tolist() == [len(np.unique(X[:, j])) for j in range(X.shape[1])]


@pytest.mark.parametrize(
    "x",
    [
        np.append(np.arange(1000.0), 1379963888),
        np.append(np.arange(20.0), 2**31 - 1),
        np.sort(np.random.default_rng(0).lognormal(0, 5, 2000)),
        np.append(1.7e9 + np.arange(100), 0),
        np.append(np.arange(100.0), [-1.7e308, 1.7e308]),
        np.array([1e308, np.nextafter(1e308, inf), -1e308, 5e-324, 0.0, 1e-300]),
    ],
    ids=["an outlier", "the largest int32", "a heavy tail", "a zero among Unix times", "a spread without end", "all"],
)
def test_a_stump_that_makes_no_error_is_found_and_no_bound_denies_it(x: np.ndarray) -> None:
    y = x >= np.median(x)
    problem = Problem.from_data(x[:, None], y, 0.0, 1)
    result = solve(problem, "search")
    assert (result.status, result.objective, result.bound) == (Status.OPTIMAL, 0, 0)
    assert result.tree.predict(x[:, None]).tolist() == y.tolist()
    assert adversarial_accuracy_bound(x[:, None], y, 0.0).bound == 1
    for criterion in ("groot", "chen", "adversarial-error"):
        assert solve(problem, "greedy", options={"criterion": criterion}).objective == 0
    assert epsilon_curve(x[:, None], y, [0.0]).errors.tolist() == [0]


# P2


@settings(max_examples=150)
@given(wild_problems())
def test_ends_are_moved_outwards_by_their_own_noise_and_no_more(wild: Wild) -> None:
    exact, X = wild
    problem = problem_in_floats(wild)
    stated = replace(exact, share=Fraction(0))
    for i in range(exact.n):
        for j in range(X.shape[1]):
            for end, inner, outer, sign in zip(
                (float(problem.lower[i, j]), float(problem.upper[i, j])),
                stated.box(i, j),
                exact.box(i, j),
                (-1, 1),
                strict=True,
            ):
                if inner in (inf, -inf) or end in (inf, -inf):
                    assert end == outer
                    continue
                noise = abs(Fraction(outer) - Fraction(inner)) if outer not in (inf, -inf) else Fraction(0)
                moved = sign * (Fraction(end) - Fraction(inner))
                # Adding up rounds twice, each time by half a unit in the last place, of which the noise is four.
                assert noise * Fraction(3, 4) <= moved <= noise * Fraction(5, 4)


@settings(max_examples=80, deadline=None)
@given(wild_problems())
def test_the_optimum_is_between_those_of_a_slightly_weaker_and_a_slightly_stronger_attacker(wild: Wild) -> None:
    exact, _ = wild
    weaker, stronger = replace(exact, share=Fraction(3, 4)), replace(exact, share=Fraction(5, 4))
    for depth in (1, 2):
        result = solve(problem_in_floats(wild, depth), "search")
        assert result.status is Status.OPTIMAL
        assert optimal_objective(weaker, depth) <= result.objective <= optimal_objective(stronger, depth)
    errors = matching_bound(problem_in_floats(wild))
    assert errors <= fewest_errors(stronger)
    if len(set(exact.y)) == 2:
        assert errors >= fewest_errors(weaker)


# P3


@settings(max_examples=80, deadline=None)
@given(
    tiny_problems(max_samples=6, max_features=2, max_classes=3), st.sampled_from([np.float64, np.float32]), st.data()
)
def test_boxes_that_touch_in_decimals_touch(tiny: TinyProblem, kind: type, data: st.DataObject) -> None:
    shift = Fraction(data.draw(st.sampled_from([0, 7, 123, -1000])))
    scale = Fraction(10) ** data.draw(st.integers(-20, 20))
    moved = replace(
        tiny,
        X=tuple(tuple((value + shift) * scale for value in row) for row in tiny.X),
        down=tuple(tuple(r if r == inf else r * scale for r in row) for row in tiny.down),
        up=tuple(tuple(r if r == inf else r * scale for r in row) for row in tiny.up),
    )
    X: np.ndarray = np.array([[float(value) for value in row] for row in moved.X]).astype(kind)
    weight = np.array(tiny.weight, dtype=float)
    problem = Problem.from_data(X, np.array(tiny.y), attack_of(moved), 2, sample_weight=weight)
    expected = optimal_objective(moved, 2)
    assert solve(problem, "search").objective == expected
    errors = matching_bound(problem)
    assert errors <= fewest_errors(moved)
    if len(tiny.down) == 2:
        assert errors == fewest_errors(moved)
    for i in range(tiny.n):
        for k in range(tiny.n):
            for j in range(X.shape[1]):
                touches = moved.box(i, j)[0] <= moved.box(k, j)[1]
                assert (problem.lower_rank[i, j] <= problem.upper_rank[k, j]) == touches


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_columns_of_a_frame_are_judged_by_their_own_types(frame: type) -> None:
    values = np.array([0.3, 0.4, 0.9])
    table = frame({"single": values.astype(np.float32), "double": values})
    problem = Problem.from_data(table, [0, 1, 1], 0.05, 1)
    assert problem.upper_rank[0].tolist() == problem.lower_rank[1].tolist()
    slack = problem.upper[0] - np.array([float(np.float32(0.3)), 0.3]) - 0.05
    assert slack[0] > 1e-8 > slack[1]


@pytest.mark.parametrize("frame", [np.asarray, pd.DataFrame])
def test_estimators_know_that_float32_data_were_rounded(frame: type) -> None:
    X, y = frame(np.array([[0.3], [0.4], [0.9]], dtype=np.float32)), [0, 1, 1]
    tree = RobustTreeClassifier(max_depth=2, attack=0.05).fit(X, y)
    assert tree.result_.objective == 1
    assert tree.adversarial_score(X, y) == pytest.approx(2 / 3)


# P4


@settings(max_examples=200)
@given(wild_problems(), st.floats(allow_nan=False, allow_infinity=False, width=32), st.integers(0, 1))
def test_a_row_more_changes_nothing_for_the_others(wild: Wild, far: float, label: int) -> None:
    exact, X = wild
    before = problem_in_floats(wild)
    row = np.full((1, X.shape[1]), far, dtype=X.dtype)
    after = Problem.from_data(np.vstack([X, row]), np.append(exact.y, label), attack_of(exact), 2)
    np.testing.assert_array_equal(after.lower[:-1], before.lower)
    np.testing.assert_array_equal(after.upper[:-1], before.upper)
    np.testing.assert_array_equal(meetings(after)[:-1, :-1], meetings(before))


def test_meetings_by_rank_are_meetings_of_boxes() -> None:
    @settings(max_examples=150)
    @given(wild_problems())
    def check(wild: Wild) -> None:
        problem = problem_in_floats(wild)
        np.testing.assert_array_equal(meetings(problem), problem.lower[:, None, :] <= problem.upper[None, :, :])

    check()


# P5


@settings(max_examples=100, deadline=None)
@given(wild_problems(), st.data())
def test_no_tree_that_is_handed_in_beats_a_proven_optimum_or_an_exact_bound(wild: Wild, data: st.DataObject) -> None:
    exact, X = wild
    problem = problem_in_floats(wild)
    tree = data.draw(trees_at_the_ends(problem.lower, problem.upper, problem.n_classes, 2))
    share = adversarial_accuracy(tree, X, np.array(exact.y), attack_of(exact), problem.weight)
    lost = round((1 - share) * problem.weight.sum(), 6)
    assert lost == pytest.approx(problem.weight[robust_errors(tree, problem)].sum())
    best = solve(problem, "search")
    assert lost >= best.objective >= matching_bound(problem)
    # Expressed in ranks, placed again, or relabelled it loses no sample that it did not lose before.
    placed = place(to_indices(tree, problem), problem)
    assert not np.any(robust_errors(placed, problem) & ~robust_errors(tree, problem))
    assert objective(relabel(tree, problem), problem) <= lost + 1e-9
    started = solve(problem, "search", start=tree)
    assert started.objective == best.objective


@settings(max_examples=80, deadline=None)
@given(wild_problems())
def test_what_learners_claim_is_what_evaluation_and_a_judge_of_raw_floats_find(wild: Wild) -> None:
    exact, X = wild
    problem = problem_in_floats(wild)
    y = np.array(exact.y)
    with np.errstate(over="ignore"):
        reach = [np.array(r, dtype=float)[y] for r in (exact.down, exact.up)]
        raw = problem.replace(lower=X - reach[0], upper=X + reach[1])
    for solver, options in (("search", {}), ("greedy", {}), ("greedy", {"criterion": "adversarial-error"})):
        result = solve(problem, solver, options=options)
        share = adversarial_accuracy(result.tree, X, y, attack_of(exact), problem.weight)
        assert (1 - share) * problem.weight.sum() == pytest.approx(result.objective, abs=1e-9)
        assert not np.any(robust_errors(result.tree, raw) & ~robust_errors(result.tree, problem))


@settings(max_examples=60, deadline=None)
@given(wild_problems(), st.data())
def test_a_sample_is_right_up_to_its_radius(wild: Wild, data: st.DataObject) -> None:
    exact, X = wild
    problem = problem_in_floats(wild)
    tree = data.draw(trees_at_the_ends(problem.lower, problem.upper, problem.n_classes, 2))
    y, attack = np.array(exact.y), attack_of(exact)
    radius = robust_radius(tree, X, y, attack)
    for i in range(exact.n):
        one, label = X[[i]], y[[i]]
        assert (radius[i] == -inf) == (tree.predict(one) != label)[0]
        if radius[i] >= 0:
            factor = min(float(radius[i]), 1e6)
            assert adversarial_accuracy(tree, one, label, attack.scaled(factor)) == 1
            assert adversarial_accuracy(tree, one, label, attack.scaled(factor / 2)) == 1


# Other paths


@settings(max_examples=60, deadline=None)
@given(
    wild_problems(), st.lists(st.sampled_from([0.0, 1e-12, 0.1, 0.5, 1.0, 1.0 + 1e-12, 3.0]), min_size=1, max_size=5)
)
def test_a_curve_over_radii_is_the_bound_at_each_of_them(wild: Wild, radii: list[float]) -> None:
    exact, X = wild
    y, attack = np.array(exact.y), attack_of(exact)
    curve = epsilon_curve(X, y, radii, attack=attack)
    bounds = [adversarial_accuracy_bound(X, y, attack.scaled(radius)).errors for radius in radii]
    assert curve.errors.tolist() == bounds


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("solver", ["maxsat-rc2", "cp-sat"])
def test_formulations_agree_on_numbers_of_any_size(solver: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = np.round(rng.random((7, 2)), 1) * 10.0 ** rng.integers(-250, 250)
    x[0] = 1e300 if seed % 2 else -1e-300
    y = np.arange(7) % 2
    attack = (
        AttackModel.fraction_of_range(0.0) if seed == 5 else AttackModel.parse(float(x[1].max() * rng.random() / 2))
    )
    problem = Problem.from_data(x.astype(np.float64), y, attack, 2)
    assert solve(problem, solver).objective == solve(problem, "search").objective


def test_tiny_problems_are_the_same_in_float64() -> None:
    # The decimals of the other tests, for all of them at once: ranks of ends that are equal in decimals are equal.
    @settings(max_examples=100)
    @given(tiny_problems())
    def check(tiny: TinyProblem) -> None:
        problem = problem_of(tiny, 1)
        for i in range(tiny.n):
            for k in range(tiny.n):
                for j in range(problem.n_features):
                    touches = tiny.box(i, j)[0] <= tiny.box(k, j)[1]
                    assert (problem.lower_rank[i, j] <= problem.upper_rank[k, j]) == touches

    check()
