"""What an attack says of one feature: how far it can be moved, in which unit, or what its categories may become."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, Literal

import numpy as np

from hardwood.errors import InvalidInputError

Radii = tuple[float, float]
FeatureKey = str | int
Unit = Literal["raw", "range"]
Moves = tuple[tuple[Any, tuple[Any, ...]], ...]
"""What a category may be changed to: pairs (category, others); None as the category stands for every one."""

_SYMBOLS: dict[str, Radii] = {
    "": (0.0, 0.0),
    "<": (math.inf, 0.0),
    ">": (0.0, math.inf),
    "<>": (math.inf, math.inf),
}
ENTRY_HELP = (
    "a number >= 0, a pair (down, up), a share of the range such as '5%' or '0:5%', '' (untouchable), '<' (may fall), "
    "'>' (may rise) or '<>' (may be anything); for a categorical feature a dict from category to the categories it may "
    "be changed to, or a set of categories"
)


def parse_entry(entry: Any, where: str) -> tuple[Radii, Unit | None]:
    """Read the radii of a feature, and their unit where the entry names one: ``5%`` is a share of the range."""
    if isinstance(entry, str):
        return _parse_text(entry.strip(), where)
    if isinstance(entry, bool | np.bool_):
        raise _unreadable(entry, where)
    if isinstance(entry, Real):
        pair: tuple[Any, ...] = (entry, entry)
    elif isinstance(entry, Sequence | np.ndarray) and len(entry) == 2:
        pair = tuple(entry)
    else:
        raise _unreadable(entry, where)
    if any(isinstance(value, str) for value in pair):
        return _parse_text(":".join(str(value) for value in pair), where)
    return _checked(pair, where), None


def _parse_text(text: str, where: str) -> tuple[Radii, Unit | None]:
    """Read a radius, down:up, each a number or a percentage, or one of the symbols."""
    if text in _SYMBOLS:
        return _SYMBOLS[text], None
    parts = [part.strip() for part in text.split(":")]
    try:
        radii = [float(part.removesuffix("%")) / (100 if part.endswith("%") else 1) for part in parts]
    except ValueError:
        radii = []
    if len(radii) not in (1, 2):
        raise _unreadable(text, where)
    reach = _checked((radii[0], radii[-1]), where)
    # What is nothing or without limit is so in every unit.
    units = {part.endswith("%") for part, radius in zip(parts, radii, strict=True) if 0 < radius < math.inf}
    if len(units) > 1:
        raise InvalidInputError(
            f"the attack on {where} is {text!r}, a percentage one way and a plain radius the other; use one kind"
        )
    return reach, None if not units else "range" if units == {True} else "raw"


def _unreadable(entry: Any, where: str) -> InvalidInputError:
    return InvalidInputError(f"the attack on {where} is {entry!r}; it must be {ENTRY_HELP}")


def _checked(pair: Sequence[Any], where: str) -> Radii:
    for value in pair:
        if not isinstance(value, Real) or math.isnan(float(value)) or float(value) < 0:
            raise InvalidInputError(f"the attack on {where} has the radius {value!r}; a radius must be a number >= 0")
    return float(pair[0]), float(pair[1])


def parse_moves(entry: Any) -> Moves | None:
    """Read what may happen to a categorical feature; None if the entry is not of that kind."""
    if isinstance(entry, Mapping):
        return tuple((plain_value(source), _targets(targets)) for source, targets in entry.items())
    if isinstance(entry, set | frozenset):
        return ((None, tuple(sorted((plain_value(target) for target in entry), key=str))),)
    if isinstance(entry, list | tuple) and len(entry) > 0 and all(isinstance(target, str) for target in entry):
        return None if _are_radii(entry) else ((None, tuple(entry)),)
    return None


def _are_radii(entry: Sequence[str]) -> bool:
    """Whether two texts are radii with a unit, such as ("0", "5%")."""
    return len(entry) == 2 and any(text.strip().endswith("%") for text in entry)


def _targets(targets: Any) -> tuple[Any, ...]:
    if isinstance(targets, str) or not isinstance(targets, Iterable):
        return (plain_value(targets),)
    return tuple(plain_value(target) for target in targets)


def plain_value(label: Any) -> Any:
    """Return labels as plain Python values, so that 1 and numpy.int64(1) are one class."""
    return label.item() if isinstance(label, np.generic) else label


def feature_key(key: Any) -> FeatureKey:
    """Check the name or the index of a feature."""
    if isinstance(key, bool) or not isinstance(key, str | int | np.integer):
        raise InvalidInputError(f"the attack names feature {key!r}; use its name or its index")
    return key if isinstance(key, str) else int(key)


def position(key: FeatureKey, n_features: int, feature_names: Sequence[str] | None) -> int:
    """Return which feature is called by a name or an index; where there are no names, text may hold an index."""
    if isinstance(key, str) and feature_names is None and key.isascii() and key.isdigit():
        key = int(key)
    if isinstance(key, int):
        if not 0 <= key < n_features:
            raise InvalidInputError(f"the attack names feature {key}; features are numbered 0 to {n_features - 1}")
        return key
    if feature_names is None:
        raise InvalidInputError(
            f"the attack names feature {key!r}, but the data has no feature names; use indices or a DataFrame"
        )
    names = list(feature_names)
    if key not in names:
        raise InvalidInputError(f"the attack names feature {key!r}; the features are {', '.join(map(repr, names))}")
    if names.count(key) > 1:
        raise InvalidInputError(f"the attack names feature {key!r}, but {names.count(key)} columns have that name")
    return names.index(key)


def times(factor: float, reach: Radii) -> Radii:
    """Scale radii; an attacker who is scaled to nothing cannot use unbounded reach either."""
    return (0.0, 0.0) if factor == 0 else (factor * reach[0], factor * reach[1])


def share(fraction: float, least: float, most: float) -> float:
    """Return a fraction of a range, whose width may be beyond the largest number; what is unbounded stays so."""
    fraction, least, most = float(fraction), float(least), float(most)
    if math.isinf(fraction):
        return fraction
    width = most - least
    return fraction * width if math.isfinite(width) else fraction * most - fraction * least
