"""Several boosted models added up: what they agree on stays, what each took from chance cancels out.

On a few hundred samples stumps and deeper trees, losses that give up hopeless samples and losses that do not, end up
about equally good, on other samples each. The mean of their scores is more often right than the one of them that cross
validation happens to prefer. The margin of a mean is at least the mean of the margins, so what is certified of all
members together needs no other proof; the sum of all trees can be verified exactly as ever.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hardwood import _core
from hardwood.arrays import FloatArray
from hardwood.ensembles.boosting.boosted import Boosted, Round, WeakTree, boost
from hardwood.ensembles.boosting.learner import BoostingLearner, BoostingRun, certified_share, on_grid
from hardwood.problem.boxes import Boxes
from hardwood.problem.problem import Problem


@dataclass(frozen=True)
class BlendedLearner:
    """Boosts with the parameters of each member; the score is the mean of the members' scores.

    The first member says how many rounds without progress on held-out samples end it.
    """

    members: tuple[BoostingLearner, ...]

    @property
    def n_estimators(self) -> int:
        """Rounds; in each, every member adds a tree."""
        return max(member.n_estimators for member in self.members)

    def run(
        self,
        problem: Problem,
        held_out: Boxes | None = None,
        *,
        random_state: int = 0,
        control: _core.Control | None = None,
        on_round: Callable[[Round], None] | None = None,
    ) -> Boosted:
        """Boost on a problem; see `BoostingLearner.run`."""
        control = _core.Control() if control is None else control
        # A member that draws must not draw what another does.
        seeds: list[Any] = [random_state, *np.random.SeedSequence(random_state).spawn(len(self.members) - 1)]
        runs = [
            BoostingRun(member, problem, held_out, np.random.default_rng(seed), control)
            for member, seed in zip(self.members, seeds, strict=True)
        ]
        return boost(_Blend(runs), self.n_estimators, self.members[0].n_iter_no_change, on_round)


class _Blend:
    """Runs side by side, each of which sees its own margins only."""

    def __init__(self, runs: list[BoostingRun]) -> None:
        self.runs = runs
        self.problem, self.held_out, self.control = runs[0].problem, runs[0].held_out, runs[0].control
        self.base: FloatArray = on_grid(np.mean([run.base for run in runs], axis=0))
        self._left = [run.learner.n_estimators for run in runs]

    def next_round(self) -> tuple[WeakTree, ...]:
        """Let every member add its trees, each worth its share of the mean."""
        found: list[WeakTree] = []
        for k, run in enumerate(self.runs):
            trees = run.next_round() if self._left[k] else ()
            # Who has come to an end stays there, who is stopped as well.
            self._left[k] = self._left[k] - 1 if trees else 0
            found += trees
        return tuple(replace(weak, value=on_grid(weak.value / len(self.runs))) for weak in found)

    def state(self, number: int) -> Round:
        """Return what has been reached: losses are means over the members, each of its own margins."""
        validation = validation_loss = math.nan
        if self.held_out is not None:
            validation = certified_share(np.mean([run.held_out_margins for run in self.runs], axis=0), self.held_out)
            others = self.held_out.weight
            validation_loss = float(np.mean([run.mean_loss(run.held_out_margins, others) for run in self.runs]))
        loss = float(np.mean([run.mean_loss(run.margins, self.problem.weight) for run in self.runs]))
        certified = certified_share(np.mean([run.margins for run in self.runs], axis=0), self.problem)
        return Round(number, loss, certified, validation, validation_loss)
