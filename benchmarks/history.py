"""The key figures of each version, read from the results that were kept for it; no figure is typed.

``python -m benchmarks history`` writes the section of this version into ``history.md``, beside those that are there.
Sections of an older version can be made again from its results::

    git archive REVISION benchmarks/results | tar -x -C /tmp/old
    python -m benchmarks history --version 0.1.0 --results /tmp/old/benchmarks/results

Ratios are against other programs on the same machine in the same run, so they can be compared between versions;
seconds cannot, unless the machine is the same.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.report import RESULTS, geometric_mean, read_tables, table
from hardwood import __version__

PAGE = Path(__file__).parent / "history.md"
INTRODUCTION = """# Benchmark history

The key figures of each version, newest first, written by `python -m benchmarks history` from the tables in `results/`.
Ratios are against other programs on the same machine in the same run and can be compared between versions; seconds
depend on the machine. Geometric means are over instances. Instances are those of the paper: eight sets, three radii
each, training part.
"""

Row = dict[str, str]
Figures = Iterator[tuple[str, str]]


def search(tables: list[list[Row]]) -> Figures:
    """Proofs and times of the exact search; without an attacker against pycontree."""
    instances, plain = _with_column(tables, "robust errors"), _with_column(tables, "errors pycontree")
    for depth in sorted({row["depth"] for row in instances}):
        rows = [row for row in instances if row["depth"] == depth and row["data"] != "all"]
        proven = sum(row["robust errors"] == row["bound"] for row in rows)
        seconds = [max(float(row["CPU seconds"]), 1e-3) for row in rows]
        yield f"search, depth {depth}: proven", f"{proven} of {len(rows)}"
        yield (
            f"search, depth {depth}: CPU s in all, geometric mean",
            f"{sum(seconds):.2f}, {geometric_mean(seconds):.4f}",
        )
    for depth in sorted({row["depth"] for row in plain}):
        rows = [row for row in plain if row["depth"] == depth and row["data"] != "all"]
        ratios = [max(float(row["CPU seconds"]), 1e-3) / max(float(row["CPU seconds pycontree"]), 1e-3) for row in rows]
        worse = sum(float(row["errors"]) > float(row["errors pycontree"]) for row in rows)
        yield (
            f"search, no attacker, depth {depth}: CPU time / pycontree's, geometric mean",
            f"{geometric_mean(ratios):.2f} (more errors on {worse} of {len(rows)})",
        )


def core_search(tables: list[list[Row]]) -> Figures:
    """Compare the search with that of the version before, on the same machine in the same run."""
    for row in _with_column(tables, "ratio of sums"):
        yield (
            f"search, depth {row['depth']}, {row['instances']} instances: CPU time / 0.1.0's, sums, geometric mean",
            f"{row['ratio of sums']}, {row['geometric mean of ratios']}",
        )


def proofs(tables: list[list[Row]]) -> Figures:
    """How long it takes to write a proof and to check it, against solving."""
    rows = [row for rows in tables for row in rows if "checking s" in row and "sum" not in row["set"]]
    solving, writing, checking = (
        sum(float(row[f"{what} s"]) for row in rows) for what in ("solving", "writing", "checking")
    )
    yield (
        f"proofs, {len(rows)} problems: time to write, to check / to solve",
        f"{writing / solving:.2f}, {checking / solving:.2f}",
    )


def ensembles(tables: list[list[Row]]) -> Figures:
    """Verdicts on samples of boosted trees, beside those of veritas."""
    rows = _with_column(tables, "veritas decides")
    verdicts = [sum(int(row[kind]) for row in rows) for kind in ("robust", "fooled", "open")]
    theirs = [sum(int(row["veritas decides"].split(" of ")[k]) for row in rows) for k in (0, 1)]
    yield "ensembles: samples decided", f"{sum(verdicts[:2])} of {sum(verdicts)}; veritas {theirs[0]} of {theirs[1]}"
    yield "ensembles: verdicts on which both disagree", str(sum(int(row["disagreements"]) for row in rows))


def greedy(tables: list[list[Row]]) -> Figures:
    """Whole fits against the published GROOT."""
    ratios = [float(row["ratio"]) for row in tables[0] if _is_number(row["ratio"])]
    if ratios:
        yield "greedy: time of a fit / groot-trees', geometric mean", f"{geometric_mean(ratios):.2f}"
    largest = tables[1][-1]
    yield f"greedy: {largest['rows (20 features, depth 6)']} rows x 20, depth 6, seconds", largest["seconds"]


def evaluation(tables: list[list[Row]]) -> Figures:
    """Prediction against scikit-learn, evaluation under attack against prediction."""
    for row in tables[0]:
        if row["against"]:
            yield f"{row['what']}: time / {row['against']}", row["ratio"]


def bounds(tables: list[list[Row]]) -> Figures:
    """Compare the bound for every model with three ways to get it from SciPy."""
    first = next(iter(tables[0][0]))
    for row in tables[0][1:]:
        yield f"bound, {first}: {row[first]}, time / ours", row["ratio"]


def learners(tables: list[list[Row]]) -> Figures:
    """Robust training errors of the greedy learners, summed over eight instances and depths 2 to 4."""
    for row in tables[0]:
        if row["data"] == "all" and row["depth"] == "2-4":
            names = [name for name in row if name not in ("data", "radius", "depth")]
            yield "robust training errors, 8 instances, depths 2 to 4", ", ".join(f"{n} {row[n]}" for n in names)


def methods(tables: list[list[Row]]) -> Figures:
    """How many of eight instances each method proves within its limit."""
    rows = _with_column(tables, "status")
    for depth in sorted({row["depth"] for row in rows}):
        here = [row for row in rows if row["depth"] == depth]
        names = list(dict.fromkeys(row["method"] for row in here))
        counts = []
        for name in names:
            of_method = [row for row in here if row["method"] == name]
            proven = sum(row["status"] == "optimal" for row in of_method)
            counts.append(f"{name} {proven} of {len(of_method)}")
        yield f"proven at depth {depth} within the limit", "; ".join(counts)


def cross_validation(tables: list[list[Row]]) -> Figures:
    """Accuracy under attack on held-out rows."""
    for row in tables[0]:
        if row["instance"] == "mean":
            yield "test accuracy under attack, 24 instances: depth chosen", row["test, depth"]
            yield "test accuracy under attack, 24 instances: depth and radius chosen", row["test, depth and radius"]


def sittings(tables: list[list[Row]]) -> Figures:
    """Say what a checkpoint costs."""
    for row in tables[0]:
        yield f"checkpoint, {row['instance']}: CPU time, compared with none", row["cost"]


READERS: dict[str, Callable[[list[list[Row]]], Figures]] = {
    reader.__name__: reader
    for reader in (
        search,
        core_search,
        proofs,
        sittings,
        ensembles,
        greedy,
        evaluation,
        bounds,
        learners,
        methods,
        cross_validation,
    )
}


def _with_column(tables: list[list[Row]], column: str) -> list[Row]:
    """Return the first table that has this column; no rows if there is none."""
    return next((rows for rows in tables if rows and column in rows[0]), [])


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[0-9.]+", text) is not None


def section(version: str, results: Path) -> str:
    """Return the section of one version."""
    rows: list[tuple[str, str]] = []
    machines = set()
    for name, reader in READERS.items():
        path = results / f"{name}.md"
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        # What another version measured says nothing about this one; 0.1.0 did not write its version.
        if text and (f"hardwood {version}" in text or (version == "0.1.0" and "hardwood 0" not in text)):
            tables = read_tables(text)
            rows += reader(tables) if tables else []
            machines |= {line for line in text.splitlines() if "easured on" in line}
    lines = [f"## {version}", "", table(("figure", "value"), rows), ""]
    return "\n".join(lines + [line if line.endswith(".") else f"{line} …" for line in sorted(machines)]) + "\n"


def main(arguments: list[str]) -> int:
    """Write or replace the section of a version."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks history", description=__doc__)
    parser.add_argument("--version", default=__version__.partition(".dev")[0])
    parser.add_argument("--results", type=Path, default=RESULTS)
    asked = parser.parse_args(arguments)
    old = PAGE.read_text(encoding="utf-8") if PAGE.exists() else INTRODUCTION
    parts = re.split(r"^(?=## )", old, flags=re.MULTILINE)[1:]
    sections = {part.split("\n", 1)[0].removeprefix("## "): part.strip() + "\n" for part in parts}
    sections[asked.version] = section(asked.version, asked.results)
    newest_first = sorted(sections, key=_order, reverse=True)
    PAGE.write_text("\n".join([INTRODUCTION, *(sections[version] for version in newest_first)]), encoding="utf-8")
    print(sections[asked.version])
    return 0


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
