"""Ensembles on the command line: learned, evaluated, put beside others and exported."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli_runner import run
from ensemble_models import fitted, table
from hardwood import RobustBoostingClassifier, RobustForestClassifier, load_model
from hardwood.ensembles.boosting import BoostingLearner
from hardwood.ensembles.model_file import EnsembleModel
from hardwood.solvers.greedy import GreedyLearner


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    X, y = table(np.random.default_rng(0), 90, 3, 2)
    path = tmp_path / "data.csv"
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", header="a,b,c,kind", comments="", fmt="%g")
    return path


@pytest.mark.parametrize("kind", ["boosting", "forest"])
def test_an_ensemble_is_learned_saved_evaluated_and_exported(kind: str, csv: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    what = ("--model", kind, "--depth", 2, "--trees", 6, "--holdout", 0)
    learn = ("fit-ensemble", csv, "--target", "kind", "--attack", "0.05", *what)
    shown = run(*learn, "-o", model)
    assert "accuracy under attack" in shown
    loaded = load_model(model)
    assert isinstance(loaded, EnsembleModel)
    assert loaded.ensemble.feature_names == ("a", "b", "c")
    learned = json.loads(run(*learn, "--json"))
    report = json.loads(run("evaluate", model, csv, "--target", "kind", "--json"))
    assert report["adversarial_accuracy"] == learned["adversarial_accuracy"] <= report["accuracy"]
    predictions = json.loads(run("predict", model, csv, "--json"))["predictions"]
    assert np.mean(np.array(predictions) == table(np.random.default_rng(0), 90, 3, 2)[1]) == report["accuracy"]
    assert "def predict(x):" in run("export", model, "--to", "python")
    assert "int score(" in run("export", model, "--to", "c", "--name", "score")
    assert "one tree" in run("export", model, "--to", "dot", code=1)
    assert "single one" in run("explain", model, csv, "--row", 1, code=1)


def test_a_held_out_score_is_reported(csv: Path, tmp_path: Path) -> None:
    learn = ("fit-ensemble", csv, "-t", "kind", "-a", "0.05", "--depth", 2, "--trees", 6)
    shown = run(*learn)
    assert "72 learned from" in shown
    assert "18 held out" in shown
    model = tmp_path / "model.json"
    found = json.loads(run(*learn, "--holdout", 0, "--test", csv, "-o", model, "--json"))
    assert (found["samples"], found["test_samples"]) == (90, 90)
    for name in ("accuracy", "adversarial_accuracy", "adversarial_accuracy_upper"):
        assert found[name] == found[f"test_{name}"]
    assert "90 of data.csv" in run(*learn, "--test", csv)
    assert "test on one of them" in run(*learn, "--test", csv, "--holdout", 0.5, code=1)


@pytest.mark.parametrize(
    "estimator",
    [
        RobustForestClassifier(5, attack=0.05),
        RobustForestClassifier(5, attack=0.05, voting="soft"),
        RobustBoostingClassifier(5, attack=0.05),
        RobustBoostingClassifier(5, attack=0.05, loss="exponential"),
    ],
    ids=str,
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_those_of_the_estimator(estimator: Any, n_classes: int, tmp_path: Path) -> None:
    X, y = table(np.random.default_rng(n_classes), 90, 3, n_classes)
    data, model = tmp_path / "data.csv", tmp_path / "model.json"
    np.savetxt(data, X, delimiter=",", header="a,b,c", comments="", fmt="%.17g")
    estimator.fit(X, y).save(model)
    found = json.loads(run("predict", model, data, "--probabilities", "--json"))
    np.testing.assert_allclose(found["probabilities"], estimator.predict_proba(X))
    assert found["classes"] == list(range(n_classes))
    shown = run("predict", model, data, "-p").splitlines()
    assert shown[0] == "a,b,c,prediction," + ",".join(f"P({c})" for c in range(n_classes))


def test_scores_that_nobody_calls_probabilities_are_none(tmp_path: Path) -> None:
    X, y = table(np.random.default_rng(0), 40, 2, 2)
    path = tmp_path / "data.csv"
    np.savetxt(path, X, delimiter=",", header="a,b", comments="", fmt="%g")
    model = RobustForestClassifier(3).fit(X, y).to_model()
    dataclasses.replace(model, training={"solver": "somebody's"}).save(tmp_path / "m.json")
    said = run("predict", tmp_path / "m.json", path, "-p", code=1)
    assert "does not say how its scores become probabilities" in said


def test_optimal_trees_can_be_boosted(csv: Path) -> None:
    report = json.loads(
        run("fit-ensemble", csv, "-t", "kind", "-a", "0.05", "--base", "search", "--trees", 3, "-d", 1, "--json")
    )
    assert report["base"] == "search"
    assert report["trees"] == 3


def test_saved_models_stand_beside_the_learners(csv: Path, tmp_path: Path) -> None:
    X, y = table(np.random.default_rng(0), 90, 3, 2)
    path = tmp_path / "theirs.json"
    fitted("xgboost", X, y, 5, 2, 0).save_model(path)
    options = ("compare", csv, "-t", "kind", "-a", "0.05", "-d", 1, "--learners", "CART,boosting", "--model", path)
    report = json.loads(run(*options, "--json"))
    assert [row["learner"] for row in report["learners"]] == ["CART", "boosting", "theirs.json"]
    theirs = report["learners"][-1]
    assert theirs["test"]["attacked"] == theirs["test"]["attacked_at_most"] <= theirs["test"]["accuracy"]
    assert theirs["errors"] is None
    assert "theirs.json" in run(*options)


def test_numbers_that_make_no_sense_are_refused(csv: Path) -> None:
    assert "trees=0" in run("fit-ensemble", csv, "-t", "kind", "-a", 0, "--trees", 0, code=1)
    assert "learning_rate" in run("fit-ensemble", csv, "-t", "kind", "-a", 0, "--learning-rate", 3, code=1)


def test_what_was_finished_before_ctrl_c_is_shown_and_saved(
    csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = 0
    grow = GreedyLearner.grow_tree

    def grow_three(*arguments: Any, **others: Any) -> Any:
        nonlocal count
        count += 1
        if count > 3:
            raise KeyboardInterrupt
        return grow(*arguments, **others)

    monkeypatch.setattr(GreedyLearner, "grow_tree", grow_three)
    model = tmp_path / "model.json"
    learn = ("fit-ensemble", csv, "-t", "kind", "-a", "0.05", "-d", 2, "--trees", 9, "-o", model)
    shown = run(*learn, "--model", "forest", code=130)
    assert "Interrupted: this is what was finished by then." in shown
    assert load_model(model).training["trees"] == 3
    run_boosting = BoostingLearner.run

    def stopped(*arguments: Any, **others: Any) -> Any:
        return dataclasses.replace(run_boosting(*arguments, **others), stopped_by="interrupt")

    monkeypatch.setattr(BoostingLearner, "run", stopped)
    assert "accuracy under attack" in run(*learn, code=130)
