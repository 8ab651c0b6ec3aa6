"""The same samples under many attacks: boxes ranked anew for each, everything else done once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood.attack_model import AttackModel
from hardwood.conflict_index import IntArray, RankedBoxes
from hardwood.conflicts import merge_equal
from hardwood.problem import Problem, boxes
from hardwood.thresholds import cluster_endpoints
from hardwood.vertex_cover import IntegerWeights

FloatArray = NDArray[np.float64]


class BoxFamily:
    """Samples whose boxes are wanted for one attack after another.

    Samples are merged if their features and class are equal, so that they share a box under every attack. Boxes and
    ranks come from the same functions as those of a `Problem`, called on the distinct values of a feature only.

    Parameters
    ----------
    X, y, sample_weight
        As in `Problem.from_data`.
    """

    def __init__(self, X: Any, y: Any, sample_weight: Any = None) -> None:
        self.problem = Problem.from_data(X, y, 0.0, max_depth=0, sample_weight=sample_weight)
        problem = self.problem
        self.weights = IntegerWeights.of(problem.weight)
        values = [np.unique(problem.lower[:, j], return_inverse=True) for j in range(problem.n_features)]
        code = np.column_stack([position for _, position in values]).astype(np.int32)
        self.vertices = merge_equal(code, problem.label, np.flatnonzero(self.weights.value > 0))
        self._value = [value for value, _ in values]
        self._code = code[self.vertices.first_member]
        # What is the same box on one feature: the value, and the class where classes are attacked differently.
        self._label = self.vertices.label

    @property
    def vertex_weight(self) -> IntArray:
        """Integer weight of each vertex."""
        return self.vertices.total(self.weights.value)

    def reach(self, attack: AttackModel) -> tuple[FloatArray, FloatArray]:
        """Radii (down, up), one row per class."""
        problem = self.problem
        fitted = attack.fit(problem.lower, problem.feature_names)
        return fitted.reach(problem.n_features, problem.feature_names, problem.classes)

    def rank(self, attack: AttackModel) -> RankedBoxes:
        """Boxes of the vertices under an attack."""
        down, up = self.reach(attack)
        ranked = RankedBoxes(np.empty(self._code.shape, np.int32), np.empty(self._code.shape, np.int32))
        for j in range(self.problem.n_features):
            ranked.lower[:, j], ranked.upper[:, j] = self.rank_feature(j, down[:, j], up[:, j])
        return ranked

    def rank_feature(
        self, feature: int, down: FloatArray, up: FloatArray
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Ranks (lower, upper) of the vertices on one feature, given one radius per class."""
        value = self._value[feature]
        n_groups = 1 if np.all(down == down[0]) and np.all(up == up[0]) else len(down)
        # One line per distinct value and class; classes that are attacked alike share their lines.
        group = np.repeat(np.arange(n_groups), len(value))
        lower, upper = boxes(np.tile(value, n_groups)[:, None], down[:, None], up[:, None], group)
        line = self._code[:, feature] + (self._label * len(value) if n_groups > 1 else 0)
        if n_groups > 1:
            # Only boxes that exist may take part in the snapping of endpoints.
            present, line = np.unique(line, return_inverse=True)
            lower, upper = lower[present], upper[present]
        endpoints = cluster_endpoints(lower, upper)
        return endpoints.lower_rank[line, 0], endpoints.upper_rank[line, 0]
