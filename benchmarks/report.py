"""What all benchmarks share: timing, tables and where they are kept, and a line about the machine."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from math import exp, log
from pathlib import Path
from typing import Any

from hardwood import __version__

RESULTS = Path(__file__).parent / "results"
"""Where results are kept; the pages of docs/ include them."""


def machine() -> str:
    """Say on what and with which versions the numbers were measured."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scikit-learn"))
    return (
        f"hardwood {__version__}, measured on {os.cpu_count()} cores ({platform.machine()}), "
        f"Python {platform.python_version()}, {packages}."
    )


def keep(name: str, text: str) -> str:
    """Write what a benchmark printed to ``results/NAME.md`` and return the page."""
    page = f"# Benchmark: {name}\n\n{machine()}\n\n{text}\n"
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.md").write_text(page, encoding="utf-8")
    return page


def best_of(repeats: int, action: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the least seconds of several runs, the one that others disturbed least; by default on the wall's clock."""
    best = float("inf")
    for _ in range(repeats):
        started = clock()
        action()
        best = min(best, clock() - started)
    return best


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def read_tables(text: str) -> list[list[dict[str, str]]]:
    """Return the Markdown tables of a page, each as a list of rows by column: the inverse of `table`."""
    found: list[list[dict[str, str]]] = []
    columns: list[str] = []
    for line in text.splitlines():
        if not line.startswith("|"):
            columns = []
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not columns:
            columns = cells
            found.append([])
        elif not set("".join(cells)) <= set("-: "):
            found[-1].append(dict(zip(columns, cells, strict=True)))
    return found


def geometric_mean(values: Sequence[float]) -> float:
    """Return the mean for ratios: twice as fast here and half as fast there is no change."""
    return exp(sum(map(log, values)) / len(values))
