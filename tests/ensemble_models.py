"""Small models of every kind, and points at which rounding and ties decide what they answer."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_selection import VarianceThreshold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from hardwood import GreedyRobustTreeClassifier, RobustBoostingClassifier, RobustForestClassifier

Maker = Callable[[int, int, int], Any]
"""From number of trees, depth and seed to an unfitted model."""


def _xgboost(trees: int, depth: int, seed: int, **options: Any) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=trees, max_depth=depth, random_state=seed, n_jobs=1, **options)


def _lightgbm(trees: int, depth: int, seed: int, **options: Any) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        n_estimators=trees, max_depth=depth, num_leaves=2**depth, random_state=seed, n_jobs=1, verbose=-1,
        min_child_samples=2, **options,
    )  # fmt: skip


def _catboost(trees: int, depth: int, seed: int, **options: Any) -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        iterations=trees, depth=depth, random_seed=seed, verbose=0, thread_count=1, allow_writing_files=False, **options
    )


def _columns(trees: int, depth: int, seed: int) -> Any:
    columns = ColumnTransformer(
        [("scaled", RobustScaler(), [2, 0]), ("kept", "passthrough", [1])], remainder=StandardScaler()
    )
    return make_pipeline(columns, RandomForestClassifier(trees, max_depth=depth, random_state=seed))


MAKERS: dict[str, Maker] = {
    "tree": lambda t, d, s: DecisionTreeClassifier(max_depth=d, random_state=s),
    "forest": lambda t, d, s: RandomForestClassifier(t, max_depth=d, random_state=s),
    "full forest": lambda t, d, s: RandomForestClassifier(t, random_state=s),
    "extra trees": lambda t, d, s: ExtraTreesClassifier(t, max_depth=d, random_state=s),
    "gradient boosting": lambda t, d, s: GradientBoostingClassifier(n_estimators=t, max_depth=d, random_state=s),
    "gradient boosting from zero": lambda t, d, s: GradientBoostingClassifier(
        n_estimators=t, max_depth=d, random_state=s, init="zero"
    ),
    "histogram boosting": lambda t, d, s: HistGradientBoostingClassifier(
        max_iter=t, max_depth=d, random_state=s, min_samples_leaf=2, early_stopping=False
    ),
    "ada boost": lambda t, d, s: AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=d), n_estimators=t, random_state=s
    ),
    "bagging": lambda t, d, s: BaggingClassifier(
        DecisionTreeClassifier(max_depth=d), n_estimators=t, random_state=s, max_features=0.7
    ),
    "own tree": lambda t, d, s: GreedyRobustTreeClassifier(max_depth=d, attack=0.02),
    "own forest": lambda t, d, s: RobustForestClassifier(t, max_depth=d, attack=0.02, random_state=s),
    "own forest of shares": lambda t, d, s: RobustForestClassifier(
        t, max_depth=min(d, 2), attack=0.02, random_state=s, base="search", voting="soft"
    ),
    "own boosting": lambda t, d, s: RobustBoostingClassifier(t, max_depth=d, attack=0.02, learning_rate=0.5),
    "standard scaler": lambda t, d, s: make_pipeline(
        StandardScaler(), GradientBoostingClassifier(n_estimators=t, max_depth=d, random_state=s)
    ),
    "min-max scaler": lambda t, d, s: make_pipeline(
        VarianceThreshold(),
        MinMaxScaler(clip=True),
        MaxAbsScaler(),
        DecisionTreeClassifier(max_depth=d, random_state=s),
    ),
    "columns": _columns,
    "xgboost": _xgboost,
    "xgboost parallel trees": lambda t, d, s: _xgboost(t, d, s, base_score=0.3, num_parallel_tree=2, subsample=0.7),
    "lightgbm": _lightgbm,
    "lightgbm one versus rest": lambda t, d, s: _lightgbm(t, d, s, objective="multiclassova"),
    "lightgbm forest": lambda t, d, s: _lightgbm(
        t, d, s, boosting_type="rf", subsample=0.6, subsample_freq=1, colsample_bytree=0.8
    ),
    "catboost": _catboost,
}
TAKE_MISSING = ("tree", "forest", "extra trees", "histogram boosting", "xgboost", "lightgbm", "catboost")
LIBRARY = {"xgboost": "xgboost", "xgboost parallel trees": "xgboost", "lightgbm": "lightgbm", "catboost": "catboost",
           "lightgbm one versus rest": "lightgbm", "lightgbm forest": "lightgbm"}  # fmt: skip


def fitted(name: str, X: Any, y: Any, trees: int, depth: int, seed: int) -> Any:
    """Fit a model, or skip where its library is not installed."""
    library = LIBRARY.get(name)
    if library is not None and importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    if name == "lightgbm one versus rest" and len(np.unique(y)) == 2:
        pytest.skip("one versus rest is for more than two classes")
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        return MAKERS[name](trees, depth, seed).fit(X, y)


def own_answers(model: Any, X: NDArray[Any]) -> NDArray[Any]:
    """Answers of the library itself, without its remarks on feature names."""
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        return np.ravel(model.predict(X))


def table(rng: np.random.Generator, n: int, p: int, classes: int, decimals: int = 2) -> tuple[Any, Any]:
    """Numbers of few decimals, so that values repeat, and classes that depend on them."""
    X = np.round(rng.random((n, p)), decimals)
    score = X[:, 0] + X[:, 1 % p] * (1 if p == 1 else X[:, -1]) + 0.3 * rng.random(n)
    y = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))
    return X, y


def near_thresholds(rng: np.random.Generator, cuts: list[NDArray[Any]], n: int) -> NDArray[Any]:
    """Points whose coordinates are thresholds, their neighbours in float64 and float32, and roundings."""
    columns = []
    for values in cuts:
        values = values[np.abs(values) < 1e30]
        if len(values) == 0:
            values = np.array([0.5])
        single = values.astype(np.float32)
        near = [values, np.nextafter(values, -np.inf), np.nextafter(values, np.inf), single.astype(np.float64)]
        near += [np.nextafter(single, np.float32(way)).astype(np.float64) for way in (-np.inf, np.inf)]
        columns.append(rng.choice(np.concatenate(near), n))
    return np.stack(columns, axis=1)
