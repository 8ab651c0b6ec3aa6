"""What must hold for one case; each check asks the package and raises where the brute force disagrees."""

from __future__ import annotations

import os
import random
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Any

import numpy as np

from fuzz.brute_force import (
    Box,
    Noise,
    Truth,
    decimal,
    fewest_errors_of_any_model,
    lost_weight,
    noise_of_ends,
    optimum,
    truths,
)
from fuzz.cases import MISSING, Case
from hardwood import (
    AttackModel,
    Model,
    Problem,
    Result,
    Status,
    Tree,
    adversarial_accuracy,
    adversarial_accuracy_bound,
    attack_samples,
    load_model,
    relabel,
    robust_radius,
    solve,
)
from priced_cases import PricedCase

ROUNDING = Fraction(1, 10**9)
"""Sums of floats may be wrong by this share of the total weight."""


class FalseClaimError(AssertionError):
    """The package said something that is not true."""


def ensure(condition: object, message: str) -> None:
    """Raise `FalseClaimError` with the message unless the condition holds."""
    if not condition:
        raise FalseClaimError(message)


def table(case: Case) -> Any:
    """The samples as a user has them: an array, or a frame where there are categories."""
    if not case.moves:
        if case.dtype == "int64":
            return np.array([[int(value) for value in row] for row in case.X], dtype=np.int64)
        return np.array([[float(value) for value in row] for row in case.X], dtype=case.dtype)
    import pandas as pd

    def column(j: int) -> list[Any]:
        if j in case.moves:
            return [None if row[j] == MISSING else row[j] for row in case.X]
        return [float(row[j]) for row in case.X]

    return pd.DataFrame({f"f{j}": column(j) for j in range(case.n_features)})


def spelled(case: Case) -> AttackModel:
    """The attack in one of the ways to write it."""

    def entry(j: int, reach: tuple[str, str]) -> Any:
        if j in case.moves:
            return {word: targets for word, targets in case.can_become(j).items() if targets}
        down, up = float(reach[0]), float(reach[1])
        shorthand = {(0.0, 0.0): "", (inf, 0.0): "<", (0.0, inf): ">", (inf, inf): "<>"}.get((down, up))
        return shorthand if shorthand is not None else down if down == up else (down, up)

    def entries(row: list[tuple[str, str]]) -> Any:
        by_index = {j: entry(j, reach) for j, reach in enumerate(row)}
        if case.moves:
            return {f"f{j}": value for j, value in by_index.items() if value}
        return by_index if case.spelling == "names" else list(by_index.values())

    first = case.reach[0]

    def within(model: AttackModel) -> AttackModel:
        """The attack with what is said of the values that there are."""
        model = model.with_integers(case.integer) if case.integer else model
        bounds = [{j: float(end) for j, end in side.items()} for side in (case.minimum, case.maximum)]
        return model.with_bounds(*bounds) if any(bounds) else model

    if case.spelling == "per class":
        specs = {c: entries(row) for c, row in enumerate(case.reach)}
        if case.unit == "raw":
            return within(AttackModel.per_class(specs))
        if case.seed % 2:
            return within(AttackModel.fraction_of_range(AttackModel.per_class(specs)))
        return within(AttackModel.per_class({c: AttackModel.fraction_of_range(spec) for c, spec in specs.items()}))
    model = AttackModel.fraction_of_range(entries(first)) if case.unit == "range" else AttackModel.parse(entries(first))
    return within(model.only(range(case.n_classes)) if case.spelling == "all classes" else model)


@dataclass(frozen=True)
class Trial:
    """A case with what several checks need of it."""

    case: Case

    @cached_property
    def samples(self) -> Any:
        """The samples."""
        return table(self.case)

    @cached_property
    def y(self) -> Any:
        """The labels."""
        return np.array(self.case.y)

    @cached_property
    def weight(self) -> Any:
        """The weights, or None."""
        return None if self.case.weight is None else np.array([float(w) for w in self.case.weight])

    @cached_property
    def problem(self) -> Problem:
        """What the solvers get."""
        case = self.case
        return Problem.from_data(
            self.samples,
            self.y,
            spelled(case),
            case.depth,
            sample_weight=self.weight,
            leaf_penalty=float(case.leaf_penalty),
            min_samples_leaf=case.min_samples_leaf,
            min_weight_fraction_leaf=float(case.min_weight_fraction_leaf),
            missing="reachable" if case.has_missing else "error",
            categorical_features=[f"f{j}" for j in case.moves] or None,
        )

    @cached_property
    def fitted_attack(self) -> AttackModel:
        """The attack in the units of the data, for evaluation."""
        model = spelled(self.case)
        return model.fit(np.asarray(self.samples, dtype=np.float64)) if self.case.unit == "range" else model

    @cached_property
    def truths(self) -> list[Truth]:
        """Exact boxes, or a smaller and a larger set of them."""
        return list(truths(self.case, self.noise))

    @cached_property
    def noise(self) -> Noise:
        """What rounding can have done to each end."""
        return noise_of_ends(self.case)

    @cached_property
    def optima(self) -> tuple[Fraction, Fraction]:
        """The optimum lies between these; they are equal where nothing depends on rounding."""
        answers = [optimum(self.case, truth) for truth in self.truths]
        return answers[0], answers[-1]

    @cached_property
    def total(self) -> Fraction:
        """Sum of all weights."""
        return sum(self.case.weights, Fraction(0))

    @cached_property
    def slack(self) -> Fraction:
        """What a sum of weights may be wrong by."""
        return Fraction(0) if self.problem.has_integer_weights else ROUNDING * self.total

    @cached_property
    def result(self) -> Result:
        """What the exact search says."""
        case = self.case
        return solve(self.problem, "search", n_jobs=case.n_jobs, random_state=case.random_state, options=case.options)


def search_finds_the_optimum(trial: Trial) -> None:
    """The exact search proves what trying every tree gives."""
    result, (least, most) = trial.result, trial.optima
    ensure(result.status is Status.OPTIMAL, f"search ended without a proof: {result.summary()}")
    found = Fraction(result.objective)
    # A sum of a few floats is wrong in its last bits; beyond that only what the result states.
    rounding = 0 if trial.slack == 0 else most / 10**14
    ensure(
        least - rounding <= found <= most + rounding + Fraction(result.tolerance),
        f"search proves {result.objective!r}; trying every tree gives {float(least)!r} to {float(most)!r}",
    )
    ensure(result.bound <= result.objective, f"bound {result.bound!r} above objective {result.objective!r}")


def float_ends(trial: Trial) -> tuple[Any, Any]:
    """Both ends of the boxes as an outside judge makes them: x - down and x + up in float64, nothing else."""
    case, X = trial.case, np.asarray(trial.samples, dtype=np.float64)
    down, up = trial.fitted_attack.reach(case.n_features, None, range(case.n_classes))
    with np.errstate(over="ignore"):
        low, high = X - down[trial.y], X + up[trial.y]
    low[np.isnan(X)], high[np.isnan(X)] = -inf, inf
    for ends, bounds, inner in ((low, case.minimum, np.maximum), (high, case.maximum, np.minimum)):
        for j, end in bounds.items():
            ends[:, j] = inner(ends[:, j], float(end))
    low[:, case.integer], high[:, case.integer] = np.ceil(low[:, case.integer]), np.floor(high[:, case.integer])
    return low, high


def float_boxes(trial: Trial) -> dict[int, list[Box]]:
    """The same for the brute force."""
    low, high = float_ends(trial)
    return {
        j: [(decimal(a), decimal(b)) for a, b in zip(low[:, j].tolist(), high[:, j].tolist(), strict=True)]
        for j in range(trial.case.n_features)
    }


def judges_agree_on_the_tree(trial: Trial, result: Result | None = None) -> None:
    """A judge who compares raw floats finds no more errors than are claimed; our own evaluation finds the same."""
    case, result = trial.case, result or trial.result
    penalty = Fraction(float(case.leaf_penalty)) * result.tree.n_leaves
    ensure(result.tree.depth <= case.depth, f"depth {result.tree.depth} where {case.depth} is allowed")
    if not case.moves:
        judged = lost_weight(case, result.tree, float_boxes(trial)) + penalty
        claimed = Fraction(result.objective)
        # Within the noise of an end the judge may miss errors, but never finds more than are claimed.
        agrees = judged >= claimed - trial.slack or _near_an_end(trial, result.tree)
        ensure(
            judged <= claimed + trial.slack and agrees,
            f"{result.solver} claims {result.objective!r} for a tree that a judge of raw floats finds to cost "
            f"{float(judged)!r}: {result.tree.to_dict()}",
        )
    score = adversarial_accuracy(result.tree, trial.samples, trial.y, trial.fitted_attack, trial.weight)
    evaluated = (1 - Fraction(score)) * trial.total + penalty
    ensure(
        abs(evaluated - Fraction(result.objective)) <= ROUNDING * trial.total,
        f"{result.solver}: objective {result.objective!r}, adversarial_accuracy says {float(evaluated)!r}",
    )


def bounds_hold(trial: Trial) -> None:
    """The bound for every model is that of the lightest cover, and below every tree."""
    case = trial.case
    if case.moves:
        return
    arguments: dict[str, Any] = {"missing": "reachable"} if case.has_missing else {}
    try:
        bound = adversarial_accuracy_bound(
            trial.samples, trial.y, spelled(case), sample_weight=trial.weight, **arguments
        )
    except TypeError:
        if not arguments:
            raise
        return  # the bound does not take missing values
    answers = [fewest_errors_of_any_model(case, truth) for truth in trial.truths]
    errors = Fraction(bound.errors)
    ensure(
        errors <= answers[-1] + trial.slack, f"bound of {bound.errors!r} errors; {float(answers[-1])!r} are possible"
    )
    if bound.exact:
        ensure(errors >= answers[0] - trial.slack, f"exact bound {bound.errors!r}; {float(answers[0])!r} are needed")
    ensure(errors <= Fraction(trial.result.objective) + trial.slack, f"bound {bound.errors!r} above a tree's errors")
    ensure(bound.check(), "the bound does not pass its own check")


def random_tree(trial: Trial, rng: random.Random) -> Tree:
    """Any tree a user may hand in: thresholds at ends of boxes, one bit beside them, or anywhere."""
    case = trial.case
    all_ends = np.concatenate(float_ends(trial))
    ends = [[end for end in all_ends[:, j].tolist() if abs(end) != inf] for j in range(case.n_features)]
    rows: list[list[Any]] = []

    def grow(depth: int) -> int:
        position = len(rows)
        rows.append([-1, np.nan, -1, -1, rng.randrange(case.n_classes)])
        j = rng.randrange(case.n_features)
        if depth and ends[j] and rng.random() < 0.8:
            a, b = rng.choice(ends[j]), rng.choice(ends[j])
            beside = rng.choice([a, a / 2 + b / 2, float(np.nextafter(a, -inf)), float(np.nextafter(a, inf))])
            if np.isfinite(beside):
                rows[position] = [j, beside, -1, -1, -1]
                rows[position][2] = grow(depth - 1)
                rows[position][3] = grow(depth - 1)
        return position

    grow(case.depth)
    feature, threshold, left, right, label = (np.array(column) for column in zip(*rows, strict=True))
    return Tree(feature, threshold, left, right, label, np.arange(case.n_classes), case.n_features)


def no_tree_beats_the_proof(trial: Trial) -> None:
    """Whatever tree is handed in, our evaluation finds no fewer errors than the proven optimum, and no false ones."""
    case = trial.case
    if case.moves or case.has_missing or case.limits_leaves or case.integer:
        return  # of whole numbers the brute force knows only thresholds between two of them
    rng = random.Random(case.seed)
    proven = Fraction(trial.result.objective)
    for _ in range(3):
        tree = random_tree(trial, rng)
        score = adversarial_accuracy(tree, trial.samples, trial.y, trial.fitted_attack, trial.weight)
        lost = (1 - Fraction(score)) * trial.total
        cost = lost + Fraction(float(case.leaf_penalty)) * tree.n_leaves
        slack = ROUNDING * trial.total
        ensure(
            cost >= proven - slack,
            f"a tree costs {float(cost)!r}, less than the proven optimum {float(proven)!r}: {tree.to_dict()}",
        )
        least, most = (lost_weight(case, tree, trial.truths[k].boxes) for k in (0, -1))
        ensure(
            _near_an_end(trial, tree) or least - slack <= lost <= most + slack,
            f"adversarial_accuracy finds {float(lost)!r} lost; {float(least)!r} to {float(most)!r} is true: "
            f"{tree.to_dict()}",
        )


FLOAT32_STEP = 2.0**-149
"""Between the smallest numbers of that type."""


def _near_an_end(trial: Trial, tree: Tree) -> bool:
    """Whether a threshold is so close to an end that rounding decides on which side it lies."""
    for j, threshold in zip(tree.feature.tolist(), tree.threshold.tolist(), strict=True):
        if j < 0:
            continue
        b = decimal(threshold)
        # A float32 has another decimal than the float64 that it becomes; next to 0 they are a fixed step apart.
        least = max(abs(b) // 10**7, decimal(FLOAT32_STEP)) if trial.case.dtype == "float32" else 0
        for box, slack in zip(trial.truths[0].boxes[j], trial.noise[j], strict=True):
            for end, own in zip(box, slack, strict=True):
                if end in (inf, -inf):
                    continue
                apart = abs(end - b)
                if (own and apart <= 10 * own) or 0 < apart <= least:
                    return True
    return False


def other_learners_keep_their_word(trial: Trial) -> None:
    """Greedy learners cost what they say, and no less than the optimum; relabelling never makes a tree worse."""
    case, problem = trial.case, trial.problem
    if case.leaf_penalty != "0" or case.limits_leaves:
        return
    rng = random.Random(case.seed + 1)
    learners: list[tuple[str, dict[str, Any]]] = [
        ("greedy", {}),
        ("greedy", {"criterion": "chen"}),
        ("greedy", {"criterion": "chen", "impurity": "entropy"}),
        ("greedy", {"criterion": "adversarial-error"}),
    ]
    if case.n_classes == 2 and not case.moves and not case.has_missing:
        learners.append(("treant", {}))
    name, options = rng.choice(learners)
    result = solve(problem, name, options=options)
    _is_honest(trial, result)
    better = relabel(result.tree, problem)
    score = adversarial_accuracy(better, trial.samples, trial.y, trial.fitted_attack, trial.weight)
    cost = (1 - Fraction(score)) * trial.total
    slack = ROUNDING * trial.total
    ensure(cost <= Fraction(result.objective) + slack, f"relabelling went from {result.objective!r} to {float(cost)!r}")
    ensure(cost >= trial.optima[0] - slack, f"a relabelled tree costs {float(cost)!r}, less than the optimum")


def _is_honest(trial: Trial, result: Result) -> None:
    judges_agree_on_the_tree(trial, result)
    least, most = trial.optima
    ensure(
        Fraction(result.objective) >= least - trial.slack,
        f"{result.solver} claims {result.objective!r}, less than the optimum {float(least)!r}",
    )
    ensure(Fraction(result.bound) <= most + trial.slack, f"{result.solver} claims the bound {result.bound!r}")
    if result.status is Status.OPTIMAL:
        ensure(
            Fraction(result.objective) <= most + trial.slack,
            f"{result.solver} claims that {result.objective!r} is optimal; {float(most)!r} is possible",
        )


def exact_solvers_agree(trial: Trial, solver: str, options: dict[str, Any]) -> None:
    """One of the paper's methods proves the same."""
    result = solve(trial.problem, solver, options=options, time_limit=100)
    ensure(result.status is Status.OPTIMAL, f"{solver} ended without a proof: {result.summary()}")
    _is_honest(trial, result)


def examples_are_adversarial(trial: Trial) -> None:
    """Adversarial examples lie in the box and are wrong; where there is none, the sample is safe; radii agree."""
    case = trial.case
    if case.moves or case.has_missing:
        return
    tree = trial.result.tree
    points = attack_samples(tree, trial.samples, trial.y, trial.fitted_attack)
    found = ~np.isnan(points).any(axis=1)
    score = adversarial_accuracy(tree, trial.samples, trial.y, trial.fitted_attack)
    ensure(round((1 - score) * case.n) == found.sum(), f"{found.sum()} examples, adversarial accuracy {score!r}")
    ensure(
        (tree.predict(points[found]) != trial.y[found]).all(), f"an adversarial example is classified right: {points}"
    )
    boxes = float_boxes(trial)
    for i in np.flatnonzero(found):
        for j in range(case.n_features):
            low, high = boxes[j][i]
            ensure(
                low <= decimal(float(points[i, j])) <= high,
                f"example {i} leaves its box on feature {j}: {points[i, j]!r}",
            )
    radius = robust_radius(tree, trial.samples, trial.y, trial.fitted_attack)
    ensure(((radius >= 1) | found).all(), f"a safe sample has a radius below 1: {radius}")
    ensure((~found | (radius <= 1 + 1e-6)).all(), f"a lost sample has a radius above 1: {radius}")


def files_hold_the_model(trial: Trial) -> None:
    """A model read from its file is the model that was written."""
    tree = trial.result.tree
    handle, path = tempfile.mkstemp(suffix=".json")
    os.close(handle)
    try:
        Model(tree, trial.fitted_attack, {}).save(path)
        again = load_model(path)
    finally:
        os.unlink(path)
    for name in ("feature", "threshold", "left", "right", "label"):
        same = np.array_equal(getattr(again.tree, name), getattr(tree, name), equal_nan=True)
        ensure(same, f"{name} changed between writing and reading")
    ensure(again.attack == trial.fitted_attack, f"the attack changed: {again.attack} from {trial.fitted_attack}")
    ensure((again.predict(trial.samples) == tree.predict(trial.samples)).all(), "predictions changed")


def the_result_is_always_the_same(trial: Trial) -> None:
    """One seed gives one objective whatever the number of threads, and with one thread one tree."""
    case, first = trial.case, trial.result
    for n_jobs in (1, 2):
        again = solve(trial.problem, "search", n_jobs=n_jobs, random_state=case.random_state, options=case.options)
        ensure(
            abs(again.objective - first.objective) <= trial.slack,
            f"{first.objective!r} with n_jobs={case.n_jobs}, {again.objective!r} with {n_jobs}",
        )
        if n_jobs == case.n_jobs == 1:
            same = again.tree.to_dict() == first.tree.to_dict()
            ensure(same, f"the same call gives different trees:\n{first.tree}\n{again.tree}")


def paying_attackers_are_beaten_exactly(trial: Trial) -> None:
    """Against budgets, prices and one-hot groups, too, the search proves what trying every tree gives."""
    kind, depth = PAYING[trial.case.seed // PAYING_EVERY % len(PAYING)], 1 + trial.case.seed // PAYING_EVERY // 4 % 2
    case = PricedCase(trial.case.seed, kind)
    result = solve(Problem.from_data(case.X, case.y, case.attack, depth), "search")
    lost, least = sum(case.lost(result.tree)), case.tiny.optimum(depth)
    ensure(
        result.status is Status.OPTIMAL and result.objective == lost == least,
        f"{kind}, depth {depth}: {result.summary()}; its tree loses {lost}, trying every tree gives {least}",
    )


Check = Callable[[Trial], None]
PAYING = ("features", "prices", "once", "groups")
PAYING_EVERY = 20
"""Of so many cases one stands for a problem with an attacker who pays, which has the same seed."""
CHECKS: tuple[tuple[Check, int], ...] = (
    (search_finds_the_optimum, 1),
    (judges_agree_on_the_tree, 1),
    (bounds_hold, 5),
    (no_tree_beats_the_proof, 6),
    (other_learners_keep_their_word, 7),
    (examples_are_adversarial, 8),
    (files_hold_the_model, 32),
    (the_result_is_always_the_same, 16),
    (paying_attackers_are_beaten_exactly, PAYING_EVERY),
)
"""Checks, and of how many cases each one takes one."""

EXACT_SOLVERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("maxsat-lsu", {}),
    ("maxsat-rc2", {}),
    ("milp", {}),
    ("binary-milp", {}),
    ("cp-sat", {}),
    ("maxsat-lsu", {"strengthen": False}),
    ("binary-milp", {"strengthen": False}),
)
EXACT_SOLVERS_EVERY = 100
"""Of so many cases one goes to one of the paper's methods."""


def suits_the_papers_methods(case: Case) -> bool:
    """Whether the case asks for nothing that they refuse, and is small enough for all of them."""
    whole = case.weight is None or all(float(w).is_integer() and float(w) < 1000 for w in case.weight)
    return whole and case.leaf_penalty == "0" and not case.limits_leaves and case.depth <= 2


def check(case: Case, *, everything: bool = False) -> None:
    """Run the checks that are due for this case, or all of them.

    Raises
    ------
    FalseClaimError
        or whatever the package raised.
    """
    trial = Trial(case)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for one, every in CHECKS:
            if everything or case.seed % every == 0:
                one(trial)
        if suits_the_papers_methods(case) and (everything or case.seed % EXACT_SOLVERS_EVERY == 0):
            chosen = EXACT_SOLVERS[case.seed // EXACT_SOLVERS_EVERY % len(EXACT_SOLVERS)]
            exact_solvers_agree(trial, *chosen)
