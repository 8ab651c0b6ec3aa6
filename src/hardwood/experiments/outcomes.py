"""What came out of a cell, as typed records; the fields are those of the results file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np

from hardwood.bounds import AccuracyBound, EpsilonCurve
from hardwood.data.fields import Fields
from hardwood.errors import InvalidInputError
from hardwood.evaluation.nodes import NodeReach
from hardwood.export.tree_data import tree_from_data, tree_to_data
from hardwood.plain_data import as_items, as_number, plain
from hardwood.solvers.result import Result, Status
from hardwood.tree.tree import Tree

MOST_TRACE_POINTS = 200

TraceRow = tuple[float, float | None, float | None]
"""Seconds, objective and bound, None where there is none yet."""


@dataclass(frozen=True)
class Scores:
    """Accuracy of a tree on both parts of a set, as it is and under attack."""

    train_accuracy: float
    train_adversarial_accuracy: float
    test_accuracy: float
    test_adversarial_accuracy: float


@dataclass(frozen=True)
class FitOutcome:
    """A tree, how it was found, and how good it is.

    Attributes
    ----------
    status : Status
    objective : float
    bound, gap : float or None
        None where nothing is proven.
    stopped_by : str
    seconds, cpu_seconds : float
    trace : tuple of (seconds, objective, bound)
    n_train, n_test : int
    scores : Scores
    tree : Tree
    nodes : tuple of NodeReach or None
        None for fits on folds.
    samples : tuple of rows or None
        The samples with their classes, for small sets that are drawn.
    """

    kind: ClassVar[str] = "fit"
    status: Status
    objective: float
    bound: float | None
    gap: float | None
    stopped_by: str
    seconds: float
    cpu_seconds: float
    trace: tuple[TraceRow, ...]
    n_train: int
    n_test: int
    scores: Scores
    tree: Tree
    nodes: tuple[NodeReach, ...] | None = None
    samples: tuple[tuple[float, ...], ...] | None = None

    @classmethod
    def of(cls, result: Result, **others: Any) -> Self:
        """Take over what a solver says about its result."""
        return cls(
            status=result.status,
            objective=result.objective,
            bound=_finite(result.bound),
            gap=_finite(result.gap),
            stopped_by=str(result.stopped_by),
            seconds=round(result.runtime, 4),
            trace=_thinned(
                [(round(point.seconds, 4), _finite(point.objective), _finite(point.bound)) for point in result.trace]
            ),
            tree=result.tree,
            **others,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        found = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "scores"}
        found |= asdict(self.scores)
        found |= {"status": self.status.value, "trace": [list(row) for row in self.trace]}
        found["tree"] = tree_to_data(self.tree)
        if self.nodes is None:
            del found["nodes"]
        else:
            found["nodes"] = [node.to_dict() for node in self.nodes]
        if self.samples is None:
            del found["samples"]
        else:
            found["samples"] = [list(row) for row in self.samples]
        return found

    @classmethod
    def from_fields(cls, given: Fields) -> Self:
        """Inverse of `to_dict`."""
        statuses = {status.value: status for status in Status}
        if given.text("status") not in statuses:
            given.refuse("status", " or ".join(map(repr, statuses)))
        return cls(
            status=statuses[given.text("status")],
            objective=given.number("objective"),
            bound=given.number_or_nothing("bound"),
            gap=given.number_or_nothing("gap"),
            stopped_by=given.text("stopped_by"),
            seconds=given.number("seconds"),
            cpu_seconds=given.number("cpu_seconds"),
            trace=_read_trace(given),
            n_train=given.whole("n_train", least=1),
            n_test=given.whole("n_test"),
            scores=Scores(**{field.name: given.number(field.name) for field in fields(Scores)}),
            tree=tree_from_data(given.table("tree").data, given.place("tree")),
            nodes=tuple(map(NodeReach.from_fields, given.tables("nodes"))) if given.is_given("nodes") else None,
            samples=_read_rows(given, "samples") if given.is_given("samples") else None,
        )


@dataclass(frozen=True)
class EnsembleOutcome:
    """An ensemble that cross validation chose, and how good it is.

    Attributes
    ----------
    chosen : dict
        The parameters that were chosen.
    chosen_by : float
        Their mean accuracy under attack on the folds.
    n_trees : int
    n_open : int
        Test samples without a verdict; they count as lost.
    seconds, cpu_seconds : float
        Of the choice and the final fit.
    n_train, n_test : int
    scores : Scores
        Accuracies under attack are what was proven.
    """

    kind: ClassVar[str] = "ensemble"
    chosen: dict[str, Any]
    chosen_by: float
    n_trees: int
    n_open: int
    seconds: float
    cpu_seconds: float
    n_train: int
    n_test: int
    scores: Scores

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        found = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "scores"}
        return found | asdict(self.scores)

    @classmethod
    def from_fields(cls, given: Fields) -> Self:
        """Inverse of `to_dict`."""
        return cls(
            chosen=dict(plain(given.table("chosen").data, given.place("chosen"))),
            chosen_by=given.number("chosen_by"),
            n_trees=given.whole("n_trees"),
            n_open=given.whole("n_open"),
            seconds=given.number("seconds"),
            cpu_seconds=given.number("cpu_seconds"),
            n_train=given.whole("n_train", least=1),
            n_test=given.whole("n_test"),
            scores=Scores(**{field.name: given.number(field.name) for field in fields(Scores)}),
        )


@dataclass(frozen=True)
class BoundOutcome:
    """What no model can exceed on the training part: errors, accuracy, and the accuracy of the best leaf (`floor`)."""

    kind: ClassVar[str] = "bound"
    errors: float
    bound: float
    floor: float
    n_train: int

    @classmethod
    def of(cls, bound: AccuracyBound, n_train: int) -> Self:
        """Take over a bound."""
        return cls(bound.errors, bound.bound, bound.majority_share, n_train)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)

    @classmethod
    def from_fields(cls, given: Fields) -> Self:
        """Inverse of `to_dict`."""
        return cls(given.number("errors"), given.number("bound"), given.number("floor"), given.whole("n_train"))


@dataclass(frozen=True)
class CurveOutcome:
    """The bound over many radii (`hardwood.bounds.EpsilonCurve`), and the radii that the paper's rule chooses."""

    kind: ClassVar[str] = "curve"
    epsilons: tuple[float, ...]
    bound: tuple[float, ...]
    errors: tuple[float, ...]
    unattacked_errors: float
    total_weight: float
    floor: float
    chosen: tuple[float, ...]

    @classmethod
    def of(cls, curve: EpsilonCurve) -> Self:
        """Take over a curve."""
        return cls.from_fields(Fields({**curve.to_dict(), "chosen": curve.choose().tolist()}, "curve"))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}

    @classmethod
    def from_fields(cls, given: Fields) -> Self:
        """Inverse of `to_dict`."""
        lists = {name: tuple(given.numbers(name)) for name in ("epsilons", "bound", "errors", "chosen")}
        if not len(lists["epsilons"]) == len(lists["bound"]) == len(lists["errors"]):
            raise InvalidInputError(f"{given.where}: epsilons, bound and errors are of different lengths")
        if not set(lists["chosen"]) <= set(lists["epsilons"]):
            given.refuse("chosen", "radii of the curve")
        return cls(
            **lists,
            unattacked_errors=given.number("unattacked_errors"),
            total_weight=given.number("total_weight"),
            floor=given.number("floor"),
        )


@dataclass(frozen=True)
class Failure:
    """What went wrong in a cell."""

    error: str
    traceback: str = ""


Outcome = FitOutcome | EnsembleOutcome | BoundOutcome | CurveOutcome


def outcome_from_fields(kind: str, given: Fields) -> Outcome:
    """Read what came out of a cell of that kind."""
    return {cls.kind: cls for cls in (FitOutcome, EnsembleOutcome, BoundOutcome, CurveOutcome)}[kind].from_fields(given)


def _read_trace(given: Fields) -> tuple[TraceRow, ...]:
    where = given.place("trace")
    found: list[TraceRow] = []
    for row in given.items("trace"):
        seconds, objective, bound = as_items(row, where, 3)
        known = _number_or_nothing(objective, where), _number_or_nothing(bound, where)
        found.append((as_number(seconds, where), *known))
    if not found:
        given.refuse("trace", "a list with at least one entry")
    return tuple(found)


def _number_or_nothing(value: Any, where: str) -> float | None:
    return None if value is None else as_number(value, where)


def _read_rows(given: Fields, name: str) -> tuple[tuple[float, ...], ...]:
    where = given.place(name)
    return tuple(tuple(as_number(value, where) for value in as_items(row, where)) for row in given.items(name))


def _thinned(points: Sequence[TraceRow]) -> tuple[TraceRow, ...]:
    """Keep at most `MOST_TRACE_POINTS`, evenly by position and always the first and the last."""
    if len(points) <= MOST_TRACE_POINTS:
        return tuple(points)
    kept = np.unique(np.linspace(0, len(points) - 1, MOST_TRACE_POINTS).astype(int))
    return tuple(points[k] for k in kept)


def _finite(value: float) -> float | None:
    """Return the number, or None for what JSON cannot say."""
    return float(value) if math.isfinite(value) else None
