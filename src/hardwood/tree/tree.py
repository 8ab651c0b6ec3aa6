"""Trees with numbers as thresholds: what is shipped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood import _core
from hardwood.arrays import BoolArray, FloatArray, IntArray
from hardwood.data.categories import CategoryEncoding
from hardwood.data.chunks import is_chunked, over_chunks
from hardwood.data.frames import Table, as_table, check_finite, has_missing
from hardwood.errors import InvalidInputError
from hardwood.plain_data import printable
from hardwood.tree.draft import Fork, Leaf, grow
from hardwood.tree.structure import Structure, frozen


def _equal_or_none(a: NDArray[Any] | None, b: NDArray[Any] | None) -> bool:
    return (a is None and b is None) or (a is not None and b is not None and np.array_equal(a, b))


@dataclass(frozen=True, eq=False)
class Tree(Structure):
    """A decision tree over float features.

    Parameters
    ----------
    feature : array of int
        Feature tested at each split; -1 at leaves.
    threshold : array of float
        Threshold of each split; NaN at leaves.
    left, right : array of int
        Children; -1 at leaves.
    label : array of int
        Index into `classes` at leaves; -1 at splits.
    classes : array
        The labels that the tree can answer.
    n_features : int
        Number of features of the data.
    feature_names : tuple of str or None
        Names for printing and for attacks given by name.
    margin : array of shape (n_nodes, 2) or None
        The nearest endpoints of training boxes below and above each threshold, where known (NaN where not): any
        threshold that is at least the first and less than the second treats the training data alike.
    missing_left : array of bool or None
        Whether a missing value (NaN) goes left at each split; None if missing values are refused.
    encoding : CategoryEncoding or None
        How a table with categorical columns becomes features; the methods then take such tables.
    """

    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    label: IntArray
    classes: NDArray[Any]
    n_features: int
    feature_names: tuple[str, ...] | None = None
    margin: FloatArray | None = None
    missing_left: BoolArray | None = None
    encoding: CategoryEncoding | None = None

    def __post_init__(self) -> None:
        for name in ("feature", "left", "right", "label"):
            object.__setattr__(self, name, frozen(getattr(self, name), np.int64))
        object.__setattr__(self, "threshold", frozen(self.threshold, np.float64))
        if self.margin is not None:
            object.__setattr__(self, "margin", frozen(self.margin, np.float64))
        if self.missing_left is not None:
            object.__setattr__(self, "missing_left", frozen(self.missing_left, np.bool_))
        classes = np.array(self.classes)
        classes.setflags(write=False)
        object.__setattr__(self, "classes", classes)
        self.check_structure(self.threshold, len(classes))
        is_split = self.left >= 0
        if not np.all(np.isfinite(self.threshold[is_split])):
            raise InvalidInputError("a split must have a threshold, and a finite one")
        if np.any(self.feature >= self.n_features):
            raise InvalidInputError(f"a split names feature {self.feature.max()} of {self.n_features}")
        if self.feature_names is not None and len(self.feature_names) != self.n_features:
            raise InvalidInputError(f"{len(self.feature_names)} feature names for {self.n_features} features")
        for name in self.feature_names or ():
            if not isinstance(name, str):
                raise InvalidInputError(f"a feature is called {name!r}; names must be text")
        if self.margin is not None and self.margin.shape != (self.n_nodes, 2):
            raise InvalidInputError(f"the margins of a tree must be of shape ({self.n_nodes}, 2)")
        if self.missing_left is not None and self.missing_left.shape != (self.n_nodes,):
            raise InvalidInputError("a tree that takes missing values must say where they go at each node")
        if self.encoding is not None and self.encoding.n_features != self.n_features:
            raise InvalidInputError(
                f"the categories make {self.encoding.n_features} features, but the tree has {self.n_features}"
            )
        self._check_questions(is_split)

    def _check_questions(self, is_split: BoolArray) -> None:
        """Refuse splits on indicators that ask anything but whether the value is that category."""
        if self.encoding is None:
            return
        is_indicator = np.array([test is not None for test in self.encoding.tests])
        asks = np.flatnonzero(is_split)[is_indicator[self.feature[is_split]]]
        outside = (self.threshold[asks] < 0) | (self.threshold[asks] >= 1)
        if np.any(outside):
            raise InvalidInputError(
                f"node {asks[outside][0]} splits a category at {self.threshold[asks[outside][0]]:g}; "
                "that must be at least 0 and below 1"
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return (
            self.n_features == other.n_features
            and self.feature_names == other.feature_names
            and np.array_equal(self.classes, other.classes)
            and self.encoding == other.encoding
            and _equal_or_none(self.missing_left, other.missing_left)
            and all(
                np.array_equal(getattr(self, name), getattr(other, name))
                for name in ("feature", "left", "right", "label")
            )
            and np.array_equal(self.threshold, other.threshold, equal_nan=True)
        )

    __hash__ = None  # type: ignore[assignment]

    def apply(self, X: Any) -> IntArray:
        """Return the leaf in which each row of X ends."""
        matrix = self.rows(X)
        leaf = _core.apply(self.feature, self.threshold, self.left, self.right, matrix)
        if self.missing_left is not None and has_missing(matrix):
            with_gaps = np.flatnonzero(np.isnan(matrix).any(axis=1))
            leaf[with_gaps] = self._apply_with_gaps(matrix[with_gaps])
        return leaf

    def _apply_with_gaps(self, matrix: FloatArray) -> IntArray:
        assert self.missing_left is not None
        position = np.zeros(len(matrix), dtype=np.int64)
        # Children stand behind their parents, so one pass over the nodes takes every row to its leaf.
        for node in np.flatnonzero(self.left >= 0):
            here = np.flatnonzero(position == node)
            values = matrix[here, self.feature[node]]
            goes_left = np.where(np.isnan(values), self.missing_left[node], values <= self.threshold[node])
            position[here] = np.where(goes_left, self.left[node], self.right[node])
        return position

    def decision_path(self, X: Any) -> BoolArray:
        """Return a matrix (n_samples, n_nodes): whether each row of X passes through each node."""
        position = self.apply(X)
        parent = np.full(self.n_nodes, -1)
        for child in (self.left, self.right):
            parent[child[self.left >= 0]] = np.flatnonzero(self.left >= 0)
        passes = np.zeros((len(position), self.n_nodes), dtype=bool)
        while np.any(position >= 0):
            on_path = np.flatnonzero(position >= 0)
            passes[on_path, position[on_path]] = True
            position = np.where(position >= 0, parent[position], -1)
        return passes

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row of X; for a Dask array or dataframe lazily, chunk by chunk."""
        if is_chunked(X):
            lazily: NDArray[Any] = over_chunks(self.predict, X, self.classes.dtype)
            return lazily
        return self.classes[self.label[self.apply(X)]]

    def rows(self, X: Any) -> FloatArray:
        """Check a table and return it as the numbers that the tree compares."""
        return self.table(X).values

    def table(self, X: Any) -> Table:
        """Check a table and return it as the numbers that the tree compares, with what is known about them."""
        if self.encoding is None:
            table = as_table(X)
            if table.shape[1] != self.n_features:
                raise InvalidInputError(
                    f"X has {table.shape[1]} features, but the tree was learned on {self.n_features}"
                )
        else:
            table = self.encoding.encode_table(X)
        check_finite(table.values, self.feature_names, allow_missing=self.missing_left is not None)
        return table

    @cached_property
    def without_empty_leaves(self) -> Tree:
        """The same function without the branches that no point can enter.

        Below a split ``x[j] <= b`` a second split on ``j`` at ``b' >= b`` has an empty right side. A box may seem to
        reach it, since it reaches both sides of both splits, but no single point of the box does.
        """
        origin: list[int] = []

        def look(state: tuple[int, dict[int, tuple[float, float]]]) -> Leaf | Fork[Any]:
            """Find the first node from here on that divides what the path leaves of its feature, or the leaf."""
            node, bounds = state
            while self.left[node] >= 0:
                j, b = int(self.feature[node]), float(self.threshold[node])
                low, high = bounds.get(j, (-np.inf, np.inf))
                left, right = int(self.left[node]), int(self.right[node])
                if low < b < high:
                    origin.append(node)
                    return Fork(j, b, (left, {**bounds, j: (low, b)}), (right, {**bounds, j: (b, high)}))
                node = left if b >= high else right
            origin.append(node)
            return Leaf(int(self.label[node]))

        draft = grow((0, {}), look)
        if len(origin) == self.n_nodes:
            return self
        return replace(
            self,
            feature=self.feature[origin],
            threshold=self.threshold[origin],
            left=np.array(draft.left),
            right=np.array(draft.right),
            label=self.label[origin],
            margin=None if self.margin is None else self.margin[origin],
            missing_left=None if self.missing_left is None else self.missing_left[origin],
        )

    def over_integers(self, integer: BoolArray) -> Tree:
        """Return a tree with the same answers wherever these features are whole numbers, its thresholds such numbers.

        ``x <= 5.5`` is ``x <= 5`` there. So a leaf between 5.2 and 5.8, which holds no whole number, is empty.
        """
        chosen = (self.left >= 0) & integer[self.feature]
        if not chosen.any():
            return self
        return replace(self, threshold=np.where(chosen, np.floor(self.threshold), self.threshold), margin=None)

    def regions(self) -> tuple[FloatArray, FloatArray, IntArray]:
        """Return the half-open box ``(low, high]`` and the class index of every non-empty leaf."""
        tree = self.without_empty_leaves
        low = np.full((tree.n_nodes, self.n_features), -np.inf)
        high = np.full((tree.n_nodes, self.n_features), np.inf)
        for node in np.flatnonzero(tree.left >= 0):
            j, b = tree.feature[node], tree.threshold[node]
            for child in (tree.left[node], tree.right[node]):
                low[child], high[child] = low[node], high[node]
            high[tree.left[node], j] = b
            low[tree.right[node], j] = b
        leaves = tree.left < 0
        return low[leaves], high[leaves], tree.label[leaves]

    def name_of(self, feature: int) -> str:
        """How feature ``feature`` is called in texts and plots."""
        return printable(self.feature_names[feature]) if self.feature_names is not None else f"x[{feature}]"

    def condition(self, node: int, *, left: bool, digits: int = 6) -> str:
        """Return in words what a sample that goes left or right at a split fulfils."""
        j = int(self.feature[node])
        test = None if self.encoding is None else self.encoding.tests[j]
        if self.encoding is not None and test is not None:
            return f"{printable(self.encoding.column_name(test[0]))} {'=' if left else '≠'} {printable(test[1])}"
        return f"{self.name_of(j)} {'<=' if left else '> '} {self.threshold[node]:.{digits}g}"

    def to_text(self) -> str:
        """Return the tree as indented text, one line per branch."""
        from hardwood.export.text import to_text

        return to_text(self)

    __str__ = to_text

    def _repr_html_(self) -> str:
        """Return what notebooks show: the tree, drawn."""
        from hardwood.tree.drawing import tree_html

        return tree_html(self)

    def __repr__(self) -> str:
        return f"Tree(depth={self.depth}, n_leaves={self.n_leaves}, n_features={self.n_features})"

    def to_sklearn(self) -> Any:
        """Return a fitted scikit-learn decision tree with the same answers; see `hardwood.export.to_sklearn`."""
        from hardwood.export import to_sklearn

        return to_sklearn(self)

    def to_onnx(self, dtype: str = "float64") -> bytes:
        """Return the tree as an ONNX model; see `hardwood.export.to_onnx`."""
        from hardwood.export import to_onnx

        return to_onnx(self, dtype)

    def to_python(self, name: str = "predict") -> str:
        """Return the tree as a Python function without dependencies; see `hardwood.export.to_python`."""
        from hardwood.export import to_python

        return to_python(self, name)

    def to_c(self, name: str = "predict") -> str:
        """Return the tree as a C function; see `hardwood.export.to_c`."""
        from hardwood.export import to_c

        return to_c(self, name)

    def to_sql(self, *, backslashes: bool = False) -> str:
        """Return the tree as an SQL expression; see `hardwood.export.to_sql`."""
        from hardwood.export import to_sql

        return to_sql(self, backslashes=backslashes)

    def to_dot(self) -> str:
        """Return the tree as a graph for Graphviz; see `hardwood.export.to_dot`."""
        from hardwood.export import to_dot

        return to_dot(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, as in model files."""
        from hardwood.export.tree_data import tree_to_data

        return tree_to_data(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Tree:
        """Inverse of `to_dict`; anything that is not a well-formed tree is refused."""
        from hardwood.export.tree_data import tree_from_data

        return tree_from_data(data)
