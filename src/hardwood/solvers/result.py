"""What a solver brings back: a tree, what it costs, and how much of that is proven."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Any

from hardwood.errors import InvalidInputError
from hardwood.markup import card, escaped, sparkline
from hardwood.tree.conversion import to_indices
from hardwood.tree.index_tree import IndexTree
from hardwood.tree.tree import Tree

if TYPE_CHECKING:
    from hardwood.problem.problem import Problem


class Status(Enum):
    """What is known about a result."""

    OPTIMAL = "optimal"
    """No tree of the allowed depth has a lower objective: bound and objective meet, within `Result.tolerance`."""
    FEASIBLE = "feasible"
    """The tree is valid and its objective verified; a better one may exist."""


class EndReason(StrEnum):
    """Why a run ended; its text is what people and files are shown."""

    PROOF = "proof"
    """Bound and objective have met."""
    TIME_LIMIT = "time limit"
    INTERRUPT = "interrupt"
    """Ctrl-C."""
    GAP = "gap"
    """The gap is as small as was asked for."""
    HEURISTIC = "heuristic"
    """The solver is done, and proving is not what it does."""
    STOPPED = "solver stopped"
    """A solver that can prove ended by itself, before its proof was complete."""
    FAILURE = "failure"
    """The solver failed; `Result.failure` says how."""


@dataclass(frozen=True)
class TracePoint:
    """What was known at one moment: seconds since the start, best objective, proven lower bound."""

    seconds: float
    objective: float
    bound: float


@dataclass(frozen=True, repr=False)
class Result:
    """Outcome of `hardwood.solvers.solve`.

    Attributes
    ----------
    tree : Tree
        The best tree found, thresholds at maximum margin.
    status : Status
    objective : float
        Weighted robust errors of `tree` on the training data plus the leaf penalty, recomputed from the tree itself.
    bound : float
        Proven lower bound on the objective of every tree of the allowed depth.
    trace : tuple of TracePoint
        Every improvement of objective or bound.
    runtime : float
        Seconds from the call to the end.
    solver : str
    stopped_by : EndReason
        Why it ended; compares equal to its text, e.g. "time limit".
    failure : str or None
        What went wrong, if `stopped_by` is `EndReason.FAILURE`.
    tolerance : float
        Where weights are whole numbers, 0: an optimal objective equals its bound. Otherwise the distance, in units of
        the objective, within which the two count as equal, so that "optimal" means: no tree is better by more than
        this. One part in 10⁹ of the objective, or more where the solver's arithmetic is coarser.
    stats : dict
        Counters of the solver, for profiling.
    plan : str or None
        What the solver said at the start that it would do, where that depends on the size of the data.
    problem : Problem or None
        What was solved, so that a proof can be written; not kept of large data, nor in copies that are stored.
    """

    tree: Tree
    status: Status
    objective: float
    bound: float
    trace: tuple[TracePoint, ...]
    runtime: float
    solver: str
    stopped_by: EndReason
    stats: dict[str, Any] = field(default_factory=dict)
    failure: str | None = None
    tolerance: float = 0.0
    plan: str | None = None
    problem: Problem | None = field(default=None, repr=False, compare=False)

    @property
    def index_tree(self) -> IndexTree:
        """The same tree in indices of the ends of the problem's boxes, where the problem is kept."""
        if self.problem is None:
            raise InvalidInputError(
                "the result does not hold its data any more; hardwood.tree.conversion.to_indices(tree, problem) gives "
                "the tree in the ends of a problem"
            )
        return to_indices(self.tree, self.problem)

    @property
    def gap(self) -> float:
        """Relative distance ``(objective - bound) / objective``; 0 for a proven optimum."""
        if self.objective <= self.bound:
            return 0.0
        return (self.objective - self.bound) / self.objective

    @property
    def proof_text(self) -> str:
        """What is proven, in a few words, with the tolerance where there is one."""
        if self.status is not Status.OPTIMAL:
            return f"bound {self.bound:g}, gap {self.gap:.1%}"
        return "proven optimal" if self.tolerance == 0 else f"proven optimal within {self.tolerance:.1g}"

    def summary(self) -> str:
        """One line for people."""
        ended = self.stopped_by if self.failure is None else f"{self.stopped_by}: {self.failure}"
        return (
            f"{self.solver}: {self.objective:g} robust errors, {self.proof_text}, {self.tree.n_leaves} leaves, "
            f"{self.runtime:.2f} s (ended by {ended})"
        )

    def __repr__(self) -> str:
        # Trees and traces would fill the screen.
        return f"Result({self.summary()})"

    def _repr_html_(self) -> str:
        """Return what notebooks show: one line, and how objective and bound went."""
        traces = [[(p.seconds, p.objective) for p in self.trace], [(p.seconds, p.bound) for p in self.trace]]
        for trace, last in zip(traces, (self.objective, self.bound), strict=True):
            trace.append((self.runtime, last))
        return card("", escaped(self.summary()), " ", sparkline(traces, "objective and bound over time", steps=True))

    def __getstate__(self) -> dict[str, Any]:
        # A stored model must not carry the data that it was learned from.
        return {**self.__dict__, "problem": None}

    def write_proof(
        self, path: str | os.PathLike[str], *, target: str | None = None, time_limit: float | None = None
    ) -> None:
        """Write a file from which anyone can check `bound` and `objective`, without this program.

        The search proves the bound once more and writes down what it rests on; see docs/proofs.md.

        Parameters
        ----------
        path : path of the file; written whole or not at all
        target : str or None
            Name of the column with the labels, for whoever checks the proof against a CSV file.
        time_limit : float or None
            Seconds; when they are over, no file is written and `SolverError` raised.
        """
        from hardwood.proofs.writer import write_proof

        if self.problem is None:
            raise InvalidInputError(
                "this result does not know its data any more; solve again, and for large data with proof=... at once"
            )
        write_proof(self.problem, self.tree, self.bound, path, target=target, time_limit=time_limit)
