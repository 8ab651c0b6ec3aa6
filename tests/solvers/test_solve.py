"""The final `solve` distrusts solvers: these solvers lie, crash, dawdle or are interrupted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from builders import index_tree
from hardwood import EndReason, InvalidInputError, MissingEngineError, Problem, SolverError, Status, solve
from hardwood.solvers import registry
from hardwood.solvers.registry import Engine, Solver
from hardwood.solvers.run import Run, RunProgress
from hardwood.solvers.solve import SolverFailureWarning

X = np.array([[0.0], [1.0], [2.0], [3.0]])
Y = np.array([0, 0, 1, 0])
# With radius 0.1 the eight ends are eight clusters: sample i has ranks 2i and 2i + 1.
BEST = index_tree((0, 3, 0, (0, 5, 1, 0)))  # right on all four
STUMP = index_tree((0, 3, 0, 1))  # loses the last one


@pytest.fixture
def problem() -> Problem:
    return Problem.from_data(X, Y, 0.1, 2)


Behaviour = Callable[[Problem, Run], None]


@pytest.fixture
def make_solver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """Register a solver that behaves as told, for the length of one test."""
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))

    def make(behaviour: Behaviour, **attributes: object) -> str:
        def run(self: Solver, problem: Problem, run: Run) -> None:
            behaviour(problem, run)

        registry.register(type("Told", (Solver,), {"name": "told", "summary": "", "_run": run, **attributes}))
        return "told"

    return make  # type: ignore[return-value]


def test_a_proof_needs_objective_and_bound_to_meet(problem: Problem, make_solver: Callable[..., str]) -> None:
    def honest(problem: Problem, run: Run) -> None:
        assert run.report(STUMP, bound=0) == 1
        assert not run.is_proven
        assert run.report(BEST, claim=0) == 0

    result = solve(problem, make_solver(honest))
    assert (result.status, result.objective, result.bound, result.gap) == (Status.OPTIMAL, 0, 0, 0)
    assert result.stopped_by == "proof"
    assert [point.objective for point in result.trace] == [1, 0]  # the best leaf costs 1 as well
    assert "proven optimal" in result.summary()


def test_a_solver_that_finds_nothing_yields_the_best_leaf(problem: Problem, make_solver: Callable[..., str]) -> None:
    result = solve(problem, make_solver(lambda problem, run: None))
    assert (result.status, result.objective, result.tree.n_leaves) == (Status.FEASIBLE, 1, 1)
    assert result.gap == 1
    assert "gap 100.0%" in result.summary()


def test_a_claim_below_the_truth_is_an_error_in_the_solver(problem: Problem, make_solver: Callable[..., str]) -> None:
    told = make_solver(lambda problem, run: run.report(STUMP, claim=0))
    with pytest.warns(SolverFailureWarning, match="'told' failed .claims an objective of 0 for a tree that costs 1"):
        result = solve(problem, told)
    assert (result.tree.n_leaves, result.status, result.stopped_by) == (1, Status.FEASIBLE, EndReason.FAILURE)


def test_a_claim_above_the_truth_is_only_loose(problem: Problem, make_solver: Callable[..., str]) -> None:
    assert solve(problem, make_solver(lambda problem, run: run.report(BEST, claim=3))).objective == 0


def test_a_bound_above_a_known_tree_is_worth_nothing(problem: Problem, make_solver: Callable[..., str]) -> None:
    def liar(problem: Problem, run: Run) -> None:
        run.report(BEST)
        run.report(bound=1)

    with pytest.warns(SolverFailureWarning, match="claims a bound of 1, but a tree that costs 0 exists"):
        result = solve(problem.replace(weight=np.full(4, 2.0)), make_solver(liar))
    assert (result.objective, result.bound) == (0, 0)
    assert result.stopped_by is EndReason.FAILURE
    assert result.failure is not None
    assert result.failure.startswith("claims a bound of 1")


def test_a_solver_that_can_prove_and_just_stops_is_no_heuristic(
    problem: Problem, make_solver: Callable[..., str]
) -> None:
    nothing = lambda problem, run: None  # noqa: E731
    assert solve(problem, make_solver(nothing)).stopped_by is EndReason.STOPPED
    assert solve(problem, make_solver(nothing, proves=False)).stopped_by is EndReason.HEURISTIC


def test_a_false_bound_does_not_turn_into_a_proof(problem: Problem, make_solver: Callable[..., str]) -> None:
    def liar(problem: Problem, run: Run) -> None:
        run.report(bound=1)  # the leaf costs 1: this looks like a proof until the better tree comes
        run.report(BEST)

    with pytest.warns(SolverFailureWarning):
        result = solve(problem, make_solver(liar))
    assert result.objective == 0


def test_a_crash_keeps_the_best_verified_tree(problem: Problem, make_solver: Callable[..., str]) -> None:
    def crash(problem: Problem, run: Run) -> None:
        run.report(bound=0)
        run.report(BEST)
        raise MemoryError("too large")

    with pytest.warns(SolverFailureWarning, match="'told' failed .MemoryError: too large"):
        result = solve(problem, make_solver(crash))
    assert result.objective == 0


def test_a_crash_before_any_tree_leaves_the_best_leaf_unless_the_tree_is_all_there_is(
    problem: Problem, make_solver: Callable[..., str]
) -> None:
    def crash(problem: Problem, run: Run) -> None:
        raise ZeroDivisionError("oops")

    with pytest.warns(SolverFailureWarning, match="solver 'told' failed .ZeroDivisionError: oops"):
        result = solve(problem, make_solver(crash))
    assert (result.tree.n_leaves, result.stopped_by, result.failure) == (1, "failure", "ZeroDivisionError: oops")
    assert "ended by failure: ZeroDivisionError: oops" in result.summary()
    with pytest.raises(SolverError, match="solver 'told' failed: ZeroDivisionError: oops"):
        solve(problem, make_solver(crash, proves=False))
    with pytest.warns(SolverFailureWarning):
        assert solve(problem, make_solver(crash), start=STUMP).objective == 1


def test_a_start_that_meets_the_bound_of_any_model_is_proven_at_once(
    problem: Problem, make_solver: Callable[..., str]
) -> None:
    def never(problem: Problem, run: Run) -> None:
        raise AssertionError("nothing is left to do")

    # Twins of different classes: one of them must be lost, and the start loses no more.
    twins = Problem.from_data(np.vstack([X, [[0.0]]]), [*Y, 1], 0.1, 2)
    result = solve(twins, make_solver(never), start=BEST)
    assert (result.status, result.objective, result.bound, result.stopped_by) == (Status.OPTIMAL, 1, 1, "proof")


def test_ctrl_c_returns_the_incumbent(problem: Problem, make_solver: Callable[..., str]) -> None:
    def interrupted(problem: Problem, run: Run) -> None:
        run.report(STUMP)
        raise KeyboardInterrupt

    result = solve(problem, make_solver(interrupted))
    assert (result.status, result.stopped_by, result.objective) == (Status.FEASIBLE, "interrupt", 1)


def test_a_time_limit_of_zero_stops_at_once(problem: Problem, make_solver: Callable[..., str]) -> None:
    def patient(problem: Problem, run: Run) -> None:
        assert run.remaining() == 0
        assert run.should_stop()

    result = solve(problem, make_solver(patient), time_limit=0)
    assert (result.status, result.stopped_by) == (Status.FEASIBLE, "time limit")


def test_a_small_gap_is_enough_if_asked_for(problem: Problem, make_solver: Callable[..., str]) -> None:
    def nearly(problem: Problem, run: Run) -> None:
        run.report(bound=9)
        assert run.should_stop()

    heavy = problem.replace(weight=np.array([10.0, 10.0, 10.0, 10.0]))
    result = solve(heavy, make_solver(nearly), max_gap=0.1)
    assert (result.status, result.stopped_by, result.gap) == (Status.FEASIBLE, "gap", 0.1)


def test_bounds_are_rounded_up_where_objectives_are_whole(problem: Problem, make_solver: Callable[..., str]) -> None:
    told = make_solver(lambda problem, run: run.report(bound=0.2))
    assert solve(problem, told).status is Status.OPTIMAL  # the best leaf costs 1
    halves = problem.replace(weight=np.array([0.5, 0.5, 0.5, 0.5]))
    assert solve(halves, told).bound == 0.2


def test_a_start_is_kept_and_handed_over(problem: Problem, make_solver: Callable[..., str]) -> None:
    def check(problem: Problem, run: Run) -> None:
        assert run.start is not None
        assert run.start.n_leaves == 3
        assert run.best_objective == 1

    handed: list[bool] = []

    def told_run(problem: Problem, run: Any) -> None:
        check(problem, run)
        handed.append(True)

    told = make_solver(told_run)
    # One more sample that no split at these places can save keeps the bound of any model below the start's cost.
    harder = Problem.from_data(np.vstack([X, [[0.5]]]), [*Y, 1], 0.1, 2)
    best = index_tree((0, 5, 0, (0, 7, 1, 0)))
    assert solve(harder, told, start=best).objective == 1
    tree = solve(harder, told, start=best).tree
    assert solve(harder, told, start=tree).objective == 1
    assert len(handed) == 3


def test_a_start_that_does_not_fit_is_refused(problem: Problem, make_solver: Callable[..., str]) -> None:
    told = make_solver(lambda problem, run: None)
    with pytest.raises(InvalidInputError, match="depth 2, more than max_depth=1"):
        solve(problem.replace(max_depth=1), told, start=BEST)
    tree = solve(problem, told, start=BEST).tree
    wide = Problem.from_data(np.hstack([X, X]), Y, 0.1, 2)
    with pytest.raises(InvalidInputError, match="for 1 features, the data has 2"):
        solve(wide, told, start=tree)
    for start in ("warm", 3):
        with pytest.raises(InvalidInputError, match="None, 'greedy' or a Tree"):
            solve(problem, told, start=start)  # type: ignore[arg-type]


def test_what_a_solver_cannot_do_is_refused(problem: Problem, make_solver: Callable[..., str]) -> None:
    told = make_solver(lambda problem, run: None, supports_float_weights=False)
    for change, said in (
        ({"leaf_penalty": 1.0}, "leaf_penalty"),
        ({"min_samples_leaf": 1}, "min_samples_leaf"),
        ({"min_weight_fraction_leaf": 0.1}, "min_weight_fraction_leaf"),
        ({"weight": np.full(4, 0.5)}, "not whole numbers"),
    ):
        with pytest.raises(InvalidInputError, match=f"'told' does not support .*{said}"):
            solve(problem.replace(**change), told)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"solver": "magic"}, "'magic' is not known; the solvers are .*'greedy'"),
        ({"time_limit": -1}, "time_limit=-1"),
        ({"max_gap": 1}, "max_gap=1"),
        ({"options": {"speed": 3}}, "'greedy' has no option 'speed'; its options are: 'criterion'"),
    ],
)
def test_bad_arguments_are_refused(problem: Problem, arguments: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        solve(problem, **{"solver": "greedy", **arguments})  # type: ignore[arg-type]


def test_a_missing_engine_says_how_to_get_it() -> None:
    engine = Engine("imaginary", "no_such_module_anywhere", "imaginary")
    assert not engine.is_installed
    with pytest.raises(MissingEngineError, match=r"pip install 'hardwood\[imaginary\]'"):
        engine.require()
    assert Engine("numpy", "numpy").is_installed


def test_progress_is_told(problem: Problem, make_solver: Callable[..., str]) -> None:
    seen: list[RunProgress] = []

    def working(problem: Problem, run: Run) -> None:
        run.report(BEST)
        run.progress(settled=0.5)

    solve(problem, make_solver(working), on_progress=seen.append)
    assert (seen[-1].objective, seen[-1].settled) == (0, 0.5)


def test_among_equal_trees_the_smaller_one_is_kept(problem: Problem, make_solver: Callable[..., str]) -> None:
    def wordy(problem: Problem, run: Run) -> None:
        run.report(STUMP)
        assert run.best_tree is not None
        assert run.best_tree.n_leaves == 1  # the leaf costs the same

    assert solve(problem, make_solver(wordy)).tree.n_leaves == 1
