"""The methods that experiments compare, by the names under which tables show them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hardwood.errors import InvalidInputError
from hardwood.solvers import registered_solvers


@dataclass(frozen=True)
class Learner:
    """One way to fit a tree: a solver with its options and start. Equal learners share their fits.

    Attributes
    ----------
    solver : str
    options : mapping
    start : None or "greedy"
    """

    solver: str
    options: Mapping[str, Any] = field(default_factory=dict)
    start: str | None = None

    def at_depth(self, depth: int) -> Learner:
        """Return who fits trees of this depth: there is one best leaf, so at depth 0 nobody needs a solver."""
        return self if depth > 0 else CONSTANT

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"solver": self.solver, "options": dict(self.options), "start": self.start}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Learner:
        """Inverse of `to_dict`."""
        return cls(data["solver"], dict(data["options"]), data["start"])


CONSTANT = Learner("greedy")


@dataclass(frozen=True)
class Method:
    """A row of a table: a learner and what cross validation may choose for it.

    Attributes
    ----------
    name : str
    learner : Learner
    radius_factors : tuple of float
        The training radius is one of these multiples of the radius of the attack, chosen like the depth.
    anytime : bool
        Whether it reports trees while it runs, so that its progress over time can be drawn.
    """

    name: str
    learner: Learner
    radius_factors: tuple[float, ...] = (1.0,)
    anytime: bool = True

    @property
    def missing(self) -> str | None:
        """Why the method cannot run here, or None if it can."""
        solver = registered_solvers().get(self.learner.solver)
        if solver is None:
            return f"this version of hardwood has no solver {self.learner.solver!r}"
        wanted = self.learner.options.get("engine")
        engines = [engine for engine in solver.engines if wanted in (None, engine.name)]
        if solver.engines and not engines:
            return f"solver {solver.name!r} has no engine {wanted!r}"
        # Without a wish the first engine is the solver's default.
        if engines and not engines[0].is_installed:
            extra = f"hardwood[{engines[0].extra}]" if engines[0].extra else engines[0].module
            return f"engine {engines[0].name!r} is not installed (pip install '{extra}')"
        return None


def _greedy(name: str, criterion: str) -> Method:
    return Method(name, Learner("greedy", {"criterion": criterion}), anytime=False)


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("TREANT", Learner("treant"), anytime=False),
        _greedy("Chen", "chen"),
        _greedy("GROOT", "groot"),
        _greedy("FPRDT", "adversarial-error"),
        Method("Binary-MILP", Learner("binary-milp")),
        Method("Binary-MILP-warm", Learner("binary-milp", start="greedy")),
        Method("MILP", Learner("milp")),
        Method("MILP-warm", Learner("milp", start="greedy")),
        Method("RC2-MaxSAT", Learner("maxsat-rc2"), anytime=False),
        Method("LSU-MaxSAT", Learner("maxsat-lsu")),
        Method("CP-SAT", Learner("cp-sat")),
        Method("search", Learner("search")),
        Method("search, radius chosen", Learner("search"), radius_factors=(1.0, 1.2, 1.5)),
    )
}
"""All methods in the order in which tables list them. The six names with MILP and MaxSAT are the paper's."""


def find_methods(names: Iterable[str]) -> list[Method]:
    """Return methods by name, whatever the case; an unknown name is an error that lists the known ones."""
    by_name = {name.lower(): method for name, method in METHODS.items()}
    found = []
    for name in names:
        if name.lower() not in by_name:
            raise InvalidInputError(f"method {name!r} is not known; the methods are: {'; '.join(METHODS)}")
        found.append(by_name[name.lower()])
    return found
