"""What an attacker can do to each feature.

An attacker may move sample ``x`` inside the box ``[x - down, x + up]``; `AttackModel` holds ``down`` and ``up``
per feature and, where wanted, per class. It corresponds to the vectors Δˡ and Δʳ of Vos & Verwer, "Robust Optimal
Classification Trees against Adversarial Examples", AAAI 2022, section "Attack Model".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from hardwood.errors import InvalidInputError
from hardwood.plain_data import as_entries, as_items, as_label, as_labels, as_number, as_text, as_whole

Reach = tuple[float, float]
FeatureKey = str | int
Moves = tuple[tuple[Any, tuple[Any, ...]], ...]
"""What a category may be changed to: pairs (category, others); None as the category stands for every one."""

_SYMBOLS: dict[str, Reach] = {
    "": (0.0, 0.0),
    "<": (math.inf, 0.0),
    ">": (0.0, math.inf),
    "<>": (math.inf, math.inf),
}
_ENTRY_HELP = (
    "a number >= 0, a pair (down, up), '' (untouchable), '<' (may fall), '>' (may rise) or '<>' (may be anything); "
    "for a categorical feature a dict from category to the categories it may be changed to, or a set of categories"
)


def _parse_entry(entry: Any, where: str) -> Reach:
    if isinstance(entry, str) and entry in _SYMBOLS:
        return _SYMBOLS[entry]
    if isinstance(entry, str | bool | np.bool_):
        raise InvalidInputError(f"the attack on {where} is {entry!r}; it must be {_ENTRY_HELP}")
    if isinstance(entry, Real):
        pair: tuple[Any, ...] = (entry, entry)
    elif isinstance(entry, Sequence | np.ndarray) and len(entry) == 2:
        pair = tuple(entry)
    else:
        raise InvalidInputError(f"the attack on {where} is {entry!r}; it must be {_ENTRY_HELP}")
    for value in pair:
        if not isinstance(value, Real) or math.isnan(float(value)) or float(value) < 0:
            raise InvalidInputError(f"the attack on {where} has the radius {value!r}; a radius must be a number >= 0")
    return float(pair[0]), float(pair[1])


def _parse_moves(entry: Any) -> Moves | None:
    """Read what may happen to a categorical feature; None if the entry is not of that kind."""
    if isinstance(entry, Mapping):
        return tuple((_plain(source), _targets(targets)) for source, targets in entry.items())
    if isinstance(entry, set | frozenset):
        return ((None, tuple(sorted((_plain(target) for target in entry), key=str))),)
    if isinstance(entry, list | tuple) and len(entry) > 0 and all(isinstance(target, str) for target in entry):
        return ((None, tuple(entry)),)
    return None


def _targets(targets: Any) -> tuple[Any, ...]:
    if isinstance(targets, str) or not isinstance(targets, Iterable):
        return (_plain(targets),)
    return tuple(_plain(target) for target in targets)


def _times(factor: float, radius: float) -> float:
    """Scale a radius; an attacker who is scaled to nothing cannot use unbounded reach either."""
    return 0.0 if factor == 0 else factor * radius


def _share(fraction: float, least: float, most: float) -> float:
    """Return a fraction of a range, whose width may be beyond the largest number; what is unbounded stays so."""
    fraction, least, most = float(fraction), float(least), float(most)
    if math.isinf(fraction):
        return fraction
    width = most - least
    return fraction * width if math.isfinite(width) else fraction * most - fraction * least


@dataclass(frozen=True)
class AttackModel:
    """How far an attacker can move each feature down and up.

    Build it with `parse`, `fraction_of_range` or `per_class` rather than by hand.

    Parameters
    ----------
    default : (float, float)
        Reach ``(down, up)`` on every feature that is not named in `features`.
    features : tuple of (key, (down, up))
        Reach by feature name or index.
    n_features : int or None
        Number of features, where the attack was given as a list with one entry per feature.
    by_class : tuple of (label, AttackModel) or None
        Where given, samples of each listed class are moved as that model says, all others not at all.
    unit : {"raw", "range"}
        Whether radii are in the units of the data or fractions of each feature's range (then call `fit`).
    moves : tuple of (key, moves)
        What the values of categorical features may be changed to, by feature name or index.
    """

    default: Reach = (0.0, 0.0)
    features: tuple[tuple[FeatureKey, Reach], ...] = ()
    n_features: int | None = None
    by_class: tuple[tuple[Any, AttackModel], ...] | None = None
    unit: Literal["raw", "range"] = "raw"
    moves: tuple[tuple[FeatureKey, Moves], ...] = ()

    def __post_init__(self) -> None:
        said_of_all = self.default != (0.0, 0.0) or self.features or self.moves or self.unit != "raw"
        if self.by_class is not None and said_of_all:
            raise InvalidInputError(
                "an attack that differs between classes has its radii, features and units inside by_class; "
                "build it with AttackModel.per_class"
            )

    @classmethod
    def parse(cls, spec: Any) -> AttackModel:
        """Read any spelling of an attack.

        Parameters
        ----------
        spec : number, sequence, mapping or AttackModel
            A number is an L∞ radius. A sequence has one entry per feature, a mapping one per named (or numbered)
            feature, with ``"*"`` for all others. An entry is a number, a pair ``(down, up)``, ``""``, ``"<"``,
            ``">"`` or ``"<>"``; for a categorical feature a dict from category to the categories it may be changed
            to, a set of categories that every value may be changed to, or ``"<>"``.

        Examples
        --------
        >>> AttackModel.parse({"links": ">", "length": (0, 20)}).reach(2, ("links", "length"))
        (array([[0., 0.]]), array([[inf, 20.]]))
        """
        if isinstance(spec, AttackModel):
            return spec
        if isinstance(spec, Mapping):
            entries = dict(spec)
            default = _parse_entry(entries.pop("*", 0.0), "all other features")
            for key in entries:
                if isinstance(key, bool) or not isinstance(key, str | int | np.integer):
                    raise InvalidInputError(f"the attack names feature {key!r}; use its name or its index")
            by_key = {key if isinstance(key, str) else int(key): entry for key, entry in entries.items()}
            moves = {key: _parse_moves(entry) for key, entry in by_key.items()}
            return cls(
                default=default,
                features=tuple(
                    (key, _parse_entry(entry, f"feature {key!r}"))
                    for key, entry in by_key.items()
                    if moves[key] is None
                ),
                moves=tuple((key, found) for key, found in moves.items() if found is not None),
            )
        if isinstance(spec, str) or spec is None or isinstance(spec, bool):
            raise InvalidInputError(
                f"attack={spec!r} cannot be read; give a radius such as 0.1, one entry per feature, "
                "or a dict by feature name"
            )
        if isinstance(spec, Real):
            return cls(default=_parse_entry(spec, "every feature"))
        if isinstance(spec, np.ndarray) and spec.ndim == 0:
            return cls.parse(spec.item())
        if isinstance(spec, Iterable):
            entries_in_order = list(spec)
            return replace(cls.parse(dict(enumerate(entries_in_order))), n_features=len(entries_in_order))
        raise InvalidInputError(f"attack={spec!r} cannot be read; an attack is made of {_ENTRY_HELP}")

    @classmethod
    def fraction_of_range(cls, spec: Any) -> AttackModel:
        """Radii as fractions of each feature's range, e.g. the paper's ε on data that was not scaled.

        The model must see data (`fit`) before it can be used; the estimators do that in their own ``fit``. Of an attack
        that differs between classes, the radii of every class become fractions. Unbounded reach stays unbounded.
        """
        model = cls.parse(spec)
        if model.by_class is not None:
            return replace(
                model, by_class=tuple((label, cls.fraction_of_range(attack)) for label, attack in model.by_class)
            )
        return replace(model, unit="range")

    @classmethod
    def per_class(cls, specs: Mapping[Any, Any]) -> AttackModel:
        """Different attacks for different classes; classes that are not listed are left alone."""
        models = tuple((_plain(label), cls.parse(spec)) for label, spec in specs.items())
        for label, model in models:
            if model.by_class is not None:
                raise InvalidInputError(f"the attack on class {label!r} is itself given per class")
        return cls(by_class=models)

    def only(self, labels: Iterable[Any]) -> AttackModel:
        """Return the same attack, by an attacker who controls the samples of these classes only."""
        if isinstance(labels, str | bytes):
            raise InvalidInputError(f"only({labels!r}): give a list of classes, such as [{labels!r}]")
        return AttackModel.per_class({label: self.for_class(label) for label in labels})

    def scaled(self, factor: float) -> AttackModel:
        """Return the attack with every radius multiplied by ``factor >= 0``."""
        if not factor >= 0:
            raise InvalidInputError(f"cannot scale an attack by {factor!r}; the factor must be >= 0")
        return replace(
            self,
            default=(_times(factor, self.default[0]), _times(factor, self.default[1])),
            features=tuple((k, (_times(factor, d), _times(factor, u))) for k, (d, u) in self.features),
            moves=() if factor == 0 else self.moves,
            by_class=None
            if self.by_class is None
            else tuple((label, model.scaled(factor)) for label, model in self.by_class),
        )

    @property
    def is_relative(self) -> bool:
        """Whether some radius is a fraction of a range that has not been seen yet."""
        if self.by_class is not None:
            return any(model.is_relative for _, model in self.by_class)
        return self.unit == "range"

    def fit(self, X: NDArray[np.float64], feature_names: Sequence[str] | None = None) -> AttackModel:
        """Turn fractions of the range into units of the data; does nothing if that is what they are."""
        if not self.is_relative:
            return self
        if self.by_class is not None:
            return replace(self, by_class=tuple((label, model.fit(X, feature_names)) for label, model in self.by_class))
        X = np.asarray(X, dtype=np.float64)
        # Missing values have no say; a column without any value has no range.
        least, most = np.nan_to_num(np.fmin.reduce(X, axis=0)), np.nan_to_num(np.fmax.reduce(X, axis=0))
        down, up = self._reach_of_all(X.shape[1], feature_names)
        return AttackModel(
            features=tuple(
                (j, (_share(down[j], least[j], most[j]), _share(up[j], least[j], most[j]))) for j in range(X.shape[1])
            ),
            n_features=X.shape[1],
            moves=self.moves,
        )

    def reach(
        self,
        n_features: int,
        feature_names: Sequence[str] | None = None,
        classes: Iterable[Any] | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Radii as matrices.

        Returns
        -------
        down, up : ndarray of shape (n_classes, n_features)
            One row per label in `classes`, or a single row if `classes` is None.
        """
        if self.is_relative:
            raise InvalidInputError(
                "the attack is given as a fraction of the range of each feature; call attack.fit(X) first"
            )
        if self.moves:
            raise InvalidInputError(
                f"the attack says what the categories of feature {self.moves[0][0]!r} may be changed to, "
                "but that feature is not categorical here; declare it in categorical_features"
            )
        if self.by_class is None:
            down, up = self._reach_of_all(n_features, feature_names)
            rows = 1 if classes is None else len(list(classes))
            return np.tile(down, (rows, 1)), np.tile(up, (rows, 1))
        if classes is None:
            raise InvalidInputError("the attack differs between classes, but no classes are known here")
        labels = [_plain(label) for label in classes]
        down, up = np.zeros((len(labels), n_features)), np.zeros((len(labels), n_features))
        for label, model in self.by_class:
            if label not in labels:
                known = ", ".join(repr(known_label) for known_label in labels)
                raise InvalidInputError(f"the attack names class {label!r}; the classes of the data are {known}")
            row = labels.index(label)
            one_down, one_up = model.reach(n_features, feature_names)
            down[row], up[row] = one_down[0], one_up[0]
        return down, up

    def for_class(self, label: Any) -> AttackModel:
        """Return the attack on the samples of one class."""
        if self.by_class is None:
            return self
        models: dict[Any, AttackModel] = dict(self.by_class)
        return models.get(_plain(label), AttackModel())

    def named(self, n_features: int, feature_names: Sequence[str] | None) -> dict[int, Reach | Moves]:
        """Return what the attack says of features that it names, by position."""
        entries: list[tuple[FeatureKey, Any]] = [*self.features, *self.moves]
        found: dict[int, Reach | Moves] = {}
        for key, entry in entries:
            position = self._position(key, n_features, feature_names)
            if position in found:
                raise InvalidInputError(f"the attack names feature {key!r} twice, by name and by number")
            found[position] = entry
        return found

    def _reach_of_all(
        self, n_features: int, feature_names: Sequence[str] | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if self.n_features is not None and self.n_features != n_features:
            raise InvalidInputError(
                f"the attack has {self.n_features} entries, one per feature, but the data has {n_features} features"
            )
        down, up = np.full(n_features, self.default[0]), np.full(n_features, self.default[1])
        moved = {self._position(key, n_features, feature_names) for key, _ in self.moves}
        for j, entry in self.named(n_features, feature_names).items():
            if j not in moved:
                down[j], up[j] = cast(Reach, entry)
        return down, up

    @staticmethod
    def _position(key: FeatureKey, n_features: int, feature_names: Sequence[str] | None) -> int:
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

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; infinite reach is written as the string ``"inf"``."""
        if self.by_class is not None:
            return {"by_class": [[_plain(label), model.to_dict()] for label, model in self.by_class]}
        return {
            "unit": self.unit,
            "default": _reach_to_json(self.default),
            "features": [[key, _reach_to_json(reach)] for key, reach in self.features],
            "n_features": self.n_features,
            "moves": [[key, [[source, list(targets)] for source, targets in moves]] for key, moves in self.moves],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> AttackModel:
        """Inverse of `to_dict`; anything else is refused."""
        where = "the attack"
        if "by_class" not in as_entries(data, where, ()):
            return cls._of_all_from_dict(data, where)
        models = []
        for k, pair in enumerate(as_items(as_entries(data, where, ("by_class",), ())["by_class"], "by_class")):
            label, model = as_items(pair, f"by_class[{k}]", 2)
            models.append((as_label(label, f"by_class[{k}]"), cls._of_all_from_dict(model, f"the attack on {label!r}")))
        if models:
            as_labels([label for label, _ in models], "by_class")
        return cls(by_class=tuple(models))

    @classmethod
    def _of_all_from_dict(cls, data: Any, where: str) -> AttackModel:
        data = as_entries(data, where, ("unit", "default", "features", "n_features"), ("moves",))
        if data["unit"] not in ("raw", "range"):
            raise InvalidInputError(f"unit of {where} is {data['unit']!r}; it must be 'raw' or 'range'")
        named = [
            as_items(pair, f"features[{k}] of {where}", 2) for k, pair in enumerate(as_items(data["features"], where))
        ]
        moved = [
            as_items(pair, f"moves[{k}] of {where}", 2) for k, pair in enumerate(as_items(data.get("moves", ()), where))
        ]
        keys = [_key_from_json(pair[0], where) for pair in (*named, *moved)]
        if len(set(keys)) < len(keys):
            raise InvalidInputError(f"{where} names a feature twice")
        n_features = data["n_features"]
        return cls(
            default=_reach_from_json(data["default"], f"default of {where}"),
            features=tuple(
                (key, _reach_from_json(pair[1], f"{where} on feature {key!r}"))
                for key, pair in zip(keys, named, strict=False)
            ),
            n_features=None if n_features is None else as_whole(n_features, f"n_features of {where}", 1, 2**31),
            unit=data["unit"],
            moves=tuple(
                (key, _moves_from_json(pair[1], f"{where} on feature {key!r}"))
                for key, pair in zip(keys[len(named) :], moved, strict=True)
            ),
        )

    def describe(self, feature_names: Sequence[str] | None = None) -> str:
        """Say in words what the attacker can do; features given by index are called by name where names are known."""
        if self.by_class is not None:
            parts = [f"class {label}: {model.describe(feature_names)}" for label, model in self.by_class]
            return "; ".join(parts) or "no attack"
        percent = self.unit == "range"
        named = [(_name_of(key, feature_names), _reach_to_text(reach, percent)) for key, reach in self.features]
        parts = [f"{name}: {text}" for name, text in named]
        parts += [f"{_name_of(key, feature_names)}: {_moves_to_text(moves)}" for key, moves in self.moves]
        if not self.moves and len({text for _, text in named}) == 1 and self.n_features is not None:
            return f"every feature {named[0][1]}"
        if self.n_features is None and (self.default != (0.0, 0.0) or not parts):
            parts.append(("others: " if parts else "every feature ") + _reach_to_text(self.default, percent))
        return ", ".join(parts)

    def __str__(self) -> str:
        return self.describe()


def _name_of(key: FeatureKey, feature_names: Sequence[str] | None) -> str:
    return feature_names[key] if isinstance(key, int) and feature_names is not None else str(key)


def _moves_to_text(moves: Moves) -> str:
    return "; ".join(
        f"{'any' if source is None else source} -> {' or '.join(map(str, targets))}" for source, targets in moves
    )


def _plain(label: Any) -> Any:
    """Labels as plain Python values, so that 1 and numpy.int64(1) are one class."""
    return label.item() if isinstance(label, np.generic) else label


def _reach_to_json(reach: Reach) -> list[float | str]:
    return ["inf" if math.isinf(r) else r for r in reach]


def _key_from_json(key: Any, where: str) -> FeatureKey:
    where = f"the name or number of a feature in {where}"
    return as_text(key, where) if isinstance(key, str) else as_whole(key, where, 0, 2**31)


def _reach_from_json(reach: Any, where: str) -> Reach:
    down, up = (math.inf if radius == "inf" else as_number(radius, where, 0) for radius in as_items(reach, where, 2))
    return down, up


def _moves_from_json(moves: Any, where: str) -> Moves:
    pairs = [as_items(pair, where, 2) for pair in as_items(moves, where)]
    return tuple(
        (
            None if source is None else as_label(source, where),
            tuple(as_label(target, where) for target in as_items(targets, where)),
        )
        for source, targets in pairs
    )


def _reach_to_text(reach: Reach, percent: bool) -> str:
    def one(radius: float) -> str:
        if math.isinf(radius):
            return "any amount"
        return f"{100 * radius:g}% of range" if percent else f"{radius:g}"

    down, up = reach
    if down == up:
        return "untouchable" if down == 0 else f"±{one(down)}"
    return f"-{one(down)}/+{one(up)}"
