from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import hardwood
from hardwood import InvalidInputError, export
from hardwood.data import datasets


def test_the_package_shows_what_it_exports_and_nothing_else() -> None:
    # That these are the names of the reference, test_docs.py says.
    assert dir(hardwood) == sorted(hardwood.__all__)
    for name in hardwood.__all__:
        assert getattr(hardwood, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Forest'"):
        hardwood.Forest  # noqa: B018


def test_importing_hardwood_loads_no_heavy_library() -> None:
    code = "import sys, hardwood, hardwood.cli.fit_command, hardwood.cli.info_commands; print(' '.join(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"pandas", "polars", "matplotlib", "highspy", "pysat", "ortools", "gurobipy", "pyscipopt",
             "sklearn", "scipy"}  # fmt: skip
    assert heavy & set(loaded) == set()


def test_a_converted_scikit_learn_tree_gives_the_same_answers() -> None:
    rng = np.random.default_rng(2)
    X = rng.integers(0, 30, (300, 3)) / 10
    y = rng.choice(["a", "b", "c"], 300)
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y)
    tree = export.from_sklearn(model)
    # Points on and around the thresholds, where rounding to float32 decides.
    near = np.concatenate([np.nextafter(tree.threshold[tree.left >= 0], way) for way in (-np.inf, np.inf)])
    edges = np.concatenate([near, near.astype(np.float32), tree.threshold[tree.left >= 0]])
    points = np.concatenate([X, rng.choice(edges, (3000, 3))])
    assert tree.predict(points).tolist() == model.predict(points).tolist()


def test_what_is_no_fitted_tree_cannot_be_converted() -> None:
    with pytest.raises(InvalidInputError, match="not a fitted"):
        export.from_sklearn(DecisionTreeClassifier())
    two = DecisionTreeClassifier().fit([[0.0], [1.0]], [[0, 1], [1, 0]])
    with pytest.raises(InvalidInputError, match="2 outputs"):
        export.from_sklearn(two)


def test_the_papers_sets_have_their_published_shape(paper_data: object) -> None:
    shapes = {name: datasets.load(name, paper_data).X.shape for name in datasets.PAPER_RADII}  # type: ignore[arg-type]
    assert shapes == {
        "banknote-authentication": (1372, 4),
        "blood-transfusion": (748, 4),
        "breast-cancer": (683, 9),
        "cylinder-bands": (277, 37),
        "diabetes": (768, 8),
        "haberman": (306, 3),
        "ionosphere": (351, 34),
        "wine": (6497, 11),
    }
    data = datasets.load("haberman", paper_data)  # type: ignore[arg-type]
    split = datasets.paper_split(data.X, data.y)
    assert (len(split.X_train), len(split.X_test)) == (244, 62)
    assert (split.X_train.min(), split.X_train.max()) == (0, 1)
    assert split.X_test.min() >= 0
    assert split.X_test.max() <= 1


def test_unknown_data_says_what_there_is() -> None:
    with pytest.raises(InvalidInputError, match="the sets are banknote-authentication"):
        datasets.load("titanic")


def test_xor_is_four_blocks_that_no_single_split_improves() -> None:
    X, y = datasets.make_xor()
    assert X.shape == (100, 2)
    assert (X.min(), X.max()) == (0, 1)
    assert np.bincount(y).tolist() == [50, 50]
    assert hardwood.GreedyRobustTreeClassifier(2, attack=0.1).fit(X, y).adversarial_score(X, y) <= 0.75
