"""Cells: the units of work of an experiment. Each says all that its result depends on, and has a key made from that.

A `FitCell` fits one tree, on the training part of a set or on all but one fold of it; an `EnsembleCell` chooses and
learns an ensemble of trees (`hardwood.experiments.ensembles`); a `BoundCell` bounds the accuracy of every model;
a `CurveCell` does so over many radii. Selection of trees needs no cell of its own: it is read off the fits.
"""

from __future__ import annotations

import hashlib
import json
import time
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from hardwood.data.datasets import Dataset, Split
from hardwood.data.fields import Fields
from hardwood.evaluation.methods import Recipe
from hardwood.evaluation.metrics import accuracy, adversarial_accuracy
from hardwood.evaluation.nodes import describe_nodes
from hardwood.experiments.ensembles import EnsembleCell
from hardwood.experiments.outcomes import BoundOutcome, CurveOutcome, FitOutcome, Scores
from hardwood.experiments.sets import MADE_UP, split, stratified_folds
from hardwood.plain_data import plain
from hardwood.problem.problem import prepare
from hardwood.solvers import solve
from hardwood.solvers.stopping import counting_cpu_seconds
from hardwood.tree.tree import Tree

CLOCKS = ("wall", "cpu")
"""What time limits can count; the first is meant where nothing is said."""


@dataclass(frozen=True)
class FitCell:
    """Fit one tree.

    Attributes
    ----------
    dataset : str
    radius : float
        L∞ radius of the attack, on features scaled to [0, 1].
    recipe : Recipe
        How the tree is fitted; at depth 0 any recipe finds the one best leaf.
    depth : int
    time_limit : float
    seed : int
        Of the split, the folds and the solver.
    radius_factor : float
        The tree is learned against this multiple of `radius`, and scored against `radius`.
    clock : str
        What `time_limit` counts: seconds on the "wall", or seconds of "cpu" time.
    fold, folds : int or None
        Learn from all but this fold of the training part and score on it; None learns from all of the training part
        and scores on the test part.
    """

    kind: ClassVar[str] = "fit"
    dataset: str
    radius: float
    recipe: Recipe
    depth: int
    time_limit: float
    seed: int = 0
    radius_factor: float = 1.0
    fold: int | None = None
    folds: int | None = None
    clock: str = "wall"

    @property
    def label(self) -> str:
        """How progress lines call the cell."""
        part = "" if self.fold is None else f" fold {self.fold + 1}/{self.folds}"
        factor = "" if self.radius_factor == 1 else f" trained at {self.radius_factor:g}ε"
        warm = "" if self.recipe.start is None else "-warm"
        return f"{self.dataset} ε={self.radius:g} {self.recipe.solver}{warm} depth {self.depth}{factor}{part}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "kind": self.kind,
            "dataset": self.dataset,
            "radius": self.radius,
            "learner": self.recipe.to_dict(),
            "depth": self.depth,
            "time_limit": self.time_limit,
            "seed": self.seed,
            "radius_factor": self.radius_factor,
            "fold": self.fold,
            "folds": self.folds,
            # Cells had no clock once, and keep their keys.
            **({} if self.clock == "wall" else {"clock": self.clock}),
        }

    @classmethod
    def from_fields(cls, given: Fields) -> Self:
        """Inverse of `to_dict`."""
        return cls(
            dataset=given.text("dataset"),
            radius=given.number("radius", least=0),
            recipe=read_recipe(given.table("learner")),
            depth=given.whole("depth"),
            time_limit=given.number("time_limit", least=0),
            seed=given.whole("seed"),
            radius_factor=given.number("radius_factor", least=0),
            fold=given.whole("fold") if given.is_given("fold") else None,
            folds=given.whole("folds", least=2) if given.is_given("folds") else None,
            clock=read_clock(given),
        )

    def run(self, data: Dataset) -> FitOutcome:
        """Fit the tree and score it."""
        part = self._part(data)
        problem = prepare(
            part.X_train,
            part.y_train,
            self.radius * self.radius_factor,
            self.depth,
            feature_names=data.feature_names,
        )
        cpu = time.process_time()
        with counting_cpu_seconds() if self.clock == "cpu" else nullcontext():
            result = solve(
                problem,
                self.recipe.solver,
                time_limit=self.time_limit,
                start=self.recipe.start,
                random_state=self.seed,
                options=self.recipe.options,
            )
        cpu = time.process_time() - cpu
        if result.stopped_by == "interrupt":
            raise KeyboardInterrupt
        is_whole = self.fold is None
        return FitOutcome.of(
            result,
            cpu_seconds=round(cpu, 4),
            n_train=len(part.y_train),
            n_test=len(part.y_test),
            scores=self._scores(result.tree, part),
            nodes=describe_nodes(result.tree, problem) if is_whole else None,
            samples=tuple((*row, float(label)) for row, label in zip(data.X.tolist(), data.y.tolist(), strict=True))
            if is_whole and self.dataset in MADE_UP
            else None,
        )

    def _scores(self, tree: Tree, part: Split) -> Scores:
        return Scores(
            train_accuracy=accuracy(tree, part.X_train, part.y_train),
            train_adversarial_accuracy=adversarial_accuracy(tree, part.X_train, part.y_train, self.radius),
            test_accuracy=accuracy(tree, part.X_test, part.y_test),
            test_adversarial_accuracy=adversarial_accuracy(tree, part.X_test, part.y_test, self.radius),
        )

    def _part(self, data: Dataset) -> Split:
        whole = split(data, self.seed)
        if self.fold is None:
            return whole
        assert self.folds is not None
        fit, score = stratified_folds(whole.y_train, self.folds, self.seed)[self.fold]
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

    @classmethod
    def from_fields(cls, given: Fields) -> Self:
        """Inverse of `to_dict`."""
        return cls(given.text("dataset"), given.number("radius", least=0), given.whole("seed"))

    def run(self, data: Dataset) -> BoundOutcome:
        """Compute the bound."""
        from hardwood.bounds import adversarial_accuracy_bound

        part = split(data, self.seed)
        bound = adversarial_accuracy_bound(part.X_train, part.y_train, self.radius)
        return BoundOutcome.of(bound, len(part.y_train))


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

    @classmethod
    def from_fields(cls, given: Fields) -> Self:
        """Inverse of `to_dict`."""
        return cls(given.text("dataset"))

    def run(self, data: Dataset) -> CurveOutcome:
        """Compute the curve and the radii that the paper's rule chooses."""
        from sklearn.preprocessing import MinMaxScaler

        from hardwood.bounds import epsilon_curve

        return CurveOutcome.of(epsilon_curve(MinMaxScaler().fit_transform(data.X), data.y))


Cell = FitCell | EnsembleCell | BoundCell | CurveCell


def cell_from_fields(given: Fields) -> Cell:
    """Inverse of the cells' ``to_dict``."""
    kinds = {cls.kind: cls for cls in (FitCell, EnsembleCell, BoundCell, CurveCell)}
    if given.text("kind") not in kinds:
        given.refuse("kind", " or ".join(map(repr, kinds)))
    return kinds[given.text("kind")].from_fields(given)


def read_clock(given: Fields) -> str:
    """Return what time limits count."""
    clock = given.text("clock") if given.is_given("clock") else CLOCKS[0]
    if clock not in CLOCKS:
        given.refuse("clock", " or ".join(map(repr, CLOCKS)))
    return clock


def read_recipe(given: Fields) -> Recipe:
    """Inverse of `Recipe.to_dict`."""
    options = plain(given.table("options").data, given.place("options"))
    return Recipe(given.text("solver"), dict(options), given.text("start") if given.is_given("start") else None)


def key_of(cell: Cell) -> str:
    """Return what a cell is found by: a hash of all that its result depends on."""
    # Written as floats all numbers are equal that mean the same, 1 and 1.0.
    text = json.dumps(_with_floats(cell.to_dict()), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _with_floats(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_floats(item) for key, item in value.items()}
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
