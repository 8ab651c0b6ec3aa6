"""The boosting loop: one tree after another against the loss of the worst-case margins.

For a score F and samples of sign y the robust loss is bounded by ``sum_i w_i loss(m_i)``, where m_i is at most the
margin ``min_{x in box i} y_i F(x)`` that an attacker leaves (`hardwood.ensembles.boosting.margins`; exact for stumps).
Each round

1. takes the derivatives of the loss at the present margins,
2. lets a weak learner propose where a tree splits (`hardwood.ensembles.boosting.weak`),
3. fits the values of its leaves to the loss itself, every box counted with the worst leaf it reaches (the core,
   `src/core/boosting/leaf_values.h`), and
4. adds ``learning_rate`` times the tree. The loss is convex in the values, so it falls, whatever the rate in (0, 1].

The sigmoid loss ``1 / (1 + exp(m))`` is bounded, nearly the share of samples that are lost, and not convex. It is
``1 - exp(-l)`` of the logistic loss l, a concave function, so that it lies below its tangent: a round that lowers the
logistic loss with every sample weighted by ``exp(-l)``, the present chance of getting it right, lowers the sigmoid
loss at least as much. Samples that cannot be won lose their weight. The first `WARM_UP` rounds take the logistic loss
itself, which does not depend on where it starts.

Two classes have one score. More have one each, learned against all others (one versus rest): a sample is certified
where the least score of its class exceeds the largest score of every other class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from hardwood import _core
from hardwood.arrays import BoolArray, FloatArray, IntArray
from hardwood.ensembles.boosting.boosted import Boosted, Round, WeakTree, boost
from hardwood.ensembles.boosting.margins import Margins, ReachedLeaves, SignArray, StumpMargins, TreeMargins
from hardwood.ensembles.boosting.weak import GreedyTrees, OptimalTrees, Priced
from hardwood.errors import StoppedError
from hardwood.problem.boxes import Boxes
from hardwood.problem.problem import Problem
from hardwood.tree.conversion import place
from hardwood.tree.index_tree import IndexTree
from hardwood.tree.tree import Tree

LARGEST_VALUE = 8.0
"""No leaf of a single tree adds more: exp(8) is a certainty of 0.9997."""
GRID = 2.0**-24
"""Values are whole multiples of this, so that sums of them are exact: the same in any order and in every language."""
FITTING_ROUNDS = 20
WARM_UP = 20
"""So many rounds of the sigmoid loss are logistic ones."""
FEW_SAMPLES = 20_000
"""Where there are more, so many decide which of several stumps is fitted to all."""
_NO_PROGRESS = 1e-7
_ROUNDING = 1e-9


@dataclass(frozen=True)
class BoostingLearner:
    """How to boost; see `hardwood.RobustBoostingClassifier` for the parameters."""

    n_estimators: int = 100
    learning_rate: float = 0.1
    max_depth: int = 1
    loss: str = "logistic"
    base: str = "greedy"
    l2_regularization: float = 1.0
    subsample: float = 1.0
    max_features: int | None = None
    n_iter_no_change: int | None = None
    tree_time_limit: float = 10.0
    n_jobs: int = 1

    @property
    def is_exact(self) -> bool:
        """Whether the margins kept are those that an attacker leaves, and no mere bounds on them."""
        return self.max_depth == 1

    def run(
        self,
        problem: Problem,
        held_out: Boxes | None = None,
        *,
        random_state: int = 0,
        control: _core.Control | None = None,
        on_round: Callable[[Round], None] | None = None,
    ) -> Boosted:
        """Boost on a problem.

        Parameters
        ----------
        problem : Problem
        held_out : Boxes or None
            Samples whose certified share decides how many rounds are kept.
        random_state : int
        control : Control or None
            Ends it early, with the rounds so far.
        on_round : callable or None
            Called after every round.
        """
        control = _core.Control() if control is None else control
        run = BoostingRun(self, problem, held_out, np.random.default_rng(random_state), control)
        return boost(run, self.n_estimators, self.n_iter_no_change, on_round)


class _Score:
    """One score: its samples' signs, margins and weak learner."""

    def __init__(
        self,
        learner: BoostingLearner,
        problem: Problem,
        number: int,
        held_out: Boxes | None,
        control: _core.Control,
    ) -> None:
        two = problem.n_classes == 2
        positive = 1 if two else number
        self.number, self.problem = number, problem
        self.sign = _signs(problem.label, positive)
        self.base = float(on_grid(np.float64(best_constant(self.sign, problem.weight, learner.loss))))
        kind = StumpMargins if learner.is_exact else TreeMargins
        self.margins: Margins = kind(problem.lower, problem.upper, self.sign, self.base)
        self.held_out: Margins | None = None
        if held_out is not None:
            self.held_out = kind(held_out.lower, held_out.upper, _signs(held_out.label, positive), self.base)
        if learner.base == "search":
            asked = problem if two else problem.replace(label=(self.sign > 0).astype(np.int64), classes=np.arange(2))
            self.weak: Any = OptimalTrees(asked, learner.max_depth, learner.tree_time_limit, control, learner.n_jobs)
        else:
            self.weak = GreedyTrees(problem, learner.max_depth, learner.l2_regularization, control, learner.n_jobs)
        # Every leaf has a label of its own while it has no value yet.
        self.leaves_as_classes = problem.replace(classes=np.arange(2**learner.max_depth))


class BoostingRun:
    """Boosting with one set of parameters, round by round."""

    def __init__(
        self,
        learner: BoostingLearner,
        problem: Problem,
        held_out: Boxes | None,
        rng: np.random.Generator,
        control: _core.Control,
    ) -> None:
        self.learner, self.problem, self.rng, self.control = learner, problem, rng, control
        self.exponential = learner.loss == "exponential"
        self.rounds_begun = 0
        self.held_out = held_out
        with suppress(StoppedError):  # then there will be no round
            problem.rank(control)  # before copies are made that would each sort again
        n_scores = 1 if problem.n_classes == 2 else problem.n_classes
        self.scores = [_Score(learner, problem, number, held_out, control) for number in range(n_scores)]
        self.base: FloatArray = np.array([score.base for score in self.scores])

    def next_round(self) -> tuple[WeakTree, ...]:
        """Add a tree to every score; nothing where no tree lowers any loss, or when it is stopped.

        Where features are drawn, that none does says something of these only: others are drawn, until all were.
        """
        self.rounds_begun += 1
        left = np.arange(self.problem.n_features)
        with suppress(StoppedError):
            while len(left) > 0 and not self.control.stopped:
                weight, features = self._drawn(), self._drawn_features(left)
                if trees := self._add_trees(weight, features):
                    return trees
                left = np.setdiff1d(left, features)
        return ()

    def _add_trees(self, weight: FloatArray, features: IntArray) -> tuple[WeakTree, ...]:
        found = []
        for score in self.scores:
            weak = self._fit(score, weight, features)
            if self.control.stopped:
                return ()
            if weak is not None:
                found.append((score, weak))
        for score, weak in found:
            score.margins.add(weak.tree, weak.value)
            if score.held_out is not None:
                score.held_out.add(weak.tree, weak.value)
        return tuple(weak for _, weak in found)

    def state(self, number: int) -> Round:
        """Return what has been reached."""
        validation = validation_loss = math.nan
        if self.held_out is not None:
            validation_loss = self.mean_loss(self.held_out_margins, self.held_out.weight)
            validation = certified_share(self.held_out_margins, self.held_out)
        return Round(
            number,
            self.mean_loss(self.margins, self.problem.weight),
            certified_share(self.margins, self.problem),
            validation,
            validation_loss,
        )

    @property
    def margins(self) -> FloatArray:
        """Worst-case margins of the training samples, a row for each score."""
        return np.stack([score.margins.total for score in self.scores])

    @property
    def held_out_margins(self) -> FloatArray:
        """The same of the samples that are held out."""
        return np.stack([score.held_out.total for score in self.scores if score.held_out is not None])

    def mean_loss(self, margins: FloatArray, weight: FloatArray) -> float:
        """Return the mean loss of margins, over all scores."""
        return float(sum(weight @ self._losses(of) for of in margins) / weight.sum())

    def _losses(self, margins: FloatArray) -> FloatArray:
        losses = _core.boosting_loss(margins, self.exponential)[0]
        return -np.expm1(-losses) if self.learner.loss == "sigmoid" else losses

    def _drawn(self) -> FloatArray:
        weight = self.problem.weight
        if self.learner.subsample == 1.0:
            return weight
        count = max(1, round(self.learner.subsample * len(weight)))
        drawn = np.zeros(len(weight))
        drawn[self.rng.choice(len(weight), count, replace=False)] = 1.0
        return np.asarray(weight * drawn)

    def _drawn_features(self, left: IntArray) -> IntArray:
        most = self.learner.max_features
        if most is None or most >= len(left):
            return left
        return np.sort(self.rng.choice(left, most, replace=False))

    def _fit(self, score: _Score, weight: FloatArray, features: IntArray) -> WeakTree | None:
        """Return the tree that lowers the loss most, its values shrunk; None if none lowers it."""
        present, slope, curvature = _core.boosting_loss(score.margins.total, self.exponential)
        if self.learner.loss == "sigmoid" and self.rounds_begun > WARM_UP:
            weight = weight * np.exp(-present)
        priced = Priced(score.sign, -weight * slope, weight * curvature)
        best: tuple[float, Tree, FloatArray] | None = None
        candidates = score.weak.candidates(priced, features)
        if len(candidates) > 1 and len(weight) > FEW_SAMPLES:
            candidates = [min(candidates, key=lambda tree: self._loss_on_some(score, tree, weight))]
        for index_tree in candidates:
            tree = place(index_tree, score.leaves_as_classes)
            leaves = score.margins.leaves_of(tree)
            value, loss = self._values(tree, index_tree, leaves, score.sign, weight)
            if best is None or loss < best[0] * (1 - _ROUNDING):
                best = (loss, tree, value)
        if best is None or self.control.stopped:
            return None
        if not best[0] < float(weight @ present) * (1 - _NO_PROGRESS):
            return None
        return WeakTree(best[1], on_grid(self.learner.learning_rate * best[2]), score.number)

    def _loss_on_some(self, score: _Score, index_tree: IndexTree, weight: FloatArray) -> float:
        """Return the loss that a tree leaves on evenly spread samples: enough to tell which of several is best."""
        tree = place(index_tree, score.leaves_as_classes)
        some = slice(None, None, -(-len(weight) // FEW_SAMPLES))
        leaves = score.margins.leaves_of(tree, some)
        return self._values(tree, index_tree, leaves, score.sign[some].copy(), weight[some].copy())[1]

    def _values(
        self, tree: Tree, index_tree: IndexTree, leaves: ReachedLeaves, sign: SignArray, weight: FloatArray
    ) -> tuple[FloatArray, float]:
        groups = list(leaf_groups(tree))
        start = np.concatenate([[0], np.cumsum([len(group) for group in groups])]).astype(np.int64)
        return _core.fit_leaves(
            leaves.rest,
            sign,
            weight,
            leaves.start,
            leaves.leaf,
            leaves.offset,
            start,
            np.concatenate(groups).astype(np.int32),
            int(index_tree.label.max()) + 1,
            self.exponential,
            self.learner.l2_regularization,
            LARGEST_VALUE,
            FITTING_ROUNDS,
            self.control,
        )


def leaf_groups(tree: Tree) -> Iterator[IntArray]:
    """Yield the labels of the leaves below every node: what moves together while values are fitted."""
    below: dict[int, list[int]] = {}
    for node in range(tree.n_nodes - 1, -1, -1):
        is_leaf = tree.left[node] < 0
        below[node] = [int(tree.label[node])] if is_leaf else below[int(tree.left[node])] + below[int(tree.right[node])]
    for node in range(tree.n_nodes):
        yield np.array(below[node])


def best_constant(sign: SignArray, weight: FloatArray, loss: str) -> float:
    """Return the score that has the least loss without any tree: the log of the odds, half of it for ``exp(-m)``."""
    positive, negative = (float(weight[side].sum()) for side in (sign > 0, sign < 0))
    if positive == 0 or negative == 0:
        return math.copysign(LARGEST_VALUE, positive - negative)
    odds = math.log(positive / negative)
    return float(np.clip(odds / 2 if loss == "exponential" else odds, -LARGEST_VALUE, LARGEST_VALUE))


def on_grid(values: Any) -> Any:
    """Round to whole multiples of `GRID`."""
    return np.round(values / GRID) * GRID


def certified_by(margins: FloatArray, label: IntArray) -> BoolArray:
    """Whether margins prove samples right: of shape (1, n) for two classes, else (n_classes, n), one versus rest.

    With several scores ``margin_y = min F_y`` for the true class and ``margin_k = -max F_k`` for every other.
    """
    if len(margins) == 1:
        return np.asarray(margins[0] > 0)
    rows = np.arange(len(label))
    known = label >= 0
    truth = margins[np.maximum(label, 0), rows]
    rivals = margins.copy()
    rivals[np.maximum(label, 0), rows] = np.inf
    return np.asarray((truth + rivals.min(axis=0) > 0) & known)


def certified_share(margins: FloatArray, samples: Boxes | Problem) -> float:
    """Return the share of the samples' weight that margins prove right."""
    return float(samples.weight @ certified_by(margins, samples.label) / samples.weight.sum())


def _signs(label: IntArray, positive: int) -> SignArray:
    return np.where(label == positive, 1, -1).astype(np.int8)
