"""What boosting learns, and the loop over its rounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from hardwood import _core
from hardwood.arrays import FloatArray
from hardwood.ensembles.scores import Ensemble, Link, Rule, TreeOfScores
from hardwood.problem.boxes import Boxes
from hardwood.problem.problem import Problem
from hardwood.tree.tree import Tree


@dataclass(frozen=True)
class Round:
    """What one round of boosting reached.

    Attributes
    ----------
    number : int
        From 1 on.
    loss : float
        Mean loss of the worst-case margins of the training samples, over all classes.
    certified, validation : float
        Share of the training and of the validation samples whose margins prove them right under attack; `validation` is
        NaN where none were held out.
    validation_loss : float
        Mean loss of the worst-case margins of the validation samples, over all classes.
    """

    number: int
    loss: float
    certified: float
    validation: float
    validation_loss: float = math.nan


@dataclass(frozen=True, eq=False)
class WeakTree:
    """One tree of one score: the leaf of label k adds ``value[k]``."""

    tree: Tree
    value: FloatArray
    score: int

    def scored(self, n_scores: int) -> TreeOfScores:
        """Return the tree as a member of an ensemble."""
        tree, is_leaf = self.tree, self.tree.left < 0
        value = np.zeros((tree.n_nodes, n_scores))
        value[is_leaf, self.score] = self.value[tree.label[is_leaf]]
        missing = np.zeros(tree.n_nodes, bool) if tree.missing_left is None else tree.missing_left
        return TreeOfScores(tree.feature, tree.threshold, tree.left, tree.right, value, missing)


@dataclass(frozen=True, eq=False)
class Boosted:
    """What boosting learned: a base score for each class, and the trees of every round.

    `stopped_by` says what ended it: "rounds", "no progress", "validation", "time limit" or "interrupt".
    """

    base: FloatArray
    rounds: tuple[tuple[WeakTree, ...], ...]
    history: tuple[Round, ...]
    stopped_by: str

    def ensemble(self, problem: Problem, rounds: int | None = None, **described: Any) -> Ensemble:
        """Return the first rounds (all by default) as an ensemble over the features of a problem."""
        n_scores = len(self.base)
        chosen = self.rounds if rounds is None else self.rounds[:rounds]
        trees = [weak.scored(n_scores) for trees in chosen for weak in trees]
        if not trees:
            leaf = (np.array([-1]), np.array([np.nan]), np.array([-1]), np.array([-1]))
            trees = [TreeOfScores(*leaf, np.zeros((1, n_scores)), np.zeros(1, bool))]
        return Ensemble(
            trees,
            self.base,
            Rule(Link.CUTOFF if n_scores == 1 else Link.ARGMAX),
            problem.classes,
            problem.n_features,
            problem.feature_names,
            takes_missing=problem.allows_missing,
            library="hardwood",
            encoding=problem.encoding,
            **described,
        )


class Rounds(Protocol):
    """What is boosted: it adds trees round by round and says how good it has become."""

    base: FloatArray
    held_out: Boxes | None
    control: _core.Control

    def next_round(self) -> tuple[WeakTree, ...]:
        """Add trees; nothing where none lowers a loss, or when it is stopped."""

    def state(self, number: int) -> Round:
        """Return what has been reached."""


def boost(
    run: Rounds, n_estimators: int, n_iter_no_change: int | None, on_round: Callable[[Round], None] | None
) -> Boosted:
    """Add rounds until there are enough, and keep those up to the best on what is held out, if anything is."""
    history: list[Round] = []
    rounds: list[tuple[WeakTree, ...]] = []
    reason = "rounds"
    best = 0
    try:
        for number in range(1, n_estimators + 1):
            trees = run.next_round()
            if run.control.stopped:
                reason = "time limit"
                break
            if not trees:
                reason = "no progress"
                break
            rounds.append(trees)
            history.append(run.state(number))
            if on_round is not None:
                on_round(history[-1])
            if run.held_out is not None:
                if history[-1].validation > (history[best].validation if best < len(history) else -1.0):
                    best = number - 1
                if n_iter_no_change is not None and number - 1 - best >= n_iter_no_change:
                    reason = "validation"
                    break
    except KeyboardInterrupt:
        reason = "interrupt"
        rounds = rounds[: len(history)]
    if run.held_out is not None and history:
        rounds, history = rounds[: best + 1], history[: best + 1]
    return Boosted(run.base, tuple(rounds), tuple(history), reason)
