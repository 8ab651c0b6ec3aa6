"""ONNX models answer as the tree does: on every double, on every float32 number, and on missing values."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import make_tree
from hardwood import GreedyRobustTreeClassifier, InvalidInputError, MissingEngineError, Tree
from strategies import trees

onnxruntime = pytest.importorskip("onnxruntime")

# Beyond what float32 holds, below what it tells apart, on its grid and beside it.
THRESHOLDS = (-1e300, -1e39, -1 / 3, -1e-46, -0.0, 5e-324, 1e-46, 0.1, 1 / 3, 1 + 1e-9, 16777217.0, 1e39, 1e300,
              float(np.finfo(np.float32).max))  # fmt: skip


def answers(tree: Tree, points: Any, dtype: str = "float64") -> list[Any]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(tree.to_onnx(dtype), options, providers=["CPUExecutionProvider"])
    found: list[Any] = session.run(None, {"X": np.asarray(points, dtype=dtype)})[0].tolist()
    return found


@settings(max_examples=80)
@given(st.integers(1, 3).flatmap(lambda p: trees(p, 3, 4)), st.integers(0, 2**32 - 1), st.booleans())
def test_every_number_and_every_gap_is_answered_as_by_the_tree(tree: Tree, seed: int, allows_missing: bool) -> None:
    rng = np.random.default_rng(seed)
    is_split = tree.left >= 0
    tree = replace(
        tree,
        threshold=np.where(is_split, rng.choice(THRESHOLDS, tree.n_nodes), np.nan),
        missing_left=rng.random(tree.n_nodes) < 0.5 if allows_missing else None,
    )
    near = np.concatenate([THRESHOLDS, np.nextafter(THRESHOLDS, -np.inf), np.nextafter(THRESHOLDS, np.inf), [0.0, 1.0]])
    points = rng.choice(near, (200, tree.n_features))
    if allows_missing:
        points[rng.random(points.shape) < 0.2] = np.nan
    assert answers(tree, points) == tree.predict(points).tolist()
    with np.errstate(over="ignore"):
        single = np.clip(points.astype(np.float32), np.finfo(np.float32).min, np.finfo(np.float32).max)
    assert answers(tree, single, "float32") == tree.predict(single).tolist()


def test_missing_values_go_where_the_tree_sends_them_and_not_where_scikit_learns_converter_does() -> None:
    rng = np.random.default_rng(3)
    X = rng.random((400, 2))
    y = np.where(X[:, 0] > 0.3, "x", np.where(X[:, 1] > 0.6, "y", "z"))
    X[rng.random(X.shape) < 0.2] = np.nan
    tree = GreedyRobustTreeClassifier(3, missing="reachable").fit(X, y).tree_
    assert set(tree.missing_left[tree.left >= 0]) == {True, False}  # type: ignore[index]
    assert answers(tree, X) == tree.predict(X).tolist()
    single = X.astype(np.float32)
    assert answers(tree, single, "float32") == tree.predict(single).tolist()


@pytest.mark.parametrize("labels", [["a", "é\0\n"], [3, 7], [-(2**63), 2**63 - 1], [0.5, 1.5], [True, False]])
def test_labels_of_every_kind_come_back_as_they_are(labels: list[Any]) -> None:
    classes = np.array(labels, dtype=object if isinstance(labels[0], str) else None)
    tree = make_tree([0, -1, -1], [0.5, np.nan, np.nan], [1, -1, -1], [2, -1, -1], [-1, 0, 1], classes, 1)
    assert answers(tree, [[0.0], [1.0]]) == labels
    leaf = make_tree([-1], [np.nan], [-1], [-1], [1], classes, 1)
    assert answers(leaf, [[0.0]]) == labels[1:]


def test_what_onnx_cannot_say_is_refused_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    leaf = make_tree([-1], [np.nan], [-1], [-1], [0], np.array([2**70], dtype=object), 1)
    with pytest.raises(InvalidInputError, match="64 bits"):
        leaf.to_onnx()
    with pytest.raises(InvalidInputError, match="'float64' or 'float32'"):
        leaf.to_onnx("float16")
    table = [["red"], ["blue"], ["red"]]
    with pytest.raises(InvalidInputError, match="categorical features"):
        GreedyRobustTreeClassifier(1, categorical_features=[0]).fit(table, [0, 1, 0]).tree_.to_onnx()
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingEngineError, match=r"hardwood\[onnx\]"):
        leaf.to_onnx()
