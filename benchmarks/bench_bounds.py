"""The matching bound against all pairs of SciPy, and its growth: radii, samples, features, conflicts."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching
from scipy.spatial import cKDTree
from scipy.spatial.distance import pdist

from benchmarks.report import best_of, table
from hardwood import adversarial_accuracy_bound, datasets, epsilon_curve, robust_feature_report
from hardwood.bounds.epsilons import PAPER_EPSILONS

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

LARGE = {
    # n, features, L∞ radius: about five conflicts per sample, then more than a list would hold.
    "100,000 x 10, few conflicts": (100_000, 10, 0.1155),
    "20,000 x 40, few conflicts": (20_000, 40, 0.295),
    "20,000 x 40, a quarter of all pairs": (20_000, 40, 0.45),
    "100,000 x 10, a quarter of all pairs": (100_000, 10, 0.31),
}


def run() -> str:
    """Compare on wine, then measure large data in processes of their own, for their memory."""
    return "\n\n".join([_wine(), _large()])


def _wine() -> str:
    if not os.environ.get(datasets.DATA_VARIABLE):
        return f"Wine is not measured: set {datasets.DATA_VARIABLE} to the folder of the paper's data sets."
    data = datasets.load("wine")
    part = datasets.paper_split(data.X, data.y)
    X, y, radius = part.X_train, part.y_train, 0.03
    adversarial_accuracy_bound(X, y, radius)
    one = best_of(20, lambda: adversarial_accuracy_bound(X, y, radius))
    each = [best_of(3, lambda e=e: adversarial_accuracy_bound(X, y, e)) for e in PAPER_EPSILONS]  # type: ignore[misc]
    curve = best_of(20, lambda: epsilon_curve(X, y))
    report = best_of(3, lambda: robust_feature_report(X, y, radius))
    started = time.perf_counter()
    by_pairs = _all_pairs(X, y, radius)
    pairs = time.perf_counter() - started
    tree = best_of(3, lambda: _by_tree(X, y, radius))
    ours = adversarial_accuracy_bound(X, y, radius)
    rows = [
        ("one radius (0.03)", f"{one:.4f}", "1", f"{ours.errors:g} errors"),
        ("the same: all pairs, `pdist` + Python loop", f"{pairs:.2f}", f"{pairs / one:.0f}", f"{by_pairs} errors (raw)"),
        ("the same: `cKDTree` + SciPy's matching", f"{tree:.3f}", f"{tree / one:.1f}", f"{_by_tree(X, y, radius)} errors (raw)"),
        ("51 radii, one curve", f"{curve:.4f}", f"{curve / one:.2f}", "ratio to one radius (0.03)"),
        ("51 radii, one by one", f"{sum(each):.3f}", f"{sum(each) / one:.1f}", f"mean {np.mean(each):.4f} s per radius"),
        ("feature report, 22 bounds", f"{report:.3f}", f"{report / one:.1f}", ""),
    ]  # fmt: skip
    text = table(("wine, training part (5197 x 11)", "seconds", "ratio", ""), rows)
    return f"{text}\n\nThe curve takes {curve / np.mean(each):.2f} times as long as a single bound does on average."


def _all_pairs(X: FloatArray, y: IntArray, radius: float) -> int:
    """The obvious way: all L∞ distances, a loop over the pairs that are near, Hopcroft-Karp."""
    distance = pdist(X, "chebyshev")
    n = len(X)
    rows, columns = [], []
    position = 0
    for i in range(n - 1):
        for k in np.flatnonzero(distance[position : position + n - 1 - i] <= 2 * radius):
            j = i + 1 + int(k)
            if y[i] != y[j]:
                rows.append(i if y[i] == 0 else j)
                columns.append(j if y[i] == 0 else i)
        position += n - 1 - i
    graph = coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(n, n)).tocsr()
    return int(np.sum(maximum_bipartite_matching(graph) >= 0))


def _by_tree(X: FloatArray, y: IntArray, radius: float) -> int:
    """Neighbours of the other class from k-d trees."""
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
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{per_sample:.3g} {result.errors:g} {seconds:.2f} {check:.2f} {peak:.2f}")
