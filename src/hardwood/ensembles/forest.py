"""Growing a forest: greedy robust trees on bootstrap samples."""

from __future__ import annotations

import numpy as np

from hardwood.arrays import FloatArray
from hardwood.problem.problem import Problem
from hardwood.solvers.greedy import Events, GreedyLearner
from hardwood.solvers.parallel import in_threads
from hardwood.tree.conversion import place
from hardwood.tree.tree import Tree


def grow_forest(
    problem: Problem,
    learner: GreedyLearner,
    n_estimators: int,
    *,
    bootstrap: bool = True,
    n_jobs: int = 1,
    random_state: int = 0,
) -> tuple[Tree, ...]:
    """Grow trees on bootstrap samples; which ones does not depend on `n_jobs`."""
    # What all trees share is sorted once, before the threads start.
    events = None if learner.criterion == "adversarial-error" else Events.sort(problem)
    problem.endpoints  # noqa: B018
    present = np.flatnonzero(problem.weight > 0)

    def grow_one(number: int) -> Tree:
        rng = np.random.default_rng([random_state, number])
        weight: FloatArray = problem.weight
        if bootstrap:
            weight = weight * np.bincount(rng.choice(present, len(present)), minlength=problem.n_samples)
        return place(learner.grow(problem, rng, weight=weight, events=events), problem)

    return tuple(in_threads(grow_one, ((number,) for number in range(n_estimators)), n_jobs))
