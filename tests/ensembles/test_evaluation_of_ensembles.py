"""What takes trees takes ensembles: scores, examples, radii, curves and the command line."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

from cli_runner import run
from ensemble_models import fitted, own_answers, table
from hardwood import (
    InvalidInputError,
    adversarial_accuracy,
    attack_samples,
    make_adversarial_scorer,
    robust_radius,
    robustness,
)
from hardwood.cli.app import app
from hardwood.ensembles.radius import radius_brackets
from hardwood.ensembles.verification import UndecidedAttackWarning
from hardwood.export.scikit_learn import from_sklearn


@pytest.fixture(scope="module")
def data() -> tuple[Any, Any]:
    return table(np.random.default_rng(1), 150, 3, 2)


def test_scores_and_examples_are_those_of_robustness(data: tuple[Any, Any]) -> None:
    X, y = data
    model = fitted("xgboost", X, y, 10, 3, 0)
    found = robustness(model, X, y, 0.05)
    low, high = found.interval()
    assert adversarial_accuracy(model, X, y, 0.05) == low == high
    assert make_adversarial_scorer(0.05)(model, X, y) == low
    assert np.array_equal(attack_samples(model, X, y, 0.05), found.examples, equal_nan=True)
    weight = np.where(found.is_robust, 1.0, 0.0)
    assert adversarial_accuracy(model, X, y, 0.05, weight) == 1.0
    with pytest.warns(UndecidedAttackWarning, match="count as lost"):
        assert adversarial_accuracy(model, X, y, 0.05, time_limit=0.0) == 0.0


def test_the_scorer_chooses_among_forests(data: tuple[Any, Any]) -> None:
    X, y = data
    scorer = make_adversarial_scorer(0.05)
    search = GridSearchCV(RandomForestClassifier(5, random_state=0), {"max_depth": [1, 3]}, scoring=scorer, cv=2)
    search.fit(X, y)
    assert scorer(search, X, y) == adversarial_accuracy(search.best_estimator_, X, y, 0.05)
    assert cross_val_score(RandomForestClassifier(3, max_depth=2, random_state=0), X, y, scoring=scorer).shape == (5,)


def test_one_tree_is_judged_alike_as_a_tree_and_as_an_ensemble(data: tuple[Any, Any]) -> None:
    X, y = data
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
    tree = from_sklearn(model)
    for attack in (0.0, 0.03, 0.1, [0.1, 0.0, 0.2]):
        assert adversarial_accuracy(model, X, y, attack) == adversarial_accuracy(tree, X, y, attack)
    exact = robust_radius(tree, X, y)
    found = radius_brackets(model, X, y, tolerance=1e-6)
    assert np.all(found.lower <= exact * (1 + 1e-8) + 1e-12)
    assert np.all(found.upper >= exact * (1 - 1e-8) - 1e-12)
    wide = np.isfinite(exact) & (exact > 1e-6)
    assert np.all(found.upper[wide] - found.lower[wide] <= 1e-6 * found.upper[wide])


@pytest.mark.parametrize("name", ["forest", "xgboost", "lightgbm"])
def test_radii_are_proven_below_and_shown_above(name: str, data: tuple[Any, Any]) -> None:
    X, y = data[0][:30], data[1][:30]
    model = fitted(name, *data, 8, 3, 0)
    found = radius_brackets(model, X, y, {0: 1.0, 1: (0.5, 1.0)}, tolerance=1e-2)
    right = own_answers(model, X) == y
    assert np.array_equal(found.lower == -np.inf, ~right)
    assert np.array_equal(robust_radius(model, X, y, {0: 1.0, 1: (0.5, 1.0)}, tolerance=1e-2), found.lower)
    fooled = np.isfinite(found.upper)
    assert fooled.any()
    assert np.all(own_answers(model, found.examples[fooled]) != y[fooled])
    move = found.examples[fooled] - X[fooled]
    reach = np.where(move < 0, [1.0, 0.5, 0.0], [1.0, 1.0, 0.0])
    assert np.all(np.abs(move) <= found.upper[fooled, None] * reach * (1 + 1e-8) + 1e-12)
    for i in np.flatnonzero(fooled & (found.lower > 0))[:6]:
        for factor, is_robust in ((found.lower[i], True), (found.upper[i], False)):
            one = robustness(model, X[[i]], y[[i]], {0: factor, 1: (0.5 * factor, factor)})
            assert one.is_robust[0] == is_robust
    with pytest.raises(InvalidInputError, match="tolerance"):
        radius_brackets(model, X, y, tolerance=0.0)


def test_a_curve_is_drawn_for_an_ensemble(data: tuple[Any, Any]) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    from hardwood.plotting import plot_robustness_curve

    X, y = data
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y)
    models = {"forest": forest, "tree": DecisionTreeClassifier(max_depth=2).fit(X, y)}
    ax = plot_robustness_curve(models, X, y, attack=0.1)
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["forest", "tree"]


@pytest.fixture
def csv(tmp_path: Path, data: tuple[Any, Any]) -> Path:
    X, y = data
    path = tmp_path / "data.csv"
    np.savetxt(path, np.column_stack([X, y]), delimiter=",", header="a,b,c,kind", comments="", fmt="%g")
    return path


@pytest.mark.parametrize("name", ["xgboost", "lightgbm"])
def test_saved_ensembles_are_evaluated_on_the_command_line(
    name: str, csv: Path, tmp_path: Path, data: tuple[Any, Any]
) -> None:
    X, y = data
    model = fitted(name, X, y, 6, 3, 0)
    path = tmp_path / ("model.json" if name == "xgboost" else "model.txt")
    (model if name == "xgboost" else model.booster_).save_model(path)
    report = json.loads(run("evaluate", path, csv, "--target", "kind", "--attack", "0.05", "--json"))
    found = robustness(model, X, y, 0.05)
    assert report["samples"] == len(y)
    assert report["accuracy"] == np.mean(own_answers(model, X) == y)
    assert report["adversarial_accuracy"] == report["adversarial_accuracy_upper"] == found.interval()[0]
    assert report["open"] == 0
    shown = run("evaluate", path, csv, "--target", "kind", "--attack", "0.05", "--jobs", "2")
    assert "under attack" in shown
    assert "--attack" in run("evaluate", path, csv, "--target", "kind", code=1)


def test_a_pickle_is_loaded_only_on_request_and_with_a_warning(
    csv: Path, tmp_path: Path, data: tuple[Any, Any]
) -> None:
    X, y = data
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, y)))
    arguments = ("evaluate", path, csv, "--target", "kind", "--attack", "0.05")
    assert "--unpickle" in run(*arguments, code=1)
    trusted = CliRunner().invoke(app, [*map(str, arguments), "--unpickle"])
    assert trusted.exit_code == 0
    assert "runs whatever code is in it" in trusted.stderr
    assert "under attack" in trusted.stdout
