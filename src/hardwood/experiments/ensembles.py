"""Ensembles in experiments: a cell chooses one by cross validation on the training part and tests it once.

Trees are chosen among a few depths and radii, and every fit is a cell of its own. An ensemble may be chosen among many
more, all rounds of boosting for instance, of which one run on a fold judges a hundred: so the choice, the fit and its
scores are one cell. Accuracies under attack are verified exactly; a sample that is open at the limit counts as lost.

On sets as small as the paper's a choice among many is a gamble: of hundreds of candidates that are about equally good
the luckiest on the folds is no better than the others, and not to take a constant where a constant is best costs more
than any of them gains. So boosting has one choice, a constant or not, and takes the mean of four models
(`hardwood.ensembles.boosting.blend`) instead of one of them. That optimal trees of depth 1 and 2 may be chosen instead
(`hardwood.ensembles.boosting.rivals`) was tried; it is no better.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np

from hardwood.arrays import FloatArray, IntArray
from hardwood.data.datasets import Dataset, Split
from hardwood.data.fields import Fields
from hardwood.ensembles.boosting import BlendedLearner, BoostingLearner
from hardwood.ensembles.boosting.rivals import Folds, as_boosted, optimal_tree, share_of_tree
from hardwood.ensembles.boosting.selection import certified_curve, smoothed
from hardwood.ensembles.forest import OptimalLearner, averaging, grow_forest, voting
from hardwood.ensembles.scores import Ensemble
from hardwood.ensembles.verification import robustness
from hardwood.experiments.outcomes import EnsembleOutcome, Scores
from hardwood.experiments.sets import split, stratified_folds
from hardwood.plain_data import plain
from hardwood.problem.problem import Problem, prepare
from hardwood.solvers.greedy import GreedyLearner, count_features
from hardwood.tree.tree import Tree

ENSEMBLES: dict[str, dict[str, Any]] = {
    "boosting": {
        "choices": {"radius_factor": [1.0], "rounds": [0, 100]},
        "fixed": {
            "n_estimators": 100,
            "learning_rate": 0.2,
            "members": [
                {"loss": "logistic", "max_depth": 1},
                {"loss": "logistic", "max_depth": 2},
                {"loss": "sigmoid", "max_depth": 2},
                {"loss": "sigmoid", "max_depth": 3},
            ],
        },
        "judged_samples": 3000,
        "most_draws": 2,
    },
    "optimal-forest": {
        "choices": {"radius_factor": [1.0], "max_depth": [2, 3]},
        "fixed": {"n_estimators": 20, "base": "search", "voting": "soft", "tree_time_limit": 0.05},
        "judged_samples": 1,
    },
    "forest": {
        "choices": {"radius_factor": [1.0], "max_depth": [2, 4, 6]},
        "fixed": {"n_estimators": 100, "base": "greedy", "voting": "hard"},
        "judged_samples": 1,
    },
}
"""By the name of the method, what there is to choose from, the preferred of equals first; what is given; and how many
samples are judged: on small sets folds are drawn again until there are so many, at most "most_draws" times.

Boosting that draws samples draws features, too, the root of their number. Where no rounds are given it chooses among
all numbers of them, each judged with its neighbours (`hardwood.ensembles.boosting.selection.smoothed`). Its "rivals"
are depths of optimal trees, which come before everything else that there is to choose from; 0 is a constant."""
MOST_DRAWS = 5
RIVAL_TIME_LIMIT = 10.0
"""Seconds for each tree; both where the settings do not say."""


@dataclass(frozen=True)
class EnsembleCell:
    """Choose an ensemble, learn it from the training part, and score it.

    Attributes
    ----------
    dataset : str
    radius : float
        L∞ radius of the attack, on features scaled to [0, 1].
    method : str
        "boosting", "forest" or "optimal-forest".
    settings : str
        What the choice is among, as JSON; see `ENSEMBLES`.
    time_limit : float
        Seconds to verify a sample; the learners have limits of their own in their settings.
    seed : int
        Of the split, the folds and the learner.
    folds : int
    """

    kind: ClassVar[str] = "ensemble"
    dataset: str
    radius: float
    method: str
    settings: str
    time_limit: float
    seed: int = 0
    folds: int = 3

    @classmethod
    def of(cls, dataset: str, radius: float, method: str, time_limit: float, seed: int, folds: int) -> Self:
        """Return the cell with the settings that a method has here."""
        return cls(dataset, radius, method, json.dumps(ENSEMBLES[method], sort_keys=True), time_limit, seed, folds)

    @property
    def label(self) -> str:
        """How progress lines call the cell."""
        return f"{self.dataset} ε={self.radius:g} {self.method} seed {self.seed}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "kind": self.kind,
            "dataset": self.dataset,
            "radius": self.radius,
            "method": self.method,
            "settings": json.loads(self.settings),
            "time_limit": self.time_limit,
            "seed": self.seed,
            "folds": self.folds,
        }

    @classmethod
    def from_fields(cls, given: Fields) -> Self:
        """Inverse of `to_dict`."""
        if given.text("method") not in ENSEMBLES:
            given.refuse("method", " or ".join(map(repr, ENSEMBLES)))
        settings = plain(given.table("settings").data, given.place("settings"))
        return cls(
            dataset=given.text("dataset"),
            radius=given.number("radius", least=0),
            method=given.text("method"),
            settings=json.dumps(settings, sort_keys=True),
            time_limit=given.number("time_limit", least=0),
            seed=given.whole("seed"),
            folds=given.whole("folds", least=2),
        )

    def run(self, data: Dataset) -> EnsembleOutcome:
        """Choose, learn, and look at the test part."""
        started, cpu = time.perf_counter(), time.process_time()
        part = split(data, self.seed)
        settings = json.loads(self.settings)
        chosen, score, ensemble = choose_ensemble(part, self.radius, self.method, settings, self.folds, self.seed)
        seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
        scores, n_open = self._scores(ensemble, part)
        return EnsembleOutcome(
            chosen=chosen,
            chosen_by=score,
            n_trees=len(ensemble.trees),
            n_open=n_open,
            seconds=round(seconds, 4),
            cpu_seconds=round(cpu, 4),
            n_train=len(part.y_train),
            n_test=len(part.y_test),
            scores=scores,
        )

    def _scores(self, ensemble: Ensemble, part: Split) -> tuple[Scores, int]:
        test = robustness(ensemble, part.X_test, part.y_test, self.radius, sample_time_limit=self.time_limit)
        # Of the training part what is proven within this time is enough.
        train = robustness(ensemble, part.X_train, part.y_train, self.radius, time_limit=self.time_limit)
        if test.interrupted or train.interrupted:
            raise KeyboardInterrupt
        return Scores(
            train_accuracy=float(np.mean(ensemble.predict(part.X_train) == part.y_train)),
            train_adversarial_accuracy=train.interval()[0],
            test_accuracy=float(np.mean(ensemble.predict(part.X_test) == part.y_test)),
            test_adversarial_accuracy=test.interval()[0],
        ), int(test.is_open.sum())


def choose_ensemble(
    part: Split, radius: float, method: str, settings: dict[str, Any], n_folds: int, seed: int = 0
) -> tuple[dict[str, Any], float, Ensemble]:
    """Return the parameters that do best on the folds, how well they do there, and what they learn from all of it.

    Parameters
    ----------
    part : Split
        Only its training part is looked at.
    radius : float
    method : str
        "boosting", "forest" or "optimal-forest".
    settings : dict
        As in `ENSEMBLES`.
    n_folds, seed : int
    """
    draws = min(max(1, round(settings["judged_samples"] / len(part.y_train))), settings.get("most_draws", MOST_DRAWS))
    folds = [fold for draw in range(draws) for fold in stratified_folds(part.y_train, n_folds, seed + draw)]
    family = _Boosting if method == "boosting" else _Forest
    chooser = family(part, radius, settings["fixed"], seed)
    chosen, score = _best(chooser, _candidates(settings), folds)
    return chosen, score, chooser.learn(chosen)


def _candidates(settings: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for depth in settings.get("rivals", ()):
        yield {"tree": depth}
    choices = settings["choices"]
    for values in product(*choices.values()):
        yield dict(zip(choices, values, strict=True))


def _best(
    chooser: _Boosting | _Forest, candidates: Iterator[dict[str, Any]], folds: Folds
) -> tuple[dict[str, Any], float]:
    """Return the candidate with the best mean on the folds, the first of several."""
    judged = [one for candidate in candidates for one in chooser.judge(candidate, folds)]
    return max(judged, key=lambda one: round(one[1], 12))


class _Learner:
    """What both families have: problems by training radius."""

    def __init__(self, part: Split, radius: float, fixed: dict[str, Any], seed: int) -> None:
        self.part, self.radius, self.fixed, self.seed = part, radius, fixed, seed
        self._problems: dict[float, Problem] = {}

    def problem(self, radius_factor: float = 1.0, max_depth: int = 1) -> Problem:
        if radius_factor not in self._problems:
            radius = self.radius * radius_factor
            self._problems[radius_factor] = prepare(self.part.X_train, self.part.y_train, radius, max_depth)
        return self._problems[radius_factor].replace(max_depth=max_depth)


class _Boosting(_Learner):
    def __init__(self, part: Split, radius: float, fixed: dict[str, Any], seed: int) -> None:
        super().__init__(part, radius, fixed, seed)
        self._curves: dict[tuple[float, BoostingLearner | BlendedLearner], FloatArray] = {}

    def _learner(self, candidate: dict[str, Any]) -> BoostingLearner | BlendedLearner:
        chosen = {name: value for name, value in candidate.items() if name not in ("radius_factor", "rounds")}
        p = self.part.X_train.shape[1]
        drawn = None if candidate.get("subsample", 1.0) == 1.0 else max(2, math.ceil(math.sqrt(p)))
        asked = {"max_features": drawn, **self.fixed, **chosen}
        members = asked.pop("members", None)
        if members is None:
            return BoostingLearner(**asked)
        return BlendedLearner(tuple(BoostingLearner(**{**asked, **member}) for member in members))

    def judge(self, candidate: dict[str, Any], folds: Folds) -> Iterator[tuple[dict[str, Any], float]]:
        """Yield the candidate with its number of rounds, or with every one; 0 is the best constant."""
        if "tree" in candidate:
            yield candidate, float(np.mean([self._share_of_rival(candidate["tree"], a, b) for a, b in folds]))
            return
        curve = self._curve(candidate["radius_factor"], self._learner(candidate), folds)
        if "rounds" in candidate:
            yield candidate, float(curve[candidate["rounds"]])
            return
        for rounds, score in enumerate(smoothed(curve)):
            yield {**candidate, "rounds": rounds}, float(score)

    def _curve(self, factor: float, learner: BoostingLearner | BlendedLearner, folds: Folds) -> FloatArray:
        """Return the mean certified share on the folds after every round."""
        key = (factor, learner)
        if key not in self._curves:
            training, judged = self.problem(factor), self.problem()
            curves = [certified_curve(learner, training.take(a), judged.take(b), self.seed) for a, b in folds]
            self._curves[key] = np.mean(curves, axis=0)
        return self._curves[key]

    def _share_of_rival(self, depth: int, training: IntArray, judged: IntArray) -> float:
        return share_of_tree(self._rival(self.problem().take(training), depth), self.problem().take(judged))

    def _rival(self, problem: Problem, depth: int) -> Tree:
        return optimal_tree(problem, depth, self.fixed.get("tree_time_limit", RIVAL_TIME_LIMIT))

    def learn(self, candidate: dict[str, Any]) -> Ensemble:
        if "tree" in candidate:
            problem = self.problem()
            return as_boosted(self._rival(problem, candidate["tree"]), problem).ensemble(problem)
        problem = self.problem(candidate["radius_factor"])
        boosted = self._learner(candidate).run(problem, random_state=self.seed)
        if boosted.stopped_by == "interrupt":
            raise KeyboardInterrupt
        return boosted.ensemble(problem, candidate["rounds"])


class _Forest(_Learner):
    def judge(self, candidate: dict[str, Any], folds: Folds) -> Iterator[tuple[dict[str, Any], float]]:
        """Yield the candidate once, with what is verified within a tenth of a second per sample."""
        X, y = self.part.X_train, self.part.y_train
        problem = self.problem(candidate["radius_factor"], candidate["max_depth"])
        found = []
        for a, b in folds:
            verdicts = robustness(
                self._grow(problem.take(a), candidate), X[b], y[b], self.radius, sample_time_limit=0.1
            )
            if verdicts.interrupted:
                raise KeyboardInterrupt
            found.append(verdicts.interval()[0])
        yield candidate, float(np.mean(found))

    def learn(self, candidate: dict[str, Any]) -> Ensemble:
        return self._grow(self.problem(candidate["radius_factor"], candidate["max_depth"]), candidate)

    def _grow(self, problem: Problem, candidate: dict[str, Any]) -> Ensemble:
        asked = {"max_features": "sqrt", "tree_time_limit": 0.1, **self.fixed, **candidate}
        learner: GreedyLearner | OptimalLearner = GreedyLearner(max_features=asked["max_features"])
        if asked["base"] == "search":
            drawn = count_features(asked["max_features"], problem.n_features)
            learner = OptimalLearner(asked["tree_time_limit"], drawn)
        grown = grow_forest(problem, learner, asked["n_estimators"], random_state=self.seed)
        return voting([one.tree for one in grown]) if asked["voting"] == "hard" else averaging(grown, problem, 1.0)
