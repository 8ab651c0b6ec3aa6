"""Trees as frozen parallel arrays.

A split sends ``x`` left iff ``x[feature] <= threshold``; the root is node 0; a leaf has children -1 and a class index
in ``label``; a split has label -1. Children always stand behind their parent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hardwood import _core
from hardwood.arrays import BoolArray, FloatArray, IntArray
from hardwood.data.categories import CategoryEncoding
from hardwood.data.frames import Table, as_table, check_finite, has_missing
from hardwood.errors import InvalidInputError
from hardwood.plain_data import printable


def _equal_or_none(a: NDArray[Any] | None, b: NDArray[Any] | None) -> bool:
    return (a is None and b is None) or (a is not None and b is not None and np.array_equal(a, b))


def _frozen(values: ArrayLike, dtype: type) -> NDArray[Any]:
    array: NDArray[Any] = np.array(values, dtype=dtype)
    array.setflags(write=False)
    return array


class _Structure:
    """What `Tree` and `IndexTree` share: the shape of the tree."""

    feature: IntArray
    left: IntArray
    right: IntArray
    label: IntArray

    @property
    def n_nodes(self) -> int:
        """Number of splits and leaves."""
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.count_nonzero(self.left < 0))

    @property
    def depth(self) -> int:
        """Number of splits on the longest path."""
        level = np.zeros(self.n_nodes, dtype=np.int64)
        for node in np.flatnonzero(self.left >= 0):
            level[self.left[node]] = level[self.right[node]] = level[node] + 1
        return int(level.max())

    def _check_structure(self, split_value: NDArray[Any], n_classes: int | None) -> None:
        n = len(self.feature)
        arrays = (self.feature, split_value, self.left, self.right, self.label)
        if n == 0 or any(a.ndim != 1 or len(a) != n for a in arrays):
            raise InvalidInputError("the arrays of a tree must be one-dimensional, of one length, and not empty")
        is_leaf = self.left < 0
        if not np.array_equal(is_leaf, self.right < 0):
            raise InvalidInputError("every node of a tree has two children or none")
        children = np.concatenate([self.left[~is_leaf], self.right[~is_leaf]])
        parents = np.concatenate([np.flatnonzero(~is_leaf)] * 2)
        if not np.array_equal(np.sort(children), np.arange(1, n)) or np.any(children <= parents):
            raise InvalidInputError("every node but the root must be the child of exactly one node before it")
        if np.any(self.feature[~is_leaf] < 0):
            raise InvalidInputError("a split must name a feature")
        if np.any(self.label[is_leaf] < 0) or (n_classes is not None and np.any(self.label >= n_classes)):
            raise InvalidInputError("a leaf must name one of the classes")


@dataclass(frozen=True, eq=False)
class IndexTree(_Structure):
    """A tree whose thresholds are indices into the sorted endpoints of each feature: what solvers return.

    ``index = t`` on feature ``j`` stands for any threshold strictly between endpoint clusters ``t`` and ``t + 1``;
    `hardwood.tree.conversion.place` turns it into a number.
    """

    feature: IntArray
    index: IntArray
    left: IntArray
    right: IntArray
    label: IntArray

    def __post_init__(self) -> None:
        for name in ("feature", "index", "left", "right", "label"):
            object.__setattr__(self, name, _frozen(getattr(self, name), np.int64))
        self._check_structure(self.index, None)

    @classmethod
    def leaf(cls, label: int) -> IndexTree:
        """Build the tree that always answers class index ``label``."""
        return cls(*(np.array([value]) for value in (-1, -1, -1, -1, label)))

    @classmethod
    def from_nested(cls, node: Any) -> IndexTree:
        """Build a tree from nested tuples ``(feature, index, left, right)`` with class indices as leaves."""
        columns: tuple[list[int], ...] = ([], [], [], [], [])

        def add(node: Any) -> int:
            position = len(columns[0])
            row = (-1, -1, -1, -1, int(node)) if not isinstance(node, tuple) else (node[0], node[1], -1, -1, -1)
            for column, value in zip(columns, row, strict=True):
                column.append(int(value))
            if isinstance(node, tuple):
                columns[2][position] = add(node[2])
                columns[3][position] = add(node[3])
            return position

        add(node)
        return cls(*(np.array(column) for column in columns))

    def to_nested(self, node: int = 0) -> Any:
        """Inverse of `from_nested`."""
        if self.left[node] < 0:
            return int(self.label[node])
        return (
            int(self.feature[node]),
            int(self.index[node]),
            self.to_nested(int(self.left[node])),
            self.to_nested(int(self.right[node])),
        )


@dataclass(frozen=True, eq=False)
class Tree(_Structure):
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
            object.__setattr__(self, name, _frozen(getattr(self, name), np.int64))
        object.__setattr__(self, "threshold", _frozen(self.threshold, np.float64))
        if self.margin is not None:
            object.__setattr__(self, "margin", _frozen(self.margin, np.float64))
        if self.missing_left is not None:
            object.__setattr__(self, "missing_left", _frozen(self.missing_left, np.bool_))
        classes = np.array(self.classes)
        classes.setflags(write=False)
        object.__setattr__(self, "classes", classes)
        self._check_structure(self.threshold, len(classes))
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
        """Return the class of each row of X."""
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
        children: tuple[list[int], list[int]] = ([], [])
        # Nodes still to be looked at, the next one last: where they stand, what their path leaves of each feature, and
        # whose left (0) or right (1) child they become.
        waiting: list[tuple[int, dict[int, tuple[float, float]], int, int]] = [(0, {}, -1, 0)]
        while waiting:
            node, bounds, parent, side = waiting.pop()
            while self.left[node] >= 0:
                low, high = bounds.get(int(self.feature[node]), (-np.inf, np.inf))
                if low < self.threshold[node] < high:
                    break
                node = int(self.left[node] if self.threshold[node] >= high else self.right[node])
            position = len(origin)
            origin.append(node)
            for sides in children:
                sides.append(-1)
            if parent >= 0:
                children[side][parent] = position
            if self.left[node] >= 0:
                j, b = int(self.feature[node]), float(self.threshold[node])
                low, high = bounds.get(j, (-np.inf, np.inf))
                waiting.append((int(self.right[node]), {**bounds, j: (b, high)}, position, 1))
                waiting.append((int(self.left[node]), {**bounds, j: (low, b)}, position, 0))
        if len(origin) == self.n_nodes:
            return self
        return replace(
            self,
            feature=self.feature[origin],
            threshold=self.threshold[origin],
            left=np.array(children[0]),
            right=np.array(children[1]),
            label=self.label[origin],
            margin=None if self.margin is None else self.margin[origin],
            missing_left=None if self.missing_left is None else self.missing_left[origin],
        )

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
        if self.n_nodes == 1:
            return f"always {printable(self.classes[self.label[0]])}"
        lines: list[str] = []
        # Branches still to be written, the next one last: no recursion, however deep the tree.
        waiting = [(0, False, 0), (0, True, 0)]
        while waiting:
            node, is_left, level = waiting.pop()
            child = int(self.left[node] if is_left else self.right[node])
            is_leaf = self.left[child] < 0
            answer = f": {printable(self.classes[self.label[child]])}" if is_leaf else ""
            lines.append(f"{'|   ' * level}{self.condition(node, left=is_left)}{answer}")
            if not is_leaf:
                waiting += [(child, False, level + 1), (child, True, level + 1)]
        return "\n".join(lines)

    __str__ = to_text

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
