"""Saved models: JSON of XGBoost, CatBoost, LightGBM and hardwood, text of LightGBM. Nothing in a file is executed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from hardwood.ensembles.conversion import catboost, lightgbm, own, xgboost
from hardwood.ensembles.scores import Ensemble
from hardwood.errors import InvalidInputError
from hardwood.export.model_file import load_model


def is_of_another_library(path: str | os.PathLike[str]) -> bool:
    """Whether a file looks like a saved model of XGBoost, LightGBM or CatBoost."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        if text.startswith("tree\n"):
            return True
        data = json.loads(text)
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(data, dict) and any(key in data for key in ("learner", "tree_info", "features_info"))


def read(path: str | os.PathLike[str]) -> Ensemble:
    """Read a saved model; what library wrote it is seen from its content."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidInputError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"{path} is no text; save the model as JSON (XGBoost: a name that ends in .json) or as LightGBM's text"
        ) from error
    try:
        return _parsed(text, path)
    except InvalidInputError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, OverflowError, RecursionError, AttributeError) as error:
        raise InvalidInputError(f"{path} is not a model that can be used: {error!r}") from error


def _parsed(text: str, path: Any) -> Ensemble:
    if text.startswith("tree\n"):
        return lightgbm.from_text(text)
    data = json.loads(text)
    if not isinstance(data, dict):
        raise InvalidInputError(f"{path} holds no model")
    if "learner" in data:
        return xgboost.from_json(data)
    if "tree_info" in data:
        return lightgbm.from_json(data)
    if "features_info" in data:
        return catboost.from_json(data)
    found = own.convert(load_model(path))
    assert found is not None
    return found
