"""The learning problem: validated boxes, class codes, weights, depth. Immutable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._core import Control, return_free_memory
from hardwood.arrays import FloatArray, IntArray, RankArray
from hardwood.attack.domain import Limits
from hardwood.attack.model import AttackModel
from hardwood.data.categories import CategoryEncoding
from hardwood.data.frames import EXACT_DOUBLE
from hardwood.data.weights import training_weights
from hardwood.errors import InvalidInputError
from hardwood.problem.boxes import Boxes, Reach, limits_of, reach_under_attack
from hardwood.problem.endpoints import Endpoints, FeatureEnds, rank_reach
from hardwood.problem.leaf_limit import LeafLimit, leaf_limit
from hardwood.problem.merged import MergedBoxes, is_whole
from hardwood.problem.prices import BoxPrices
from hardwood.problem.samples import allows_missing, fit_attack, read_samples, without_gaps

MOST_ENDS_KEPT = 2_000_000
"""Numbers in a table up to which both ends of all boxes are kept once they are computed."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Find the tree of depth at most `max_depth` with the least weighted robust errors.

    Objective of a tree T (Theorem 1 of Vos & Verwer, AAAI 2022), with L(i) the leaves that box i reaches::

        sum_i weight[i] * [some t in L(i) has class(t) != label[i]]  +  leaf_penalty * leaves(T)

    Attributes
    ----------
    values : float array of shape (n_samples, n_features)
        The samples as they are.
    reach : Reach
        What makes the boxes in which the attacker can move them; see `hardwood.problem.boxes`.
    label : int array of shape (n_samples,)
        Class of each sample as an index into `classes`.
    weight : float array of shape (n_samples,)
        Weight of each sample, >= 0.
    classes : array
        The labels, sorted.
    max_depth : int
        Largest number of splits on a path.
    feature_names : tuple of str or None
    leaf_penalty : float
        Added to the objective for every leaf.
    min_samples_leaf : int
        Every leaf of a tree with a split must be reached for certain (it and no other leaf) by so many samples.
    min_weight_fraction_leaf : float
        The same for a share of the weight of all samples, class weights included; one of the two can be set.
    allows_missing : bool
        Whether values may be missing; such a value reaches both sides of every split. In `values` the median of the
        feature stands for it.
    encoding : CategoryEncoding or None
        How categorical columns became features.
    rounding : float array of shape (2, n_features) or (2, 1)
        To what the values were rounded before they came here; see `hardwood.data.frames.Table`.
    attack : AttackModel or None
        What made the boxes, in the units of the data; None where they were made otherwise.
    prices : BoxPrices or None
        Of an attacker with a budget or one-hot groups: what moves cost. The boxes then hold all that it can afford, but
        not at once; see `hardwood.problem.prices`.
    """

    values: FloatArray
    reach: Reach
    label: IntArray
    weight: FloatArray
    classes: NDArray[Any]
    max_depth: int
    feature_names: tuple[str, ...] | None = None
    leaf_penalty: float = 0.0
    min_samples_leaf: int = 0
    min_weight_fraction_leaf: float = 0.0
    allows_missing: bool = False
    encoding: CategoryEncoding | None = None
    rounding: FloatArray = field(default_factory=EXACT_DOUBLE.copy)
    attack: AttackModel | None = None
    prices: BoxPrices | None = None

    def __post_init__(self) -> None:
        for array in (self.values, self.label, self.weight, self.classes):
            array.setflags(write=False)
        self.reach.freeze()

    @classmethod
    def from_data(cls, X: Any, y: Any, attack: Any = 0.0, max_depth: int = 3, **options: Any) -> Problem:
        """Validate data and state the problem; see `prepare` for the options."""
        return prepare(X, y, attack, max_depth, **options)

    def replace(self, **changes: Any) -> Problem:
        """Return a copy with other values for some fields; `lower` and `upper` stand for the boxes that they are."""
        if changes.keys() & {"lower", "upper"}:
            lower, upper = (changes.pop(name, None) for name in ("lower", "upper"))
            changes["reach"] = Reach.fixed(
                self.lower if lower is None else lower,
                self.upper if upper is None else upper,
                changes.get("rounding", self.rounding),
            )
        copy = replace(self, **changes)
        if not changes.keys() & {"values", "reach", "label"}:
            # What depends on the boxes alone need not be computed again.
            for name in ("endpoints", "merged", "_boxes", "_features_ranked"):
                if name in self.__dict__:
                    copy.__dict__[name] = self.__dict__[name]
        return copy

    def take(self, rows: NDArray[np.integer]) -> Problem:
        """Return the same problem on some of the samples."""
        reach = self.reach.take(rows)
        return replace(
            self,
            values=reach.low if self.reach.low is self.values else self.values[rows],
            reach=reach,
            label=self.label[rows],
            weight=self.weight[rows],
            prices=None if self.prices is None else self.prices.take(rows),
            attack=None if self.attack is None else self.attack.take(rows),
        )

    def owned(self) -> Problem:
        """Return the same problem in memory that nobody else writes to, if it shares that of a table."""
        if self.values.base is None:
            return self
        if self.values.size > MOST_ENDS_KEPT:
            return_free_memory()  # what a search has left may be more than the copy
        values = self.values.copy()
        low, high = (values if end is self.values else end for end in (self.reach.low, self.reach.high))
        reach = replace(self.reach, low=low, high=high)
        copy = replace(self, values=values, reach=reach)
        if self.is_ranked:
            copy.__dict__["endpoints"] = replace(self.endpoints, reach=reach)
        if "merged" in self.__dict__:
            copy.__dict__["merged"] = self.merged
        return copy

    def without_features(self, hidden: NDArray[np.integer]) -> Problem:
        """Return the same problem with features that tell no samples apart, so that no split is made on them."""
        changed = {}
        for name in ("values", "lower", "upper"):
            array: FloatArray = getattr(self, name).copy()
            array[:, hidden] = 0.0
            changed[name] = array
        return self.replace(**changed)

    @property
    def _ends(self) -> tuple[FloatArray, FloatArray]:
        if "_boxes" in self.__dict__:
            kept: tuple[FloatArray, FloatArray] = self.__dict__["_boxes"]
            return kept
        ends = self.reach.ends()
        for array in ends:
            array.setflags(write=False)
        if self.values.size <= MOST_ENDS_KEPT:
            self.__dict__["_boxes"] = ends
        return ends

    @property
    def lower(self) -> FloatArray:
        """Lower ends of the boxes, of shape (n_samples, n_features); of a large table computed each time."""
        return self._ends[0]

    @property
    def upper(self) -> FloatArray:
        """Upper ends of the boxes, of shape (n_samples, n_features); of a large table computed each time."""
        return self._ends[1]

    def ends_on(self, j: int) -> FloatArray:
        """Return the lower and upper ends on one feature, of shape (2, n_samples)."""
        lower, upper = self.reach.of_features(np.array([j])).ends()
        return np.concatenate([lower.T, upper.T])

    @property
    def boxes(self) -> Boxes:
        """The boxes with classes and weights."""
        return Boxes(*self._ends, self.label, self.weight)

    @property
    def known_attack(self) -> AttackModel:
        """The attack; an error where the boxes were made otherwise."""
        if self.attack is None:
            raise InvalidInputError("the boxes of the problem were not made from an attack; use `prepare` to make them")
        return self.attack

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.label)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.values.shape[1])

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @cached_property
    def endpoints(self) -> Endpoints:
        """Ends as clusters and ranks (`hardwood.problem.endpoints`)."""
        return rank_reach(self.reach, self.values)

    @property
    def is_ranked(self) -> bool:
        """Whether the ends of all features are ranked."""
        return "endpoints" in self.__dict__

    def rank(self, control: Control) -> None:
        """Rank the ends now, if they are not yet; `StoppedError` where the control stops it before it is done."""
        if not self.is_ranked:
            self.__dict__["endpoints"] = rank_reach(self.reach, self.values, control)

    def ends_of(self, j: int) -> FeatureEnds:
        """Return the ends of one feature as clusters and ranks; only that one is ranked, if not all are."""
        if j in self._features_ranked:
            return self._features_ranked[j]
        if self.is_ranked:
            ends = self.endpoints.of_feature(j)
        else:
            only = np.array([j])
            ends = rank_reach(self.reach.of_features(only), self.values[:, only]).of_feature(0)
        if self.values.size <= MOST_ENDS_KEPT:
            self._features_ranked[j] = ends
        return ends

    @cached_property
    def _features_ranked(self) -> dict[int, FeatureEnds]:
        return {}

    def merge(self, control: Control | None) -> MergedBoxes:
        """Merge equal samples now, if they are not yet; `StoppedError` where the control stops it before it is done."""
        if "merged" not in self.__dict__:
            self.__dict__["merged"] = MergedBoxes.of(self.lower_rank, self.upper_rank, self.label, control)
        return self.merged

    @cached_property
    def merged(self) -> MergedBoxes:
        """Samples of equal box and class as one (`hardwood.problem.merged`)."""
        return MergedBoxes.of(self.lower_rank, self.upper_rank, self.label)

    @property
    def lower_rank(self) -> RankArray:
        """Rank of each lower end: a box reaches left of threshold index t iff ``lower_rank <= t``."""
        return self.endpoints.lower_rank

    @property
    def upper_rank(self) -> RankArray:
        """Rank of each upper end: a box reaches right of threshold index t iff ``upper_rank > t``."""
        return self.endpoints.upper_rank

    @property
    def n_ranks(self) -> IntArray:
        """Number of endpoint clusters per feature."""
        return self.endpoints.n_ranks

    @property
    def has_integer_weights(self) -> bool:
        """Whether weights and penalty are whole numbers, so that objectives are too."""
        return is_whole(self.weight) and float(self.leaf_penalty).is_integer()

    @property
    def leaf_limit_name(self) -> str | None:
        """Which parameter sets a least size of leaves, if any does."""
        if self.min_samples_leaf > 0:
            return "min_samples_leaf"
        return "min_weight_fraction_leaf" if self.min_weight_fraction_leaf > 0 else None

    @cached_property
    def leaf_limit(self) -> LeafLimit | None:
        """What each leaf must hold for certain (`hardwood.problem.leaf_limit`); None if there is no such limit."""
        return leaf_limit(self.min_samples_leaf, self.min_weight_fraction_leaf, self.weight)

    @cached_property
    def limits(self) -> Limits | None:
        """Which features are whole numbers and between which bounds they lie; None if nothing is known of that."""
        if self.attack is None:
            return None
        return limits_of(self.attack, self.n_features, self.feature_names, self.encoding)

    @cached_property
    def class_weight_sums(self) -> FloatArray:
        """Total weight of each class."""
        return np.asarray(np.bincount(self.label, self.weight, self.n_classes), dtype=np.float64)


def prepare(
    X: Any,
    y: Any,
    attack: Any = 0.0,
    max_depth: int = 3,
    *,
    sample_weight: Any = None,
    class_weight: Mapping[Any, float] | str | None = None,
    leaf_penalty: float = 0.0,
    min_samples_leaf: int = 0,
    min_weight_fraction_leaf: float = 0.0,
    feature_names: tuple[str, ...] | None = None,
    missing: str = "error",
    categorical_features: Any = None,
    keep_weightless: bool = True,
    may_share: bool = False,
) -> Problem:
    """Validate data and state the problem: the one way from a table and an attack to a `Problem`.

    Parameters
    ----------
    X : array-like or frame of shape (n_samples, n_features), finite numbers in any units
    y : array-like of shape (n_samples,), labels of any type, at least two different ones
    attack : anything `AttackModel.parse` takes
    max_depth : int
    sample_weight : array-like of shape (n_samples,) or None, non-negative, not all zero
    class_weight : mapping, "balanced" or None, multiplies the weight of each class, as in scikit-learn
    leaf_penalty, min_samples_leaf, min_weight_fraction_leaf
        See the class.
    feature_names : tuple of str or None, where X does not carry names itself
    missing : {"error", "reachable"}, refuse missing values (NaN), or let them reach both sides of every split
    keep_weightless : bool, whether samples of weight zero take part in margins and certain leaves
    categorical_features : "from_dtype", sequence of names or indices, CategoryEncoding or None
        Columns that hold categories; see `hardwood.data.categories`.
    may_share : bool, whether the problem may hold the memory of X, for one that does not outlive its maker
    """
    takes_missing = allows_missing(missing)
    table, encoding, classes, label = read_samples(X, y, categorical_features, feature_names, takes_missing, may_share)
    weight = training_weights(sample_weight, class_weight, classes, label)
    model = fit_attack(attack, table.values, table.names, encoding)
    reach = reach_under_attack(table.values, model, table.names, classes, label, encoding, table.rounding)
    problem = Problem(
        without_gaps(table.values),
        reach.cut_off(),
        label=label,
        weight=weight,
        classes=classes,
        max_depth=_whole_number(max_depth, "max_depth"),
        feature_names=table.names,
        leaf_penalty=_non_negative(leaf_penalty, "leaf_penalty"),
        min_samples_leaf=_whole_number(min_samples_leaf, "min_samples_leaf"),
        min_weight_fraction_leaf=_half_at_most(min_weight_fraction_leaf, "min_weight_fraction_leaf"),
        allows_missing=takes_missing,
        encoding=encoding,
        rounding=table.rounding,
        attack=model,
        prices=_prices_of(reach),
    )
    check_leaf_limits(problem)
    return problem if keep_weightless or np.all(weight > 0) else problem.take(np.flatnonzero(weight > 0))


def _prices_of(reach: Reach) -> BoxPrices | None:
    assert reach.prices is None or isinstance(reach.prices, BoxPrices)
    return reach.prices


def check_leaf_limits(problem: Problem) -> None:
    """Raise where a least size of leaves has no meaning, or two of them are set."""
    if problem.prices is not None and problem.leaf_limit_name is not None:
        raise InvalidInputError(
            f"{problem.leaf_limit_name} counts samples that reach a leaf whatever the attacker does, which is not "
            "known for attackers with a budget or one-hot groups; leave it 0"
        )
    if problem.min_samples_leaf > 0 and problem.min_weight_fraction_leaf > 0:
        raise InvalidInputError(
            f"min_samples_leaf={problem.min_samples_leaf} and min_weight_fraction_leaf="
            f"{problem.min_weight_fraction_leaf:g}: leaves can be measured in samples or in weight, not in both; set "
            "one of them to 0"
        )


def _whole_number(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise InvalidInputError(f"{name}={value!r}; it must be a whole number >= 0")
    return int(value)


def _non_negative(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 <= value < np.inf:
        raise InvalidInputError(f"{name}={value!r}; it must be a finite number >= 0")
    return float(value)


def _half_at_most(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 <= value <= 0.5:
        raise InvalidInputError(f"{name}={value!r}; it must be a share between 0 and 0.5")
    return float(value)
