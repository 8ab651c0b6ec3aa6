"""What the README says beside others, from the results that benchmarks kept.

``python -m benchmarks.peers`` writes the last column of the README's table anew; a test compares the two.
"""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.report import read_tables

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"


def _text(name: str) -> str:
    return (ROOT / "benchmarks" / "results" / f"{name}.md").read_text(encoding="utf-8")


def _command(name: str) -> str:
    return f"`python -m benchmarks {name}` ([results](benchmarks/results/{name}.md))"


def _roct() -> str:
    """At depth 2 on the paper's data: how many sets each method proves."""
    rows = read_tables(_text("methods"))[1]

    def proven(*names: str) -> int:
        return sum(any(row[name].startswith("**") for name in names) for row in rows)

    return (
        f"its formulations run here on open solvers; of the paper's {len(rows)} data sets at depth 2 our search proves "
        f"{proven('search')}, MaxSAT {proven('LSU-MaxSAT', 'RC2-MaxSAT')}, MILP {proven('MILP-warm', 'MILP')} within "
        f"their limits: {_command('methods')}"
    )


def _groot() -> str:
    found = re.search(r"([\d.]+) times the published code", _text("greedy"))
    assert found is not None
    return f"our own implementation, {found.group(1)} times the time of groot-trees: {_command('greedy')}"


SETS_OF_VERITAS = ("banknote", "magic", "spambase", "wine")


def _veritas() -> str:
    """On XGBoost models: the ratio of all seconds where veritas decides every sample, and what both leave open."""
    tables = [read_tables(_text(f"ensembles-{name}"))[0] for name in SETS_OF_VERITAS]
    rows = [row for table in tables for row in table if "veritas decides" in row]
    asked = [sum(int(row[name]) for name in ("robust", "fooled", "open")) for row in rows]
    both = [row for row, n in zip(rows, asked, strict=True) if row["veritas decides"] == f"{n} of {n}"]
    ours, theirs = (sum(float(row[name]) for row in both) for name in ("seconds", "veritas, seconds"))
    disagreements = sum(int(row["disagreements"]) for row in rows)
    left_open = sum(int(row["open"]) for row in rows)
    names = ", ".join(f"[{name}](benchmarks/results/ensembles-{name}.md)" for name in SETS_OF_VERITAS)
    return (
        f"{disagreements} disagreements on XGBoost models; {ours / theirs:.2f} times its time where it decides every "
        f"sample within a second ({len(both)} of {len(rows)} models and radii); here {left_open} of {sum(asked)} "
        f"samples stay open: `python -m benchmarks ensembles.wine` (results: {names})"
    )


def _pycontree() -> str:
    """At radius 0: the ratio of all CPU seconds by depth, and how often the trees found are as good or better."""
    rows = [row for table in read_tables(_text("field")) if "CPU s pycontree" in table[0] for row in table]
    ratio = {row["depth"]: row["ratio"] for row in rows if row["data"] == "all"}
    ours, theirs = ([int(row[name].split()[0]) for row in rows if row["data"] != "all"] for name in _ERRORS)
    better = sum(mine < other for mine, other in zip(ours, theirs, strict=True))
    worse = sum(mine > other for mine, other in zip(ours, theirs, strict=True))
    times = " and ".join(f"{value} times its CPU time at depth {depth}" for depth, value in ratio.items())
    return (
        f"without an attacker, {times}; within the same limit fewer errors on {better} of {len(ours)} and more on "
        f"{worse}: {_command('field')}"
    )


_ERRORS = "errors", "errors pycontree"
MEASURED = {"ROCT": _roct, "GROOT": _groot, "veritas": _veritas, "pycontree": _pycontree}


def with_measurements(readme: str) -> str:
    """Return the README with the last cell of each measured row as the results have it."""
    lines = readme.splitlines(keepends=True)
    for name, measured in MEASURED.items():
        [number] = [k for k, line in enumerate(lines) if line.startswith(f"| {name}")]
        cells = lines[number].rstrip().removesuffix("|").split(" | ")
        lines[number] = " | ".join([*cells[:-1], measured() + " |\n"])
    return "".join(lines)


if __name__ == "__main__":
    README.write_text(with_measurements(README.read_text(encoding="utf-8")), encoding="utf-8")
