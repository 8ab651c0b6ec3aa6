"""Weights that cannot be used are refused wherever a score or a fit takes some."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from hardwood import (
    GreedyRobustTreeClassifier,
    InvalidInputError,
    RobustForestClassifier,
    TreantClassifier,
    accuracy,
    adversarial_accuracy,
    make_adversarial_scorer,
)
from hardwood.data.weights import as_weights, weighted_share

X = np.array([[0.0, 1.0], [0.2, 0.0], [0.4, 1.0], [1.0, 0.0], [1.2, 1.0], [1.4, 0.0]])
Y = np.array([0, 0, 1, 1, 1, 1])
TREE = GreedyRobustTreeClassifier(2, attack={0: 0.1}).fit(X, Y)
FOREST = RobustForestClassifier(3, max_depth=2, attack=0.1).fit(X, Y)
SCORES: dict[str, Callable[[Any], Any]] = {
    "accuracy": lambda weight: accuracy(TREE.tree_, X, Y, weight),
    "adversarial_accuracy": lambda weight: adversarial_accuracy(TREE.tree_, X, Y, 0.1, weight),
    "score": lambda weight: TREE.score(X, Y, weight),
    "adversarial_score": lambda weight: TREE.adversarial_score(X, Y, weight),
    "score of a forest": lambda weight: FOREST.score(X, Y, weight),
    "adversarial_score of a forest": lambda weight: FOREST.adversarial_score(X, Y, weight),
    "bounds of a forest": lambda weight: FOREST.adversarial_score_bounds(X, Y, weight),
    "scorer": lambda weight: make_adversarial_scorer(0.1)(TREE, X, Y, weight),
    "fit": lambda weight: GreedyRobustTreeClassifier(1).fit(X, Y, weight),
    "fit of a forest": lambda weight: RobustForestClassifier(2, max_depth=1).fit(X, Y, weight),
    "fit of TREANT": lambda weight: TreantClassifier(1).fit(X, Y, weight),
}
UNUSABLE: dict[str, tuple[Any, str]] = {
    "too few": ([1.0, 1.0], "6 samples"),
    "too many": ([1.0] * 7, "6 samples"),
    "a column": (np.ones((6, 1)), "6 samples"),
    "negative": ([1, 1, -2, 1, 1, 1], r"sample_weight\[2\] is -2"),
    "NaN": ([1, 1, 1, np.nan, 1, 1], r"sample_weight\[3\] is nan"),
    "infinite": ([1, np.inf, 1, 1, 1, 1], r"sample_weight\[1\] is inf"),
    "all zero": ([0.0] * 6, "all sample weights are zero"),
    "text": (["a"] * 6, "one number per sample"),
    "a dict": ({0: 1.0}, "one number per sample"),
    "masked": (np.ma.masked_array(np.ones(6), mask=[True] + [False] * 5), "masked"),
}


@pytest.mark.parametrize("what", SCORES)
@pytest.mark.parametrize("kind", UNUSABLE)
def test_unusable_weights_are_refused_everywhere(what: str, kind: str) -> None:
    weight, message = UNUSABLE[kind]
    with pytest.raises(InvalidInputError, match=message):
        SCORES[what](weight)


def test_a_share_is_what_the_weights_say() -> None:
    right = np.array([True, False, True])
    assert weighted_share(right) == 2 / 3
    assert weighted_share(right, [1, 2, 5]) == 6 / 8
    assert weighted_share(right, [0, 1, 0]) == 0
    assert weighted_share(right, 7) == 2 / 3
    assert weighted_share(right, [1e308, 1e308, 1e308]) == pytest.approx(2 / 3)
    with pytest.raises(InvalidInputError, match="no samples"):
        weighted_share(np.zeros(0, dtype=bool))


def test_weights_are_a_copy() -> None:
    given = np.ones(3)
    as_weights(given, 3)[0] = 5
    assert given.tolist() == [1, 1, 1]
