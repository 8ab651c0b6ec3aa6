"""Forests: votes, shares and what an attacker can do to them, against trying every cell of a box."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from builders import make_tree
from hardwood import (
    GreedyRobustTreeClassifier,
    InvalidInputError,
    Problem,
    RobustForestClassifier,
    RobustTreeClassifier,
    Tree,
    robustness,
)
from hardwood.data import datasets
from hardwood.ensembles.forest import GrownTree, averaging, voting
from hardwood.ensembles.verification import UndecidedAttackWarning
from oracle import answer


def stump(feature: int, threshold: float, left: int, right: int, n_features: int = 1) -> Tree:
    return make_tree([feature, -1, -1], [threshold, np.nan, np.nan], [1, -1, -1], [2, -1, -1], [-1, left, right],
                np.array([0, 1]), n_features)  # fmt: skip


def leaf(label: int, n_features: int = 1) -> Tree:
    return make_tree([-1], [np.nan], [-1], [-1], [label], np.array([0, 1]), n_features)


def elected(trees: tuple[Tree, ...], point: tuple[float, ...], n_classes: int) -> int:
    votes = [sum(answer(tree, point) == c for tree in trees) for c in range(n_classes)]
    return votes.index(max(votes))


def fooled_by_brute_force(trees: tuple[Tree, ...], low: np.ndarray, high: np.ndarray, label: int, k: int) -> bool:
    """Try one point of every cell that the thresholds of all trees cut from the box."""
    axes = []
    for j in range(len(low)):
        cuts = {float(b) for tree in trees for f, b in zip(tree.feature, tree.threshold, strict=True) if f == j}
        inside = [b for b in cuts if low[j] <= b < high[j]]
        axes.append([float(low[j]), *inside, *(float(np.nextafter(b, np.inf)) for b in inside)])
    return any(elected(trees, point, k) != label for point in product(*axes))


def random_forest(seed: int, n_classes: int, n_trees: int) -> tuple[RobustForestClassifier, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.random((40, 2)).round(2)
    y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=40 - n_classes)])
    y[5:] = ((X[5:, 0] + X[5:, 1]) * n_classes / 2).astype(int).clip(0, n_classes - 1)
    return RobustForestClassifier(n_trees, max_depth=3, attack=0.08, random_state=seed).fit(X, y), X, y


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_exact_evaluation_agrees_with_trying_every_cell(seed: int, n_classes: int) -> None:
    forest, X, y = random_forest(seed, n_classes, 4 + seed % 2)
    for radius in (0.0, 0.08, 0.2):
        # Thresholds of forests may lie on ends of boxes, and what is within rounding counts as reached.
        reach = radius * (1 + 1e-9) + (1e-15 if radius else 0)
        expected = [
            fooled_by_brute_force(forest.trees_, X[i] - reach, X[i] + reach, int(y[i]), n_classes)
            for i in range(len(y))
        ]
        found = robustness(forest, X, y, radius)
        assert found.is_fooled.tolist() == expected
        assert found.is_robust.tolist() == [not fooled for fooled in expected]
        low, high = forest.adversarial_score_bounds(X, y, attack=radius)
        exact = forest.adversarial_score(X, y, attack=radius)
        assert low <= exact == np.mean(np.logical_not(expected)) <= high


def test_votes_by_hand() -> None:
    """Three stumps 0 | 1 at .2, .4 and .6: the majority changes at .4.

    A box around .3 of class 0 is safe as long as it stays below .4, although the first tree is wrong already.
    """
    forest = voting((stump(0, 0.2, 0, 1), stump(0, 0.4, 0, 1), stump(0, 0.6, 0, 1)))
    X = np.array([[0.1], [0.3], [0.4], [0.5], [0.9]])
    assert forest.scores(X).tolist() == [[3, 0], [2, 1], [2, 1], [1, 2], [0, 3]]
    assert forest.predict(X).tolist() == [0, 0, 0, 1, 1]
    for radius, is_fooled in ((0.05, False), (0.0999999, False), (0.15, True)):
        assert robustness(forest, [[0.3]], [0], radius).is_fooled.tolist() == [is_fooled]


def test_trees_that_cannot_be_wrong_together_are_no_danger() -> None:
    """One tree errs on the left, another on the right, a third never.

    Tree by tree the attacker gets two of three votes; at no single point does it.
    """
    forest = voting((stump(0, 0.5, 1, 0), stump(0, 0.5, 0, 1), leaf(0)))
    assert robustness(forest, [[0.5]], [0], 0.2).interval() == (1.0, 1.0)
    assert robustness(forest, [[0.5]], [0], 0.2, time_limit=0.0).interval() == (0.0, 1.0)


def test_ties_go_to_the_class_that_comes_first() -> None:
    tied = voting((leaf(0), leaf(1)))
    assert tied.predict(np.array([[0.0]])).tolist() == [0]
    assert robustness(tied, [[0.0], [0.0]], [0, 1], 0.0).is_fooled.tolist() == [False, True]


def test_undecided_samples_are_lost_and_said_to_be() -> None:
    forest = RobustForestClassifier(2, attack=0.2).fit([[0.0], [1.0]], [0, 1])
    forest.ensemble_ = voting((stump(0, 0.5, 1, 0), stump(0, 0.5, 0, 1), leaf(0)))
    with pytest.warns(UndecidedAttackWarning, match="1 of 1"):
        assert forest.adversarial_score([[0.5]], [0], time_limit=0.0) == 0.0


def test_the_trees_depend_on_the_seed_and_not_on_the_threads() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((300, 5)), rng.integers(0, 3, 300)
    for criterion in ("groot", "chen", "adversarial-error"):
        one, two, other = (
            RobustForestClassifier(6, max_depth=3, attack=0.01, criterion=criterion, n_jobs=jobs, random_state=seed)
            .fit(X, y)
            .trees_
            for jobs, seed in ((1, 0), (2, 0), (1, 1))
        )
        assert all(a == b for a, b in zip(one, two, strict=True))
        assert any(a != b for a, b in zip(one, other, strict=True))


def test_without_bootstrap_and_with_all_features_every_tree_is_the_greedy_tree() -> None:
    rng = np.random.default_rng(1)
    X, y = rng.random((100, 3)), rng.integers(0, 2, 100)
    forest = RobustForestClassifier(3, max_depth=3, attack=0.05, bootstrap=False, max_features=None).fit(X, y)
    single = GreedyRobustTreeClassifier(3, attack=0.05).fit(X, y)
    assert all(tree == single.tree_ for tree in forest.trees_)
    assert forest.adversarial_score(X, y) == single.adversarial_score(X, y)


def test_probabilities_are_shares_of_votes() -> None:
    forest, X, _ = random_forest(0, 3, 5)
    shares = forest.predict_proba(X)
    assert np.allclose(shares.sum(axis=1), 1)
    assert set(np.round(shares * 5, 9).ravel().tolist()) <= {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}
    assert forest.classes_[shares.argmax(axis=1)].tolist() == forest.predict(X).tolist()


def test_samples_of_weight_zero_do_not_matter() -> None:
    rng = np.random.default_rng(2)
    X, y = rng.random((80, 3)), rng.integers(0, 2, 80)
    weight = np.concatenate([np.ones(60), np.zeros(20)])
    other_y = np.concatenate([y[:60], 1 - y[60:]])
    trees = [RobustForestClassifier(4, attack=0.05).fit(X, labels, weight).trees_ for labels in (y, other_y)]
    assert all(a == b for a, b in zip(*trees, strict=True))


def test_bounds_on_a_real_set_are_sound_and_close(paper_data: Path) -> None:
    data = datasets.load("diabetes", paper_data)
    split = datasets.paper_split(data.X, data.y)
    forest = RobustForestClassifier(20, max_depth=4, attack=0.05).fit(split.X_train, split.y_train)
    low, high = forest.adversarial_score_bounds(split.X_test, split.y_test)
    exact = forest.adversarial_score(split.X_test, split.y_test, time_limit=60)
    assert low <= exact <= high <= forest.score(split.X_test, split.y_test)
    assert high - low < 0.05


def test_what_makes_no_forest_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="n_estimators=0"):
        RobustForestClassifier(0).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(InvalidInputError, match="at least one tree"):
        voting(())
    with pytest.raises(InvalidInputError, match="share features"):
        voting((leaf(0, 1), leaf(0, 2)))


def test_shares_by_hand() -> None:
    """A stump at .5, boxes of half-width .2: the sample at .4 reaches both sides and counts for neither leaf."""
    X, y = np.array([[0.1], [0.2], [0.4], [0.9], [0.8]]), np.array([0, 1, 0, 1, 1])
    problem = Problem.from_data(X, y, 0.2, 1)
    one = averaging([GrownTree(stump(0, 0.5, 0, 1), None)], problem)
    assert one.scores([[0.0], [1.0]]).tolist() == [[0.5, 0.5], [0.0, 1.0]]
    smooth = averaging([GrownTree(stump(0, 0.5, 0, 1), None)], problem, laplace=1.0)
    assert smooth.scores([[1.0]]).tolist() == [[0.25, 0.75]]


@pytest.mark.parametrize("kind", ["hard", "soft"])
@pytest.mark.parametrize("seed", range(3))
def test_forests_of_optimal_trees_are_verified_exactly(seed: int, kind: str) -> None:
    _, X, y = random_forest(seed, 2, 1)
    forest = RobustForestClassifier(4, max_depth=2, attack=0.08, base="search", voting=kind, max_features=None)
    forest.fit(X, y)
    found = robustness(forest, X, y, 0.08)
    cuts = [np.unique([b for t in forest.trees_ for f, b in zip(t.feature, t.threshold, strict=True) if f == j])
            for j in range(2)]  # fmt: skip
    reach = 0.08 * (1 + 1e-9) + 1e-15
    for i in range(len(X)):
        axes = [
            [X[i, j] - reach, *(np.nextafter(b, np.inf) for b in cuts[j] if X[i, j] - reach <= b < X[i, j] + reach)]
            for j in range(2)
        ]
        points = np.array(list(product(*axes)))
        assert found.is_fooled[i] == bool(np.any(forest.predict(points) != y[i]))


def test_without_bootstrap_optimal_trees_are_the_optimal_tree() -> None:
    _, X, y = random_forest(3, 2, 1)
    forest = RobustForestClassifier(2, max_depth=2, attack=0.05, base="search", bootstrap=False, max_features=None).fit(
        X, y
    )
    single = RobustTreeClassifier(2, attack=0.05).fit(X, y)
    assert all(tree == single.tree_ for tree in forest.trees_)
    assert forest.adversarial_score(X, y) == single.adversarial_score(X, y)


def test_a_forest_of_a_large_table_shares_its_memory_and_leaves_it_free(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((80, 3))
    y, before = (X[:, 0] > 0.5).astype(int), X.copy()
    forests = []
    for most in (10**9, 10):
        monkeypatch.setattr("hardwood.estimators.ensembles.MOST_CELLS_KEPT", most)
        forests.append(RobustForestClassifier(3, attack=0.01, max_depth=3, random_state=0).fit(X, y))
        assert X.flags.writeable
        np.testing.assert_array_equal(X, before)
    assert forests[0].trees_ == forests[1].trees_


def test_plain_arrays_take_a_shorter_way_to_the_same_answers() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((80, 3)), rng.integers(0, 2, 80)
    forest = RobustForestClassifier(5, max_depth=3, attack=0.05).fit(X, y)
    expected = forest.predict(X.tolist())
    for same in (X, np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2]):
        assert np.array_equal(forest.predict(same), expected)
    for wrong, message in ((X[:, :2], "2 features"), (X[:0], "0 sample"), (X[0], "1D array|1 dimension")):
        with pytest.raises(ValueError, match=message):
            forest.predict(wrong)
    for hole in (np.nan, np.inf):
        with pytest.raises(ValueError, match=r"NaN|missing|inf"):
            forest.predict(np.where(X < 0.5, hole, X))
