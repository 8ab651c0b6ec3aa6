"""The estimator for TREANT."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from hardwood.attack.rules import AttackRules
from hardwood.data.labels import as_labels, encode_labels
from hardwood.data.weights import weighted_share
from hardwood.errors import InvalidInputError
from hardwood.estimators.base import BaseRobustTree
from hardwood.export.model_file import Model
from hardwood.problem.problem import Problem
from hardwood.solvers.result import Result
from hardwood.solvers.solve import solve
from hardwood.solvers.treant import problem_under_rules
from hardwood.tree.rewriting import fooled_by_rules


class TreantClassifier(BaseRobustTree):
    """Tree that is greedy on the loss under attack (TREANT), for two classes.

    Calzavara, Lucchese, Tolomei, Abebe & Orlando, "TREANT: Training Evasion-Aware Decision Trees", Data Mining and
    Knowledge Discovery 34, 2020. See `hardwood.solvers.treant`.

    Parameters
    ----------
    max_depth : int
        Largest number of splits on a path.
    attack : number, sequence, mapping or AttackModel
        What the attacker can do; anything `AttackModel.parse` takes.
    rules : AttackRules, path of a JSON file or None
        An attacker given as rewriting rules with a budget instead of `attack`.
    loss : {"squared", "logistic"}
        What is minimised.
    min_samples_split : int
        A node with fewer samples becomes a leaf.
    affine : bool
        Whether a path may test each feature only once, as in the published code's mode of that name.
    time_limit : float or None
        Seconds. When they are over, the tree grown so far is returned and ``result_.stopped_by`` is "time limit".
    class_weight : mapping, "balanced" or None
        Multiplies sample weights by class.

    Attributes
    ----------
    rules_ : AttackRules or None
        The rules that the tree was learned against.
    """

    rules_: AttackRules | None

    def __init__(
        self,
        max_depth: int = 3,
        *,
        attack: Any = 0.0,
        rules: AttackRules | str | os.PathLike[str] | None = None,
        loss: str = "squared",
        min_samples_split: int = 2,
        affine: bool = False,
        time_limit: float | None = 60.0,
        class_weight: Any = None,
    ) -> None:
        self.max_depth = max_depth
        self.attack = attack
        self.rules = rules
        self.loss = loss
        self.min_samples_split = min_samples_split
        self.affine = affine
        self.time_limit = time_limit
        self.class_weight = class_weight

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _problem_parameters(self) -> dict[str, Any]:
        return {"max_depth": self.max_depth, "class_weight": self.class_weight}

    def _solve(self, problem: Problem, started: float) -> Result:
        if problem.n_classes > 2:
            kind = type_of_target(problem.classes[problem.label])
            raise InvalidInputError(
                f"Only binary classification is supported. The type of the target is {kind}. "
                f"TREANT learns to tell two classes apart, and y has {problem.n_classes}"
            )
        options = {"loss": self.loss, "min_samples_split": self.min_samples_split, "affine": self.affine}
        if self.rules is None:
            self.rules_ = None
            return solve(problem, "treant", options=options, time_limit=self.time_limit, started=started)
        if not (np.array_equal(problem.lower, problem.values) and np.array_equal(problem.upper, problem.values)):
            raise InvalidInputError(f"give either attack={self.attack!r} or rules, not both")
        self.rules_ = self.rules if isinstance(self.rules, AttackRules) else AttackRules.load(self.rules)
        return solve(
            problem_under_rules(problem, self.rules_),
            "treant",
            options={**options, "rules": self.rules_},
            time_limit=self.time_limit,
            started=started,
        )

    def adversarial_score(self, X: Any, y: Any, sample_weight: Any = None, *, attack: Any = None) -> float:
        """Return the accuracy when every sample is attacked; exact, also against rules.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,) or None
        attack : anything `AttackModel.parse` takes, or None
            The attack or the rules that the tree was learned against by default.
        """
        table = self._validate(X)
        if attack is not None or self.rules_ is None:
            return super().adversarial_score(X, y, sample_weight, attack=attack)
        label = encode_labels(as_labels(y, len(table)), self.tree_.classes)
        right = ~fooled_by_rules(self.tree_, self.rules_, table.values, label, table.rounding)
        return weighted_share(right, sample_weight)

    def _attack_or(self, attack: Any) -> Any:
        if attack is None and self.rules_ is not None:
            raise InvalidInputError("the tree was learned against rules; say which attack=... to look at here")
        return super()._attack_or(attack)

    def to_model(self) -> Model:
        """Return what is saved: tree, attack and a record of the training, with the rules where there are any."""
        model = super().to_model()
        if self.rules_ is None:
            return model
        return Model(model.tree, model.attack, {**model.training, "attack_rules": self.rules_.to_dict()})
