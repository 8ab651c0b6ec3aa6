"""scikit-learn's trees, forests, bagging and boosting.

All but histogram gradient boosting round their input to float32 and compare it with float64 thresholds. Forests and
bagging average the class shares of the leaves, in float64 and in the order of the trees as long as ``n_jobs`` is 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hardwood.arrays import FloatArray, IntArray
from hardwood.ensembles.scores import Ensemble, Link, Rule, TreeOfScores
from hardwood.errors import InvalidInputError
from hardwood.export.float32 import as_if_rounded_to_float32

SMALLEST = float(np.nextafter(0.0, 1.0))
"""``score > 0`` is ``score >= SMALLEST``."""


def convert(model: Any) -> Ensemble | None:
    """Convert a fitted classifier of scikit-learn; None if it is none of those known here."""
    if type(model).__module__.split(".")[0] != "sklearn":
        return None
    for kind in type(model).__mro__:
        if kind.__name__ in _KINDS:
            _require_fitted(model)
            return _KINDS[kind.__name__](model)
    return None


def _require_fitted(model: Any) -> None:
    if not hasattr(model, "classes_"):
        raise InvalidInputError(f"{type(model).__name__} is not fitted, or not a classifier; call fit first")
    if getattr(model, "n_outputs_", 1) != 1:
        raise InvalidInputError(f"the model has {model.n_outputs_} outputs; only one is supported")
    if len(model.classes_) < 2:
        raise InvalidInputError("the model knows one class only; there is nothing to attack")


def _ensemble(
    model: Any, trees: list[TreeOfScores], base: Any, rule: Rule, *, takes_missing: bool, n_features: int | None = None
) -> Ensemble:
    names = getattr(model, "feature_names_in_", None)
    return Ensemble(
        trees,
        base,
        rule,
        model.classes_,
        int(model.n_features_in_) if n_features is None else n_features,
        None if names is None or not all(isinstance(name, str) for name in names) else tuple(names),
        takes_missing=takes_missing,
        library=f"scikit-learn {type(model).__name__}",
        model=model,
    )


def _tree(inner: Any, value: FloatArray, columns: Any = None) -> TreeOfScores:
    """Convert scikit-learn's inner tree, with values of ours at its nodes."""
    is_leaf = inner.children_left < 0
    feature = np.where(is_leaf, -1, inner.feature).astype(np.int64)
    if columns is not None:
        feature = np.where(is_leaf, -1, np.asarray(columns, np.int64)[np.where(is_leaf, 0, inner.feature)])
    state = inner.__getstate__()["nodes"]
    missing = state["missing_go_to_left"] if "missing_go_to_left" in state.dtype.names else np.zeros(len(feature))
    return TreeOfScores.ordered(
        feature, as_if_rounded_to_float32(inner.threshold), inner.children_left, inner.children_right, value, missing
    )


def _shares(inner: Any, classes: IntArray, n_classes: int) -> FloatArray:
    """Class shares at every node, as ``predict_proba`` gives them, of the classes that the tree saw."""
    value = np.zeros((len(inner.value), n_classes))
    value[:, classes] = inner.value[:, 0, : len(classes)]
    return value


def _takes_missing(trees: Any) -> bool:
    return all(bool(tree.__sklearn_tags__().input_tags.allow_nan) for tree in trees)


def _single(model: Any) -> Ensemble:
    k = len(model.classes_)
    tree = _tree(model.tree_, _shares(model.tree_, np.arange(k), k))
    return _ensemble(model, [tree], np.zeros(k), Rule(), takes_missing=_takes_missing([model]))


def _forest(model: Any) -> Ensemble:
    k = len(model.classes_)
    trees = [_tree(one.tree_, _shares(one.tree_, np.arange(k), k)) for one in model.estimators_]
    rule = Rule(divisor=float(len(trees)))
    return _ensemble(model, trees, np.zeros(k), rule, takes_missing=_takes_missing(model.estimators_))


def _require_trees(estimators: Any, what: str) -> None:
    for one in estimators:
        if not hasattr(one, "tree_") or not hasattr(one, "classes_"):
            raise InvalidInputError(f"{what} of {type(one).__name__} cannot be converted; only of decision trees")


def _bagging(model: Any) -> Ensemble:
    k = len(model.classes_)
    _require_trees(model.estimators_, "bagging")
    # The trees are learned on codes of the classes, some of which a bootstrap sample may lack.
    trees = [
        _tree(one.tree_, _shares(one.tree_, np.asarray(one.classes_, np.int64), k), columns)
        for one, columns in zip(model.estimators_, model.estimators_features_, strict=True)
    ]
    rule = Rule(divisor=float(len(trees)))
    return _ensemble(model, trees, np.zeros(k), rule, takes_missing=_takes_missing(model.estimators_))


def _ada_boost(model: Any) -> Ensemble:
    k = len(model.classes_)
    _require_trees(model.estimators_, "AdaBoost")
    trees = []
    for one, weight in zip(model.estimators_, model.estimator_weights_, strict=False):
        answer = np.searchsorted(model.classes_, one.classes_)[one.tree_.value[:, 0, :].argmax(axis=1)]
        value = np.full((len(answer), k), -1 / (k - 1) * weight)
        value[np.arange(len(answer)), answer] = weight
        # For two classes both sums are the same but for their sign.
        trees.append(_tree(one.tree_, value[:, 1:] if k == 2 else value))
    total = float(model.estimator_weights_.sum())
    rule = Rule(Link.CUTOFF, cutoff=SMALLEST) if k == 2 else Rule(divisor=total)
    return _ensemble(model, trees, np.zeros(1 if k == 2 else k), rule, takes_missing=_takes_missing(model.estimators_))


def _gradient_boosting(model: Any) -> Ensemble:
    if model.init is not None and model.init != "zero":
        raise InvalidInputError(
            f"the boosting starts from {type(model.init).__name__}, which may be any function; "
            "only init=None and init='zero' can be converted"
        )
    n_scores = model.estimators_.shape[1]
    # The start does not look at x.
    base = model._raw_predict_init(np.zeros((1, model.n_features_in_), np.float32))[0]
    trees = []
    for stage in model.estimators_:
        for k, one in enumerate(stage):
            value = np.zeros((len(one.tree_.value), n_scores))
            value[:, k] = model.learning_rate * one.tree_.value[:, 0, 0]
            trees.append(_tree(one.tree_, value))
    rule = Rule(Link.CUTOFF, cutoff=0.0) if n_scores == 1 else Rule()
    return _ensemble(model, trees, base, rule, takes_missing=False)


def _hist_gradient_boosting(model: Any) -> Ensemble:
    if model.is_categorical_ is not None and np.any(model.is_categorical_):
        raise InvalidInputError("the model splits on categories, which cannot be converted")
    n_scores = model.n_trees_per_iteration_
    trees = []
    for iteration in model._predictors:
        for k, predictor in enumerate(iteration):
            nodes = predictor.nodes
            is_leaf = nodes["is_leaf"].astype(bool)
            value = np.zeros((len(nodes), n_scores))
            value[:, k] = nodes["value"]
            trees.append(
                TreeOfScores.ordered(
                    np.where(is_leaf, -1, nodes["feature_idx"]),
                    nodes["num_threshold"],
                    np.where(is_leaf, -1, nodes["left"].astype(np.int64)),
                    np.where(is_leaf, -1, nodes["right"].astype(np.int64)),
                    value,
                    nodes["missing_go_to_left"],
                )
            )
    rule = Rule(Link.CUTOFF, cutoff=SMALLEST) if n_scores == 1 else Rule()
    return _ensemble(model, trees, np.ravel(model._baseline_prediction), rule, takes_missing=True)


_KINDS: dict[str, Callable[[Any], Ensemble]] = {
    "ForestClassifier": _forest,
    "HistGradientBoostingClassifier": _hist_gradient_boosting,
    "GradientBoostingClassifier": _gradient_boosting,
    "AdaBoostClassifier": _ada_boost,
    "BaggingClassifier": _bagging,
    "DecisionTreeClassifier": _single,
}
