"""Scale on paper: how one search would speed up on up to a thousand workers, simulated from what two cores can show.

Measured: how long each claim at the root takes (one station, CPU seconds), by how much the work of all grows when it is
spread over 2, 4 and 8 local workers (CPU seconds, since there are two cores only), and what a task costs the scheduler.
Simulated: stations that take parts of the root, claim by claim; who has nothing left asks the one with the most for
half of what it has not begun; news travel in slices. A claim cannot be divided; the scheduler does one thing at a time.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np

import hardwood._core as _core
from benchmarks.bench_sittings import instance
from benchmarks.report import table
from hardwood import solve
from hardwood.solvers.search.model import SearchModel

INSTANCE = "wine,0.03,3"
COUNTS = (1, 2, 4, 8)
SIMULATED = (1, 2, 8, 32, 128, 512, 1000)
LATENCY = 0.02
"""Seconds from a request for work to its answer: two looks of a worker and the way through the scheduler."""


def run() -> str:
    claims = claims_of(INSTANCE)
    seconds = sum(claims)
    growth, rows = work_of_workers(INSTANCE, COUNTS)
    task = seconds_per_task()
    lines = [
        f"{INSTANCE}: {len(claims)} claims at the root in {seconds:.2f} CPU s, {len(claims) / seconds:.0f} per second; "
        f"the longest takes {max(claims) / seconds:.1%} of all, the median {np.median(claims) * 1000:.1f} ms. "
        f"A task costs the scheduler {task * 1000:.2f} ms. Work grows by a factor W^{growth:.3f}.",
        rows,
        simulated(claims, growth, task, (1, 10, 300)),
    ]
    return "\n\n".join(lines)


def claims_of(text: str) -> list[float]:
    """Return the CPU seconds of each claim at the root, in the order in which one station settles them."""
    _, _, problem = instance(text)
    best = solve(problem).objective
    model = SearchModel.of(problem)
    parts = model.in_parts(best)
    search = _core.RootSearch(model.core, _core.SearchOptions(), model.depth, 1, _core.Control())
    search.start(parts - model.step + 1, parts)
    found: list[float] = []
    last = time.process_time()
    is_running = True
    while is_running:
        is_running = search.wait(0.001)[3]
        settled = search.take_settled()
        now = time.process_time()
        if settled:
            found += [(now - last) / len(settled)] * len(settled)
            last = now
    return found


def work_of_workers(text: str, counts: Sequence[int]) -> tuple[float, str]:
    """Return by which power of the number of workers the CPU seconds of all grow, and the table."""
    distributed: Any = import_module("distributed")
    _, _, problem = instance(text)
    used: list[float] = []
    for n in counts:
        with (
            distributed.LocalCluster(n_workers=n, threads_per_worker=1, dashboard_address=":0") as cluster,
            distributed.Client(cluster, set_as_default=False) as client,
        ):
            solve(problem.replace(max_depth=2), client=client)  # so that nothing is imported while it is measured
            before = client.run(time.process_time)
            solve(problem, client=client)
            after = client.run(time.process_time)
        used.append(sum(after[key] - before[key] for key in before))
    slope = float(np.polyfit(np.log(counts), np.log(used), 1)[0])
    rows = [(n, f"{cpu:.2f}", f"{cpu / used[0]:.2f}") for n, cpu in zip(counts, used, strict=True)]
    return max(0.0, slope), table(("local workers", "CPU s of all", "work"), rows)


def seconds_per_task(n: int = 300) -> float:
    """Return what the scheduler needs for one task of one worker that does nothing."""
    distributed: Any = import_module("distributed")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        began = time.perf_counter()
        client.gather([client.submit(_nothing, k, pure=False) for k in range(n)])
        return (time.perf_counter() - began) / n


def _nothing(k: int) -> int:
    return k


def simulated(claims: Sequence[float], growth: float, task: float, sizes: Sequence[int]) -> str:
    """Speed-ups of searches that are `sizes` times as long: every claim takes so many times as long."""
    rows: list[tuple[Any, ...]] = []
    for size in sizes:
        alone = size * sum(claims)
        for n in SIMULATED:
            seconds, asked = spread([size * c for c in claims], n, growth)
            slice_ = min(max(0.02 * seconds, 0.4), 5.0)
            messages = n / slice_ + asked / seconds
            limited = max(seconds, seconds * messages * task)
            first = "the scheduler" if limited > seconds else _first(seconds, size * max(claims), alone / n)
            rows.append((f"{alone:.0f}", n, f"{alone / limited:.1f}", f"{alone / limited / n:.0%}",
                         f"{messages:.0f}", first))  # fmt: skip
    return table(("CPU s", "workers", "speed-up", "efficiency", "messages per s", "what limits it"), rows)


def _first(seconds: float, longest: float, ideal: float) -> str:
    if seconds < 1.15 * ideal:
        return "nothing much"
    return "the longest claim" if longest > 0.5 * seconds else "handing out"


def spread(claims: Sequence[float], n: int, growth: float) -> tuple[float, int]:
    """Return when the last of n stations is done, and how often work was asked for."""
    slower = n**growth
    edges = np.linspace(0, len(claims), n + 1).astype(int)
    todo = [[c * slower for c in claims[a:b]] for a, b in pairwise(edges)]
    ready = [(0.0, k) for k in range(n)]
    heapq.heapify(ready)
    end, asked = 0.0, 0
    while ready:
        now, k = heapq.heappop(ready)
        if not todo[k]:
            victim = max(range(n), key=lambda other: len(todo[other])) if n > 1 else k
            if len(todo[victim]) < 2:
                continue  # what is left has been begun, or is about to be
            asked += 1
            half = len(todo[victim]) // 2
            todo[k], todo[victim] = todo[victim][half:], todo[victim][:half]
            heapq.heappush(ready, (now + LATENCY, k))
            continue
        now += todo[k].pop(0)
        end = max(end, now)
        heapq.heappush(ready, (now, k))
    return end, asked


if __name__ == "__main__":
    print(run())
