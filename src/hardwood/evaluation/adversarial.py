"""The attacker's side: the nearest adversarial example of each sample, and how much attack each sample bears."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from hardwood import _core
from hardwood.arrays import FloatArray
from hardwood.tree.attacked import AttackedData
from hardwood.tree.priced import attack_points
from hardwood.tree.tree import Tree


def attack_samples(tree: Any, X: Any, y: Any, attack: Any, *, time_limit: float | None = None) -> FloatArray:
    """Return, for each sample, the nearest point inside its box that the tree gets wrong.

    Parameters
    ----------
    tree : Tree, or anything `hardwood.as_ensemble` takes
        For an ensemble the point is some misclassified one, not the nearest.
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    attack : anything `AttackModel.parse` takes
    time_limit : float or None
        Seconds, for ensembles; rows of samples that are undecided when they are over are NaN.

    Returns
    -------
    points : float array of shape (n_samples, n_features)
        Nearest in L∞; ``tree.predict`` misclassifies every row that is not NaN. A row is NaN where no point of the
        box is misclassified. A sample that is wrong as it is stays where it is. For an attacker with a budget, the
        cheapest point that is misclassified, if it is affordable; see `hardwood.attack_cost`.
    """
    if not isinstance(tree, Tree):
        from hardwood.ensembles.verification import robustness

        return robustness(tree, X, y, attack, time_limit=time_limit).examples
    data = AttackedData.prepare(tree, X, y, attack)
    data.require_plain_numbers("attack_samples")
    if data.relations:
        return data.related_attacks(math.inf if time_limit is None else time.monotonic() + time_limit).points
    if data.reach.prices is not None:
        found = data.cheapest_attacks()
        points = attack_points(data.regions(), data.prices, data.X, found)
        points[~found.affordable] = np.nan
        return points
    points, _ = _core.nearest_wrong_points(*data.regions(), data.X, data.boxes.lower, data.boxes.upper, data.label)
    return points


def robust_radius(
    tree: Any, X: Any, y: Any, attack: Any = 1.0, *, tolerance: float = 1e-3, time_limit: float | None = None
) -> FloatArray:
    """Return how large an attack each sample bears.

    Parameters
    ----------
    tree : Tree, or anything `hardwood.as_ensemble` takes
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    attack : anything `AttackModel.parse` takes
        The unit. With the default, the answer is the largest L∞ radius at which the sample stays right; with any
        other attack it is the largest multiple of that attack.
    tolerance : float
        For ensembles the answer is a proven lower bound, at most this share below a radius at which the sample is
        fooled; `hardwood.ensembles.radius.radius_brackets` gives both and a misclassified point.
    time_limit : float or None
        Seconds, for ensembles; lower bounds are as good as they are when they are over.

    Returns
    -------
    radius : float array of shape (n_samples,)
        ``radius >= r`` means that the sample is right under ``attack.scaled(r)``: -inf where it is wrong without any
        attack, inf where no multiple can change it. Exact up to the noise of an end (`hardwood.problem.boxes`).
    """
    if not isinstance(tree, Tree):
        from hardwood.ensembles.radius import radius_brackets

        return radius_brackets(tree, X, y, attack, tolerance=tolerance, time_limit=time_limit).lower
    data = AttackedData.prepare(tree, X, y, attack)
    data.require_plain_numbers("robust_radius")
    data.require_box("robust_radius")
    region_low, region_high, region_label = data.regions()
    limits = data.reach.limits
    if limits is not None:  # no multiple of the attack leads beyond them
        inside = np.all((limits.minimum <= region_high) & (limits.maximum > region_low), axis=1)
        region_low, region_high, region_label = region_low[inside], region_high[inside], region_label[inside]
    return _core.largest_factors(region_low, region_high, region_label, *data.reach.arrays, data.label)
