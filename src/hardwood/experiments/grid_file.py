"""Experiments as TOML files: those that come with hardwood, and one's own."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from hardwood.data.datasets import PAPER_RADII
from hardwood.data.fields import Fields
from hardwood.errors import InvalidInputError
from hardwood.evaluation.methods import Method, find_method
from hardwood.experiments.cells import read_clock
from hardwood.experiments.ensembles import ENSEMBLES
from hardwood.experiments.grid import KINDS, Grid
from hardwood.experiments.sets import MADE_UP
from hardwood.files import read_text
from hardwood.solvers.registry import get_solver

TABLE_METHODS = (
    "TREANT",
    "Chen",
    "GROOT",
    "FPRDT",
    "Binary-MILP",
    "Binary-MILP-warm",
    "MILP",
    "MILP-warm",
    "RC2-MaxSAT",
    "LSU-MaxSAT",
    "CP-SAT",
    "search",
    "search, radius chosen",
)
"""What ``methods = "all"`` means, in the order of tables; the six names with MILP and MaxSAT are the paper's."""

_FIELDS = {"kind", "datasets", "radii", "methods", "depths", "folds", "time_limit", "seeds", "bounds", "clock", "quick"}


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
    whole = Fields(settings, f"experiment {name}").only(_FIELDS)
    reduced = whole.table("quick", {}).only(_FIELDS - {"quick"}).data
    replaced = {"datasets": datasets, "methods": methods, "depths": depths, "time_limit": time_limit}
    settings |= reduced if quick else {}
    settings |= {key: value for key, value in replaced.items() if value is not None}
    given = Fields(settings, f"experiment {name}")
    if given.text("kind") not in KINDS:
        given.refuse("kind", f"one of {', '.join(KINDS)}")
    chosen = [] if given.text("kind") == "curve" else _methods(given)
    limit = given.number("time_limit", 1800)
    if limit <= 0:
        given.refuse("time_limit", "a number of seconds above 0")
    return Grid(
        name=f"{label}-quick" if quick and reduced else label,
        kind=given.text("kind"),
        instances=tuple(_instances(given)),
        methods=tuple(method for method in chosen if method.missing is None),
        depths=_depths(given),
        time_limit=float(limit),
        seeds=tuple(given.wholes("seeds", [0])),
        folds=given.whole("folds", 3, least=2),
        bounds=given.flag("bounds", False),
        clock=_clock(given, chosen),
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


def _clock(given: Fields, methods: list[Method]) -> str:
    clock = read_clock(given)
    others = [
        method.name for method in methods if method.recipe is not None and get_solver(method.recipe.solver).engines
    ]
    if clock == "cpu" and others:
        raise InvalidInputError(
            f"{given.where}: {others[0]!r} runs in a process of its own, whose CPU time nobody counts; leave out clock"
        )
    return clock


def _depths(given: Fields) -> tuple[int, ...]:
    depths = tuple(given.wholes("depths", ()))
    if not depths and given.text("kind") != "curve":
        raise InvalidInputError(f"{given.where} names no depths; write, for example, depths = [1, 2, 3]")
    return depths


def _instances(given: Fields) -> Iterator[tuple[str, float]]:
    named = list(PAPER_RADII) if given.data.get("datasets", "paper") == "paper" else given.texts("datasets")
    if not named:
        given.refuse("datasets", 'a list with at least one data set, or "paper"')
    for dataset in named:
        if dataset not in PAPER_RADII and dataset not in MADE_UP:
            known = ", ".join([*PAPER_RADII, *MADE_UP])
            raise InvalidInputError(f"data set {dataset!r} is not known; the sets are {known}")
        for radius in _radii(dataset, given):
            yield dataset, radius


def _radii(dataset: str, given: Fields) -> list[float]:
    radii: Any = given.data.get("radii", "paper")
    if not isinstance(radii, str):
        return [float(radius) for radius in given.numbers("radii", least=0)]
    if radii not in ("paper", "middle"):
        given.refuse("radii", '"paper", "middle" or a list of numbers')
    if dataset not in PAPER_RADII:
        if given.text("kind") == "curve":
            return [0.0]  # a curve has all radii
        raise InvalidInputError(f"the paper has no radii for data set {dataset!r}; give a list of numbers as radii")
    published = PAPER_RADII[dataset]
    return [published[1]] if radii == "middle" else list(published)


def _methods(given: Fields) -> list[Method]:
    wanted = given.data.get("methods", "all")
    if wanted == "all":
        return [find_method(name) for name in TABLE_METHODS]
    if wanted == "anytime":
        # Methods that differ only in what cross validation may choose are one here.
        table = [find_method(name) for name in TABLE_METHODS]
        return [method for method in table if method.anytime and method.radius_factors == (1.0,)]
    chosen = [find_method(name) for name in given.texts("methods")]
    for method in chosen:
        if method.recipe is None and method.name not in ENSEMBLES:
            raise InvalidInputError(f"{given.where}: experiments fit trees by solvers, and {method.name!r} is none")
        if method.recipe is None and given.text("kind") != "selection":
            raise InvalidInputError(f"{given.where}: {method.name!r} is no tree; only a selection takes ensembles")
    return chosen
