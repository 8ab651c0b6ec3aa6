"""The header of a proof: what is claimed, how the data were read, what the attacker can do, the tree."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np

from hardwood.arrays import FloatArray
from hardwood.attack.domain import Limits
from hardwood.attack.model import AttackModel
from hardwood.errors import InvalidInputError
from hardwood.problem.problem import Problem
from hardwood.tree.conversion import tree_of
from hardwood.tree.draft import Fork, Leaf, grow
from hardwood.tree.tree import Tree

_TYPES = {2.0**-52: "float64", 2.0**-23: "float32", 2.0**-10: "float16"}


def header_of(
    problem: Problem,
    tree: Tree | None,
    target: str | None,
    *,
    bound: int,
    depth: int | None,
    scale: tuple[int, int],
    heavy: int,
) -> dict[str, Any]:
    """Return everything but the records, as plain data for JSON."""
    if problem.attack is None:
        raise InvalidInputError("a proof needs the attack that the boxes were made with, and this problem has none")
    problem.attack.require_box("a proof")
    classes = problem.classes.tolist()
    return {
        "claim": {"depth": depth, "bound": bound, "leaf_penalty": _plain(problem.leaf_penalty)},
        "rows": problem.n_samples,
        "columns": _columns(problem),
        "target": target,
        "classes": classes,
        "missing": problem.allows_missing,
        "digest": digest(problem),
        "weights": None if np.all(problem.weight == 1) else [_plain(w) for w in problem.weight],
        "attack": [{"columns": _reach(problem, problem.attack, label)} for label in classes],
        "scale": list(scale),
        "heavy": heavy,
        "tree": None if tree is None else as_plain_tree(tree, problem),
    }


def digest(problem: Problem) -> str:
    """Return what tells these boxes and classes from others."""
    found = hashlib.sha256()
    for side in (problem.lower, problem.upper):
        found.update(np.ascontiguousarray(side + 0.0, dtype="<f8").data)
    found.update(np.ascontiguousarray(problem.label, dtype="<i8").data)
    return found.hexdigest()


def _plain(value: float) -> int | float:
    return int(value) if float(value).is_integer() else float(value)


def _columns(problem: Problem) -> list[dict[str, Any]]:
    encoding = problem.encoding
    if encoding is None:
        names: Any = problem.feature_names or [None] * problem.n_features
        categories: Any = [None] * problem.n_features
        source = np.arange(problem.n_features)
    else:
        names = encoding.names or [None] * encoding.n_columns
        categories = [None if known is None else list(known) for known in encoding.categories]
        source = np.array([int(np.flatnonzero(encoding.source == j)[0]) for j in range(encoding.n_columns)])
    relative: FloatArray = np.broadcast_to(problem.rounding, (2, problem.n_features))[0, source]
    return [
        {"name": name, "categories": known, "type": _TYPES[float(spacing)]}
        for name, known, spacing in zip(names, categories, relative, strict=True)
    ]


def _reach(problem: Problem, attack: AttackModel, label: Any) -> list[dict[str, Any]]:
    """Return what the attacker can do to each column of the samples of one class."""
    encoding, model = problem.encoding, attack.for_class(label)
    if encoding is None:
        down, up = model.reach(problem.n_features, problem.feature_names)
        limits = model.limits(problem.n_features, problem.feature_names)
        return [_radii(float(d), float(u), limits, j) for j, (d, u) in enumerate(zip(down[0], up[0], strict=True))]
    down, up = replace(model, moves=()).reach(encoding.n_columns, encoding.names)
    limits = model.limits(encoding.n_columns, encoding.names)
    return [
        _radii(float(down[0, j]), float(up[0, j]), limits, j)
        if categories is None
        else {"can_become": ["".join(str(int(can)) for can in row) for row in encoding.can_become(model, j)]}
        for j, categories in enumerate(encoding.categories)
    ]


def _radii(down: float, up: float, limits: Limits | None, j: int) -> dict[str, Any]:
    found: dict[str, Any] = {"down": "inf" if np.isinf(down) else down, "up": "inf" if np.isinf(up) else up}
    if limits is not None:
        if limits.integer[j]:
            found["integer"] = True
        for name, bound in (("minimum", limits.minimum[j]), ("maximum", limits.maximum[j])):
            if np.isfinite(bound):
                found[name] = float(bound)
    return found


def as_plain_tree(tree: Tree, problem: Problem) -> dict[str, Any]:
    """Return a tree as plain data for JSON."""
    code = {label: i for i, label in enumerate(problem.classes.tolist())}
    names = tree.classes.tolist()
    is_leaf = tree.left < 0
    return {
        "feature": tree.feature.tolist(),
        "threshold": [0.0 if leaf else float(t) for leaf, t in zip(is_leaf, tree.threshold, strict=True)],
        "left": tree.left.tolist(),
        "right": tree.right.tolist(),
        "label": [code[names[k]] if leaf else -1 for leaf, k in zip(is_leaf, tree.label, strict=True)],
    }


def tree_from_plain(entry: Any, problem: Problem) -> Tree | None:
    """Inverse of `as_plain_tree`; raise if a file says what is no tree of the problem."""
    if entry is None:
        return None

    def node_of(state: tuple[int, int]) -> Leaf | Fork[tuple[int, int]]:
        k, depth = state
        feature, threshold, left, right, label = (row[k] for row in rows)
        if left < 0:
            if not 0 <= label < problem.n_classes:
                raise ValueError(f"there is no class {label}")
            return Leaf(int(label))
        is_split = 0 <= feature < problem.n_features and min(left, right) > k and np.isfinite(threshold)
        if depth == problem.max_depth or not is_split:
            raise ValueError(f"node {k} makes no sense")
        return Fork(int(feature), float(threshold), (int(left), depth + 1), (int(right), depth + 1))

    try:
        rows = [list(entry[name]) for name in ("feature", "threshold", "left", "right", "label")]
        return tree_of(grow((0, 0), node_of), problem)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise InvalidInputError(f"this is no tree for these data: {error}") from error
