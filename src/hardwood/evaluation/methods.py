"""Methods: every way to learn a model that has a name, in one table.

`hardwood compare`, experiments, ``hardwood fit --solver`` and the estimators look names up here. Most methods are a
solver with its settings, a `Recipe`; a few baselines are something else. Names are the ones papers use; upper and lower
case are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hardwood._core import Control
from hardwood.ensembles.boosting import BoostingLearner
from hardwood.ensembles.forest import OptimalLearner, averaging, grow_forest, voting
from hardwood.ensembles.scores import Ensemble
from hardwood.errors import InvalidInputError
from hardwood.problem.problem import Problem
from hardwood.solvers import get_solver, registered_solvers, solve
from hardwood.solvers.greedy import GreedyLearner
from hardwood.solvers.options import shown
from hardwood.solvers.relabel import relabel
from hardwood.tree.conversion import in_terms_of
from hardwood.tree.tree import Tree


@dataclass(frozen=True)
class Recipe:
    """One way to fit a tree: a solver with its options and start.

    Attributes
    ----------
    solver : str
    options : mapping
    start : None, "greedy" or Tree
    """

    solver: str
    options: Mapping[str, Any] = field(default_factory=dict)
    start: Any = None

    @property
    def obstacle(self) -> str | None:
        """Why it cannot be used here, or None if it can."""
        solver = registered_solvers().get(self.solver)
        if solver is None:
            return f"this version of hardwood has no solver {self.solver!r}"
        wanted = self.options.get("engine")
        engines = [engine for engine in solver.engines if wanted in (None, engine.name)]
        if solver.engines and not engines:
            return f"solver {solver.name!r} has no engine {wanted!r}"
        # Without a wish the first engine is the solver's default.
        if engines and not engines[0].is_installed:
            extra = f"hardwood[{engines[0].extra}]" if engines[0].extra else engines[0].module
            return f"engine {engines[0].name!r} is not installed (pip install '{extra}')"
        return None

    def changed(self, options: Any, engine: str | None, start: Any) -> Recipe:
        """Return the recipe with further options, on another engine, from another start; None changes nothing."""
        if options is not None and not isinstance(options, Mapping):
            raise InvalidInputError(f"solver_options={shown(options)}; it must be a mapping of names to values")
        chosen = {**self.options, **(options or {})}
        if engine is not None:
            if "engine" not in get_solver(self.solver).defaults:
                raise InvalidInputError(f"solver {self.solver!r} has no choice of engine; leave engine=None")
            chosen["engine"] = engine
        return Recipe(self.solver, chosen, self.start if start is None else start)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"solver": self.solver, "options": dict(self.options), "start": self.start}


@dataclass(frozen=True)
class Task:
    """What a method is given: a problem, and limits."""

    problem: Problem
    time_limit: float | None
    n_jobs: int
    random_state: int

    def follow(self, recipe: Recipe, problem: Problem | None = None) -> Learned:
        """Follow a recipe on the problem, or on another one."""
        result = solve(
            self.problem if problem is None else problem,
            recipe.solver,
            time_limit=self.time_limit,
            start=recipe.start,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            options=recipe.options,
        )
        # What is proven about another problem says nothing about this one.
        return Learned(result.tree, result.bound if problem is None else 0.0, result.stopped_by)


@dataclass(frozen=True)
class Learned:
    """What a method brings back."""

    model: Tree | Ensemble
    bound: float = 0.0
    ended_by: str = "heuristic"


@dataclass(frozen=True)
class Method:
    """A named way to learn a model.

    Attributes
    ----------
    name : str
    recipe : Recipe or None
        None for what no solver learns: see `special`.
    radius_factors : tuple of float
        Cross validation may choose the training radius among these multiples of the radius of the attack.
    anytime : bool
        Whether it reports trees while it runs, so that its progress over time can be drawn.
    summary : str
        What it is, in a few words.
    aliases : tuple of str
        Other names for it.
    special : callable or None
        How to learn the model without a recipe.
    two_classes_only : bool
        What it cannot do.
    """

    name: str
    recipe: Recipe | None
    radius_factors: tuple[float, ...] = (1.0,)
    anytime: bool = False
    summary: str = field(default="", compare=False)
    aliases: tuple[str, ...] = field(default=(), compare=False)
    special: Callable[[Task], Learned] | None = field(default=None, compare=False)
    two_classes_only: bool = field(default=False, compare=False)

    @property
    def proves(self) -> bool:
        """Whether it can prove that its tree is optimal."""
        solver = None if self.recipe is None else registered_solvers().get(self.recipe.solver)
        return solver is not None and solver.proves

    @property
    def missing(self) -> str | None:
        """Why the method cannot run here, or None if it can."""
        return None if self.recipe is None else self.recipe.obstacle

    def obstacle(self, n_classes: int) -> str | None:
        """Return why the method cannot be used on data with so many classes, or None if it can."""
        if self.two_classes_only and n_classes > 2:
            return f"it is for two classes, the data has {n_classes}"
        return self.missing

    def learn(self, task: Task) -> Learned:
        """Learn a model."""
        if self.special is not None:
            return self.special(task)
        assert self.recipe is not None
        return task.follow(self.recipe)


def _cart(task: Task) -> Tree:
    from sklearn.tree import DecisionTreeClassifier

    from hardwood.export import from_sklearn

    problem = task.problem
    cart = DecisionTreeClassifier(max_depth=max(problem.max_depth, 1), random_state=task.random_state)
    too_large = np.argwhere(np.abs(problem.values) > np.finfo(np.float32).max)
    if len(too_large):
        i, j = too_large[0]
        name = f"feature {j}" if problem.feature_names is None else f"column {problem.feature_names[j]!r}"
        raise InvalidInputError(
            f"CART and relabel learn with scikit-learn, which takes no numbers above 3.4e38, and {name} holds "
            f"{problem.values[i, j]:g}; divide the column, or choose other learners"
        )
    # It sees indicators of categories, and medians in place of what is missing.
    fitted = cart.fit(problem.values, problem.classes[problem.label], sample_weight=problem.weight)
    return in_terms_of(from_sklearn(fitted, problem.feature_names), problem)


def _forest(task: Task) -> Learned:
    grown = grow_forest(
        task.problem,
        GreedyLearner(max_features="sqrt"),
        100,
        n_jobs=task.n_jobs,
        random_state=task.random_state,
        time_limit=task.time_limit,
    )
    return Learned(voting([one.tree for one in grown]))


def _optimal_forest(task: Task) -> Learned:
    share = 10.0 if task.time_limit is None else max(0.05, task.time_limit / 20)
    grown = grow_forest(
        task.problem,
        OptimalLearner(share),
        20,
        n_jobs=task.n_jobs,
        random_state=task.random_state,
        time_limit=task.time_limit,
    )
    return Learned(averaging(grown, task.problem))


def _boosting(task: Task) -> Learned:
    learner = BoostingLearner(max_depth=max(1, task.problem.max_depth), n_jobs=task.n_jobs)
    boosted = learner.run(task.problem, random_state=task.random_state, control=Control(task.time_limit))
    return Learned(
        boosted.ensemble(task.problem),
        ended_by="heuristic" if boosted.stopped_by != "time limit" else boosted.stopped_by,
    )


def _without_attacker(task: Task) -> Learned:
    problem = task.problem
    return task.follow(Recipe("search"), problem.replace(lower=problem.values, upper=problem.values))


def _greedy(name: str, criterion: str, summary: str, *aliases: str, **options: str) -> Method:
    recipe = Recipe("greedy", {"criterion": criterion, **options})
    return Method(name, recipe, summary=summary, aliases=aliases)


_TABLE = (
    Method("CART", None, summary="CART", special=lambda task: Learned(_cart(task))),
    Method("plain", None, summary="optimal, no attacker in mind", special=_without_attacker),
    Method(
        "relabel",
        None,
        summary="CART, relabelled",
        special=lambda task: Learned(relabel(_cart(task), task.problem)),
    ),
    Method("TREANT", Recipe("treant"), summary="TREANT", two_classes_only=True),
    _greedy("Chen", "chen", "Chen et al., Gini"),
    _greedy("Chen-IG", "chen", "Chen et al., information gain", impurity="entropy"),
    _greedy("GROOT", "groot", "GROOT", "greedy"),
    Method("GROOT-relabelled", Recipe("relabelled"), summary="GROOT, relabelled", aliases=("relabelled",)),
    _greedy("FPRDT", "adversarial-error", "FPRDT"),
    Method("forest", None, summary="forest of 100 GROOT trees", special=_forest),
    Method("optimal-forest", None, summary="forest of 20 optimal robust trees", special=_optimal_forest),
    Method("boosting", None, summary="robust boosting, 100 rounds", special=_boosting),
    Method("Binary-MILP", Recipe("binary-milp"), anytime=True, summary="MILP with binary thresholds"),
    Method(
        "Binary-MILP-warm",
        Recipe("binary-milp", start="greedy"),
        anytime=True,
        summary="MILP with binary thresholds, from GROOT",
    ),
    Method("MILP", Recipe("milp"), anytime=True, summary="MILP"),
    Method("MILP-warm", Recipe("milp", start="greedy"), anytime=True, summary="MILP, from GROOT"),
    Method("RC2-MaxSAT", Recipe("maxsat-rc2"), summary="MaxSAT by cores", aliases=("maxsat-rc2",)),
    Method("LSU-MaxSAT", Recipe("maxsat-lsu"), anytime=True, summary="MaxSAT by descent", aliases=("maxsat-lsu",)),
    Method("CP-SAT", Recipe("cp-sat"), anytime=True, summary="CP-SAT"),
    Method("search", Recipe("search"), anytime=True, summary="optimal robust"),
    Method(
        "search, radius chosen",
        Recipe("search"),
        radius_factors=(1.0, 1.2, 1.5),
        anytime=True,
        summary="optimal robust, training radius by cross validation",
    ),
)


def known_methods() -> dict[str, Method]:
    """Return all methods by name: the table, and every further solver that is registered, under its own name."""
    found = {method.name: method for method in _TABLE}
    covered = {method.recipe.solver for method in _TABLE if method.recipe is not None}
    found |= {name: Method(name, Recipe(name), summary=name) for name in registered_solvers() if name not in covered}
    return found


def find_method(name: str) -> Method:
    """Return a method by its name or an alias, whatever the case; an unknown name is an error that lists all."""
    known = known_methods()
    if isinstance(name, str):
        for method in known.values():
            if name.lower() in (method.name.lower(), *method.aliases):
                return method
    raise InvalidInputError(f"method {name!r} is not known; the methods are: {'; '.join(known)}")


def find_recipe(name: str) -> Recipe:
    """Return how a tree is fitted by the solver or the method of that name."""
    if isinstance(name, str) and name in registered_solvers():
        return Recipe(name)
    method = find_method(name)
    if method.recipe is None:
        raise InvalidInputError(f"method {method.name!r} is no solver; use hardwood.evaluation.compare for it")
    return method.recipe
