"""LSU-MaxSAT and RC2-MaxSAT: the binary formulation as partial MaxSAT, on the SAT solvers of PySAT.

Hard clauses are those of `hardwood.solvers.formulations.clauses`; each sample is a soft clause "not e[i]" of its
weight.

- LSU (linear search SAT-UNSAT; Eén & Sörensson, "Translating Pseudo-Boolean Constraints into SAT", JSAT 2006) goes
  down from a solution: every better tree tightens a totalizer over e until nothing better exists. It can be stopped at
  any time.
- RC2 (Ignatiev, Morgado & Marques-Silva, "RC2: an Efficient MaxSAT Solver", JSAT 2019) goes up: every unsatisfiable
  core raises the cost, which is a lower bound at any time. Its first tree is optimal.

With ``strengthen``, a pair (i, k) of which one is always lost, with weight w, contributes ``w * (1 + [both lost])`` in
place of ``w * (e[i] + e[k])``: the constant leaves the sum, which makes the totalizer and the cores smaller.

>>> from hardwood.problem.problem import Problem
>>> from hardwood.solvers import solve
>>> xor = Problem.from_data([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], attack=0.1, max_depth=2)
>>> solve(xor, "maxsat-lsu").summary().split(",")[:2]
['maxsat-lsu: 0 robust errors', ' proven optimal']
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood.arrays import IntArray
from hardwood.solvers.engines.child import Built, Found, Job, Proved, Send
from hardwood.solvers.engines.solver import EngineSolver
from hardwood.solvers.formulations.clauses import Layout, count_literals, formula
from hardwood.solvers.formulations.descent import descend
from hardwood.solvers.formulations.encoding import Encoding
from hardwood.solvers.formulations.totalizer import count_literals as count_totalizer_literals
from hardwood.solvers.formulations.totalizer import totalizer
from hardwood.solvers.registry import Engine, register
from hardwood.tree.index_tree import IndexTree

PAIRWISE_LIMIT = 64
"""Up to so many features "at most one" is written out; beyond, the paper's relaxation to "at least one" is used."""
BYTES_PER_LITERAL = 26
"""Measured: memory of the child per literal, Glucose's clause database and watches included."""
_CHUNK = 100_000

# Glucose 4.1 is the paper's.
_SAT_SOLVERS = (
    "glucose4", "glucose3", "glucose42", "cadical103", "cadical153", "cadical195", "gluecard3", "gluecard4",
    "maplechrono", "maplecm", "maplesat", "mergesat3", "minicard", "minisat22",
)  # fmt: skip


class _MaxSatSolver(EngineSolver):
    engines = tuple(Engine(name, "pysat", package="python-sat") for name in _SAT_SOLVERS)
    supports_float_weights = False

    def _bytes_needed(self, encoding: Encoding) -> int:
        # The sum stays below what the best leaf loses; known pairs leave a constant outside.
        by_class = np.bincount(encoding.label, encoding.weight, encoding.n_classes)
        limit = int((by_class.sum() - by_class.max() - encoding.least) / max(encoding.unit, 1.0)) + 1
        literals = count_literals(encoding) + count_totalizer_literals(encoding.n_samples, limit)
        return BYTES_PER_LITERAL * literals


@register
class LsuSolver(_MaxSatSolver):
    """The paper's LSU-MaxSAT."""

    name = "maxsat-lsu"
    summary = "LSU-MaxSAT: solutions that get better until a SAT solver proves that none is left"

    def _target(self, engine: Engine) -> str:
        return "hardwood.solvers.formulations.maxsat:lsu"


@register
class Rc2Solver(_MaxSatSolver):
    """The paper's RC2-MaxSAT."""

    name = "maxsat-rc2"
    summary = "RC2-MaxSAT: a lower bound that rises core by core; its first tree is optimal"

    def _target(self, engine: Engine) -> str:
        return "hardwood.solvers.formulations.maxsat:rc2"


@dataclass(frozen=True, eq=False)
class MaxSat:
    """Hard clauses and the sum to minimise: ``constant + scale * sum(weight * literal)``."""

    layout: Layout
    hard: list[NDArray[Any]]
    literal: IntArray
    weight: IntArray
    constant: int
    scale: int
    n_variables: int

    @property
    def n_hard(self) -> int:
        """Number of hard clauses."""
        return sum(map(len, self.hard))


def build(encoding: Encoding) -> MaxSat:
    """Write an encoding as partial MaxSAT."""
    layout = Layout(encoding)
    constraints = formula(layout)
    hard: list[NDArray[Any]] = [*constraints.clauses]
    for position, group in enumerate(constraints.exactly_one):
        hard.append(group[None, :])
        # The first groups choose features; two classes on one leaf would never be allowed.
        if position >= encoding.n_nodes or len(group) <= PAIRWISE_LIMIT:
            first, second = np.triu_indices(len(group), 1)
            hard.append(np.stack([-group[first], -group[second]], axis=1))
    weight = encoding.weight.astype(np.int64)
    amount = np.floor(encoding.pair_weight).astype(np.int64)
    pair, amount = encoding.pair[amount > 0], amount[amount > 0]
    both = layout.n_variables + 1 + np.arange(len(pair))
    hard.append(np.column_stack([-layout.e[pair], both]))
    left_over = weight - np.bincount(pair.ravel(), np.repeat(amount, 2), len(weight)).astype(np.int64)
    single = left_over > 0
    literal = np.concatenate([both, layout.e[single]])
    total = np.concatenate([amount, left_over[single]])
    scale = int(np.gcd.reduce(total)) if len(total) else 1
    return MaxSat(
        layout=layout,
        hard=[block for block in hard if len(block)],
        literal=literal.astype(np.int64),
        weight=total // scale,
        constant=int(amount.sum()),
        scale=scale,
        n_variables=layout.n_variables + len(pair),
    )


def lsu(job: Job, send: Send) -> None:
    """Engine: linear search from solutions to the proof."""
    from pysat.solvers import Solver

    started = time.perf_counter()
    model = build(job.encoding)
    layout, encoding = model.layout, job.encoding
    best = job.best
    if encoding.strengthened and job.start is None:
        # Any solution will do to go down from; a better one makes the totalizer smaller.
        heaviest = int(np.argmax(np.bincount(encoding.label, encoding.weight)))
        first = descend(encoding, encoding.to_choice(IndexTree.leaf(heaviest)))
        if encoding.objective(first) < best:
            best = encoding.objective(first)
            send(Found(first, best))

    def limit() -> int:
        return math.ceil((best - model.constant) / model.scale)

    sums, clauses = totalizer(model.literal, model.weight, limit(), model.n_variables)
    with Solver(name=job.options["engine"]) as solver:
        for chunk in _chunks([*model.hard, *clauses]):
            solver.append_formula(chunk)
        if job.start is not None:
            _set_phases(solver, layout.assignment(job.start))
        send(
            Built(
                {
                    "build_seconds": time.perf_counter() - started,
                    "variables": solver.nof_vars(),
                    "clauses": model.n_hard + sum(map(len, clauses)),
                }
            )
        )
        while limit() > 0 and solver.solve_limited(expect_interrupt=True):
            choice = layout.choice(np.array(solver.get_model()[: layout.n_variables]) > 0)
            if encoding.strengthened:
                choice = descend(encoding, choice)
            # The e of a solution may be loose: what its tree really costs is the next limit.
            best = encoding.objective(choice)
            send(Found(choice, best))
            solver.append_formula(sums.forbid_from(limit()).tolist())
    send(Proved(best))


def _chunks(blocks: list[NDArray[Any]]) -> Iterator[list[list[int]]]:
    """Clauses as lists, a few at a time: lists take ten times the memory of arrays."""
    for block in blocks:
        for begin in range(0, len(block), _CHUNK):
            yield block[begin : begin + _CHUNK].tolist()


def _set_phases(solver: Any, truth: NDArray[np.bool_]) -> None:
    number = np.arange(1, len(truth) + 1)
    try:
        solver.set_phases(np.where(truth, number, -number).tolist())
    except NotImplementedError:
        # Some SAT solvers take no advice; they still search below the start's objective.
        return


def rc2(job: Job, send: Send) -> None:
    """Engine: core-guided search from below."""
    from pysat.examples.rc2 import RC2Stratified
    from pysat.formula import WCNF

    started = time.perf_counter()
    model = build(job.encoding)
    weighted = WCNF()
    for chunk in _chunks(model.hard):
        weighted.extend(chunk)
    weighted.extend((-model.literal[:, None]).tolist(), weights=model.weight.tolist())

    class Reporting(RC2Stratified):  # type: ignore[misc]
        def process_core(self) -> None:
            super().process_core()
            send(Proved(model.constant + model.scale * self.cost))

    with Reporting(weighted, solver=job.options["engine"], exhaust=True, minz=True) as solver:
        send(
            Built(
                {
                    "build_seconds": time.perf_counter() - started,
                    "variables": model.n_variables,
                    "clauses": model.n_hard + len(model.literal),
                }
            )
        )
        literals = np.array(solver.compute())
    truth = np.zeros(model.n_variables + 1, bool)
    truth[literals[literals > 0]] = True
    choice = model.layout.choice(truth[1:])
    cost = job.encoding.objective(choice)
    send(Found(choice, cost))
    send(Proved(model.constant + model.scale * solver.cost))
