"""How many rounds, how deep, trained against how much: certified accuracy on folds after every round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hardwood import _core
from hardwood.arrays import FloatArray, IntArray
from hardwood.ensembles.boosting.learner import BoostingLearner, Round
from hardwood.problem.problem import Problem

NEIGHBOURS = 3
"""A number of rounds is judged together with so many less and so many more: these are nearly the same models, and the
mean hangs less on single samples of the folds."""


@dataclass(frozen=True)
class ChosenRounds:
    """What cross validation chose.

    Attributes
    ----------
    max_depth, rounds : int
        No rounds at all is the best constant.
    score : float
        Mean certified accuracy over the folds.
    curves : dict
        By depth, the mean certified accuracy after 0, 1, 2, ... rounds, each the mean over its neighbours.
    """

    max_depth: int
    rounds: int
    score: float
    curves: dict[int, FloatArray]


def choose_rounds(
    training: Problem,
    judged: Problem,
    folds: Sequence[tuple[IntArray, IntArray]],
    learner: BoostingLearner,
    max_depths: Sequence[int],
    *,
    random_state: int = 0,
    control: _core.Control | None = None,
) -> ChosenRounds:
    """Choose depth and rounds by certified accuracy on folds; of equals the shallowest, then the fewest rounds.

    Parameters
    ----------
    training, judged : Problem
        The same samples against the attack to learn against and against the attack to be judged by.
    folds : sequence of pairs of row numbers
        To learn from and to judge on.
    learner : BoostingLearner
        With the largest number of rounds on offer.
    max_depths : sequence of int
    """
    curves = {}
    for depth in sorted(set(max_depths)):
        deeper = replace(learner, max_depth=depth, n_iter_no_change=None)
        found = [certified_curve(deeper, training.take(a), judged.take(b), random_state, control) for a, b in folds]
        curves[depth] = smoothed(np.mean(found, axis=0))
    best = max(curves, key=lambda depth: round(float(curves[depth].max()), 12))
    rounds = int(np.argmax(np.round(curves[best], 12)))
    return ChosenRounds(best, rounds, float(curves[best][rounds]), curves)


def smoothed(curve: FloatArray, neighbours: int = NEIGHBOURS) -> FloatArray:
    """Return means over the neighbours on both sides; beyond the ends the last values go on."""
    padded = np.pad(curve, neighbours, mode="edge")
    return np.convolve(padded, np.full(2 * neighbours + 1, 1 / (2 * neighbours + 1)), "valid")


def certified_curve(
    learner: BoostingLearner, training: Problem, judged: Problem, seed: int = 0, control: _core.Control | None = None
) -> FloatArray:
    """Return the certified share of the judged samples after every round; where boosting ended the last one stays."""
    found: list[float] = []

    def note(state: Round) -> None:
        found.append(state.validation)

    learner.run(training, judged.boxes, random_state=seed, control=control, on_round=note)
    heaviest = int(np.argmax(training.class_weight_sums))
    constant = float(judged.weight @ (judged.label == heaviest) / judged.weight.sum())
    curve = [constant, *found]
    return np.array(curve + [curve[-1]] * (learner.n_estimators + 1 - len(curve)))
