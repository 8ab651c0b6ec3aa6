"""The same samples under many attacks: boxes ranked anew for each, everything else done once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hardwood.arrays import BoolArray, FloatArray, IntArray, RankArray
from hardwood.attack.domain import Limits
from hardwood.attack.model import AttackModel
from hardwood.bounds.conflict_index import RankedBoxes
from hardwood.bounds.conflicts import Vertices
from hardwood.bounds.vertex_cover import whole_weights
from hardwood.problem.boxes import lower_end, upper_end
from hardwood.problem.endpoints import rank_ends
from hardwood.problem.problem import Problem


class BoxFamily:
    """Samples whose boxes are wanted for one attack after another.

    Samples are merged if their features and class are equal, so that they share a box under every attack. Boxes and
    ranks come from the same functions as those of a `Problem`, called on the distinct values of a feature only.

    Parameters
    ----------
    problem : Problem
        The samples, all of them numbers; its own boxes are not looked at.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.weights = whole_weights(problem.weight)
        values = [np.unique(problem.values[:, j], return_inverse=True) for j in range(problem.n_features)]
        code = np.column_stack([position for _, position in values]).astype(np.int32)
        self.vertices = Vertices.of(code, code, problem.label, np.flatnonzero(problem.weight > 0))
        self._rounding = np.broadcast_to(problem.rounding, (2, problem.n_features))
        self._value = [value for value, _ in values]
        self._code = code[self.vertices.first_member]
        self._lines: dict[bytes, _Lines] = {}

    @property
    def vertex_weight(self) -> IntArray:
        """Integer weight of each vertex."""
        return self.vertices.total(self.weights.value)

    def reach(self, attack: AttackModel) -> tuple[FloatArray, FloatArray]:
        """Radii (down, up) of an attack in the units of the data, one row per class."""
        problem = self.problem
        return attack.reach(problem.n_features, problem.feature_names, problem.classes)

    def rank(self, attack: AttackModel) -> RankedBoxes:
        """Boxes of the vertices under an attack."""
        attack.require_box("the bound of any model")
        down, up = self.reach(attack)
        limits = attack.fit(self.problem.values, self.problem.feature_names).limits(
            self.problem.n_features, self.problem.feature_names
        )
        lines = self._lines_for(down, up)
        lower, upper = np.empty(lines.start[-1], np.int32), np.empty(lines.start[-1], np.int32)
        for j in range(self.problem.n_features):
            part = slice(lines.start[j], lines.start[j + 1])
            lower[part], upper[part] = _rank_lines(
                lines.value[part], down[:, j], up[:, j], lines.group[part], self._rounding[:, j], _of_feature(limits, j)
            )
        return RankedBoxes(np.take(lower, lines.line, mode="clip"), np.take(upper, lines.line, mode="clip"))

    def rank_untouchable(self, feature: int) -> tuple[RankArray, RankArray]:
        """Ranks (lower, upper) of the vertices on one feature that nobody can move."""
        down = up = np.zeros(self.problem.n_classes)
        lines = self._lines_for(down[:, None], up[:, None], feature)
        lower, upper = _rank_lines(lines.value, down, up, lines.group, self._rounding[:, feature], None)
        return lower[lines.line[:, 0]], upper[lines.line[:, 0]]

    def _lines_for(self, down: FloatArray, up: FloatArray, feature: int | None = None) -> _Lines:
        """Return the distinct boxes per feature: one per value, or per value and class where the attack needs it."""
        alike = (down == down[0]).all(axis=0) & (up == up[0]).all(axis=0)
        key = alike.tobytes() + bytes(str(feature), "ascii")
        if key not in self._lines:
            features = range(self.problem.n_features) if feature is None else [feature]
            self._lines[key] = self._distinct_lines(features, alike, len(down))
        return self._lines[key]

    def _distinct_lines(self, features: Sequence[int], alike: BoolArray, n_classes: int) -> _Lines:
        value, group, line, start = [], [], [], [0]
        for j, same in zip(features, alike, strict=True):
            if same:
                value.append(self._value[j])
                group.append(np.zeros(len(self._value[j]), np.int64))
                line.append(start[-1] + self._code[:, j].astype(np.intp))
            else:
                code = self._code[:, j].astype(np.int64) * n_classes + self.vertices.label
                present, position = np.unique(code, return_inverse=True)
                value.append(self._value[j][present // n_classes])
                group.append(present % n_classes)
                line.append(start[-1] + position)
            start.append(start[-1] + len(value[-1]))
        return _Lines(np.concatenate(value), np.concatenate(group), np.column_stack(line), start)


@dataclass(frozen=True, eq=False)
class _Lines:
    """Distinct (value, class) of each feature; ``start[j]:start[j + 1]`` are those of feature j.

    ``line[v, j]`` is where vertex v is found. Class 0 stands for all where all are attacked alike.
    """

    value: FloatArray
    group: IntArray
    line: NDArray[np.intp]
    start: list[int]


def _of_feature(limits: Limits | None, j: int) -> Limits | None:
    return None if limits is None else Limits(limits.integer[j], limits.minimum[j], limits.maximum[j])


def _rank_lines(
    value: FloatArray,
    down: FloatArray,
    up: FloatArray,
    group: IntArray,
    rounding: FloatArray,
    limits: Limits | None,
) -> tuple[RankArray, RankArray]:
    lower, upper = lower_end(value, down[group], rounding), upper_end(value, up[group], rounding)
    if limits is not None:
        lower, upper = limits.cut(lower, upper)
    ranks = rank_ends(lower[:, None], upper[:, None], value[:, None], rounding[:, None])
    return ranks.lower_rank[:, 0], ranks.upper_rank[:, 0]
