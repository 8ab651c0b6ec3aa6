"""The comparison of all learners, its figure and its command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cli_runner import run
from hardwood import InvalidInputError, Tree, adversarial_accuracy, robustness
from hardwood.data import datasets
from hardwood.data.holdout import hold_out
from hardwood.evaluation.comparison import DEFAULT_METHODS, Comparison, Row, Score, compare
from hardwood.evaluation.methods import find_method, known_methods
from hardwood.solvers import registered_solvers

QUICK = ["CART", "relabel", "Chen", "Chen-IG", "GROOT", "FPRDT", "TREANT", "forest"]


@pytest.fixture(scope="module")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    return (rng.normal(size=(120, 3)) + 1.5 * y[:, None]).round(3), y


@pytest.fixture(scope="module")
def comparison(blobs: tuple[np.ndarray, np.ndarray]) -> Comparison:
    return compare(*blobs, 0.3, 2, learners=QUICK)


def test_every_learner_is_scored_on_both_parts(comparison: Comparison, blobs: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = blobs
    assert [row.name for row in comparison.rows] == QUICK
    assert (comparison.n_train, comparison.n_test) == (96, 24)
    train, test = hold_out(y, 0.2, 0)
    X_train, X_test, y_train, y_test = X[train], X[test], y[train], y[test]
    for row in comparison.rows:
        assert row.test is not None
        if row.name == "forest":
            assert row.errors is None
            assert row.train.attacked <= row.train.attacked_at_most <= row.train.accuracy
            continue
        assert isinstance(row.model, Tree)
        assert row.errors is not None
        assert row.train.attacked == row.train.attacked_at_most == pytest.approx(1 - row.errors / 96)
        assert row.train.attacked == adversarial_accuracy(row.model, X_train, y_train, 0.3)
        assert row.test.attacked == adversarial_accuracy(row.model, X_test, y_test, 0.3)
        assert row.test.accuracy == np.mean(row.model.predict(X_test) == y_test)


def test_a_comparison_knows_that_float32_was_rounded() -> None:
    # The boxes touch in decimals; as float32 the numbers lie 2e-9 farther apart, which is rounding there.
    X, y = np.repeat([[0.1], [0.2]], 10, axis=0).astype(np.float32), np.repeat(["low", "high"], 10)
    found = compare(X, y, 0.05, 1, learners=["search"], test_size=0.2)
    assert (found.bound, found.rows[0].errors) == (8, 8)
    assert found.rows[0].train.attacked == 0.5
    assert found.rows[0].test is not None
    assert found.rows[0].test.attacked == 0.5
    # As float64 they are what they are.
    assert compare(X.astype(np.float64), y, 0.05, 1, learners=["search"]).bound == 0


def test_relabelled_cart_loses_no_more_than_cart(comparison: Comparison) -> None:
    errors = {row.name: row.errors for row in comparison.rows if row.errors is not None}
    assert errors["relabel"] <= errors["CART"]


def test_the_gap_is_what_is_not_proven_to_be_unavoidable() -> None:
    score = Score(0.9, 0.8, 0.8)

    def row(errors: float | None) -> Row:
        return Row("x", "x", score, None, errors, 4, 0.1, "heuristic", None)  # type: ignore[arg-type]

    table = Comparison((row(20), row(15), row(None)), {}, 15, "search", 100, 0, 2, "±0.1")
    assert [table.gap(r) for r in table.rows] == [0.25, 0.0, None]
    assert table.accuracy_bound == 0.85


def test_all_learners_that_can_be_used_are_used_by_default(blobs: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = blobs
    told: list[str] = []
    three = np.where(X[:, 0] > 2, 2, y)
    table = compare(X, three, 0.2, 1, time_limit=20, on_start=lambda title, done, total: told.append(title))
    assert {row.name for row in table.rows} | set(table.left_out) == set(DEFAULT_METHODS)
    assert "two classes" in table.left_out["TREANT"]
    assert ("search" in table.left_out) == ("search" not in registered_solvers())
    assert told == [row.title for row in table.rows]


def test_every_solver_is_a_method_under_its_own_name() -> None:
    for name, solver in registered_solvers().items():
        method = find_method(name)
        assert method.recipe is not None
        assert method.recipe.solver == name
        assert method.proves == solver.proves


def test_names_of_methods_are_found_in_any_case_and_mean_one_thing_each() -> None:
    known = known_methods()
    spellings = [name.lower() for method in known.values() for name in (method.name, *method.aliases)]
    assert len(set(spellings)) == len(spellings)
    for name, method in known.items():
        assert find_method(name.upper()) is find_method(name.lower())
        assert method.name == name
        assert method.summary


@pytest.mark.skipif("search" not in registered_solvers(), reason="the exact search is not there")
def test_only_the_exact_search_gets_xor_right() -> None:
    X, y = datasets.make_xor()
    # The limit leaves time to compile the search.
    learners = ["cart", "groot", "chen", "fprdt", "treant", "search"]
    table = compare(X, y, 0.1, 2, test_size=0, time_limit=500, learners=learners)
    errors = {row.name: row.errors for row in table.rows if row.errors is not None}
    assert errors["search"] == table.bound == 0
    assert all(errors[name] >= 25 for name in ("GROOT", "Chen", "FPRDT", "TREANT"))


def test_nothing_need_be_held_out(blobs: tuple[np.ndarray, np.ndarray]) -> None:
    table = compare(*blobs, 0.3, 1, learners=["groot"], test_size=0)
    assert (table.n_train, table.n_test, table.rows[0].test) == (120, 0, None)


def test_what_cannot_be_compared_is_refused(blobs: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = blobs
    with pytest.raises(InvalidInputError, match="'magic' is not known; the methods are: CART"):
        compare(X, y, 0.1, learners=["magic"])
    with pytest.raises(InvalidInputError, match="'TREANT' cannot be used"):
        compare(X, np.where(X[:, 0] > 2, 2, y), 0.1, learners=["treant"])
    with pytest.raises(InvalidInputError, match="test_size=1"):
        compare(X, y, 0.1, test_size=1)
    lonely = np.concatenate([y[:-1], [7]])
    with pytest.raises(InvalidInputError, match="cannot be held out"):
        compare(X, lonely, 0.1, learners=["groot"])


def test_the_figure_shows_every_learner(comparison: Comparison) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    from hardwood.plotting.comparison import plot_comparison

    _, ax = plt.subplots()
    assert plot_comparison(comparison, ax) is ax
    assert [label.get_text() for label in ax.get_yticklabels()] == [row.title for row in comparison.rows]
    offsets = np.concatenate([np.asarray(points.get_offsets())[:, 0] for points in ax.collections])
    shown = {round(float(x), 9) for x in offsets if np.isfinite(x)}
    for row in comparison.rows:
        assert row.test is not None
        assert round(row.test.accuracy, 9) in shown
        assert round(row.train.attacked, 9) in shown
    plt.close("all")


@pytest.fixture
def table_file(tmp_path: Path, blobs: tuple[np.ndarray, np.ndarray]) -> Path:
    X, y = blobs
    path = tmp_path / "blobs.csv"
    rows = [f"{a},{b},{c},{'yes' if label else 'no'}" for (a, b, c), label in zip(X, y, strict=True)]
    path.write_text("\n".join(["first,second,third,class", *rows]))
    return path


def test_the_command_prints_a_table_and_writes_a_figure(table_file: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    figure = tmp_path / "figure.png"
    options = ("--attack", "10%", "--depth", 2, "--learners", "cart, treant", "--plot", figure)
    shown = run("compare", table_file, "--target", "class", *options)
    assert "96 samples to learn from, 24 held out; attack: every feature ±10 % of its range" in shown
    assert "TREANT" in shown
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_the_command_prints_json(table_file: Path) -> None:
    report = json.loads(
        run("compare", table_file, "-t", "class", "-a", "first=0.5", "--learners", "groot,forest", "--json")
    )
    assert (report["n_train"], report["max_depth"]) == (96, 3)
    assert [row["learner"] for row in report["learners"]] == ["GROOT", "forest"]
    assert report["learners"][0]["train"]["accuracy"] >= report["learners"][0]["train"]["attacked"]


def test_the_command_refuses_what_it_cannot_do(table_file: Path, tmp_path: Path) -> None:
    assert ".png, .svg or .pdf" in run(
        "compare", table_file, "-t", "class", "-a", "1", "--plot", tmp_path / "x.txt", code=1
    )
    assert "no folder" in run(
        "compare", table_file, "-t", "class", "-a", "1", "--plot", tmp_path / "no" / "x.png", code=1
    )
    assert "'magic' is not known" in run("compare", table_file, "-t", "class", "-a", "1", "--learners", "magic", code=1)
    assert "--jobs 0" in run("compare", table_file, "-t", "class", "-a", "1", "--jobs", 0, code=1)
    assert "--jobs 100000" in run("compare", table_file, "-t", "class", "-a", "1", "--jobs", 100_000, code=1)


def test_ctrl_c_ends_a_comparison_with_what_is_done(blobs: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = blobs

    def start(title: str, done: int, total: int) -> None:
        if done == 1:
            raise KeyboardInterrupt

    table = compare(X, y, 0.2, 1, learners=["CART", "GROOT", "search"], on_start=start)
    assert table.was_interrupted
    assert [row.name for row in table.rows] == ["CART"]
    assert table.left_out == dict.fromkeys(("GROOT", "search"), "interrupted before it was done")


def test_categories_gaps_and_weights_are_compared_too() -> None:
    rng = np.random.default_rng(5)
    X = np.empty((80, 2), dtype=object)
    X[:, 0] = rng.random(80)
    X[::9, 0] = np.nan
    X[:, 1] = rng.choice(["red", "blue"], 80)
    y = np.where((np.nan_to_num(X[:, 0].astype(float)) > 0.5) ^ (X[:, 1] == "red"), "a", "b")
    table = compare(
        X, y, {"size": 0.05}, 2, learners=["CART", "GROOT", "search"], sample_weight=np.arange(1.0, 81),
        feature_names=("size", "colour"), categorical_features=["colour"], missing="reachable",
    )  # fmt: skip
    assert len(table.rows) == 3
    assert table.rows[2].errors == pytest.approx(table.bound)


def test_ensembles_are_compared_on_gaps_which_may_be_anything() -> None:
    rng = np.random.default_rng(6)
    X = rng.random((90, 3))
    y = (X[:, 0] + 0.4 * X[:, 1] > 0.7).astype(int)
    X[rng.random(X.shape) < 0.08] = np.nan
    found = compare(X, y, 0.03, 2, learners=["forest", "optimal-forest", "boosting"], missing="reachable", test_size=0)
    assert found.left_out == {}
    for row in found.rows:
        verdict = robustness(row.model, X, y, 0.03)
        assert not verdict.is_open.any()
        assert row.train.attacked == pytest.approx(verdict.is_robust.mean())
        assert row.train.accuracy == np.mean(row.model.predict(X) == y)
        # Whatever stands for the gaps, and wherever the attacker moves the rest, a robust sample is right.
        for _ in range(40):
            moved = np.where(np.isnan(X), rng.uniform(-1, 2, X.shape), X + rng.uniform(-0.03, 0.03, X.shape))
            assert np.all((row.model.predict(moved) == y)[verdict.is_robust]), row.name
        assert verdict.is_robust.mean() > 0.5


def test_numbers_that_scikit_learn_cannot_take_are_named(tmp_path: Path) -> None:
    path = tmp_path / "huge.csv"
    path.write_text("a,b,y\n" + "".join(f"{i}e300,{i % 7},{int(i < 15)}\n" for i in range(30)))
    said = run("compare", path, "-t", "y", "-a", "5%", "-d", 1, code=1)
    assert "column 'a' holds" in said
    assert "search" in run("compare", path, "-t", "y", "-a", "5%", "-d", 1, "--learners", "groot,search")
