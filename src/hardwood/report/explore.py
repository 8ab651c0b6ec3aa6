"""What a page to explore shows: trees over radius and depth, or one tree over radii, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hardwood._version import __version__
from hardwood.arrays import IntArray
from hardwood.attack.model import AttackModel
from hardwood.bounds import bound_problem
from hardwood.evaluation.fragility import fragility
from hardwood.evaluation.metrics import accuracy, adversarial_accuracy
from hardwood.evaluation.nodes import describe_nodes
from hardwood.evaluation.tradeoff import Part, StateProblem, Tradeoff
from hardwood.export.model_file import Model
from hardwood.export.tree_data import tree_to_data
from hardwood.problem.problem import Problem
from hardwood.report.tree_changes import describe_changes
from hardwood.solvers.result import Status
from hardwood.tree.reach import robust_errors
from hardwood.tree.tree import Tree

MOST_ROWS = 300
"""So many samples are on the page one by one, spread evenly over the file; numbers are about all of them."""
MOST_LINES = 20_000
"""Of larger data nodes name samples by number, not by line."""


@dataclass(frozen=True, eq=False)
class _Shown:
    """What all trees of a page are shown with."""

    attack: AttackModel
    train: Part
    test: Part | None
    rows: IntArray

    def cell(self, tree: Tree, radius: float, depth: int, problem: Problem, proof: str) -> dict[str, Any]:
        """Return what the page shows of one tree at one radius."""
        scaled = self.attack.scaled(radius)
        lost = robust_errors(tree, problem)
        found = {
            "radius": radius,
            "depth": depth,
            "leaves": tree.n_leaves,
            "proof": proof,
            "n_lost": int(lost.sum()),
            "tree": _tree_data(tree),
            "nodes": [node.to_dict() for node in describe_nodes(tree, problem)],
            "lost": np.flatnonzero(lost[self.rows]).tolist(),
            "train": _scores(tree, self.train, scaled),
            "test": None if self.test is None else _scores(tree, self.test, scaled),
        }
        return found | self._samples(tree)

    def _samples(self, tree: Tree) -> dict[str, Any]:
        """Return what a tree says about each sample that is shown, and what the cheapest attack on it is."""
        X, y = self.train.X[self.rows], self.train.y[self.rows]
        found = fragility(tree, X, y, self.attack)
        return {
            "says": [str(label) for label in tree.predict(X).tolist()],
            "bears": [_finite(value) for value in found.bears.tolist()],
            "changes": [[list(change) for change in found.changes(i)] for i in range(len(X))],
        }


def explore_document(
    found: Tradeoff,
    train: Part,
    test: Part | None,
    *,
    name: str,
    target: str,
    lines: Sequence[int],
    attack_typed: str,
) -> dict[str, Any]:
    """Gather what a page shows of trees over radius and depth.

    Parameters
    ----------
    found : Tradeoff
    train, test : Part
        What the trees were learned from, and what was held out.
    name, target : str
        Of the file and of its column with the classes.
    lines : sequence of int
        Line of the file of each sample that was learned from.
    attack_typed : str
        The attack as it was written.
    """
    shown = _Shown(found.attack, train, test, _some_rows(len(train.y)))
    cells = []
    before: dict[int, Tree] = {}
    for point in found.points:
        result = point.result
        cell = shown.cell(result.tree, point.radius, point.depth, point.problem, _proof(point.result))
        cell |= {"objective": result.objective, "bound": result.bound, "seconds": round(result.runtime, 3)}
        cell["changed"] = None if point.depth not in before else describe_changes(before[point.depth], result.tree)
        before[point.depth] = result.tree
        cells.append(cell)
    title = f"{name}: trees under attack"
    document = _document(title, found.points[0].problem, shown, cells, found.bounds, target, lines, attack_typed)
    return document | {"is_one_model": False}


def model_document(
    model: Model,
    state: StateProblem,
    data: Part,
    radii: Iterable[float],
    *,
    name: str,
    model_name: str,
    target: str,
    lines: Sequence[int],
) -> dict[str, Any]:
    """Gather what a page shows of one model, on some data, over radii.

    Parameters
    ----------
    model : Model
    state : callable
        ``state(attack, depth)`` returns the problem of the data.
    data : Part
    radii : iterable of float
        Multiples of the model's attack.
    name, model_name, target : str
        Of the data, of the model's file, and of the column with the classes.
    lines : sequence of int
        Line of the file of each sample.
    """
    shown = _Shown(model.attack, data, None, _some_rows(len(data.y)))
    cells, bounds = [], {}
    for radius in radii:
        problem = state(model.attack.scaled(radius), 0)
        bounds[radius] = bound_problem(problem).bound
        cell = shown.cell(model.tree, radius, model.tree.depth, problem, _proof_of(model))
        cells.append(cell | {"objective": cell["n_lost"], "bound": None, "seconds": None, "changed": None})
    title = f"{model_name} on {name}"
    document = _document(title, problem, shown, cells, bounds, target, lines, "")
    return document | {"is_one_model": True}


def _document(
    title: str,
    problem: Problem,
    shown: _Shown,
    cells: list[dict[str, Any]],
    bounds: dict[float, float],
    target: str,
    lines: Sequence[int],
    attack_typed: str,
) -> dict[str, Any]:
    names = _column_names(problem)
    return {
        "version": __version__,
        "title": title,
        "target": target,
        "n_train": len(shown.train.y),
        "n_test": None if shown.test is None else len(shown.test.y),
        "majority": float(problem.class_weight_sums.max() / problem.weight.sum()),
        "features": list(names),
        "attack": {"typed": attack_typed, "groups": _attack_groups(shown.attack, problem, names)},
        "bounds": [{"radius": radius, "bound": bound} for radius, bound in bounds.items()],
        "cells": cells,
        "lines": [int(line) for line in lines] if len(lines) <= MOST_LINES else None,
        "rows": [
            {
                "line": int(lines[i]),
                "label": str(shown.train.y[i]),
                "values": [_cell_text(value) for value in shown.train.X[i]],
            }
            for i in shown.rows
        ],
    }


def _some_rows(count: int) -> IntArray:
    return np.unique(np.linspace(0, count - 1, min(count, MOST_ROWS)).astype(np.int64))


def _scores(tree: Tree, part: Part, attack: AttackModel) -> dict[str, float]:
    return {
        "accuracy": accuracy(tree, part.X, part.y),
        "attacked": adversarial_accuracy(tree, part.X, part.y, attack),
    }


def _tree_data(tree: Tree) -> dict[str, Any]:
    data = tree_to_data(tree)
    kept = {key: data[key] for key in ("feature", "threshold", "left", "right", "label")}
    # Splits on categories ask a question of their own; all others compare a number.
    tests = (None,) * tree.n_features if tree.encoding is None else tree.encoding.tests
    return kept | {
        "classes": [str(label) for label in tree.classes.tolist()],
        "feature_names": [tree.name_of(j) for j in range(tree.n_features)],
        "is_category": [test is not None for test in tests],
    }


def _finite(value: float) -> float | str:
    return "any" if value == np.inf else "none" if value == -np.inf else float(f"{value:.6g}")


def _cell_text(value: Any) -> str:
    if value is None or value != value:
        return "missing"
    return f"{value:g}" if isinstance(value, float | np.floating) else str(value)


def _proof(result: Any) -> str:
    if result.status is Status.OPTIMAL:
        return f"{result.proof_text}: no tree of this depth loses fewer"
    return f"not proven: no tree of this depth loses fewer than {result.bound:g} (gap {result.gap:.1%})"


def _proof_of(model: Model) -> str:
    training = model.training
    if training.get("status") == Status.OPTIMAL.value:
        return "proven optimal on what it was learned from, under the attack itself"
    if training.get("gap") is not None and training.get("solver") is not None:
        return f"learned by {training['solver']}; gap {training['gap']:.1%} on what it was learned from"
    return "nothing is known about how it was learned"


def _column_names(problem: Problem) -> tuple[str, ...]:
    if problem.encoding is not None:
        return tuple(problem.encoding.column_name(j) for j in range(problem.encoding.n_columns))
    return problem.feature_names or tuple(f"x[{j}]" for j in range(problem.n_features))


def _attack_groups(attack: AttackModel, problem: Problem, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return what the attacker can do, by groups of classes that he treats alike."""
    groups: list[dict[str, Any]] = []
    for label in problem.classes.tolist():
        moves = _moves(attack.for_class(label), problem, names)
        for group in groups:
            if group["features"] == moves:
                group["classes"].append(str(label))
                break
        else:
            groups.append({"classes": [str(label)], "features": moves})
    return groups


def _moves(attack: AttackModel, problem: Problem, names: Sequence[str]) -> list[dict[str, Any]]:
    numeric = attack if problem.encoding is None else replace(attack, moves=())
    down, up = numeric.reach(len(names), tuple(names))
    limits = attack.limits(len(names), tuple(names))
    found: list[dict[str, Any]] = []
    for j, name in enumerate(names):
        categories = None if problem.encoding is None else problem.encoding.categories[j]
        if categories is not None and problem.encoding is not None:
            can_be = problem.encoding.can_become(attack, j)[: len(categories), : len(categories)]
            changes = [
                f"{categories[i]} to {' or '.join(str(categories[k]) for k in np.flatnonzero(row) if k != i)}"
                for i, row in enumerate(can_be)
                if row.sum() > 1
            ]
            if changes:
                found.append({"name": name, "changes": changes})
        elif down[0, j] > 0 or up[0, j] > 0:
            ends = [None if np.isinf(radius) else float(radius) for radius in (down[0, j], up[0, j])]
            is_whole = limits is not None and bool(limits.integer[j])
            found.append({"name": name, "down": ends[0], "up": ends[1], "is_whole": is_whole})
    return found
