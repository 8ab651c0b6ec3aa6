"""The paper's variables and the way between them and trees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import index_tree
from hardwood import Problem, solve
from hardwood.solvers.formulations.clauses import Formula, Layout, count_literals, formula
from hardwood.solvers.formulations.encoding import Choice, Encoding, encode
from hardwood.tree.conversion import place, to_indices
from hardwood.tree.reach import objective
from strategies import problem_of, tiny_problems, trees

# Boxes [1, 3], [2, 4] and [3.5, 5.5]: six ends v1 .. v6 in the order of the paper's example.
EXAMPLE = Problem.from_data([[2.0], [3.0], [4.5]], [0, 1, 1], 1.0, 1)
# "the 3rd out of 6 possible thresholds", classes 0 and 1
EXAMPLE_TREE = index_tree((0, 2, 0, 1))


def satisfied(clauses: Formula, truth: np.ndarray) -> bool:
    value = np.concatenate([[False], truth])

    def holds(literals: np.ndarray) -> np.ndarray:
        return np.asarray(value[np.abs(literals)] == (literals > 0))

    return all(holds(block).any(axis=1).all() for block in clauses.clauses) and all(
        holds(group).sum() == 1 for group in clauses.exactly_one
    )


def test_the_variables_of_the_papers_example_are_the_papers() -> None:
    encoding = encode(EXAMPLE, strengthen=False)
    layout = Layout(encoding)
    truth = layout.assignment(encoding.to_choice(EXAMPLE_TREE))

    def of(numbers: np.ndarray) -> list[int]:
        return [int(value) for value in truth[np.ravel(numbers) - 1]]

    assert of(layout.a) == [1]
    assert of(layout.b) == [0, 0, 0, 1, 1, 1]
    assert of(layout.s[0]) == [1, 0]
    assert of(layout.s[1]) == [1, 1]
    assert of(layout.s[2]) == [0, 1]
    assert of(layout.c) == [0, 1]
    assert of(layout.e) == [0, 1, 0]
    assert satisfied(formula(layout), truth)


def test_the_papers_example_cannot_do_without_its_error() -> None:
    encoding = encode(EXAMPLE, strengthen=False)
    layout = Layout(encoding)
    truth = layout.assignment(encoding.to_choice(EXAMPLE_TREE))
    truth[layout.e[1] - 1] = False
    assert not satisfied(formula(layout), truth)


def test_the_ends_of_the_example_are_the_values_of_the_paper() -> None:
    encoding = encode(EXAMPLE, strengthen=False)
    assert (encoding.lower[:, 0] + 1).tolist() == [1, 2, 4]
    assert (encoding.upper[:, 0] + 1).tolist() == [3, 5, 6]
    assert encoding.n_values == 6


def test_strengthening_keeps_only_undominated_thresholds_and_merges_equal_boxes() -> None:
    problem = Problem.from_data([[0.0], [0.0], [1.0], [2.0], [9.0]], [0, 0, 0, 1, 1], 0.1, 1)
    plain, strong = encode(problem, strengthen=False), encode(problem, strengthen=True)
    assert (plain.n_samples, plain.n_values) == (5, 8)
    assert (strong.n_samples, strong.n_values) == (4, 3)
    assert sorted(strong.weight.tolist()) == [1, 1, 1, 2]


def test_conflicting_pairs_are_known_and_use_no_weight_twice() -> None:
    problem = Problem.from_data([[0.0], [0.1], [0.1], [5.0]], [0, 1, 1, 0], 0.2, 1, sample_weight=[3, 1, 4, 1])
    encoding = encode(problem, strengthen=True)
    assert encoding.least == 3
    assert encoding.pair_weight.sum() == 3
    assert np.all(encoding.label[encoding.pair[:, 0]] != encoding.label[encoding.pair[:, 1]])


@given(tiny_problems(), st.booleans(), st.data())
def test_a_choice_loses_what_its_tree_loses_or_more(tiny: object, strengthen: bool, data: st.DataObject) -> None:
    problem = problem_of(tiny, 2)  # type: ignore[arg-type]
    encoding = encode(problem, strengthen=strengthen)
    n, p = encoding.n_nodes, encoding.n_features
    choice = Choice(
        feature=np.array(data.draw(st.lists(st.integers(0, p - 1), min_size=n, max_size=n))),
        value=np.array(data.draw(st.lists(st.integers(-1, max(-1, encoding.n_values - 1)), min_size=n, max_size=n))),
        label=np.array(data.draw(st.lists(st.integers(0, encoding.n_classes - 1), min_size=n + 1, max_size=n + 1))),
    )
    tree = place(encoding.to_tree(choice), problem)
    # A path that no point can follow counts for the formulation, not for the tree.
    assert objective(tree, problem) <= encoding.objective(choice) + 1e-9


@given(tiny_problems(), st.booleans(), st.data())
def test_every_tree_has_a_choice_that_loses_no_more(tiny: object, strengthen: bool, data: st.DataObject) -> None:
    problem = problem_of(tiny, 2)  # type: ignore[arg-type]
    tree = data.draw(trees(problem.n_features, problem.n_classes, 2))
    start = to_indices(place(to_indices(tree, problem), problem), problem)
    encoding = encode(problem, strengthen=strengthen)
    choice = encoding.to_choice(start)
    cost = objective(place(start, problem), problem)
    assert encoding.objective(choice) <= cost
    assert objective(place(encoding.to_tree(choice), problem), problem) <= cost
    if encoding.n_values > 0:
        layout = Layout(encoding)
        truth = layout.assignment(choice)
        assert satisfied(formula(layout), truth)
        again = layout.choice(truth)
        assert all(
            np.array_equal(getattr(again, name), getattr(choice, name)) for name in ("feature", "value", "label")
        )


@given(tiny_problems(weighted=False), st.booleans())
def test_the_estimate_of_literals_is_no_less_than_the_truth(tiny: object, strengthen: bool) -> None:
    encoding = encode(problem_of(tiny, 2), strengthen=strengthen)  # type: ignore[arg-type]
    if encoding.n_values > 0:
        literals = sum(block.size for block in formula(Layout(encoding)).clauses)
        groups = 4 * encoding.n_nodes * encoding.n_features + 2 * len(encoding.pair) + 4 * encoding.n_leaves**2
        assert literals <= count_literals(encoding) + groups


def test_the_order_of_rows_does_not_change_the_encoding() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 5, (12, 2)) / 4, rng.integers(0, 2, 12)
    order = rng.permutation(12)
    one, two = (encode(Problem.from_data(X[o], y[o], 0.1, 2), strengthen=True) for o in (np.arange(12), order))
    assert np.array_equal(one.lower, two.lower)
    assert np.array_equal(one.weight, two.weight)
    assert one.least == two.least


def _wine(paper_data: object, depth: int) -> Encoding:
    from hardwood.data import datasets

    data = datasets.load("wine", paper_data)  # type: ignore[arg-type]
    part = datasets.paper_split(data.X, data.y)
    return encode(Problem.from_data(part.X_train, part.y_train, 0.03, depth), strengthen=False)


@pytest.mark.slow
def test_wine_at_depth_3_is_built_as_arrays(paper_data: object) -> None:
    from hardwood.solvers.formulations.milp import formulate

    encoding = _wine(paper_data, 3)
    assert sum(map(len, formula(Layout(encoding)).clauses)) > 800_000
    assert formulate(encoding, continuous=True).model.n_rows > 100_000
    assert formulate(encoding, continuous=False).model.n_rows > 800_000


def test_a_start_is_complete_in_every_formulation() -> None:
    from hardwood.solvers.formulations.milp import formulate

    rng = np.random.default_rng(1)
    X, y = rng.random((40, 3)), rng.integers(0, 3, 40)
    for depth in (1, 2, 3):
        problem = Problem.from_data(X, y, 0.05, depth)
        start = solve(problem, "greedy").index_tree
        for strengthen in (True, False):
            encoding = encode(problem, strengthen=strengthen)
            choice = encoding.to_choice(start)
            for continuous in (True, False):
                formulation = formulate(encoding, continuous=continuous)
                x = formulation.point(choice)
                assert formulation.model.violation(x) < 1e-9
                assert formulation.model.cost @ x == encoding.objective(choice)
                assert encoding.objective(formulation.choice(x)) == encoding.objective(choice)
