"""Ensembles of trees that vote, and what an attacker can do to them.

Whether an attack on an ensemble succeeds is NP-hard to tell (Kantchelian, Tygar & Joseph, "Evasion and Hardening of
Tree Ensemble Classifiers", ICML 2016). Three answers of increasing cost: a certificate from each tree alone, which is
sound; a search for a misclassified point, one feature at a time; and Kantchelian et al.'s mixed-integer program, which
decides.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood import _core
from hardwood.arrays import BoolArray, FloatArray, IntArray
from hardwood.data.weights import weighted_share
from hardwood.errors import InvalidInputError, SolverError
from hardwood.tree.attacked import AttackedData
from hardwood.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class Robustness:
    """What is known about each sample under attack.

    Attributes
    ----------
    is_fooled : bool array
        A misclassified point in the sample's box is known.
    is_robust : bool array
        It is proven that there is none.
    """

    is_fooled: BoolArray
    is_robust: BoolArray

    def interval(self, sample_weight: Any = None) -> tuple[float, float]:
        """Return bounds on the adversarial accuracy; equal where every sample is decided."""
        return weighted_share(self.is_robust, sample_weight), weighted_share(~self.is_fooled, sample_weight)


@dataclass(frozen=True, eq=False)
class VotingEnsemble:
    """Trees over the same features and classes; the class with the most votes wins, the first of several."""

    trees: tuple[Tree, ...]

    def __post_init__(self) -> None:
        # A path that no point can follow must not count as reached.
        object.__setattr__(self, "trees", tuple(tree.without_empty_leaves for tree in self.trees))
        if not self.trees:
            raise InvalidInputError("an ensemble needs at least one tree")
        for tree in self.trees[1:]:
            if tree.n_features != self.n_features or not np.array_equal(tree.classes, self.classes):
                raise InvalidInputError("the trees of an ensemble must share features and classes")

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.trees[0].n_features

    @property
    def classes(self) -> NDArray[Any]:
        """The labels that the ensemble can answer."""
        return self.trees[0].classes

    @cached_property
    def _arrays(self) -> tuple[IntArray, IntArray, FloatArray, IntArray, IntArray, IntArray]:
        sizes = [tree.n_nodes for tree in self.trees]
        begin = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        feature, left, right, label = (
            np.concatenate([getattr(tree, name) for tree in self.trees])
            for name in ("feature", "left", "right", "label")
        )
        return begin, feature, np.concatenate([tree.threshold for tree in self.trees]), left, right, label

    @cached_property
    def _cuts(self) -> tuple[IntArray, FloatArray]:
        _, feature, threshold, left, _, _ = self._arrays
        cuts = [np.unique(threshold[(feature == j) & (left >= 0)]) for j in range(self.n_features)]
        return np.concatenate([[0], np.cumsum([len(c) for c in cuts])]).astype(np.int64), np.concatenate(cuts)

    def votes(self, X: FloatArray) -> IntArray:
        """Return how many trees vote for each class, of shape (n_samples, n_classes)."""
        return _core.votes(*self._arrays, X, len(self.classes))

    def predict(self, X: FloatArray) -> NDArray[Any]:
        """Return the class of each row of X."""
        return np.asarray(self.classes[self.votes(X).argmax(axis=1)])

    def robustness(
        self, X: Any, y: Any, attack: Any, *, exact: bool = True, time_limit: float | None = None
    ) -> Robustness:
        """Find out which samples an attacker can get misclassified.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        attack : anything `AttackModel.parse` takes
        exact : bool
            Decide what certificate and search leave open by mixed-integer programs; meant for small ensembles.
        time_limit : float or None
            Seconds for all of it; samples that are open then stay undecided.
        """
        deadline = math.inf if time_limit is None else time.perf_counter() + time_limit
        control = _core.Control(time_limit)
        data = AttackedData.prepare(self.trees[0], X, y, attack)
        if data.reach.limits is not None:
            integer = data.reach.limits.integer
            return VotingEnsemble(tuple(tree.over_integers(integer) for tree in self.trees))._robustness(
                data, exact, control, deadline
            )
        return self._robustness(data, exact, control, deadline)

    def _robustness(self, data: AttackedData, exact: bool, control: _core.Control, deadline: float) -> Robustness:
        lower, upper = data.boxes.lower, data.boxes.upper
        n_classes = len(self.classes)
        is_robust = _core.certified(*self._arrays, lower, upper, data.label, n_classes, control)
        is_fooled = np.zeros(len(lower), bool)
        rest = np.flatnonzero(~is_robust)
        is_fooled[rest], _ = _core.attacked(
            *self._arrays,
            data.X[rest],
            lower[rest],
            upper[rest],
            data.label[rest],
            n_classes,
            *self._cuts,
            control,
        )
        if exact:
            for i in np.flatnonzero(~is_robust & ~is_fooled):
                remaining = deadline - time.perf_counter()
                if remaining <= 0:
                    break
                answer = self._decide(lower[i], upper[i], int(data.label[i]), remaining)
                is_fooled[i], is_robust[i] = answer is True, answer is False
        return Robustness(is_fooled, is_robust)

    def _decide(self, lower: FloatArray, upper: FloatArray, truth: int, time_limit: float) -> bool | None:
        """Return whether some point of a box is misclassified; None if time ran out."""
        undecided = False
        for rival in range(len(self.classes)):
            if rival != truth:
                answer = _Evasion(self.trees, lower, upper, truth, rival).succeeds(time_limit)
                if answer:
                    return True
                undecided |= answer is None
        return None if undecided else False


class _Evasion:
    """Kantchelian et al.'s program for a point of a box at which a rival class beats the true one.

    Binary ``p[j, b]`` says ``x[j] <= b``, for the thresholds b inside the box; ``p[j, b] <= p[j, b']`` for b < b'. Of
    the leaves of each tree that the box reaches, exactly one is taken. The leaves under the left side of a split (j, b)
    sum to at most ``p[j, b]``, those under the right side to at most ``1 - p[j, b]``. The votes of the leaves taken
    must make the rival win.
    """

    def __init__(self, trees: Sequence[Tree], lower: FloatArray, upper: FloatArray, truth: int, rival: int) -> None:
        self.lower, self.upper = lower, upper
        self.column: dict[tuple[int, float], int] = {}
        self.rows: list[tuple[list[int], list[float], float, float]] = []
        # A tie goes to the class that comes first.
        self.needed = 0.0 if rival < truth else 1.0
        self.gain: list[tuple[int, float]] = []
        self.n_columns = 0
        for tree in trees:
            self._add_tree(tree, truth, rival)
        by_feature: dict[int, list[float]] = {}
        for j, b in self.column:
            by_feature.setdefault(j, []).append(b)
        for j, cuts in by_feature.items():
            cuts.sort()
            for a, b in pairwise(cuts):
                self.rows.append(([self.column[j, a], self.column[j, b]], [1.0, -1.0], -np.inf, 0.0))

    def _add_tree(self, tree: Tree, truth: int, rival: int) -> None:
        def value(node: int) -> float:
            return float(tree.label[node] == rival) - float(tree.label[node] == truth)

        def add(node: int) -> list[tuple[int, float]]:
            """Return the columns and values of the leaves below a node."""
            if tree.left[node] < 0:
                self.n_columns += 1
                return [(self.n_columns - 1, value(node))]
            j, b = int(tree.feature[node]), float(tree.threshold[node])
            if not self.lower[j] <= b:
                return add(int(tree.right[node]))
            if not self.upper[j] > b:
                return add(int(tree.left[node]))
            if (j, b) not in self.column:
                self.column[j, b] = self.n_columns
                self.n_columns += 1
            p = self.column[j, b]
            left, right = add(int(tree.left[node])), add(int(tree.right[node]))
            self.rows.append(([*(k for k, _ in left), p], [1.0] * len(left) + [-1.0], -np.inf, 0.0))
            self.rows.append(([*(k for k, _ in right), p], [1.0] * len(right) + [1.0], -np.inf, 1.0))
            return left + right

        leaves = add(0)
        self.rows.append(([k for k, _ in leaves], [1.0] * len(leaves), 1.0, 1.0))
        self.gain += leaves

    def succeeds(self, time_limit: float) -> bool | None:
        """Return whether the rival can win; None if time ran out."""
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import csr_array

        rows = [*self.rows, ([k for k, _ in self.gain], [v for _, v in self.gain], self.needed - 0.5, np.inf)]
        pointer = np.concatenate([[0], np.cumsum([len(columns) for columns, _, _, _ in rows])])
        matrix = csr_array(
            (
                np.concatenate([values for _, values, _, _ in rows]),
                np.concatenate([columns for columns, _, _, _ in rows]).astype(np.int32),
                pointer.astype(np.int32),
            ),
            shape=(len(rows), self.n_columns),
        )
        integrality = np.zeros(self.n_columns, np.int64)
        integrality[list(self.column.values())] = 1
        answer = milp(
            np.zeros(self.n_columns),
            integrality=integrality,
            bounds=Bounds(0.0, 1.0),
            constraints=LinearConstraint(
                matrix, np.array([low for *_, low, _ in rows]), np.array([high for *_, high in rows])
            ),
            options={} if math.isinf(time_limit) else {"time_limit": time_limit},
        )
        # HiGHS, as SciPy reports it: 0 solved, 1 out of time, 2 infeasible.
        if answer.status not in (0, 1, 2):
            raise SolverError(f"HiGHS could not decide whether an attack succeeds: {answer.message}")
        if answer.status == 1 and answer.x is None:
            return None
        return answer.status != 2
