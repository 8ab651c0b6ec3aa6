"""The paper's six methods, CP-SAT and our search on the paper's instances at depths 1 and 2.

Each row is appended to ``results/methods.jsonl`` as it is measured, and rows that are there are not measured again.
Set METHODS_LIMIT and METHODS_MILP_LIMIT to other time limits (seconds; 60 for MaxSAT, CP-SAT and search, 30 for MILP).
CPU seconds include the engine's process; on a busy machine they say more than the clock.
"""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import table
from hardwood import Problem, solve
from hardwood.data import datasets
from hardwood.solvers import registered_solvers

INSTANCES = {
    "haberman": 0.03,
    "breast-cancer": 0.39,
    "blood-transfusion": 0.02,
    "cylinder-bands": 0.28,
    "ionosphere": 0.28,
    "diabetes": 0.07,
    "banknote-authentication": 0.09,
    "wine": 0.03,
}
PLAIN_LSU = "LSU-MaxSAT, not strengthened"
SMALL = ("haberman", "breast-cancer", "blood-transfusion", "cylinder-bands", "ionosphere")
# name in the table: solver, start, options
METHODS: dict[str, tuple[str, str | None, dict[str, Any]]] = {
    "search": ("search", None, {}),
    "LSU-MaxSAT": ("maxsat-lsu", None, {}),
    "RC2-MaxSAT": ("maxsat-rc2", None, {}),
    "CP-SAT": ("cp-sat", None, {}),
    "Binary-MILP-warm": ("binary-milp", "greedy", {}),
    "MILP-warm": ("milp", "greedy", {}),
    "Binary-MILP": ("binary-milp", None, {}),
    "MILP": ("milp", None, {}),
    PLAIN_LSU: ("maxsat-lsu", None, {"strengthen": False}),
}
RESULTS = Path(__file__).parent / "results" / "methods.jsonl"


def measure(method: str, name: str, depth: int) -> dict[str, Any]:
    """Run one method on one instance."""
    solver, start, options = METHODS[method]
    data = datasets.load(name)
    part = datasets.paper_split(data.X, data.y)
    problem = Problem.from_data(part.X_train, part.y_train, INSTANCES[name], depth)
    variable, default = ("METHODS_MILP_LIMIT", "30") if "milp" in solver else ("METHODS_LIMIT", "60")
    limit = float(os.environ.get(variable, default))
    began, cpu_before = time.perf_counter(), _cpu_seconds()
    result = solve(problem, solver, start=start, options=options, time_limit=limit)
    return {
        "method": method,
        "data": name,
        "depth": depth,
        "limit": limit,
        "errors": result.objective,
        "bound": result.bound,
        "status": result.status.value,
        "seconds": round(time.perf_counter() - began, 2),
        "cpu_seconds": round(_cpu_seconds() - cpu_before, 2),
        **{key: value for key, value in result.stats.items() if isinstance(value, int | float | bool)},
    }


def _cpu_seconds() -> float:
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in usage)


def run() -> str:
    """Measure what has not been measured and return all rows as a table."""
    if not os.environ.get(datasets.DATA_VARIABLE):
        return f"Not measured: set {datasets.DATA_VARIABLE} to the folder of the paper's data sets."
    RESULTS.parent.mkdir(exist_ok=True)
    known = [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []
    done = {(row["method"], row["data"], row["depth"]): row for row in known}
    with RESULTS.open("a") as log:
        for depth in (1, 2):
            for method in (m for m in METHODS if METHODS[m][0] in registered_solvers()):
                for name in INSTANCES if method != PLAIN_LSU else SMALL:
                    if (method, name, depth) not in done:
                        row = measure(method, name, depth)
                        done[method, name, depth] = row
                        log.write(json.dumps(row) + "\n")
                        log.flush()
    return page(sorted(done.values(), key=lambda row: (row["depth"], list(INSTANCES).index(row["data"]))))


def page(rows: Sequence[dict[str, Any]]) -> str:
    """Return what was proven by depth, with methods side by side; the sizes of the models; and every row."""
    parts = []
    for depth in (1, 2):
        cells: dict[str, dict[str, str]] = {}
        for row in rows:
            if row["depth"] == depth:
                cells.setdefault(row["data"], {})[row["method"]] = _outcome(row)
        names = [name for name in METHODS if any(name in by for by in cells.values())]
        lines = [(data, *(by.get(name, "") for name in names)) for data, by in cells.items()]
        parts += [f"Depth {depth}. **Bold**: proven optimal, in so many CPU seconds (engine, start-up and encoding "
                  "included); otherwise errors ≥ bound, and CPU seconds used within the limit on the clock.",
                  table(("data", *names), lines)]  # fmt: skip
    sizes = [
        (row["data"], row["depth"], row["method"], row["variables"], row.get("rows", row.get("clauses", "")),
         f"{row['build_seconds']:.2f}")
        for row in rows if row.get("variables") and row["method"] in ("LSU-MaxSAT", "MILP", "Binary-MILP")
    ]  # fmt: skip
    parts += [
        "Sizes of the models:",
        table(("data", "depth", "method", "variables", "rows or clauses", "build s"), sizes),
    ]
    columns = ("data", "depth", "method", "errors", "bound", "status", "limit s", "seconds", "CPU s")
    every = [
        (row["data"], row["depth"], row["method"], f"{row['errors']:g}", f"{row['bound']:g}", row["status"],
         f"{row['limit']:g}", f"{row['seconds']:.1f}", f"{row['cpu_seconds']:.1f}")
        for row in rows
    ]  # fmt: skip
    return "\n\n".join([*parts, "Every run:", table(columns, every)])


def _outcome(row: dict[str, Any]) -> str:
    if row["status"] == "optimal":
        return f"**{row['errors']:g}** in {row['cpu_seconds']:.1f}"
    return f"{row['errors']:g} ≥ {row['bound']:g}, {row['cpu_seconds']:.1f} of {row['limit']:g}"
