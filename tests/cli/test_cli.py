from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cli_runner import run
from hardwood import load_model


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A small messy table: semicolons, text labels, a column of names, quotes and a blank line."""
    rng = np.random.default_rng(0)
    path = tmp_path / "mail.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream, delimiter=";")
        writer.writerow(["id", "links", "length", "label"])
        for i in range(60):
            spam = i % 3 == 0
            writer.writerow([f"m;{i}", rng.integers(5, 12) if spam else rng.integers(0, 6), rng.integers(10, 99),
                             "spam" if spam else "ham"])  # fmt: skip
        stream.write("\n")
    return path


def fit(data: Path, *options: object, code: int = 0) -> str:
    return run("fit", data, "--target", "label", "--drop", "id", "--solver", "greedy", *options, code=code)


def test_fit_evaluate_predict_from_a_messy_file(data: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    shown = fit(data, "--attack", "links=2:0", "--attacked-class", "spam", "--depth", 2, "-o", model)
    assert "links" in shown
    assert "accuracy under attack" in shown
    assert load_model(model).tree.feature_names == ("links", "length")

    report = json.loads(run("evaluate", model, data, "--target", "label", "--json"))
    assert report["samples"] == 60
    assert [row["class"] for row in report["classes"]] == ["ham", "spam"]
    assert report["adversarial_accuracy"] <= report["accuracy"]
    table = run("evaluate", model, data, "--target", "label")
    assert "under attack" in table
    assert "Most fragile" in table

    output = tmp_path / "out.csv"
    run("predict", model, data, "-o", output)
    rows = list(csv.DictReader(output.read_text().splitlines()))
    expected = load_model(model).predict([[float(row["links"]), float(row["length"])] for row in rows])
    assert [row["prediction"] for row in rows] == expected.tolist()
    assert run("predict", model, data).splitlines()[0] == "id,links,length,label,prediction"
    assert json.loads(run("predict", model, data, "--json"))["predictions"] == expected.tolist()


def test_fit_prints_json_for_machines(data: Path) -> None:
    report = json.loads(fit(data, "--attack", "5%", "--json"))
    assert report["solver"] == "greedy"
    assert report["status"] == "feasible"
    assert 0 <= report["adversarial_accuracy"] <= report["accuracy"] <= 1
    assert report["tree"]["classes"] == ["ham", "spam"]


def test_the_attack_may_come_from_a_file_or_differ_when_evaluating(data: Path, tmp_path: Path) -> None:
    attack = tmp_path / "attack.toml"
    attack.write_text('classes = ["spam"]\n[features]\nlinks = [0, 2]\n')
    model = tmp_path / "model.json"
    fit(data, "--attack", attack, "-o", model)
    inline = tmp_path / "inline.json"
    fit(data, "--attack", "links=0:2,*=0", "--attacked-class", "spam", "-o", inline)
    assert load_model(model).attack == load_model(inline).attack
    weak = json.loads(run("evaluate", model, data, "-t", "label", "--json", "--attack", "0"))
    strong = json.loads(run("evaluate", model, data, "-t", "label", "--json", "--attack", "links=<>"))
    assert weak["adversarial_accuracy"] == weak["accuracy"] > strong["adversarial_accuracy"]


def test_whole_number_classes_match_between_files(tmp_path: Path) -> None:
    path = tmp_path / "numbers.csv"
    path.write_text("x,y\n0,0\n1,0\n2,1\n3,1\n")
    model = tmp_path / "model.json"
    run("fit", path, "-t", "y", "--solver", "greedy", "-o", model)
    assert json.loads(run("evaluate", model, path, "-t", "y", "--json"))["accuracy"] == 1


def test_weights_come_from_a_column(tmp_path: Path) -> None:
    path = tmp_path / "weighted.csv"
    path.write_text("x,w,y\n0,1,a\n1,9,b\n2,1,a\n")
    report = json.loads(run("fit", path, "-t", "y", "--weight", "w", "--depth", 0, "--solver", "greedy", "--json"))
    assert report["objective"] == 2


def test_solvers_are_listed() -> None:
    assert "greedy" in run("solvers")
    rows = json.loads(run("solvers", "--json"))
    assert {"solver", "proves", "engines", "summary"} <= set(rows[0])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--target", "colour", "--drop", "id"], "no column 'colour'; its columns are id, links, length, label"),
        (["--target", "label"], "column 'id' holds the text 'm;0'"),
        (["--target", "label", "--drop", "weight"], "no column 'weight'"),
        (["--target", "label", "--drop", "id", "--attack", "size=1"], "feature 'size'; the features are 'links'"),
        (["--target", "label", "--drop", "id", "--attack", "-1"], "-1"),
        (["--target", "label", "--drop", "id", "--attacked-class", "virus"], "class 'virus'"),
        (["--target", "label", "--drop", "id", "--depth", "-1"], "max_depth=-1"),
        (["--target", "label", "--drop", "id", "--solver", "magic"], "'magic' is not known"),
        (["--target", "label", "--drop", "id", "--solver", "greedy", "--engine", "highs"], "no choice of engine"),
        (["--target", "label", "--drop", "id", "--jobs", "0"], "--jobs 0"),
        (["--target", "label", "--drop", "id", "-o", "missing/model.json"], "there is no folder missing"),
    ],
)
def test_bad_requests_say_what_is_wrong_and_touch_no_file(
    data: Path, tmp_path: Path, arguments: list[str], said: str
) -> None:
    model = tmp_path / "model.json"
    model.write_text("precious")
    output = [] if "-o" in arguments else ["-o", str(model)]
    assert said in run("fit", data, "--solver", "greedy", *arguments, *output, code=1)
    assert model.read_text() == "precious"


def test_a_model_and_a_table_that_do_not_fit_are_refused(data: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    fit(data, "-o", model)
    other = tmp_path / "other.csv"
    other.write_text("links,label\n1,ham\n")
    assert "no column 'length', which the model needs" in run("predict", model, other, code=1)
    assert "not a hardwood model" in run("predict", data, data, code=1)
    assert "--attacked-class needs --attack" in run(
        "evaluate", model, data, "-t", "label", "--attacked-class", "spam", code=1
    )


def test_exit_codes_and_messages_of_the_installed_command(data: Path, tmp_path: Path) -> None:
    def command(*arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "hardwood", *map(str, arguments)], capture_output=True, text=True, timeout=120
        )

    assert command("--version").stdout.startswith("hardwood ")
    failed = command("fit", tmp_path / "nowhere.csv", "--target", "label")
    assert failed.returncode == 1
    assert failed.stderr.startswith("Error: cannot read CSV file")
    assert "Traceback" not in failed.stderr
    assert command("fit", data).returncode == 2
    assert command("fly").returncode == 2
