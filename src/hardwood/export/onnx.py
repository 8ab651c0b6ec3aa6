"""Trees as ONNX models.

One node, ``TreeEnsembleRegressor`` of the domain ai.onnx.ml, version 3, finds the index of the class; ``Gather`` looks
its label up. Converters of scikit-learn's trees drop where missing values go and round thresholds; here each split says
where a missing value goes (``nodes_missing_value_tracks_true``), and numbers are compared as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
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
    if tree.encoding is not None:
        raise InvalidInputError(
            "the tree has categorical features, which ONNX's trees do not know; convert "
            "dataclasses.replace(tree, encoding=None), which takes the indicator columns of tree.rows(X)"
        )
    return write_onnx([tree], [tree.label[:, None].astype(np.float64)], labels_of(tree), dtype, OnnxAnswer.INDEX)


class OnnxAnswer(Enum):
    """What the sums of the leaves stand for."""

    INDEX = 0
    """The index of the class."""
    CUTOFF = 1
    """The second of two classes iff the sum is at least 0."""
    ARGMAX = 2
    """The first class with the largest sum."""


def write_onnx(
    trees: Sequence[Tree], values: Sequence[FloatArray], labels: list[Label], dtype: str, answer: OnnxAnswer
) -> bytes:
    """Write trees whose leaves add up, as the content of a file; `values` has a row per node, a column per sum."""
    try:
        import onnx
        from onnx import TensorProto, helper, numpy_helper
    except ImportError as error:
        raise MissingEngineError("ONNX models need the package onnx: pip install 'hardwood[onnx]'") from error
    if dtype not in ("float64", "float32"):
        raise InvalidInputError(f"dtype={dtype!r}; it must be 'float64' or 'float32'")
    deepest = max(tree.depth for tree in trees)
    if deepest > _DEEPEST:
        raise InvalidInputError(f"the tree is {deepest} splits deep; ONNX runtimes take about {_DEEPEST}")
    numbers, kind = (np.float64, TensorProto.DOUBLE) if dtype == "float64" else (np.float32, TensorProto.FLOAT)
    n_sums = values[0].shape[1]
    steps = {
        OnnxAnswer.INDEX: [
            helper.make_node("Cast", ["sums"], ["index_column"], to=TensorProto.INT64),
            helper.make_node("Squeeze", ["index_column", "second_axis"], ["index"]),
        ],
        OnnxAnswer.CUTOFF: [
            helper.make_node("GreaterOrEqual", ["sums", "nothing"], ["is_second"]),
            helper.make_node("Cast", ["is_second"], ["index_column"], to=TensorProto.INT64),
            helper.make_node("Squeeze", ["index_column", "second_axis"], ["index"]),
        ],
        OnnxAnswer.ARGMAX: [helper.make_node("ArgMax", ["sums"], ["index"], axis=1, keepdims=0)],
    }[answer]
    nodes = [
        helper.make_node(
            "TreeEnsembleRegressor", ["X"], ["sums"], domain="ai.onnx.ml", n_targets=n_sums,
            **_attributes(trees, values, numbers, numpy_helper),
        ),
        *steps,
        helper.make_node("Gather", ["labels", "index"], ["label"], axis=0),
    ]  # fmt: skip
    stored = numpy_helper.from_array(_label_array(labels), "labels")
    constants: dict[str, Any] = {"second_axis": np.array([1], dtype=np.int64), "nothing": np.zeros(1, np.float32)}
    used = {name for node in nodes for name in node.input}
    graph = helper.make_graph(
        nodes, "tree",
        [helper.make_tensor_value_info("X", kind, ["n_samples", trees[0].n_features])],
        [helper.make_tensor_value_info("label", stored.data_type, ["n_samples"])],
        [stored, *(numpy_helper.from_array(value, name) for name, value in constants.items() if name in used)],
    )  # fmt: skip
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=opsets, producer_name="hardwood", ir_version=8)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())


def _attributes(
    trees: Sequence[Tree], values: Sequence[FloatArray], numbers: type, numpy_helper: Any
) -> dict[str, Any]:
    """Return the attributes of the operator: nodes of all trees one behind the other, a target for each value."""
    found: dict[str, list[Any]] = {}

    def extend(**columns: Any) -> None:
        for name, column in columns.items():
            found.setdefault(name, []).extend(np.asarray(column).tolist())

    for number, (tree, value) in enumerate(zip(trees, values, strict=True)):
        is_leaf = tree.left < 0
        missing = np.zeros(tree.n_nodes, bool) if tree.missing_left is None else tree.missing_left & ~is_leaf
        extend(
            nodes_treeids=np.full(tree.n_nodes, number),
            nodes_nodeids=np.arange(tree.n_nodes),
            nodes_featureids=np.where(is_leaf, 0, tree.feature),
            nodes_modes=np.where(is_leaf, "LEAF", "BRANCH_LEQ"),
            nodes_truenodeids=np.where(is_leaf, 0, tree.left),
            nodes_falsenodeids=np.where(is_leaf, 0, tree.right),
            nodes_missing_value_tracks_true=missing.astype(np.int64),
            thresholds=np.where(is_leaf, 0.0, tree.threshold),
        )
        leaf, target = np.nonzero(np.ones_like(value, bool) & is_leaf[:, None])
        extend(
            target_treeids=np.full(len(leaf), number),
            target_nodeids=leaf,
            target_ids=target,
            weights=value[leaf, target],
        )
    thresholds = np.array(found.pop("thresholds"))
    weights: Any = np.array(found.pop("weights"), dtype=numbers)
    return {
        **found,
        "nodes_values_as_tensor": numpy_helper.from_array(_at_most(thresholds, numbers), "thresholds"),
        "target_weights_as_tensor": numpy_helper.from_array(weights, "values_of_leaves"),
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
