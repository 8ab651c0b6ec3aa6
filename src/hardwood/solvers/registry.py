"""What a solver is, and which ones there are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar

from hardwood.errors import InvalidInputError, MissingEngineError
from hardwood.problem.problem import Problem
from hardwood.solvers.options import Option, shown
from hardwood.tree.reach import objective
from hardwood.tree.tree import Tree

if TYPE_CHECKING:
    from hardwood.solvers.run import Run


@dataclass(frozen=True)
class Engine:
    """A third-party library that a solver can run on."""

    name: str
    module: str
    extra: str | None = None
    package: str | None = None

    @property
    def is_installed(self) -> bool:
        """Whether the library can be imported; found without importing it."""
        return find_spec(self.module) is not None

    def require(self) -> None:
        """Raise an error that says how to install the library if it is missing."""
        if not self.is_installed:
            what = f"hardwood[{self.extra}]" if self.extra else self.package or self.module
            raise MissingEngineError(f"engine {self.name!r} is not installed; install it with: pip install '{what}'")


class Solver(ABC):
    """A way to find robust trees: one method, `_run`, which reports trees and bounds as it finds them.

    Class attributes
    ----------------
    name : str
        What users write as ``solver=``.
    summary : str
        One line for ``hardwood solvers``.
    proves : bool
        Whether it can prove optimality.
    ranks_ends : bool
        Whether it works on the ranks of all ends, which are then there when it begins.
    engines : tuple of Engine
        Libraries it can run on, the default first; empty if it is all our own.
    options : tuple of Option
        Options it takes.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    proves: ClassVar[bool] = True
    ranks_ends: ClassVar[bool] = True
    engines: ClassVar[tuple[Engine, ...]] = ()
    options: ClassVar[tuple[Option, ...]] = ()
    supports_float_weights: ClassVar[bool] = True
    supports_leaf_penalty: ClassVar[bool] = False
    supports_leaf_limits: ClassVar[bool] = False
    supports_spreading: ClassVar[bool] = False
    supports_prices: ClassVar[bool] = False

    @abstractmethod
    def _run(self, problem: Problem, run: Run) -> None:
        """Search; report trees and bounds to `run`; return when done or when ``run.should_stop()``."""

    @property
    def defaults(self) -> Mapping[str, Any]:
        """Options by name, with their default values."""
        return {option.name: option.default for option in self.options}

    def plan(self, run: Run) -> str | None:
        """Return what the solver will do, in words, where that depends on the size of the data; None otherwise."""
        return None

    def look_first(self, run: Run) -> None:
        """Report what is known before the ends of all boxes are ranked, which takes time and memory."""
        return

    def needs_ranks(self, run: Run) -> bool:
        """Whether the ends of all features have to be ranked before the solver begins."""
        return self.ranks_ends

    def bounds_any_model(self, run: Run) -> bool:
        """Whether the solver itself reports the bound of any model, so that nobody else need compute it."""
        return False

    def judge(self, problem: Problem, options: Mapping[str, Any]) -> Callable[[Tree], float]:
        """Return what says how much a tree costs: the weighted robust errors and the leaf penalty, unless overridden.

        A solver against another kind of attacker than the problem's boxes counts in its own way.
        """
        return lambda tree: objective(tree, problem)

    def check(self, problem: Problem) -> None:
        """Raise if the problem asks for something that this solver cannot do."""
        for asked, can, what in (
            (
                not problem.has_integer_weights,
                self.supports_float_weights,
                "weights that are not whole numbers",
            ),
            (problem.leaf_penalty > 0, self.supports_leaf_penalty, "leaf_penalty"),
            (problem.leaf_limit_name is not None, self.supports_leaf_limits, str(problem.leaf_limit_name)),
            (problem.prices is not None, self.supports_prices, "attackers with a budget or one-hot groups"),
        ):
            if asked and not can:
                raise InvalidInputError(f"solver {self.name!r} does not support {what}; use solver='search'")


_REGISTRY: dict[str, type[Solver]] = {}


def register(cls: type[Solver]) -> type[Solver]:
    """Class decorator: make a solver known under its name."""
    _REGISTRY[cls.name] = cls
    return cls


def registered_solvers() -> dict[str, type[Solver]]:
    """Return all known solvers by name."""
    return dict(_REGISTRY)


def get_solver(name: str) -> Solver:
    """Return the solver of that name."""
    if not isinstance(name, str) or name not in _REGISTRY:
        raise InvalidInputError(f"solver={shown(name)} is not known; the solvers are {', '.join(map(repr, _REGISTRY))}")
    return _REGISTRY[name]()


def options_table() -> str:
    """Return all options of all solvers as a Markdown table, for the docs."""
    lines = ["| solver | option | default | allowed | what it is |", "| --- | --- | --- | --- | --- |"]
    for name, cls in _REGISTRY.items():
        for option in cls.options:
            cells = (f"`{name}`", f"`{option.name}`", f"`{option.default!r}`", option.kind.text, option.meaning)
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
