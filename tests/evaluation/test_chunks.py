"""Tables in chunks: the same numbers as in memory, and greedy trees that are nearly as good."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hardwood import (
    AttackModel,
    GreedyRobustTreeClassifier,
    InvalidInputError,
    RobustForestClassifier,
    adversarial_accuracy,
    learn_in_chunks,
)
from hardwood.data.chunks import chunks_of
from hardwood.solvers import chunked
from hardwood.tree.tree import Tree

da = pytest.importorskip("dask.array")


def table_of(seed: int, n: int = 3000) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = ((X[:, 0] > 0) ^ (X[:, 1] > 0.5) | (X[:, 2] > 1)).astype(int)
    y[rng.random(n) < 0.1] ^= 1
    return X, y


@pytest.mark.parametrize("seed", range(3))
def test_scores_and_answers_over_chunks_are_those_in_memory(seed: int) -> None:
    X, y = table_of(seed)
    weight = np.random.default_rng(seed).random(len(y))
    attack = AttackModel.per_class({0: 0.1, 1: 0.2})
    clf = GreedyRobustTreeClassifier(4, attack=attack).fit(X, y)
    lazy = da.from_array(X, chunks=(701, 3))
    labels = da.from_array(y, chunks=701)
    for given in (y, labels):
        assert adversarial_accuracy(clf.tree_, lazy, given, attack) == adversarial_accuracy(clf.tree_, X, y, attack)
    in_memory = adversarial_accuracy(clf.tree_, X, y, attack, weight)
    assert adversarial_accuracy(clf.tree_, lazy, labels, attack, weight) == pytest.approx(in_memory)
    assert clf.adversarial_score(lazy, labels) == clf.adversarial_score(X, y)
    answers: Any = clf.predict(lazy)
    assert (answers.compute() == clf.predict(X)).all()
    assert answers.chunks == labels.chunks


def test_dataframes_in_chunks_keep_their_names() -> None:
    dd = pytest.importorskip("dask.dataframe")
    import pandas as pd

    X, y = table_of(5)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    lazy = dd.from_pandas(frame, npartitions=4)
    labels = dd.from_pandas(pd.Series(y), npartitions=4)
    tree = learn_in_chunks(lazy, labels, {"a": 0.1, "c": 0.2}, max_depth=4)
    assert isinstance(tree, Tree)
    assert tree.feature_names == ("a", "b", "c", "d")
    in_memory = adversarial_accuracy(tree, frame, y, {"a": 0.1, "c": 0.2})
    assert adversarial_accuracy(tree, lazy, labels, {"a": 0.1, "c": 0.2}) == in_memory
    answers: Any = tree.predict(lazy)
    assert (answers.compute().to_numpy() == tree.predict(frame)).all()


@pytest.mark.parametrize("radius", [0.0, 0.1, 0.3])
def test_greedy_trees_of_chunks_are_about_as_good_as_those_of_memory(radius: float) -> None:
    lost = []
    for seed in range(4):
        X, y = table_of(seed)
        clf = GreedyRobustTreeClassifier(4, attack=radius).fit(X, y)
        tree = learn_in_chunks(da.from_array(X, chunks=(800, 4)), y, radius, max_depth=4)
        lost.append(clf.adversarial_score(X, y) - adversarial_accuracy(tree, X, y, radius))
    assert np.mean(lost) < 0.02


def test_where_nothing_moves_and_few_values_exist_the_root_is_that_of_memory() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 30, (2000, 3)).astype(float)
    y = (X[:, 1] + rng.normal(0, 4, 2000) > 12).astype(int)
    clf = GreedyRobustTreeClassifier(1).fit(X, y)
    tree = learn_in_chunks(da.from_array(X, chunks=(300, 3)), y, max_depth=1)
    assert isinstance(tree, Tree)
    assert (tree.feature[0], tree.threshold[0]) == (clf.tree_.feature[0], clf.tree_.threshold[0])


@pytest.mark.parametrize("keeps", [True, False])
def test_a_tree_does_not_depend_on_what_is_kept_in_memory(keeps: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table_of(1)
    lazy = da.from_array(X, chunks=(1000, 4))
    expected = learn_in_chunks(lazy, y, 0.1, max_depth=3)
    monkeypatch.setattr(chunked, "MOST_BYTES_KEPT", 10**9 if keeps else 0)
    assert learn_in_chunks(lazy, y, 0.1, max_depth=3) == expected


def test_a_sample_of_the_rows_is_enough_for_the_thresholds(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table_of(2, 20_000)
    whole = adversarial_accuracy(learn_in_chunks(da.from_array(X, chunks=(3000, 4)), y, 0.1), X, y, 0.1)
    monkeypatch.setattr(chunked, "SAMPLE", 500)
    part = adversarial_accuracy(learn_in_chunks(da.from_array(X, chunks=(3000, 4)), y, 0.1), X, y, 0.1)
    assert part > whole - 0.03


def test_forests_of_chunks_vote() -> None:
    X, y = table_of(3)
    lazy = da.from_array(X, chunks=(1000, 4))
    forest = learn_in_chunks(lazy, y, 0.1, max_depth=5, n_trees=9)
    rival = RobustForestClassifier(9, max_depth=5, attack=0.1).fit(X, y)
    assert len(set(forest.predict(X).tolist())) == 2
    assert np.mean(forest.predict(X) == y) > np.mean(rival.predict(X) == y) - 0.05


def test_forests_of_chunks_draw_features_until_one_gains() -> None:
    y = np.arange(300) % 2
    X = np.full((300, 9), 0.1)
    X[:, 6] += y / 2
    for seed in range(5):
        lazy = da.from_array(X, chunks=(100, 9))
        forest = learn_in_chunks(lazy, y, 0.1, max_depth=1, n_trees=3, random_state=seed)
        assert adversarial_accuracy(forest, X, y, 0.1) == 1, seed


def test_many_classes_and_weights() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((3000, 2))
    y = np.array(list("abcdefghijkl"))[(X[:, 0] * 4).astype(int) * 3 + (X[:, 1] * 3).astype(int)]
    lazy = da.from_array(X, chunks=(700, 2))
    tree = learn_in_chunks(lazy, y, 0.0, max_depth=5)
    assert adversarial_accuracy(tree, X, y, 0.0) > 0.95
    heavy = learn_in_chunks(lazy, y, 0.0, max_depth=1, sample_weight=np.where(y == "a", 1000.0, 0.001))
    assert np.mean(heavy.predict(X)[y == "a"] == "a") == 1


def test_what_cannot_be_read_in_chunks_is_refused() -> None:
    X, y = table_of(4, 100)
    lazy = da.from_array(X, chunks=(30, 4))
    with pytest.raises(InvalidInputError, match="Dask"):
        learn_in_chunks(X, y)
    with pytest.raises(InvalidInputError, match="units of the data"):
        learn_in_chunks(lazy, y, AttackModel.fraction_of_range(0.1))
    with pytest.raises(InvalidInputError, match="two classes"):
        learn_in_chunks(lazy, np.zeros(100))
    with pytest.raises(InvalidInputError, match="rechunk"):
        list(chunks_of(lazy, da.from_array(y, chunks=50)))
    for labels in (y[:-1], np.append(y, 0)):
        with pytest.raises(InvalidInputError, match="rows"):
            list(chunks_of(lazy, labels))
    X[7, 1] = np.nan
    with pytest.raises(InvalidInputError, match=r"NaN|missing"):
        learn_in_chunks(da.from_array(X, chunks=(30, 4)), y)
    with pytest.raises(InvalidInputError, match="n_trees=0"):
        learn_in_chunks(lazy, y, n_trees=0)
