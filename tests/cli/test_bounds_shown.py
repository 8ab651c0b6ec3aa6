"""The bound on the command line and in figures."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli_runner import run
from hardwood import MissingEngineError, adversarial_accuracy_bound, epsilon_curve
from hardwood.plotting import plot_epsilon_curve


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    path = tmp_path / "mail.csv"
    rows = [f"{rng.integers(0, 20)},{rng.integers(0, 9)},{1 + i % 2},{'spam' if i % 3 else 'ham'}" for i in range(40)]
    path.write_text("\n".join(["links,length,times,label", *rows]) + "\n")
    return path


def columns(path: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = [line.split(",") for line in path.read_text().splitlines()[1:]]
    return (
        np.array([row[:2] for row in rows], dtype=float),
        np.array([row[3] for row in rows]),
        np.array([row[2] for row in rows], dtype=float),
    )


def test_bound_prints_what_the_function_returns(data: Path) -> None:
    X, y, weight = columns(data)
    attack = {0: 2.0, 1: (0.0, 1.0)}
    expected = adversarial_accuracy_bound(X, y, attack, weight)
    options = ("--target", "label", "--weight", "times", "--attack", "links=2,length=0:1")
    found = json.loads(run("bound", data, *options, "--json"))
    assert found["bound"] == expected.bound
    assert found["errors"] == expected.errors > 0
    assert found["cover"] == expected.cover.tolist()
    assert found["cover_lines"] == [i + 2 for i in expected.cover]
    assert found["exact"] is True
    assert found["attack"].startswith("links ±2")
    shown = run("bound", data, *options, "--features", "--show", 2)
    assert f"{expected.errors:g} of 60" in shown
    assert f"2 of {len(expected.matching)} pairs" in shown
    assert "if untouchable" in shown
    only_ham = json.loads(run("bound", data, *options, "--attacked-class", "ham", "--features", "--json"))
    assert only_ham["errors"] <= found["errors"]
    assert {row["feature"] for row in only_ham["features"]} == {"links", "length"}


def test_epsilons_prints_the_curve_and_the_chosen_radii(data: Path, tmp_path: Path) -> None:
    X, y, _ = columns(data)
    spread = X.max(axis=0) - X.min(axis=0)
    expected = epsilon_curve(X / spread, y, np.arange(11) / 20)
    picture = tmp_path / "curve.png"
    options = ("--target", "label", "--drop", "times", "--step", 0.05)
    found = json.loads(run("epsilons", data, *options, "--json", "--plot", picture))
    assert found["epsilons"] == [k / 20 for k in range(11)]
    assert found["errors"] == expected.errors.tolist()
    assert [row["epsilon"] for row in found["chosen"]] == expected.choose().tolist()
    assert picture.read_bytes().startswith(b"\x89PNG")
    shown = run("epsilons", data, *options, "--shares", "0.5")
    assert "Radius at 50 % of the range" in shown
    assert f"{expected.errors[-1]:g}" in shown
    assert "none is large enough" in run("epsilons", data, *options, "--max", 0.0)


def test_epsilons_takes_several_files_at_once(data: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_bytes(data.read_bytes())
    picture = tmp_path / "both.svg"
    found = json.loads(run("epsilons", data, other, "--target", "label", "--step", 0.25, "--json", "--plot", picture))
    assert [one["data"] for one in found] == ["mail", "other"]
    assert found[0]["errors"] == found[1]["errors"]
    assert b"<svg" in picture.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bound", "-a", "1", "--target", "nothing"), "no column 'nothing'"),
        (("bound", "--target", "label", "--attack", "speed=1"), "'speed'"),
        (("bound", "-a", "1", "--target", "label", "--weight", "nothing"), "no column 'nothing'"),
        (("epsilons", "--target", "label", "--step", "0"), "the step above 0"),
        (("epsilons", "--target", "label", "--step", "1e-9"), "at most 100000"),
        (("epsilons", "--target", "label", "--shares", "half"), "numbers between 0 and 1"),
        (("epsilons", "--target", "label", "--plot", "curve.txt"), "must end in .png"),
        (("epsilons", "--target", "label", "--plot", "no/folder/curve.png"), "there is no folder"),
    ],
)
def test_what_cannot_be_done_is_said(data: Path, arguments: tuple[str, ...], message: str) -> None:
    command, *others = arguments
    assert message in run(command, data, *others, code=1)


def test_the_same_file_twice_is_refused(data: Path) -> None:
    assert "given twice" in run("epsilons", data, data, "--target", "label", code=1)


def texts_of(legend: Any) -> list[str]:
    return [text.get_text() for text in legend.get_texts()]


def test_the_figure_is_drawn_into_the_given_axes() -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    rng = np.random.default_rng(0)
    X, y = rng.random((60, 2)), np.arange(60) % 2
    curves = {f"set {k}": epsilon_curve(X, np.roll(y, k)) for k in range(5)}
    axes = plt.subplots(1, 2)[1]
    try:
        assert plot_epsilon_curve(curves, axes[0]) is axes[0]
        drawn = {line.get_label(): line for line in axes[0].lines}
        for name, curve in curves.items():
            assert np.asarray(drawn[name].get_ydata()).tolist() == curve.bound.tolist()
        assert texts_of(axes[0].get_legend()) == [*curves, "chosen radii", "majority class"]
        one = plot_epsilon_curve(curves["set 0"], axes[1], chosen=False, floor=False)
        assert texts_of(one.get_legend()) == ["no model is better"]
        # A single radius, too small for any choice, is still a figure.
        single = plot_epsilon_curve(epsilon_curve(X, y, [0.0]))
        assert len(np.asarray(single.lines[0].get_xdata())) == 1
    finally:
        plt.close("all")


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingEngineError, match=r"hardwood\[plot\]"):
        plot_epsilon_curve(epsilon_curve([[0.0], [1.0]], [0, 1]))


def test_a_proof_that_says_less_than_the_bound_is_said_to(data: Path, tmp_path: Path) -> None:
    proof = tmp_path / "b.hwp"
    said = run("bound", data, "-t", "label", "--weight", "times", "-a", "1", "--proof", proof)
    assert f"hardwood-checker {proof} {data}" in said
    assert "more than two samples" not in said
    three = tmp_path / "three.csv"
    three.write_text("a,y\n" + "".join(f"1.{i},{'xyz'[i % 3]}\n" for i in range(6)))
    said = run("bound", three, "-t", "y", "-a", "1", "--proof", proof)
    assert "4 of 6" in said
    assert "pairs, which prove 3 errors" in said
