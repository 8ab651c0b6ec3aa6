"""What robustness costs: optimal trees over radius and depth, and which of them nothing else beats.

A tree is trained against a multiple of the attack (its radius) and judged by the attack itself: accuracy as it is,
accuracy under attack, leaves. The *front* are the trees that no other one beats in one of the three without losing in
another. The *knee* is the tree of the front nearest to the best of all three at once, each measured from the worst on
the front (0) to the best (1), leaves by their logarithm: the point beyond which a little more of one costs much of the
others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hardwood.arrays import BoolArray
from hardwood.attack.model import AttackModel
from hardwood.bounds import bound_problem
from hardwood.errors import InvalidInputError
from hardwood.evaluation.metrics import accuracy, adversarial_accuracy
from hardwood.problem.problem import Problem
from hardwood.solvers import solve
from hardwood.solvers.result import EndReason, Result

RADII = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
DEPTHS = (1, 2, 3, 4)

StateProblem = Callable[[AttackModel, int], Problem]
"""States what is to be learned against an attack with a depth."""


@dataclass(frozen=True, eq=False)
class Part:
    """Samples to judge trees by."""

    X: Any
    y: Any


@dataclass(frozen=True)
class TradeoffPoint:
    """One tree, and how it does.

    Attributes
    ----------
    radius : float
        Multiple of the attack that it was trained against.
    depth : int
        Splits that were allowed on a path.
    result : Result
    problem : Problem
        What it was learned from.
    accuracy, attacked : float
        On the samples it is judged by: as they are, and under the attack itself.
    train_accuracy, train_attacked : float
        The same on what it was learned from.
    attacked_at_own_radius : float
        Accuracy on the training samples under what it was trained against.
    """

    radius: float
    depth: int
    result: Result
    problem: Problem
    accuracy: float
    attacked: float
    train_accuracy: float
    train_attacked: float
    attacked_at_own_radius: float

    @property
    def leaves(self) -> int:
        """Number of leaves."""
        return self.result.tree.n_leaves


@dataclass(frozen=True)
class Tradeoff:
    """Trees over radius and depth.

    Attributes
    ----------
    points : tuple of TradeoffPoint
    attack : AttackModel
        In the units of the data.
    bounds : dict from radius to float
        The accuracy that no model of any kind exceeds on the training samples under that multiple of the attack.
    was_interrupted : bool
        Whether some trees are missing because somebody did not want to wait.
    """

    points: tuple[TradeoffPoint, ...]
    attack: AttackModel
    bounds: dict[float, float]
    was_interrupted: bool = False

    @property
    def front(self) -> BoolArray:
        """Which points no other one beats."""
        values = _criteria(self.points)
        beats = (values[:, None, :] >= values[None, :, :]).all(axis=2) & (values[:, None, :] > values[None]).any(axis=2)
        # Of equals the first, which is the one of the smallest radius.
        same = (values[:, None, :] == values[None, :, :]).all(axis=2)
        repeats = np.tril(same, -1).any(axis=1)
        return np.asarray(~beats.any(axis=0) & ~repeats)

    @property
    def knee(self) -> int:
        """Which point is nearest to the best of everything."""
        on_front = np.flatnonzero(self.front)
        values = _criteria(self.points)[on_front]
        span = values.max(axis=0) - values.min(axis=0)
        scaled = np.where(span > 0, (values - values.min(axis=0)) / np.where(span > 0, span, 1.0), 1.0)
        return int(on_front[np.argmin(np.sum((1 - scaled) ** 2, axis=1))])

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        front, knee = self.front, self.knee
        return {
            "was_interrupted": self.was_interrupted,
            "bounds": [{"radius": radius, "bound": bound} for radius, bound in self.bounds.items()],
            "points": [
                {
                    "radius": point.radius,
                    "depth": point.depth,
                    "leaves": point.leaves,
                    "accuracy": point.accuracy,
                    "adversarial_accuracy": point.attacked,
                    "training_accuracy": point.train_accuracy,
                    "training_adversarial_accuracy": point.train_attacked,
                    "objective": point.result.objective,
                    "bound": point.result.bound,
                    "status": point.result.status.value,
                    "is_on_front": bool(front[k]),
                    "is_knee": k == knee,
                }
                for k, point in enumerate(self.points)
            ],
        }


def _criteria(points: Sequence[TradeoffPoint]) -> Any:
    """Return what is better the larger it is, one row per point."""
    return np.array([[p.accuracy, p.attacked, -np.log(p.leaves)] for p in points])


def trade_off(
    state: StateProblem,
    attack: AttackModel,
    train: Part,
    judged_by: Part | None = None,
    *,
    radii: Sequence[float] = RADII,
    depths: Sequence[int] = DEPTHS,
    time_limit: float | None = 60.0,
    n_jobs: int = 1,
    random_state: int = 0,
    on_point: Callable[[int, int], None] | None = None,
) -> Tradeoff:
    """Learn optimal trees over radius and depth.

    Parameters
    ----------
    state : callable
        ``state(attack, depth)`` returns the problem.
    attack : AttackModel
        In the units of the data.
    train, judged_by : Part
        What the trees are learned from, and what they are judged by; the same where nothing was held out.
    radii : sequence of float
        Multiples of the attack to train against.
    depths : sequence of int
    time_limit : float or None
        Seconds for each tree; one that is not proven by then comes with its gap.
    n_jobs : int
    random_state : int
    on_point : callable or None
        Called with how many trees are done, and of how many.

    Returns
    -------
    Tradeoff
        Ctrl-C ends it with the trees that are done; without any, `KeyboardInterrupt` goes on.
    """
    chosen_radii, chosen_depths = _checked(radii, "radii", 0.0), [int(d) for d in _checked(depths, "depths", 0)]
    points: list[TradeoffPoint] = []
    bounds: dict[float, float] = {}
    total = len(chosen_radii) * len(chosen_depths)
    limits = {"time_limit": time_limit, "n_jobs": n_jobs, "random_state": random_state}
    judge = train if judged_by is None else judged_by
    was_interrupted = False
    try:
        for point in _points(state, attack, train, judge, chosen_radii, chosen_depths, bounds, limits):
            points.append(point)
            if on_point is not None:
                on_point(len(points), total)
            if point.result.stopped_by is EndReason.INTERRUPT:
                was_interrupted = True
                break
    except KeyboardInterrupt:
        if not points:
            raise
        was_interrupted = True
    return Tradeoff(tuple(points), attack, bounds, was_interrupted)


def _points(
    state: StateProblem,
    attack: AttackModel,
    train: Part,
    judge: Part,
    radii: Sequence[float],
    depths: Sequence[int],
    bounds: dict[float, float],
    limits: dict[str, Any],
) -> Iterator[TradeoffPoint]:
    for radius in radii:
        scaled = attack.scaled(radius)
        problem = state(scaled, 0)
        bounds[radius] = bound_problem(problem).bound
        before = None
        for depth in depths:
            problem = problem.replace(max_depth=depth)
            # What is best with fewer splits is a good start.
            result = solve(problem, "search", start=before, **limits)
            before = tree = result.tree
            yield TradeoffPoint(
                radius,
                depth,
                result,
                problem,
                accuracy(tree, judge.X, judge.y),
                adversarial_accuracy(tree, judge.X, judge.y, attack),
                accuracy(tree, train.X, train.y),
                adversarial_accuracy(tree, train.X, train.y, attack),
                adversarial_accuracy(tree, train.X, train.y, scaled),
            )


def _checked(values: Sequence[float], what: str, least: float) -> list[float]:
    found = sorted(set(values))
    if not found or not all(np.isfinite(value) and value >= least for value in found):
        raise InvalidInputError(f"{what}={list(values)!r}; give at least one number, none below {least:g}")
    return found
