"""Exact search over trees: the default solver.

Branch and bound over the root split, where the two children are the same problem one level down. A sample that
reaches both children is lost once if either loses it, so its weight is shared between them: whatever the share, the
two children's optima bound the cost of the split from below (Lagrangian decomposition). See docs/search.md.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from hardwood import _core
from hardwood.problem.problem import Problem
from hardwood.solvers.greedy import Events, GreedyLearner
from hardwood.solvers.options import AnyOf, Flag, Nothing, Option, RisingShares, Whole
from hardwood.solvers.registry import Solver, register
from hardwood.solvers.result import EndReason
from hardwood.solvers.run import Run
from hardwood.solvers.search.local_search import LocalSearch
from hardwood.solvers.search.model import SearchModel, tree_of
from hardwood.solvers.search.parts import LARGE, BoundByParts
from hardwood.solvers.search.root import RootSearch
from hardwood.solvers.solve import solve
from hardwood.tree.conversion import to_indices

SAMPLE = 1000
"""Samples of the part that a search of a large problem starts with."""

SAMPLE_EFFORT = 5 * 10**9
"""Samples that the proof of that part may scan."""

CORE_OPTIONS = (
    Option("rounds", 24, Whole(0), "subgradient rounds at a split of depth 2"),
    Option("range_rounds", 4, Whole(0), "subgradient rounds at a range of splits of depth 2"),
    Option("deep_rounds", 60, Whole(1), "subgradient rounds at a deeper split"),
    Option("deep_range_rounds", 20, Whole(1), "subgradient rounds at a range of deeper splits"),
    Option("ascent_steps", 100, Whole(1), "steps of the ascent that shares out weights"),
    Option("first_tree", True, Flag(), "whether a child begins with the tree of its neighbour"),
    Option("use_memory", True, Flag(), "whether bounds of similar weights are used"),
    Option("use_ranges", True, Flag(), "whether ranges of splits are settled together"),
    Option("use_pool", True, Flag(), "whether trees are remembered and priced anew"),
    Option("use_lazy_scan", True, Flag(), "whether scans skip what cannot matter"),
    Option("use_carry", True, Flag(), "whether shares carry over to the next split"),
)


@register
class SearchSolver(Solver):
    """Branch and bound with Lagrangian decomposition."""

    name = "search"
    summary = "exact branch and bound of our own; proves optimality, usually in seconds"
    supports_leaf_penalty = True
    supports_min_samples_leaf = True
    options: ClassVar[tuple[Option, ...]] = (
        *CORE_OPTIONS,
        Option("effort", None, AnyOf(Whole(0), Nothing("no limit")), "samples that a thread of the proof may scan"),
        Option("restarts", None, AnyOf(Whole(0), Nothing("by depth")), "random restarts of the local search"),
        Option("stages", None, AnyOf(RisingShares(), Nothing("by size")), "shares of the incumbent to prove first"),
    )

    def _run(self, problem: Problem, run: Run) -> None:
        if problem.max_depth == 0:
            run.report(bound=run.best_objective)
            return
        model = SearchModel.of(problem)
        run.resolution = model.resolution
        cost, rows = _core.best_stump(model.core)
        run.report(tree_of(rows))
        if model.depth <= 1:
            run.report(bound=min(cost / model.scale, run.best_objective))
            return
        if model.n > 2 * SAMPLE:
            _report_greedy(problem, run)
            _start_from_sample(problem, run)
        options = _core.SearchOptions(**{option.name: run.options[option.name] for option in CORE_OPTIONS})
        if not run.should_stop():
            LocalSearch(model, options, run).improve()
        has_limit = run.remaining() < np.inf
        if has_limit and model.n * problem.n_features >= LARGE and not run.should_stop():
            BoundByParts(model, options, run).prove()
        if not run.should_stop():
            RootSearch(model, options, run).prove()


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
    answer = solve(part, "search", time_limit=limit, max_gap=0.02, random_state=run.random_state, options=options)
    run.report(to_indices(answer.tree, problem))
    if answer.stopped_by is EndReason.INTERRUPT:
        raise KeyboardInterrupt
