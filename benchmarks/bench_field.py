"""The exact search on data as users have them: many classes, more rows, no attacker, a short time limit.

``python -m benchmarks field`` compares with pycontree where there is no attacker; the `PARTS` take longer. The sets are
the paper's eight and those of the folder ``more`` beside them, in units of their ranges.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bench_search import SWITCHES, instances, measured, training_set
from benchmarks.report import RESULTS, read_tables, table
from hardwood import Problem
from hardwood.data import datasets
from hardwood.solvers import solve
from hardwood.solvers.greedy import CRITERIA
from hardwood.solvers.result import Result
from hardwood.solvers.run import RunProgress
from hardwood.solvers.stopping import Interrupt, counting_cpu_seconds

MORE = ("magic", "bean", "page", "segment", "spambase")
RADIUS = 0.05
SHORT, SHORT_TURNS = 0.1, 7
"""Runs of fewer CPU seconds are repeated so often: what else the machine does is a large part of them."""
SMALL = ("haberman", "blood-transfusion", "breast-cancer")
PAPER_BUT_WINE = tuple(name for name in datasets.PAPER_RADII if name != "wine")


@cache
def loaded(name: str) -> tuple[Any, Any]:
    """Return features (on [0, 1] for the sets of ``more``) and classes."""
    if name not in MORE:
        return training_set(name)
    data = datasets.read_dataset(name, Path(os.environ[datasets.DATA_VARIABLE]) / "more" / f"{name}.csv")
    least, most = data.X.min(axis=0), data.X.max(axis=0)
    return (data.X - least) / np.where(most > least, most - least, 1), data.y


def run() -> str:
    if not os.environ.get(datasets.DATA_VARIABLE):
        return f"Not measured: set {datasets.DATA_VARIABLE} to the folder of the paper's data sets."
    return no_attacker((2, 3), 20.0)


def no_attacker(depths: Sequence[int], time_limit: float) -> str:
    """Compare with pycontree at radius 0: errors and CPU seconds of the whole call, in the same process.

    Short runs are repeated, and the medians are shown.
    """
    rows: list[tuple[Any, ...]] = []
    for depth in depths:
        ours = theirs = 0.0
        for name in (*datasets.PAPER_RADII, *MORE):
            X, y = loaded(name)
            turns = [timed_pair(X, y, depth, time_limit)]
            while len(turns) < SHORT_TURNS and max(turns[0][1], turns[0][3]) < SHORT:
                turns.append(timed_pair(X, y, depth, time_limit))
            result, _, errors, _ = turns[0]
            cpu, peer_cpu = (float(np.median([turn[k] for turn in turns])) for k in (1, 3))
            ours, theirs = ours + cpu, theirs + peer_cpu
            shape = f"{X.shape[0]:,} × {X.shape[1]}, {len(np.unique(y))}"
            found = f"{result.objective:g}" + ("" if result.gap == 0 else f" ≥ {result.bound:g}")
            ratio = f"{cpu / peer_cpu:.2f}"
            rows.append((name, shape, depth, found, errors, f"{cpu:.3f}", f"{peer_cpu:.3f}", ratio))
            print(*rows[-1], flush=True)
        rows.append(("all", "", depth, "", "", f"{ours:.2f}", f"{theirs:.2f}", f"{ours / theirs:.2f}"))
    columns = ("data", "rows × features, classes", "depth", "errors", "errors pycontree", "CPU s", "CPU s pycontree")
    return table((*columns, "ratio"), rows)


def timed_pair(X: Any, y: Any, depth: int, time_limit: float) -> tuple[Result, float, int, float]:
    """Return result and CPU seconds of the search at radius 0, and errors and CPU seconds of pycontree."""
    with counting_cpu_seconds():
        result, cpu = measured(Problem.from_data(X, y, 0.0, depth), time_limit)
    return result, cpu, *fitted_contree(X, y, depth, time_limit)


def proofs(cases: Sequence[tuple[str, float, int]], time_limit: float) -> str:
    """Prove instances at a radius, one thread, at most so many CPU seconds each."""
    rows = []
    for name, radius, depth in cases:
        with counting_cpu_seconds():
            result, cpu = measured(Problem.from_data(*loaded(name), radius, depth), time_limit)
        rows.append((name, radius, depth, f"{result.objective:g}", f"{result.bound:g}", f"{cpu:.1f}"))
        print(*rows[-1], flush=True)
    return table(("data", "radius", "depth", "robust errors", "bound", "CPU s"), rows)


def best_greedy(problem: Problem) -> float:
    """Return the fewest robust errors of all greedy trees of at most the problem's depth, as the search starts from."""
    return min(
        solve(problem.replace(max_depth=depth), "greedy", options={"criterion": criterion}).objective
        for criterion in CRITERIA
        for depth in range(1, problem.max_depth + 1)
    )


def objective_at(result: Result, seconds: float) -> float:
    """Return the best objective that a run knew after so many seconds."""
    known = [point.objective for point in result.trace if point.seconds <= seconds]
    return known[-1] if known else float("inf")


def gap_integral(result: Result, best: float, seconds: float) -> float:
    """Return the mean over the seconds of (objective - best) / objective, 1 as long as there is no tree."""
    times = [0.0, *(min(point.seconds, seconds) for point in result.trace), seconds]
    gaps = [1.0, *(1 - best / point.objective if point.objective > 0 else 0.0 for point in result.trace)]
    return float(np.dot(gaps, np.diff(times))) / seconds


@cache
def proven_optima() -> dict[tuple[str, float, int], float]:
    """Return the errors that the results of `proofs` show to be the fewest, by data set, radius and depth."""
    rows = chain.from_iterable(
        read_tables(page.read_text(encoding="utf-8"))[0]
        for pattern in ("field-proofs*.md", "field-deeper.md")
        for page in RESULTS.glob(pattern)
    )
    return {
        (row["data"], float(row["radius"]), int(row["depth"])): float(row["bound"])
        for row in rows
        if row["bound"] == row["robust errors"]
    }


def watched(problem: Problem, time_limit: float, optimum: float) -> Result:
    """Search for so many CPU seconds, or until the tree has no more errors than the best one: the rest is its proof."""
    interrupt = Interrupt()

    def look(progress: RunProgress) -> None:
        if progress.objective <= optimum:
            interrupt.request()

    with counting_cpu_seconds():
        return solve(problem, "search", time_limit=time_limit, on_progress=look, interrupt=interrupt)


def early_cases(names: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Return data sets with their radii: those of the paper, and one for all others."""
    yield from ((name, radius) for name in names for radius in datasets.PAPER_RADII.get(name, (RADIUS,)))


def early(depth: int, names: Sequence[str], seconds: Sequence[float] = (1, 10, 60)) -> str:
    """Show what one run knows after some CPU seconds, beside greedy trees, with the primal gap integral over the last.

    A run ends earlier when it has proven its tree, or has a tree that is known to be the best.
    """
    rows = []
    for name, radius in early_cases(names):
        problem = Problem.from_data(*loaded(name), radius, depth)
        greedy = best_greedy(problem)
        optimum = proven_optima().get((name, radius, depth), 0.0)
        result = watched(Problem.from_data(*loaded(name), radius, depth), seconds[-1], optimum)
        integral = f"{gap_integral(result, min(greedy, result.objective), seconds[-1]):.2%}"
        cells = (greedy, *(objective_at(result, limit) for limit in seconds), max(result.bound, optimum))
        rows.append((name, radius, depth, *(f"{cell:g}" for cell in cells), integral))
        print(*rows[-1], flush=True)
    after = [f"after {limit:g} CPU s" for limit in seconds]
    return table(("data", "radius", "depth", "best greedy", *after, "bound", "primal gap integral"), rows)


def fitted_contree(X: Any, y: Any, depth: int, seconds: float) -> tuple[int, float]:
    """Return the errors of pycontree's tree after so many CPU seconds, and how many it took.

    Its limit is one of wall clock. Where the machine did something else meanwhile it gets another try with a longer
    one, until it has computed for as long or is done.
    """
    from pycontree import ConTree

    limit = seconds
    while True:
        peer = ConTree(max_depth=depth, time_limit=limit)
        begun, started = time.perf_counter(), time.process_time()
        with warnings.catch_warnings(action="ignore"):  # that the limit was exceeded
            peer.fit(X, y)
        cpu, wall = time.process_time() - started, time.perf_counter() - begun
        if wall < 0.95 * limit or cpu >= 0.95 * seconds:
            return int(np.sum(np.asarray(peer.predict(X)) != y)), cpu
        limit *= max(1.2, 1.1 * seconds / cpu)


def early_no_attacker(depths: Sequence[int], seconds: Sequence[float], names: Sequence[str]) -> str:
    """Compare with pycontree's trees after as many CPU seconds, at radius 0."""
    rows = []
    for depth in depths:
        for name in names:
            X, y = loaded(name)
            result = watched(Problem.from_data(X, y, 0.0, depth), seconds[-1], 0.0)
            pairs = [(f"{objective_at(result, s):g}", fitted_contree(X, y, depth, s)[0]) for s in seconds]
            rows.append((name, depth, *chain.from_iterable(pairs), f"{result.bound:g}"))
            print(*rows[-1], flush=True)
    columns = chain.from_iterable((f"after {s:g} CPU s", f"pycontree, {s:g} CPU s") for s in seconds)
    return table(("data", "depth", *columns, "bound"), rows)


def threads(cases: Sequence[tuple[str, float, int]]) -> str:
    """Compare the wall clock of one and two threads: medians of three turns, and of more until a minute is over."""
    rows = []
    for name, radius, depth in cases:
        problem = Problem.from_data(*loaded(name), radius, depth)
        turns: list[list[float]] = []
        while len(turns) < 3 or (len(turns) < 25 and np.sum(turns) < 60):
            turns.append([solve(problem, "search", n_jobs=jobs).runtime for jobs in (1, 2)])
        one, two = np.median(turns, axis=0)
        rows.append((name, radius, depth, f"{one:.2f}", f"{two:.2f}", f"{one / two:.2f}"))
        print(*rows[-1], flush=True)
    return table(("data", "radius", "depth", "seconds", "seconds, two threads", "ratio"), rows)


def tables_of_size(n: int, p: int, n_classes: int, seed: int = 0) -> tuple[Any, Any]:
    """Return uniform features and the labels of a tree of depth 3 on them, 20 % of them random."""
    rng = np.random.default_rng([n, p, n_classes, seed])
    X = rng.random((n, p))
    leaf = (X[:, 0] < 0.5) * 4 + (X[:, 1] < 0.4) * 2 + (X[:, 2] < 0.7)
    y = np.where(rng.random(n) < 0.2, rng.integers(0, n_classes, n), rng.permutation(8)[leaf] % n_classes)
    return X, y


def large(shapes: Sequence[tuple[int, int, int, float]]) -> str:
    """Measure large two-class tables: (rows, features, depth, time limit)."""
    rows = []
    for n, p, depth, limit in shapes:
        X, y = tables_of_size(n, p, 2)
        problem = Problem.from_data(X, y, 0.01, depth)
        greedy = min(solve(problem.replace(max_depth=d), "greedy").objective for d in range(1, depth + 1))
        result = solve(problem, "search", time_limit=limit)
        cells = (f"{greedy:g}", f"{result.objective:g}", f"{result.bound:g}", f"{result.gap:.2%}")
        rows.append((f"{n:,} × {p}", depth, f"{limit:g}", *cells, f"{result.runtime:.1f}"))
        print(*rows[-1], flush=True)
    return table(("table", "depth", "limit", "best greedy", "robust errors", "bound", "gap", "seconds"), rows)


def growth(column: str, values: Sequence[int], time_limit: float) -> str:
    """Show time against rows, features, classes or depth, ours and pycontree's, at radius 0."""
    from pycontree import ConTree

    base = {"rows": 2000, "features": 8, "classes": 2, "depth": 3}
    shapes = [tuple((base | {column: value}).values()) for value in values]
    rows = []
    for n, p, classes, d in shapes:
        X, y = tables_of_size(n, p, classes)
        result, cpu = measured(Problem.from_data(X, y, 0.0, d), time_limit)
        peer = ConTree(max_depth=d, time_limit=time_limit)
        begun, started = time.perf_counter(), time.process_time()
        peer.fit(X, y)
        theirs, is_cut = time.process_time() - started, time.perf_counter() - begun >= 0.95 * time_limit
        # A limit is one of wall clock: on a busy machine fewer CPU seconds are left of it.
        seconds = f"{cpu:.2f}" if result.gap == 0 else f"> {cpu:.2f} (gap {result.gap:.1%})"
        peer_seconds = f"> {theirs:.2f}" if is_cut else f"{theirs:.2f}"
        rows.append((n, p, classes, d, f"{result.objective:g}", seconds, peer_seconds))
        print(*rows[-1], flush=True)
    return table(("rows", "features", "classes", "depth", "errors", "CPU s", "CPU s pycontree"), rows)


def ablation(cases: Sequence[tuple[str, float, int]], time_limit: float) -> str:
    """Show CPU seconds with one idea switched off, beside all of them."""
    rows = []
    for idea in ("", *SWITCHES):
        cells = []
        for name, radius, depth in cases:
            options = {idea: False} if idea else {}
            with counting_cpu_seconds():
                result, cpu = measured(Problem.from_data(*loaded(name), radius, depth), time_limit, **options)
            cells.append(f"{cpu:.2f}" if result.gap == 0 else f"> {cpu:.0f} (gap {result.gap:.1%})")
        rows.append((without(idea), *cells))
        print(*rows[-1], flush=True)
    return table(("", *(f"{name}, radius {radius:g}, depth {depth}" for name, radius, depth in cases)), rows)


def without(idea: str) -> str:
    """Say which idea is switched off."""
    return f"without {idea[4:].replace('_', ' ')}" if idea else "all ideas"


def early_ablation(cases: Sequence[tuple[str, float, int]], seconds: Sequence[float]) -> str:
    """Show the errors after some CPU seconds with one of the ideas switched off that find trees early."""
    rows = []
    for idea in ("", "use_resplit", "use_deep_steps", "use_shifts", "use_solved", "use_even_roots"):
        cells = []
        for name, radius, depth in cases:
            options = {idea: False} if idea else {}
            problem = Problem.from_data(*loaded(name), radius, depth)
            with counting_cpu_seconds():
                result = solve(problem, "search", time_limit=seconds[-1], options=options)
            cells.append(", ".join(f"{objective_at(result, limit):g}" for limit in seconds))
        rows.append((without(idea), *cells))
        print(*rows[-1], flush=True)
    return table(("", *(f"{name}, radius {radius:g}, depth {depth}" for name, radius, depth in cases)), rows)


def short_limits(cases: Sequence[tuple[str, float, int]], seeds: int) -> str:
    """Show the mean errors of the trees that a limit of one CPU second leaves, by whether subtrees are remembered."""
    rows = []
    for name, radius, depth in cases:
        means = []
        for remembers in (False, True):
            found = []
            for seed in range(seeds):
                problem = Problem.from_data(*loaded(name), radius, depth)
                with counting_cpu_seconds():
                    result = solve(problem, time_limit=1.0, random_state=seed, options={"use_solved": remembers})
                found.append(result.objective)
            means.append(f"{np.mean(found):.2f} ({min(found):g}–{max(found):g})")
        rows.append((name, radius, depth, *means))
        print(*rows[-1], flush=True)
    return table(("data", "radius", "depth", f"without use_solved, mean of {seeds} seeds (range)", "with"), rows)


PARTS = {
    "proofs": lambda: proofs([("bean", RADIUS, 2), ("page", RADIUS, 3), ("segment", RADIUS, 3)], 300),
    "proofs_magic": lambda: proofs([("magic", RADIUS, 3)], 280),
    "proofs_wine_02": lambda: proofs([("wine", 0.02, 4)], 3600),
    "proofs_wine_03": lambda: proofs([("wine", 0.03, 4)], 3600),
    "proofs_wine_04": lambda: proofs([("wine", 0.04, 4)], 3600),
    "early": lambda: early(3, PAPER_BUT_WINE),
    "early_wine": lambda: early(3, ("wine",)),
    "early_more": lambda: early(3, MORE),
    "early_deeper": lambda: early(4, SMALL),
    "early_deeper_banknote": lambda: early(4, ("banknote-authentication",)),
    "early_deeper_cylinder": lambda: early(4, ("cylinder-bands",)),
    "early_deeper_diabetes": lambda: early(4, ("diabetes",)),
    "early_deeper_ionosphere": lambda: early(4, ("ionosphere",)),
    "early_deeper_wine": lambda: early(4, ("wine",)),
    "early_deeper_more": lambda: early(4, MORE),
    "early_no_attacker": lambda: early_no_attacker((3,), (1, 10), (*datasets.PAPER_RADII, *MORE)),
    "early_no_attacker_deeper": lambda: early_no_attacker((4,), (1, 10), (*datasets.PAPER_RADII, *MORE)),
    "deeper": lambda: proofs([(name, radius, 4) for name, radius in instances(()) if name != "wine"], 60),
    "five": lambda: proofs([(name, r, 5) for name, r in instances(SMALL)], 60),
    "threads": lambda: threads(
        [("wine", 0.03, 3), ("magic", RADIUS, 2), ("diabetes", 0.07, 4), ("ionosphere", 0.2, 4)]
    ),
    "large": lambda: large([(200_000, 30, 2, 60), (200_000, 30, 3, 60), (1_000_000, 20, 2, 60), (20_000, 30, 3, 10)]),
    "growth_rows": lambda: growth("rows", (500, 1000, 2000, 4000, 8000), 10.0),
    "growth_features": lambda: growth("features", (4, 8, 16, 32), 10.0),
    "growth_classes": lambda: growth("classes", (2, 3, 5, 8), 10.0),
    "growth_depth": lambda: growth("depth", (2, 3, 4), 10.0),
    "early_ablation": lambda: early_ablation(
        [("magic", 0.0, 3), ("diabetes", 0.0, 4), ("cylinder-bands", 0.0, 4), ("page", 0.0, 4), ("ionosphere", 0.2, 4)],
        (1, 3),
    ),
    "short_limits": lambda: short_limits(
        [*((name, 0.0, 4) for name in ("cylinder-bands", "diabetes", "ionosphere", "segment")), ("diabetes", 0.05, 4)],
        5,
    ),
    "ablation": lambda: ablation([("diabetes", 0.07, 3), ("page", RADIUS, 2), ("segment", 0.0, 3)], 15.0),
}
"""Parts that `run` leaves out because they take long."""
