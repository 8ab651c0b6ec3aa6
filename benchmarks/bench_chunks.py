"""Tables in chunks: memory and time of greedy trees and of accuracy under attack, each in a process with a limit.

``python -m benchmarks.bench_chunks --rows 20000000`` prints the same for another number of rows.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from importlib import import_module
from typing import Any

from benchmarks.report import table

FEATURES, RADIUS, DEPTH, CHUNK = 20, 0.02, 6, 250_000
LIMITS = {"adversarial_accuracy": 2.0, "greedy": 4.0}
"""Gigabytes."""


def run() -> str:
    return measured(20_000_000)


def measured(rows: int) -> str:
    found: list[tuple[Any, ...]] = []
    for what, limit in LIMITS.items():
        command = [sys.executable, "-m", "benchmarks.bench_chunks", "--rows", str(rows), "--only", what]
        said = subprocess.run(command, capture_output=True, text=True, check=False)
        if said.returncode:
            raise SystemExit(said.stderr[-2000:])
        answer, seconds, cpu, memory = said.stdout.split()
        found.append((what, f"{rows:,}", FEATURES, answer, seconds, cpu, f"{limit:g}", memory))
        print(*found[-1], flush=True)
    columns = ("what", "rows", "features", "accuracy under attack", "seconds", "CPU seconds", "limit GB", "peak GB")
    return table(columns, found)


def data(rows: int) -> tuple[Any, Any]:
    da: Any = import_module("dask.array")
    X = da.random.default_rng(0).random((rows, FEATURES), chunks=(CHUNK, FEATURES))
    noise = da.random.default_rng(1).random(rows, chunks=CHUNK) < 0.1
    y = ((X[:, 0] > 0.5) ^ ((X[:, 1] > 0.3) & (X[:, 2] < 0.8)) ^ noise).astype(int)
    return X, y


def in_child(rows: int, what: str) -> None:
    from hardwood import Tree, adversarial_accuracy, learn_in_chunks

    limit = int(LIMITS[what] * 1e9)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    began, cpu = time.perf_counter(), time.process_time()
    X, y = data(rows)
    if what == "greedy":
        tree = learn_in_chunks(X, y, RADIUS, max_depth=DEPTH)
        score = float("nan")
    else:
        small = data(100_000)
        tree = learn_in_chunks(*small, RADIUS, max_depth=DEPTH)
        assert isinstance(tree, Tree)
        score = adversarial_accuracy(tree, X, y, RADIUS)
    seconds, used = time.perf_counter() - began, time.process_time() - cpu
    if what == "greedy":
        score = adversarial_accuracy(tree, *data(1_000_000), RADIUS)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{score:.4f} {seconds:.0f} {used:.0f} {memory:.2f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--only", choices=list(LIMITS))
    a = parser.parse_args()
    if a.only is None:
        print(measured(a.rows))
    else:
        in_child(a.rows, a.only)
