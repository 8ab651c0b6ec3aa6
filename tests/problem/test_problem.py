from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from hardwood import AttackModel, InvalidInputError, Problem

X = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]])
Y = np.array(["b", "a", "b"])


def test_boxes_are_the_samples_plus_and_minus_the_reach_of_their_class() -> None:
    problem = Problem.from_data(X, Y, AttackModel.per_class({"b": [(0.5, 1), 0]}), 2)
    np.testing.assert_allclose(problem.lower, [[-0.5, 1.0], [1.0, 1.0], [1.5, 1.0]], rtol=0, atol=2e-9)
    np.testing.assert_allclose(problem.upper, [[1, 1], [1, 1], [3, 1]], rtol=0, atol=2e-9)
    assert problem.classes.tolist() == ["a", "b"]
    assert problem.label.tolist() == [1, 0, 1]
    assert (problem.n_samples, problem.n_features, problem.n_classes) == (3, 2, 2)


def test_ranks_say_who_reaches_which_side() -> None:
    problem = Problem.from_data(X, Y, AttackModel.per_class({"b": [("<"), 0]}), 2)
    assert problem.lower_rank[:, 0].tolist() == [-1, 1, -1]
    assert problem.upper_rank[:, 0].tolist() == [0, 1, 2]
    assert problem.n_ranks.tolist() == [3, 1]  # the constant feature has one endpoint: nothing to split


def test_a_problem_does_not_change_with_the_data_it_came_from_and_cannot_be_written_to() -> None:
    data = X.copy()
    problem = Problem.from_data(data, Y, 0.1, 1)
    data[0, 0] = 99
    assert problem.values[0, 0] == 0
    data[0, 0] = 0
    for array in (problem.values, problem.lower, problem.upper, problem.label, problem.weight, problem.lower_rank):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_bring_their_column_names(frame: type) -> None:
    table = frame({"age": [1, 2, 3], "hot": [True, False, True]})
    problem = Problem.from_data(table, Y, {"age": 1}, 1)
    assert problem.feature_names == ("age", "hot")
    np.testing.assert_allclose(problem.lower, [[0, 1], [1, 0], [2, 1]], rtol=0, atol=2e-9)


def test_text_in_a_column_is_refused_by_column_row_and_value() -> None:
    table = pd.DataFrame({"age": [1, 2, 3], "city": ["1", "2", "Delft"]})
    with pytest.raises(InvalidInputError, match="column 'city' holds 'Delft' in row 2"):
        Problem.from_data(table, Y, 0, 1)
    with pytest.raises(InvalidInputError, match="Delft"):
        Problem.from_data(np.array([["1"], ["2"], ["Delft"]]), Y, 0, 1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"X": [[0.0], [np.nan], [1.0]]}, "contains NaN in column 0, row 1"),
        ({"X": pd.DataFrame({"age": [1, None, 3.0]})}, "contains NaN in column 'age', row 1"),
        ({"X": [[0.0], [np.inf], [1.0]]}, "contains infinity in column 0, row 1"),
        ({"X": [0.0, 1.0, 2.0]}, "two-dimensional"),
        ({"X": np.empty((0, 2)), "y": []}, r"shape \(0, 2\)"),
        ({"X": np.empty((3, 0))}, r"shape \(3, 0\)"),
        ({"y": ["a", "a", "a"]}, "all samples are of one class"),
        ({"y": ["a", "b"]}, "X has 3 samples, but y has 2"),
        ({"y": [0.0, np.nan, 1.0]}, "y contains NaN"),
        ({"y": np.array(["a", None, "b"], dtype=object)}, "no label .* in row 1"),
        ({"y": np.array(["a", 1, "b"], dtype=object)}, "different types"),
        ({"y": [[0, 1], [1, 0], [1, 1]]}, "one-dimensional"),
        ({"attack": -1}, "-1"),
        ({"max_depth": -1}, "max_depth=-1"),
        ({"max_depth": 1.5}, "max_depth=1.5"),
        ({"max_depth": True}, "max_depth=True"),
        ({"sample_weight": [1, 2]}, r"shape \(2,\)"),
        ({"sample_weight": [1, -2, 1]}, r"sample_weight\[1\] is -2"),
        ({"sample_weight": [0, 0, 0]}, "all sample weights are zero"),
        ({"class_weight": {"c": 1}}, "class 'c'; the classes of the data are 'a', 'b'"),
        ({"class_weight": "even"}, "'even'"),
        ({"class_weight": {"a": -1, "b": 1}}, "must be >= 0"),
        ({"leaf_penalty": -1}, "leaf_penalty=-1"),
        ({"leaf_penalty": float("inf")}, "leaf_penalty=inf"),
        ({"min_samples_leaf": -1}, "min_samples_leaf=-1"),
        ({"min_weight_fraction_leaf": 0.6}, "min_weight_fraction_leaf=0.6; it must be a share between 0 and 0.5"),
        ({"min_weight_fraction_leaf": float("nan")}, "min_weight_fraction_leaf=nan"),
        ({"min_weight_fraction_leaf": True}, "min_weight_fraction_leaf=True"),
        ({"min_weight_fraction_leaf": 0.1, "min_samples_leaf": 2}, "in samples or in weight, not in both"),
    ],
)
def test_bad_input_is_refused_with_what_is_wrong(change: dict[str, object], said: str) -> None:
    arguments: dict[str, object] = {"X": X, "y": Y, "attack": 0.1, "max_depth": 2, **change}
    with pytest.raises(InvalidInputError, match=said):
        Problem.from_data(**arguments)  # type: ignore[arg-type]


def test_class_weights_multiply_sample_weights() -> None:
    problem = Problem.from_data(X, Y, 0, 1, sample_weight=[1, 2, 3], class_weight={"a": 10, "b": 1})
    assert problem.weight.tolist() == [1, 20, 3]
    assert problem.class_weight_sums.tolist() == [20, 4]
    balanced = Problem.from_data(X, Y, 0, 1, class_weight="balanced")
    np.testing.assert_allclose(balanced.class_weight_sums, [1.5, 1.5])


def test_whole_number_weights_are_recognised() -> None:
    assert Problem.from_data(X, Y, 0, 1).has_integer_weights
    assert not Problem.from_data(X, Y, 0, 1, sample_weight=[1, 0.5, 1]).has_integer_weights
    assert not Problem.from_data(X, Y, 0, 1, leaf_penalty=0.5).has_integer_weights
