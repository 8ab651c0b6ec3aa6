"""What changes cost, and what an attacker can spend on one sample.

A feature that is moved costs its price times the distance (weighted L1), or its price once, however far it goes; all
changes to a sample together cost at most the budget. ``with_budget(features=k)``, at most k features change, is the
price 1, once, for every feature and a budget of k. A one-hot group, or a categorical feature, is one feature whose
change costs its price once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hardwood.arrays import BoolArray, FloatArray
from hardwood.attack.domain import EVERY
from hardwood.attack.entries import FeatureKey, feature_key, position
from hardwood.errors import InvalidInputError
from hardwood.plain_data import as_entries, as_flag, as_items, as_number

PerSample = float | tuple[float, ...]
"""One number for all samples, or one for each."""
SLACK = 1e-9
"""A sum of prices may be above the budget by this share of it, which is rounding."""


@dataclass(frozen=True)
class Price:
    """What it costs to change a feature: per unit of distance, or once.

    Parameters
    ----------
    amount : float or tuple of float
        For all samples, or for each.
    once : bool
    """

    amount: PerSample
    once: bool = False

    @classmethod
    def parse(cls, price: Any, where: str) -> Price:
        """Read a number (per unit), ``{"once": number}``, or ``"once 2"``; an array has a number for each sample."""
        if isinstance(price, Price):
            return price
        if isinstance(price, Mapping) and set(price) == {"once"}:
            return cls(_amount(price["once"], where), once=True)
        if isinstance(price, str):
            word, _, rest = price.strip().partition(" ")
            try:
                return cls(_amount(float(rest or 1), where), once=True) if word == "once" else cls(float(price))
            except ValueError:
                raise InvalidInputError(f"{where} is {price!r}; write a number, or 'once 2'") from None
        return cls(_amount(price, where))


@dataclass(frozen=True)
class Budget:
    """What an attacker can spend on one sample, and what changes cost.

    Parameters
    ----------
    total : float or tuple of float
        For all samples, or for each.
    cost : tuple of (key, Price)
        Prices by feature; ``"*"`` for all that are not named.
    counts_features : bool
        Whether it was given as a number of features, for its words.
    """

    total: PerSample
    cost: tuple[tuple[FeatureKey, Price], ...]
    counts_features: bool = False

    @classmethod
    def parse(cls, features: Any, total: Any, cost: Any) -> Budget:
        """Check what a user wrote."""
        if (features is None) == (total is None):
            raise InvalidInputError(
                "a budget is a number of features (features=k) or a sum of prices (total=B, cost=...)"
            )
        if features is not None:
            if cost is not None:
                raise InvalidInputError("features=k counts changes; prices go with total=B")
            if isinstance(features, bool) or not isinstance(features, int | np.integer) or features < 0:
                raise InvalidInputError(f"features={features!r}; it must be a whole number >= 0")
            return cls(float(features), ((EVERY, Price(1.0, once=True)),), counts_features=True)
        if cost is None:
            raise InvalidInputError(
                "a budget needs prices: cost={'links': 1, 'length': {'once': 2}}, '*' for all others"
            )
        prices = cost if isinstance(cost, Mapping) else {EVERY: cost}
        return cls(
            _amount(total, "the budget"),
            tuple((feature_key(key), Price.parse(price, f"the price of {key!r}")) for key, price in prices.items()),
        )

    def totals(self, n_samples: int) -> FloatArray:
        """Return what can be spent on each sample."""
        return _per_sample(self.total, n_samples, "the budget")

    def prices(
        self, n_samples: int, n_features: int, names: Sequence[str] | None, moved: BoolArray
    ) -> tuple[FloatArray, BoolArray]:
        """Return price and whether it is paid once, of shape (n_samples, n_features) and (n_features,).

        Parameters
        ----------
        moved : bool array of shape (n_features,)
            Features that the attacker can move at all: each of them must have a price.
        """
        by_key = dict(self.cost)
        other = by_key.pop(EVERY, None)
        found: list[Price | None] = [other] * n_features
        for key, price in by_key.items():
            found[position(key, n_features, names)] = price
        amount, once = np.zeros((n_samples, n_features)), np.zeros(n_features, bool)
        for j, price_of_j in enumerate(found):
            if price_of_j is None:
                if moved[j]:
                    name = j if names is None else names[j]
                    raise InvalidInputError(
                        f"the attacker can change feature {name!r}, but the budget has no price for it; name it in "
                        "cost, or give one for all others as '*'"
                    )
                continue
            amount[:, j] = _per_sample(price_of_j.amount, n_samples, f"the price of feature {j}")
            once[j] = price_of_j.once
        return amount, once

    def names(self, feature: int, n_features: int, names: Sequence[str] | None) -> bool:
        """Whether a feature has a price, its own or that of all others."""
        keys = [key for key, _ in self.cost]
        return EVERY in keys or feature in [position(key, n_features, names) for key in keys]

    def take(self, rows: Any) -> Budget:
        """Return the budget of some of the samples."""

        def part(amount: PerSample) -> PerSample:
            return tuple(np.asarray(amount)[rows].tolist()) if isinstance(amount, tuple) else amount

        cost = tuple((key, replace(price, amount=part(price.amount))) for key, price in self.cost)
        return replace(self, total=part(self.total), cost=cost)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""

        def plain(amount: PerSample) -> Any:
            return list(amount) if isinstance(amount, tuple) else amount

        return {
            "total": plain(self.total),
            "cost": [[key, plain(price.amount), price.once] for key, price in self.cost],
            "counts_features": self.counts_features,
        }

    @classmethod
    def from_dict(cls, data: Any, where: str) -> Budget:
        """Inverse of `to_dict`; anything else is refused."""
        data = as_entries(data, where, ("total", "cost", "counts_features"))

        def amount(value: Any) -> PerSample:
            if isinstance(value, list):
                return tuple(as_number(number, where, 0) for number in value)
            return as_number(value, where, 0)

        cost = [as_items(entry, f"cost of {where}", 3) for entry in as_items(data["cost"], f"cost of {where}")]
        return cls(
            amount(data["total"]),
            tuple((feature_key(key), Price(amount(value), as_flag(once, where))) for key, value, once in cost),
            as_flag(data["counts_features"], where),
        )


def _amount(amount: Any, where: str) -> PerSample:
    if isinstance(amount, bool | str):
        raise InvalidInputError(f"{where} is {amount!r}; it must be a number >= 0, or one for each sample")
    try:
        numbers = np.asarray(amount, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    if numbers.ndim > 1 or not np.all(numbers >= 0) or not np.all(np.isfinite(numbers)):
        raise InvalidInputError(f"{where} is {amount!r}; it must be a finite number >= 0, or one for each sample")
    return float(numbers) if numbers.ndim == 0 else tuple(numbers.tolist())


def _per_sample(amount: PerSample, n_samples: int, what: str) -> FloatArray:
    if isinstance(amount, tuple):
        if len(amount) != n_samples:
            raise InvalidInputError(f"{what} is given for {len(amount)} samples, the data has {n_samples}")
        return np.array(amount)
    return np.full(n_samples, amount)


def amount_to_text(amount: PerSample) -> str:
    """Say an amount in words."""
    if isinstance(amount, tuple):
        return f"{min(amount, default=0):g} to {max(amount, default=0):g}, by sample"
    return "any amount" if math.isinf(amount) else f"{amount:g}"
