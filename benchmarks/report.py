"""What all benchmarks share: timing, tables, and a line about the machine."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from typing import Any


def machine() -> str:
    """Say on what and with which versions the numbers were measured."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "scikit-learn"))
    return f"Measured on {os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}, {packages}."


def best_of(repeats: int, action: Callable[[], Any]) -> float:
    """Return the least wall-clock seconds of several runs: the one that others disturbed least."""
    best = float("inf")
    for _ in range(repeats):
        started = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - started)
    return best


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)
