"""What all solvers on third-party engines share: encode, check the size, run the engine, take what it finds."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from hardwood.bounds import AccuracyBound, bound_problem
from hardwood.errors import InvalidInputError
from hardwood.problem.problem import Problem
from hardwood.solvers.engines.child import Built, Found, Job, Message, Proved, run_child
from hardwood.solvers.formulations.descent import search_nearby
from hardwood.solvers.formulations.encoding import Choice, Encoding, encode
from hardwood.solvers.memory import available_memory
from hardwood.solvers.options import AnyOf, Flag, Instance, Nothing, Number, Option
from hardwood.solvers.registry import Engine, Solver
from hardwood.solvers.run import ROOT_BOUND_BUDGET, WHOLE_SLACK, Run

DESCENT_SECONDS, DESCENT_SHARE = 1.0, 0.05
"""A start is improved for so many seconds, but for no more than this share of the time that is left."""


DEEPEST_ESTIMATE = 64
"""A complete tree of this depth fits in no memory; numbers of more digits say no more."""


class EngineSolver(Solver):
    """A solver that hands the paper's formulation to a third-party engine.

    Class attributes
    ----------------
    folders : tuple of str
        Where the child finds the function that `_target` names, if it is neither part of hardwood nor installed: for
        solvers that are registered from outside. A child is isolated and searches no other folder.
    """

    folders: ClassVar[tuple[str, ...]] = ()

    options: ClassVar[tuple[Option, ...]] = (
        Option("engine", None, AnyOf(Nothing("the first"), Instance(str, "a name")), "library to run on"),
        Option("strengthen", True, Flag(), "whether to add what is valid to the paper's formulation"),
        Option(
            "memory_limit",
            None,
            AnyOf(Number(0, above=True, unit="GB"), Nothing("what is free")),
            "how much the model may take",
        ),
    )

    @abstractmethod
    def _target(self, engine: Engine) -> str:
        """Return the function that runs in the child, as ``"module:function"``."""

    @abstractmethod
    def _bytes_needed(self, encoding: Encoding) -> int:
        """Estimate of the memory that the model takes."""

    def _resolution(self, encoding: Encoding) -> float:
        """Return the difference of objectives that the engine's arithmetic may miss; 0 if it is exact."""
        return 0.0

    def _run(self, problem: Problem, run: Run) -> None:
        engine = self._engine(run.options["engine"])
        engine.require()
        encoding = encode(
            problem,
            strengthen=bool(run.options["strengthen"]),
            find_pairs=lambda problem: self._matching(problem, run),
            control=run.control,
        )
        if encoding.depth == 0 or encoding.n_values == 0:
            # No threshold separates anything: the best leaf, which is known, is the best tree.
            run.report(bound=run.best_objective)
            return
        run.resolution = self._resolution(encoding)
        refuse_if_too_large(encoding, self._bytes_needed, run.options["memory_limit"])
        start = None if run.start is None else self._better_start(encoding, run)
        job = Job(
            encoding=encoding,
            start=start,
            best=run.best_objective if start is None else encoding.objective(start),
            deadline=time.time() + run.remaining(),
            n_jobs=run.n_jobs,
            seed=run.random_state,
            options={**run.options, "engine": engine.name},
        )
        run.stats["engine"] = engine.name
        run.stats["encode_seconds"] = run.elapsed()
        if not run.should_stop():
            run_child(
                self._target(engine),
                job,
                receiver(job, run),
                should_stop=run.should_stop,
                remaining=run.remaining,
                folders=self.folders,
            )

    def bounds_any_model(self, run: Run) -> bool:
        """Whether the solver itself reports the bound of any model: where it needs the pairs that prove it."""
        return bool(run.options["strengthen"])

    def _matching(self, problem: Problem, run: Run) -> AccuracyBound:
        """Report what no model can avoid, and return the pairs of samples that prove it."""
        bound = bound_problem(problem, control=run.budget(*ROOT_BOUND_BUDGET))
        run.report(bound=bound.errors)
        run.trusted_bound = run.bound
        return bound

    def _better_start(self, encoding: Encoding, run: Run) -> Choice:
        assert run.best_index_tree is not None
        start = encoding.to_choice(run.best_index_tree)
        if encoding.strengthened:
            seconds = min(DESCENT_SECONDS, DESCENT_SHARE * run.remaining())
            start = search_nearby(encoding, start, seconds, run.random_state)
            run.report(encoding.to_tree(start), claim=encoding.objective(start))
        return start

    def _engine(self, name: str | None) -> Engine:
        known = {engine.name: engine for engine in self.engines}
        if name is None:
            return self.engines[0]
        if name not in known:
            raise InvalidInputError(
                f"engine={name!r} is not known to solver {self.name!r}; its engines are {', '.join(map(repr, known))}"
            )
        return known[name]


def receiver(job: Job, run: Run) -> Callable[[Message], None]:
    """Return the function that takes the messages of an engine and reports them to the run."""

    def receive(message: Message) -> None:
        if isinstance(message, Built):
            run.stats.update(message.stats)
        elif isinstance(message, Found):
            if job.start is not None:
                # Solvers may drop a start without a word; it is kept by the run anyway.
                run.stats.setdefault("start_accepted", job.encoding.objective(message.choice) <= job.best)
            run.report(job.encoding.to_tree(message.choice), claim=message.claim)
        elif isinstance(message, Proved):
            run.report(bound=_to_next_objective(message.bound, job.encoding.unit))

    return receive


def _to_next_objective(bound: float, unit: float) -> float:
    """Return the least objective that is not below a bound, where objectives are multiples of a unit (0: of none)."""
    return unit * math.ceil(bound / unit - WHOLE_SLACK) if unit > 0 and math.isfinite(bound) else bound


def refuse_if_too_large(
    encoding: Encoding, bytes_needed: Callable[[Encoding], int], memory_limit: float | None
) -> None:
    """Raise, before anything is built, if the model does not fit in memory."""
    limit = available_memory() if memory_limit is None else memory_limit * 1e9
    needed = bytes_needed(replace(encoding, depth=min(encoding.depth, DEEPEST_ESTIMATE)))
    if needed <= limit:
        return
    depths = range(1, min(encoding.depth, DEEPEST_ESTIMATE))
    fitting = [d for d in depths if bytes_needed(replace(encoding, depth=d)) <= limit]
    if fitting:
        advice = f"max_depth={fitting[-1]} would fit"
    else:
        advice = f"about {int(encoding.n_samples * limit / needed)} samples would fit at this depth"
    raise InvalidInputError(
        f"the model for {encoding.n_samples} samples, {encoding.n_features} features and depth {encoding.depth} takes "
        f"about {needed / 1e9:.1f} GB, but {limit / 1e9:.1f} GB are available; {advice}; solver='search' needs far less"
    )
