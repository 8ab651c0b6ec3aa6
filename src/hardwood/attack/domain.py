"""What values features can have at all, whoever moves them: whole numbers, and bounds.

A count moves from 4 to 5, never to 4.5, and not below 0. So the box of a sample is cut off at the bounds of its
features, and on a feature of whole numbers its ends are the whole numbers inside it::

    lower = ceil(max(x - Δ, minimum))        upper = floor(min(x + Δ, maximum))

Nothing is assumed from the type of a column: an array and the frame made from it mean the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from hardwood.arrays import BoolArray, FloatArray, IntArray
from hardwood.attack.entries import FeatureKey, feature_key, position
from hardwood.attack.relations import Relation
from hardwood.errors import InvalidInputError
from hardwood.plain_data import as_entries, as_items, as_number, as_texts

EVERY = "*"
"""Stands for all features that are not named."""


@dataclass(frozen=True)
class Domain:
    """Which features are whole numbers, and between which bounds features lie.

    Parameters
    ----------
    integer : tuple of (str or int), or "auto"
        Names or indices; ``"*"`` for all features. ``"auto"`` stands for every feature that holds nothing but whole
        numbers in the data that the attack is fitted to.
    minimum, maximum : tuple of (key, float)
        Bounds by name or index; ``"*"`` for all that are not named.
    relations : tuple of Relation
        What holds between features, whatever the attacker does; for evaluation.
    """

    integer: tuple[FeatureKey, ...] | Literal["auto"] = ()
    minimum: tuple[tuple[FeatureKey, float], ...] = ()
    maximum: tuple[tuple[FeatureKey, float], ...] = ()
    relations: tuple[Relation, ...] = ()

    def with_integers(self, features: Any) -> Domain:
        """Return the domain with these features, too, declared to be whole numbers."""
        if isinstance(features, str) and features == "auto":
            return replace(self, integer="auto")
        if isinstance(features, str | int) or not isinstance(features, Iterable):
            raise InvalidInputError(
                f"integer={features!r}; give a list of names or indices of features, or 'auto' for all that hold whole "
                "numbers only"
            )
        keys = [feature_key(key) for key in features]
        known = () if self.integer == "auto" else self.integer
        return replace(self, integer=tuple(dict.fromkeys((*known, *keys))))

    def with_bounds(self, minimum: Any, maximum: Any) -> Domain:
        """Return the domain with further bounds."""
        lows, highs = _bounds(minimum, "minimum"), _bounds(maximum, "maximum")
        return replace(
            self,
            minimum=tuple({**dict(self.minimum), **lows}.items()),
            maximum=tuple({**dict(self.maximum), **highs}.items()),
        )

    def with_relations(self, relations: Any) -> Domain:
        """Return the domain with further relations."""
        if isinstance(relations, str) or not isinstance(relations, Iterable):
            raise InvalidInputError(f"relations={relations!r}; give a list, such as ['open <= total']")
        found = [Relation.parse(relation) for relation in relations]
        return replace(self, relations=tuple(dict.fromkeys((*self.relations, *found))))

    def joined(self, other: Domain) -> Domain:
        """Return what both say; what they say differently of one feature is refused."""
        if "auto" in (self.integer, other.integer):
            integer: Any = "auto"
        else:
            integer = tuple(dict.fromkeys((*self.integer, *other.integer)))
        for name in ("minimum", "maximum"):
            mine, others = dict(getattr(self, name)), dict(getattr(other, name))
            for key in mine.keys() & others.keys():
                if mine[key] != others[key]:
                    raise InvalidInputError(
                        f"the {name} of feature {key!r} is {mine[key]:g} for one class and {others[key]:g} for "
                        "another; bounds belong to the data and are the same for all"
                    )
        return Domain(
            integer,
            tuple({**dict(self.minimum), **dict(other.minimum)}.items()),
            tuple({**dict(self.maximum), **dict(other.maximum)}.items()),
            tuple(dict.fromkeys((*self.relations, *other.relations))),
        )

    def fit(self, X: FloatArray) -> Domain:
        """Find out which features ``"auto"`` stands for."""
        if self.integer != "auto":
            return self
        return replace(self, integer=tuple(int(j) for j in np.flatnonzero(whole_columns(X))))

    def limits(self, n_features: int, feature_names: Sequence[str] | None) -> Limits | None:
        """Return the domain by position of the features; None where it says nothing."""
        if not (self.integer or self.minimum or self.maximum):
            return None
        if self.integer == "auto":
            raise InvalidInputError("which features are whole numbers is to be found out; call attack.fit(X) first")
        integer = np.zeros(n_features, bool)
        for key in self.integer:
            integer[slice(None) if key == EVERY else position(key, n_features, feature_names)] = True
        low = _by_position(self.minimum, -np.inf, n_features, feature_names)
        high = _by_position(self.maximum, np.inf, n_features, feature_names)
        low, high = np.where(integer, np.ceil(low), low), np.where(integer, np.floor(high), high)
        for j in np.flatnonzero(low > high):
            name = int(j) if feature_names is None else feature_names[int(j)]
            raise InvalidInputError(f"no value of feature {name!r} is at least {low[j]:g} and at most {high[j]:g}")
        return Limits(integer, low, high)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: only what is said."""
        found: dict[str, Any] = {}
        if self.integer:
            found["integer"] = "auto" if self.integer == "auto" else list(self.integer)
        for name in ("minimum", "maximum"):
            if getattr(self, name):
                found[name] = [list(pair) for pair in getattr(self, name)]
        if self.relations:
            found["relations"] = [relation.text for relation in self.relations]
        return found

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], where: str) -> Domain:
        """Inverse of `to_dict`; anything else is refused."""
        data = as_entries(data, where, (), DOMAIN_KEYS)
        integer = data.get("integer", ())
        domain = cls().with_integers(integer if integer == "auto" else as_items(integer, f"integer of {where}"))
        bounds = {}
        for name in ("minimum", "maximum"):
            place = f"{name} of {where}"
            pairs = [as_items(pair, place, 2) for pair in as_items(data.get(name, ()), place)]
            bounds[name] = {feature_key(key): as_number(value, place) for key, value in pairs}
        domain = domain.with_bounds(bounds["minimum"], bounds["maximum"])
        return domain.with_relations(as_texts(data.get("relations", ()), f"relations of {where}"))


DOMAIN_KEYS = ("integer", "minimum", "maximum", "relations")


@dataclass(frozen=True, eq=False)
class Limits:
    """A domain by position of the features.

    Attributes
    ----------
    integer : bool array of shape (n_features,)
    minimum, maximum : float array of shape (n_features,)
        Infinite where there is no bound.
    """

    integer: BoolArray
    minimum: FloatArray
    maximum: FloatArray

    def take(self, source: IntArray, is_number: BoolArray) -> Limits:
        """Return the limits of features made from columns; those that are no numbers have none."""
        return Limits(
            self.integer[source] & is_number,
            np.where(is_number, self.minimum[source], -np.inf),
            np.where(is_number, self.maximum[source], np.inf),
        )

    def check(self, matrix: FloatArray, names: Sequence[str] | None) -> None:
        """Refuse samples that are not in the domain; missing values are everywhere."""
        for j in np.flatnonzero(self.integer | np.isfinite(self.minimum) | np.isfinite(self.maximum)):
            column, name = matrix[:, j], repr(names[int(j)]) if names is not None else int(j)
            if self.integer[j]:
                wrong = np.flatnonzero((column != np.rint(column)) & ~np.isnan(column))
                if len(wrong):
                    raise InvalidInputError(
                        f"feature {name} is declared to be whole numbers, but row {wrong[0]} holds {column[wrong[0]]:g}"
                    )
            for bound, is_out, word in (
                (self.minimum[j], column < self.minimum[j], "minimum"),
                (self.maximum[j], column > self.maximum[j], "maximum"),
            ):
                if is_out.any():
                    row = int(np.argmax(is_out))
                    raise InvalidInputError(
                        f"feature {name} has the {word} {bound:g}, but row {row} holds {column[row]:g}"
                    )

    def cut(self, lower: FloatArray, upper: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the ends of boxes inside the domain."""
        lower, upper = np.maximum(lower, self.minimum), np.minimum(upper, self.maximum)
        # Beyond 2^53 every float is a whole number, and ceil and floor leave it as it is.
        return np.where(self.integer, np.ceil(lower), lower), np.where(self.integer, np.floor(upper), upper)


HEAD = 100
"""Rows that tell most columns which are not whole before all are looked at."""


def whole_columns(X: FloatArray) -> BoolArray:
    """Return which columns hold nothing but whole numbers, and at least one."""
    head = X[:HEAD]
    found: BoolArray = ((head == np.rint(head)) | np.isnan(head)).all(axis=0)
    for j in np.flatnonzero(found):
        is_whole = X[:, j] == np.rint(X[:, j])
        found[j] = is_whole.all() or (is_whole.any() and bool((is_whole | np.isnan(X[:, j])).all()))
    return found


def _bounds(bounds: Any, what: str) -> dict[FeatureKey, float]:
    if bounds is None:
        return {}
    if not isinstance(bounds, Mapping):
        bounds = {EVERY: bounds}
    found = {}
    for key, value in bounds.items():
        if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not math.isfinite(value):
            raise InvalidInputError(f"the {what} of feature {key!r} is {value!r}; it must be a finite number")
        found[feature_key(key)] = float(value)
    return found


def _by_position(
    bounds: Sequence[tuple[FeatureKey, float]], default: float, n_features: int, names: Sequence[str] | None
) -> FloatArray:
    by_key = dict(bounds)
    found = np.full(n_features, by_key.pop(EVERY, default))
    for key, value in by_key.items():
        found[position(key, n_features, names)] = value
    return found
