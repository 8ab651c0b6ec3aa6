from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer

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
    attack = () if "--attack" in options else ("--attack", 0)
    return run("fit", data, "--target", "label", "--drop", "id", "--solver", "greedy", *attack, *options, code=code)


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
    rows = list(csv.DictReader(output.read_text().splitlines(), delimiter=";"))
    expected = load_model(model).predict([[float(row["links"]), float(row["length"])] for row in rows])
    assert [row["prediction"] for row in rows] == expected.tolist()
    assert run("predict", model, data).splitlines()[0] == "id;links;length;label;prediction"
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
    run("fit", path, "-t", "y", "--attack", 0, "--holdout", 0, "--solver", "greedy", "-o", model)
    assert json.loads(run("evaluate", model, path, "-t", "y", "--json"))["accuracy"] == 1


def test_weights_come_from_a_column(tmp_path: Path) -> None:
    path = tmp_path / "weighted.csv"
    path.write_text("x,w,y\n0,1,a\n1,9,b\n2,1,a\n")
    options = ("--attack", 0, "--weight", "w", "--depth", 0, "--solver", "greedy", "--holdout", 0, "--json")
    report = json.loads(run("fit", path, "-t", "y", *options))
    assert report["objective"] == 2


def test_solvers_are_listed() -> None:
    assert "greedy" in run("solvers")
    rows = json.loads(run("solvers", "--json"))
    assert {"solver", "proves", "engines", "summary"} <= set(rows[0])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--target", "colour", "--drop", "id"], "no column 'colour'; its columns are id, links, length, label"),
        (["--target", "label"], "--drop id"),
        (["--target", "label", "--drop", "weight"], "no column 'weight'"),
        (["--target", "label", "--drop", "id", "--attack", "size=1"], "feature 'size'; the features are 'links'"),
        (["--target", "label", "--drop", "id", "--attack", "-1"], "-1"),
        (["--target", "label", "--drop", "id", "--attacked-class", "virus"], "class 'virus'"),
        (["--target", "label", "--drop", "id", "--depth", "-1"], "max_depth=-1"),
        (["--target", "label", "--drop", "id", "--solver", "magic"], "'magic' is not known"),
        (["--target", "label", "--drop", "id", "--solver", "greedy", "--engine", "highs"], "no choice of engine"),
        (["--target", "label", "--drop", "id", "--jobs", "0"], "--jobs 0"),
        (["--target", "label", "--drop", "id", "--jobs", "100000"], "--jobs 100000"),
        (["--target", "label", "--drop", "id", "--drop", "label"], "--drop label would leave out the target"),
        (["--target", "label", "--drop", "id", "--weight", "label"], "--weight label: the column is the target"),
        (["--target", "label", "--drop", "id", "--weight", "id"], "--weight id: the column is dropped"),
        (["--target", "label", "--drop", "id", "--categorical", "label"], "--categorical label: the column is not a"),
        (["--target", "label", "--drop", "id", "--categorical", "colour"], "no column 'colour'"),
        (["--target", "label", "--drop", "id", "--drop", "links", "--drop", "length"], "no feature column besides"),
        (["--target", "label", "--drop", "id", "--attack", "nothing.toml"], "cannot read attack file nothing.toml"),
        (["--target", "label", "--drop", "id", "--attack", "links=a"], "the attack on feature 'links' is 'a'"),
        (["--target", "label", "--drop", "id", "--attack", "nan"], "nan"),
        (["--target", "label", "--drop", "id", "--time-limit", "nan"], "time_limit=nan"),
        (["--target", "label", "--drop", "id", "--time-limit", "-1"], "time_limit=-1"),
        (["--target", "label", "--drop", "id", "--max-gap", "2"], "max_gap=2"),
        (["--target", "label", "--drop", "id", "--seed", "-1"], "random_state=-1"),
        (["--target", "label", "--drop", "id", "--leaf-penalty", "nan"], "leaf_penalty=nan"),
        (["--target", "label", "--drop", "id", "--min-samples-leaf", "-1"], "min_samples_leaf=-1"),
        (["--target", "label", "--drop", "id", "-o", "."], "it is a folder"),
        (["--target", "label\0", "--drop", "id"], "no column"),
        (["--target", "label", "--drop", "id", "-o", "missing/model.json"], "there is no folder missing"),
    ],
)
def test_bad_requests_say_what_is_wrong_and_touch_no_file(
    data: Path, tmp_path: Path, arguments: list[str], said: str
) -> None:
    model = tmp_path / "model.json"
    model.write_text("precious")
    output = [] if "-o" in arguments else ["-o", str(model)]
    attack = [] if "--attack" in arguments else ["--attack", "0"]
    assert said in run("fit", data, "--solver", "greedy", *attack, *arguments, *output, code=1)
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


def test_evaluating_another_column_than_the_classes_is_not_0_percent(data: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    fit(data, "-o", model)
    said = run("evaluate", model, data, "-t", "id", code=1)
    assert "holds no class of the model" in said
    assert "'m;0'" in said
    assert "'ham', 'spam'" in said
    said = run("evaluate", model, data, "-t", "links", code=1)
    assert "holds no class of the model" in said
    some = tmp_path / "some.csv"
    some.write_text(data.read_text().replace(";spam", ";virus", 3))
    report = json.loads(run("evaluate", model, some, "-t", "label", "--json"))
    assert report["unknown_labels"] == ["virus"]
    assert report["accuracy"] <= 57 / 60


@pytest.mark.parametrize("command", [["predict"], ["evaluate", "-t", "label"], ["explain", "-r", "1"]])
def test_a_file_that_cannot_be_read_is_named(command: list[str], data: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    fit(data, "-o", model)
    name, *options = command
    binary = tmp_path / "binary.csv"
    binary.write_bytes(b"a,b\n\xff\xfe\0\n")
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    for table, message in (
        (tmp_path / "nothing.csv", "nothing.csv"),
        (tmp_path, "cannot read"),
        (binary, "it is not text"),
        (empty, "is empty"),
    ):
        assert message in run(name, model, table, *options, code=1)
        assert "cannot read" in run(name, tmp_path / "nothing.json", data, *options, code=1)
    run(name, "nul\0.json", data, *options, code=2)


def test_a_row_or_a_column_that_is_not_there_is_said(data: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    fit(data, "-o", model)
    assert "--row 0" in run("explain", model, data, "--row", 0, code=1)
    assert "--row 61" in run("explain", model, data, "--row", 61, code=1)
    assert "no column 'colour'" in run("explain", model, data, "--row", 1, "-t", "colour", code=1)
    assert "no column 'colour'" in run("evaluate", model, data, "-t", "colour", code=1)
    assert "Decision" in run("explain", model, data, "--row", 1, "-t", "label")


@pytest.mark.parametrize("name", ["int", "2x", "a b", "", "while", "predict;", "main()"])
@pytest.mark.parametrize("language", ["c", "python"])
def test_names_that_are_no_functions_are_refused(name: str, language: str, data: Path, tmp_path: Path) -> None:
    if (name, language) == ("int", "python"):
        pytest.skip("a fine name in Python")
    model = tmp_path / "model.json"
    fit(data, "-o", model)
    assert repr(name) in run("export", model, "--to", language, "--name", name, code=1)


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit"],
        ["fit", "data.csv"],
        ["fit", "data.csv", "-t", "y"],
        ["fit", "data.csv", "-t", "y", "-a", "0", "--depth", "two"],
        ["fit", "data.csv", "-t", "y", "-a", "0", "--start", "cold"],
        ["export", "model.json", "--to", "cobol"],
        ["explain", "model.json", "data.csv"],
        ["reproduce"],
        ["report"],
        ["dance"],
        ["--loud"],
    ],
)
def test_a_command_line_that_cannot_be_understood_ends_with_2(arguments: list[str]) -> None:
    run(*arguments, code=2)


def test_places_where_no_results_can_go_are_said(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("precious")
    assert "it is a file" in run("reproduce", "xor", "-o", in_the_way, code=1)
    assert "is a file" in run("reproduce", "xor", "-o", in_the_way / "below", code=1)
    run("reproduce", "xor", "-o", "nul\0", code=2)
    assert in_the_way.read_text() == "precious"
    assert "cannot read results" in run("report", tmp_path / "nothing.jsonl", code=1)
    run("report", "nul\0.jsonl", code=2)
    assert "cannot read results" in run("report", tmp_path, code=1)
    assert "not a result" in run("report", _written(tmp_path / "a.jsonl", b"{}\n"), "-o", tmp_path / "a.html", code=1)
    assert "damaged" in run(
        "report", _written(tmp_path / "b.jsonl.gz", b"\x1f\x8b\x08\0"), "-o", tmp_path / "b.html", code=1
    )
    assert "no folder" in run("report", tmp_path / "a.jsonl", "-o", tmp_path / "no" / "a.html", code=1)
    assert not (tmp_path / "a.html").exists()


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_read_only_is_said(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert "Permission denied" in run("reproduce", "xor", "-o", tmp_path / "results", code=1)
    tmp_path.chmod(0o700)


def test_exit_codes_and_messages_of_the_installed_command(data: Path, tmp_path: Path) -> None:
    def command(*arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "hardwood", *map(str, arguments)], capture_output=True, text=True, timeout=120
        )

    assert command("--version").stdout.startswith("hardwood ")
    failed = command("fit", tmp_path / "nowhere.csv", "--target", "label", "--attack", "5%")
    assert failed.returncode == 1
    assert failed.stderr.startswith("Error: cannot read CSV file")
    assert "Traceback" not in failed.stderr
    assert command("fit", data).returncode == 2
    assert command("fly").returncode == 2


def test_help_shows_every_command_in_the_order_in_which_one_needs_it() -> None:
    from hardwood.cli.app import PANELS, app

    named = [name for names in PANELS.values() for name in names]
    assert sorted(named) == sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    shown = run("--help")
    places = [shown.index(f"│ {name} ") for name in named]
    assert places == sorted(places)
    assert all(panel in shown for panel in PANELS)


def test_a_forgotten_attack_is_asked_for(data: Path) -> None:
    for command in ("fit", "compare", "bound"):
        assert "What can the attacker do?" in run(command, data, "-t", "label", code=2)
    assert "What can the attacker do?" not in run("fit", data, "-a", "5%", code=2)
