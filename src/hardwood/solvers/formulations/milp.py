"""MILP and Binary-MILP: the paper's two formulations as mixed-integer linear programs.

`BinaryFormulation` is the paper's binary form: the clauses of `hardwood.solvers.formulations.clauses` as rows.
`ContinuousFormulation` is its continuous form, with ranks of endpoints in place of numbers:

    b'[m] - lower_i . a[m] + 1/2 <= M s[i, m, 0],      upper_i . a[m] - b'[m] <= M s[i, m, 1].

Ranks are whole numbers, so a margin of 1/2 replaces the paper's "small value" on the strict side and is exact: a box
that stays on one side does so by at least 1/2, however close its end lies to the threshold. M is the largest value of
the left-hand side. The binary form needs only a, b, c to be whole numbers; the continuous one s as well, since a
fraction of M would let a box pass. With ``strengthen`` see `hardwood.solvers.formulations.milp_strengthened`.

Started from a tree (``start="greedy"``) these are the paper's MILP-warm and Binary-MILP-warm.
"""

from __future__ import annotations

import importlib
import math
import time

import numpy as np

from hardwood.arrays import FloatArray
from hardwood.solvers.engines.child import Built, Found, Job, Proved, Send
from hardwood.solvers.engines.linear import MILP_ENGINES, Optimise, Order
from hardwood.solvers.engines.solver import EngineSolver
from hardwood.solvers.formulations.clauses import Layout, count_literals, formula
from hardwood.solvers.formulations.descent import descend
from hardwood.solvers.formulations.encoding import Choice, Encoding
from hardwood.solvers.formulations.linear_model import Formulation, ModelBuilder
from hardwood.solvers.formulations.milp_strengthened import StrengthenedFormulation
from hardwood.solvers.registry import Engine, register

BYTES_PER_TERM = 75
"""Measured: memory of the child per coefficient of the matrix, building and HiGHS's copies included."""


class _MilpSolver(EngineSolver):
    engines = MILP_ENGINES

    def _resolution(self, encoding: Encoding) -> float:
        # A solution may be too cheap by the slack, and a bound too small by it.
        return 0.0 if encoding.has_integer_weights else 2 * engine_slack(encoding)


def tolerance_of(encoding: Encoding) -> float:
    """Return how far an engine may violate a row: a box that stays on one side does so by 1/2 of M, at least."""
    return min(1e-6, 0.1 / (encoding.n_values + 1))


def engine_slack(encoding: Encoding) -> float:
    """Return how much an engine's objective may be off: each e by the tolerance to which it satisfies a row."""
    return tolerance_of(encoding) * float(encoding.weight.sum())


@register
class MilpSolver(_MilpSolver):
    """The paper's MILP and, with a start, MILP-warm."""

    name = "milp"
    summary = "MILP with thresholds as numbers (the paper's MILP; MILP-warm with start='greedy')"

    def _target(self, engine: Engine) -> str:
        return "hardwood.solvers.formulations.milp:continuous"

    def _bytes_needed(self, encoding: Encoding) -> int:
        return BYTES_PER_TERM * count_terms(encoding, continuous=True)


@register
class BinaryMilpSolver(_MilpSolver):
    """The paper's Binary-MILP and, with a start, Binary-MILP-warm."""

    name = "binary-milp"
    summary = "MILP with thresholds as chains of binaries (Binary-MILP; Binary-MILP-warm with start='greedy')"

    def _target(self, engine: Engine) -> str:
        return "hardwood.solvers.formulations.milp:binary"

    def _bytes_needed(self, encoding: Encoding) -> int:
        return BYTES_PER_TERM * count_terms(encoding, continuous=False)


def count_terms(encoding: Encoding, *, continuous: bool) -> int:
    """Upper estimate of the coefficients in all rows."""
    n, p, nodes = encoding.n_samples, encoding.n_features, encoding.n_nodes
    if not encoding.strengthened and not continuous:
        return count_literals(encoding)
    if not encoding.strengthened:
        return nodes * n * 2 * (p + 2) + encoding.n_leaves * n * (encoding.depth + 2)
    pairs = encoding.n_classes * (encoding.n_classes - 1)
    per_row = 2 * p if continuous else 1.5 * p
    chains = sum(map(len, encoding.index)) * 2
    bottom = encoding.n_leaves // 2
    return int(
        2 * n * encoding.first_bottom * (per_row + 1)
        + bottom * n * 2 * per_row * (encoding.n_classes - 1)
        + bottom * n * (encoding.depth + 1)
        + (encoding.first_bottom + bottom * pairs) * chains
    )


class BinaryFormulation:
    """The paper's binary form."""

    def __init__(self, encoding: Encoding) -> None:
        self._layout = layout = Layout(encoding)
        builder = ModelBuilder()
        # a, b, c come first in the layout; s and e are then 0 or 1 by themselves.
        n_chosen = layout.a.size + layout.b.size + layout.c.size
        builder.columns(n_chosen, is_integer=True)
        builder.columns(layout.n_variables - n_chosen)
        constraints = formula(layout)
        for block in constraints.clauses:
            builder.rows(np.abs(block) - 1, np.sign(block), lower=1.0 - np.count_nonzero(block < 0, axis=1))
        for group in constraints.exactly_one:
            builder.rows(group[None, :] - 1, 1.0, lower=1.0, upper=1.0)
        self.model = builder.build(layout.e.astype(np.int64) - 1, encoding.weight)

    def point(self, choice: Choice) -> FloatArray:
        """Return the values of all columns for a choice."""
        return self._layout.assignment(choice).astype(np.float64)

    def choice(self, x: FloatArray) -> Choice:
        """Read the choice from the values of the columns."""
        return self._layout.choice(x > 0.5)


class ContinuousFormulation:
    """The paper's continuous form, on ranks."""

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding
        builder = ModelBuilder()
        n, nodes, leaves = encoding.n_samples, encoding.n_nodes, encoding.n_leaves
        highest = encoding.n_values - 1
        self._a = builder.columns(nodes, encoding.n_features, is_integer=True)
        self._b = builder.columns(nodes, lower=-1.0, upper=float(highest))
        # One column per class: with two classes the paper's c is the second.
        self._c = builder.columns(leaves, encoding.n_classes, is_integer=True)
        self._s = builder.columns(n, nodes, 2, is_integer=True)
        self._e = builder.columns(n)
        builder.rows(self._a, 1.0, lower=1.0, upper=1.0)
        builder.rows(self._c, 1.0, lower=1.0, upper=1.0)
        big_left = highest - encoding.lower.min(axis=1) + 0.5
        big_right = encoding.upper.max(axis=1) + 1.0
        one = np.ones(n)
        for node in range(nodes):
            a = np.broadcast_to(self._a[node], (n, encoding.n_features))
            b = np.full(n, self._b[node])
            builder.rows(
                np.column_stack([b, a, self._s[:, node, 0]]),
                np.column_stack([one, -encoding.lower, -big_left]),
                upper=-0.5,
            )
            builder.rows(
                np.column_stack([b, a, self._s[:, node, 1]]),
                np.column_stack([-one, encoding.upper, -big_right]),
                upper=0.0,
            )
        for leaf in range(leaves):
            path = [self._s[:, node, side] for node, side in encoding.path(leaf)]
            column = np.stack([self._e, self._c[leaf, encoding.label], *path], axis=1)
            builder.rows(column, [1.0, 1.0] + [-1.0] * len(path), lower=1.0 - len(path))
        self.model = builder.build(self._e, encoding.weight)

    def point(self, choice: Choice) -> FloatArray:
        """Return the values of all columns for a choice."""
        encoding = self._encoding
        x = np.zeros(self.model.n_columns)
        x[self._a[np.arange(encoding.n_nodes), choice.feature]] = 1.0
        x[self._b] = choice.value
        x[self._c[np.arange(encoding.n_leaves), choice.label]] = 1.0
        x[self._s] = encoding.reach(choice)
        x[self._e] = encoding.lost(choice)
        return x

    def choice(self, x: FloatArray) -> Choice:
        """Read the choice from the values of the columns."""
        # Half of the margin on either side of a threshold absorbs the tolerances of a solver.
        return Choice(
            feature=np.argmax(x[self._a], axis=1),
            value=np.floor(x[self._b] + 0.25).astype(np.int64),
            label=np.argmax(x[self._c], axis=1),
        )


def formulate(encoding: Encoding, *, continuous: bool) -> Formulation:
    """Return the formulation of an encoding: the paper's, or the strengthened one if the encoding is strengthened."""
    if encoding.strengthened:
        return StrengthenedFormulation(encoding, continuous=continuous)
    return ContinuousFormulation(encoding) if continuous else BinaryFormulation(encoding)


def continuous(job: Job, send: Send) -> None:
    """Engine: MILP."""
    _optimise(job, send, continuous=True)


def binary(job: Job, send: Send) -> None:
    """Engine: Binary-MILP."""
    _optimise(job, send, continuous=False)


def _optimise(job: Job, send: Send, *, continuous: bool) -> None:
    started = time.perf_counter()
    encoding = job.encoding
    formulation = formulate(encoding, continuous=continuous)
    model = formulation.model
    send(
        Built(
            {
                "build_seconds": time.perf_counter() - started,
                "variables": model.n_columns,
                "rows": model.n_rows,
                "nonzeros": len(model.value),
            }
        )
    )
    slack = engine_slack(encoding)
    reported = -math.inf

    def on_solution(x: FloatArray, objective: float) -> None:
        choice = formulation.choice(x)
        # Where costs are multiples of a unit, the engine means the one near its number.
        unit = encoding.unit
        send(Found(choice, unit * math.ceil((objective - slack) / unit) if unit > 0 else objective + slack))
        if encoding.strengthened:
            better = descend(encoding, choice)
            send(Found(better, encoding.objective(better)))

    def on_bound(bound: float) -> None:
        nonlocal reported
        if math.isfinite(bound) and bound > reported:
            reported = bound
            # A bound counts as far as the engine's arithmetic can prove it.
            send(Proved(bound - slack))

    optimise: Optimise = importlib.import_module(f"hardwood.solvers.engines.{job.options['engine']}").optimise
    optimise(
        Order(
            model,
            job,
            start=None if job.start is None else formulation.point(job.start),
            # What is left of a unit after the slack on either side.
            gap=0.99 * max(0.0, encoding.unit - 2 * slack),
            tolerance=tolerance_of(encoding),
            on_solution=on_solution,
            on_bound=on_bound,
        )
    )
