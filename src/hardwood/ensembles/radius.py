"""How large an attack each sample bears before an ensemble can be fooled: bisection over exact verdicts."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hardwood.arrays import BoolArray, FloatArray
from hardwood.data.frames import has_missing
from hardwood.ensembles.conversion import as_ensemble
from hardwood.ensembles.scores import Ensemble
from hardwood.ensembles.verification import AttackedSamples, Verifier
from hardwood.errors import InvalidInputError
from hardwood.problem.boxes import lower_end, upper_end
from hardwood.solvers.options import TIME_LIMIT, count_threads

SMALLEST_SHARE = 1e-9
"""Radii below this share of what covers all thresholds count as 0."""


@dataclass(frozen=True, eq=False)
class RadiusBrackets:
    """Bounds on the largest multiple of an attack that each sample bears.

    Attributes
    ----------
    lower : float array of shape (n_samples,)
        Proven: the sample is right under this multiple. -inf where it is wrong without any attack.
    upper : float array of shape (n_samples,)
        Under this multiple it is fooled; inf where no multiple is known to do it.
    examples : float array of shape (n_samples, n_features)
        The misclassified point within `upper`; NaN where there is none.
    """

    lower: FloatArray
    upper: FloatArray
    examples: FloatArray


def radius_brackets(
    model: Any,
    X: Any,
    y: Any,
    attack: Any = 1.0,
    *,
    tolerance: float = 1e-3,
    time_limit: float | None = None,
    n_jobs: int | None = None,
) -> RadiusBrackets:
    """Bracket the largest multiple of an attack under which each sample stays right.

    Parameters
    ----------
    model : anything `as_ensemble` takes
    X : array-like of shape (n_samples, n_features)
        Without missing values.
    y : array-like of shape (n_samples,)
    attack : anything `AttackModel.parse` takes
    tolerance : float
        Stop where ``upper - lower <= tolerance * upper``.
    time_limit : float or None
        Seconds; brackets are as wide as they are when they are over.
    n_jobs : int or None
        Threads to use.
    """
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float) or not 0 < tolerance < 1:
        raise InvalidInputError(f"tolerance={tolerance!r}; it must be a number between 0 and 1")
    limit = TIME_LIMIT.check(time_limit)
    deadline = math.inf if limit is None else time.monotonic() + float(limit)
    data = AttackedSamples.prepare(as_ensemble(model), X, y, attack)
    data.attack.require_box("robust_radius")
    if has_missing(data.X):
        raise InvalidInputError("robust_radius measures distances from the samples, and some values are missing")
    search = _Bisection(data, deadline, count_threads(n_jobs))
    search.run(tolerance)
    return RadiusBrackets(search.lower, search.upper, search.examples)


class _Bisection:
    def __init__(self, data: AttackedSamples, deadline: float, n_threads: int) -> None:
        classes, group = data.groups
        down, up = data.attack.reach(data.ensemble.n_features, data.names, classes)
        self.data, self.deadline, self.n_threads = data, deadline, n_threads
        self.down, self.up = down[group], up[group]
        n = len(data.label)
        self.lower, self.upper = np.full(n, -np.inf), np.full(n, np.inf)
        self.examples = np.full(data.X.shape, np.nan)
        self.active = np.ones(n, bool)

    def run(self, tolerance: float) -> None:
        """Ask without attack, then with one that reaches everything, then halve what is between."""
        self._ask(np.zeros(len(self.lower)))
        self.active &= self.upper > 0
        most = _factor_of_everything(self.data.ensemble, self.data.X, self.down, self.up)
        self._ask(most)
        never = self.active & (self.lower >= most)
        self.lower[never] = np.inf
        self.active &= ~never & np.isfinite(self.upper)
        while time.monotonic() < self.deadline:
            with np.errstate(invalid="ignore"):
                self.active &= self.upper - self.lower > tolerance * self.upper
            self.active &= self.upper > SMALLEST_SHARE * most
            if not self.active.any():
                return
            narrow = self.lower >= self.upper / 8
            with np.errstate(invalid="ignore"):
                self._ask(np.where(narrow, (self.lower + self.upper) / 2, self.upper / 4))

    def _ask(self, factor: FloatArray) -> None:
        rows = np.flatnonzero(self.active)
        if not len(rows):
            return
        some = replace(self.data, X=self.data.X[rows], label=self.data.label[rows])
        down, up = (_times(factor[rows, None], reach[rows]) for reach in (self.down, self.up))
        lower, upper = lower_end(some.X, down, self.data.rounding), upper_end(some.X, up, self.data.rounding)
        if self.data.limits is not None:
            lower, upper = self.data.limits.cut(lower, upper)
        verifier = Verifier(some, lower, upper)
        verifier.run(self.deadline, math.inf, self.n_threads)
        robust, fooled = rows[verifier.is_robust], rows[verifier.is_fooled]
        self.lower[robust] = factor[robust]
        points = verifier.point[verifier.is_fooled]
        self.examples[fooled] = points
        needed = _factor_needed(points - self.data.X[fooled], self.down[fooled], self.up[fooled])
        self.upper[fooled] = np.minimum(factor[fooled], needed)
        wrong = fooled[factor[fooled] == 0]
        self.upper[wrong] = -np.inf
        open_rows: BoolArray = ~(verifier.is_robust | verifier.is_fooled)
        self.active[rows[open_rows]] = False


def _times(factor: FloatArray, reach: FloatArray) -> FloatArray:
    """Scale radii; scaled to nothing, unbounded reach is none."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(np.where((factor == 0) | (reach == 0), 0.0, factor * reach))


def _factor_needed(move: FloatArray, down: FloatArray, up: FloatArray) -> FloatArray:
    """Return the least multiple of the reach that allows each move."""
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(move < 0, -move / down, move / up)
    return np.asarray(np.where(move == 0, 0.0, share).max(axis=1, initial=0.0))


def _factor_of_everything(ensemble: Ensemble, X: FloatArray, down: FloatArray, up: FloatArray) -> FloatArray:
    """Return multiples of the reach within which every threshold of a feature that can be moved lies."""
    feature = np.concatenate([tree.feature for tree in ensemble.trees])
    threshold = np.concatenate([tree.threshold for tree in ensemble.trees])
    most = np.ones(len(X))
    for j in range(ensemble.n_features):
        cuts = threshold[(feature == j) & np.isfinite(threshold)]
        if len(cuts):
            for way, reach in ((X[:, j] - cuts.min(), down[:, j]), (cuts.max() - X[:, j], up[:, j])):
                with np.errstate(divide="ignore", invalid="ignore"):
                    needed = np.where((reach > 0) & (way > 0), way / reach, 0.0)
                most = np.maximum(most, 1.001 * needed + 1e-300)
    return most
