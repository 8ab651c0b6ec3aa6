"""Recall at a limited rate of false alarms under attack, and costs of errors."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np
import pytest

from hardwood import AttackModel, InvalidInputError, Problem, RobustTreeClassifier, Tree, solve
from hardwood.evaluation import adversarial_recall
from priced_cases import PricedCase


def leaves(tree: Tree) -> dict[int, dict[int, tuple[Any, Any]]]:
    """The intervals of each leaf, from the arrays alone."""
    found: dict[int, dict[int, tuple[Any, Any]]] = {}
    waiting: list[tuple[int, dict[int, tuple[Any, Any]]]] = [(0, {})]
    while waiting:
        node, region = waiting.pop()
        if tree.left[node] < 0:
            found[node] = region
            continue
        j, b = int(tree.feature[node]), float(tree.threshold[node])
        low, high = region.get(j, (-inf, inf))
        waiting.append((int(tree.left[node]), {**region, j: (low, min(high, b))}))
        waiting.append((int(tree.right[node]), {**region, j: (max(low, b), high)}))
    return {node: region for node, region in found.items() if all(a < b for a, b in region.values())}


@pytest.mark.parametrize("kind", ["features", "prices", "groups"])
@pytest.mark.parametrize("seed", range(15))
def test_recall_is_the_best_of_all_thresholds(seed: int, kind: str) -> None:
    case = PricedCase(seed, kind)
    score = np.random.default_rng(seed).integers(0, 4, case.tree.n_nodes) / 4
    by_leaf = leaves(case.tree)
    worst = []
    for i, budget in enumerate(case.tiny.budget):
        prices = {node: case.tiny.region_price(i, region) for node, region in by_leaf.items()}
        scores = [score[node] for node, price in prices.items() if price < inf and price <= budget]
        worst.append(min(scores) if case.y[i] == 1 else max(scores))
    values, is_positive = np.array(worst), case.y == 1
    for rate in (0.0, 0.3, 1.0):
        found = adversarial_recall(case.tree, score, case.X, case.y, case.attack, positive=1, false_positive_rate=rate)
        possible = [
            float(np.mean(values[is_positive] >= t))
            for t in (*np.unique(values), inf)
            if np.mean(values[~is_positive] >= t) <= rate
        ]
        assert found.recall == max(possible), (kind, seed, rate)
        assert found.false_positive_rate <= rate


def test_estimators_score_leaves_by_probability() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((200, 2))
    y = np.where(X[:, 0] + 0.2 * rng.random(200) > 0.6, "bad", "good")
    clf = RobustTreeClassifier(2, attack=0.05).fit(X, y)
    free = [clf.adversarial_recall(X, y, positive="bad", false_positive_rate=r, attack=0.0).recall for r in (0, 0.1, 1)]
    attacked = [clf.adversarial_recall(X, y, positive="bad", false_positive_rate=r).recall for r in (0, 0.1, 1)]
    assert free == sorted(free)
    assert attacked == sorted(attacked)
    assert all(a <= f for a, f in zip(attacked, free, strict=True))
    assert attacked[-1] == 1.0
    for wrong in ({"positive": "ugly"}, {"positive": "bad", "false_positive_rate": 2}):
        with pytest.raises(InvalidInputError):
            clf.adversarial_recall(X, y, **wrong)


def test_a_cost_matrix_is_learned_exactly_where_it_decomposes() -> None:
    rng = np.random.default_rng(1)
    X = rng.random((60, 2))
    y = (X[:, 0] + 0.5 * rng.random(60) > 0.7).astype(int)
    costs = {0: {1: 1}, 1: {0: 5}}
    by_matrix = solve(Problem.from_data(X, y, 0.05, 2, class_weight=costs), "search")
    by_class = solve(Problem.from_data(X, y, 0.05, 2, class_weight={0: 1, 1: 5}), "search")
    assert by_matrix.objective == by_class.objective == by_matrix.bound
    three = np.minimum((3 * X[:, 0]).astype(int), 2)
    even = {c: {k: c + 1 for k in range(3) if k != c} for c in range(3)}
    assert Problem.from_data(X, three, AttackModel(), class_weight=even).weight.tolist() == (three + 1.0).tolist()
    with pytest.raises(InvalidInputError, match="do not add up"):
        Problem.from_data(X, three, 0.1, class_weight={0: {1: 1, 2: 5}})
    with pytest.raises(InvalidInputError, match="must name every other class"):
        Problem.from_data(X, three, 0.1, class_weight={0: {1: 1}})
