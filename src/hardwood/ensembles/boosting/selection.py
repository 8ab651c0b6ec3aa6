"""How many rounds: certified accuracy on held-out samples after every round."""

from __future__ import annotations

import numpy as np

from hardwood import _core
from hardwood.arrays import FloatArray
from hardwood.ensembles.boosting.blend import BlendedLearner
from hardwood.ensembles.boosting.boosted import Round
from hardwood.ensembles.boosting.learner import BoostingLearner
from hardwood.problem.problem import Problem

NEIGHBOURS = 3
"""A number of rounds is judged together with so many less and so many more: these are nearly the same models, and the
mean hangs less on single samples of the folds."""


def smoothed(curve: FloatArray, neighbours: int = NEIGHBOURS) -> FloatArray:
    """Return means over the neighbours on both sides; beyond the ends the last values go on."""
    padded = np.pad(curve, neighbours, mode="edge")
    return np.convolve(padded, np.full(2 * neighbours + 1, 1 / (2 * neighbours + 1)), "valid")


def certified_curve(
    learner: BoostingLearner | BlendedLearner,
    training: Problem,
    judged: Problem,
    seed: int = 0,
    control: _core.Control | None = None,
) -> FloatArray:
    """Return the certified share of the judged samples after every round; where boosting ended the last one stays."""
    found: list[float] = []

    def note(state: Round) -> None:
        found.append(state.validation)

    boosted = learner.run(training, judged.boxes, random_state=seed, control=control, on_round=note)
    if boosted.stopped_by == "interrupt":
        raise KeyboardInterrupt
    heaviest = int(np.argmax(training.class_weight_sums))
    constant = float(judged.weight @ (judged.label == heaviest) / judged.weight.sum())
    curve = [constant, *found]
    return np.array(curve + [curve[-1]] * (learner.n_estimators + 1 - len(curve)))
