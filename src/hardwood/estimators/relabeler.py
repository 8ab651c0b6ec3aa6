"""The estimator for relabelled trees."""

from __future__ import annotations

from typing import Any, Self

from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from hardwood.estimators.base import BaseRobustTree
from hardwood.export import from_sklearn
from hardwood.problem.problem import Problem
from hardwood.solvers.result import Result
from hardwood.solvers.solve import solve


class RobustRelabeler(BaseRobustTree):
    """A scikit-learn decision tree, made as robust as its splits allow.

    The splits stay; the leaves get the labels that lose the least weight of training samples to the attacker
    (`hardwood.solvers.relabel.relabel`): optimal for two classes.

    Parameters
    ----------
    estimator : fitted or unfitted decision tree classifier, or None
        A fitted tree is taken as it is; an unfitted one is fitted on the data first. None is
        ``DecisionTreeClassifier(max_depth=3, random_state=0)``.
    attack : number, sequence, mapping or AttackModel
        What the attacker can do; anything `AttackModel.parse` takes.
    time_limit : float or None
        Seconds for the labels; the best ones so far are kept when they are over.
    class_weight : mapping, "balanced" or None
        Multiplies sample weights by class.

    Attributes
    ----------
    estimator_ : decision tree classifier
        The fitted tree whose splits are used.
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        attack: Any = 0.0,
        time_limit: float | None = 60.0,
        class_weight: Any = None,
    ) -> None:
        self.estimator = estimator
        self.attack = attack
        self.time_limit = time_limit
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the tree, if it is not, and relabel its leaves.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,) or None
            Cost of losing each sample.
        """
        self.estimator_ = self._fitted_tree(X, y, sample_weight)
        return super().fit(X, y, sample_weight)

    def _fitted_tree(self, X: Any, y: Any, sample_weight: Any) -> Any:
        from sklearn.tree import DecisionTreeClassifier

        if self.estimator is not None:
            try:
                check_is_fitted(self.estimator)
            except NotFittedError:
                pass
            else:
                return self.estimator
        self._validate_training_data(X, y)
        tree = DecisionTreeClassifier(max_depth=3, random_state=0) if self.estimator is None else clone(self.estimator)
        return tree.fit(X, y, sample_weight)

    def _problem_parameters(self) -> dict[str, Any]:
        return {"max_depth": from_sklearn(self.estimator_).depth, "class_weight": self.class_weight}

    def _solve(self, problem: Problem, started: float) -> Result:
        given = from_sklearn(self.estimator_, problem.feature_names)
        return solve(problem, "relabelled", options={"tree": given}, time_limit=self.time_limit, started=started)
