"""Trees as ONNX models.

One node, ``TreeEnsembleRegressor`` of the domain ai.onnx.ml, version 3, finds the index of the class; ``Gather`` looks
its label up. Converters of scikit-learn's trees drop where missing values go and round thresholds; here each split says
where a missing value goes (``nodes_missing_value_tracks_true``), and numbers are compared as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hardwood.arrays import FloatArray
from hardwood.errors import InvalidInputError, MissingEngineError
from hardwood.export.code import labels_of
from hardwood.plain_data import Label
from hardwood.tree.tree import Tree

_DEEPEST = 1000
"""Runtimes build trees by recursion."""


def to_onnx(tree: Tree, dtype: str = "float64") -> bytes:
    """Return an ONNX model with the answers of the tree, as the content of a file.

    Its input ``X`` is a matrix of samples and features, its output ``label`` the class of each sample. With
    ``dtype="float64"`` the input is of doubles and every answer is that of the tree, whatever the input. With
    ``"float32"``, which some runtimes prefer, the same holds for every input that float32 can hold; a number that has
    to be rounded first may fall on the other side of a threshold.

    A missing value (NaN) goes where the tree sends it. A tree that refuses missing values would refuse them; a model in
    ONNX cannot, and sends them right.

    Parameters
    ----------
    tree : Tree
        Without categorical features.
    dtype : {"float64", "float32"}

    Returns
    -------
    bytes
    """
    try:
        import onnx
        from onnx import TensorProto, helper, numpy_helper
    except ImportError as error:
        raise MissingEngineError("ONNX models need the package onnx: pip install 'hardwood[onnx]'") from error
    if dtype not in ("float64", "float32"):
        raise InvalidInputError(f"dtype={dtype!r}; it must be 'float64' or 'float32'")
    if tree.encoding is not None:
        raise InvalidInputError(
            "the tree has categorical features, which ONNX's trees do not know; convert "
            "dataclasses.replace(tree, encoding=None), which takes the indicator columns of tree.rows(X)"
        )
    if tree.depth > _DEEPEST:
        raise InvalidInputError(f"the tree is {tree.depth} splits deep; ONNX runtimes take about {_DEEPEST}")
    labels = _label_array(labels_of(tree))
    numbers, kind = (np.float64, TensorProto.DOUBLE) if dtype == "float64" else (np.float32, TensorProto.FLOAT)
    nodes = [
        helper.make_node(
            "TreeEnsembleRegressor", ["X"], ["index_as_float"], domain="ai.onnx.ml", n_targets=1,
            **_ensemble(tree, numbers, numpy_helper),
        ),
        helper.make_node("Cast", ["index_as_float"], ["index_column"], to=TensorProto.INT64),
        helper.make_node("Squeeze", ["index_column", "second_axis"], ["index"]),
        helper.make_node("Gather", ["labels", "index"], ["label"], axis=0),
    ]  # fmt: skip
    stored = numpy_helper.from_array(labels, "labels")
    graph = helper.make_graph(
        nodes, "tree",
        [helper.make_tensor_value_info("X", kind, ["n_samples", tree.n_features])],
        [helper.make_tensor_value_info("label", stored.data_type, ["n_samples"])],
        [stored, numpy_helper.from_array(np.array([1], dtype=np.int64), "second_axis")],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=opsets, producer_name="hardwood", ir_version=8)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


def _ensemble(tree: Tree, numbers: type, numpy_helper: Any) -> dict[str, Any]:
    """Return the attributes of the ensemble: one tree whose leaves add the index of their class."""
    is_leaf = tree.left < 0
    leaves = np.flatnonzero(is_leaf)
    threshold = np.where(is_leaf, 0.0, tree.threshold)
    missing_left = np.zeros(tree.n_nodes, dtype=np.int64) if tree.missing_left is None else tree.missing_left & ~is_leaf
    return {
        "nodes_treeids": [0] * tree.n_nodes,
        "nodes_nodeids": list(range(tree.n_nodes)),
        "nodes_featureids": np.where(is_leaf, 0, tree.feature).tolist(),
        "nodes_modes": ["LEAF" if leaf else "BRANCH_LEQ" for leaf in is_leaf],
        "nodes_values_as_tensor": numpy_helper.from_array(_at_most(threshold, numbers), "thresholds"),
        "nodes_truenodeids": np.where(is_leaf, 0, tree.left).tolist(),
        "nodes_falsenodeids": np.where(is_leaf, 0, tree.right).tolist(),
        "nodes_missing_value_tracks_true": missing_left.astype(np.int64).tolist(),
        "target_treeids": [0] * len(leaves),
        "target_nodeids": leaves.tolist(),
        "target_ids": [0] * len(leaves),
        "target_weights_as_tensor": numpy_helper.from_array(tree.label[leaves].astype(numbers), "classes_of_leaves"),
    }


def _at_most(threshold: FloatArray, numbers: type) -> Any:
    """Return the largest numbers of a type that are at most the thresholds: the same question to all of that type."""
    if numbers is np.float64:
        return threshold
    with np.errstate(over="ignore"):
        nearest = threshold.astype(np.float32)
    return np.where(nearest.astype(np.float64) > threshold, np.nextafter(nearest, np.float32(-np.inf)), nearest)


def _label_array(labels: list[Label]) -> Any:
    if all(isinstance(label, str) for label in labels):
        return np.array(labels, dtype=object)
    array = np.array(labels)
    if array.dtype.kind not in "biuf":
        raise InvalidInputError(f"the labels {labels!r} do not fit into 64 bits, as ONNX needs them")
    return array
