"""Every option of every solver, and the settings of `solve` itself, declared in one way and checked in one place.

An `Option` has a name, a default, a kind (type and range) and a meaning. A solver lists its own as ``Solver.options``;
``hardwood solvers`` and the docs print them from there.
"""

from __future__ import annotations

import math
import os
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from hardwood.errors import InvalidInputError

MOST_JOBS = 1024
"""More threads than this are a slip of the pen."""


class Kind(Protocol):
    """A set of allowed values."""

    @property
    def text(self) -> str:
        """What is allowed, as in "it must be ..."."""

    def accepts(self, value: Any) -> bool:
        """Whether a value is allowed; never raises, whatever it is given."""

    def plain(self, value: Any) -> Any:
        """Return an allowed value as plain Python data."""


@dataclass(frozen=True)
class Whole:
    """Whole numbers from `least` to `most`, both included."""

    least: int | None = None
    most: int | None = None

    @property
    def text(self) -> str:
        """What is allowed."""
        if self.least is not None and self.most is not None:
            return f"a whole number from {self.least} to {self.most}"
        return "a whole number" if self.least is None else f"a whole number >= {self.least}"

    def accepts(self, value: Any) -> bool:
        """Whether a value is allowed."""
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            return False
        return bool((self.least is None or value >= self.least) and (self.most is None or value <= self.most))

    def plain(self, value: Any) -> int:
        """Return an int."""
        return int(value)


@dataclass(frozen=True)
class Number:
    """Numbers in an interval; NaN is none of them."""

    least: float = -math.inf
    most: float = math.inf
    above: bool = False
    """Whether `least` itself is excluded."""
    below: bool = False
    """Whether `most` itself is excluded."""
    unit: str = ""

    @property
    def text(self) -> str:
        """What is allowed."""
        what = f"a number of {self.unit}" if self.unit else "a number"
        low = "" if self.least == -math.inf else f" {'>' if self.above else '>='} {self.least:g}"
        high = "" if self.most == math.inf else f" {'<' if self.below else '<='} {self.most:g}"
        return f"{what}{low}{' and' if low and high else ''}{high}"

    def accepts(self, value: Any) -> bool:
        """Whether a value is allowed."""
        if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
            return False
        enough = value > self.least if self.above else value >= self.least
        return bool(enough and (value < self.most if self.below else value <= self.most))

    def plain(self, value: Any) -> float:
        """Return a float, or the int that was given."""
        return int(value) if isinstance(value, int | np.integer) else float(value)


@dataclass(frozen=True)
class Share:
    """A share of something, as a float: 1.0 is all of it, where the whole number 1 would be a count."""

    text: str = "a share > 0 and <= 1"

    def accepts(self, value: Any) -> bool:
        """Whether a value is allowed."""
        return isinstance(value, float | np.floating) and bool(0 < value <= 1)

    def plain(self, value: Any) -> float:
        """Return a float."""
        return float(value)


@dataclass(frozen=True)
class Flag:
    """True or False."""

    text: str = "True or False"

    def accepts(self, value: Any) -> bool:
        """Whether a value is allowed."""
        return isinstance(value, bool | np.bool_)

    def plain(self, value: Any) -> bool:
        """Return a bool."""
        return bool(value)


@dataclass(frozen=True)
class OneOf:
    """One of some words."""

    words: tuple[str, ...]

    @property
    def text(self) -> str:
        """What is allowed."""
        return f"one of {', '.join(map(repr, self.words))}" if len(self.words) > 1 else repr(self.words[0])

    def accepts(self, value: Any) -> bool:
        """Whether a value is allowed."""
        return isinstance(value, str) and value in self.words

    def plain(self, value: Any) -> str:
        """Return a str."""
        return str(value)


@dataclass(frozen=True)
class RisingShares:
    """Numbers between 0 and 1, each larger than the one before."""

    text: str = "a sequence of rising numbers, each > 0 and < 1"

    def accepts(self, value: Any) -> bool:
        """Whether a value is allowed."""
        if isinstance(value, str | bytes) or not isinstance(value, Sequence | np.ndarray):
            return False
        share = Number(0, 1, above=True, below=True)
        shares = list(value)
        return all(map(share.accepts, shares)) and all(a < b for a, b in pairwise(shares))

    def plain(self, value: Any) -> tuple[float, ...]:
        """Return a tuple of floats."""
        return tuple(map(float, value))


@dataclass(frozen=True)
class Instance:
    """Objects of a class."""

    cls: type
    text: str

    def accepts(self, value: Any) -> bool:
        """Whether a value is allowed."""
        return isinstance(value, self.cls)

    def plain(self, value: Any) -> Any:
        """Return the object itself."""
        return value


@dataclass(frozen=True)
class Nothing:
    """None, with what it stands for."""

    meaning: str = ""

    @property
    def text(self) -> str:
        """What is allowed."""
        return f"None ({self.meaning})" if self.meaning else "None"

    def accepts(self, value: Any) -> bool:
        """Whether a value is allowed."""
        return value is None

    def plain(self, value: Any) -> None:
        """Return None."""
        return


class AnyOf:
    """Values of any of some kinds."""

    def __init__(self, *kinds: Kind) -> None:
        self.kinds = kinds

    @property
    def text(self) -> str:
        """What is allowed."""
        words = [kind.text for kind in self.kinds]
        return f"{', '.join(words[:-1])} or {words[-1]}"

    def accepts(self, value: Any) -> bool:
        """Whether a value is allowed."""
        return any(kind.accepts(value) for kind in self.kinds)

    def plain(self, value: Any) -> Any:
        """Return what the first kind that allows the value makes of it."""
        return next(kind for kind in self.kinds if kind.accepts(value)).plain(value)


@dataclass(frozen=True)
class Option:
    """An option of a solver.

    Attributes
    ----------
    name : str
    default : object
    kind : Kind
        Type and range.
    meaning : str
        One line for users.
    """

    name: str
    default: Any
    kind: Kind
    meaning: str

    def check(self, value: Any) -> Any:
        """Return a value as plain Python data, or raise an error that names it and what would be right."""
        if not self.kind.accepts(value):
            raise InvalidInputError(f"{self.name}={shown(value)}; it must be {self.kind.text}")
        return self.kind.plain(value)


def shown(value: Any) -> str:
    """Return how an error message shows a value that may be anything."""
    try:
        return reprlib.repr(value)
    except Exception:
        # A stranger's __repr__ must not hide what the message is about.
        return f"<{type(value).__name__}>"


TIME_LIMIT = Option(
    "time_limit", None, AnyOf(Number(0, unit="seconds"), Nothing("no limit")), "seconds until the best tree is returned"
)
MAX_GAP = Option("max_gap", 0.0, Number(0, 1, below=True), "relative gap between objective and bound that is enough")
RANDOM_STATE = Option("random_state", 0, Whole(0, 2**32 - 1), "seed")
N_JOBS = Option(
    "n_jobs",
    1,
    AnyOf(Nothing("one thread"), Whole(-MOST_JOBS, -1), Whole(1, MOST_JOBS)),
    "threads; -1 for all cores, -2 for all but one",
)


def count_threads(n_jobs: Any) -> int:
    """Return the number of threads that an ``n_jobs`` stands for."""
    n = N_JOBS.check(n_jobs)
    if n is None:
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(n) if n > 0 else max(1, cores + 1 + int(n))


def check_options(declared: Iterable[Option], given: Mapping[str, Any] | None, owner: str) -> dict[str, Any]:
    """Return all options of a solver: what was given, checked, and the defaults of the others.

    Parameters
    ----------
    declared : iterable of Option
    given : mapping or None
    owner : str
        Whose options these are, for messages: "solver 'search'".
    """
    if given is not None and not isinstance(given, Mapping):
        raise InvalidInputError(f"the options of {owner} are {shown(given)}; they must be a mapping of names to values")
    known = {option.name: option for option in declared}
    given = {} if given is None else dict(given)
    unknown = [name for name in given if name not in known]
    if unknown:
        names = ", ".join(map(repr, known)) or "none"
        raise InvalidInputError(f"{owner} has no option {shown(unknown[0])}; its options are: {names}")
    return {name: option.check(given[name]) if name in given else option.default for name, option in known.items()}
