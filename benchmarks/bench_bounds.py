"""The matching bound against all pairs of SciPy, and its growth: radii, samples, features, conflicts."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching
from scipy.spatial import cKDTree
from scipy.spatial.distance import pdist, squareform

from benchmarks.report import best_of, table
from hardwood import adversarial_accuracy_bound, epsilon_curve, robust_feature_report
from hardwood.bounds.epsilons import PAPER_EPSILONS
from hardwood.data import datasets

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

LARGE = {
    # n, features, L∞ radius: about five conflicts per sample, then more than a list would hold.
    "100,000 x 10, few conflicts": (100_000, 10, 0.1155),
    "20,000 x 40, few conflicts": (20_000, 40, 0.295),
    "20,000 x 40, two thirds of all pairs": (20_000, 40, 0.45),
    "100,000 x 10, a fifth of all pairs": (100_000, 10, 0.31),
}


def run() -> str:
    """Compare on wine, then measure large data in processes of their own, for their memory."""
    return "\n\n".join([_wine(), _large()])


def _wine() -> str:
    if not os.environ.get(datasets.DATA_VARIABLE):
        return f"Wine is not measured: set {datasets.DATA_VARIABLE} to the folder of the paper's data sets."
    data = datasets.load("wine")
    part = datasets.paper_split(data.X, data.y)
    return _against_pairs(part.X_train, part.y_train, 0.03) + "\n\n" + _many_radii(data.X, data.y)


def _against_pairs(X: FloatArray, y: IntArray, radius: float) -> str:
    ours = adversarial_accuracy_bound(X, y, radius)
    one = _cpu(20, lambda: adversarial_accuracy_bound(X, y, radius))
    peers = {
        "k-d tree, matching of SciPy": _by_tree,
        "`pdist` as a matrix, matching of SciPy": _all_pairs_vectorised,
        "`pdist`, Python loop over pairs, matching of SciPy": _all_pairs,
    }
    rows = [("`adversarial_accuracy_bound`", f"{ours.errors:g}", f"{one:.4f}", "1")]
    for name, peer in peers.items():
        seconds = _cpu(3, lambda peer=peer: peer(X, y, radius))  # type: ignore[misc]
        rows.append((f"{name} (raw floats)", str(peer(X, y, radius)), f"{seconds:.3f}", f"{seconds / one:.1f}"))
    return table(
        (f"wine, training part ({len(X)} x {X.shape[1]}), radius {radius}", "errors", "CPU seconds", "ratio"),
        rows,
    )


def _many_radii(X: FloatArray, y: IntArray) -> str:
    X = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    each = [_cpu(5, lambda e=e: adversarial_accuracy_bound(X, y, e)) for e in PAPER_EPSILONS]  # type: ignore[misc]
    curve = _cpu(20, lambda: epsilon_curve(X, y))
    report = _cpu(3, lambda: robust_feature_report(X, y, 0.03))
    single = sum(each) / len(each)
    return table(
        (f"wine, whole set ({len(X)} x {X.shape[1]})", "CPU seconds", "ratio to one bound"),
        [
            ("one bound, mean of 51 radii", f"{single:.4f}", "1"),
            ("`epsilon_curve`, 51 radii", f"{curve:.4f}", f"{curve / single:.2f}"),
            ("`robust_feature_report`, 23 bounds", f"{report:.3f}", f"{report / single:.1f}"),
        ],
    )


def _cpu(repeats: int, action: Callable[[], Any]) -> float:
    """Return the least CPU seconds of several runs: these take milliseconds, in which others' work shows."""
    return best_of(repeats, action, time.process_time)


def _all_pairs(X: FloatArray, y: IntArray, radius: float) -> int:
    """Count errors the obvious way: all L∞ distances, a loop over the near pairs, Hopcroft-Karp."""
    near = squareform(pdist(X, "chebyshev")) <= 2 * radius
    n = len(X)
    rows, columns = [], []
    for i in np.flatnonzero(y == 0).tolist():
        for k in np.flatnonzero(y == 1).tolist():
            if near[i, k]:
                rows.append(i)
                columns.append(k)
    graph = coo_matrix((np.ones(len(rows)), (np.array(rows), np.array(columns))), shape=(n, n)).tocsr()
    return int(np.sum(maximum_bipartite_matching(graph) >= 0))


def _all_pairs_vectorised(X: FloatArray, y: IntArray, radius: float) -> int:
    """Count errors with all L∞ distances as a matrix and no Python loop."""
    near = (squareform(pdist(X, "chebyshev")) <= 2 * radius)[np.ix_(y == 0, y == 1)]
    return int(np.sum(maximum_bipartite_matching(csr_matrix(near)) >= 0))


def _by_tree(X: FloatArray, y: IntArray, radius: float) -> int:
    """Count errors with neighbours of the other class from k-d trees."""
    zero, one = X[y == 0], X[y == 1]
    found = cKDTree(zero).sparse_distance_matrix(cKDTree(one), 2 * radius, p=np.inf, output_type="coo_matrix")
    graph = coo_matrix((np.ones(found.nnz), (found.row, found.col)), shape=found.shape).tocsr()
    return int(np.sum(maximum_bipartite_matching(graph) >= 0))


def _large() -> str:
    rows = []
    for name, (n, p, radius) in LARGE.items():
        code = f"from benchmarks.bench_bounds import one_large; one_large({n}, {p}, {radius})"
        conflicts, errors, seconds, check, gigabytes = subprocess.check_output(
            [sys.executable, "-c", code], text=True, stderr=subprocess.DEVNULL
        ).split()
        rows.append((name, radius, conflicts, errors, seconds, check, gigabytes))
    return table(
        ("uniform, two classes", "radius", "conflicts per sample", "errors", "seconds", "check, seconds", "peak GB"),
        rows,
    )


def _peak_gigabytes() -> float:
    """Return the peak memory of this program; getrusage would count what its parent held before it started."""
    status = Path("/proc/self/status")
    if not status.is_file():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1e6


def one_large(n: int, p: int, radius: float) -> None:
    """Print conflicts per sample, errors, seconds for bound and check, and the peak memory of this process."""
    rng = np.random.default_rng(0)
    X, y = rng.random((n, p)), rng.integers(0, 2, n)
    adversarial_accuracy_bound(X[:100], y[:100], radius)
    started = time.perf_counter()
    result = adversarial_accuracy_bound(X, y, radius)
    seconds = time.perf_counter() - started
    assert result.exact
    started = time.perf_counter()
    result.check()
    check = time.perf_counter() - started
    some = rng.choice(n, 300, replace=False)
    per_sample = np.mean([np.sum(np.all(np.abs(X[i] - X[y != y[i]]) <= 2 * radius, axis=1)) for i in some])
    peak = _peak_gigabytes()
    print(f"{per_sample:.3g} {result.errors:g} {seconds:.2f} {check:.2f} {peak:.2f}")
