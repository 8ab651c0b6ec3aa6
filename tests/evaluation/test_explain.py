from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from typer.testing import CliRunner

from hardwood import AttackModel, GreedyRobustTreeClassifier, InvalidInputError, Tree, load_model
from hardwood.cli.app import app, register_commands
from hardwood.evaluation.explanation import explain
from strategies import trees

register_commands()


@settings(max_examples=80)
@given(trees(2, 3), st.integers(0, 30), st.integers(0, 30), st.sampled_from([0.0, 0.1, 0.4]))
def test_the_cheapest_change_flips_the_decision_and_nothing_cheaper_does(
    tree: Tree, first: int, second: int, radius: float
) -> None:
    x = np.array([[first / 20, second / 20]])
    found = explain(tree, x, radius)
    assert found.prediction == tree.predict(x)[0]
    change = found.cheapest_change
    reachable = len(np.unique(tree.without_empty_leaves.label[tree.without_empty_leaves.left < 0]))
    assert (change is None) == (reachable == 1)
    if change is None:
        assert not found.attacker_succeeds
        return
    moved = x.copy()
    for name, before, after in change.features:
        j = int(name[2:-1])
        assert moved[0, j] == before
        moved[0, j] = after
    assert tree.predict(moved)[0] == change.prediction != found.prediction
    if abs(change.multiple_of_attack - 1) > 1e-9:
        assert found.attacker_succeeds == (change.multiple_of_attack < 1)
    if radius > 0 and change.largest_step > 1e-9:
        # On a fine grid, no point strictly closer is answered differently.
        closer = change.largest_step * 0.999
        grid = np.linspace(-closer, closer, 41)
        around = np.array([[x[0, 0] + a, x[0, 1] + b] for a in grid for b in grid])
        assert set(tree.predict(around)) == {found.prediction}


def test_the_path_has_values_margins_and_what_the_attacker_can_cross() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    clf = GreedyRobustTreeClassifier(2, attack=0.5).fit(X, y)
    row = X.iloc[[70]]
    found = explain(clf.tree_, row, 0.5)
    for step in found.path:
        j = int(clf.tree_.feature[step.node])
        b = clf.tree_.threshold[step.node]
        assert step.value == row.iloc[0, j]
        assert step.margin == abs(step.value - b)
        assert step.margin is not None
        assert step.attacker_can_cross == (step.margin < 0.5 or (step.value > b and step.margin == 0.5))
    text = found.to_text()
    assert "petal" in text
    assert "times the attack" in text


def test_an_attacker_without_reach_is_told_what_anyone_could_do() -> None:
    tree = GreedyRobustTreeClassifier(1).fit([[0.0], [1.0]], ["a", "b"]).tree_
    found = explain(tree, [[0.0]], 0.0)
    assert found.cheapest_change is not None
    assert math.isinf(found.cheapest_change.multiple_of_attack)
    assert found.cheapest_change.prediction == "b"
    assert "no multiple of the attack suffices" in found.to_text()
    assert "cannot flip" in found.to_text()
    leaf = GreedyRobustTreeClassifier(0).fit([[0.0], [1.0]], ["a", "b"]).tree_
    assert explain(leaf, [[0.0]], 1.0).cheapest_change is None
    with pytest.raises(InvalidInputError, match="one sample, not 2"):
        explain(tree, [[0.0], [1.0]])


def test_attacks_that_differ_by_class_use_the_class_of_the_sample() -> None:
    tree = GreedyRobustTreeClassifier(1).fit([[0.0], [1.0]], ["good", "bad"]).tree_
    attack = AttackModel.per_class({"bad": 5.0})
    assert not explain(tree, [[0.0]], attack).attacker_succeeds
    assert explain(tree, [[0.0]], attack, label="bad").attacker_succeeds
    assert explain(tree, [[1.0]], attack).attacker_succeeds


def test_categories_and_missing_values_have_no_distance() -> None:
    table = pd.DataFrame({"colour": pd.Categorical(["red", "blue", "green", "red"]), "n": [1.0, 2.0, np.nan, 4.0]})
    clf = GreedyRobustTreeClassifier(1, missing="reachable").fit(table, [0, 1, 1, 0])
    found = explain(clf.tree_, table.iloc[[0]], {"colour": {"red": ["blue"]}})
    assert found.cheapest_change is None
    assert found.path[0].value == "red"
    assert found.path[0].condition == "colour = red"
    assert found.attacker_succeeds
    assert "attacker can cross" in found.to_text()


def test_the_command_explains_a_row_of_a_file(tmp_path: Path) -> None:
    data, model = tmp_path / "mail.csv", tmp_path / "model.json"
    data.write_text("links,length,label\n1,10,ham\n2,20,ham\n8,10,spam\n9,30,spam\n")
    runner = CliRunner()
    arguments = ["fit", data, "-t", "label", "--attack", "links=2", "--solver", "greedy", "--holdout", 0, "-o", model]
    assert runner.invoke(app, list(map(str, arguments))).exit_code == 0
    shown = runner.invoke(app, ["explain", str(model), str(data), "--row", "2"])
    assert shown.exit_code == 0
    assert "Row 2 of mail.csv (line 3)" in shown.output
    assert "Decision: ham" in shown.output
    assert "Cheapest change to spam: links 2 -> 5 (1.5 times the attack)" in shown.output
    assert "cannot flip" in shown.output
    report = json.loads(
        runner.invoke(app, ["explain", str(model), str(data), "-r", "4", "-t", "label", "--json"]).output
    )
    assert report["prediction"] == "spam"
    assert report["cheapest_change"]["multiple_of_attack"] == pytest.approx(2)
    beyond = runner.invoke(app, ["explain", str(model), str(data), "--row", "5"])
    assert "rows 1 to 4" in str(beyond.exception)


@pytest.mark.parametrize(
    ("language", "said"),
    [("c", "int spam("), ("python", "def spam("), ("sql", "CASE\n  WHEN"), ("dot", "digraph tree")],
)
def test_the_command_writes_code(tmp_path: Path, language: str, said: str) -> None:
    data, model = tmp_path / "mail.csv", tmp_path / "model.json"
    data.write_text("links,label\n1,ham\n8,spam\n")
    runner = CliRunner()
    runner.invoke(app, ["fit", str(data), "-t", "label", "-a", "0", "--solver", "greedy", "-o", str(model)])
    shown = runner.invoke(app, ["export", str(model), "--to", language, "--name", "spam"])
    assert said in shown.output
    output = tmp_path / "code"
    runner.invoke(app, ["export", str(model), "--to", language, "--name", "spam", "-o", str(output)])
    assert output.read_text() == shown.output


def test_the_command_writes_onnx_to_a_file_and_refuses_words_of_c(tmp_path: Path) -> None:
    data, model, output = tmp_path / "mail.csv", tmp_path / "model.json", tmp_path / "model.onnx"
    data.write_text("links,label\n1,ham\n8,spam\n")
    runner = CliRunner()
    runner.invoke(app, ["fit", str(data), "-t", "label", "-a", "0", "--solver", "greedy", "-o", str(model)])
    said = runner.invoke(app, ["export", str(model), "--to", "onnx"])
    assert "--output" in str(said.exception)
    assert runner.invoke(app, ["export", str(model), "--to", "onnx", "-o", str(output)]).exit_code == 0
    assert output.read_bytes() == load_model(model).tree.to_onnx()
    said = runner.invoke(app, ["export", str(model), "--to", "c", "--name", "int", "-o", str(output)])
    assert "name='int' is not a name that a C function can have" in str(said.exception)
    assert output.read_bytes() == load_model(model).tree.to_onnx()
