from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import make_tree
from hardwood import InvalidInputError, Tree
from hardwood.problem.problem import prepare
from hardwood.solvers.starts import repaired, without_needless_splits
from hardwood.tree.conversion import index_tree_of, place, to_indices
from hardwood.tree.draft import Fork, Leaf, grow
from hardwood.tree.index_tree import IndexTree
from hardwood.tree.reach import robust_errors
from oracle import answer
from strategies import trees


def stump(**changes: object) -> Tree:
    parts: dict[str, object] = {
        "feature": [1, -1, -1],
        "threshold": [0.5, np.nan, np.nan],
        "left": [1, -1, -1],
        "right": [2, -1, -1],
        "label": [-1, 0, 1],
        "classes": np.array(["no", "yes"]),
        "n_features": 2,
        "feature_names": ("age", "income"),
        **changes,
    }
    return Tree(**parts)  # type: ignore[arg-type]


def test_a_point_on_the_threshold_goes_left() -> None:
    assert stump().predict([[9, 0.5], [9, np.nextafter(0.5, 1)]]).tolist() == ["no", "yes"]


@settings(max_examples=200)
@given(trees(2, 3), st.lists(st.lists(st.integers(-5, 30), min_size=2, max_size=2), min_size=1, max_size=5))
def test_predictions_follow_the_arrays(tree: Tree, grid: list[list[int]]) -> None:
    points = [[value / 20 for value in row] for row in grid]
    assert tree.predict(points).tolist() == [answer(tree, tuple(point)) for point in points]
    assert tree.without_empty_leaves.predict(points).tolist() == tree.predict(points).tolist()
    low, high, label = tree.regions()
    inside = np.all((np.array(points)[:, None] > low) & (np.array(points)[:, None] <= high), axis=2)
    assert np.all(inside.sum(axis=1) == 1)  # the leaves divide the space among them
    assert label[inside.argmax(axis=1)].tolist() == tree.predict(points).tolist()


def test_shape_numbers() -> None:
    tree = stump()
    assert (tree.n_nodes, tree.n_leaves, tree.depth) == (3, 2, 1)
    assert repr(tree) == "Tree(depth=1, n_leaves=2, n_features=2)"


def test_text_names_features_and_classes() -> None:
    assert str(stump()) == "income <= 0.5: no\nincome >  0.5: yes"
    assert str(stump(feature_names=None)).startswith("x[1] <= 0.5")
    leaf = make_tree([-1], [np.nan], [-1], [-1], [1], np.array(["no", "yes"]), 2)
    assert str(leaf) == "always yes"


@given(trees(3, 2))
def test_trees_survive_json_and_pickle(tree: Tree) -> None:
    assert Tree.from_dict(json.loads(json.dumps(tree.to_dict(), allow_nan=False))) == tree
    assert pickle.loads(pickle.dumps(tree)) == tree


def test_trees_that_differ_are_not_equal() -> None:
    assert stump() == stump()
    assert stump() != stump(threshold=[0.6, np.nan, np.nan])
    assert stump() != stump(label=[-1, 1, 0])
    assert stump() != stump(feature_names=None)
    assert stump() != "a tree"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"left": [1, -1]}, "one length"),
        ({"right": [-1, -1, -1]}, "two children or none"),
        ({"left": [2, -1, -1]}, "child of exactly one"),
        ({"left": [0, -1, -1]}, "child of exactly one"),
        ({"label": [-1, 0, 2]}, "one of the classes"),
        ({"label": [-1, -1, 1]}, "one of the classes"),
        ({"feature": [-1, -1, -1]}, "name a feature"),
        ({"feature": [2, -1, -1]}, "feature 2 of 2"),
        ({"threshold": [np.nan, np.nan, np.nan]}, "must have a threshold"),
        ({"feature_names": ("age",)}, "1 feature names for 2"),
    ],
)
def test_arrays_that_are_no_tree_are_refused(changes: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        stump(**changes)


def test_stored_data_that_is_no_tree_is_refused() -> None:
    data = stump().to_dict()
    with pytest.raises(InvalidInputError, match="the tree has no entry 'left'"):
        Tree.from_dict({key: value for key, value in data.items() if key != "left"})
    with pytest.raises(InvalidInputError, match="child of exactly one"):
        Tree.from_dict({**data, "left": [0, -1, -1]})


def test_labels_that_json_cannot_hold_are_refused() -> None:
    tree = stump(classes=np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]"))
    with pytest.raises(InvalidInputError, match="cannot be stored as JSON"):
        tree.to_dict()


def test_wrong_or_missing_values_are_refused_when_predicting() -> None:
    with pytest.raises(InvalidInputError, match="3 features, but the tree was learned on 2"):
        stump().predict([[1, 2, 3]])
    with pytest.raises(InvalidInputError, match="NaN in column 'age', row 0"):
        stump().predict([[np.nan, 2]])


def test_read_only_and_column_major_data_are_fine() -> None:
    X = np.asfortranarray([[0.0, 0.0], [0.0, 1.0]])
    X.setflags(write=False)
    assert stump().predict(X).tolist() == ["no", "yes"]


def test_a_tree_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        stump().threshold[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        IndexTree.leaf(1).label[0] = 0


def test_a_tree_may_be_deeper_than_recursion_goes() -> None:
    # A chain of 2500 splits, each of which parts one more sample from the rest.
    depth = 2500
    X, y = np.arange(depth + 1.0)[:, None], np.arange(depth + 1) % 2
    problem = prepare(X, y, 0.1, max_depth=depth)

    def node(k: int) -> Leaf | Fork[int]:
        """Sample k to the left, as a leaf of its class (-1 or -2), and the rest to the right."""
        return Leaf(-1 - k if k < 0 else depth % 2) if k < 0 or k == depth else Fork(0, 2 * k + 1, -1 - k % 2, k + 1)

    index_tree = index_tree_of(grow(0, node))
    placed = place(index_tree, problem)
    assert placed.depth == index_tree.depth == depth
    assert robust_errors(placed, problem).sum() == 0
    assert np.array_equal(to_indices(placed, problem).feature, placed.feature)
    assert placed.without_empty_leaves is placed
    assert len(placed.regions()[2]) == placed.n_leaves
    assert placed.to_text().count("\n") == placed.n_nodes - 2
    assert repaired(index_tree, problem.replace(leaf_penalty=1.0)).depth == 0
    assert without_needless_splits(index_tree, problem).depth == depth
    assert Tree.from_dict(placed.to_dict()) == placed
