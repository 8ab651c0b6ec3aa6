"""Ensembles of trees whose leaves add up to scores: forests, boosted trees, votes.

At x an ensemble has the scores ``base + sum_t value[leaf_t(x)]``, one for each class or a single one for two classes,
and answers the class that its rule makes of them. The rule holds whatever decides ties in the library that learned the
trees: the type of the sums and their order, the division of an average, the link and which of two equal scores wins.
A split sends ``x`` left iff ``x <= threshold``; libraries that compare otherwise (``<``, or after rounding to float32)
are brought into this form by moving the threshold to the last float64 number that goes left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood._core import ScoredTrees
from hardwood.arrays import BoolArray, FloatArray, IntArray
from hardwood.data.categories import CategoryEncoding
from hardwood.data.frames import Table, as_table, check_finite, column_names
from hardwood.errors import InvalidInputError


class Link(IntEnum):
    """How scores become a class; the numbers are the core's."""

    CUTOFF = 0
    """One score; the second class iff it is at least the cutoff."""
    ARGMAX = 1
    """The first of the largest scores."""
    SOFTMAX = 2
    """The first of the largest shares ``exp(s - max) / sum``, as they are rounded."""
    LOGISTIC = 3
    """The first of the largest ``1 / (1 + exp(-slope s))``, as they are rounded."""


@dataclass(frozen=True)
class Rule:
    """From sums to a class.

    Parameters
    ----------
    link : Link
    single : bool
        Whether the sums are of type float32.
    divisor : float
        By which the sums are divided before they are compared.
    cutoff, slope : float
        See `Link`.
    """

    link: Link = Link.ARGMAX
    single: bool = False
    divisor: float = 1.0
    cutoff: float = 0.0
    slope: float = 1.0


@dataclass(frozen=True, eq=False)
class TreeOfScores:
    """One tree as arrays: the root is node 0, a leaf has children -1, `value` has a row for each node.

    `missing_left` says where a missing value goes at each split.
    """

    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    value: FloatArray
    missing_left: BoolArray

    @classmethod
    def ordered(
        cls, feature: Any, threshold: Any, left: Any, right: Any, value: Any, missing_left: Any = None
    ) -> TreeOfScores:
        """Build a tree from nodes in any order, without those that the root does not reach.

        Arrays from a file may be anything: a child that is none, or that is reached twice, is refused.
        """
        left, right = np.asarray(left, np.int64), np.asarray(right, np.int64)
        n = len(left)
        missing = np.zeros(n, bool) if missing_left is None else np.asarray(missing_left, bool)
        columns = (np.asarray(feature, np.int64), np.asarray(threshold, np.float64), right, missing)
        rows = np.asarray(value, np.float64)
        if n == 0 or rows.ndim != 2 or any(column.shape != (n,) for column in columns) or len(rows) != n:
            raise InvalidInputError("the arrays of a tree must be one-dimensional, of one length, and not empty")
        position = np.full(n, -1)
        order: list[int] = []
        waiting = [0]
        while waiting:
            node = waiting.pop()
            if not 0 <= node < n or position[node] >= 0:
                raise InvalidInputError(f"node {node} of a tree with {n} nodes does not exist or has two parents")
            position[node] = len(order)
            order.append(node)
            if left[node] >= 0 or right[node] >= 0:
                waiting += [int(right[node]), int(left[node])]
        children = [np.where(side[order] >= 0, position[side[order]], -1) for side in (left, right)]
        is_leaf = children[0] < 0
        return cls(
            np.where(is_leaf, -1, columns[0][order]),
            np.where(is_leaf, np.nan, columns[1][order]),
            children[0],
            children[1],
            np.where(is_leaf[:, None], rows[order], 0.0),
            missing[order],
        )


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Trees over the same features whose leaves add up to scores.

    Parameters
    ----------
    trees : sequence of TreeOfScores
        In the order in which the library adds them.
    base : float array of shape (n_scores,)
        Where the sums start.
    rule : Rule
    classes : array
        The labels that the ensemble can answer.
    n_features : int
    feature_names : tuple of str or None
    takes_missing : bool
        Whether a value may be missing (NaN).
    library : str
        What the model was, for messages.
    model : object or None
        The model from which it was made, where there is one with a ``predict`` of its own.
    encoding : CategoryEncoding or None
        How a table with categorical columns becomes features; the methods then take such tables.
    """

    trees: Sequence[TreeOfScores]
    base: FloatArray
    rule: Rule
    classes: NDArray[Any]
    n_features: int
    feature_names: tuple[str, ...] | None = None
    takes_missing: bool = False
    library: str = "trees"
    model: Any = field(default=None, repr=False)
    encoding: CategoryEncoding | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "trees", tuple(self.trees))
        object.__setattr__(self, "base", np.ascontiguousarray(self.base, np.float64))
        object.__setattr__(self, "classes", np.asarray(self.classes))
        if not self.trees:
            raise InvalidInputError("an ensemble needs at least one tree")
        n_scores = 1 if self.rule.link is Link.CUTOFF else len(self.classes)
        if self.base.shape != (n_scores,) or (n_scores == 1 and len(self.classes) != 2):
            raise InvalidInputError(
                f"{len(self.base)} scores for {len(self.classes)} classes; one score answers two classes, "
                "otherwise there is one for each class"
            )
        for tree in self.trees:
            if tree.value.shape[1] != n_scores:
                raise InvalidInputError(f"a leaf has {tree.value.shape[1]} values, but there are {n_scores} scores")
            if not np.all(np.isfinite(tree.value)):
                raise InvalidInputError("the values of all leaves must be finite")
        if not np.all(np.isfinite(self.base)):
            raise InvalidInputError("the base score must be finite")
        if not self.rule.divisor > 0:
            raise InvalidInputError(f"divisor={self.rule.divisor!r}; it must be positive")
        if self.feature_names is not None and len(self.feature_names) != self.n_features:
            raise InvalidInputError(f"{len(self.feature_names)} feature names for {self.n_features} features")
        if self.encoding is not None and self.encoding.n_features != self.n_features:
            raise InvalidInputError(
                f"the categories make {self.encoding.n_features} features, but the trees have {self.n_features}"
            )
        self.core  # noqa: B018  # refuses splits that make no sense

    def __repr__(self) -> str:
        return f"Ensemble({self.library}: {len(self.trees)} trees, {self.n_features} features)"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "core"}

    @cached_property
    def core(self) -> ScoredTrees:
        """The trees as the compiled core holds them."""
        sizes = [len(tree.left) for tree in self.trees]
        root = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)

        def joined(name: str, dtype: Any) -> NDArray[Any]:
            return np.ascontiguousarray(np.concatenate([getattr(tree, name) for tree in self.trees]), dtype)

        try:
            return ScoredTrees(
                root,
                joined("feature", np.int64),
                joined("threshold", np.float64),
                joined("left", np.int64),
                joined("right", np.int64),
                joined("missing_left", np.uint8),
                joined("value", np.float64),
                self.base,
                self.n_features,
                int(self.rule.link),
                self.rule.single,
                self.rule.divisor,
                self.rule.cutoff,
                self.rule.slope,
            )
        except ValueError as error:
            raise InvalidInputError(f"the trees cannot be used: {error}") from error

    def over_integers(self, integer: BoolArray) -> Ensemble:
        """Return an ensemble with the same answers wherever these features are whole numbers, as its thresholds are."""
        return replace(
            self,
            trees=[
                replace(tree, threshold=np.where(integer[tree.feature], np.floor(tree.threshold), tree.threshold))
                for tree in self.trees
            ],
        )

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.trees)

    @property
    def n_leaves(self) -> int:
        """Number of leaves of all trees."""
        return sum(int(np.count_nonzero(tree.left < 0)) for tree in self.trees)

    def rows(self, X: Any) -> FloatArray:
        """Check a table and return it as the numbers that the trees compare."""
        return self.table(X).values

    def table(self, X: Any) -> Table:
        """Check a table and return it as the numbers that the trees compare, with what is known about them."""
        if self.encoding is not None:
            table = self.encoding.encode_table(X)
            check_finite(table.values, self.feature_names, allow_missing=self.takes_missing)
            return table
        table = as_table(X)
        matrix, names = table.values, table.names
        if matrix.shape[1] != self.n_features:
            raise InvalidInputError(f"X has {matrix.shape[1]} features, but the model was learned on {self.n_features}")
        if names is not None and self.feature_names is not None and names != self.feature_names:
            wrong = next(j for j, name in enumerate(names) if name != self.feature_names[j])
            raise InvalidInputError(
                f"column {wrong} of X is {names[wrong]!r}, but the model was learned with "
                f"{self.feature_names[wrong]!r} there; bring the columns into the model's order"
            )
        check_finite(matrix, names, allow_missing=self.takes_missing)
        return table

    def names_of(self, X: Any) -> tuple[str, ...] | None:
        """Names of the features: those of X, or else those that the model knows."""
        return column_names(X) or self.feature_names

    def scores(self, X: Any) -> FloatArray:
        """Return the sums at each row of X before division and link, of shape (n_samples, n_scores)."""
        return np.asarray(self.core.sums(self.rows(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row of X."""
        return np.asarray(self.classes[self.core.classes(self.core.sums(self.rows(X)))])

    def to_c(self, name: str = "predict") -> str:
        """Return the ensemble as a C function; see `hardwood.ensembles.code.to_c`."""
        from hardwood.ensembles.code import to_c

        return to_c(self, name)

    def to_python(self, name: str = "predict") -> str:
        """Return the ensemble as a Python function without dependencies; see `hardwood.ensembles.code.to_python`."""
        from hardwood.ensembles.code import to_python

        return to_python(self, name)

    def to_sql(self, *, backslashes: bool = False) -> str:
        """Return the ensemble as an SQL expression; see `hardwood.ensembles.code.to_sql`."""
        from hardwood.ensembles.code import to_sql

        return to_sql(self, backslashes=backslashes)

    def to_onnx(self, dtype: str = "float64") -> bytes:
        """Return the ensemble as an ONNX model; see `hardwood.ensembles.code.to_onnx`."""
        from hardwood.ensembles.code import to_onnx

        return to_onnx(self, dtype)
