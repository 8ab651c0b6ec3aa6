"""Several runs at once, in threads that leave together: after the last one, a failure or Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from hardwood.solvers.stopping import Interrupt

Answer = TypeVar("Answer")


class HeldBack:
    """Ctrl-C is taken note of, and felt when it is released; in the main thread, which is where Python feels it."""

    def __init__(self) -> None:
        self._pressed = False

    def __enter__(self) -> HeldBack:
        if threading.current_thread() is threading.main_thread():
            self._handler = signal.signal(signal.SIGINT, self._press)
        return self

    def __exit__(self, *_: object) -> None:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, self._handler)

    def _press(self, *_: object) -> None:
        self._pressed = True

    def release(self) -> None:
        """Feel what was held back."""
        if self._pressed:
            signal.raise_signal(signal.SIGINT)


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
        # Ctrl-C while a thread is being started would leave that thread to itself.
        with HeldBack() as held_back:
            futures = [pool.submit(work, *task) for task in tasks]
        try:
            held_back.release()
            return [future.result() for future in futures]
        except BaseException:
            if interrupt is not None:
                interrupt.request()
            for future in futures:
                future.cancel()
            raise
