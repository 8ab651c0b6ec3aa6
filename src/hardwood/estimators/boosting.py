"""Boosting on worst-case margins."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hardwood._core import Control
from hardwood.arrays import FloatArray
from hardwood.data.labels import as_labels, encode_labels
from hardwood.data.weights import weighted_share
from hardwood.ensembles.boosting import BlendedLearner, Boosted, BoostingLearner
from hardwood.ensembles.boosting.boosted import Round
from hardwood.ensembles.boosting.learner import certified_by
from hardwood.ensembles.boosting.margins import StumpMargins, TreeMargins
from hardwood.ensembles.boosting.rivals import as_boosted, judge, optimal_tree, shortest, simplest_of_the_best
from hardwood.ensembles.probabilities import shares_of_margins
from hardwood.ensembles.verification import AttackedSamples
from hardwood.errors import InvalidInputError
from hardwood.estimators.base import seed_of
from hardwood.estimators.ensembles import BaseRobustEnsemble, seconds_left
from hardwood.estimators.folds import folds_of
from hardwood.problem.boxes import Boxes
from hardwood.problem.problem import Problem
from hardwood.solvers.greedy import MAX_FEATURES, count_features
from hardwood.solvers.options import (
    TIME_LIMIT,
    AnyOf,
    Nothing,
    Number,
    OneOf,
    Option,
    Share,
    Whole,
    count_threads,
    shown,
)

_POSITIVE = Number(0, sys.float_info.max, above=True)
PARAMETERS = (
    Option("n_estimators", 100, Whole(1, 1_000_000), "number of rounds"),
    Option("learning_rate", 0.1, Number(0, 1, above=True), "by how much each tree is shrunk"),
    Option("max_depth", 1, Whole(1, 20), "largest number of splits on a path"),
    Option("loss", "logistic", OneOf(("logistic", "exponential", "sigmoid")), "loss of the worst-case margin"),
    Option("base", "greedy", OneOf(("greedy", "search")), "how trees are found"),
    Option("l2_regularization", 1.0, Number(0, sys.float_info.max), "cost of large values of leaves"),
    Option("subsample", 1.0, Number(0, 1, above=True), "share of the samples that each round draws"),
    Option("validation_fraction", 0.1, Share(), "share that is held out where n_iter_no_change is given"),
    Option(
        "n_iter_no_change",
        None,
        AnyOf(Nothing("none"), Whole(1, 1_000_000)),
        "rounds without a better validation score",
    ),
    MAX_FEATURES,
    Option("tree_time_limit", 10.0, _POSITIVE, "seconds for each tree of base='search' and each rival"),
    Option("rivals", None, AnyOf(Nothing("none"), Whole(0, 20)), "largest depth of a tree that may do instead"),
)

OF_MEMBERS = {
    parameter.name: parameter
    for parameter in PARAMETERS
    if parameter.name not in ("n_estimators", "validation_fraction", "n_iter_no_change", "tree_time_limit", "rivals")
}
"""What `members` may replace."""


class RobustBoostingClassifier(BaseRobustEnsemble):
    """Boosted trees that an attacker cannot fool, learned on worst-case margins.

    Every round adds the tree that lowers the loss of the margins that an attacker leaves: for stumps their exact value,
    for deeper trees a sound bound (Andriushchenko & Hein, "Provably robust boosted decision stumps and trees against
    adversarial attacks", NeurIPS 2019). `adversarial_score` verifies the sum of all trees exactly. See
    `hardwood.ensembles.boosting`.

    Parameters
    ----------
    n_estimators : int
        Number of rounds; each adds one tree, or one per class where there are more than two.
    attack : number, sequence, mapping or AttackModel
        What the attacker can do; anything `AttackModel.parse` takes. 0 is ordinary boosting.
    learning_rate : float
        By how much each tree is shrunk.
    max_depth : int
        Largest number of splits on a path; 1 for stumps.
    loss : {"logistic", "exponential", "sigmoid"}
        ``log(1 + exp(-m))``, ``exp(-m)`` or ``1 / (1 + exp(m))`` of the worst-case margin m. Under attack some samples
        cannot be won: the exponential loss never lets them go, the logistic one gives them a bounded pull, the sigmoid
        one, nearly the share of samples that are lost, gives them up. Its first 20 rounds are logistic ones.
    base : {"greedy", "search"}
        Where trees split: where the loss gains most to second order, level by level; or as the exact search says, by
        trees that lose the least weight to the attacker when samples are weighted by the derivative of the loss (Guo
        et al., ICML 2022). Values of leaves are fitted to the loss in both cases.
    l2_regularization : float
        Cost of the squared values of leaves.
    subsample : float
        Share of the samples, drawn without replacement, on which each round fits.
    max_features : None, "sqrt", "log2", int or float
        How many features, drawn at random, each round may use.
    members : sequence of mappings or None
        Boost once for each mapping, which replaces some of the parameters above from `learning_rate` to `max_features`,
        and take the mean of the scores: ``[{"max_depth": 1}, {"max_depth": 2, "loss": "sigmoid"}]``. On small data this
        is more often right than the best single choice. Each round adds a tree of every member.
    n_iter_no_change : int or None
        Hold out `validation_fraction` of the samples, stop after so many rounds in which their certified accuracy did
        not grow, and keep the rounds up to the best. None uses all samples and all rounds.
    validation_fraction : float
    rivals : int or None
        Ask cross validation first whether something simpler certifies as much: a constant, or one optimal tree of depth
        1 up to this number (0: the constant only). The simplest of the best is learned from all samples. None boosts in
        any case.
    cv : int, splitter or iterable
        How samples are divided to judge `rivals`; a number stands for stratified folds.
    tree_time_limit : float
        Seconds for each tree of ``base="search"`` and for each rival.
    class_weight : mapping, "balanced" or None
        Multiplies sample weights by class.
    missing : {"error", "reachable"}
    categorical_features : "from_dtype", sequence of names or indices, or None
        As in `RobustTreeClassifier`.
    time_limit : float or None
        Seconds; the rounds so far are kept when they are over. Where rivals could not be judged in their share of the
        time, boosting is taken.
    n_jobs : int or None
        Threads to use.
    random_state : int, RandomState or None
        Seed of what is held out and drawn; None is the same as 0.
    verbose : int
        1 writes a line per round to standard error.

    Attributes
    ----------
    ensemble_ : Ensemble
    history_ : tuple of Round
        Loss and certified shares after each round that was kept.
    stopped_by_ : str
        "rounds", "no progress", "validation", "time limit" or "interrupt"; "rival" where one was taken.
    n_estimators_ : int
        Rounds that were kept.
    rival_scores_ : dict
        Mean certified share on the folds by depth, None for boosting; empty where nothing was judged.
    rival_depth_ : int or None
        Depth of the optimal tree that was taken instead of boosting, 0 for a constant.
    attack_ : AttackModel
        The attack in the units of X.
    runtime_ : float
        Seconds that the fit took.
    classes_ : array
    n_features_in_ : int

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = RobustBoostingClassifier(20, attack=0.5).fit(X, y)
    >>> clf.adversarial_score(X, y) <= clf.score(X, y)
    True
    """

    _boosted: Boosted
    history_: tuple[Round, ...]

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        attack: Any = 0.0,
        learning_rate: float = 0.1,
        max_depth: int = 1,
        loss: str = "logistic",
        base: str = "greedy",
        l2_regularization: float = 1.0,
        subsample: float = 1.0,
        max_features: Any = None,
        members: Any = None,
        n_iter_no_change: int | None = None,
        validation_fraction: float = 0.1,
        rivals: int | None = None,
        cv: Any = 3,
        tree_time_limit: float = 10.0,
        class_weight: Any = None,
        missing: str = "error",
        categorical_features: Any = "from_dtype",
        time_limit: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.attack = attack
        self.learning_rate = learning_rate
        self.max_depth = max_depth
        self.loss = loss
        self.base = base
        self.l2_regularization = l2_regularization
        self.subsample = subsample
        self.max_features = max_features
        self.members = members
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.rivals = rivals
        self.cv = cv
        self.tree_time_limit = tree_time_limit
        self.class_weight = class_weight
        self.missing = missing
        self.categorical_features = categorical_features
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Boost.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Numbers in any units; categories and missing values only where the parameters say so.
        y : array-like of shape (n_samples,)
            Labels of any type.
        sample_weight : array-like of shape (n_samples,) or None
        """
        started = time.perf_counter()
        for parameter in PARAMETERS:
            parameter.check(getattr(self, parameter.name))
        deepest = max(int(one["max_depth"]) for one in self._settings_of_members())
        limit = TIME_LIMIT.check(self.time_limit)
        problem, attack = self._make_problem(X, y, sample_weight, deepest)
        learner, seed = self.learner(problem.n_features), seed_of(self.random_state)
        self.rival_scores_ = self._judge_rivals(
            learner, problem, seed, seconds_left(limit, time.perf_counter() - started)
        )
        self.rival_depth_ = simplest_of_the_best(self.rival_scores_)
        if self.rival_depth_ is not None:
            seconds = shortest(self.tree_time_limit, seconds_left(limit, time.perf_counter() - started))
            tree = optimal_tree(problem, self.rival_depth_, seconds, count_threads(self.n_jobs))
            return self._keep(as_boosted(tree, problem, self.loss), problem, attack, time.perf_counter() - started)
        training, held_out = self._held_out(problem)
        boosted = learner.run(
            training,
            held_out,
            random_state=seed,
            control=Control(seconds_left(limit, time.perf_counter() - started)),
            on_round=_report if self.verbose else None,
        )
        return self._keep(boosted, problem, attack, time.perf_counter() - started)

    def _judge_rivals(
        self, learner: BoostingLearner | BlendedLearner, problem: Problem, seed: int, seconds: float | None
    ) -> dict[int | None, float]:
        """Return how boosting and its rivals do on the folds; nothing where none are asked for or time is short."""
        if self.rivals is None:
            return {}
        if self.n_iter_no_change is not None:
            raise InvalidInputError("rivals are judged on all rounds: not together with n_iter_no_change")
        folds = folds_of(problem, self.cv)
        # Of the time each fold has as much as the last fit.
        share = None if seconds is None else seconds * len(folds) / (len(folds) + 1)
        return judge(
            learner,
            range(self.rivals + 1),
            problem,
            folds,
            random_state=seed,
            tree_time_limit=self.tree_time_limit,
            time_limit=share,
        )

    def learner(self, n_features: int) -> BoostingLearner | BlendedLearner:
        """Return what does the work, with the parameters of this estimator."""
        members = []
        for settings in self._settings_of_members():
            drawn = count_features(settings["max_features"], n_features)
            members.append(BoostingLearner(**{**settings, "max_features": drawn, "n_jobs": count_threads(self.n_jobs)}))
        return members[0] if self.members is None else BlendedLearner(tuple(members))

    def _settings_of_members(self) -> list[dict[str, Any]]:
        """Return the parameters of every member, checked; of one where no members are given."""
        own = {field.name: getattr(self, field.name) for field in fields(BoostingLearner)}
        if self.members is None:
            return [own]
        wanted = "it must be a sequence of mappings of parameters to values, or None"
        if isinstance(self.members, (str, Mapping)) or not isinstance(self.members, Sequence) or not self.members:
            raise InvalidInputError(f"members={shown(self.members)}; {wanted}")
        for member in self.members:
            if not isinstance(member, Mapping):
                raise InvalidInputError(f"members={shown(self.members)}; {wanted}")
            for name, value in member.items():
                if name not in OF_MEMBERS:
                    known = ", ".join(OF_MEMBERS)
                    raise InvalidInputError(f"members: {shown(name)} is not a parameter of a member; those are {known}")
                OF_MEMBERS[name].check(value)
        return [{**own, **member} for member in self.members]

    def _keep(self, boosted: Boosted, problem: Problem, attack: Any, seconds: float) -> Self:
        self._boosted = boosted
        self.ensemble_ = boosted.ensemble(problem)
        self.history_ = boosted.history
        self.stopped_by_ = boosted.stopped_by
        self.n_estimators_ = len(boosted.rounds)
        self.attack_ = attack
        self.classes_ = problem.classes
        self.runtime_ = seconds
        return self

    def _held_out(self, problem: Problem) -> tuple[Problem, Boxes | None]:
        """Return what is learned from, and what decides when it is enough."""
        if self.n_iter_no_change is None:
            return problem, None
        from sklearn.model_selection import train_test_split

        try:
            train, rest = train_test_split(
                np.arange(problem.n_samples),
                test_size=float(self.validation_fraction),
                stratify=problem.label,
                random_state=seed_of(self.random_state) % 2**32,
            )
        except ValueError as error:
            raise InvalidInputError(
                f"validation_fraction={self.validation_fraction!r} cannot be held out of {problem.n_samples} samples "
                f"with all classes on both sides: {error}"
            ) from error
        return problem.take(np.sort(train)), problem.take(np.sort(rest)).boxes

    def decision_function(self, X: Any) -> FloatArray:
        """Return the scores of each row of X: one for two classes, positive for the second; else one per class."""
        table = self._validate(X)
        scores = self.ensemble_.scores(table)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each class at each row of X, from the scores.

        The logistic function of the score (of twice the score for the exponential loss); with more than two classes
        these are divided by their sum.
        """
        table = self._validate(X)
        return shares_of_margins(self.ensemble_.scores(table), self.loss)

    def staged_decision_function(self, X: Any) -> Iterator[FloatArray]:
        """Yield the scores of each row of X after every round, of shape (n_samples, n_scores)."""
        table = self._validate(X)
        scores = np.tile(self.ensemble_.base, (len(table), 1))
        rows = self.ensemble_.rows(table)
        for trees in self._boosted.rounds:
            for weak in trees:
                tree = weak.tree
                leaf = tree.apply(table if tree.encoding is not None else rows)
                scores[:, weak.score] += weak.value[tree.label[leaf]]
            yield scores.copy()

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Yield the class of each row of X after every round."""
        for scores in self.staged_decision_function(X):
            index = (scores[:, 0] >= 0).astype(np.int64) if scores.shape[1] == 1 else scores.argmax(axis=1)
            yield self.classes_[index]

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """Yield the accuracy on samples as they are after every round."""
        truth = encode_labels(as_labels(y, len(self._validate(X))), self.classes_)
        for answers in self.staged_predict(X):
            yield weighted_share(encode_labels(answers, self.classes_) == truth, sample_weight)

    def staged_certified_score(
        self, X: Any, y: Any, sample_weight: Any = None, *, attack: Any = None
    ) -> Iterator[float]:
        """Yield the share of samples that margins prove right under attack after every round.

        A lower bound on the accuracy under attack; its exact value for stumps and two classes.
        """
        table = self._validate(X)
        data = AttackedSamples.prepare(self.ensemble_, table, y, self.attack_ if attack is None else attack)
        lower, upper = data.boxes()
        two = len(self.classes_) == 2
        is_exact = self.rival_depth_ is None and all(one["max_depth"] == 1 for one in self._settings_of_members())
        kind = StumpMargins if is_exact else TreeMargins
        margins = [
            kind(lower, upper, np.where(data.label == (1 if two else k), 1, -1).astype(np.int8), float(base))
            for k, base in enumerate(self._boosted.base)
        ]
        for trees in self._boosted.rounds:
            for weak in trees:
                margins[weak.score].add(weak.tree, weak.value)
            proven = certified_by(np.stack([of.total for of in margins]), data.label) & (data.label >= 0)
            yield weighted_share(proven, sample_weight)

    def _training_record(self) -> dict[str, Any]:
        last = self.history_[-1] if self.history_ else None
        return {
            "solver": "boosting",
            "rounds": self.n_estimators_,
            "rival_depth": self.rival_depth_,
            "loss": self.loss,
            "robust_loss": None if last is None else last.loss,
            "certified_share": None if last is None else last.certified,
            "stopped_by": self.stopped_by_,
            "runtime": round(self.runtime_, 6),
        }


def _report(state: Round) -> None:
    held_out = "" if np.isnan(state.validation) else f", held out {state.validation:.4f}"
    print(
        f"round {state.number}: robust loss {state.loss:.6f}, certified {state.certified:.4f}{held_out}",
        file=sys.stderr,
        flush=True,
    )
