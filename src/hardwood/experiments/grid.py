"""Grids: what an experiment runs, from a TOML file, and which of its cells can run next."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

from hardwood.data.datasets import PAPER_RADII
from hardwood.errors import InvalidInputError
from hardwood.experiments.cells import MADE_UP, BoundCell, Cell, CurveCell, FitCell, key_of
from hardwood.experiments.log import Log, Record
from hardwood.experiments.methods import METHODS, Learner, Method, find_methods
from hardwood.files import read_text

KINDS = ("selection", "fit", "curve")
_FIELDS = {"kind", "datasets", "radii", "methods", "depths", "folds", "time_limit", "seeds", "bounds", "quick"}


@dataclass(frozen=True)
class Choice:
    """What cross validation chooses among."""

    depth: int
    radius_factor: float


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
    skipped: dict[str, str] = field(default_factory=dict)

    @property
    def datasets(self) -> list[str]:
        """The data sets, each once."""
        return list(dict.fromkeys(dataset for dataset, _ in self.instances))

    def choices(self, method: Method) -> list[Choice]:
        """Return what cross validation chooses among, the preferred of equals first: shallow, then near the attack."""
        factors = sorted(method.radius_factors, key=lambda factor: (abs(factor - 1), factor))
        return [Choice(d, f) for d in sorted(self.depths) for f in (factors if d > 0 else [1.0])]

    def fit_cell(
        self, instance: tuple[str, float], method: Method, seed: int, choice: Choice, fold: int | None = None
    ) -> FitCell:
        """Return the cell that fits a method's tree on the training part or on all but one fold of it."""
        return FitCell(
            dataset=instance[0],
            radius=instance[1],
            learner=method.learner.at_depth(choice.depth),
            depth=choice.depth,
            time_limit=self.time_limit,
            seed=seed,
            radius_factor=choice.radius_factor,
            fold=fold,
            folds=None if fold is None else self.folds,
        )

    def selected(self, instance: tuple[str, float], method: Method, seed: int, log: Log) -> Choice | None:
        """Return what cross validation chooses: the best mean adversarial accuracy on the held-out folds.

        None as long as a fold has not been run. A choice with a failed fold is out of the question; None if all are.
        """
        best: tuple[float, Choice] | None = None
        for choice in self.choices(method):
            keys = [key_of(self.fit_cell(instance, method, seed, choice, fold)) for fold in range(self.folds)]
            if any(key not in log.cells for key in keys):
                return None
            records = [log.succeeded(key) for key in keys]
            scores = [record["result"]["test_adversarial_accuracy"] for record in records if record is not None]
            if len(scores) < self.folds:
                continue
            # Rounded, so that the order of summation does not break ties.
            score = round(sum(scores) / len(scores), 12)
            if best is None or score > best[0]:
                best = score, choice
        return None if best is None else best[1]

    def final_cell(self, instance: tuple[str, float], method: Method, seed: int, log: Log) -> FitCell | None:
        """Return the cell whose test score a table shows, once it is known which one that is."""
        choice = self.selected(instance, method, seed, log)
        return None if choice is None else self.fit_cell(instance, method, seed, choice)

    def cells(self, log: Log) -> Iterator[Cell]:
        """Yield the cells that are known to belong to the experiment, given the results so far; some more than once."""
        if self.kind == "curve":
            yield from map(CurveCell, self.datasets)
            return
        if self.bounds:
            yield from (BoundCell(*instance, seed) for instance, seed in product(self.instances, self.seeds))
        for instance, seed, method in product(self.instances, self.seeds, self.methods):
            if self.kind == "fit":
                yield from (self.fit_cell(instance, method, seed, Choice(depth, 1.0)) for depth in self.depths)
                continue
            for choice, fold in product(self.choices(method), range(self.folds)):
                yield self.fit_cell(instance, method, seed, choice, fold)
            final = self.final_cell(instance, method, seed, log)
            if final is not None:
                yield final

    def pending(self, log: Log, *, retry_failed: bool = False) -> dict[str, Cell]:
        """Return the cells that can run now and have not been run, by key."""
        wanted = {key_of(cell): cell for cell in self.cells(log)}
        return {
            key: cell for key, cell in wanted.items() if key not in log.cells or (retry_failed and log.has_failed(key))
        }

    def to_record(self) -> Record:
        """Return the line that says in a results file what was run."""
        return {
            "record": "grid",
            "name": self.name,
            "kind": self.kind,
            "instances": [list(instance) for instance in self.instances],
            "methods": [
                {
                    "name": method.name,
                    "learner": method.learner.to_dict(),
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
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Grid:
        """Inverse of `to_record`."""
        return cls(
            name=record["name"],
            kind=record["kind"],
            instances=tuple((dataset, radius) for dataset, radius in record["instances"]),
            methods=tuple(
                Method(
                    entry["name"],
                    Learner.from_dict(entry["learner"]),
                    tuple(entry["radius_factors"]),
                    entry["anytime"],
                )
                for entry in record["methods"]
            ),
            depths=tuple(record["depths"]),
            time_limit=record["time_limit"],
            seeds=tuple(record["seeds"]),
            folds=record["folds"],
            bounds=record["bounds"],
        )


def shipped_grids() -> list[str]:
    """Return the names of the experiments that come with hardwood."""
    names = (entry.name for entry in (files("hardwood.experiments") / "grids").iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def load_grid(
    name: str | os.PathLike[str],
    *,
    quick: bool = False,
    datasets: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    depths: Sequence[int] | None = None,
    time_limit: float | None = None,
) -> Grid:
    """Read an experiment.

    Parameters
    ----------
    name : str or path
        One that comes with hardwood (see `shipped_grids`), or a TOML file of one's own.
    quick : bool
        Take the settings of the file's table ``[quick]`` where it has some.
    datasets, methods, depths, time_limit
        Replace what the file says.
    """
    text, label = _grid_text(name)
    try:
        settings = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInputError(f"experiment {name} is not a TOML file: {error}") from error
    reduced = settings.pop("quick", {})
    unknown = sorted((set(settings) | set(reduced)) - _FIELDS)
    if unknown:
        raise InvalidInputError(
            f"experiment {name} has the entry {unknown[0]!r}; it may have {', '.join(sorted(_FIELDS))}"
        )
    settings |= (reduced if quick else {}) | {
        key: value
        for key, value in (
            ("datasets", datasets),
            ("methods", methods),
            ("depths", depths),
            ("time_limit", time_limit),
        )
        if value is not None
    }
    kind = settings.get("kind")
    if kind not in KINDS:
        raise InvalidInputError(f"experiment {name} has kind={kind!r}; it must be one of {', '.join(KINDS)}")
    chosen = [] if kind == "curve" else _methods(settings.get("methods", "all"))
    return Grid(
        name=f"{label}-quick" if quick and reduced else label,
        kind=kind,
        instances=tuple(_instances(settings.get("datasets", "paper"), settings.get("radii", "paper"))),
        methods=tuple(method for method in chosen if method.missing is None),
        depths=tuple(_whole_numbers(settings.get("depths", ()), "depths", least=0)),
        time_limit=_seconds(settings.get("time_limit", 1800)),
        seeds=tuple(_whole_numbers(settings.get("seeds", [0]), "seeds", least=0)),
        folds=_whole_numbers([settings.get("folds", 3)], "folds", least=2)[0],
        bounds=bool(settings.get("bounds", False)),
        skipped={method.name: method.missing for method in chosen if method.missing is not None},
    )


def _grid_text(name: str | os.PathLike[str]) -> tuple[str, str]:
    if str(name) in shipped_grids():
        return (files("hardwood.experiments") / "grids" / f"{name}.toml").read_text(encoding="utf-8"), str(name)
    path = Path(name)
    if path.suffix != ".toml":
        raise InvalidInputError(
            f"experiment {str(name)!r} is not known; the experiments are {', '.join(shipped_grids())}, or a .toml file"
        )
    return read_text(path, "experiment"), path.stem


def _instances(datasets: Any, radii: Any) -> Iterator[tuple[str, float]]:
    for dataset in list(PAPER_RADII) if datasets == "paper" else datasets:
        if dataset not in PAPER_RADII and dataset not in MADE_UP:
            known = ", ".join([*PAPER_RADII, *MADE_UP])
            raise InvalidInputError(f"data set {dataset!r} is not known; the sets are {known}")
        for radius in _radii(dataset, radii):
            yield dataset, radius


def _radii(dataset: str, radii: Any) -> list[float]:
    if isinstance(radii, str):
        if radii not in ("paper", "middle"):
            raise InvalidInputError(f'radii={radii!r}; it must be "paper", "middle" or a list of numbers')
        if dataset not in PAPER_RADII:
            raise InvalidInputError(f"the paper has no radii for data set {dataset!r}; give a list of numbers as radii")
        published = PAPER_RADII[dataset]
        return [published[1]] if radii == "middle" else list(published)
    for radius in radii:
        if not isinstance(radius, int | float) or isinstance(radius, bool) or not radius >= 0:
            raise InvalidInputError(f"radii holds {radius!r}; a radius is a number >= 0")
    return [float(radius) for radius in radii]


def _methods(wanted: Any) -> list[Method]:
    if wanted == "all":
        return list(METHODS.values())
    if wanted == "anytime":
        # Methods that differ only in what cross validation may choose are one here.
        return [method for method in METHODS.values() if method.anytime and method.radius_factors == (1.0,)]
    return find_methods(wanted)


def _whole_numbers(values: Any, name: str, least: int) -> list[int]:
    for value in values:
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise InvalidInputError(f"{name} holds {value!r}; it must hold whole numbers >= {least}")
    return list(values)


def _seconds(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not value > 0:
        raise InvalidInputError(f"time_limit={value!r}; it must be a number of seconds above 0")
    return float(value)
