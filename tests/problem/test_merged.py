"""Equal boxes as one, weights as whole numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardwood._core import Control
from hardwood.errors import StoppedError
from hardwood.problem.merged import MergedBoxes, WholeWeights
from oracle import TinyProblem
from strategies import problem_of, tiny_problems


@given(tiny_problems())
def test_samples_are_one_iff_box_and_class_are_equal(tiny: TinyProblem) -> None:
    problem = problem_of(tiny, 1)
    merged = problem.merged
    for i in range(tiny.n):
        for k in range(tiny.n):
            same = tiny.y[i] == tiny.y[k] and all(
                problem.lower_rank[i, j] == problem.lower_rank[k, j]
                and problem.upper_rank[i, j] == problem.upper_rank[k, j]
                for j in range(problem.n_features)
            )
            assert (merged.group[i] == merged.group[k]) == same
    assert merged.group[merged.first].tolist() == list(range(len(merged)))
    assert merged.total(problem.weight).sum() == problem.weight.sum()
    for g in range(len(merged)):
        members = merged.member[merged.start[g] : merged.start[g + 1]]
        assert members.tolist() == np.flatnonzero(merged.group == g).tolist()
        assert merged.first[g] == members[0]
        assert merged.count[g] == len(members)


@given(tiny_problems(), st.randoms())
def test_the_order_of_the_samples_leaves_no_trace(tiny: TinyProblem, random: object) -> None:
    order = list(range(tiny.n))
    random.shuffle(order)  # type: ignore[attr-defined]
    problem = problem_of(tiny, 1)
    lower, upper, label = problem.lower_rank[order], problem.upper_rank[order], problem.label[order]
    shuffled = MergedBoxes.of(lower, upper, label)
    np.testing.assert_array_equal(lower[shuffled.first], problem.lower_rank[problem.merged.first])
    np.testing.assert_array_equal(shuffled.group, problem.merged.group[order])


@given(st.lists(st.integers(0, 2**40), min_size=1, max_size=8).filter(any), st.integers(0, 16))
def test_whole_weights_are_kept_exactly(weight: list[int], finest: int) -> None:
    found = WholeWeights.exactly(np.array(weight, dtype=float), 2.0**60, others=(6.0,), finest=finest)
    assert found is not None
    parts, unit = found.exact_scale
    assert [Fraction(int(v) * unit, parts) for v in found.value] == weight
    assert found.in_parts(6.0) * unit == 6 * parts
    assert all(v % found.step == 0 for v in found.value.tolist())
    assert found.real(found.value).tolist() == weight
    assert int(found.value.sum()) <= 2**60


@given(st.lists(st.floats(0, allow_infinity=False), min_size=1, max_size=8).filter(any))
def test_other_weights_are_rounded_down_by_less_than_a_part(weight: list[float]) -> None:
    found = WholeWeights.rounded(np.array(weight), 2.0**60)
    parts, unit = found.exact_scale
    for value, w in zip(found.value.tolist(), weight, strict=True):
        assert 0 <= Fraction(w) - Fraction(value * unit, parts) < Fraction(unit, parts)
    assert 0 < int(found.value.sum()) <= 2**60


def test_weights_that_are_too_large_or_not_whole_are_not_taken_exactly() -> None:
    assert WholeWeights.exactly(np.array([2.0**60, 1.0]), 2.0**60) is None
    assert WholeWeights.exactly(np.array([0.5, 1.0]), 2.0**60) is None
    assert WholeWeights.exactly(np.array([1.0]), 2.0**60, others=(0.5,)) is None


def test_merging_that_is_stopped_leaves_nothing() -> None:
    n = 50_000
    ranks = np.random.default_rng(0).integers(0, 50, (n, 3)).astype(np.int32)
    control = Control()
    control.request_stop()
    with pytest.raises(StoppedError):
        MergedBoxes.of(ranks, ranks, np.zeros(n, np.int64), control)
