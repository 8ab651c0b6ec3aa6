"""Cells: the units of work of an experiment. Each says all that its result depends on, and has a key made from that.

A `FitCell` fits one tree, on the training part of a set or on all but one fold of it; a `BoundCell` bounds the accuracy
of every model; a `CurveCell` does so over many radii. Selection needs no cell of its own: it is read off the fits.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from hardwood.data.datasets import Dataset, Split, load, make_blobs, make_moons, make_xor, paper_split
from hardwood.evaluation.metrics import accuracy, adversarial_accuracy
from hardwood.experiments.methods import Learner
from hardwood.problem.problem import Problem
from hardwood.solvers import get_solver, solve
from hardwood.solvers.result import EndReason, Result

MOST_TRACE_POINTS = 200

MADE_UP = {"xor": make_xor, "moons": make_moons, "blobs": make_blobs}
"""Sets that need no file; they are not split: trees are scored on the samples they were learned from."""


@dataclass(frozen=True)
class FitCell:
    """Fit one tree.

    Attributes
    ----------
    dataset : str
    radius : float
        L∞ radius of the attack, on features scaled to [0, 1].
    learner : Learner
    depth : int
    time_limit : float
    seed : int
        Of the split, the folds and the solver.
    radius_factor : float
        The tree is learned against this multiple of `radius`, and scored against `radius`.
    fold, folds : int or None
        Learn from all but this fold of the training part and score on it; None learns from all of the training part
        and scores on the test part.
    """

    kind: ClassVar[str] = "fit"
    dataset: str
    radius: float
    learner: Learner
    depth: int
    time_limit: float
    seed: int = 0
    radius_factor: float = 1.0
    fold: int | None = None
    folds: int | None = None

    @property
    def label(self) -> str:
        """How progress lines call the cell."""
        part = "" if self.fold is None else f" fold {self.fold + 1}/{self.folds}"
        factor = "" if self.radius_factor == 1 else f" trained at {self.radius_factor:g}ε"
        warm = "" if self.learner.start is None else "-warm"
        return f"{self.dataset} ε={self.radius:g} {self.learner.solver}{warm} depth {self.depth}{factor}{part}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"kind": self.kind, **{name: getattr(self, name) for name in self.__annotations__ if name != "kind"}} | {
            "learner": self.learner.to_dict()
        }

    def run(self, data: Dataset) -> dict[str, Any]:
        """Fit the tree, score it, and return plain data."""
        from hardwood.experiments.nodes import describe_nodes

        _warm_up(json.dumps(self.learner.to_dict(), sort_keys=True), self.depth)
        part = self._part(data)
        problem = Problem.from_data(
            part.X_train,
            part.y_train,
            self.radius * self.radius_factor,
            self.depth,
            feature_names=data.feature_names,
        )
        cpu = time.process_time()
        result = solve(
            problem,
            self.learner.solver,
            time_limit=self.time_limit,
            start=self.learner.start,
            random_state=self.seed,
            options=self.learner.options,
        )
        cpu = time.process_time() - cpu
        if result.stopped_by is EndReason.INTERRUPT:
            raise KeyboardInterrupt
        tree = result.tree
        outcome = {
            **_solver_outcome(result),
            "cpu_seconds": round(cpu, 4),
            "n_train": len(part.y_train),
            "n_test": len(part.y_test),
            "train_accuracy": accuracy(tree, part.X_train, part.y_train),
            "train_adversarial_accuracy": adversarial_accuracy(tree, part.X_train, part.y_train, self.radius),
            "test_accuracy": accuracy(tree, part.X_test, part.y_test),
            "test_adversarial_accuracy": adversarial_accuracy(tree, part.X_test, part.y_test, self.radius),
            "tree": tree.to_dict(),
        }
        if self.fold is None:
            outcome["nodes"] = describe_nodes(tree, problem)
            if self.dataset in MADE_UP:
                outcome["samples"] = [
                    [*row, label] for row, label in zip(data.X.tolist(), data.y.tolist(), strict=True)
                ]
        return outcome

    def _part(self, data: Dataset) -> Split:
        whole = split(data, self.seed)
        if self.fold is None:
            return whole
        from sklearn.model_selection import StratifiedKFold

        parts = StratifiedKFold(self.folds, shuffle=True, random_state=self.seed).split(whole.X_train, whole.y_train)
        fit, score = list(parts)[self.fold]
        return Split(whole.X_train[fit], whole.X_train[score], whole.y_train[fit], whole.y_train[score])


@dataclass(frozen=True)
class BoundCell:
    """Bound the adversarial accuracy of every model on the training part (Theorem 2 of the paper)."""

    kind: ClassVar[str] = "bound"
    dataset: str
    radius: float
    seed: int = 0

    @property
    def label(self) -> str:
        """How progress lines call the cell."""
        return f"{self.dataset} ε={self.radius:g} matching bound"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"kind": self.kind, "dataset": self.dataset, "radius": self.radius, "seed": self.seed}

    def run(self, data: Dataset) -> dict[str, Any]:
        """Compute the bound and return plain data."""
        from hardwood.bounds import adversarial_accuracy_bound

        part = split(data, self.seed)
        bound = adversarial_accuracy_bound(part.X_train, part.y_train, self.radius)
        return {
            "errors": bound.errors,
            "bound": bound.bound,
            "floor": bound.majority_share,
            "n_train": len(part.y_train),
        }


@dataclass(frozen=True)
class CurveCell:
    """Bound the adversarial accuracy of every model over many radii, on the whole set scaled to [0, 1].

    The paper's radii come from whole sets, not from their training parts.
    """

    kind: ClassVar[str] = "curve"
    dataset: str

    @property
    def label(self) -> str:
        """How progress lines call the cell."""
        return f"{self.dataset} bound over radii"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"kind": self.kind, "dataset": self.dataset}

    def run(self, data: Dataset) -> dict[str, Any]:
        """Compute the curve and the radii that the paper's rule chooses, and return plain data."""
        from sklearn.preprocessing import MinMaxScaler

        from hardwood.bounds import epsilon_curve

        curve = epsilon_curve(MinMaxScaler().fit_transform(data.X), data.y)
        return {**curve.to_dict(), "chosen": curve.choose().tolist()}


Cell = FitCell | BoundCell | CurveCell


def cell_from_dict(data: Mapping[str, Any]) -> Cell:
    """Inverse of the cells' ``to_dict``."""
    fields = {name: value for name, value in data.items() if name != "kind"}
    if data["kind"] == "fit":
        return FitCell(**fields | {"learner": Learner.from_dict(fields["learner"])})
    return BoundCell(**fields) if data["kind"] == "bound" else CurveCell(**fields)


def key_of(cell: Cell) -> str:
    """Return what a cell is found by: a hash of all that its result depends on."""
    # Written as floats all numbers are equal that mean the same, 1 and 1.0.
    text = json.dumps(_with_floats(cell.to_dict()), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _with_floats(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_floats(item) for key, item in value.items()}
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def load_set(name: str, folder: Any = None) -> Dataset:
    """Return one of the paper's sets or a made-up one."""
    if name in MADE_UP:
        X, y = MADE_UP[name]()
        return Dataset(name, X, y, tuple(f"x{j + 1}" for j in range(X.shape[1])))
    return load(name, folder)


def split(data: Dataset, seed: int) -> Split:
    """Return the training and the test part of a set."""
    if data.name in MADE_UP:
        return Split(data.X, data.X, data.y, data.y)
    return paper_split(data.X, data.y, seed)


@cache
def _warm_up(learner_text: str, depth: int) -> None:
    """Let a solver of our own load and compile its kernels before the clock runs, once per process."""
    learner = Learner.from_dict(json.loads(learner_text))
    if not get_solver(learner.solver).engines:
        X, y = make_xor()
        problem = Problem.from_data(X, y, 0.1, depth)
        solve(problem, learner.solver, start=learner.start, options=learner.options)


def _solver_outcome(result: Result) -> dict[str, Any]:
    return {
        "status": result.status.value,
        "objective": result.objective,
        "bound": finite(result.bound),
        "gap": finite(result.gap),
        "stopped_by": str(result.stopped_by),
        "seconds": round(result.runtime, 4),
        "trace": _thinned(
            [[round(point.seconds, 4), finite(point.objective), finite(point.bound)] for point in result.trace]
        ),
    }


def _thinned(points: list[list[float | None]]) -> list[list[float | None]]:
    """Keep at most `MOST_TRACE_POINTS`, evenly by position and always the first and the last."""
    if len(points) <= MOST_TRACE_POINTS:
        return points
    kept = np.unique(np.linspace(0, len(points) - 1, MOST_TRACE_POINTS).astype(int))
    return [points[k] for k in kept]


def finite(value: float) -> float | None:
    """Return the number, or None for what JSON cannot say."""
    return float(value) if math.isfinite(value) else None
