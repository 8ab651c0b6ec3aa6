from __future__ import annotations

import json
import pickle
import sqlite3
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeClassifier, export_graphviz, export_text, plot_tree

from hardwood import AttackModel, GreedyRobustTreeClassifier, InvalidInputError, Tree, load_model
from hardwood.export import from_lightgbm, from_sklearn, from_xgboost, to_sklearn
from hardwood.export.model_file import model_schema
from strategies import trees

mpl.use("Agg")


def points_for(tree: Tree, n: int = 10_000, seed: int = 0) -> np.ndarray[Any, Any]:
    """Random points, many of them exactly on thresholds or one float beside them."""
    rng = np.random.default_rng(seed)
    points = rng.normal(0.5, 2, (n, tree.n_features))
    cuts = tree.threshold[tree.left >= 0]
    if len(cuts):
        near = np.concatenate([cuts, np.nextafter(cuts, -np.inf), np.nextafter(cuts, np.inf)])
        on_cut = rng.random(points.shape) < 0.5
        points[on_cut] = rng.choice(near, on_cut.sum())
    return points


def iris_tree(depth: int = 4) -> tuple[GreedyRobustTreeClassifier, Any, Any]:
    X, y = load_iris(return_X_y=True)
    return GreedyRobustTreeClassifier(depth, attack=0.1).fit(X, y), X, y


class TestToSklearn:
    def test_it_is_a_decision_tree_with_the_same_answers(self) -> None:
        X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        clf = GreedyRobustTreeClassifier(4, attack=AttackModel.fraction_of_range(0.03)).fit(X, y)
        model = clf.to_sklearn()
        assert isinstance(model, DecisionTreeClassifier)
        assert model.predict(X).tolist() == clf.predict(X).tolist()
        assert model.apply(X).tolist() == clf.apply(X).tolist()
        assert np.array_equal(model.decision_path(X).toarray(), clf.decision_path(X).toarray())
        assert (model.get_depth(), model.get_n_leaves()) == (clf.get_depth(), clf.get_n_leaves())
        assert model.feature_names_in_.tolist() == list(X.columns)
        assert X.columns[clf.tree_.feature[0]] in export_text(model, feature_names=list(X.columns))
        assert model.tree_.weighted_n_node_samples[0] == clf.leaf_weight_[0].sum()
        # Every point to which the attacker may move a sample, rounded or not, is answered alike.
        for way in (-1, 1):
            reach = clf.attack_.reach(X.shape[1])[0]
            moved = X + way * reach
            assert model.predict(moved).tolist() == clf.predict(moved).tolist()

    def test_scikit_learns_own_tools_read_it(self) -> None:
        clf, X, y = iris_tree(3)
        model = clf.to_sklearn()
        assert export_graphviz(model).count("->") == clf.tree_.n_nodes - 1
        assert len([text for text in plot_tree(model) if "gini" in text.get_text()]) == clf.tree_.n_nodes
        plt.close("all")
        assert model.score(X, y) == clf.score(X, y)
        assert cross_val_score(model, X, y, cv=3).shape == (3,)
        again = pickle.loads(pickle.dumps(model))
        assert again.predict_proba(X).tolist() == model.predict_proba(X).tolist()

    @settings(max_examples=60)
    @given(st.integers(1, 3).flatmap(lambda p: trees(p, 3)))
    def test_any_tree_agrees_on_everything_that_float32_can_hold(self, tree: Tree) -> None:
        points = points_for(tree, 200).astype(np.float32)
        assert tree.to_sklearn().predict(points).tolist() == tree.predict(points).tolist()

    def test_going_back_and_forth_changes_nothing_that_float32_can_hold(self) -> None:
        clf, _, _ = iris_tree()
        again = from_sklearn(clf.to_sklearn())
        points = points_for(clf.tree_).astype(np.float32)
        assert again.predict(points).tolist() == clf.predict(points).tolist()

    def test_thresholds_are_nudged_inside_the_margin(self) -> None:
        # The midpoint rounds up to the upper value in float32, the lower value does not.
        low, high = 1.0, 1.0 + 2.0**-23
        clf = GreedyRobustTreeClassifier(1).fit([[low], [high]], [0, 1])
        assert low < clf.tree_.threshold[0] < high
        model = clf.to_sklearn()
        assert model.tree_.threshold[0] == low
        assert model.predict([[low], [high]]).tolist() == [0, 1]

    def test_values_that_float32_cannot_tell_apart_are_refused(self) -> None:
        clf = GreedyRobustTreeClassifier(1).fit([[1.0], [1.0 + 1e-8]], [0, 1])
        assert clf.score([[1.0], [1.0 + 1e-8]], [0, 1]) == 1
        with pytest.raises(InvalidInputError, match="equal once they are rounded to float32"):
            clf.tree_.to_sklearn()
        huge = GreedyRobustTreeClassifier(1).fit([[1e39], [3e39]], [0, 1])
        with pytest.raises(InvalidInputError, match="outside of what float32 can hold"):
            huge.tree_.to_sklearn()

    def test_missing_values_go_the_same_way(self) -> None:
        rng = np.random.default_rng(0)
        X = rng.random((200, 3))
        y = (X[:, 0] + X[:, 1] > 1).astype(int)
        X[rng.random(X.shape) < 0.1] = np.nan
        clf = GreedyRobustTreeClassifier(3, missing="reachable").fit(X, y)
        assert clf.to_sklearn().predict(X).tolist() == clf.predict(X).tolist()

    def test_a_single_leaf_can_be_converted(self) -> None:
        clf = GreedyRobustTreeClassifier(0).fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
        assert clf.to_sklearn().predict([[0.0]]).tolist() == ["b"]
        assert to_sklearn(clf.tree_).predict([[0.0]]).tolist() == ["b"]

    def test_onnx_gives_the_same_answers(self) -> None:
        skl2onnx = pytest.importorskip("skl2onnx")
        onnxruntime = pytest.importorskip("onnxruntime")
        clf, X, _ = iris_tree()
        points = np.concatenate([points_for(clf.tree_, 10_000), X]).astype(np.float32)
        onnx = skl2onnx.to_onnx(clf.to_sklearn(), points[:1])
        session = onnxruntime.InferenceSession(onnx.SerializeToString(), providers=["CPUExecutionProvider"])
        answers = session.run(None, {session.get_inputs()[0].name: points})[0]
        assert answers.tolist() == clf.predict(points).tolist()


class TestFromOthers:
    def test_a_tree_of_xgboost_gives_the_same_answers(self) -> None:
        xgboost = pytest.importorskip("xgboost")
        X, y = load_breast_cancer(return_X_y=True)
        model = xgboost.XGBClassifier(n_estimators=1, max_depth=4, learning_rate=1.0).fit(X, y)
        tree = from_xgboost(model)
        points = _near(X, tree)
        assert tree.predict(points).tolist() == model.predict(points).tolist()
        several = xgboost.XGBClassifier(n_estimators=3, max_depth=2).fit(X, y)
        with pytest.raises(InvalidInputError, match="scores of 3 trees"):
            from_xgboost(several)
        assert from_xgboost(several, tree=2).depth <= 2
        with pytest.raises(InvalidInputError, match="trees 0 to 2"):
            from_xgboost(several, tree=3)
        with pytest.raises(InvalidInputError, match="not a fitted XGBoost"):
            from_xgboost(3)

    def test_a_tree_of_lightgbm_gives_the_same_answers(self) -> None:
        lightgbm = pytest.importorskip("lightgbm")
        X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        X.columns = [name.replace(" ", "_") for name in X.columns]
        model = lightgbm.LGBMClassifier(n_estimators=1, max_depth=4, learning_rate=1.0, verbose=-1).fit(X, y)
        tree = from_lightgbm(model)
        points = _near(X.to_numpy(), tree)
        said = model.booster_.predict(points, raw_score=True) > 0
        assert tree.predict(points).tolist() == model.classes_[said.astype(int)].tolist()
        assert tree.feature_names == tuple(X.columns)
        several = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1).fit(X, y)
        with pytest.raises(InvalidInputError, match="scores of 3 trees"):
            from_lightgbm(several)
        with pytest.raises(InvalidInputError, match="not a fitted LightGBM"):
            from_lightgbm("model")


def _near(X: Any, tree: Tree) -> Any:
    """The samples, and copies that stand on or beside thresholds."""
    rng = np.random.default_rng(1)
    rows = [X]
    for node in np.flatnonzero(tree.left >= 0):
        copies = X[rng.integers(0, len(X), 20)].copy()
        b = tree.threshold[node]
        copies[:, tree.feature[node]] = rng.choice([b, np.nextafter(b, -np.inf), np.nextafter(b, np.inf)], 20)
        rows.append(copies)
    return np.concatenate(rows)


def run_python(tree: Tree, points: Any) -> list[Any]:
    scope: dict[str, Callable[[Any], Any]] = {}
    exec(tree.to_python("classify"), scope)
    return [scope["classify"](point) for point in points]


def run_c(tree: Tree, points: Any, folder: Path) -> list[Any]:
    main = """
#include <stdio.h>
int main(void) {
    double x[64]; int p, i;
    if (scanf("%d", &p) != 1) return 1;
    for (;;) {
        for (i = 0; i < p; i++) if (scanf("%lf", &x[i]) != 1) return 0;
        puts(classify_classes[classify(x)]);
    }
}
"""
    source = folder / "tree.c"
    source.write_text(tree.to_c("classify") + main)
    program = folder / "tree"
    subprocess.run(
        ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-o", str(program), str(source)],
        check=True,
        timeout=60,
    )
    table = f"{points.shape[1]}\n" + "\n".join(" ".join(float(v).hex() for v in row) for row in points) + "\n"
    return subprocess.run(
        [str(program)], input=table, capture_output=True, text=True, check=True, timeout=60
    ).stdout.splitlines()


def run_sql(tree: Tree, rows: list[tuple[Any, ...]], names: list[str]) -> list[Any]:
    with sqlite3.connect(":memory:") as base:
        quoted = [name.replace('"', '""') for name in names]
        columns = ", ".join(f'"{name}"' for name in quoted)
        base.execute(f"CREATE TABLE samples ({columns})")
        base.executemany(f"INSERT INTO samples VALUES ({', '.join('?' * len(names))})", rows)
        answers = [row[0] for row in base.execute(f"SELECT {tree.to_sql()} FROM samples ORDER BY rowid")]
    base.close()
    return answers


class TestCode:
    @settings(max_examples=40)
    @given(st.integers(1, 3).flatmap(lambda p: trees(p, 3)))
    def test_python_and_sql_say_what_the_tree_says(self, tree: Tree) -> None:
        tree = replace(tree, classes=np.array(["a", "it's", 'say "b"']))
        points = points_for(tree, 100)
        expected = tree.predict(points).tolist()
        assert run_python(tree, points) == expected
        names = [f"x{j}" for j in range(tree.n_features)]
        assert run_sql(tree, [tuple(map(float, p)) for p in points], names) == expected

    def test_every_language_agrees_on_ten_thousand_points(self, tmp_path: Path) -> None:
        clf, X, _ = iris_tree(5)
        tree = replace(clf.tree_, feature_names=("sepal */ length", 'wid"th', "petal\\n", "from"))
        points = np.concatenate([points_for(tree), X])
        expected = tree.predict(points).tolist()
        assert run_python(tree, points) == expected
        assert run_c(tree, points, tmp_path) == list(map(str, expected))
        assert run_sql(tree, [tuple(map(float, p)) for p in points], list(tree.feature_names or ())) == expected

    def test_missing_values_go_where_the_tree_sends_them(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(3)
        X = rng.random((400, 2))
        y = np.where(X[:, 0] > 0.3, "x", np.where(X[:, 1] > 0.6, "y", "z"))
        X[rng.random(X.shape) < 0.2] = np.nan
        clf = GreedyRobustTreeClassifier(3, missing="reachable").fit(X, y)
        assert len(set(clf.tree_.missing_left[clf.tree_.left >= 0])) == 2  # type: ignore[index]
        expected = clf.predict(X).tolist()
        assert run_python(clf.tree_, X) == expected
        assert run_c(clf.tree_, X, tmp_path) == expected
        rows = [tuple(None if np.isnan(v) else float(v) for v in row) for row in X]
        assert run_sql(clf.tree_, rows, ["x0", "x1"]) == expected

    def test_categories_are_compared_as_they_are(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(4)
        table = pd.DataFrame({
            "colour": pd.Categorical(rng.choice(["red", "it's blue", "green"], 300)),
            "size": rng.integers(0, 5, 300).astype(float),
        })  # fmt: skip
        y = np.where((table["colour"] == "red") ^ (table["size"] > 2), "yes", "no")
        clf = GreedyRobustTreeClassifier(3).fit(table, y)
        assert clf.score(table, y) == 1
        expected = clf.predict(table).tolist()
        rows = [(str(colour), float(size)) for colour, size in zip(table["colour"], table["size"], strict=True)]
        assert run_python(clf.tree_, rows) == expected
        assert run_sql(clf.tree_, rows, ["colour", "size"]) == expected
        categories = clf.tree_.encoding.categories[0]  # type: ignore[union-attr]
        codes = np.array([(categories.index(colour), size) for colour, size in rows])  # type: ignore[union-attr]
        assert run_c(clf.tree_, codes, tmp_path) == expected

    def test_a_leaf_is_code_too(self, tmp_path: Path) -> None:
        tree = GreedyRobustTreeClassifier(0).fit([[0.0], [1.0], [2.0]], [1, 7, 7]).tree_
        assert run_python(tree, [[0.0]]) == [7]
        assert run_c(tree, np.array([[0.0]]), tmp_path) == ["7"]
        assert run_sql(tree, [(0.0,)], ["x0"]) == [7]

    @pytest.mark.parametrize("name", ["class", "2go", "a b", ""])
    def test_names_that_no_function_can_have_are_refused(self, name: str) -> None:
        tree = iris_tree(1)[0].tree_
        with pytest.raises(InvalidInputError, match="is not a name"):
            tree.to_python(name)
        if name != "class":
            with pytest.raises(InvalidInputError, match="is not a name"):
                tree.to_c(name)


class TestSchema:
    @pytest.mark.parametrize(
        "attack",
        [0.1, {0: "<>", 1: (0, 2)}, AttackModel.per_class({"setosa": 0.1, "virginica": {2: ">"}})],
        ids=["radius", "features", "classes"],
    )
    def test_saved_models_follow_the_published_schema(self, tmp_path: Path, attack: Any) -> None:
        jsonschema = pytest.importorskip("jsonschema")
        X, y = load_iris(return_X_y=True)
        y = np.array(["setosa", "versicolor", "virginica"])[y]
        clf = GreedyRobustTreeClassifier(2, attack=attack, missing="reachable").fit(X, y)
        clf.save(tmp_path / "model.json")
        data = json.loads((tmp_path / "model.json").read_text())
        jsonschema.Draft202012Validator.check_schema(model_schema())
        jsonschema.validate(data, model_schema())
        again = load_model(tmp_path / "model.json").tree
        assert again == clf.tree_
        assert np.array_equal(again.margin, clf.tree_.margin, equal_nan=True)  # type: ignore[arg-type]
        del data["tree"]["left"]
        with pytest.raises(jsonschema.ValidationError, match="'left' is a required property"):
            jsonschema.validate(data, model_schema())

    def test_categories_are_part_of_the_file(self, tmp_path: Path) -> None:
        jsonschema = pytest.importorskip("jsonschema")
        table = pd.DataFrame({"colour": ["red", "blue", "red", "green"], "n": [1.5, 2.0, 3.0, 4.0]})
        attack = {"colour": {"red": ["green"]}, "n": 0.5}
        clf = GreedyRobustTreeClassifier(2, attack=attack, categorical_features=["colour"]).fit(table, [0, 1, 0, 1])
        clf.save(tmp_path / "model.json")
        jsonschema.validate(json.loads((tmp_path / "model.json").read_text()), model_schema())
        model = load_model(tmp_path / "model.json")
        assert model.tree == clf.tree_
        assert model.attack == clf.attack_
        assert model.predict(table).tolist() == clf.predict(table).tolist()


def test_splits_of_scikit_learn_that_only_part_missing_values_stay_finite() -> None:
    X = np.array([[1.0], [2.0], [np.nan], [np.nan], [3e38], [-3e38]])
    model = DecisionTreeClassifier(random_state=0).fit(X, [0, 0, 1, 1, 0, 0])
    assert np.isinf(model.tree_.threshold[0])
    tree = from_sklearn(model)
    points = np.array([[0.0], [3.4e38], [-3.4e38]])
    assert tree.predict(points).tolist() == model.predict(points).tolist()


def test_a_model_of_lightgbm_that_takes_zeros_for_missing_is_refused() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (200, 1)).astype(float)
    model = lightgbm.LGBMClassifier(n_estimators=1, zero_as_missing=True, verbose=-1).fit(X, X[:, 0] > 1)
    with pytest.raises(InvalidInputError, match="zero_as_missing"):
        from_lightgbm(model)
