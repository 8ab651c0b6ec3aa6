"""The one `solve` that distrusts all solvers.

A solver reports trees and bounds as it finds them. Everything that must hold for every solver is done here and in
`hardwood.solvers.run`: the clock, the start, Ctrl-C, a back-end that crashes, and the check of every claim.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hardwood._core import Control
from hardwood.bounds import matching_bound
from hardwood.errors import HardwoodError, InvalidInputError, MissingEngineError, SolverError, StoppedError
from hardwood.problem.problem import Problem
from hardwood.solvers.options import MAX_GAP, RANDOM_STATE, TIME_LIMIT, check_options, count_threads
from hardwood.solvers.registry import Solver, get_solver
from hardwood.solvers.result import EndReason, Result, Status
from hardwood.solvers.run import FLOAT_TOLERANCE, ROOT_BOUND_BUDGET, Run, RunProgress
from hardwood.solvers.starts import Start, as_start, best_leaf, useful_depth
from hardwood.solvers.stopping import Interrupt, TimeLimit
from hardwood.tree.conversion import to_indices
from hardwood.tree.index_tree import IndexTree

if TYPE_CHECKING:
    from hardwood.proofs.checkpoint import Checkpoint, SavedSearch

MOST_CELLS_KEPT = 5_000_000
"""A result keeps its problem, for a proof that may be asked for later, if it is not larger than this."""


OPENING, LEAST_OPENING = 0.5, 1.0
"""To open a checkpoint may take this share of the time limit, or so many seconds; of a large table it takes seconds."""


class SolverFailureWarning(UserWarning):
    """A solver failed; the best tree that was verified before is returned."""


def solve(
    problem: Problem,
    solver: str = "search",
    *,
    time_limit: float | None = None,
    start: Start = None,
    max_gap: float = 0.0,
    random_state: int = 0,
    n_jobs: int | None = 1,
    options: Mapping[str, Any] | None = None,
    on_progress: Callable[[RunProgress], None] | None = None,
    started: float | None = None,
    interrupt: Interrupt | None = None,
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
    client: Any = None,
) -> Result:
    """Find a robust tree and say how good it is.

    Parameters
    ----------
    problem : Problem
    solver : str
        A registered solver.
    time_limit : float or None
        Seconds. The best tree so far is returned when they are over.
    start : None, "greedy", Tree or IndexTree
        Where the solver starts; the result is never worse.
    max_gap : float
        Stop as soon as ``(objective - bound) / objective`` is at most this.
    random_state : int
    n_jobs : int or None
        Threads, where the solver can use them; -1 for all cores.
    options : mapping or None, of the solver, see its ``options``
    on_progress : callable or None
        Called with a `RunProgress` now and then; `RunProgress.plan` says once what will be done on a very large table.
    started : float or None
        `time.perf_counter` of the moment from which `time_limit` counts; now by default.
    interrupt : Interrupt or None
        Ends the run when another thread asks it to.
    checkpoint : path, Checkpoint or None
        A file from which a run that was stopped or killed goes on when it is started again, and that becomes a proof
        for ``hardwood-checker`` when optimality is proven. Only for "search", as is `client`.
    client : dask.distributed.Client or None
        Search on the workers of a cluster instead of in `n_jobs` threads.

    Returns
    -------
    Result
        Its objective was recomputed from its tree, whatever the solver claimed.
    """
    method = get_solver(solver)
    limits = _Limits(TimeLimit(TIME_LIMIT.check(time_limit), started), max_gap, random_state, n_jobs)
    _require_spreading(method, checkpoint, client)
    with _opened(checkpoint, problem, limits.time_limit) as saved:
        told = {"on_progress": on_progress, "interrupt": interrupt, "checkpoint": saved, "client": client}
        return _solved(method, _new_run(method, problem, options, limits, **told), start)


class _Limits(NamedTuple):
    time_limit: TimeLimit
    max_gap: float
    random_state: int
    n_jobs: int | None


def _solved(method: Solver, run: Run, start: Start) -> Result:
    with _guarded(method, run) as outcome:
        _begin(method, run, start)
        if not (method.proves and run.is_proven):
            _search(method, run)
    result = _as_result(method, run, outcome)
    if run.checkpoint is not None and result.status is Status.OPTIMAL and outcome.failure is None:
        _finish(run.checkpoint, result, run.proven_parts)
    return result


def _finish(saved: SavedSearch, result: Result, proven_parts: int) -> None:
    """Make the checkpoint a proof; where there is no room for it, the answer is not lost."""
    from hardwood.proofs.checkpoint import CheckpointWriteError

    try:
        saved.finish(result.tree, result.bound, proven_parts)
    except CheckpointWriteError as error:
        warnings.warn(f"the search is done, but its proof is not: {error}", SolverFailureWarning, stacklevel=4)


def _require_spreading(method: Solver, checkpoint: Any, client: Any) -> None:
    for name, value in (("checkpoint", checkpoint), ("client", client)):
        if value is not None and not method.supports_spreading:
            raise InvalidInputError(f"solver {method.name!r} does not support {name}=; use solver='search'")


@contextmanager
def _opened(
    place: str | os.PathLike[str] | Checkpoint | None, problem: Problem, time_limit: TimeLimit
) -> Iterator[SavedSearch | None]:
    """Open a checkpoint, if there is to be one and the time for it."""
    if place is None:
        yield None
        return
    from hardwood.proofs.checkpoint import Checkpoint, open_checkpoint

    place = place if isinstance(place, Checkpoint) else Checkpoint(place)
    control = Control(max(OPENING * time_limit.remaining(), LEAST_OPENING), time_limit.counts_cpu)
    with ExitStack() as opened:
        try:
            saved: SavedSearch | None = opened.enter_context(open_checkpoint(place, problem, control=control))
        except StoppedError:
            text = (
                f"to open {place.path} takes most of the time limit: it is left as it is, and the search does without"
            )
            warnings.warn(text, SolverFailureWarning, stacklevel=4)
            saved = None
        yield saved


def _new_run(
    method: Solver, problem: Problem, options: Mapping[str, Any] | None, limits: _Limits, **others: Any
) -> Run:
    """Check that the solver can take the problem and the options, and return a run of it that has not begun."""
    method.check(problem)
    checked = check_options(method.options, options, f"solver {method.name!r}")
    return Run(
        problem,
        time_limit=limits.time_limit,
        max_gap=MAX_GAP.check(limits.max_gap),
        random_state=RANDOM_STATE.check(limits.random_state),
        n_jobs=count_threads(limits.n_jobs),
        options=checked,
        judge=method.judge(problem, checked),
        **others,
    )


def _begin(method: Solver, run: Run, start: Start) -> None:
    """Report what is known before the solver has said a word: the best leaf, the start, the bound of any model."""
    problem = run.problem
    if run.checkpoint is not None:
        _go_on(run, run.checkpoint)
    if method.proves:
        # The result of a heuristic is its own tree, for better or worse; any other starts from something.
        run.report(best_leaf(problem))
    run.tell_plan(method.plan(run))
    method.look_first(run)
    if method.needs_ranks(run):
        problem.rank(run.control)
    run.start = as_start(start, problem, lambda plain: _greedy_tree(plain, run))
    if run.start is not None:
        run.report(run.start)
    has_boxes = problem.prices is None  # boxes that cannot be used fully at once conflict less than they meet
    if method.proves and has_boxes and not method.bounds_any_model(run):
        # What no model can avoid, and one leaf: often all the proof that is needed (Theorem 2 of the paper).
        run.report(bound=_bound_of_any_model(run) + problem.leaf_penalty)
    run.trusted_bound = run.bound


def _bound_of_any_model(run: Run) -> float:
    """Return what no model can avoid; an earlier sitting may have computed it."""
    saved = run.checkpoint
    if saved is not None and saved.bound_of_any_model is not None:
        return float(saved.bound_of_any_model)
    budget = run.budget(*ROOT_BOUND_BUDGET)
    bound = matching_bound(run.problem, budget)
    if saved is not None and saved.bound is None and not budget.stopped:
        saved.keep_bound_of_any_model(bound)
    return bound


def _go_on(run: Run, saved: SavedSearch) -> None:
    """Take over what an earlier run has left."""
    if saved.tree is not None:
        run.report(saved.tree)
    if saved.bound is not None:
        run.resolution = saved.model.resolution
        bound = min(saved.model.next_cost(saved.bound), saved.model.in_parts(run.best_objective))
        run.report(bound=bound / saved.model.scale)


def _greedy_tree(problem: Problem, run: Run) -> IndexTree:
    limit = None if math.isinf(run.remaining()) else run.remaining()
    result = solve(problem, "greedy", time_limit=limit, random_state=run.random_state, interrupt=run.interrupt)
    if result.stopped_by is EndReason.INTERRUPT:
        raise KeyboardInterrupt
    return to_indices(result.tree, problem)


def _search(method: Solver, run: Run) -> None:
    """Let the solver search, with weights that its arithmetic can tell apart.

    A tree that loses a sample at least as heavy as the best known objective is no better, however heavy the sample is.
    So its weight may be cut down to that objective, which leaves all better trees and their costs as they are and makes
    no other tree better than the known one. Where weights are floats of very uneven size, a solver that scales them to
    whole numbers tells apart more of the small ones after the cut: it is asked again as long as that helps.
    """
    run.asked = _as_asked(run)
    method._run(run.asked, run)
    while _is_too_coarse(method, run):
        before = float(run.asked.weight.sum())
        run.asked = _as_asked(run)
        if float(run.asked.weight.sum()) > before / 2:
            return
        run.search_again()
        method._run(run.asked, run)


def _is_too_coarse(method: Solver, run: Run) -> bool:
    """Whether a proof is there, or could have been, but only within the resolution of the solver's arithmetic."""
    if not method.proves or run.checkpoint is not None or run.end_reason not in (None, EndReason.PROOF):
        return False
    return run.bound < run.best_objective and run.resolution > FLOAT_TOLERANCE * run.best_objective


def _as_asked(run: Run) -> Problem:
    """Return the problem as the solver sees it: no deeper than is of use, no weight heavier than matters.

    A proof is about the weights as they were given.
    """
    problem = run.problem.replace(max_depth=useful_depth(run.problem))
    if run.checkpoint is not None or problem.has_integer_weights or not problem.weight.max() > run.best_objective:
        return problem
    if problem.min_weight_fraction_leaf > 0:
        return problem  # what a leaf must hold is a share of the weights as they were given
    return problem.replace(weight=np.minimum(problem.weight, run.best_objective))


class _Outcome:
    """How the solver left: by itself, by Ctrl-C or by a failure."""

    interrupted = False
    failure: str | None = None


@contextmanager
def _guarded(method: Solver, run: Run) -> Iterator[_Outcome]:
    """Whatever happens inside, keep what was verified; only what the user must mend is raised."""
    outcome = _Outcome()
    try:
        yield outcome
    except KeyboardInterrupt:
        outcome.interrupted = True
    except StoppedError:
        # A criterion was met; which one, `_end_reason` says.
        pass
    except (InvalidInputError, MissingEngineError):
        raise
    except Exception as error:
        outcome.failure = str(error) if isinstance(error, HardwoodError) else f"{type(error).__name__}: {error}"
        if isinstance(error, SolverError):
            # What a solver proved before it was caught lying is worth nothing.
            run.bound = run.trusted_bound
        if run.best_tree is None:
            raise SolverError(f"solver {method.name!r} failed: {outcome.failure}") from error
        warnings.warn(
            f"solver {method.name!r} failed ({outcome.failure}); returning the best tree verified so far",
            SolverFailureWarning,
            stacklevel=4,
        )
    finally:
        run.end()


def _end_reason(method: Solver, run: Run, outcome: _Outcome) -> EndReason:
    if outcome.failure is not None:
        return EndReason.FAILURE
    if outcome.interrupted and not run.is_proven:
        return EndReason.INTERRUPT
    met = run.end_reason
    if met is None or (met is EndReason.GAP and not method.proves):
        return EndReason.STOPPED if method.proves else EndReason.HEURISTIC
    return met


def _as_result(method: Solver, run: Run, outcome: _Outcome) -> Result:
    if run.best_tree is None:
        run.report(best_leaf(run.problem))
    assert run.best_tree is not None
    return Result(
        tree=run.best_tree,
        status=Status.OPTIMAL if run.is_proven else Status.FEASIBLE,
        objective=run.best_objective,
        bound=min(run.bound, run.best_objective),
        trace=tuple(run.trace),
        runtime=run.elapsed(),
        solver=method.name,
        stopped_by=_end_reason(method, run, outcome),
        stats=run.stats,
        failure=outcome.failure,
        tolerance=run.tolerance,
        plan=run.plan,
        problem=run.problem if run.problem.values.size <= MOST_CELLS_KEPT else None,
    )
