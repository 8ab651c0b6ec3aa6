"""What an attacker can do to each feature.

An attacker may move sample ``x`` inside the box ``[x - down, x + up]``; `AttackModel` holds ``down`` and ``up``
per feature and, where wanted, per class. It corresponds to the vectors Δˡ and Δʳ of Vos & Verwer, "Robust Optimal
Classification Trees against Adversarial Examples", AAAI 2022, section "Attack Model".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from hardwood.attack.budget import Budget
from hardwood.attack.domain import Domain, Limits
from hardwood.attack.entries import FeatureKey, Moves, Radii, Unit, plain_value, position, share, times
from hardwood.attack.groups import Group
from hardwood.attack.wording import describe
from hardwood.errors import InvalidInputError
from hardwood.markup import card, escaped


@dataclass(frozen=True)
class AttackModel:
    """How far an attacker can move each feature down and up.

    Build it with `parse`, `fraction_of_range` or `per_class` rather than by hand.

    Parameters
    ----------
    default : (float, float)
        Radii ``(down, up)`` on every feature that is not named in `features`.
    features : tuple of (key, (down, up))
        Radii by feature name or index.
    n_features : int or None
        Number of features, where the attack was given as a list with one entry per feature.
    by_class : tuple of (label, AttackModel) or None
        Where given, samples of each listed class are moved as that model says, all others not at all.
    unit : {"raw", "range"}
        Whether radii are in the units of the data or fractions of each feature's range (then call `fit`).
    moves : tuple of (key, moves)
        What the values of categorical features may be changed to, by feature name or index.
    units : tuple of (key, unit)
        Features of `features` whose radii are in another unit than `unit`.
    domain : Domain
        Which features are whole numbers, and the bounds of features; the same for all classes.
    groups : tuple of Group
        One-hot groups, whose columns are moved together.
    budget : Budget or None
        What changes cost, and what can be spent on a sample.
    shares : tuple of (index, (down, up))
        The fractions of the range that `fit` turned into radii, for `describe`.
    """

    default: Radii = (0.0, 0.0)
    features: tuple[tuple[FeatureKey, Radii], ...] = ()
    n_features: int | None = None
    by_class: tuple[tuple[Any, AttackModel], ...] | None = None
    unit: Unit = "raw"
    moves: tuple[tuple[FeatureKey, Moves], ...] = ()
    units: tuple[tuple[FeatureKey, Unit], ...] = ()
    domain: Domain = field(default_factory=Domain)
    groups: tuple[Group, ...] = ()
    budget: Budget | None = None
    shares: tuple[tuple[FeatureKey, Radii], ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        said_of_all = (
            self.default != (0.0, 0.0)
            or self.features
            or self.moves
            or self.unit != "raw"
            or self.groups
            or self.budget is not None
        )
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
        spec : number, sequence, mapping, str or AttackModel
            A number is an L∞ radius. A sequence has one entry per feature, a mapping one per named (or numbered)
            feature, with ``"*"`` for all others. An entry is a number, a pair ``(down, up)``, ``""``, ``"<"``,
            ``">"`` or ``"<>"``, or a share of the feature's range such as ``"5%"`` or ``"0:5%"``; for a categorical
            feature a dict from category to the categories it may be changed to, a set of categories that every value
            may be changed to, or ``"<>"``. A mapping may also hold ``"integer"`` (a list of features), ``"minimum"``
            and ``"maximum"`` (mappings from features to bounds), as attack files do. Text is what one writes on the
            command line, such as ``"links=5%,length=0:20"``.

        Examples
        --------
        >>> AttackModel.parse({"links": ">", "length": (0, 20)}).reach(2, ("links", "length"))
        (array([[0., 0.]]), array([[inf, 20.]]))
        """
        if isinstance(spec, AttackModel):
            return spec
        from hardwood.attack.reading import read_spec

        return read_spec(spec)

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
        return replace(model, unit="range", units=())

    @classmethod
    def per_class(cls, specs: Mapping[Any, Any]) -> AttackModel:
        """Different attacks for different classes; classes that are not listed are left alone."""
        models = [(plain_value(label), cls.parse(spec)) for label, spec in specs.items()]
        domain = Domain()
        for label, model in models:
            if model.by_class is not None:
                raise InvalidInputError(f"the attack on class {label!r} is itself given per class")
            domain = domain.joined(model.domain)
        return cls(by_class=tuple((label, replace(model, domain=Domain())) for label, model in models), domain=domain)

    def only(self, labels: Iterable[Any]) -> AttackModel:
        """Return the same attack, by an attacker who controls the samples of these classes only."""
        if isinstance(labels, str | bytes):
            raise InvalidInputError(f"only({labels!r}): give a list of classes, such as [{labels!r}]")
        return AttackModel.per_class({label: self.for_class(label) for label in labels})

    def with_integers(self, features: Any) -> AttackModel:
        """Return the same attack on data in which these features are whole numbers.

        They move from whole number to whole number, thresholds stand between whole numbers, and adversarial examples
        have whole numbers there. Nothing is assumed from the type of a column.

        Parameters
        ----------
        features : iterable of names or indices, or "auto"
            ``["*"]`` for all features; ``"auto"`` for those that hold nothing but whole numbers in the training data.
        """
        return replace(self, domain=self.domain.with_integers(features))

    def with_bounds(self, minimum: Any = None, maximum: Any = None) -> AttackModel:
        """Return the same attack on data whose features have bounds: a count is not below 0, a share not above 1.

        Parameters
        ----------
        minimum, maximum : mapping from feature to number, or one number for all features
        """
        return replace(self, domain=self.domain.with_bounds(minimum, maximum))

    def with_relations(self, relations: Any) -> AttackModel:
        """Return the same attack on data with linear relations, such as ``"open <= total"`` or ``"total = a + b"``.

        Evaluation of single trees holds to them, by a mixed-integer program for each sample and leaf. All else ignores
        them: what is learned, proven or bounded against the box holds against attackers who can do less.

        Parameters
        ----------
        relations : iterable of str
        """
        return replace(self, domain=self.domain.with_relations(relations))

    def with_group(self, columns: Any, moves: Any = "<>", *, at_most_one: bool = False) -> AttackModel:
        """Return the same attack with a one-hot group: of these columns exactly one is 1, and the attacker moves it.

        Parameters
        ----------
        columns : iterable of names or indices
        moves : "<>", "", mapping or set
            What may become what: anything, nothing, a dict from a column to those that may be 1 instead, or a set of
            columns that may be 1 instead of any. ``""`` as a column stands for none, where `at_most_one` allows it.
        at_most_one : bool
            Whether all columns may be 0.
        """
        group = Group.parse(columns, moves, at_most_one)
        return self._of_each(lambda model: replace(model, groups=(*model.groups, group)))

    def with_budget(self, *, features: Any = None, total: Any = None, cost: Any = None) -> AttackModel:
        """Return the same attack by an attacker who cannot do everything at once.

        Parameters
        ----------
        features : int or None
            At most so many features of a sample change, each within its box; a group is one feature.
        total : float, array of shape (n_samples,), or mapping from class to either
            What all changes to a sample may cost together.
        cost : mapping from feature to price, or one price for all
            A price is a number per unit of distance (weighted L1), or ``{"once": number}`` for a change of any size; an
            array has one for each sample. ``"*"`` stands for features that are not named.
        """
        if isinstance(total, Mapping):
            labels = [plain_value(label) for label in total]
            if self.by_class is not None and set(labels) != {label for label, _ in self.by_class}:
                raise InvalidInputError(f"the budget names the classes {labels!r}, the attack others")
            return AttackModel.per_class(
                {
                    label: self.for_class(label).with_budget(features=features, total=each, cost=cost)
                    for label, each in total.items()
                }
            )
        budget = Budget.parse(features, total, cost)
        return self._of_each(lambda model: replace(model, budget=budget))

    def _of_each(self, change: Callable[[AttackModel], AttackModel]) -> AttackModel:
        if self.by_class is None:
            return change(self)
        return replace(self, by_class=tuple((label, change(model)) for label, model in self.by_class))

    @property
    def is_box(self) -> bool:
        """Whether everything in a box is possible at once: no budget, no one-hot group."""
        models = [self] if self.by_class is None else [model for _, model in self.by_class]
        return all(model.budget is None and not model.groups for model in models)

    @property
    def has_budget(self) -> bool:
        """Whether changes cost something."""
        models = [self] if self.by_class is None else [model for _, model in self.by_class]
        return any(model.budget is not None for model in models)

    def require_box(self, what: str) -> None:
        """Raise where only attackers will do who can use all of a box at once."""
        if not self.is_box:
            kind = "a budget" if self.has_budget else "one-hot groups"
            raise InvalidInputError(
                f"{what} takes attackers without budgets and one-hot groups, and this one has {kind}"
            )

    def take(self, rows: Any) -> AttackModel:
        """Return the attack on some of the samples, where prices or budgets are given for each."""
        return self._of_each(lambda m: m if m.budget is None else replace(m, budget=m.budget.take(rows)))

    def scaled(self, factor: float) -> AttackModel:
        """Return the attack with every radius multiplied by ``factor >= 0``."""
        if not factor >= 0:
            raise InvalidInputError(f"cannot scale an attack by {factor!r}; the factor must be >= 0")
        return replace(
            self,
            default=times(factor, self.default),
            features=tuple((k, times(factor, reach)) for k, reach in self.features),
            shares=tuple((k, times(factor, reach)) for k, reach in self.shares),
            moves=() if factor == 0 else self.moves,
            groups=tuple(replace(group, moves=()) for group in self.groups) if factor == 0 else self.groups,
            by_class=None
            if self.by_class is None
            else tuple((label, model.scaled(factor)) for label, model in self.by_class),
        )

    @property
    def is_relative(self) -> bool:
        """Whether something is said in terms of data that have not been seen yet, as a fraction of a range is."""
        return self.domain.integer == "auto" or self._has_shares

    @property
    def _has_shares(self) -> bool:
        if self.by_class is not None:
            return any(model._has_shares for _, model in self.by_class)
        return self.unit == "range" or any(unit == "range" for _, unit in self.units)

    def unit_of(self, key: FeatureKey) -> Unit:
        """Return the unit of the radii of a feature that is named."""
        return dict(self.units).get(key, self.unit)

    def fit(self, X: NDArray[np.float64], feature_names: Sequence[str] | None = None) -> AttackModel:
        """Turn fractions of the range into units of the data; does nothing if that is what they are."""
        if not self.is_relative:
            return self
        X = np.asarray(X, dtype=np.float64)
        fitted = replace(self, domain=self.domain.fit(X))
        if not self._has_shares:
            return fitted
        if self.by_class is not None:
            return replace(
                fitted, by_class=tuple((label, model.fit(X, feature_names)) for label, model in self.by_class)
            )
        # Missing values have no say; a column without any value has no range.
        least, most = np.nan_to_num(np.fmin.reduce(X, axis=0)), np.nan_to_num(np.fmax.reduce(X, axis=0))
        n_features = X.shape[1]
        down, up = self._reach_of_all(n_features, feature_names)
        unit = [self.unit] * n_features
        for key, _ in self.features:
            unit[position(key, n_features, feature_names)] = self.unit_of(key)
        said = [(float(down[j]), float(up[j])) for j in range(n_features)]
        reach: list[Radii] = [
            (share(d, least[j], most[j]), share(u, least[j], most[j])) if unit[j] == "range" else (d, u)
            for j, (d, u) in enumerate(said)
        ]
        return AttackModel(
            features=tuple(enumerate(reach)),
            n_features=n_features,
            moves=self.moves,
            domain=fitted.domain,
            groups=self.groups,
            budget=self.budget,
            shares=tuple((j, said[j]) for j in range(n_features) if unit[j] == "range"),
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
        if self._has_shares:
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
        labels = [plain_value(label) for label in classes]
        down, up = np.zeros((len(labels), n_features)), np.zeros((len(labels), n_features))
        for label, model in self.by_class:
            if label not in labels:
                known = ", ".join(repr(known_label) for known_label in labels)
                raise InvalidInputError(f"the attack names class {label!r}; the classes of the data are {known}")
            row = labels.index(label)
            one_down, one_up = model.reach(n_features, feature_names)
            down[row], up[row] = one_down[0], one_up[0]
        return down, up

    def limits(self, n_features: int, feature_names: Sequence[str] | None) -> Limits | None:
        """Return which features are whole numbers and between which bounds they lie; None if nothing is said."""
        return self.domain.limits(n_features, feature_names)

    def for_class(self, label: Any) -> AttackModel:
        """Return the attack on the samples of one class."""
        if self.by_class is None:
            return self
        models: dict[Any, AttackModel] = dict(self.by_class)
        return replace(models.get(plain_value(label), AttackModel()), domain=self.domain)

    def named(self, n_features: int, feature_names: Sequence[str] | None) -> dict[int, Radii | Moves]:
        """Return what the attack says of features that it names, by position."""
        entries: list[tuple[FeatureKey, Any]] = [*self.features, *self.moves]
        found: dict[int, Radii | Moves] = {}
        for key, entry in entries:
            place = position(key, n_features, feature_names)
            if place in found:
                raise InvalidInputError(f"the attack names feature {key!r} twice, by name and by number")
            found[place] = entry
        return found

    def _reach_of_all(
        self, n_features: int, feature_names: Sequence[str] | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if self.n_features is not None and self.n_features != n_features:
            raise InvalidInputError(
                f"the attack has {self.n_features} entries, one per feature, but the data has {n_features} features"
            )
        down, up = np.full(n_features, self.default[0]), np.full(n_features, self.default[1])
        moved = {position(key, n_features, feature_names) for key, _ in self.moves}
        for j, entry in self.named(n_features, feature_names).items():
            if j not in moved:
                down[j], up[j] = cast(Radii, entry)
        return down, up

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; infinite reach is written as the string ``"inf"``."""
        from hardwood.attack.stored import attack_to_dict

        return attack_to_dict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> AttackModel:
        """Inverse of `to_dict`; anything else is refused."""
        from hardwood.attack.stored import attack_from_dict

        return attack_from_dict(data)

    def describe(self, feature_names: Sequence[str] | None = None) -> str:
        """Say in words what the attacker can do; features given by index are called by name where names are known."""
        return describe(self, feature_names)

    def __str__(self) -> str:
        return self.describe()

    def _repr_html_(self) -> str:
        """Return what notebooks show: the attack in words."""
        return card("Attack", f" {escaped(self.describe())}")
