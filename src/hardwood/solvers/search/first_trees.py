"""Trees before the proof begins: greedy, best for a sample of the data, and what local search makes of them."""

from __future__ import annotations

import numpy as np

import hardwood._core as _core
from hardwood.bounds import matching_bound
from hardwood.problem.problem import Problem
from hardwood.solvers.greedy import GreedyLearner
from hardwood.solvers.result import EndReason
from hardwood.solvers.run import ROOT_BOUND_BUDGET, Run
from hardwood.solvers.search.local_search import LocalSearch, greedy_trees
from hardwood.solvers.search.model import VERY_LARGE, SearchModel
from hardwood.solvers.solve import solve
from hardwood.tree.conversion import to_indices

SAMPLE = 1000
"""Samples of the part that a search of a large problem starts with."""

SAMPLE_EFFORT = 5 * 10**9
"""Samples that the proof of that part may scan."""


def looks_first(problem: Problem) -> bool:
    """Whether a greedy tree is grown before anything else: on tables so large that ranking them takes seconds."""
    is_free = problem.prices is None and problem.leaf_limit_name is None and problem.leaf_penalty == 0
    is_large = problem.n_samples > 2 * SAMPLE and problem.values.size >= VERY_LARGE
    return is_free and is_large and problem.max_depth >= 2


def look_first(run: Run) -> None:
    """Report a greedy tree of a very large problem, while nothing else takes memory."""
    if looks_first(run.problem):
        rng = np.random.default_rng(run.random_state)
        run.report(GreedyLearner().grow_tree(run.problem, rng, control=run.control))


def find_first_trees(model: SearchModel, options: _core.SearchOptions, run: Run) -> None:
    """Report good trees of a problem, in the ranks of its own ends."""
    problem = model.problem
    has_looked = looks_first(problem)
    is_large = has_looked or model.n > 2 * SAMPLE
    if model.depth > 2:
        greedy = [] if has_looked else greedy_trees(model, options, run)
        if run.bound <= run.problem.leaf_penalty and not run.should_stop():
            bound = matching_bound(run.problem, run.budget(*ROOT_BOUND_BUDGET))
            run.report(bound=bound + run.problem.leaf_penalty)
            run.trusted_bound = run.bound
        is_easy = model.core.shares_nothing and problem.n_classes == 2 and not has_looked
        if is_large and not is_easy:
            # With two classes and nothing shared, greedy trees of all samples are improved faster.
            _start_from_sample(problem, run)
        if not run.should_stop():
            LocalSearch(model, greedy, options, run).improve()
    elif is_large:
        # At depth 2 the search itself is as fast as one re-optimisation.
        if not has_looked:
            run.report(GreedyLearner().grow(problem, np.random.default_rng(run.random_state), control=run.control))
        if not model.is_quick:
            _start_from_sample(problem, run)


def _start_from_sample(problem: Problem, run: Run) -> None:
    """Report the best tree for a random part of the samples: close to the optimum for all, at a small price."""
    chosen = np.sort(np.random.default_rng(run.random_state).choice(problem.n_samples, SAMPLE, replace=False))
    if not problem.weight[chosen].any() or run.should_stop():
        return
    part = problem.take(chosen).replace(min_samples_leaf=0, min_weight_fraction_leaf=0.0)
    limit = None if np.isinf(run.remaining()) else run.remaining() / 10
    options = {"effort": SAMPLE_EFFORT}
    answer = solve(
        part,
        "search",
        time_limit=limit,
        n_jobs=run.n_jobs,
        max_gap=0.02,
        random_state=run.random_state,
        options=options,
        interrupt=run.interrupt,
    )
    run.report(to_indices(answer.tree, problem))
    if answer.stopped_by is EndReason.INTERRUPT:
        raise KeyboardInterrupt
