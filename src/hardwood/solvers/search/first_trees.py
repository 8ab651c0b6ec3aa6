"""Trees before the proof begins: greedy, best for a sample of the data, and what local search makes of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import chain, islice

import numpy as np

import hardwood._core as _core
from hardwood.bounds.accuracy import matching_bound, matching_bound_of_parts
from hardwood.problem.problem import Problem
from hardwood.solvers.greedy import GreedyLearner
from hardwood.solvers.result import EndReason
from hardwood.solvers.run import ROOT_BOUND_BUDGET, Run
from hardwood.solvers.search.local_search import (
    REACH,
    LocalSearch,
    Shifts,
    greedy_trees,
    polished,
    random_roots,
)
from hardwood.solvers.search.model import VERY_LARGE, SearchModel, rows_of, tree_of
from hardwood.solvers.solve import solve
from hardwood.tree.conversion import place
from hardwood.tree.index_tree import IndexTree
from hardwood.tree.tree import Tree

SAMPLE = 1000
"""Samples of the part that a search of a large problem starts with."""

ROOTS = 12
"""Random root splits that local search on that part starts from."""

SAMPLE_DESCENTS = 120_000_000
"""Samples that local search on that part may scan, some tenths of a second."""

CLOSE = 1.02
"""Trees that cost so many times the best one are improved before it, if they were found before it."""

GREEDY_SAMPLE = 50_000
"""Samples of the part that a greedy tree is grown on."""

SAMPLE_EFFORT = 5 * 10**9
"""Samples that the proof of that part may scan."""


def looks_first(problem: Problem) -> bool:
    """Whether a greedy tree is grown before anything else: on tables so large that ranking them takes seconds."""
    is_free = problem.prices is None and problem.leaf_limit_name is None and problem.leaf_penalty == 0
    is_large = problem.n_samples > 2 * SAMPLE and problem.values.size >= VERY_LARGE
    return is_free and is_large and problem.max_depth >= 2


def look_first(run: Run) -> None:
    """Report trees of a very large problem, the best one for a sample and a greedy one of a larger sample.

    That takes less time than to sort the table once, whatever its size. Both are improved later.
    """
    if not looks_first(run.problem):
        return

    found: list[tuple[float, Tree]] = []

    def keep(tree: Tree) -> None:
        found.append((run.report(tree) or 0.0, tree))

    _core.return_free_memory()
    _start_from_sample(run.problem, run, keep)
    _start_from_greedy_tree_of_sample(run.problem, run, keep)
    _core.return_free_memory()
    # The tree of the sample has the better splits, if not so many that they fit that sample only.
    found.sort(key=lambda one: one[0] > CLOSE * run.best_objective)
    run.first_trees = [tree for _, tree in found]


def bound_first(run: Run) -> None:
    """Report what no model can do without on a very large problem, while nothing else takes memory."""
    if looks_first(run.problem) and run.bound <= run.problem.leaf_penalty and not run.should_stop():
        run.report(bound=matching_bound_of_parts(run.problem, run.budget(*ROOT_BOUND_BUDGET)))
        _core.return_free_memory()


def find_greedy_trees(model: SearchModel, options: _core.SearchOptions, run: Run) -> list[IndexTree]:
    """Report greedy trees; return starts to improve."""
    problem = model.problem
    has_looked = looks_first(problem)
    if model.depth == 2 and not has_looked:
        if _is_large(model) and not may_improve(model):  # else trees of some samples come first, which are better
            _start_from_greedy_tree(model, options, run)
        return []
    if _is_large(model) and model.core.shares_nothing and not _is_easy(model):
        _descend_on_sample(problem, options, run)
    return [] if has_looked or run.should_stop() else greedy_trees(model, options, run)


def bound_any_model(model: SearchModel, run: Run) -> None:
    """Report what no model can do without, where a proof may take long and it is not known yet."""
    is_due = model.depth > 2 and not looks_first(model.problem)
    if is_due and run.bound <= run.problem.leaf_penalty and not run.should_stop():
        bound = matching_bound(run.problem, run.budget(*ROOT_BOUND_BUDGET))
        run.report(bound=bound + run.problem.leaf_penalty)
        run.trusted_bound = run.bound


def may_improve(model: SearchModel) -> bool:
    """Whether `improve_first_trees` does anything: at depth 2 the search is as fast as one re-optimisation."""
    return model.depth > 2 or (_is_large(model) and not model.is_quick)


def improve_first_trees(
    model: SearchModel,
    greedy: Callable[[], Sequence[IndexTree]],
    options: _core.SearchOptions,
    run: Run,
    n_threads: int = 1,
    permits: threading.Semaphore | None = None,
    known: Sequence[Tree] = (),
) -> None:
    """Report what a sample of the problem and local search, in threads that get permits, make of first trees.

    The greedy starts are asked for once they are needed: somebody else may still grow them while the sample is solved.
    """
    if run.should_stop() or not may_improve(model):
        return
    if solves_sample(model):
        report_tree_of_sample(model, options, run, known)
    if model.depth > 2 and not run.should_stop():
        starts = greedy()
        LocalSearch(model, options, run, [run.random_state], n_threads, permits, first_shifts(model, run)).improve(
            starts
        )


def first_shifts(model: SearchModel, run: Run) -> Shifts | None:
    """Return the neighbours of first trees, if they are to be looked at."""
    return Shifts(model) if run.options["use_shifts"] else None


def solves_sample(model: SearchModel) -> bool:
    """Whether first trees come of a sample of the problem, too.

    Without an attacker local search is faster than a proof for a sample: two classes start from greedy trees of all
    samples, more of them from what local search found for some.
    """
    return _is_large(model) and (model.depth == 2 or not model.core.shares_nothing or looks_first(model.problem))


def report_tree_of_sample(
    model: SearchModel, options: _core.SearchOptions, run: Run, known: Sequence[Tree] = ()
) -> None:
    """Report the best tree for a sample of the problem, and with better thresholds.

    Of a very large problem that tree was found before (`look_first`): it is among those that are `known`, or the best.
    """
    problem = model.problem
    if not looks_first(problem):
        _start_from_sample(problem, run, lambda tree: run.report(run.in_indices(tree)))
        if model.depth > 2:
            return  # there local search does more
    # A tree for some samples has the right features, but not the thresholds that are best for all.
    best = () if run.best_tree is None else (run.best_tree,)
    for tree in known or best:
        if run.should_stop() or run.remaining() < 2 * model.placing_seconds:
            return
        rows, control = rows_of(run.in_indices(tree)), run.until_left(model.placing_seconds)
        run.report(tree_of(polished(rows, model, options, control)[1]))
        if model.is_lean:
            _core.return_free_memory()


def _is_large(model: SearchModel) -> bool:
    return looks_first(model.problem) or model.n > 2 * SAMPLE


def _is_easy(model: SearchModel) -> bool:
    """Whether greedy trees of all samples are improved faster than trees of some: two classes, nothing shared."""
    return model.core.shares_nothing and model.problem.n_classes == 2 and not looks_first(model.problem)


def _start_from_greedy_tree(model: SearchModel, options: _core.SearchOptions, run: Run) -> None:
    """Report a greedy tree with thresholds that are best for all samples one by one."""
    tree = GreedyLearner().grow(model.problem, np.random.default_rng(run.random_state), control=run.control)
    run.report(tree)
    if not run.should_stop():
        run.report(tree_of(polished(rows_of(tree), model, options, run.control)[1]))


def _part_of(problem: Problem, run: Run, size: int) -> Problem | None:
    """Return a random part of the samples, without limits on leaves; None if it has no weight."""
    n = problem.n_samples
    chosen = np.sort(np.random.default_rng(run.random_state).choice(n, min(size, n), replace=False))
    if not problem.weight[chosen].any():
        return None
    return problem.take(chosen).replace(min_samples_leaf=0, min_weight_fraction_leaf=0.0)


def _descend_on_sample(problem: Problem, options: _core.SearchOptions, run: Run) -> None:
    """Report what local search finds for a random part of the samples, in less time than one descent on all takes."""
    part = _part_of(problem, run, SAMPLE)
    if part is None or problem.max_depth <= 2:
        return
    model, random = SearchModel.of(part), np.random.default_rng(run.random_state)
    core = _core.Reoptimiser(model.core, options, run.control)
    starts = chain([rows_of(GreedyLearner().grow(part, random))], islice(random_roots(model, random), ROOTS))
    for start in starts:
        cost, rows = core.descend(model.core, start, model.depth, REACH, SAMPLE_DESCENTS)
        if cost < model.forbidden:
            run.report(place(tree_of(rows), part))
        if run.should_stop() or core.effort > SAMPLE_DESCENTS:
            return


def _start_from_sample(problem: Problem, run: Run, report: Callable[[Tree], object]) -> None:
    """Report the best tree for a random part of the samples: close to the optimum for all, at a small price."""
    part = _part_of(problem, run, SAMPLE)
    if part is None or run.should_stop():
        return
    answer = solve(
        part,
        "search",
        time_limit=None if np.isinf(run.remaining()) else run.remaining() / 10,
        n_jobs=run.n_jobs,
        max_gap=0.02,
        random_state=run.random_state,
        options={"effort": SAMPLE_EFFORT},
        interrupt=run.interrupt,
    )
    report(answer.tree)
    if answer.stopped_by is EndReason.INTERRUPT:
        raise KeyboardInterrupt


def _start_from_greedy_tree_of_sample(problem: Problem, run: Run, report: Callable[[Tree], object]) -> None:
    """Report a greedy tree for a larger part of the samples, which is close to that of all."""
    part = _part_of(problem, run, GREEDY_SAMPLE)
    if part is not None and not run.should_stop():
        report(GreedyLearner().grow_tree(part, np.random.default_rng(run.random_state), control=run.control))
