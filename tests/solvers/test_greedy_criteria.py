"""Chen et al. and FPRDT: worked examples, brute force over thresholds, and the targets on the paper's data."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from hardwood import GreedyRobustTreeClassifier, InvalidInputError, Problem, solve
from hardwood.data import datasets
from hardwood.solvers.greedy import GreedyLearner
from hardwood.tree.reach import objective
from oracle import TinyProblem, optimal_objective
from strategies import problem_of, tiny_problems

CHEN: dict[str, Any] = {"criterion": "chen"}
CHEN_IG: dict[str, Any] = {"criterion": "chen", "impurity": "entropy"}
FPRDT: dict[str, Any] = {"criterion": "adversarial-error"}


def impurity_of(kind: str, *children: np.ndarray) -> float:
    total = sum(child.sum() for child in children)
    value = 0.0
    for child in children:
        share = child[child > 0] / max(child.sum(), 1)
        value += child.sum() / total * (1 - (share**2).sum() if kind == "gini" else -(share * np.log2(share)).sum())
    return value


def worst_of_four(problem: Problem, j: int, b: float, kind: str) -> float:
    """Chen et al.'s score of the split ``x[j] <= b``, from the definition."""
    x, low, high = problem.values[:, j], problem.lower[:, j], problem.upper[:, j]

    def count(mask: np.ndarray) -> np.ndarray:
        return np.bincount(problem.label[mask], problem.weight[mask], problem.n_classes)

    sure_left, sure_right = high <= b, low > b
    movable = ~sure_left & ~sure_right
    stands_left, stands_right = movable & (x <= b), movable & (x > b)
    placements = (
        (sure_left | stands_left, sure_right | stands_right),
        (sure_left | movable, sure_right),
        (sure_left, sure_right | movable),
        (sure_left | stands_right, sure_right | stands_left),
    )
    return max(impurity_of(kind, count(left), count(right)) for left, right in placements)


def random_problem(seed: int, n_classes: int = 2) -> Problem:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (14, 2)) / 10
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=14 - n_classes)])
    return Problem.from_data(X, y, float(rng.choice([0.05, 0.15, 0.25])), 1)


@pytest.mark.parametrize("kind", ["gini", "entropy"])
@pytest.mark.parametrize("seed", range(40))
def test_chens_split_has_the_least_worst_of_four_scores(seed: int, kind: str) -> None:
    problem = random_problem(seed, 2 + seed % 2)
    tree = GreedyLearner(criterion="chen", impurity=kind).grow(problem, np.random.default_rng(0))
    scores: dict[tuple[int, int], float] = {}
    for j in range(2):
        ends = np.unique(np.concatenate([a[:, j] for a in (problem.lower, problem.values, problem.upper)]).round(9))
        for a, b in pairwise(ends):
            cut = (a + b) / 2
            index = int(np.searchsorted(problem.ends_of(j).first - 1e-9, cut, side="right")) - 1
            score = worst_of_four(problem, j, cut, kind)
            scores[j, index] = min(score, scores.get((j, index), np.inf))
    own = impurity_of(kind, np.bincount(problem.label, problem.weight, problem.n_classes))
    if tree.left[0] < 0:
        assert min(scores.values()) >= own - 1e-9
    else:
        assert scores[int(tree.feature[0]), int(tree.index[0])] == pytest.approx(min(scores.values()), abs=1e-12)


@pytest.mark.filterwarnings("ignore::hardwood.errors.WholeNumbersWarning")
def test_chen_by_hand() -> None:
    """Samples at 0, 1, 2, 3 with classes 0 0 1 1 and radius 0.6: boxes [-.6, .6], [.4, 1.6], [1.4, 2.6], [2.4, 3.6].

    At 1.5 the two middle samples are movable; swapped, both children are {0, 1}: Gini 1/2, as bad as no split. Between
    .6 and 1.4 only the second sample is movable; the worst of the four puts it on the right: {0} and {0, 1, 1}, Gini
    3/4 * 4/9 = 1/3. By symmetry the same between 1.6 and 2.4; the middles are 1 and 2.
    The same places with entropy: at 1.5 one bit, between .6 and 1.4 3/4 * 0.918 = 0.689 bits.
    """
    X, y = np.arange(4.0).reshape(-1, 1), [0, 0, 1, 1]
    problem = Problem.from_data(X, y, 0.6, 1)
    assert worst_of_four(problem, 0, 1.5, "gini") == 0.5
    assert worst_of_four(problem, 0, 0.8, "gini") == pytest.approx(1 / 3)
    assert worst_of_four(problem, 0, 0.8, "entropy") == pytest.approx(0.6887, abs=1e-4)
    for options in (CHEN, CHEN_IG):
        tree = GreedyRobustTreeClassifier(1, attack=0.6, **options).fit(X, y).tree_
        assert tree.threshold[0] in (1.0, 2.0)
        assert tree.label.tolist() == [-1, 0, 1]


def test_chen_divides_samples_by_their_own_values() -> None:
    """The attacker's worst placement scores the split, but the leaves see where the samples stand.

    Class 0 at 0, 0, 0 and 1, class 1 at 3, 3, 3 and 1.2; the attacker moves class 1 only, by 2 downwards. At 2 (and
    anywhere from 1.2 to 3) the three at 3 may come left and stand right: the worst of the four is that they come. Still
    the right leaf, where they stand, has class 1 only.
    """
    X = np.array([0.0, 0, 0, 1, 3, 3, 3, 1.2]).reshape(-1, 1)
    y = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    problem = Problem.from_data(X, y, 0.0, 1).replace(lower=X - 2 * y[:, None])
    tree = solve(problem, "greedy", options=CHEN).tree
    assert tree.predict(X)[4:7].tolist() == [1, 1, 1]


@pytest.mark.filterwarnings("ignore::hardwood.errors.WholeNumbersWarning")
def test_fprdt_by_hand() -> None:
    """Samples at 0, 1, 2, 3 with classes 0 0 1 1 and radius 0.6, as above.

    Always 0 loses two. A split at 1.5 with answers 0 | 1 loses both middle samples. Between .6 and 1.4 it loses only
    the second sample, which reaches right: loss 1, taken, in the middle. In the right leaf the second sample counts,
    since no other leaf gets it wrong; but to win it, a split above its upper end 1.6 is needed with answer 0 on the
    left, which the third sample reaches (its lower end is 1.4): no gain, so the tree stays as it is at any depth.
    """
    X, y = np.arange(4.0).reshape(-1, 1), [0, 0, 1, 1]
    for depth in (1, 2, 5):
        clf = GreedyRobustTreeClassifier(depth, attack=0.6, **FPRDT).fit(X, y)
        assert (clf.tree_.n_leaves, clf.tree_.threshold[0], clf.result_.objective) == (2, 1.0, 1)


def test_fprdt_wins_what_only_this_leaf_loses() -> None:
    """Class 1 at 0 and 10, class 0 at 4, 5, 6, radius 1.

    Always 0 loses two. The split 1 | 0 at 2 (between 1 and 3) loses only the sample at 10; so does 0 | 1 at 8. The
    first is taken. In its right leaf only the sample at 10 is wrong, and the split 0 | 1 at 8 wins it: nothing is lost.
    """
    X, y = np.array([[0.0], [4], [5], [6], [10]]), [1, 0, 0, 0, 1]
    clf = GreedyRobustTreeClassifier(2, attack=1.0, **FPRDT).fit(X, y)
    assert clf.result_.objective == 0
    assert sorted(clf.tree_.threshold[clf.tree_.left >= 0].tolist()) == [2.0, 8.0]


@settings(max_examples=200)
@given(tiny_problems())
def test_fprdts_stump_is_optimal_and_deeper_trees_lose_no_more(tiny: TinyProblem) -> None:
    leaf, stump, deep = (solve(problem_of(tiny, d), "greedy", options=FPRDT).objective for d in (0, 1, 3))
    assert leaf == optimal_objective(tiny, 0)
    assert stump == optimal_objective(tiny, 1)
    assert optimal_objective(tiny, 3) <= deep <= stump


@settings(max_examples=100)
@given(tiny_problems())
def test_trees_of_every_criterion_cost_what_is_claimed_and_not_less_than_the_optimum(tiny: TinyProblem) -> None:
    problem = problem_of(tiny, 2)
    least = optimal_objective(tiny, 2)
    for options in (CHEN, CHEN_IG, FPRDT):
        result = solve(problem, "greedy", options=options)
        assert result.tree.depth <= 2
        assert result.objective == objective(result.tree, problem) >= least


@pytest.mark.parametrize("options", [{}, CHEN, CHEN_IG, FPRDT])
def test_xor_defeats_every_greedy_criterion(options: dict[str, Any]) -> None:
    X, y = datasets.make_xor()
    clf = GreedyRobustTreeClassifier(2, attack=0.1, **options).fit(X, y)
    assert clf.adversarial_score(X, y) == 0.5


def test_fprdt_loses_no_more_than_groot_on_the_papers_sets(
    known_answers: list[dict[str, str]], paper_data: Path
) -> None:
    groot = fprdt = published = 0.0
    for row in known_answers:
        data = datasets.load(row["dataset"], paper_data)
        split = datasets.paper_split(data.X, data.y)
        for depth in (1, 2, 3, 4):
            problem = Problem.from_data(split.X_train, split.y_train, float(row["epsilon"]), depth)
            lost = solve(problem, "greedy", options=FPRDT).objective
            if depth == 1:
                assert lost == float(row["optimal_depth1"])
                continue
            fprdt += lost
            groot += solve(problem, "greedy").objective
            published += float(row[f"groot_depth{depth}"])
    assert fprdt <= min(groot, published)


def test_the_same_seed_draws_the_same_features() -> None:
    rng = np.random.default_rng(5)
    X, y = rng.random((200, 6)), rng.integers(0, 2, 200)
    for options in (CHEN, FPRDT):
        trees = [
            GreedyRobustTreeClassifier(4, attack=0.02, max_features=2, random_state=seed, **options).fit(X, y).tree_
            for seed in (1, 1, 2)
        ]
        assert trees[0] == trees[1] != trees[2]


@pytest.mark.parametrize("options", [{}, CHEN, FPRDT])
def test_features_are_drawn_until_one_gains(options: dict[str, Any]) -> None:
    """The one feature that gains anything is found, however few are drawn at a time, as in scikit-learn."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = np.full((30, 8), 0.1), rng.permutation(np.arange(30) % 2)
        X[:, rng.integers(8)] = 0.25 + y / 2
        for many in (1, 2, 8):
            model = GreedyRobustTreeClassifier(2, attack=0.1, max_features=many, random_state=seed, **options).fit(X, y)
            assert model.adversarial_score(X, y) == 1, (seed, many)


def test_a_criterion_that_is_misused_says_what_would_be_right() -> None:
    X, y = np.arange(4.0).reshape(-1, 1), [0, 0, 1, 1]
    for wrong, message in (
        ({"criterion": "gini"}, "'groot', 'chen', 'adversarial-error'"),
        ({"criterion": "chen", "impurity": "mse"}, "'gini', 'entropy'"),
        ({"impurity": "entropy"}, "criterion='chen'"),
        ({"criterion": "adversarial-error", "robust_weight": 0.5}, "leave it at 1"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            GreedyRobustTreeClassifier(1, **wrong).fit(X, y)
