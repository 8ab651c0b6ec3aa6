"""The attacker's side: the nearest adversarial example of each sample, and how much attack each sample bears."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hardwood import _core
from hardwood.arrays import BoolArray, FloatArray
from hardwood.problem.boxes import lower_end, rounding_noise, upper_end
from hardwood.tree.attacked import AttackedData
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
        box is misclassified. A sample that is wrong as it is stays where it is.
    """
    if not isinstance(tree, Tree):
        from hardwood.ensembles.verification import robustness

        return robustness(tree, X, y, attack, time_limit=time_limit).examples
    data = AttackedData.prepare(tree, X, y, attack)
    data.require_plain_numbers("attack_samples")
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
    down, up = data.radii()
    rounding = np.broadcast_to(data.rounding, (2, tree.n_features))
    region_low, region_high, region_label = data.regions()
    limits = data.reach.limits
    radius = np.full(len(data.X), np.inf)
    for r in range(len(region_label)):
        # Entering a region takes the largest of what its features ask for; staying out of it is possible up to the
        # largest factor that keeps out at least one feature.
        stays = np.where(region_label[r] == data.label, np.inf, -np.inf)
        if limits is not None and np.any((limits.minimum > region_high[r]) | (limits.maximum <= region_low[r])):
            continue
        for j in np.flatnonzero(np.isfinite(region_high[r])):
            kept_out = _factor_above(data.X[:, j], down[:, j], float(region_high[r, j]), rounding[:, j])
            np.maximum(stays, kept_out, out=stays)
        for j in np.flatnonzero(np.isfinite(region_low[r])):
            kept_out = _factor_below(data.X[:, j], up[:, j], float(region_low[r, j]), rounding[:, j])
            np.maximum(stays, kept_out, out=stays)
        np.minimum(radius, stays, out=radius)
    return radius


def _factor_above(x: FloatArray, reach: FloatArray, bound: float, rounding: FloatArray) -> FloatArray:
    """Return the largest multiple of the reach at which the lower end is above the bound; -inf where x is not."""
    return _largest_factor(
        x - bound, x, reach, rounding, lambda factor: lower_end(x, _multiple(factor, reach), rounding) > bound
    )


def _factor_below(x: FloatArray, reach: FloatArray, bound: float, rounding: FloatArray) -> FloatArray:
    """Return the largest multiple of the reach at which the upper end is at most the bound; -inf where x is not."""
    return _largest_factor(
        bound - x, x, reach, rounding, lambda factor: upper_end(x, _multiple(factor, reach), rounding) <= bound
    )


def _multiple(factor: FloatArray, reach: FloatArray) -> FloatArray:
    """Return the scaled radii; scaled to nothing, unbounded reach is none."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(factor == 0, 0.0, factor * reach)


def _largest_factor(
    gap: FloatArray,
    x: FloatArray,
    reach: FloatArray,
    rounding: FloatArray,
    keeps_out: Callable[[FloatArray], BoolArray],
) -> FloatArray:
    """Return the largest factor that keeps out, given the way to go and a test that no factor beyond it passes."""
    nothing = np.zeros(len(x))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        way = np.maximum(gap, 0.0)
        # Where the quotient is beyond all numbers, the largest one keeps out as well.
        largest = np.finfo(np.float64).max
        factor = np.clip((way - rounding_noise(x, way, rounding)) / reach, 0.0, largest)
        # Where nothing is rounded all of the way keeps out.
        whole = np.clip(way / reach, 0.0, largest)
    factor[np.isinf(reach)] = whole[np.isinf(reach) | (reach == 0)] = 0.0
    factor = np.where(keeps_out(whole), whole, factor)
    # Rounding of the quotient must not carry the end across.
    step = np.finfo(np.float64).eps
    crosses = (reach > 0) & (factor > 0) & ~keeps_out(factor)
    while crosses.any():
        factor[crosses] *= 1 - step
        step *= 2
        factor[crosses & (step >= 1)] = 0.0
        crosses = (reach > 0) & (factor > 0) & ~keeps_out(factor)
    # The attack itself may be spared by rounding where its multiples are not: what it leaves bears at least 1.
    factor = np.where(keeps_out(np.ones(len(x))), np.maximum(factor, 1.0), factor)
    factor[reach == 0] = np.inf
    return np.where(keeps_out(nothing), factor, -np.inf)
