"""Grids: what an experiment runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

from hardwood.data.fields import Fields
from hardwood.evaluation.methods import Method, Recipe, find_method
from hardwood.evaluation.selection import Candidate, combinations
from hardwood.experiments.cells import CLOCKS, FitCell, read_clock, read_recipe
from hardwood.experiments.ensembles import EnsembleCell
from hardwood.plain_data import as_items, as_number, as_text

KINDS = ("selection", "fit", "curve")
CONSTANT = Recipe("greedy")
"""Who fits trees of depth 0: there is one best leaf, so nobody needs a solver."""


@dataclass(frozen=True)
class Grid:
    """An experiment: instances × methods × depths × seeds.

    Attributes
    ----------
    name : str
    kind : {"selection", "fit", "curve"}
        Select depth and training radius by cross validation and score on the test part; fit every depth on the training
        part; or bound the accuracy of every model over many radii.
    instances : tuple of (str, float)
        Data sets with radii.
    methods : tuple of Method
    depths : tuple of int
    time_limit : float
        Seconds per fit.
    clock : {"wall", "cpu"}
        Which seconds these are for trees.
    seeds : tuple of int
    folds : int
    bounds : bool
        Whether the bound for every model is computed as well.
    skipped : dict
        Methods that cannot run here, with the reason.
    """

    name: str
    kind: str
    instances: tuple[tuple[str, float], ...]
    methods: tuple[Method, ...] = ()
    depths: tuple[int, ...] = ()
    time_limit: float = 1800.0
    seeds: tuple[int, ...] = (0,)
    folds: int = 3
    bounds: bool = False
    clock: str = "wall"
    skipped: dict[str, str] = field(default_factory=dict, compare=False)

    @property
    def datasets(self) -> list[str]:
        """The data sets, each once."""
        return list(dict.fromkeys(dataset for dataset, _ in self.instances))

    @property
    def limit(self) -> str:
        """The limit of a fit, in words."""
        return f"{self.time_limit:g} s{' of CPU time' if self.clock == 'cpu' else ''}"

    def candidates(self, method: Method) -> list[Candidate]:
        """Return what cross validation chooses among, the preferred of equals first."""
        return combinations(self.depths, method.radius_factors)

    def fit_cell(
        self, instance: tuple[str, float], method: Method, seed: int, candidate: Candidate, fold: int | None = None
    ) -> FitCell:
        """Return the cell that fits a method's tree on the training part or on all but one fold of it."""
        assert method.recipe is not None
        return FitCell(
            dataset=instance[0],
            radius=instance[1],
            recipe=method.recipe if candidate.max_depth > 0 else CONSTANT,
            depth=candidate.max_depth,
            time_limit=self.time_limit,
            seed=seed,
            radius_factor=candidate.radius_factor,
            fold=fold,
            folds=None if fold is None else self.folds,
            # A leaf is found at once, whatever clock is looked at.
            clock=self.clock if candidate.max_depth > 0 else CLOCKS[0],
        )

    def ensemble_cell(self, instance: tuple[str, float], method: Method, seed: int) -> EnsembleCell:
        """Return the cell that chooses and learns an ensemble."""
        return EnsembleCell.of(*instance, method.name, self.time_limit, seed, self.folds)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "name": self.name,
            "kind": self.kind,
            "instances": [list(instance) for instance in self.instances],
            "methods": [
                {
                    "name": method.name,
                    "learner": None if method.recipe is None else method.recipe.to_dict(),
                    "radius_factors": list(method.radius_factors),
                    "anytime": method.anytime,
                }
                for method in self.methods
            ],
            "depths": list(self.depths),
            "time_limit": self.time_limit,
            "seeds": list(self.seeds),
            "folds": self.folds,
            "bounds": self.bounds,
            "clock": self.clock,
        }

    @classmethod
    def from_fields(cls, given: Fields) -> Self:
        """Inverse of `to_dict`."""
        if given.text("kind") not in KINDS:
            given.refuse("kind", " or ".join(map(repr, KINDS)))
        return cls(
            name=given.text("name"),
            kind=given.text("kind"),
            instances=_read_instances(given),
            methods=tuple(map(_read_method, given.tables("methods"))),
            depths=tuple(given.wholes("depths")),
            time_limit=given.number("time_limit", least=0),
            seeds=tuple(given.wholes("seeds")),
            folds=given.whole("folds", least=2),
            bounds=given.flag("bounds"),
            clock=read_clock(given),
        )


def _read_instances(given: Fields) -> tuple[tuple[str, float], ...]:
    where = given.place("instances")
    pairs = (as_items(entry, where, 2) for entry in given.items("instances"))
    return tuple((as_text(dataset, where), as_number(radius, where, 0)) for dataset, radius in pairs)


def _read_method(given: Fields) -> Method:
    if not given.is_given("learner"):
        return find_method(given.text("name"))
    return Method(
        given.text("name"),
        read_recipe(given.table("learner")),
        tuple(given.numbers("radius_factors", least=0)),
        given.flag("anytime"),
    )
