"""Which samples an attacker can get misclassified by an ensemble: each is robust, fooled, or open at the deadline.

Whether some point of a box is misclassified is NP-hard to tell for ensembles (Kantchelian, Tygar & Joseph, "Evasion and
Hardening of Tree Ensemble Classifiers", ICML 2016). The core decides it by branch and bound, sample by sample:

1. Trees are cut down to the leaves that the box reaches. The sum of the worst leaves is a sound bound; small trees on
   the same features are added up first (Chen et al., "Robustness Verification of Tree-based Models", NeurIPS 2019),
   which makes stumps exact.
2. Trees exchange prices for cells of features until they agree as far as they can: the dual of the local relaxation,
   which never lowers the bound.
3. Points are sought by moving one feature at a time, from the sample and from what the trees agreed on.
4. What is open is divided between leaves that want different cells.

Every point is judged in the arithmetic of the library, and bounds count only beyond what rounding, the library's and
ours, can amount to.
"""

from __future__ import annotations

import math
import sys
import time
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._core import Control
from hardwood.arrays import BoolArray, FloatArray, IntArray
from hardwood.attack.domain import Limits
from hardwood.attack.model import AttackModel
from hardwood.data.labels import as_labels, encode_labels
from hardwood.data.weights import weighted_share
from hardwood.ensembles.conversion import as_ensemble
from hardwood.ensembles.scores import Ensemble
from hardwood.markup import card, facts
from hardwood.problem.boxes import Reach, limits_of, reach_under_attack
from hardwood.problem.prices import AFFORDABLE, BoxPrices, in_units
from hardwood.solvers.options import TIME_LIMIT, count_threads

DECIDED_BY = np.array(["open", "trees", "messages", "search", "as it is", "descent", "search"])
"""What told it, by the core's verdict: 1 to 3 are robust, 4 to 6 fooled."""
_LAST_ROBUST = 3
_FIRST_ROUND, _GROWTH = 0.05, 4.0
MOST_BYTES = 2 << 30
"""What the leaves in the boxes that are worked on, one per thread, may take; a larger box leaves its sample open."""
_BYTES_PER_ENTRY = 48
_TOO_LARGE = -1


class UndecidedAttackWarning(UserWarning):
    """For some samples it could not be decided whether an attack succeeds."""


def warn_of_undecided(undecided: int, n_samples: int, stacklevel: int) -> None:
    """Say that samples count as lost because nobody knows; the warning points so many callers up."""
    warnings.warn(
        f"{undecided} of {n_samples} samples were not decided in time; they count as lost",
        UndecidedAttackWarning,
        stacklevel=stacklevel,
    )


@dataclass(frozen=True, eq=False)
class Robustness:
    """What is known about each sample under attack.

    Attributes
    ----------
    is_robust : bool array of shape (n_samples,)
        It is proven that the model is right at every point of the sample's box.
    is_fooled : bool array of shape (n_samples,)
        A misclassified point in the sample's box is known. Samples that are neither are open.
    examples : float array of shape (n_samples, n_features)
        That point, which the library's own ``predict`` misclassifies; NaN where none is known. (A sample with missing
        values may be fooled by leaving them missing; then they are NaN in its example, too.)
    decided_by : array of str, of shape (n_samples,)
        "as it is": wrong without any attack; "descent", "search": how the example was found, or, of robust samples,
        "trees": the worst leaves of all trees together are not enough; "messages": nor are they once the trees agree on
        cells as far as they can; "search": division of the box. "open" if time ran out.
    seconds : float array of shape (n_samples,)
        Time spent on each sample.
    interrupted : bool
        Whether Ctrl-C ended the work on those that are open.
    """

    is_robust: BoolArray
    is_fooled: BoolArray
    examples: FloatArray
    decided_by: NDArray[np.str_]
    seconds: FloatArray
    interrupted: bool = False

    @property
    def is_open(self) -> BoolArray:
        """Neither robust nor fooled, as far as is known."""
        return np.asarray(~self.is_robust & ~self.is_fooled)

    def interval(self, sample_weight: Any = None) -> tuple[float, float]:
        """Return lower and upper bound on the adversarial accuracy; equal where every sample is decided."""
        return weighted_share(self.is_robust, sample_weight), weighted_share(~self.is_fooled, sample_weight)

    def _repr_html_(self) -> str:
        """Return what notebooks show: how many samples are robust, fooled and open."""
        low, high = self.interval()
        share = f"{low:.1%}" if low == high else f"{low:.1%} to {high:.1%}"
        counts = {name: int(getattr(self, f"is_{name}").sum()) for name in ("robust", "fooled", "open")}
        return card("Robustness", facts({"accuracy under attack": share, **counts}))

    def __repr__(self) -> str:
        return (
            f"Robustness({int(self.is_robust.sum())} robust, {int(self.is_fooled.sum())} fooled, "
            f"{int(self.is_open.sum())} open)"
        )


@dataclass(frozen=True, eq=False)
class AttackedSamples:
    """Samples, class indices and reach in the terms of an ensemble; a label that it cannot answer has index -1."""

    ensemble: Ensemble
    X: FloatArray
    rounding: FloatArray
    label: IntArray
    attack: AttackModel
    names: tuple[str, ...] | None
    limits: Limits | None = None

    @classmethod
    def prepare(cls, ensemble: Ensemble, X: Any, y: Any, attack: Any) -> AttackedSamples:
        """Validate data against an ensemble."""
        table = ensemble.table(X)
        order = np.argsort(ensemble.classes, kind="stable")
        code = encode_labels(as_labels(y, len(table)), ensemble.classes[order])
        label = np.where(code >= 0, order[code], -1).astype(np.int64)
        model, names = AttackModel.parse(attack), ensemble.names_of(X)
        limits = limits_of(model, ensemble.n_features, names, ensemble.encoding)
        if limits is not None:
            limits.check(table.values, names)
            ensemble = ensemble.over_integers(limits.integer)
        return cls(ensemble, table.values, table.rounding, label, model, names, limits)

    @property
    def groups(self) -> tuple[Any, IntArray]:
        """The classes that the attack tells apart, and to which of them each sample belongs."""
        if self.attack.by_class is None:
            return None, np.zeros(len(self.label), np.int64)
        return self.ensemble.classes, np.maximum(self.label, 0)

    @cached_property
    def reach(self) -> Reach:
        """What makes the boxes, the same as for a single tree."""
        classes, group = self.groups
        encoding = self.ensemble.encoding
        return reach_under_attack(self.X, self.attack, self.names, classes, group, encoding, self.rounding)

    def boxes(self) -> tuple[FloatArray, FloatArray]:
        """Both ends of every box; those of an attacker with a budget hold all that it can afford, but not at once."""
        return self.reach.ends()


class Verifier:
    """Verdicts on samples in given boxes, in rounds of growing effort, so that easy samples are decided first."""

    def __init__(self, data: AttackedSamples, lower: FloatArray, upper: FloatArray) -> None:
        n = len(data.label)
        self.data = data
        self.lower, self.upper = lower, upper
        self.verdict = np.zeros(n, np.int8)
        self.point = np.full(data.X.shape, np.nan)
        self.parts = np.zeros(n, np.int64)
        self.seconds = np.zeros(n)
        self.interrupted = False

    def run(self, deadline: float, sample_time_limit: float, n_threads: int, verbose: int = 0) -> None:
        """Work until everything is decided or time is over; Ctrl-C ends it, too, and keeps what is known."""
        effort = 0.0
        try:
            while (
                np.any((self.verdict == 0) & (self.parts != _TOO_LARGE))
                and effort < sample_time_limit
                and time.monotonic() < deadline
            ):
                effort = min(max(_FIRST_ROUND, effort * _GROWTH), sample_time_limit)
                left = deadline - time.monotonic()
                self.data.ensemble.core.verify(
                    self.data.X, self.lower, self.upper, self.data.label, self.verdict, self.point, self.parts,
                    self.seconds, effort, MOST_BYTES // _BYTES_PER_ENTRY // n_threads, n_threads,
                    Control(None if math.isinf(left) else max(0.0, left)),
                )  # fmt: skip
                if verbose:
                    print(f"{self}, at most {effort:g} s on a sample", file=sys.stderr, flush=True)
        except KeyboardInterrupt:
            self.interrupted = True
        if self.data.limits is not None:
            # Thresholds are whole numbers here, so the next whole number is on the same side of all of them.
            self.point[:, self.data.limits.integer] = np.ceil(self.point[:, self.data.limits.integer])

    def findings(self) -> Robustness:
        """Return what is known."""
        return Robustness(
            self.is_robust, self.is_fooled, self.point, DECIDED_BY[self.verdict], self.seconds, self.interrupted
        )

    def say_what_is_too_large(self) -> None:
        """Warn of samples that stay open however long one waits."""
        count = int(np.sum((self.verdict == 0) & (self.parts == _TOO_LARGE)))
        if count:
            warnings.warn(
                f"{count} samples stay open: their boxes reach more leaves than fit into {MOST_BYTES / 2**30:.3g} GB; "
                "a smaller attack, or fewer or shallower trees, can be verified",
                UndecidedAttackWarning,
                stacklevel=3,
            )

    def __str__(self) -> str:
        robust = int(np.sum((self.verdict > 0) & (self.verdict <= _LAST_ROBUST)))
        fooled = int(np.sum(self.verdict > _LAST_ROBUST))
        return f"{robust} robust, {fooled} fooled, {len(self.verdict) - robust - fooled} open"

    @property
    def is_robust(self) -> BoolArray:
        """Proven to be robust."""
        return np.asarray((self.verdict > 0) & (self.verdict <= _LAST_ROBUST))

    @property
    def is_fooled(self) -> BoolArray:
        """Known to be fooled."""
        return np.asarray(self.verdict > _LAST_ROBUST)

    def doubt_impossible_categories(self) -> None:
        """Open again what was fooled by a point that is two categories of one column at once.

        Boxes over "is it this category?" allow that, no row of a table does. Robust verdicts hold all the same.
        """
        encoding = self.data.ensemble.encoding
        if encoding is None:
            return
        yes = (self.point == 0) & np.array([test is not None for test in encoding.tests])
        counts = np.zeros((len(yes), encoding.n_columns), np.int64)
        np.add.at(counts.T, encoding.source, yes.T)
        impossible = self.is_fooled & (counts > 1).any(axis=1)
        self.verdict[impossible] = 0
        self.point[impossible] = np.nan

    def ask_the_price(self) -> None:
        """Keep the examples that the attacker can pay for; others are made cheaper, or their samples are open again.

        Boxes hold more than an attacker with a budget, or with one-hot groups, can do at once: who is robust in the box
        is robust, but an example needs a price. Changes that are not needed are taken back, one feature after another.
        """
        prices = self.data.reach.prices
        rows = np.flatnonzero(self.is_fooled)
        if prices is None or not len(rows):
            return
        assert isinstance(prices, BoxPrices)
        own, points, x = prices.take(rows), self.point[rows], self.data.X[rows]
        blocks = [part.columns for part in own.categories]
        grouped = {int(j) for columns in blocks for j in columns}
        blocks += [np.array([j]) for j in range(x.shape[1]) if j not in grouped]
        truth, ensemble = self.data.label[rows], self.data.ensemble
        for columns in blocks:
            back = points.copy()
            back[:, columns] = x[:, columns]
            is_wrong = ensemble.core.classes(ensemble.core.sums(back)) != truth
            points[is_wrong] = back[is_wrong]
        self.point[rows] = points
        too_dear = in_units(own.price_of(points), own.budget) > AFFORDABLE
        self.verdict[rows[too_dear]] = 0
        self.point[rows[too_dear]] = np.nan

    def ask_the_library(self, X: Any) -> None:
        """Let the model itself answer at every example; a sample on which it disagrees is open again."""
        rows = np.flatnonzero(self.is_fooled)
        model = self.data.ensemble.model
        if model is None or not len(rows):
            return
        points: Any = self.point[rows]
        if hasattr(X, "columns"):
            points = type(X)(points, columns=list(X.columns))
        with warnings.catch_warnings():
            # Only the answers matter here, not remarks on names of features that an array has not.
            warnings.simplefilter("ignore")
            answer = np.ravel(np.asarray(model.predict(points)))
        truth = self.data.label[rows]
        right = (truth >= 0) & (answer == self.data.ensemble.classes[np.maximum(truth, 0)])
        if right.any():
            warnings.warn(
                f"{int(right.sum())} examples are ties that {self.data.ensemble.library} breaks in either way (the "
                "order in which several jobs add up trees decides); these samples stay open",
                UndecidedAttackWarning,
                stacklevel=3,
            )
            self.verdict[rows[right]] = 0
            self.point[rows[right]] = np.nan


def robustness(
    model: Any,
    X: Any,
    y: Any,
    attack: Any,
    *,
    time_limit: float | None = None,
    sample_time_limit: float | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Robustness:
    """Find out which samples an attacker can get misclassified, by any model made of trees.

    Parameters
    ----------
    model : anything `as_ensemble` takes
    X : array-like or frame of shape (n_samples, n_features)
        In the units that the model (or the pipeline) takes. A missing value can be anything, missing included.
    y : array-like of shape (n_samples,)
    attack : anything `AttackModel.parse` takes
        In the units of X.
    time_limit : float or None
        Seconds in all. Samples that are not decided then are open.
    sample_time_limit : float or None
        Seconds for each sample.
    n_jobs : int or None
        Threads to use, on different samples.
    verbose : int
        Say on the standard error stream how far it is, after each round.

    Returns
    -------
    Robustness

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = [[0.0], [0.2], [0.8], [1.0]], [0, 0, 1, 1]
    >>> forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> robustness(forest, X, y, 0.1)
    Robustness(4 robust, 0 fooled, 0 open)
    """
    started = time.monotonic()
    limits = [TIME_LIMIT.check(limit) for limit in (time_limit, sample_time_limit)]
    in_all, each = (math.inf if limit is None else float(limit) for limit in limits)
    threads = count_threads(n_jobs)
    data = AttackedSamples.prepare(as_ensemble(model), X, y, attack)
    verifier = Verifier(data, *data.boxes())
    verifier.run(started + in_all, each, threads, verbose)
    verifier.say_what_is_too_large()
    verifier.doubt_impossible_categories()
    verifier.ask_the_price()
    verifier.ask_the_library(X)
    return verifier.findings()
