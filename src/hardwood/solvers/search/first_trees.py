"""Trees before the proof begins: greedy, best for a sample of the data, and what local search makes of them."""

from __future__ import annotations

import numpy as np

import hardwood._core as _core
from hardwood.problem.problem import Problem
from hardwood.solvers.greedy import Events, GreedyLearner
from hardwood.solvers.result import EndReason
from hardwood.solvers.run import Run
from hardwood.solvers.search.local_search import LocalSearch
from hardwood.solvers.search.model import SearchModel
from hardwood.solvers.solve import solve
from hardwood.tree.conversion import to_indices

SAMPLE = 1000
"""Samples of the part that a search of a large problem starts with."""

SAMPLE_EFFORT = 5 * 10**9
"""Samples that the proof of that part may scan."""


def find_first_trees(model: SearchModel, options: _core.SearchOptions, run: Run) -> None:
    """Report good trees of a problem, in the ranks of its own ends."""
    if model.n > 2 * SAMPLE:
        _report_greedy(model.problem, run)
        _start_from_sample(model.problem, run)
    if not run.should_stop():
        LocalSearch(model, options, run).improve()


def _report_greedy(problem: Problem, run: Run) -> None:
    """Report the greedy trees of every depth: on large data all else takes longer than a user may want to wait."""
    events = Events.sort(problem, run.control)
    for depth in range(2, problem.max_depth + 1):
        if run.should_stop():
            return
        rng = np.random.default_rng(run.random_state)
        tree = GreedyLearner().grow(problem.replace(max_depth=depth), rng, events=events, control=run.control)
        run.report(tree)
        if tree.depth < depth:
            return  # more depth gives the same tree


def _start_from_sample(problem: Problem, run: Run) -> None:
    """Report the best tree for a random part of the samples: close to the optimum for all, at a small price."""
    chosen = np.sort(np.random.default_rng(run.random_state).choice(problem.n_samples, SAMPLE, replace=False))
    if not problem.weight[chosen].any() or run.should_stop():
        return
    fields = ("values", "lower", "upper", "label", "weight")
    part = problem.replace(**{name: getattr(problem, name)[chosen] for name in fields}, min_samples_leaf=0)
    limit = None if np.isinf(run.remaining()) else run.remaining() / 10
    options = {"effort": SAMPLE_EFFORT}
    answer = solve(
        part,
        "search",
        time_limit=limit,
        max_gap=0.02,
        random_state=run.random_state,
        options=options,
        interrupt=run.interrupt,
    )
    run.report(to_indices(answer.tree, problem))
    if answer.stopped_by is EndReason.INTERRUPT:
        raise KeyboardInterrupt
