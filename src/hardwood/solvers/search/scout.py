"""A search for good trees beside a proof: in a thread of its own, with a run of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from hardwood.problem.problem import Problem
from hardwood.solvers.parallel import HeldBack
from hardwood.solvers.run import Run
from hardwood.solvers.search.lean import LeanTrees
from hardwood.solvers.stopping import Interrupt, TimeLimit
from hardwood.tree.index_tree import IndexTree
from hardwood.tree.tree import Tree

PATIENCE = 1.0
"""Seconds that a search for trees is waited for which was asked to end; it ends at its next look."""


class Scout:
    """Looks for good trees in a thread of its own.

    A proof does not need the best tree to begin with: what it asks first, whether any tree costs half as much, can be
    asked whatever tree is known. So one thread looks for trees while the others prove.

    Parameters
    ----------
    look : callable
        Reports trees to the run that it is given, in as many threads as get one of the permits, which are its second
        argument.
    problem : Problem
    options : dict
        Of the solver.
    random_state : int
    seconds : float
        How long trees may be looked for.
    tree : Tree, IndexTree or None
        The best one so far.
    lean : LeanTrees or None
        How trees of a very large table are converted.
    """

    def __init__(
        self,
        look: Callable[[Run, threading.Semaphore], None],
        problem: Problem,
        options: dict[str, Any],
        *,
        random_state: int,
        seconds: float,
        tree: Tree | IndexTree | None,
        lean: LeanTrees | None = None,
    ) -> None:
        self._run = Run(
            problem,
            time_limit=TimeLimit(None if np.isinf(seconds) else seconds),
            max_gap=0.0,
            random_state=random_state,
            n_jobs=1,
            options=options,
            on_progress=None,
            interrupt=Interrupt(),
        )
        if lean is not None:
            self._run.placed, self._run.in_indices = lean.placed, lean.in_indices
        if tree is not None:
            self._run.report(tree)
        self._told = self._run.best_objective
        self._failure: BaseException | None = None
        self._permits = threading.Semaphore(1)
        self._thread = threading.Thread(target=self._look, args=(look,), daemon=True)

    def start(self) -> None:
        """Begin to look; Ctrl-C meanwhile is felt afterwards, when somebody can close what has begun."""
        with HeldBack() as held_back:
            self._thread.start()
        held_back.release()

    def _look(self, look: Callable[[Run, threading.Semaphore], None]) -> None:
        try:
            look(self._run, self._permits)
        except BaseException as error:
            self._failure = error

    def news(self, seconds: float) -> tuple[list[IndexTree], bool]:
        """Return a better tree, if there is one, and whether all were looked for."""
        self._thread.join(seconds)
        is_over = not self._thread.is_alive()
        if self._failure is not None and not isinstance(self._failure, KeyboardInterrupt):
            raise self._failure
        tree, cost = self._run.best_index_tree, self._run.best_objective
        if tree is None or cost >= self._told:
            return [], is_over
        self._told = cost
        return [tree], is_over

    def lend(self, n_threads: int) -> None:
        """Let so many more threads look."""
        self._permits.release(n_threads)

    def request_stop(self) -> None:
        """Let it come to an end."""
        self._run.interrupt.request()
        self._run.control.request_stop()

    def close(self) -> None:
        """End it and wait for that."""
        self.request_stop()
        if self._thread.ident is not None:
            self._thread.join(PATIENCE)
