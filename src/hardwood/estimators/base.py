"""What all estimators share: checks of the data, and everything that a fitted tree can be asked."""

from __future__ import annotations

import os
import sys
import time
import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from hardwood.arrays import FloatArray
from hardwood.attack.model import AttackModel
from hardwood.data.categories import CategoryEncoding
from hardwood.data.chunks import is_chunked, over_chunks
from hardwood.data.extremes import extremes
from hardwood.data.frames import (
    Table,
    as_table,
    check_finite,
    check_is_table,
    column_names,
    is_plain_matrix,
    rounding_of,
)
from hardwood.data.labels import as_labels, encode_labels
from hardwood.data.weights import weighted_share
from hardwood.errors import InvalidInputError, OneHotWarning, WholeNumbersWarning
from hardwood.evaluation.adversarial import attack_samples, robust_radius
from hardwood.evaluation.metrics import adversarial_accuracy
from hardwood.evaluation.recall import RecallUnderAttack, adversarial_recall
from hardwood.export import to_sklearn
from hardwood.export.model_file import Model, training_record, weight_by_leaf
from hardwood.markup import escaped, facts, folded
from hardwood.problem.problem import Problem, prepare
from hardwood.problem.suspicions import fractions_text, moved_by_fractions, moved_one_by_one, one_hot_text
from hardwood.solvers.options import RANDOM_STATE, Number, Option
from hardwood.solvers.result import EndReason, Result, Status
from hardwood.tree.drawing import tree_html
from hardwood.tree.statistics import NodeStatistics, class_shares
from hardwood.tree.tree import Tree

LAPLACE = Option("laplace", 0.0, Number(0, sys.float_info.max), "added to the weight of every class in a leaf")


class BaseRobustClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """How all estimators check the data they are given.

    Attributes
    ----------
    seen_ : tuple
        A few rows with the extremes of the training data, the names of its columns and how it holds categories: what a
        scorer needs to know what a fraction of the range is.
    """

    # Estimators that have these as parameters override them in their instances.
    missing: str = "error"
    categorical_features: Any = None

    def _validate_training_data(self, X: Any, y: Any) -> tuple[Any, tuple[str, ...] | None, Any]:
        """Return the table as `Problem.from_data` takes it, its column names, and the labels."""
        check_is_table(X)
        if self.categorical_features is None and "categorical_features" not in self._get_param_names():
            self._refuse_categories(X)
        encoding = CategoryEncoding.fit(X, self.categorical_features)
        table, y = self._validate_table(X, y, encoding)
        if y.dtype.kind not in "iub":
            check_classification_targets(y)  # whole numbers are classes
        rows = table.values if encoding is None else encoding.encode(table)
        self.seen_ = (extremes(rows), self._feature_names(), encoding)
        return table, self._feature_names(), y

    def _refuse_categories(self, X: Any) -> None:
        found = CategoryEncoding.fit(X, "from_dtype")
        if found is not None:
            column = next(found.column_name(j) for j, categories in enumerate(found.categories) if categories)
            raise InvalidInputError(
                f"column {column!r} is categorical, and {type(self).__name__} learns from numbers only; use "
                "RobustTreeClassifier or GreedyRobustTreeClassifier, or encode the column as numbers"
            )

    def _validate_table(self, X: Any, y: Any, encoding: CategoryEncoding | None) -> tuple[Any, Any]:
        if encoding is not None:
            table, y = validate_data(self, X, y, skip_check_array=True)
            return table, as_labels(y, len(table))
        if column_names(X) is not None:
            as_table(X)  # names the column that is not numeric, which scikit-learn's check does not
        matrix, y = validate_data(self, X, y, dtype=np.float64, order="C", ensure_all_finite=False)
        return self._table(X, matrix), y

    def _table(self, X: Any, matrix: FloatArray) -> Table:
        """Return the numbers of a table that scikit-learn has read, with the types in which they came."""
        could_allow = "missing" in self._get_param_names()
        allow_missing = self.missing == "reachable"
        check_finite(matrix, self._feature_names(), allow_missing=allow_missing, could_allow=could_allow)
        return Table(matrix, self._feature_names(), rounding_of(X, matrix.shape[1]))

    def _validate(self, X: Any) -> Any:
        """Return a table as the functions over fitted trees take it."""
        check_is_fitted(self)
        check_is_table(X)
        if self._encoding is not None:
            validate_data(self, X, reset=False, skip_check_array=True)
            return X
        if is_plain_matrix(X, self.n_features_in_) and not hasattr(self, "feature_names_in_"):
            # scikit-learn's check would find nothing to do, and takes longer than to answer for a few rows.
            return self._table(X, np.ascontiguousarray(X))
        if column_names(X) is not None:
            as_table(X)
        matrix: FloatArray = validate_data(self, X, dtype=np.float64, order="C", reset=False, ensure_all_finite=False)
        return self._table(X, matrix)

    @property
    def _encoding(self) -> CategoryEncoding | None:
        """How the fitted model reads categories."""
        return None

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on samples as they are.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,) or None
        """
        predicted = self.predict(X)
        label = encode_labels(as_labels(y, len(predicted)), self.classes_)
        return weighted_share(encode_labels(predicted, self.classes_) == label, sample_weight)

    def _feature_names(self) -> tuple[str, ...] | None:
        names = getattr(self, "feature_names_in_", None)
        return None if names is None else tuple(names)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing == "reachable"
        tags.input_tags.categorical = self.categorical_features is not None
        return tags


class BaseRobustTree(BaseRobustClassifier):
    """What all tree estimators share; a subclass turns its parameters into a call of `solve`.

    Attributes
    ----------
    tree_ : Tree
        The fitted tree.
    result_ : Result
        Status, objective, bound, gap and trace of the fit.
    attack_ : AttackModel
        The attack in the units of X.
    classes_ : array
    leaf_weight_ : array of shape (n_nodes, n_classes)
        Weight of the training samples of each class that reach each node for certain, whatever the attacker does.
    feature_importances_ : array of shape (n_features,)
        How much robust error each feature saves, as shares that sum to 1: for every split, the weight that would be
        lost in addition if the split and all below it were replaced by the one best answer. A categorical feature has
        the sum of its categories.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only where X had column names that are strings.
    """

    attack: Any
    tree_: Tree
    result_: Result
    attack_: AttackModel
    leaf_weight_: FloatArray
    feature_importances_: FloatArray

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn a tree.

        Parameters
        ----------
        X : array-like or frame of shape (n_samples, n_features)
            Numbers in any units; categories and missing values only where the parameters of the estimator say so.
        y : array-like of shape (n_samples,)
            Labels of any type.
        sample_weight : array-like of shape (n_samples,) or None
            Cost of losing each sample.

        Returns
        -------
        self
        """
        started = time.perf_counter()
        problem, attack = self._make_problem(X, y, sample_weight)
        return self._keep(problem, attack, self._solve(problem, started))

    def _make_problem(self, X: Any, y: Any, sample_weight: Any) -> tuple[Problem, AttackModel]:
        """Check the data and state what is to be learned, and against which attack in the units of X."""
        table, names, y = self._validate_training_data(X, y)
        problem = prepare(
            table,
            y,
            self.attack,
            sample_weight=sample_weight,
            feature_names=names,
            missing=self.missing,
            categorical_features=CategoryEncoding.fit(X, self.categorical_features),
            # As good as absent: not even margins keep clear of samples that weigh nothing.
            keep_weightless=False,
            # As long as it is learned from: a result that keeps the problem has numbers of its own (`_keep`).
            may_share=isinstance(table, Table),
            **self._problem_parameters(),
        )
        assert problem.attack is not None
        counts = moved_by_fractions(problem)
        if counts:
            warnings.warn(f"{fractions_text(counts)} attack.with_integers([...])", WholeNumbersWarning, stacklevel=3)
        groups = moved_one_by_one(problem)
        if groups:
            warnings.warn(f"{one_hot_text(groups)} attack.with_group([...])", OneHotWarning, stacklevel=3)
        return problem, problem.attack

    def _keep(self, problem: Problem, attack: AttackModel, result: Result) -> Self:
        # Not before: while the search runs, another copy of the table would be one too many.
        self.result_ = result if result.problem is None else replace(result, problem=result.problem.owned())
        self.tree_ = result.tree
        self.attack_ = attack
        self.classes_ = problem.classes
        self._training_weight = float(problem.weight.sum())
        statistics = NodeStatistics.of(self.tree_, problem)
        self.leaf_weight_ = statistics.certain
        importances = statistics.importances()
        if problem.encoding is not None:
            by_column = np.zeros(problem.encoding.n_columns)
            np.add.at(by_column, problem.encoding.source, importances)
            importances = by_column
        self.feature_importances_ = importances
        return self

    def _problem_parameters(self) -> dict[str, Any]:
        raise NotImplementedError

    def _solve(self, problem: Problem, started: float) -> Result:
        raise NotImplementedError

    @property
    def _encoding(self) -> CategoryEncoding | None:
        return self.tree_.encoding

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row of X; for a Dask array or dataframe lazily, chunk by chunk."""
        if is_chunked(X):
            lazily: NDArray[Any] = over_chunks(self.predict, X, self.classes_.dtype)
            return lazily
        table = self._validate(X)
        return self.tree_.predict(table)

    def predict_proba(self, X: Any, *, laplace: float = 0.0) -> FloatArray:
        """Return the probability of each class at each row of X.

        The share of each class in the weight of the training samples that reach the row's leaf for certain, whatever
        the attacker does: ``(w_c + laplace) / (sum_c w_c + laplace K)`` with K classes. A leaf that no sample reaches
        for certain says its own class where ``laplace=0``. `predict` answers what costs the attacker most; under attack
        that need not be the most probable class of a leaf.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        laplace : float
            Added to the weight of every class, so that small leaves do not claim certainty; 1 is Laplace's rule.
        """
        LAPLACE.check(laplace)
        table = self._validate(X)
        return np.asarray(class_shares(self.leaf_weight_, self.tree_, laplace)[self.tree_.apply(table)])

    def predict_log_proba(self, X: Any, *, laplace: float = 0.0) -> FloatArray:
        """Return the logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X, laplace=laplace))

    def apply(self, X: Any) -> NDArray[np.int64]:
        """Return the number of the leaf in which each row of X ends."""
        table = self._validate(X)
        return self.tree_.apply(table)

    def decision_path(self, X: Any) -> Any:
        """Return which nodes each row of X passes through, as a sparse matrix (n_samples, n_nodes) of 0 and 1."""
        from scipy.sparse import csr_matrix

        table = self._validate(X)
        return csr_matrix(self.tree_.decision_path(table).astype(np.int64))

    def adversarial_score(self, X: Any, y: Any, sample_weight: Any = None, *, attack: Any = None) -> float:
        """Return the accuracy when every sample is attacked; exact.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,) or None
        attack : anything `AttackModel.parse` takes, or None
            The attack that the tree was learned against by default.
        """
        table = X if is_chunked(X) else self._validate(X)
        return adversarial_accuracy(self.tree_, table, y, self._attack_or(attack), sample_weight)

    def adversarial_recall(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        positive: Any,
        false_positive_rate: float = 0.01,
        attack: Any = None,
    ) -> RecallUnderAttack:
        """Return the recall under attack at a limited rate of false alarms; see `evaluation.adversarial_recall`.

        Leaves are scored by the probability of the positive class, as in `predict_proba`.
        """
        table = self._validate(X)
        if positive not in self.classes_.tolist():
            known = ", ".join(map(repr, self.classes_.tolist()))
            raise InvalidInputError(f"positive={positive!r}; the classes are {known}")
        share = class_shares(self.leaf_weight_, self.tree_, 0.0)[:, self.classes_.tolist().index(positive)]
        return adversarial_recall(
            self.tree_,
            share,
            table,
            y,
            self._attack_or(attack),
            positive=positive,
            false_positive_rate=false_positive_rate,
            sample_weight=sample_weight,
        )

    def attack_samples(self, X: Any, y: Any, *, attack: Any = None) -> FloatArray:
        """Return the nearest adversarial example of each sample; see `hardwood.attack_samples`."""
        table = self._validate(X)
        return attack_samples(self.tree_, table, y, self._attack_or(attack))

    def robust_radius(self, X: Any, y: Any, *, attack: Any = 1.0) -> FloatArray:
        """Return how large an attack each sample bears; see `hardwood.robust_radius`."""
        table = self._validate(X)
        return robust_radius(self.tree_, table, y, attack)

    def _attack_or(self, attack: Any) -> Any:
        return self.attack_ if attack is None else attack

    def get_depth(self) -> int:
        """Return the number of splits on the longest path."""
        check_is_fitted(self)
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Return the number of leaves."""
        check_is_fitted(self)
        return self.tree_.n_leaves

    def to_sklearn(self) -> Any:
        """Return a fitted scikit-learn decision tree with the same answers; see `hardwood.export.to_sklearn`.

        Its nodes weigh what training samples reach them for certain.
        """
        check_is_fitted(self)
        return to_sklearn(self.tree_, self.leaf_weight_.sum(axis=1))

    def to_model(self) -> Model:
        """Return what is saved: tree, attack and a record of the training."""
        check_is_fitted(self)
        return Model(self.tree_, self.attack_, training_record(self.result_), weight_by_leaf(self.leaf_weight_))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted tree to a JSON file that `hardwood.load_model` reads."""
        self.to_model().save(path)

    @property
    def _repr_html_(self) -> Any:
        """What notebooks show: the parameters and, once fitted, the tree and its proof."""
        parameters = super()._repr_html_
        return lambda: parameters() + self._fitted_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._fitted_html()
        return bundle

    def _fitted_html(self) -> str:
        if not hasattr(self, "tree_"):
            return ""
        result = self.result_
        if result.status is Status.OPTIMAL:
            proof = f"{result.proof_text}: no tree of this depth loses less"
        elif result.stopped_by is EndReason.HEURISTIC:
            proof = "none: learned by a heuristic"
        else:
            proof = f"every tree of this depth loses at least {result.bound:g} (gap {result.gap:.1%})"
        rows = {
            "Lost to the attacker": f"{result.objective:g} of {self._training_weight:g} training weight",
            "Proof": proof,
            "Learned by": f"{result.solver} in {result.runtime:.2f} s",
        }
        certain = self.leaf_weight_.sum(axis=1)
        captions = [f"{weight:g} for certain" for weight in certain.tolist()]
        attack = folded("Attack", escaped(self.attack_.describe(self._feature_names())))
        return (
            "<div class='hardwood-fitted' style='margin-top:0.5em'>"
            f"{tree_html(self.tree_, captions)}{facts(rows)}{attack}</div>"
        )


def seed_of(random_state: Any) -> int:
    """Return the seed that a ``random_state`` stands for; None is the same as 0."""
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    seed: int = RANDOM_STATE.check(random_state)
    return seed
