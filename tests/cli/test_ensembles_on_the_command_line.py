"""Ensembles on the command line: learned, evaluated, put beside others and exported."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cli_runner import run
from ensemble_models import fitted, table
from hardwood import load_model
from hardwood.ensembles.model_file import EnsembleModel


@pytest.fixture
def csv(tmp_path: Path) -> Path:
    X, y = table(np.random.default_rng(0), 90, 3, 2)
    path = tmp_path / "data.csv"
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", header="a,b,c,kind", comments="", fmt="%g")
    return path


@pytest.mark.parametrize("kind", ["boosting", "forest"])
def test_an_ensemble_is_learned_saved_evaluated_and_exported(kind: str, csv: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    learn = ("fit-ensemble", csv, "--target", "kind", "--attack", "0.05", "--model", kind, "--depth", 2, "--trees", 6)
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
