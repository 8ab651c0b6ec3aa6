"""TREANT: greedy on the loss under attack, with leaf values that stay true deeper down.

Calzavara, Lucchese, Tolomei, Abebe & Orlando, "TREANT: Training Evasion-Aware Decision Trees", Data Mining and
Knowledge Discovery 34, 2020. At a split the samples fall into certainly left, certainly right and undecided. The two
leaf values minimise::

    sum_left l(a, y) + sum_right l(c, y) + sum_undecided max(l(a, y), l(c, y))

Each undecided sample then belongs to the side where its loss is larger, and leaves a constraint behind (*attack
invariance*): below that side its loss must not fall, and below the other side it must not rise, past the loss that the
other side gives it now. With two classes such a constraint is a bound on the leaf values that the sample can reach.

The published code calls an iterative solver for every candidate; here every candidate is solved in closed form
(`src/core/treant`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardwood import _core
from hardwood.arrays import FloatArray, IntArray
from hardwood.attack.rules import AttackRules
from hardwood.errors import InvalidInputError
from hardwood.problem.endpoints import index_of, midpoint
from hardwood.problem.problem import Problem
from hardwood.problem.rewriting import Options, boxes_under_rules
from hardwood.solvers.options import AnyOf, Flag, Instance, Nothing, OneOf, Option, Whole
from hardwood.solvers.registry import Solver, register
from hardwood.solvers.run import Run
from hardwood.tree.conversion import index_tree_of, tree_of
from hardwood.tree.draft import Draft, Fork, Leaf, grow
from hardwood.tree.rewriting import fooled_by_rules
from hardwood.tree.tree import Tree

Region = dict[int, tuple[int, int]]

LOSSES = ("squared", "logistic")
NO_GAIN = 1e-10
"""A split must lower the loss by more than this share of the node's weight."""


@register
class TreantSolver(Solver):
    """Grow a tree split by split on the loss under attack."""

    name = "treant"
    summary = "TREANT: greedy on the convex loss under attack, with attack invariance; two classes, no proof"
    proves = False
    options: ClassVar[tuple[Option, ...]] = (
        Option("loss", "squared", OneOf(LOSSES), "what is minimised"),
        Option("min_samples_split", 2, Whole(2), "a node with fewer samples becomes a leaf"),
        Option("affine", False, Flag(), "whether a path may test each feature only once"),
        Option(
            "rules",
            None,
            AnyOf(Instance(AttackRules, "AttackRules"), Nothing("the problem's boxes")),
            "an attacker with rewriting rules and a budget",
        ),
    )

    def check(self, problem: Problem) -> None:
        """Raise if there are more than two classes."""
        super().check(problem)
        if problem.n_classes != 2:
            raise InvalidInputError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"solver 'treant' is for two classes, the data has {problem.n_classes}"
            )

    def judge(self, problem: Problem, options: Mapping[str, Any]) -> Callable[[Tree], float]:
        """Return what counts the weight lost; against rules, of the samples that the attacker can afford to fool."""
        rules: AttackRules | None = options["rules"]
        if rules is None:
            return super().judge(problem, options)

        def lost(tree: Tree) -> float:
            fooled = fooled_by_rules(tree, rules, problem.values, problem.label, problem.rounding)
            return float(problem.weight[fooled].sum())

        return lost

    def _run(self, problem: Problem, run: Run) -> None:
        how = {name: value for name, value in run.options.items() if name != "rules"}
        rules: AttackRules | None = run.options["rules"]
        if rules is None:
            growth = Growth(problem, Options.boxes(problem), run.control, **how)

            def index_between(j: int, under: int, over: int) -> int:
                ends = problem.ends_of(j)
                return index_of(midpoint(float(ends.last[under]), float(ends.first[over])), ends)

            run.report(index_tree_of(with_labels(growth.grow(index_between))))
            return
        choices = Options.rules(rules, problem.values, problem.feature_names, problem.rounding)
        growth = Growth(problem, choices, run.control, **how)

        def value_between(j: int, under: int, over: int) -> float:
            return midpoint(float(choices.last[j][under]), float(choices.first[j][over]))

        run.report(tree_of(with_labels(growth.grow(value_between)), problem))


def problem_under_rules(problem: Problem, rules: AttackRules) -> Problem:
    """Return the problem with the smallest boxes that hold all that an attacker with rules can do."""
    lower, upper = boxes_under_rules(rules, problem.values, problem.feature_names, problem.rounding)
    return problem.replace(lower=lower, upper=upper)


def with_labels(draft: Draft) -> Draft:
    """Return the draft with class indices instead of predictions."""
    return replace(draft, answer=[None if value is None else int(value > 0.5) for value in draft.answer])


@dataclass(frozen=True, eq=False)
class Invariants:
    """Constraints that undecided samples left behind: wherever the sample reaches, the prediction keeps to a bound."""

    sample: IntArray
    is_upper: IntArray
    bound: FloatArray

    def keep(self, mask: NDArray[np.bool_]) -> Invariants:
        """Return those of the mask."""
        return Invariants(self.sample[mask], self.is_upper[mask], self.bound[mask])

    def join(self, other: Invariants) -> Invariants:
        """Return these and the others."""
        return Invariants(
            np.concatenate([self.sample, other.sample]),
            np.concatenate([self.is_upper, other.is_upper]),
            np.concatenate([self.bound, other.bound]),
        )


class _Node(NamedTuple):
    """What TREANT knows where it grows a node: its samples and constraints, its prediction as a leaf, where it lies."""

    samples: IntArray
    invariants: Invariants
    prediction: float
    region: Region
    depth: int


class Growth:
    """One run of TREANT.

    Parameters
    ----------
    problem : Problem
        Its labels, weights and depth are used; what the attacker can do is in `options`.
    options : Options
        What the attacker can do to each sample, feature by feature.
    control : Control
        Asked before every node and every feature; when it says so, the remaining nodes become leaves.
    loss : {"squared", "logistic"}
    min_samples_split : int
        A node with fewer samples becomes a leaf.
    affine : bool
        Whether a path may test each feature only once.
    """

    def __init__(
        self,
        problem: Problem,
        options: Options,
        control: _core.Control,
        *,
        loss: str = "squared",
        min_samples_split: int = 2,
        affine: bool = False,
    ) -> None:
        self.problem = problem
        self.options = options
        self.control = control
        self.logistic = loss == "logistic"
        self.min_samples_split = min_samples_split
        self.affine = affine

    def grow(self, threshold_between: Callable[[int, int, int], Any]) -> Draft:
        """Return the tree, with predictions as answers.

        Parameters
        ----------
        threshold_between : callable
            Makes a threshold of a feature and the two ranks that it lies between.
        """
        nothing = Invariants(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        samples = np.flatnonzero(self.problem.weight > 0)
        mean = float(np.average(self.problem.label[samples], weights=self.problem.weight[samples]))
        return grow(_Node(samples, nothing, mean, {}, 0), lambda node: self._decide(node, threshold_between))

    def _decide(self, node: _Node, threshold_between: Callable[[int, int, int], Any]) -> Leaf | Fork[_Node]:
        samples, invariants, prediction, region, depth = node
        if depth >= self.problem.max_depth or len(samples) < self.min_samples_split or self.control.stopped:
            return Leaf(prediction)
        split = self._best_split(samples, invariants, prediction, region)
        if split is None:
            return Leaf(prediction)
        j, under, over, left_value, right_value = split
        label = self.problem.label
        low, high = self.options.interval(samples, j, region)
        undecided = (low <= under) & (high > under)
        # The attacker takes the worse side: for class 1 the smaller prediction, for class 0 the larger one.
        worse_left = np.where(label[samples] == 1, left_value < right_value, left_value > right_value)
        goes_left = np.where(undecided, worse_left, low <= under)
        rule_low, rule_high = self.options.interval(invariants.sample, j, region)
        bound = np.where(goes_left, right_value, left_value)[undecided]
        # Below its own side the loss may not fall, below the other side it may not rise, past the bound. For class 0
        # the loss grows with the prediction, for class 1 it shrinks.
        is_zero = label[samples][undecided] == 0
        upper_at_left = (is_zero != goes_left[undecided]).astype(np.int64)
        lowest, highest = self._between(region, j)
        children = []
        for at_left, kept, inside, value in (
            (True, rule_low <= under, (lowest, under), left_value),
            (False, rule_high > under, (under, highest), right_value),
        ):
            fresh = Invariants(samples[undecided], upper_at_left if at_left else 1 - upper_at_left, bound)
            here = samples[goes_left == at_left]
            children.append(_Node(here, invariants.keep(kept).join(fresh), value, {**region, j: inside}, depth + 1))
        return Fork(j, threshold_between(j, under, over), *children)

    def _between(self, region: Region, j: int) -> tuple[int, int]:
        """Return between which ranks of feature j a region lies."""
        return region.get(j, (-1, self.options.n_ranks(j) - 1))

    def _best_split(
        self, samples: IntArray, invariants: Invariants, prediction: float, region: Region
    ) -> tuple[int, int, int, float, float] | None:
        label, weight = self.problem.label[samples], self.problem.weight[samples]
        weight_here = float(weight.sum())
        ones = float(weight[label == 1].sum())
        best = _core.treant_loss(prediction, weight_here - ones, ones, self.logistic) - NO_GAIN * weight_here
        found = None
        for j in range(self.problem.n_features):
            if self.affine and j in region:
                continue
            low, high = self.options.interval(samples, j, region)
            rule_low, rule_high = self.options.interval(invariants.sample, j, region)
            loss, under, over, left_value, right_value = _core.treant_best_threshold(
                low,
                high,
                label,
                weight,
                rule_low,
                rule_high,
                invariants.is_upper,
                invariants.bound,
                *self._between(region, j),
                prediction,
                self.logistic,
                self.control,
            )
            if self.control.stopped:
                return None
            if loss < best:
                best, found = loss, (j, under, over, left_value, right_value)
        return found
