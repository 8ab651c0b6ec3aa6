"""TREANT: worked example, numeric optimisation as a check on the closed form, attack invariance, rules, targets."""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.optimize import minimize

from builders import make_tree, nested_of
from hardwood import AttackRules, InvalidInputError, Problem, TreantClassifier, Tree, load_model, solve
from hardwood._core import Control, treant_best_predictions
from hardwood.attack.rules import AttackRule
from hardwood.data import datasets
from hardwood.problem.rewriting import Options
from hardwood.solvers.treant import Growth, problem_under_rules
from hardwood.tree.reach import objective
from hardwood.tree.rewriting import fooled_by_rules
from oracle import TinyProblem, answer, optimal_objective
from strategies import problem_of, tiny_problems

# Whole numbers and fractions as radii are easy to follow by hand.
pytestmark = pytest.mark.filterwarnings("ignore::hardwood.WholeNumbersWarning")

LINE, LINE_LABELS = np.arange(4.0).reshape(-1, 1), np.array([0, 0, 1, 1])


def losses(p: float, logistic: bool) -> tuple[float, float]:
    """Loss of a prediction for class 0 and class 1."""
    if not logistic:
        return p**2, (1 - p) ** 2
    p = min(max(p, 1e-15), 1 - 1e-15)
    return -np.log(1 - p), -np.log(p)


@pytest.mark.parametrize("logistic", [False, True])
@pytest.mark.parametrize("seed", range(60))
def test_no_numeric_optimiser_finds_better_leaf_values(seed: int, logistic: bool) -> None:
    rng = np.random.default_rng(seed)
    l0, l1, r0, r1, u0, u1 = rng.integers(0, 8, 6).astype(float)
    low, high = np.zeros(2), np.ones(2)
    if seed % 2:
        low, high = np.sort(rng.random((2, 2)), axis=0)

    def loss(values: np.ndarray) -> float:
        (a0, a1), (c0, c1) = losses(values[0], logistic), losses(values[1], logistic)
        return float(l0 * a0 + l1 * a1 + r0 * c0 + r1 * c1 + u0 * max(a0, c0) + u1 * max(a1, c1))

    found, left, right = treant_best_predictions(
        l0, l1, r0, r1, u0, u1, low[0], high[0], low[1], high[1], 0.5, logistic
    )
    values = np.array([left, right])
    assert np.all((low - 1e-12 <= values) & (values <= high + 1e-12))
    assert found == pytest.approx(loss(values), rel=1e-9, abs=1e-12)
    edge = 1e-9 if logistic else 0.0
    for start in ((0.5, 0.5), (0.2, 0.8), (0.8, 0.2)):
        bounds = [(max(a, edge), min(b, 1 - edge)) for a, b in zip(low, high, strict=True)]
        numeric = minimize(loss, np.clip(start, low, high), method="SLSQP", bounds=bounds)
        inside = np.clip(numeric.x, low, high)
        assert found <= loss(inside) + 1e-7 * (1 + abs(found))
    # A grid is coarse but cannot get stuck.
    for a in np.linspace(low[0], high[0], 21):
        for c in np.linspace(low[1], high[1], 21):
            assert found <= loss(np.array([a, c])) + 1e-9


def test_bounds_that_leave_no_value_are_told_apart() -> None:
    assert np.isinf(treant_best_predictions(1, 1, 1, 1, 0, 0, 0.6, 0.4, 0.0, 1.0, 0.5, False)[0])


def test_by_hand() -> None:
    """Samples at 0, 1, 2, 3 with y = 0 0 1 1 and radius 0.6: boxes [-.6, .6], [.4, 1.6], [1.4, 2.6], [2.4, 3.6].

    Root value 1/2, squared loss 1. Split between 1.4 and 1.6: both middle samples undecided. With a <= c the loss is
    a^2 + (1-a)^2 + c^2 + (1-c)^2 (the undecided 1 is worse off at a, the undecided 0 at c): least 1, no gain. Split
    between .6 and 1.4: 0 left, 2 and 3 right, 1 undecided, worse off right: a^2 + c^2 + 2 (1-c)^2, least at a = 0,
    c = 2/3: loss 2/3. (The mirror image, between 1.6 and 2.4, has the same loss, a = 1/3 and c = 1; the first wins.)
    Sample 1 goes right; its constraint there is that its loss stay at least that of value 0, i.e. value >= 0, and on
    the left that it stay at most that, i.e. value <= 0.
    Right node {1, 2, 3}, loss 2/3: split between 1.6 and 2.4: 1 left, 3 right, 2 undecided and worse off left:
    a^2 + (1-a)^2 + (1-c)^2: a = 1/2, c = 1, loss 1/2. Taken; 1/2 is not above one half, so that leaf answers 0.
    """
    problem = Problem.from_data(LINE, LINE_LABELS, 0.6, 2)
    draft = Growth(problem, Options.boxes(problem), Control()).grow(lambda j, under, over: (under, over))
    j, _, left, (_, _, middle, right) = nested_of(draft)
    assert (j, left) == (0, 0.0)
    assert (middle, right) == (pytest.approx(0.5), pytest.approx(1.0))
    clf = TreantClassifier(2, attack=0.6).fit(LINE, LINE_LABELS)
    assert clf.tree_.threshold[clf.tree_.left >= 0].tolist() == [1.0, 2.0]
    assert clf.tree_.label[clf.tree_.left < 0].tolist() == [0, 0, 1]
    assert clf.result_.objective == 1
    assert clf.adversarial_score(LINE, LINE_LABELS) == 0.75
    stump = TreantClassifier(1, attack=0.6).fit(LINE, LINE_LABELS)
    assert (stump.tree_.threshold[0], stump.tree_.label.tolist()) == (1.0, [-1, 0, 1])


def leaves_of(
    nested: object, inside: dict[int, tuple[int, int]] | None = None
) -> list[tuple[Any, dict[int, tuple[int, int]]]]:
    inside = inside or {}
    if not isinstance(nested, tuple):
        return [(nested, inside)]
    j, t, left, right = nested
    low, high = inside.get(j, (-1, 10**9))
    return leaves_of(left, {**inside, j: (low, t)}) + leaves_of(right, {**inside, j: (t, high)})


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("seed", range(40))
def test_attack_invariance_keeps_the_loss_that_splits_promised(seed: int, loss: str) -> None:
    """Each sample is charged at one leaf; no other leaf that its box reaches may cost it more.

    So the true loss under attack of the whole tree never exceeds that of any tree it grew from: it falls with depth.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 40))
    X = rng.integers(0, 15, (n, 2)) / 10
    y = np.concatenate([[0, 1], rng.integers(0, 2, n - 2)])
    weight = rng.integers(1, 4, n).astype(float)
    previous = np.inf
    for depth in range(6):
        problem = Problem.from_data(X, y, 0.15, depth, sample_weight=weight)
        draft = Growth(problem, Options.boxes(problem), Control(), loss=loss).grow(lambda j, under, over: under)
        total = 0.0
        for i in range(n):
            worst = max(
                losses(value, loss == "logistic")[y[i]]
                for value, region in leaves_of(nested_of(draft))
                if all(problem.lower_rank[i, j] <= b and problem.upper_rank[i, j] > a for j, (a, b) in region.items())
            )
            total += weight[i] * worst
        assert total <= previous + 1e-9
        previous = total


@settings(max_examples=100)
@given(tiny_problems(max_classes=2))
def test_trees_cost_what_is_claimed_and_not_less_than_the_optimum(tiny: TinyProblem) -> None:
    problem = problem_of(tiny, 2)
    for options in ({}, {"loss": "logistic"}, {"affine": True}):
        result = solve(problem, "treant", options=options)
        assert result.objective == objective(result.tree, problem) >= optimal_objective(tiny, 2)


def test_affine_trees_test_no_feature_twice_on_a_path() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((300, 3))
    y = ((X[:, 0] > 0.3) & (X[:, 0] < 0.7)).astype(int)
    free = TreantClassifier(3, attack=0.02).fit(X, y).tree_
    affine = TreantClassifier(3, attack=0.02, affine=True).fit(X, y).tree_

    def most_tests(tree: Tree, node: int = 0, seen: tuple[int, ...] = ()) -> int:
        if tree.left[node] < 0:
            return max([seen.count(j) for j in seen], default=0)
        deeper = (*seen, int(tree.feature[node]))
        return max(most_tests(tree, int(child), deeper) for child in (tree.left[node], tree.right[node]))

    assert most_tests(affine) == 1 < most_tests(free)


def test_xor_defeats_treant() -> None:
    X, y = datasets.make_xor()
    assert TreantClassifier(2, attack=0.1).fit(X, y).adversarial_score(X, y) == 0.5


def test_errors_on_the_papers_sets_are_no_worse_than_published(
    known_answers: list[dict[str, str]], paper_data: Path
) -> None:
    published = {"haberman": 65, "cylinder-bands": 71, "breast-cancer": 120, "blood-transfusion": 135}
    for row in known_answers:
        data = datasets.load(row["dataset"], paper_data)
        split = datasets.paper_split(data.X, data.y)
        problem = Problem.from_data(split.X_train, split.y_train, float(row["epsilon"]), 2)
        result = solve(problem, "treant", time_limit=60)
        assert result.stopped_by == "heuristic"
        assert float(row["optimal_depth2"]) <= result.objective
        assert result.objective <= published.get(row["dataset"], float(row["groot_depth2"]))


def test_a_time_limit_returns_what_is_grown_and_says_so() -> None:
    clf = TreantClassifier(4, attack=0.6, time_limit=0).fit(LINE, LINE_LABELS)
    assert clf.tree_.n_leaves == 1
    assert clf.result_.stopped_by == "time limit"
    rules = AttackRules.from_attack_model(0.6, 1)
    clf = TreantClassifier(4, rules=rules, time_limit=0).fit(LINE, LINE_LABELS)
    assert (clf.tree_.n_leaves, clf.result_.stopped_by) == (1, "time limit")


def test_three_classes_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="two classes"):
        solve(Problem.from_data([[0.0], [1.0], [2.0]], [0, 1, 2], 0.1, 2), "treant")


@pytest.mark.parametrize("seed", range(10))
def test_rules_of_a_box_attack_give_the_tree_of_the_box_attack(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.random((60, 3)).round(2)
    y = rng.integers(0, 2, 60)
    attack = [0.1, (0.05, 0.2), 0.0]
    boxes = TreantClassifier(3, attack=attack).fit(X, y)
    rules = TreantClassifier(3, rules=AttackRules.from_attack_model(attack, 3)).fit(X, y)
    assert rules.result_.objective == boxes.result_.objective
    assert rules.adversarial_score(X, y) == boxes.adversarial_score(X, y)
    assert rules.tree_.feature.tolist() == boxes.tree_.feature.tolist() or rules.tree_.n_leaves > boxes.tree_.n_leaves


def reachable_points(rules: AttackRules, point: tuple[int, ...]) -> set[tuple[int, ...]]:
    """All grid points that the attacker can afford, by trying every sequence of whole-number changes."""
    best: dict[tuple[Any, ...], float] = {(point, (0,) * len(point)): 0.0}
    queue = deque(best)
    while queue:
        state = queue.popleft()
        here, used = state
        for rule in rules.rules:
            j = int(rule.feature)
            if not rule.low <= here[j] <= rule.high:
                continue
            if rules.max_per_feature is not None and used[j] >= rules.max_per_feature:
                continue
            cost = best[state] + rule.cost
            if cost > rules.budget + 1e-9:
                continue
            count = (*used[:j], used[j] + 1, *used[j + 1 :]) if rules.max_per_feature is not None else used
            for change in range(int(rule.down), int(rule.up) + 1):
                following = ((*here[:j], here[j] + change, *here[j + 1 :]), count)
                if cost < best.get(following, np.inf):
                    best[following] = cost
                    queue.append(following)
    return {here for here, _ in best}


def random_rules(rng: np.random.Generator) -> AttackRules:
    rules = []
    for _ in range(int(rng.integers(1, 4))):
        low, high = sorted(rng.integers(-2, 8, 2).tolist())
        rules.append(
            AttackRule(
                int(rng.integers(2)),
                -float(rng.integers(0, 3)),
                float(rng.integers(0, 3)),
                float(rng.choice([0.5, 1.0, 1.5])),
                low,
                high,
            )
        )
    return AttackRules(tuple(rules), float(rng.integers(0, 4)), None if rng.random() < 0.7 else 1)


@pytest.mark.parametrize("seed", range(40))
def test_what_rules_allow_is_what_trying_every_sequence_of_changes_reaches(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rules = random_rules(rng)
    X = rng.integers(0, 6, (12, 2)).astype(float)
    y = np.concatenate([[0, 1], rng.integers(0, 2, 10)])
    problem = Problem.from_data(X, y, 0.0, 3)
    result = solve(problem_under_rules(problem, rules), "treant", options={"rules": rules})
    trees = [result.tree]
    # A tree with thresholds between all grid points tells reachable points apart as well as can be.
    trees.append(make_tree([0, 1, 1, -1, -1, -1, -1], [2.5, 1.5, 3.5] + [np.nan] * 4, [1, 3, 5, -1, -1, -1, -1],
                      [2, 4, 6, -1, -1, -1, -1], [-1, -1, -1, 0, 1, 1, 0], np.array([0, 1]), 2))  # fmt: skip
    reached = [reachable_points(rules, (int(a), int(b))) for a, b in X]
    for tree in trees:
        # Thresholds of the tree may be whole numbers, where x <= b holds on both grids.
        expected = [any(answer(tree, point) != y[i] for point in reached[i]) for i in range(len(y))]
        assert fooled_by_rules(tree, rules, X, y).tolist() == expected
    assert result.objective == sum(any(answer(trees[0], p) != y[i] for p in reached[i]) for i in range(len(y)))


def test_a_budget_stops_the_attacker_from_changing_every_feature() -> None:
    """The answer is 1 only right of 0.5 on both features; a sample at (1, 1) needs one change, one at (1, 0) of class 0
    too, but the sample of class 0 at (0, 0) needs two changes of cost 1: out of reach with budget 1."""
    tree = make_tree([0, -1, 1, -1, -1], [0.5, np.nan, 0.5, np.nan, np.nan], [1, -1, 3, -1, -1], [2, -1, 4, -1, -1],
                [-1, 0, -1, 0, 1], np.array([0, 1]), 2)  # fmt: skip
    X, y = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]]), np.array([1, 0, 0])
    both = tuple(AttackRule(j, -1.0, 1.0) for j in range(2))
    assert fooled_by_rules(tree, AttackRules(both, 1), X, y).tolist() == [True, True, False]
    assert fooled_by_rules(tree, AttackRules(both, 2), X, y).tolist() == [True, True, True]
    assert fooled_by_rules(tree, AttackRules(both, 0), X, y).tolist() == [False, False, False]


def test_rules_are_read_from_json_by_feature_name(tmp_path: Path) -> None:
    import pandas as pd

    path = tmp_path / "attacker.json"
    path.write_text(
        json.dumps(
            {
                "budget": 2,
                "rules": [
                    {"feature": "income", "within": [0, 50], "magnitude": -10, "cost": 2},
                    {"feature": "hours", "magnitude": [-5, 5]},
                ],
            }
        )
    )
    rules = AttackRules.load(path)
    assert rules == AttackRules(
        (AttackRule("income", -10.0, 0.0, 2.0, 0.0, 50.0), AttackRule("hours", -5.0, 5.0, 1.0)), 2.0
    )
    assert AttackRules.from_dict(rules.to_dict()) == rules
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"hours": rng.integers(10, 60, 80), "income": rng.integers(0, 100, 80)})
    y = np.where(X["income"] > 45, "yes", "no")
    clf = TreantClassifier(2, rules=path).fit(X, y)
    assert clf.rules_ == rules
    assert clf.adversarial_score(X, y) <= clf.score(X, y)
    assert clf.adversarial_score(X, y) == 1 - clf.result_.objective / 80
    clf.save(tmp_path / "model.json")
    assert AttackRules.from_dict(load_model(tmp_path / "model.json").training["attack_rules"]) == rules
    with pytest.raises(InvalidInputError, match="say which attack"):
        clf.attack_samples(X, y)
    assert clf.attack_samples(X, y, attack={"income": 100}).shape == (80, 2)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"rules": []}, '"budget" and "rules"'),
        ({"budget": 1, "rules": [{"feature": 0}]}, "rule 0"),
        ({"budget": 1, "rules": [{"feature": 0, "magnitude": 1, "price": 3}]}, "'price'"),
        ({"budget": 1, "rules": [{"feature": 0, "magnitude": [1, 2]}]}, "must contain 0"),
        ({"budget": 1, "rules": [{"feature": 0, "magnitude": 1, "cost": -1}]}, "costs -1"),
        ({"budget": 1, "rules": [{"feature": 0, "magnitude": 1, "cost": 0}]}, "without end"),
        ({"budget": 1, "rules": [{"feature": 0, "magnitude": 1, "within": [3, 2]}]}, "empty"),
        ({"budget": -1, "rules": []}, "budget=-1"),
        ({"budget": 1, "rules": [], "max_per_feature": 0}, "max_per_feature=0"),
    ],
)
def test_rules_that_make_no_sense_are_refused(data: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        AttackRules.from_dict(data)


def test_an_attack_beside_rules_and_unknown_features_are_refused(tmp_path: Path) -> None:
    rules = AttackRules((AttackRule(0, -1.0, 1.0),), 1.0)
    with pytest.raises(InvalidInputError, match="not both"):
        TreantClassifier(1, attack=0.1, rules=rules).fit(LINE, LINE_LABELS)
    with pytest.raises(InvalidInputError, match="feature 7"):
        TreantClassifier(1, rules=AttackRules((AttackRule(7, -1.0, 1.0),), 1.0)).fit(LINE, LINE_LABELS)
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(InvalidInputError, match="not JSON"):
        AttackRules.load(tmp_path / "broken.json")
    with pytest.raises(InvalidInputError, match="different costs"):
        AttackRules((AttackRule(0, -1.0, 1.0, 0.001),), 5.0).intervals(LINE)
