"""How much of an attack each sample bears, and the cheapest change that flips it; also with categories and gaps.

A multiple of an attack scales its radii. Moves between categories have no size: they are there at every multiple above
0, and so is what a missing value may be. Where all features are numbers that are there, `robust_radius` is exact; else
the multiple is found by bisection, from below.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hardwood import _core
from hardwood.arrays import BoolArray, FloatArray
from hardwood.evaluation.adversarial import robust_radius
from hardwood.problem.boxes import Reach
from hardwood.tree.attacked import AttackedData
from hardwood.tree.reach import fooled_under_attack
from hardwood.tree.tree import Tree

LARGEST = 2.0**20
"""A sample that bears so many times the attack is said to bear any."""
_ROUNDS = 48
_BEYOND = 1e-6


@dataclass(frozen=True, eq=False)
class Fragility:
    """What each sample bears.

    Attributes
    ----------
    data : AttackedData
        The samples, as the tree sees them.
    bears : float array of shape (n_samples,)
        The multiple of the attack at which the sample is still right: -inf where it is wrong as it is, inf where no
        multiple changes that.
    points : float array of shape (n_samples, n_features)
        The nearest point, in the terms of the tree, at which a sample that bears no more is misclassified; NaN where
        there is none. A sample that is wrong as it is stays where it is.
    """

    data: AttackedData
    bears: FloatArray
    points: FloatArray

    def changes(self, i: int) -> list[tuple[str, str, str]]:
        """Return what the cheapest attack on a sample changes: feature, before, after."""
        tree, point, row = self.data.tree, self.points[i], self.data.X[i]
        if np.isnan(point).any():
            return []
        moved = np.flatnonzero(((point != row) & ~np.isnan(row)) | (np.isnan(row) & self._is_asked(point)))
        tests = None if tree.encoding is None else tree.encoding.tests
        numbers = [j for j in moved if tests is None or tests[j] is None]
        found = [
            (tree.name_of(int(j)), "missing" if np.isnan(row[j]) else f"{row[j]:g}", f"{point[j]:.6g}") for j in numbers
        ]
        return found + self._changed_categories(point, row)

    def _is_asked(self, point: FloatArray) -> BoolArray:
        """Which features decide in which leaf a point ends."""
        low, high, _ = self.data.regions()
        [here] = np.flatnonzero(((point > low) & (point <= high)).all(axis=1))[:1]
        return np.asarray(np.isfinite(low[here]) | np.isfinite(high[here]))

    def _changed_categories(self, point: FloatArray, row: FloatArray) -> list[tuple[str, str, str]]:
        encoding = self.data.tree.encoding
        if encoding is None:
            return []
        found = []
        asked = self._is_asked(point)
        for j, categories in enumerate(encoding.categories):
            if categories is None:
                continue
            columns = np.flatnonzero(encoding.source == j)
            # 0 says "it is this one"; a point on the way there counts as there, since a split asks at one half.
            before, after = row[columns] <= 0.5, point[columns] <= 0.5
            is_missing = bool(np.isnan(row[columns]).any())
            if asked[columns].any() if is_missing else (before != after).any():
                # What is missing is not what the splits on the way ask for.
                old = "missing" if is_missing else _category(categories, before, "another one")
                refused = _category(categories, asked[columns] & ~after, old) if is_missing else old
                found.append((encoding.column_name(j), old, _category(categories, after & ~before, f"not {refused}")))
        return found


def _category(categories: tuple[Any, ...], chosen: BoolArray, otherwise: str) -> str:
    places = np.flatnonzero(chosen)
    return str(categories[places[0]]) if len(places) else otherwise


def fragility(tree: Tree, X: Any, y: Any, attack: Any) -> Fragility:
    """Return what each sample bears, and the cheapest change that flips it.

    Parameters
    ----------
    tree : Tree
    X : table of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    attack : anything `AttackModel.parse` takes
        The unit.
    """
    data = AttackedData.prepare(tree, X, y, attack)
    if data.is_plain:
        bears = np.asarray(robust_radius(tree, X, y, attack))
    else:
        bears = _bisected(data, np.asarray(tree.predict(X) == np.asarray(y)))
    reach = _scaled(data.reach, _just_beyond(bears))
    lower, upper = reach.ends()
    tests = (None,) * tree.n_features if tree.encoding is None else tree.encoding.tests
    filled = np.where(np.isnan(data.X), [0.0 if test is None else 1.0 for test in tests], data.X)
    points, _ = _core.nearest_wrong_points(*data.regions(), filled, lower, upper, data.label)
    points[np.isposinf(bears)] = np.nan
    return Fragility(data, bears, points)


def _just_beyond(bears: FloatArray) -> FloatArray:
    return np.where(np.isfinite(bears), np.maximum(bears, 0.0) * (1 + _BEYOND) + 1e-12, 0.0)


def _scaled(reach: Reach, factor: FloatArray) -> Reach:
    """Return the reach with the radii of each sample multiplied by a factor of its own."""
    with np.errstate(invalid="ignore", over="ignore"):
        down, up = (
            np.where(factor[:, None] == 0, 0.0, factor[:, None] * radii[reach.group])
            for radii in (reach.down, reach.up)
        )
    return replace(reach, down=down, up=up, group=np.arange(len(factor)))


def _bisected(data: AttackedData, is_right: BoolArray) -> FloatArray:
    """Return the largest multiple known to be borne; 0 where any attack, however small, is too much."""

    def is_fooled(factor: FloatArray) -> BoolArray:
        return np.asarray(fooled_under_attack(data.tree, _scaled(data.reach, factor), data.label))

    low, high = np.zeros(len(data.X)), np.full(len(data.X), LARGEST)
    bears_all = ~is_fooled(high)
    for _ in range(_ROUNDS):
        middle = np.where(low > 0, np.sqrt(np.maximum(low, 1e-12) * high), high * 2.0**-10)
        fooled = is_fooled(middle)
        low, high = np.where(fooled, low, middle), np.where(fooled, middle, high)
    low[high < 1e-9] = 0.0
    return np.where(is_right, np.where(bears_all, np.inf, low), -np.inf)
