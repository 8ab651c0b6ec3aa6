"""Scale on paper: how one search would speed up on up to a thousand workers, simulated from what two cores can show.

Measured: how long each claim at the root takes and each question that a claim asks (one station, CPU seconds); how much
CPU 1, 2, 4 and 8 stations use together, and how long they would take, had each a core of its own; what a station that
rings costs the scheduler. The stations are threads that share one core fairly: as long as b of them are busy, each
second of CPU is 1/b of a second of theirs (`time_of_stations`), however busy the machine is. Simulated: stations that
take parts of the root, claim by claim, while one looks for first trees; who has nothing left asks the one with the most
for half of what it has not begun; once there is nothing left to divide, all help with the questions of those that still
have a claim. Fitted is one number, by which power of the stations the work of all grows.
"""

from __future__ import annotations

import heapq
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

import hardwood._core as _core
from benchmarks.bench_sittings import instance
from benchmarks.report import table
from hardwood import solve
from hardwood.solvers.search.helping import LEAST_SECONDS
from hardwood.solvers.search.model import SearchModel
from hardwood.solvers.search.seats import slice_seconds
from hardwood.solvers.search.spread import _Spread

INSTANCE = "wine,0.03,3"
COUNTS = (1, 2, 4, 8)
SIMULATED = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000)
SHOWN = (1, 2, 8, 32, 128, 512, 1000)
SIZES = (1, 30, 1000)
"""Searches that are so many times as long: every claim and every question takes so many times as long."""

LATENCY = 0.02
"""Seconds from a request for work to its answer: two looks of a worker and the way through the scheduler."""

PICTURE = Path(__file__).parents[1] / "docs" / "drawings" / "scale.png"


@dataclass(frozen=True)
class Fit:
    """What the simulation starts from.

    Attributes
    ----------
    claims : list of float
        CPU seconds of each claim at the root, in the order in which one station settles them.
    question : float
        Mean CPU seconds of a question to a child of the root.
    first : float
        CPU seconds in which one station looks for first trees.
    growth : float
        The work of all grows as this power of the number of workers.
    message : float
        Seconds that the scheduler needs for a station that rings, and is answered.
    seconds : dict
        Measured: by the number of stations, how long they take if each has a core.
    """

    claims: list[float]
    question: float
    first: float
    growth: float
    message: float
    seconds: dict[int, float]

    @property
    def alone(self) -> float:
        """CPU seconds of one station."""
        return self.first + sum(self.claims)


def run() -> str:
    claims, question = claims_of(INSTANCE)
    measured = {n: time_of_stations(INSTANCE, n) for n in COUNTS}
    first, whole = measured[1].first, measured[1].work
    scale = (whole - first) / sum(claims)  # the first stages are proven, too
    work = [measured[n].work - first for n in COUNTS]
    growth = max(0.0, float(np.polyfit(np.log(COUNTS), np.log(work), 1)[0]))
    seconds = {n: measured[n].seconds for n in COUNTS}
    fit = Fit([scale * c for c in claims], question, first, growth, seconds_per_message(), seconds)
    rows = [
        (n, f"{one.work:.2f}", f"{one.seconds:.2f}", f"{seconds[1] / one.seconds:.2f}",
         f"{fit.alone / spread(fit.claims, n, fit)[0]:.2f}")
        for n, one in measured.items()
    ]  # fmt: skip
    about = (
        f"{INSTANCE}: {len(claims)} claims at the root in {whole - first:.2f} CPU s, "
        f"{len(claims) / (whole - first):.0f} per second, after {first:.2f} s for first trees; the longest takes "
        f"{max(claims) / sum(claims):.1%} of all, the median {np.median(fit.claims) * 1000:.1f} ms, a question to a "
        f"child {question * 1000:.2f} ms. A message costs the scheduler {fit.message * 1000:.2f} ms of CPU. Fitted: "
        f"the work of W stations grows as W^{growth:.3f}."
    )
    draw(fit)
    columns = ("stations", "CPU s of all", "s, each with a core", "speed-up", "simulated")
    return "\n\n".join([about, table(columns, rows), simulated(fit)])


def claims_of(text: str) -> tuple[list[float], float]:
    """Return the CPU seconds of each claim at the root, and of a question on average, of one station."""
    _, _, problem = instance(text)
    best = solve(problem).objective
    model = SearchModel.of(problem)
    parts = model.in_parts(best)
    search = _core.RootSearch(model.core, _core.SearchOptions(), model.depth, 1, _core.Control())
    search.start(parts - model.step + 1, parts)
    found: list[float] = []
    began = last = time.process_time()
    is_running = True
    while is_running:
        is_running = search.wait(0.001)[3]
        settled = search.take_settled()
        now = time.process_time()
        if settled:
            found += [(now - last) / len(settled)] * len(settled)
            last = now
    asked = search.counters(model.depth)["child_solves"]
    return found, (last - began) / max(1, asked)


class Measured(NamedTuple):
    """CPU seconds of all stations, until first trees were found, and of the clock if each had a core."""

    work: float
    first: float
    seconds: float


def time_of_stations(text: str, n: int) -> Measured:
    """Search with n stations that share this core, and count what that would take if each had one of its own."""
    _, _, problem = instance(text)
    collect, began = _Spread._collect, time.process_time()
    last, seconds, first = began, 0.0, 0.0

    def counted(self: _Spread, wait: float, *, writes: bool) -> None:
        nonlocal last, seconds, first
        n_busy = max(1, len(self.doing))
        collect(self, wait, writes=writes)
        now = time.process_time()
        seconds += (now - last) / n_busy
        last = now
        if self.scouting is None and first == 0:
            first = now - began

    with tempfile.TemporaryDirectory() as folder, patch.object(_Spread, "_collect", counted):
        solve(problem, n_jobs=n, checkpoint=Path(folder) / "run.hwp")
    work = last - began
    print(f"{n} stations: {work:.2f} CPU s, {seconds:.2f} s, first trees after {first:.2f} CPU s", flush=True)
    return Measured(work, first, seconds)


def seconds_per_message(n: int = 300) -> float:
    """Return the CPU seconds that scheduler, worker and client need for one station that rings, and is answered."""
    distributed: Any = import_module("distributed")
    has_rung = threading.Event()

    def ring(dask_worker: Any) -> None:
        dask_worker.log_event("benchmark", "ring")

    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        client.subscribe_topic("benchmark", lambda _: has_rung.set())
        began = time.process_time()
        for _ in range(n):
            client.run(ring)
            has_rung.wait(10)
            has_rung.clear()
        return (time.process_time() - began) / n


def simulated(fit: Fit) -> str:
    """Speed-ups of searches of several lengths."""
    rows: list[tuple[Any, ...]] = []
    for size in SIZES:
        alone = fit.first + size * sum(fit.claims)
        for n in SHOWN:
            seconds, messages, limit = outcome(fit, n, size)
            rows.append((f"{alone:.0f}", n, f"{alone / seconds:.1f}", f"{alone / seconds / n:.0%}", f"{messages:.0f}",
                         limit))  # fmt: skip
    return table(("CPU s of one", "workers", "speed-up", "efficiency", "messages per s", "what limits it"), rows)


def outcome(fit: Fit, n: int, size: float) -> tuple[float, float, str]:
    """Return how long a search takes that is `size` times as long, its messages per second, and what limits it."""
    claims = [size * c for c in fit.claims]
    seconds, asked, divisible = spread(claims, n, fit, size)
    messages = n / slice_seconds(n, seconds / 2) + asked / seconds
    busy = messages * fit.message
    if busy > 1:
        return seconds * busy, messages, "the scheduler"
    work = sum(claims) * n**fit.growth / n
    if seconds < 1.15 * (fit.first + sum(claims)) / n:
        return seconds, messages, "nothing much"
    if fit.first > 0.5 * seconds:
        return seconds, messages, "first trees, by one worker"
    if work > 0.7 * seconds:
        return seconds, messages, "work done twice"
    return seconds, messages, "questions, one after another" if seconds - divisible > 0.3 * seconds else "handing out"


def spread(claims: Sequence[float], n: int, fit: Fit, size: float = 1) -> tuple[float, int, float]:
    """Return when the last of n stations is done, how often work was asked for, and until when there was some."""
    slower = n**fit.growth
    edges = np.linspace(0, len(claims), n + 1).astype(int)
    todo = [[c * slower for c in claims[a:b]] for a, b in pairwise(edges)]
    ready = [(fit.first if k == 0 else 0.0, k) for k in range(n)]
    heapq.heapify(ready)
    asked = 0
    order = [(-len(todo[k]), k) for k in range(n)]  # who has the most left; old entries are passed over
    heapq.heapify(order)
    while ready:
        now, k = heapq.heappop(ready)
        if todo[k]:
            heapq.heappush(ready, (now + todo[k].pop(0), k))
            continue
        while order and -order[0][0] != len(todo[order[0][1]]):
            _, other = heapq.heappop(order)
            if todo[other]:
                heapq.heappush(order, (-len(todo[other]), other))
        if not order or len(todo[order[0][1]]) < 2:
            return *_helped(now, [now] + [t for t, _ in ready], todo, size * fit.question * slower, asked), now
        asked += 1
        victim = order[0][1]
        half = len(todo[victim]) // 2
        todo[k], todo[victim] = todo[victim][half:], todo[victim][:half]
        heapq.heappush(order, (-len(todo[k]), k))
        heapq.heappush(ready, (now + LATENCY, k))
    return 0.0, asked, 0.0


def _helped(
    now: float, ends: list[float], todo: Sequence[Sequence[float]], question: float, asked: int
) -> tuple[float, int]:
    """Return when all is done once nothing is left to divide at the root, and how often work was asked for.

    What is left is one claim each, or two. Its questions come one after another; help with one begins once it has been
    open for some time, and divides what is left of it.
    """
    left = sorted(t - now for t in ends if t > now)
    left += [c for rest in todo for c in rest]
    left.sort()
    n, done = len(ends), 0.0
    while left:
        helpers = (n - len(left)) / len(left)
        alone = min(question, LEAST_SECONDS + LATENCY)
        speed = question / (alone + (question - alone) / (1 + max(0.0, helpers)))
        step = (left[0] - done) / speed
        asked += (
            ceil(helpers * len(left) * step / max(question / speed, slice_seconds(n, 0.0))) if question > alone else 0
        )
        now += step
        done = left.pop(0)
    return now, asked


def draw(fit: Fit) -> None:
    """Draw speed-ups over workers: measured on few, simulated on many."""
    from hardwood.plotting.style import colour_of, marker_of, new_figure, save_figure, tidy

    figure = new_figure(6.4, 4.2)
    ax = figure.subplots()
    ax.loglog(SIMULATED, SIMULATED, color="0.75", lw=1, label="W workers, W times as fast")
    for k, size in enumerate(SIZES):
        alone = fit.first + size * sum(fit.claims)
        speed = [alone / outcome(fit, n, size)[0] for n in SIMULATED]
        ax.loglog(
            SIMULATED,
            speed,
            color=colour_of(k),
            marker=marker_of(k),
            ms=4,
            label=f"simulated: {alone:.0f} CPU s of one",
        )
    counts = sorted(fit.seconds)
    measured = [fit.seconds[1] / fit.seconds[n] for n in counts]
    ax.loglog(counts, measured, "k*", ms=9, label="measured, one core shared fairly")
    ax.set_xlabel("workers")
    ax.set_ylabel("times as fast as one")
    ticks = [1, 10, 100, 1000]
    ax.set_xticks(ticks, [str(t) for t in ticks])
    ax.set_yticks(ticks, [str(t) for t in ticks])
    ax.legend(frameon=False, fontsize=8, loc="upper left")
    tidy(ax)
    save_figure(figure, PICTURE, dpi=110)


if __name__ == "__main__":
    print(run())
