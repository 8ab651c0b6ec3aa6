"""Exact search over trees: the default solver.

Branch and bound over the root split, where the two children are the same problem one level down. A sample that
reaches both children is lost once if either loses it, so its weight is shared between them: whatever the share, the
two children's optima bound the cost of the split from below (Lagrangian decomposition). See docs/search.md.
"""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hardwood.problem.problem import Problem
from hardwood.solvers.greedy import GreedyLearner
from hardwood.solvers.options import AnyOf, Flag, Nothing, Option, RisingShares, Whole
from hardwood.solvers.registry import Solver, register, tiny_problem
from hardwood.solvers.result import EndReason
from hardwood.solvers.run import Run
from hardwood.solvers.search.model import SearchModel, best_stump
from hardwood.solvers.solve import solve
from hardwood.tree.reach import to_indices

if TYPE_CHECKING:
    from hardwood.kernels.search_state import Data, Work

POLL = 0.05
"""Seconds between two looks at the clock while the workers run."""

SAMPLE = 1000
"""Samples of the part that a search of a large problem starts with."""

MANY_STEPS = 2000
"""From so many errors on, the last per cent of the bound are proven in stages of their own."""

KERNEL_OPTIONS = (
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
        *KERNEL_OPTIONS,
        Option("restarts", None, AnyOf(Whole(0), Nothing("by depth")), "random restarts of the local search"),
        Option("stages", None, AnyOf(RisingShares(), Nothing("by size")), "shares of the incumbent to prove first"),
    )

    _prepared: ClassVar[set[int]] = set()

    def prepare(self, problem: Problem) -> None:
        """Compile or load the kernels for trees of this depth."""
        super().prepare(problem)
        depth = min(problem.max_depth, 3)
        if depth not in self._prepared:
            self._prepared.add(depth)
            solve(tiny_problem(depth), self.name)

    def _run(self, problem: Problem, run: Run) -> None:
        if problem.max_depth == 0:
            run.report(bound=run.best_objective)
            return
        model = SearchModel.of(problem)
        cost, heap = best_stump(model)
        run.report(model.to_tree(heap))
        if problem.max_depth == 1:
            run.report(bound=min(cost / model.scale, run.best_objective))
            return
        if model.n > 2 * SAMPLE:
            _report_greedy(problem, run)
            _start_from_sample(problem, run)
        RootSearch(model, run).prove()


def _report_greedy(problem: Problem, run: Run) -> None:
    """Report the greedy trees of every depth: on large data all else takes longer than a user may want to wait."""
    for depth in range(2, problem.max_depth + 1):
        run.report(GreedyLearner().grow(problem.replace(max_depth=depth), np.random.default_rng(run.random_state)))


def _start_from_sample(problem: Problem, run: Run) -> None:
    """Report the best tree for a random part of the samples: close to the optimum for all, at a small price."""
    chosen = np.sort(np.random.default_rng(run.random_state).choice(problem.n_samples, SAMPLE, replace=False))
    if not problem.weight[chosen].any():
        return
    fields = ("values", "lower", "upper", "label", "weight")
    part = problem.replace(**{name: getattr(problem, name)[chosen] for name in fields}, min_samples_leaf=0)
    limit = None if np.isinf(run.remaining()) else run.remaining() / 10
    answer = solve(part, "search", time_limit=limit, max_gap=0.02, random_state=run.random_state)
    run.report(to_indices(answer.tree, problem))
    if answer.stopped_by is EndReason.INTERRUPT:
        raise KeyboardInterrupt


class RootSearch:
    """The root split, shared out to worker threads.

    A stage asks for a tree that costs less than a target below the incumbent. If there is none, the target is a
    lower bound, and the next stage asks for more; the last stage asks for anything better than the incumbent.

    Attributes
    ----------
    best : int
        Cost of the incumbent in kernel units.
    """

    def __init__(self, model: SearchModel, run: Run) -> None:
        self.model = model
        self.run = run
        self.depth = model.problem.max_depth
        self.data: Data = model.data({option.name: run.options[option.name] for option in KERNEL_OPTIONS})
        self.n_threads = run.n_jobs
        self.works: list[Work] = []
        self.target = 0
        self.lock = threading.Lock()
        self.messages: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()
        self.best = 0
        self._take_incumbent()

    def _take_incumbent(self) -> None:
        """Never look for less than what is known: the incumbent in kernel units, rounded up."""
        known = int(np.ceil(self.run.best_objective * self.model.scale))
        self.best = min(known, self.model.forbidden)

    @property
    def cutoff(self) -> int:
        """A tree of interest costs less than this."""
        return min(self.target, self.best - self.model.step + 1)

    def prove(self) -> None:
        """Improve the incumbent and raise the bound until they meet or the run must stop."""
        from hardwood.kernels import search, search_state
        from hardwood.solvers.search.local_search import LocalSearch

        LocalSearch(self.model, self.data, self.run).improve()
        self._take_incumbent()
        member = np.ones(self.model.n, np.uint8)
        for _ in range(self.n_threads):
            if self.run.should_stop():
                return
            work = self.model.work(self.data, self.depth)
            search.open_root(self.data, work, self.model.events, self.model.weight, member, self.depth)
            self.works.append(work)
        for share in (*self._stages(), 1.0):
            goal = self.best - self.model.step + 1
            self.target = goal if share == 1 else int(share * goal)
            if self.target <= self.run.bound * self.model.scale and share < 1:
                continue
            if not self._stage():
                break
            # Every tree costs at least the cutoff; where costs are multiples of a step, the next multiple.
            proven = -(-self.cutoff // self.model.step) * self.model.step
            self.run.report(bound=min(proven, self.best) / self.model.scale)
            if self.run.should_stop():
                break
        for k in range(self.depth, 1, -1):
            slots = slice(1 << (self.depth - k), 2 << (self.depth - k))
            counters = sum(w.scalar[slots, search_state.NODES :].sum(axis=0) for w in self.works)
            names = ("nodes", "evaluations", "rounds", "scans", "child_solves", "branches", "skipped")
            self.run.stats[f"depth {k}"] = dict(zip(names, map(int, counters), strict=True))

    def _stages(self) -> tuple[float, ...]:
        """Return the shares of the incumbent to prove first; the last per cent only where they take long."""
        stages: tuple[float, ...] | None = self.run.options["stages"]
        if stages is not None:
            return stages
        return (0.5, 0.85, 0.96, 0.99) if self.best >= MANY_STEPS * self.model.step else (0.5, 0.85)

    def _stage(self) -> bool:
        """Search everything below the target; whether it was finished."""
        from hardwood.kernels import search_state as state

        items = self._items()
        todo: queue.SimpleQueue[tuple[int, int, int]] = queue.SimpleQueue()
        for item in items:
            todo.put(item)
        workers = [threading.Thread(target=self._work, args=(work, todo), daemon=True) for work in self.works]
        for worker in workers:
            worker.start()
        running = len(workers)
        done = 0
        failure: BaseException | None = None
        try:
            while running:
                try:
                    kind, value = self.messages.get(timeout=POLL)
                except queue.Empty:
                    self.run.progress(settled=done / max(1, len(items)))
                    if self.run.should_stop():
                        self.data.control[state.STOP] = 1
                    continue
                if kind == "tree":
                    heap, cost = value
                    claim = cost / self.model.scale if self.model.step > 1 else None
                    self.run.report(self.model.to_tree(heap), claim=claim)
                    if self.run.should_stop():
                        self.data.control[state.STOP] = 1
                elif kind == "item":
                    done += 1
                elif kind == "failed":
                    failure = value
                    self.data.control[state.STOP] = 1
                else:
                    running -= 1
        finally:
            self.data.control[state.STOP] = 1
            for worker in workers:
                worker.join()
            finished = done == len(items)
            self.data.control[state.STOP] = 0
        if failure is not None:
            raise failure
        return finished

    def _items(self) -> list[tuple[int, int, int]]:
        """Parts of the root: a feature and a range of its candidates, more parts than threads."""
        from hardwood.kernels import search_state as state

        counts = self.works[0].feature[1, state.N_CANDIDATES, :-1]
        per_item = counts.max(initial=1) if self.n_threads == 1 else max(4, counts.sum() // (16 * self.n_threads))
        return [
            (j, first, min(first + int(per_item), int(count)))
            for j, count in enumerate(counts)
            for first in range(0, int(count), int(per_item))
        ]

    def _work(self, work: Work, todo: queue.SimpleQueue[tuple[int, int, int]]) -> None:
        """Take parts of the root until none is left; runs in a thread, the kernels without the GIL."""
        try:
            while not self._stopped():
                try:
                    item = todo.get_nowait()
                except queue.Empty:
                    break
                self._settle(work, item)
                if self._stopped():
                    break
                self.messages.put(("item", item))
        except BaseException as error:
            self.messages.put(("failed", error))
        finally:
            self.messages.put(("end", None))

    def _stopped(self) -> bool:
        from hardwood.kernels.search_state import STOP

        return bool(self.data.control[STOP])

    def _settle(self, work: Work, item: tuple[int, int, int]) -> None:
        """Search one part of the root until no tree below the cutoff is left in it."""
        from hardwood.kernels import search
        from hardwood.kernels.search_state import CURRENT, FIRST_CANDIDATE, LAST_CANDIDATE

        feature, first, last = item
        work.scalar[1, FIRST_CANDIDATE], work.scalar[1, LAST_CANDIDATE] = first, last
        position = 0
        while not self._stopped():
            cutoff = self.cutoff
            if cutoff <= 0:
                return
            cost, position = search.sweep_root(self.data, work, self.depth, feature, cutoff, position)
            if cost >= cutoff:
                return
            heap: NDArray[np.int32] = work.tree[1, CURRENT].copy()
            with self.lock:
                if cost < self.best:
                    self.best = int(cost)
                    self.messages.put(("tree", (heap, cost)))
