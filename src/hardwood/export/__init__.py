"""Trees for other programs: the model file, other libraries, source code, ONNX."""

from __future__ import annotations

from hardwood.export.c import to_c
from hardwood.export.dot import to_dot
from hardwood.export.lightgbm import from_lightgbm
from hardwood.export.model_file import Model, load_model, model_schema
from hardwood.export.onnx import to_onnx
from hardwood.export.python import to_python
from hardwood.export.scikit_learn import from_sklearn, to_sklearn
from hardwood.export.sql import to_sql
from hardwood.export.xgboost import from_xgboost

__all__ = [
    "Model",
    "from_lightgbm",
    "from_sklearn",
    "from_xgboost",
    "load_model",
    "model_schema",
    "to_c",
    "to_dot",
    "to_onnx",
    "to_python",
    "to_sklearn",
    "to_sql",
]
