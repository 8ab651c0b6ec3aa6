from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import Rectangle
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from hardwood import (
    EndReason,
    GreedyRobustTreeClassifier,
    InvalidInputError,
    MissingEngineError,
    Result,
    RobustTreeClassifier,
    adversarial_accuracy,
)
from hardwood.plain_data import printable
from hardwood.plotting import plot_convergence, plot_regions, plot_robustness_curve, plot_tree
from hardwood.solvers.result import Status, TracePoint

mpl.use("Agg")
import matplotlib.pyplot as plt

X, y = load_iris(return_X_y=True, as_frame=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[y]
CLF = GreedyRobustTreeClassifier(2, attack=0.3).fit(X, NAMES)


@pytest.fixture(autouse=True)
def close_figures() -> Iterator[None]:
    yield
    plt.close("all")


def texts(ax: object) -> str:
    return "\n".join(text.get_text() for text in ax.texts)  # type: ignore[attr-defined]


def test_a_tree_shows_conditions_answers_and_what_is_lost() -> None:
    ax = plot_tree(CLF, X, NAMES)
    shown = texts(ax)
    assert "petal length" in shown
    assert "setosa" in shown
    assert f"150 samples, {1 - CLF.adversarial_score(X, NAMES):.0%} lost" in shown
    ax.figure.canvas.draw()
    plain = texts(plot_tree(CLF.tree_))
    assert "lost" not in plain
    assert plain.count("yes") == plain.count("no") == CLF.get_n_leaves() - 1


def test_bars_are_as_long_as_their_share() -> None:
    ax = plot_tree(CLF, X, NAMES)
    bars = [patch for patch in ax.patches if isinstance(patch, Rectangle)][:4]
    lengths = np.array([bar.get_width() for bar in bars])
    lost = 1 - CLF.adversarial_score(X, NAMES)
    assert lengths[-1] / lengths.sum() == pytest.approx(lost)


def test_it_draws_into_the_axes_it_is_given() -> None:
    figure, axes = plt.subplots(2, 2)
    result = CLF.result_
    assert plot_tree(CLF, ax=axes[0, 0]) is axes[0, 0]
    assert plot_regions(CLF, X, NAMES, ax=axes[0, 1]) is axes[0, 1]
    assert plot_convergence(result, ax=axes[1, 0]) is axes[1, 0]
    assert plot_robustness_curve(CLF, X, NAMES, ax=axes[1, 1]) is axes[1, 1]
    assert plt.get_fignums() == [figure.number]
    figure.canvas.draw()


def test_scikit_learn_trees_and_models_can_be_drawn_too() -> None:
    cart = DecisionTreeClassifier(max_depth=2).fit(X, NAMES)
    assert "petal" in texts(plot_tree(cart))
    assert "petal" in texts(plot_tree(CLF.to_model(), X, NAMES))
    with pytest.raises(InvalidInputError, match=r"say which attack=\.\.\. to draw"):
        plot_tree(cart, X, NAMES)
    with pytest.raises(InvalidInputError, match="LogisticRegression has no decision tree"):
        plot_tree(LogisticRegression())


@pytest.mark.parametrize("text", ["$\\frac{1}", "a$b$c", "_hidden", "x" * 10_000, "a\nb", "\0\x1b[2J", "{x}%s", "\\"])
def test_hostile_names_are_drawn_letter_by_letter(text: str) -> None:
    table = X.set_axis([text, *X.columns[1:]], axis=1)
    labels = np.where(y == 0, text, "other")
    tree = GreedyRobustTreeClassifier(1, attack=0.1).fit(table.iloc[:, [0, 1]], labels)
    for ax in (
        plot_tree(tree, table.iloc[:, [0, 1]], labels),
        plot_regions(tree, table.iloc[:, [0, 1]], labels),
        plot_robustness_curve({text: tree}, table.iloc[:, [0, 1]], labels),
    ):
        ax.figure.canvas.draw()
        box = ax.get_legend()
        assert box is not None
        legend = [entry.get_text() for entry in box.get_texts()]
        start = printable(text)[:10].replace("$", r"\$")
        assert any(entry.strip().startswith(start) for entry in legend)


def test_regions_show_every_sample_once_and_an_arrow_for_each_success() -> None:
    ax = plot_regions(CLF, X, NAMES)
    drawn = sum(len(np.asarray(points.get_offsets())) for points in ax.collections)
    assert drawn == 150
    arrows = [text for text in ax.texts if getattr(text, "arrow_patch", None) is not None]
    moved = CLF.attack_samples(X, NAMES)
    succeeded = ~np.isnan(moved).any(axis=1) & (moved != X.to_numpy()).any(axis=1)
    first, second = (list(X.columns).index(label) for label in (ax.get_xlabel(), ax.get_ylabel()))
    seen = (moved[:, [first, second]] != X.to_numpy()[:, [first, second]]).any(axis=1)
    assert len(arrows) == np.sum(succeeded & seen)
    assert not plot_regions(CLF, X, NAMES, show_attacks=False, show_boxes=False).texts


def test_regions_are_chosen_by_name_or_number() -> None:
    ax = plot_regions(CLF, X, NAMES, features=("petal length (cm)", 1), fixed={3: 1.6})
    assert ax.get_title(loc="left") in ("", "slice at petal width (cm) = 1.6")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("petal length (cm)", "sepal width (cm)")
    for features, said in ((("age", 0), "names 'age'"), ((0, 9), "numbered 0 to 3"), ((1, 1), "two different")):
        with pytest.raises(InvalidInputError, match=said):
            plot_regions(CLF, X, NAMES, features=features)
    one = GreedyRobustTreeClassifier(1).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(InvalidInputError, match="one feature only"):
        plot_regions(one, [[0.0], [1.0]], [0, 1])


def test_regions_refuse_to_mislead() -> None:
    """With petals as short as a setosa's every flower looks like one, whatever the tree says about it."""
    with pytest.raises(InvalidInputError, match="of 150 samples where the tree does not see them"):
        plot_regions(CLF, X, NAMES, features=(0, 1), fixed={2: 1.0, 3: 0.2})
    ax = plot_regions(CLF, X, NAMES, features=(2, 3))
    assert ax.get_title(loc="left") == ""
    box = ax.get_legend()
    assert box is not None
    assert not any("slice" in entry.get_text() for entry in box.get_texts())


def test_the_curve_is_in_multiples_of_the_models_own_attack() -> None:
    cart = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, NAMES)
    ax = plot_robustness_curve({"CART": cart, "robust": CLF}, X, NAMES)
    assert ax.get_xlabel() == "multiples of the attack (every feature ±0.3)"
    assert "trained against" in texts(ax)
    assert [float(np.asarray(line.get_xdata())[0]) for line in ax.lines if len(np.asarray(line.get_xdata())) == 2] == [
        1
    ]
    other = GreedyRobustTreeClassifier(2, attack=0.1).fit(X, NAMES)
    with pytest.raises(InvalidInputError, match="trained against different attacks"):
        plot_robustness_curve({"one": CLF, "other": other}, X, NAMES)
    with pytest.raises(InvalidInputError, match="none of the models"):
        plot_robustness_curve(cart, X, NAMES)
    assert (
        plot_robustness_curve({"one": CLF, "other": other}, X, NAMES, attack=1).get_xlabel() == "radius of the attack"
    )


def test_the_robustness_curve_is_the_exact_accuracy_at_every_radius() -> None:
    cart = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, NAMES)
    ax = plot_robustness_curve({"CART": cart, "robust": CLF}, X, NAMES, attack=1.0, mark=0.3)
    line = ax.lines[1]
    radius, share = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    for r in (0.0, 0.1, 0.25, 0.3, 0.777):
        # Between two points the curve has the value of the right one.
        drawn = share[np.searchsorted(radius, r, side="left")]
        assert drawn == pytest.approx(adversarial_accuracy(CLF.tree_, X, NAMES, r))
    legend = ax.get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["CART", "robust"]


def test_convergence_ends_where_the_result_does() -> None:
    points = ((0.0, np.inf, 0.0), (0.1, 30.0, 2.0), (0.5, 10.0, 5.0), (1.0, 10.0, 10.0))
    trace = tuple(TracePoint(*point) for point in points)
    proven = Result(CLF.tree_, Status.OPTIMAL, 10.0, 10.0, trace, 1.5, "search", EndReason.PROOF)
    ax = plot_convergence({"ours": proven, "greedy": CLF})
    assert np.asarray(ax.lines[0].get_xdata())[-1] == 1.5
    assert np.asarray(ax.lines[0].get_ydata())[0] == 30
    assert [np.asarray(line.get_ydata())[-1] for line in ax.lines[:2]] == [10, 10]
    assert "proven" in texts(ax)
    with pytest.raises(InvalidInputError, match="neither a Result"):
        plot_convergence(3)


def test_time_is_logarithmic_where_it_spans_orders_of_magnitude() -> None:
    def course(*seconds: float) -> Any:
        points = tuple(TracePoint(second, 9 - k, k) for k, second in enumerate(seconds))
        return replace(CLF.result_, trace=points, runtime=seconds[-1])

    assert plot_convergence(course(0.1, 0.11)).get_xscale() == "linear"
    assert plot_convergence(course(0.1, 5.0)).get_xscale() == "log"
    assert plot_convergence({"a": course(0.1, 0.2), "b": course(3.0, 4.0)}).get_xscale() == "log"
    assert plot_convergence(course(0.1, 0.11), log=True).get_xscale() == "log"
    plt.close("all")


def test_without_matplotlib_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingEngineError, match=r"hardwood\[plot\]"):
        plot_tree(CLF)


def test_the_curve_of_a_tree_with_categories_and_gaps_is_its_accuracy_under_attack() -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"size": rng.random(80), "colour": rng.choice(["red", "blue"], 80)})
    frame.loc[::11, "size"] = np.nan
    y = np.where((frame["size"].fillna(0.2) > 0.5) ^ (frame["colour"] == "red"), "a", "b")
    clf = RobustTreeClassifier(2, attack={"size": 0.1}, missing="reachable", categorical_features=["colour"]).fit(
        frame, y
    )
    [line] = [line for line in plot_robustness_curve(clf, frame, y).lines if line.get_label() == "accuracy"]
    at, share = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    for factor in (0.1, 0.5, 1.0):
        drawn = share[np.searchsorted(at, factor)]
        expected = clf.adversarial_score(frame, y, attack=clf.attack_.scaled(factor))
        assert drawn == pytest.approx(expected, abs=1.5 / 80), factor
    plt.close("all")
