"""Several runs at once, in threads that leave together: after the last one, a failure or Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from hardwood.solvers.stopping import Interrupt

Answer = TypeVar("Answer")


def in_threads(
    work: Callable[..., Answer], tasks: Iterable[tuple[Any, ...]], n_jobs: int, interrupt: Interrupt | None = None
) -> list[Answer]:
    """Return ``work(*task)`` for every task, in the order of the tasks.

    Parameters
    ----------
    work : callable
    tasks : iterable of tuple
    n_jobs : int
        How many threads at once; 1 stays in this one.
    interrupt : Interrupt or None
        Asked when a task fails or Ctrl-C is pressed, so that runs which share it end too. No thread is left behind.
    """
    if n_jobs == 1:
        return [work(*task) for task in tasks]
    with ThreadPoolExecutor(n_jobs) as pool:
        futures = []
        try:
            futures += [pool.submit(work, *task) for task in tasks]
            return [future.result() for future in futures]
        except BaseException:
            if interrupt is not None:
                interrupt.request()
            for future in futures:
                future.cancel()
            raise
