"""Greedy robust trees: no proof, but a tree in milliseconds.

Three criteria, all top-down:

- ``"groot"`` (Vos & Verwer, "Efficient Training of Robust Decision Trees Against Adversarial Examples", ICML 2021). A
  split is scored by the worst weighted Gini impurity that the attacker can force by choosing a side for every sample
  that can reach both; the samples are then distributed in that worst way and each child grows from its share. The
  published code is for two classes of equal weight; here the same rule holds for any number of classes and any weights.
- ``"chen"`` (Chen, Zhang, Boning & Hsieh, "Robust Decision Trees Against Adversarial Examples", ICML 2019). The worst
  of four placements only, with Gini impurity or entropy; the samples are then divided by their own values.
- ``"adversarial-error"`` (FPRDT; Guo, Teng, Gao & Zhou, "Fast Provably Robust Decision Trees and Boosting", ICML 2022).
  Greedy on the number of samples that the whole tree loses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hardwood import _core
from hardwood.arrays import FloatArray, IntArray
from hardwood.errors import InvalidInputError, StoppedError
from hardwood.problem.leaf_limit import least_weight
from hardwood.problem.problem import Problem
from hardwood.solvers.options import AnyOf, Nothing, Number, OneOf, Option, Share, Whole, check_options
from hardwood.solvers.registry import Solver, register
from hardwood.solvers.run import Run
from hardwood.solvers.starts import repaired
from hardwood.tree.conversion import GapTree, place
from hardwood.tree.index_tree import IndexTree
from hardwood.tree.tree import Tree

CRITERIA = ("groot", "chen", "adversarial-error")
IMPURITIES = ("gini", "entropy")


MAX_FEATURES = Option(
    "max_features",
    None,
    AnyOf(Nothing("all"), OneOf(("sqrt", "log2")), Whole(1), Share()),
    "how many features, drawn at random, each split looks at; more while none gains",
)
OPTIONS = (
    Option("criterion", "groot", OneOf(CRITERIA), "how a split is scored"),
    Option("impurity", "gini", OneOf(IMPURITIES), "what criterion='chen' measures"),
    Option("min_samples_split", 2, Whole(2), "a node with fewer samples becomes a leaf"),
    Option("min_samples_leaf", 1, Whole(1), "a split that leaves fewer samples on one side is not made"),
    Option(
        "min_weight_fraction_leaf",
        0.0,
        Number(0, 0.5),
        "a split that leaves less than this share of all weight on one side is not made",
    ),
    MAX_FEATURES,
    Option("robust_weight", 1.0, Number(0, 1), "share of the movable samples that the attacker really moves"),
)


@register
class GreedySolver(Solver):
    """Grow a tree split by split on the impurity or the errors under attack."""

    name = "greedy"
    supports_prices = True  # it sees boxes that hold all that is affordable; its tree is judged by what is
    summary = "GROOT, Chen et al. or FPRDT: greedy on impurity or errors under attack; no proof, milliseconds"
    proves = False
    ranks_ends = False
    supports_leaf_limits = True
    options = OPTIONS

    def _run(self, problem: Problem, run: Run) -> None:
        learner, rng = GreedyLearner(**run.options).within(problem), np.random.default_rng(run.random_state)
        if problem.leaf_limit_name is None and problem.leaf_penalty == 0:
            run.report(learner.grow_tree(problem, rng, control=run.control))
        else:
            # The problem counts what reaches a leaf for certain, the learner what its criterion sends there.
            run.report(repaired(learner.grow(problem, rng, control=run.control), problem))


MOST_SAMPLES = 2**28 - 1
"""More would not fit into the 32 bits of an event."""


@dataclass(frozen=True, eq=False)
class Events:
    """Per feature, the lower ends, values and upper ends of all samples in one sorted list.

    Attributes
    ----------
    problem : Problem
        Whose ends they are.
    lists : EventLists
        In the compiled core: per feature codes ``16 * sample + 8 * (it begins a rank) + 2 * kind + (label == 1)``; kind
        0 is the lower end, 1 the value, 2 the upper end. Events share a rank as ends do (`hardwood.problem.endpoints`);
        values are both kinds of end here.
    """

    problem: Problem
    lists: _core.EventLists

    @classmethod
    def sort(cls, problem: Problem, control: _core.Control | None = None) -> Events:
        """Sort the events of all samples: O(p n log n); `StoppedError` where the control stops it."""
        if problem.n_samples > MOST_SAMPLES:
            raise InvalidInputError(
                f"{problem.n_samples:,} samples are more than the greedy learner can take ({MOST_SAMPLES:,})"
            )
        found = _core.sort_events(*problem.reach.arrays, problem.values, problem.label, control)
        if found is None:
            raise StoppedError("stopped while the ends of boxes were sorted")
        return cls(problem, _core.EventLists(*found, problem.label))

    def gap_behind(self, feature: IntArray, place: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the last number of the rank of the event at a place and the first one of the next, for each."""
        problem = self.problem
        return _core.gaps_behind(*problem.reach.arrays, problem.values, self.lists, feature, place)


@dataclass(frozen=True)
class GreedyLearner:
    """How to grow a greedy tree.

    Parameters
    ----------
    criterion : {"groot", "chen", "adversarial-error"}
        See the module.
    impurity : {"gini", "entropy"}
        What ``"chen"`` measures; the other criteria know no entropy.
    min_samples_split : int
        A node with fewer samples becomes a leaf.
    min_samples_leaf : int
        A split that leaves fewer samples on one side, as the criterion distributes them, is not made.
    min_weight_fraction_leaf : float
        The same for a share of the weight of all samples that take part.
    max_features : None, "sqrt", "log2", int or float
        How many features, drawn at random, each split looks at, and more as long as none of them gains anything; None
        for all.
    robust_weight : float
        Share of the movable samples that the attacker really moves; 0 learns without an attacker, 1 with a full one.
        ``"adversarial-error"`` counts errors under the full attack only.
    """

    criterion: str = "groot"
    impurity: str = "gini"
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_fraction_leaf: float = 0.0
    max_features: int | float | str | None = None
    robust_weight: float = 1.0

    def __post_init__(self) -> None:
        check_options(OPTIONS, {option.name: getattr(self, option.name) for option in OPTIONS}, "the greedy learner")
        if self.impurity != "gini" and self.criterion != "chen":
            raise InvalidInputError(f"impurity={self.impurity!r} is for criterion='chen', not for {self.criterion!r}")
        if self.robust_weight != 1 and self.criterion == "adversarial-error":
            raise InvalidInputError(
                f"robust_weight={self.robust_weight!r} has no meaning for criterion='adversarial-error'; leave it at 1"
            )

    def within(self, problem: Problem) -> GreedyLearner:
        """Return a learner that keeps the limits of a problem on leaves, too."""
        return replace(
            self,
            min_samples_leaf=max(self.min_samples_leaf, problem.min_samples_leaf),
            min_weight_fraction_leaf=max(self.min_weight_fraction_leaf, problem.min_weight_fraction_leaf),
        )

    def grow(
        self,
        problem: Problem,
        rng: np.random.Generator,
        *,
        weight: FloatArray | None = None,
        events: Events | None = None,
        control: _core.Control | None = None,
    ) -> IndexTree:
        """Grow a tree.

        Parameters
        ----------
        problem : Problem
        rng : Generator
            Draws features.
        weight : float array of shape (n_samples,) or None
            Other weights than the problem's, e.g. of a bootstrap sample; samples of weight 0 take no part.
        events : Events or None
            ``Events.sort(problem)``, where several trees are grown on one problem.
        control : Control or None
            Where it stops the growth, the nodes still open become leaves.
        """
        weight = problem.weight if weight is None else weight
        if self.criterion == "adversarial-error":
            return self._grow_on_errors(problem, weight, rng, control)
        events = Events.sort(problem, control) if events is None else events
        return self._grow_on_impurity(problem, weight, events, rng, control).in_indices(problem)

    def grow_tree(
        self,
        problem: Problem,
        rng: np.random.Generator,
        *,
        weight: FloatArray | None = None,
        events: Events | None = None,
        control: _core.Control | None = None,
    ) -> Tree:
        """Grow a tree with thresholds at maximum margin; parameters as in `grow`."""
        weight = problem.weight if weight is None else weight
        if self.criterion == "adversarial-error":
            return place(self._grow_on_errors(problem, weight, rng, control), problem)
        events = Events.sort(problem, control) if events is None else events
        return self._grow_on_impurity(problem, weight, events, rng, control).placed(problem, events.lists)

    def _sizes(self, problem: Problem) -> tuple[int, int, int]:
        return self.min_samples_split, self.min_samples_leaf, count_features(self.max_features, problem.n_features)

    def _grow_on_impurity(
        self,
        problem: Problem,
        weight: FloatArray,
        events: Events,
        rng: np.random.Generator,
        control: _core.Control | None,
    ) -> GapTree:
        feature, place, left, right, label = _core.grow_on_impurity(
            events.lists,
            weight,
            problem.n_classes,
            problem.max_depth,
            *self._sizes(problem),
            self.robust_weight,
            "groot" if self.criterion == "groot" else f"chen-{self.impurity}",
            int(rng.integers(2**31)),
            control,
            least_weight(self.min_weight_fraction_leaf, weight),
        )
        last, first = np.full((2, len(feature)), np.nan)
        is_split = left >= 0
        last[is_split], first[is_split] = events.gap_behind(feature[is_split], place[is_split])
        return GapTree(feature, last, first, left, right, label)

    def _grow_on_errors(
        self,
        problem: Problem,
        weight: FloatArray,
        rng: np.random.Generator,
        control: _core.Control | None,
    ) -> IndexTree:
        if control is not None:
            problem.rank(control)
        ends = problem.endpoints
        numbers = ends.numbers()
        taken = np.flatnonzero(weight > 0)
        arrays = _core.grow_on_errors(
            ends.lower_rank[taken],
            ends.upper_rank[taken],
            numbers.offset,
            numbers.first,
            numbers.last,
            problem.label[taken],
            weight[taken],
            problem.n_classes,
            problem.max_depth,
            *self._sizes(problem),
            int(rng.integers(2**31)),
            control,
            least_weight(self.min_weight_fraction_leaf, weight),
        )
        return IndexTree(*arrays)


def count_features(max_features: int | float | str | None, n_features: int) -> int:
    """Return how many of the features may be drawn."""
    if max_features is None:
        return n_features
    if max_features == "sqrt":
        return max(1, int(np.sqrt(n_features)))
    if max_features == "log2":
        return max(1, int(np.log2(n_features)))
    assert not isinstance(max_features, str)
    if isinstance(max_features, float):
        return max(1, int(max_features * n_features))
    return min(int(max_features), n_features)
