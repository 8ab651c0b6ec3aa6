"""``as_ensemble``: which module converts a model."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from hardwood.ensembles.conversion import calibration, catboost, files, lightgbm, own, pipelines, scikit_learn, xgboost
from hardwood.ensembles.scores import Ensemble
from hardwood.errors import InvalidInputError

_CONVERTERS: tuple[Callable[[Any], Ensemble | None], ...] = (
    own.convert,
    pipelines.convert,
    calibration.convert,
    scikit_learn.convert,
    xgboost.convert,
    lightgbm.convert,
    catboost.convert,
)


def as_ensemble(model: Any) -> Ensemble:
    """Convert a model made of trees, so that its answers can be verified under attack.

    Parameters
    ----------
    model : fitted classifier, booster, pipeline or path
        scikit-learn's trees, forests, extra trees, gradient boosting, histogram gradient boosting, AdaBoost, bagging
        and calibration of trees; XGBoost and LightGBM classifiers and boosters; CatBoost's oblivious trees; hardwood's
        trees, forests and boosting; a pipeline that ends in one of them, whose other steps select columns or scale
        each by itself. A path names a model saved as JSON by XGBoost, CatBoost, LightGBM (``dump_model``) or hardwood,
        or as text by LightGBM.

    Returns
    -------
    Ensemble
        With the same answer as the model's own ``predict`` at every float64 input, to the last tie; of forests whose
        ``n_jobs`` is not 1 the library itself adds the trees in any order, so there ties of rounding may differ.
    """
    if isinstance(model, Ensemble):
        return model
    if isinstance(model, str | os.PathLike):
        return files.read(model)
    if hasattr(model, "best_estimator_"):
        return as_ensemble(model.best_estimator_)
    for convert in _CONVERTERS:
        found = convert(model)
        if found is not None:
            return found
    raise InvalidInputError(
        f"{type(model).__name__} cannot be converted; a fitted tree, forest, boosted or bagged trees of scikit-learn, "
        "XGBoost, LightGBM, CatBoost or hardwood, a pipeline of scalers with one of them, or a file can"
    )
