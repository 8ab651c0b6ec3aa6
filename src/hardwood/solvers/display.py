"""A progress line on standard error that goes away when nobody watches."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hardwood.solvers.run import RunProgress


def describe(progress: RunProgress) -> str:
    """One line: best objective, bound, gap and, where known, the share of the root that is settled."""
    if math.isinf(progress.objective):
        return f"no tree yet, bound {progress.bound:g}"
    gap = max(0.0, progress.objective - progress.bound) / progress.objective if progress.objective > 0 else 0.0
    line = f"errors {progress.objective:g}, bound {progress.bound:g}, gap {gap:.1%}"
    return line if progress.settled is None else f"{line}, root {progress.settled:.0%} settled"


def _say_plan(progress: RunProgress) -> None:
    if progress.plan is not None:
        print(progress.plan, file=sys.stderr, flush=True)


@contextmanager
def progress_display(shown: bool, time_limit: float | None) -> Iterator[Callable[[RunProgress], None] | None]:
    """Show a bar that fills with the time limit, if standard error is a terminal; a plan is a line in any case."""
    if not shown:
        yield None
        return
    if not sys.stderr.isatty():
        yield _say_plan
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(bar_width=20), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=time_limit)

        def update(progress: RunProgress) -> None:
            if progress.plan is not None:
                bar.console.print(progress.plan, highlight=False)
            done = progress.seconds if time_limit is not None else None
            bar.update(task, description=describe(progress), completed=done)

        yield update
