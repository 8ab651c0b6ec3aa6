"""The checker's own scans against counting tree by tree."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np

from hardwood_checker.machine import HALF, WHOLE, Case, sides
from hardwood_checker.samples import Samples, Stumps


def random_samples(rng: np.random.Generator) -> Samples:
    n, p = int(rng.integers(1, 12)), int(rng.integers(1, 4))
    lower = rng.integers(0, 6, (n, p)).astype(float)
    upper = lower + rng.integers(0, 4, (n, p))
    lower[rng.random((n, p)) < 0.1] = -np.inf
    upper[rng.random((n, p)) < 0.1] = np.inf
    label = rng.integers(0, rng.integers(1, 5), n)
    penalty = Fraction(int(rng.integers(0, 3)))
    return Samples(lower, upper, label, [Fraction(1)] * n, penalty, Fraction(1), 1000)


def cheapest(samples: Samples, weight: np.ndarray) -> int:
    """Try every leaf and every split."""
    classes = range(samples.n_classes)
    best = min(int(weight[samples.label != c].sum()) for c in classes) + samples.penalty
    for f in range(samples.p):
        for t, left, right in product(range(-1, int(samples.n_ranks[f]) + 1), classes, classes):
            lost = ((samples.lower[f] <= t) & (samples.label != left)) | (
                (samples.upper[f] > t) & (samples.label != right)
            )
            best = min(best, int(weight[lost].sum()) + 2 * samples.penalty)
    return best


def test_the_best_split_of_many_weightings_is_that_of_all_splits() -> None:
    for seed in range(300):
        rng = np.random.default_rng(seed)
        samples = random_samples(rng)
        there = rng.random(samples.n) < 0.7
        weight = rng.integers(0, 50, (int(rng.integers(1, 5)), samples.n)) * there
        found = Stumps(samples, there).costs(weight[:, there])
        assert found.tolist() == [cheapest(samples, row) for row in weight], seed


def test_sides_of_many_cases_are_what_the_format_says() -> None:
    for seed in range(300):
        rng = np.random.default_rng(seed)
        samples = random_samples(rng)
        weight = rng.integers(0, 1 << 50, samples.n)
        ids = np.flatnonzero(rng.random(samples.n) < 0.8)
        cases = []
        for _ in range(int(rng.integers(1, 5))):
            f = int(rng.integers(samples.p))
            first, last = sorted(rng.integers(0, samples.n_ranks[f] + 1, 2).tolist())
            share = rng.choice(np.array([0, 1, HALF, WHOLE - np.uint64(1), WHOLE], np.uint64), samples.n)
            told_apart = rng.permutation(samples.n)[: int(rng.integers(0, 3))]
            cases.append(Case(f, first, last, share, tuple((int(i), bool(rng.integers(2))) for i in told_apart), 0))
        found = sides(samples, weight, ids, cases)
        for row, case in enumerate(cases):
            expected = [charged(samples, weight, int(i), case) for i in ids]
            assert [(int(a), int(b)) for a, b in zip(found[0][row], found[1][row], strict=True)] == expected, seed


def charged(samples: Samples, weight: np.ndarray, i: int, case: Case) -> tuple[int, int]:
    """One sample, in Python's whole numbers."""
    w, share = int(weight[i]), int(case.share[i])
    left, right = samples.lower[case.feature, i] <= case.first, samples.upper[case.feature, i] > case.last
    if i in dict(case.branches):
        heavy = 0 if dict(case.branches)[i] else samples.heavy
        return heavy * int(left), heavy * int(right)
    if left and right:
        part = w if share == int(WHOLE) else w * share >> 32
        return part, w - part
    return w * int(left), w * int(right)
