"""``hardwood warm-up``."""

from __future__ import annotations

import pkgutil
import time
from importlib import import_module

import typer

from hardwood.cli.app import app


@app.command("warm-up")
def warm_up() -> None:
    """Compile all kernels now, e.g. while an image is built, so that no later call has to wait for it."""
    import numpy as np

    import hardwood.kernels
    from hardwood.problem.problem import Problem
    from hardwood.solvers import solve

    started = time.perf_counter()
    # Most kernels are compiled, or loaded from the cache, when their module is imported.
    for module in pkgutil.iter_modules(hardwood.kernels.__path__):
        import_module(f"hardwood.kernels.{module.name}")
    rng = np.random.default_rng(0)
    X = rng.random((30, 2))
    for n_classes in (2, 3):
        for depth in (1, 2, 3):
            solve(Problem.from_data(X, np.arange(30) % n_classes, 0.05, depth), "search", n_jobs=2)
    typer.echo(f"All kernels are compiled ({time.perf_counter() - started:.0f} s).")
