"""The matching bound over many radii, and the radii that make an experiment meaningful.

If the attacker is too weak the problem is the ordinary one; if it is too strong, predicting the majority class is the
best that any model can do. Vos & Verwer (AAAI 2022, "Improving Experiment Design") therefore choose radii at which the
bound lies at given shares of its range.

>>> curve = epsilon_curve([[0.0], [1.0], [4.0], [9.0]], [0, 1, 0, 1], epsilons=[0, 0.5, 1.5, 2.5])
>>> curve.errors.tolist(), curve.floor
([0.0, 1.0, 1.0, 2.0], 0.5)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood.arrays import FloatArray
from hardwood.attack.model import AttackModel
from hardwood.bounds.accuracy import bound_problem
from hardwood.bounds.box_family import BoxFamily
from hardwood.bounds.vertex_cover import ConflictGraph
from hardwood.errors import InvalidInputError
from hardwood.markup import card, facts, sparkline
from hardwood.problem.problem import Problem, prepare

Progress = Callable[[int, int], None]

PAPER_EPSILONS: tuple[float, ...] = tuple(i / 100 for i in range(51))
"""0, 0.01, …, 0.5: the radii of the paper, for features scaled to [0, 1]."""


@dataclass(frozen=True, eq=False, repr=False)
class EpsilonCurve:
    """Upper bounds on the adversarial accuracy of every model, radius by radius.

    Attributes
    ----------
    epsilons : float array of shape (m,)
        The radii, in the order in which they were given.
    errors : float array of shape (m,)
        Weight of the samples that every model gets wrong.
    unattacked_errors : float
        The same at radius 0: contradictory samples.
    total_weight : float
        Weight of all samples.
    floor : float
        Share of the heaviest class; predicting it always reaches this under any attack.
    """

    epsilons: FloatArray
    errors: FloatArray
    unattacked_errors: float
    total_weight: float
    floor: float

    @property
    def bound(self) -> FloatArray:
        """No model has a higher adversarial accuracy at each radius."""
        return np.asarray((self.total_weight - self.errors) / self.total_weight)

    def target(self, share: float) -> float:
        """Return the errors at this share of the range: 1 is those without an attack, 0 those of the floor."""
        if not 0 <= share <= 1:
            raise InvalidInputError(f"the share {share!r} cannot be used; a share lies between 0 and 1")
        return self.unattacked_errors + (1 - share) * (self.total_weight * (1 - self.floor) - self.unattacked_errors)

    def reaches(self, share: float) -> bool:
        """Whether the bound falls, at the largest radius, to this share of its range."""
        return bool(self.errors.max() >= self.target(share) - self._slack)

    def choose(self, shares: Sequence[float] = (0.75, 0.5, 0.25)) -> FloatArray:
        """Return the radii at which the bound is nearest to shares of its range.

        The range goes from the bound without an attack (share 1) down to the floor (share 0); of two radii that
        are equally near, the smaller one is taken.
        """
        order = np.argsort(self.epsilons, kind="stable")
        chosen = []
        for share in shares:
            target = self.target(share)
            if not self.reaches(share):
                raise InvalidInputError(
                    f"at the largest radius, {self.epsilons.max():g}, the bound is still {self.bound.min():.4f}, above "
                    f"the share {share:g} of its range ({1 - target / self.total_weight:.4f}); give larger radii, or "
                    "measure them in shares of each feature's range (attack=AttackModel.fraction_of_range(1))"
                )
            distance = np.abs(self.errors[order] - target)
            nearest = np.flatnonzero(distance <= distance.min() + self._slack)[0]
            chosen.append(self.epsilons[order[nearest]])
        return np.array(chosen)

    @property
    def _slack(self) -> float:
        """Rounding that must not decide."""
        return 1e-9 * self.total_weight

    def __repr__(self) -> str:
        ends = f"from {self.bound.max():.4f} to {self.bound.min():.4f}"
        return f"EpsilonCurve({len(self.epsilons)} radii up to {self.epsilons.max():g}, bound {ends})"

    def _repr_html_(self) -> str:
        """Return what notebooks show: the curve, small, and where it ends."""
        curve = sorted(zip(self.epsilons.tolist(), self.bound.tolist(), strict=True))
        rows = {
            "radii": f"{len(curve)}, up to {curve[-1][0]:g}",
            "no model exceeds": f"{self.bound.max():.1%} at first, {self.bound.min():.1%} at last",
            "always predicting the majority class": f"{self.floor:.1%}",
        }
        return card("Bound over radii", " ", sparkline([curve], "bound over the radius"), facts(rows))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "epsilons": self.epsilons.tolist(),
            "bound": self.bound.tolist(),
            "errors": self.errors.tolist(),
            "unattacked_errors": self.unattacked_errors,
            "total_weight": self.total_weight,
            "floor": self.floor,
        }


def epsilon_curve(
    X: Any,
    y: Any,
    epsilons: Sequence[float] | FloatArray = PAPER_EPSILONS,
    *,
    attack: Any = 1.0,
    sample_weight: Any = None,
    feature_names: tuple[str, ...] | None = None,
    categorical_features: Any = None,
    missing: str = "error",
    progress: Progress | None = None,
) -> EpsilonCurve:
    """Bound the adversarial accuracy of every model for many radii.

    Conflicts stay as the radius grows, so the packing of one radius is where that of a larger one starts, only
    conflicts that a cover misses are looked up, and radii between two of equal errors cost nothing.

    Parameters
    ----------
    X, y, sample_weight, feature_names
        As in `adversarial_accuracy_bound`.
    categorical_features, missing
        As in `hardwood.problem.problem.prepare`; with either, every radius is bounded by itself, which takes longer.
    epsilons : sequence of float
        Radii >= 0.
    attack : anything `AttackModel.parse` takes
        The attack at radius 1; at radius ε all its radii are multiplied by ε. The default is an L∞ radius in the
        units of X; ``AttackModel.fraction_of_range(1)`` measures radii as fractions of each feature's range.
    progress : callable or None
        Called as ``progress(done, total)`` after each radius.

    Returns
    -------
    EpsilonCurve
        At every radius the errors are those of ``adversarial_accuracy_bound(X, y, attack.scaled(ε))``.
    """
    radii = _checked_radii(epsilons)
    others = {
        "sample_weight": sample_weight,
        "feature_names": feature_names,
        "categorical_features": categorical_features,
        "missing": missing,
    }
    problem = prepare(X, y, attack, max_depth=0, **others)
    distinct, position = np.unique(np.append(radii, 0.0), return_inverse=True)
    if problem.encoding is None and not problem.allows_missing:
        family = BoxFamily(problem)
        errors = family.weights.real(_errors_at(family, problem.known_attack, distinct, progress))
    else:
        errors = _errors_one_by_one(
            lambda radius: prepare(X, y, problem.known_attack.scaled(radius), max_depth=0, **others), distinct, progress
        )
    total = float(problem.weight.sum())
    return EpsilonCurve(
        epsilons=radii,
        errors=errors[position[:-1]],
        unattacked_errors=float(errors[0]),
        total_weight=total,
        floor=float(problem.class_weight_sums.max()) / total,
    )


def _checked_radii(epsilons: Sequence[float] | FloatArray) -> FloatArray:
    radii = np.array(epsilons, dtype=np.float64)
    if radii.ndim != 1 or len(radii) == 0:
        raise InvalidInputError(f"epsilons has shape {radii.shape}; give a list of at least one radius")
    if not np.all(radii >= 0):
        raise InvalidInputError(f"epsilons holds {radii[~(radii >= 0)][0]}; a radius must be a number >= 0")
    return radii


def _errors_one_by_one(state: Callable[[float], Problem], radii: FloatArray, progress: Progress | None) -> FloatArray:
    """Errors at each radius, for boxes that a radius alone does not make: categories, missing values."""
    errors = np.empty(len(radii))
    for e, radius in enumerate(radii):
        errors[e] = bound_problem(state(float(radius))).errors
        if progress is not None:
            progress(e + 1, len(radii))
    return errors


def _errors_at(
    family: BoxFamily, model: AttackModel, radii: FloatArray, progress: Progress | None
) -> NDArray[np.int64]:
    """Errors at each of the sorted radii, in integer weights.

    Errors grow with the radius, so radii between two of equal errors need no work: the first and the last radius are
    solved, then the middle of each interval whose ends differ, starting from the packing of the interval's lower end.
    """
    errors = np.full(len(radii), -1, np.int64)

    graph = ConflictGraph(family.vertices, family.vertex_weight)
    # Boxes grow with the radius (see `hardwood.problem.boxes`), and the conflicts with them; without two classes the
    # bound need not.
    grown = graph.is_bipartite and bool(np.all(np.diff(radii) > 1e-8 * radii[1:]))

    def solve(graph: ConflictGraph, e: int) -> ConflictGraph:
        errors[e] = graph.cover(family.rank(model.scaled(float(radii[e]))), grown=grown).weight
        if progress is not None:
            progress(int((errors >= 0).sum()), len(radii))
        return graph

    solve(graph, 0)
    if not grown:
        for e in range(1, len(radii)):
            solve(graph, e)
        return errors
    last = len(radii) - 1
    solve(graph.branch(), last)
    pending = [(0, last, graph)]
    while pending:
        low, high, graph = pending.pop()
        if errors[low] == errors[high]:
            errors[low:high] = errors[low]
        elif high - low > 1:
            middle = (low + high) // 2
            pending += [(middle, high, solve(graph.branch(), middle)), (low, middle, graph)]
    if progress is not None:
        progress(len(radii), len(radii))
    return errors


def choose_epsilons(
    X: Any,
    y: Any,
    shares: Sequence[float] = (0.75, 0.5, 0.25),
    *,
    epsilons: Sequence[float] | FloatArray = PAPER_EPSILONS,
    attack: Any = 1.0,
    sample_weight: Any = None,
    feature_names: tuple[str, ...] | None = None,
    progress: Progress | None = None,
) -> FloatArray:
    """Choose radii at which an experiment is meaningful: the paper's rule.

    For each share, take the radius at which the bound is nearest to ``floor + share · (top - floor)``, where top is
    the bound without an attack and floor the share of the majority class.

    Parameters
    ----------
    X, y, epsilons, attack, sample_weight, feature_names, progress
        As in `epsilon_curve`.
    shares : sequence of float
        Between 0 (nothing beats the majority class) and 1 (the attacker changes nothing).

    Returns
    -------
    ndarray of shape (len(shares),)
    """
    curve = epsilon_curve(
        X,
        y,
        epsilons,
        attack=attack,
        sample_weight=sample_weight,
        feature_names=feature_names,
        progress=progress,
    )
    return curve.choose(shares)
