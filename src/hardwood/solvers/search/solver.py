"""Exact search over trees: the default solver.

Branch and bound over the root split, where the two children are the same problem one level down. A sample that
reaches both children is lost once if either loses it, so its weight is shared between them: whatever the share, the
two children's optima bound the cost of the split from below (Lagrangian decomposition). See docs/exact_search.md.
"""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import closing
from threading import Semaphore
from typing import ClassVar

import numpy as np

from hardwood import _core
from hardwood.problem.problem import Problem
from hardwood.solvers.options import AnyOf, Flag, Nothing, Option, RisingShares, Whole
from hardwood.solvers.registry import Solver, register
from hardwood.solvers.run import Run
from hardwood.solvers.search.first_trees import (
    bound_any_model,
    bound_first,
    find_greedy_trees,
    improve_first_trees,
    look_first,
    looks_first,
    may_improve,
)
from hardwood.solvers.search.lean import LeanTrees
from hardwood.solvers.search.model import LARGE, VERY_LARGE, SearchModel, tree_of
from hardwood.solvers.search.options import CORE_OPTIONS, core_options
from hardwood.solvers.search.parts import BoundByParts
from hardwood.solvers.search.plan import plan_of
from hardwood.solvers.search.priced import prove_priced
from hardwood.solvers.search.root import RootSearch
from hardwood.solvers.search.scout import Scout
from hardwood.solvers.search.scouting import Scouting
from hardwood.solvers.search.spread import spread_search
from hardwood.tree.index_tree import IndexTree

WHOLE_FIRST = 0.2
"""Share of the time that is left in which stages over all samples are tried before parts of them are; as long as the
bound rises in it, the same share of what is left is given again."""


EASY_STAGES, EASY_FIRST = (0.05, 0.1, 0.2, 0.35), 0.4
"""Shares of the incumbent that are proven where the first of the usual stages took too long: a small bound, but one.
And the share of the time that is left for it. Chosen on 4,000 × 60 with 12 classes, depth 3."""


@register
class SearchSolver(Solver):
    """Branch and bound with Lagrangian decomposition."""

    name = "search"
    summary = "exact branch and bound of our own; proves optimality, usually in seconds"
    supports_leaf_penalty = True
    supports_leaf_limits = True
    supports_spreading = True
    supports_prices = True
    options: ClassVar[tuple[Option, ...]] = (
        *CORE_OPTIONS,
        Option("use_deep_steps", True, Flag(), "whether the best first tree gets the best subtrees of depth 3"),
        Option("use_shifts", True, Flag(), "whether better trees are looked for near the best one between stages"),
        Option("use_even_roots", True, Flag(), "whether every other random root of a feature halves the samples"),
        Option("effort", None, AnyOf(Whole(0), Nothing("no limit")), "samples that a thread of the proof may scan"),
        Option("restarts", None, AnyOf(Whole(0), Nothing("by depth")), "random restarts of the local search"),
        Option("stages", None, AnyOf(RisingShares(), Nothing("by size")), "shares of the incumbent to prove first"),
    )

    def plan(self, run: Run) -> str | None:
        """Say how a very large table is searched; on a cluster or with a checkpoint it is shared out instead."""
        return plan_of(run.problem, run.remaining()) if run.checkpoint is None and run.client is None else None

    def look_first(self, run: Run) -> None:
        """Grow a greedy tree of a very large table and, where nobody else does, ask what no model can do without."""
        look_first(run)
        if not self.needs_ranks(run):
            bound_first(run)

    def needs_ranks(self, run: Run) -> bool:
        """Return False for very large tables: there the core has the only ranks of all features."""
        return not looks_first(run.problem) or run.checkpoint is not None or run.client is not None

    def bounds_any_model(self, run: Run) -> bool:
        """Return True where that bound is left out, as at depth 2, or computed after the first trees."""
        is_alone = run.checkpoint is None and run.client is None
        problem = run.problem
        is_own = problem.max_depth <= 2 or is_alone
        return problem.prices is None and is_own and (problem.values.size < VERY_LARGE or not self.needs_ranks(run))

    def _run(self, problem: Problem, run: Run) -> None:
        if problem.prices is not None:
            prove_priced(problem, run)
            return
        if problem.max_depth == 0:
            run.report(bound=run.best_objective)
            return
        if run.checkpoint is not None and run.checkpoint.is_scouted:  # what comes first was done in an earlier sitting
            run.resolution = run.checkpoint.model.resolution
            spread_search(run)
            return
        if run.should_stop():
            return  # what was found first, on a large table, took all of the time
        model, lean = _modelled(problem, run, self.needs_ranks(run))
        run.resolution = model.resolution
        if not looks_first(problem):  # there a greedy tree is known already
            cost, rows = _core.best_stump(model.core)
            run.report(tree_of(rows))
            if model.depth <= 1:
                run.report(bound=min(cost / model.scale, run.best_objective))
                return
        options = core_options(run.options)
        if run.checkpoint is not None or run.client is not None:
            # What no model can do without was asked before.
            spread_search(
                run,
                lambda looked: Scouting(model, options, run, lambda: find_greedy_trees(model, options, run), looked),
            )
            return
        if run.n_jobs > 1 and may_improve(model):
            _search_beside_scout(model, options, run, lean)
            return
        greedy = find_greedy_trees(model, options, run)
        if not run.should_stop():
            bound_any_model(model, run)
            improve_first_trees(model, lambda: greedy, options, run, known=run.first_trees)
        if not run.should_stop():
            _prove(RootSearch(model, options, run), options)


def _search_beside_scout(model: SearchModel, options: _core.SearchOptions, run: Run, lean: LeanTrees | None) -> None:
    """Let a thread of its own look for trees, at first for some of the samples, while this one grows greedy trees."""
    model.keep_order()  # once the scout has begun, nobody may
    grown: Future[list[IndexTree]] = Future()

    def look(own: Run, permits: Semaphore) -> None:
        def greedy() -> list[IndexTree]:
            trees = grown.result()
            if run.best_index_tree is not None:
                own.report(run.best_index_tree)
            return trees

        improve_first_trees(model, greedy, options, own, run.n_jobs, permits, run.first_trees)

    scout = Scout(
        look,
        run.problem,
        run.options,
        random_state=run.random_state,
        seconds=run.remaining(),
        tree=run.best_tree,
        lean=lean,
    )
    with closing(scout):
        try:
            scout.start()
            grown.set_result(find_greedy_trees(model, options, run))
        finally:
            grown.cancel()  # without effect where they are known
        if not run.should_stop():
            bound_any_model(model, run)
            _prove(RootSearch(model, options, run, scout), options)


def _modelled(problem: Problem, run: Run, needs_ranks: bool) -> tuple[SearchModel, LeanTrees | None]:
    """Return the problem as the core sees it and, of a very large table, how its trees are converted."""
    if needs_ranks:
        return SearchModel.of(problem), None
    keeps_order = not run.options["use_coarse_scan"] or problem.n_samples < run.options["coarse_from"]
    model = SearchModel.of_large(problem, run.control, keeps_order)
    _core.return_free_memory()
    lean = LeanTrees(model)
    run.placed, run.in_indices = lean.placed, lean.in_indices
    return model, lean


def _prove(root: RootSearch, options: _core.SearchOptions) -> None:
    """Raise the bound until it meets the incumbent: that of parts of the samples in between, where they are many."""
    model, run = root.model, root.run
    size = model.n * model.problem.n_features
    if run.remaining() < np.inf and size >= VERY_LARGE and model.depth > 2:
        # There no stage over all samples ends within minutes.
        BoundByParts(model, options, run, root.hear_scout, time=1.0).prove()
        if not run.should_stop():
            root.prove()
    elif run.remaining() < np.inf and size >= LARGE:
        # What all samples together give is worth more, if it can be had: parts are for when it cannot.
        known = -np.inf
        while known < run.bound and not run.should_stop():
            known = run.bound
            root.prove(WHOLE_FIRST * run.remaining())
        easy = EASY_STAGES if run.bound <= run.trusted_bound and model.depth > 2 else ()
        if easy and not run.should_stop():
            root.prove(EASY_FIRST * run.remaining(), easy)
        if not run.should_stop():
            BoundByParts(model, options, run, root.hear_scout).prove()
        if not run.should_stop():
            root.prove(first=easy)  # those that are proven by now are passed over
    elif not run.should_stop():
        root.prove()
