"""Tables as people have them: every column is typed, and one answer names all that need a decision."""

from __future__ import annotations

import csv
import io
import json
import shlex
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from cli_runner import run
from hardwood import InvalidInputError, load_model
from hardwood.cli.app import app
from hardwood.data.columns import ColumnKind, describe_columns
from hardwood.data.csv import read_csv
from hardwood_checker.__main__ import main as check

ROWS = 60


def messy(separator: str = ",", decimal: str = ".") -> str:
    rng = np.random.default_rng(3)
    rows = [
        [
            "customer_id",
            "number",
            "age",
            "income",
            "city",
            "signup",
            "active",
            "note",
            "score",
            "mixed",
            "same",
            "label",
        ]
    ]
    for i in range(ROWS):
        age = int(rng.integers(18, 90))
        rows.append([
            f"C{i:04d}", str(1000 + i), str(age), f"{rng.lognormal(9, 1):.2f}".replace(".", decimal),
            ["Delft", "Rome", "Köln"][i % 3], f"2024-0{i % 9 + 1}-11", ["true", "False"][i % 2],
            "" if i > 5 else "x", "NA" if i % 7 == 0 else str(i % 13), "unknown" if i == 8 else str(i % 5), "1",
            "yes" if age > 50 else "no",
        ])  # fmt: skip
    stream = io.StringIO()
    csv.writer(stream, delimiter=separator).writerows(rows)
    return stream.getvalue()


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "messy.csv"
    path.write_text(messy())
    return path


def test_every_column_is_typed(table: Path) -> None:
    kinds = {column.name: column.kind for column in describe_columns(read_csv(table))}
    assert kinds == {
        "customer_id": ColumnKind.IDENTIFIER,
        "number": ColumnKind.IDENTIFIER,
        "age": ColumnKind.INTEGER,
        "income": ColumnKind.NUMBER,
        "city": ColumnKind.CATEGORY,
        "signup": ColumnKind.DATE,
        "active": ColumnKind.BOOLEAN,
        "note": ColumnKind.MOSTLY_MISSING,
        "score": ColumnKind.INTEGER,
        "mixed": ColumnKind.CATEGORY,
        "same": ColumnKind.CONSTANT,
        "label": ColumnKind.CATEGORY,
    }


def test_one_answer_names_all_columns_and_its_command_works(table: Path) -> None:
    said = run("fit", table, "-t", "label", "--attack", "5%", "--depth", 1, code=1)
    for part in (
        "customer_id",
        "city",
        "signup",
        "note",
        "score",
        "mixed",
        "line 10: 'unknown'",
        "--missing reachable",
    ):
        assert part in said
    assert "age" not in said.partition("To go on")[0]
    command = said.strip().splitlines()[-1].strip()
    words = shlex.split(command)
    assert words[:2] == ["hardwood", "fit"]
    done = CliRunner().invoke(app, words[1:])
    assert done.exit_code == 0, done.output
    assert "held out" in done.output
    assert "'number' looks like an ID" in done.output


def test_names_of_columns_may_hold_anything(tmp_path: Path) -> None:
    path = tmp_path / "names.csv"
    path.write_text(
        '"a,b","c d","$(rm)",y\n' + "".join(f"{'pqr'[i % 3]},{'uv'[i % 2]},x{i},{i % 2}\n" for i in range(30))
    )
    said = run("fit", path, "-t", "y", "-a", "1", code=1)
    words = shlex.split(said.strip().splitlines()[-1])
    assert CliRunner().invoke(app, words[1:]).exit_code == 0
    assert "a,b" in words
    assert "$(rm)" in words


def test_booleans_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "flags.csv"
    path.write_text("flag,y\n" + "True,a\nfalse,b\n" * 10)
    assert read_csv(path).numbers(["flag"])[:2, 0].tolist() == [1, 0]
    path.write_text("flag,y\nTrue,a\n2,b\n")
    with pytest.raises(InvalidInputError, match="line 2: column 'flag' holds the text 'True'"):
        read_csv(path).numbers(["flag"])


@pytest.mark.parametrize(("separator", "decimal"), [(";", ","), ("\t", ","), ("|", "."), (",", ".")])
@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16", "utf-8-sig"])
def test_how_a_file_is_written_is_found_out_and_said(
    tmp_path: Path, separator: str, decimal: str, encoding: str
) -> None:
    plain, other = tmp_path / "plain.csv", tmp_path / "other.csv"
    plain.write_text(messy())
    other.write_bytes(messy(separator, decimal).encode(encoding))
    found = read_csv(other)
    names = ["age", "income", "active"]
    np.testing.assert_array_equal(found.numbers(names), read_csv(plain).numbers(names))
    assert found.cells("city") == read_csv(plain).cells("city")
    guessed = " ".join(found.format.guessed)
    assert ("separated by" in guessed) == (separator != ",")
    assert ("comma" in guessed) == (decimal == ",")
    assert ("cp1252" in guessed) == (encoding == "cp1252")


def test_options_say_how_a_file_is_written(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_bytes("x/y\n1,5/a\n2,5/é\n".encode("latin-1"))
    found = read_csv(path, separator="/", decimal=",", encoding="latin-1")
    assert found.numbers(["x"])[:, 0].tolist() == [1.5, 2.5]
    assert found.labels("y").tolist() == ["a", "é"]
    for options, said in (
        ({"separator": "//"}, "one character"),
        ({"decimal": ";"}, "must be '.' or ','"),
        ({"decimal": ","}, "is the separator too"),
        ({"encoding": "klingon"}, "is not known"),
        ({"encoding": "ascii"}, "not ascii text"),
    ):
        with pytest.raises(InvalidInputError, match=said):
            read_csv(path, **options)
    path.write_text("x;y\n1.234,5;a\n")
    with pytest.raises(InvalidInputError, match=r"'1.234,5'"):
        read_csv(path, decimal=",").numbers(["x"])


def test_inspect_shows_types_ranges_repetitions_and_attacks(table: Path) -> None:
    shown = run("inspect", table, "-t", "label")
    for part in ("ID-like", "mostly missing", "boolean", "constant", "hardwood fit", "--attack 5%"):
        assert part in shown
    words = shlex.split(shown.strip().splitlines()[-1])
    assert CliRunner().invoke(app, [*words[1:], "--depth", "1"]).exit_code == 0
    found = json.loads(run("inspect", table, "-t", "label", "--json"))
    assert sum(found["classes"].values()) == found["rows"] == ROWS
    assert found["attack"].startswith("age=")


def test_inspect_counts_what_no_model_gets_right(tmp_path: Path) -> None:
    path = tmp_path / "twice.csv"
    path.write_text("x,y\n1,a\n1,a\n1,b\n2,b\n2,b\n3,a\n")
    found = json.loads(run("inspect", path, "-t", "y", "--json"))
    assert (found["duplicate_rows"], found["conflicting_rows"], found["unavoidable_errors"]) == (2, 3, 1)


def test_a_held_out_score_is_reported_and_a_proof_is_about_all_rows(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    rng = np.random.default_rng(0)
    path.write_text("x,y\n" + "".join(f"{x:.3f},{int(x > 0.5)}\n" for x in rng.random(50)))
    options = ("fit", path, "-t", "y", "--attack", "0.02", "--depth", 1)
    found = json.loads(run(*options, "--json"))
    assert (found["samples"], found["test_samples"]) == (40, 10)
    found = json.loads(run(*options, "--holdout", 0, "--json"))
    assert "test_accuracy" not in found
    found = json.loads(run(*options, "--test", path, "--json"))
    assert (found["samples"], found["test_samples"]) == (50, 50)
    assert "all rows" in run(*options, "--proof", tmp_path / "p.hwp", "--holdout", 0.2, code=1)
    assert "test on one of them" in run(*options, "--test", path, "--holdout", 0.2, code=1)
    nobody = run("fit", path, "-t", "y", "--attack", 0)
    assert "Nothing is attacked" in nobody
    assert "accuracy under attack" not in nobody


def test_a_proof_about_a_file_that_the_checker_cannot_read_says_so(tmp_path: Path) -> None:
    plain, odd = tmp_path / "plain.csv", tmp_path / "odd.csv"
    plain.write_text("x;z;y\n" + "".join(f"{i}.5;{i % 2};{'ab'[i >= 10]}\n" for i in range(20)))
    odd.write_text("x;z;y\n" + "".join(f"{i},5;{i % 2 == 0};{'ab'[i >= 10]}\n" for i in range(20)))
    options = ("-t", "y", "--attack", "0.1", "--depth", 1, "--proof", tmp_path / "p.hwp")
    assert f"To check it: hardwood-checker {tmp_path / 'p.hwp'} {plain}" in run("fit", plain, *options)
    said = " ".join(run("fit", odd, *options).split())
    assert "writes decimals with a comma and says true and false where numbers stand: hand it the arrays" in said


def test_predictions_come_with_probabilities_and_robustness(tmp_path: Path) -> None:
    path, model = tmp_path / "data.csv", tmp_path / "model.json"
    path.write_text("x,y\n" + "".join(f"{i},{'ab'[i >= 10]}\n" for i in range(20)))
    run("fit", path, "-t", "y", "--attack", 2, "--depth", 1, "--holdout", 0, "-o", model)
    rows = list(csv.DictReader(run("predict", model, path, "--probabilities", "--robust").splitlines()))
    threshold = float(load_model(model).tree.threshold[0])
    safe = [x + 2 <= threshold or x - 2 > threshold for x in range(20)]
    assert [row["robust"] == "yes" for row in rows] == safe
    assert 0 < sum(safe) < 20
    assert all(float(row["P(a)"]) + float(row["P(b)"]) == pytest.approx(1) for row in rows)
    found = json.loads(run("predict", model, path, "-p", "--robust", "--attack", 100, "--json"))
    assert not any(found["robust"])
    assert found["classes"] == ["a", "b"]
    assert "give both" in run("predict", model, path, "--attack", 1, code=1)


def test_options_that_contradict_a_model_are_refused(table: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    kinds = ("--drop", "customer_id,signup,note,mixed,number,score", "--categorical", "city")
    run("fit", table, "-t", "label", "--attack", "5%", "--depth", 1, *kinds, "-o", model)
    run("evaluate", model, table, "-t", "label", *kinds)
    assert "needs it" in run("evaluate", model, table, "-t", "label", "--drop", "age", code=1)
    assert "knows no categories" in run("predict", model, table, "--categorical", "age", code=1)
    assert "without missing values" in run("predict", model, table, "--missing", "reachable", code=1)


def test_the_epsilons_never_recommend_no_attack(tmp_path: Path) -> None:
    path = tmp_path / "near.csv"
    path.write_text("x,y\n" + "".join(f"{i},{i % 2}\n" for i in range(40)))
    found = json.loads(run("epsilons", path, "-t", "y", "--attack", 1, "--max", 2, "--step", 1, "--json"))
    assert all(row["epsilon"] is None or row["epsilon"] > 0 for row in found["chosen"])
    assert "a smaller --step" in run("epsilons", path, "-t", "y", "--attack", 1, "--max", 2, "--step", 1)


def test_a_pair_is_listed_once(tmp_path: Path) -> None:
    path = tmp_path / "three.csv"
    path.write_text("x,w,y\n0,2,a\n0,3,b\n0,5,c\n9,1,a\n")
    found = json.loads(run("bound", path, "-t", "y", "--weight", "w", "--attack", 1, "--json"))
    pairs = [tuple(pair) for pair in found["matching_lines"]]
    assert len(set(pairs)) == len(pairs)


def test_pictures_are_drawn_from_files(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    path, model = tmp_path / "data.csv", tmp_path / "model.json"
    rng = np.random.default_rng(1)
    path.write_text("a,b,y\n" + "".join(f"{a:.2f},{b:.2f},{int(a + b > 1)}\n" for a, b in rng.random((60, 2))))
    run("fit", path, "-t", "y", "--attack", 0.05, "--depth", 2, "--solver", "groot", "-o", model)
    assert load_model(model).training["solver"] == "greedy"
    samples = ("--data", path, "--target", "y")
    for what, options in (
        ("tree", ()),
        ("tree", samples),
        ("regions", samples),
        ("robustness", samples),
        ("convergence", ()),
    ):
        picture = tmp_path / f"{what}.png"
        run("plot", what, model, *options, "-o", picture)
        assert picture.read_bytes().startswith(b"\x89PNG")
    run("plot", "regions", model, *samples, "--features", "b,a", "-o", tmp_path / "x.svg")
    assert "needs samples" in run("plot", "regions", model, "-o", tmp_path / "x.png", code=1)
    assert "two features" in run(
        "plot", "regions", model, *samples, "--features", "a", "-o", tmp_path / "x.png", code=1
    )
    assert "one model" in run("plot", "tree", model, model, "-o", tmp_path / "x.png", code=1)


def test_words_for_missing_values_are_suggested_and_understood(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    path, plain = tmp_path / "d.csv", tmp_path / "plain.csv"
    rows = [[f"{v:.2f}" for v in rng.random(2)] + [str(k % 2)] for k in range(60)]
    for k, mark in ((3, "unknown"), (9, "-"), (20, "unknown")):
        rows[k][0] = mark
    rows[30][1] = "not, yet"
    write_rows(path, rows)
    write_rows(plain, [["" if cell in ("unknown", "-", "not, yet") else cell for cell in row] for row in rows])
    told = run("fit", path, "-t", "y", "-a", "0.01", code=1)
    assert "numbers, but 3 cells are text (line 5: 'unknown')" in told
    assert "--missing-as -,unknown" in told
    given = ("-t", "y", "-a", "0.01", "-d", 2, "--missing", "reachable", "--json")
    found = json.loads(run("fit", path, *given, "--missing-as", '-,unknown,"not, yet"'))
    expected = json.loads(run("fit", plain, *given))
    assert found["tree"] == expected["tree"]
    # Sixty rows of which some are text: the same everywhere data are read.
    report = json.loads(run("inspect", path, "-t", "y", "--missing-as", 'unknown,-,"not, yet"', "--json"))
    assert [column["missing"] for column in report["columns"]] == [3, 1]
    # What looks like a number written otherwise is no gap.
    rows[40][0] = "1 234"
    write_rows(path, rows)
    assert "--missing-as" not in run("fit", path, "-t", "y", "-a", "0.01", "--drop", "b", code=1)


def write_rows(path: Path, rows: list[list[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", "y"])
        writer.writerows(rows)


@pytest.mark.parametrize("dress", ["{}%", "$ {}", "{},500", "1'{:03d} €", "{} %"])
def test_numbers_with_other_signs_are_named_as_such(dress: str, tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    write_rows(path, [[dress.format(k), str(k % 7), str(k % 2)] for k in range(1, 40)])
    told = run("fit", path, "-t", "y", "-a", "1", code=1)
    assert "numbers with other signs" in told
    assert "--drop a" in told


def test_what_is_no_number_is_not_taken_for_one(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    for text in ("K{}", "10.0.{}.1", "{}-A", "2024-01-{:02d}", "{} apples", "2024_{}"):
        write_rows(path, [[text.format(k % 28 + 1), str(k % 7), str(k % 2)] for k in range(40)])
        assert "other signs" not in run("fit", path, "-t", "y", "-a", "1", code=1), text


def test_brackets_in_names_and_labels_are_shown_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "brackets.csv"
    path.write_text("[red]a[/red],y\n" + "".join(f"{i},{'[/no]' if i < 15 else '[b]'}\n" for i in range(30)))
    said = run("inspect", path, "-t", "y")
    for part in ("[red]a[/red]", "[/no]", "[b]"):
        assert part in said.partition("What to try")[0].partition("Classes")[2]
    run("fit", path, "-t", "y", "-a", "1", "-o", tmp_path / "m.json")
    assert "[/no]" in run("evaluate", tmp_path / "m.json", path, "-t", "y")
    assert "[b]" in run("bound", path, "-t", "y", "-a", "2")


@pytest.mark.parametrize(("one", "other"), [("007", "7"), ("+1", "-1"), ("01", "02")])
def test_labels_that_only_look_like_numbers_stay_as_they_are_written(one: str, other: str, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("a,y\n" + "".join(f"{i},{one if i < 15 else other}\n" for i in range(30)))
    run("fit", path, "-t", "y", "-a", "0.1", "-d", "1", "-o", tmp_path / "m.json", "--proof", tmp_path / "p.hwp")
    assert set(load_model(tmp_path / "m.json").tree.classes.tolist()) == {one, other}
    assert check([str(tmp_path / "p.hwp"), str(path)]) == 0
    predicted = run("predict", tmp_path / "m.json", path).splitlines()[1:]
    assert all(row.split(",")[1] == row.split(",")[2] for row in predicted)


def test_commands_that_inspect_suggests_work_where_a_column_of_numbers_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "infinite.csv"
    path.write_text("a,b,y\n" + "".join(f"{'inf' if i == 3 else i / 8},{i / 4},{int(i < 15)}\n" for i in range(30)))
    words = ["inspect", str(path), "-t", "y"]
    said = CliRunner().invoke(app, words).output
    commands = [line.strip() for line in said.splitlines() if line.startswith("  hardwood fit")]
    assert len(commands) == 2
    for command in commands:
        done = CliRunner().invoke(app, shlex.split(command)[1:])
        assert done.exit_code == 0, done.output


@pytest.mark.parametrize("learn", [("fit", "-d", "1"), ("fit-ensemble", "--trees", "2")])
def test_the_next_command_works_as_it_is_printed(learn: tuple[str, ...], tmp_path: Path) -> None:
    path, model = tmp_path / "my table.csv", tmp_path / "my model.json"
    path.write_text("a:y\n" + "".join(f"{'unknown' if i == 3 else i / 8}:{int(i < 15)}\n" for i in range(30)))
    options = ("--missing-as", "unknown", "--missing", "reachable", "--separator", ":")
    said = run(learn[0], path, "-t", "y", "-a", "0.1", *learn[1:], *options, "-o", model)
    words = shlex.split(said.partition("Next: ")[2].splitlines()[0])
    assert words[:4] == ["hardwood", "evaluate", str(model), str(path)]
    assert "under attack" in run(*words[1:])


def test_the_command_that_checks_a_proof_can_be_copied(tmp_path: Path) -> None:
    path, proof = tmp_path / "my table.csv", tmp_path / "my proof.hwp"
    path.write_text("a,y\n" + "".join(f"{i / 8},{int(i < 15)}\n" for i in range(30)))
    said = run("fit", path, "-t", "y", "-a", "0.1", "-d", "1", "--proof", proof)
    assert check(shlex.split(said.partition("To check it: ")[2].splitlines()[0])[1:]) == 0


def test_the_checker_ends_lines_where_files_do(tmp_path: Path) -> None:
    path, proof = tmp_path / "d.csv", tmp_path / "p.hwp"
    for end in ("\n", "\r\n", "\r"):
        rows = [f"{i / 8},{label}" for i, label in enumerate(["one\u2028\x0cof"] * 15 + ["other"] * 15)]
        path.write_bytes(end.join(["a,y", *rows, ""]).encode())
        run("fit", path, "-t", "y", "-a", "0.1", "-d", "1", "--proof", proof)
        assert check([str(proof), str(path)]) == 0


def test_a_separator_that_the_checker_does_not_find_out_is_named(tmp_path: Path) -> None:
    path, proof = tmp_path / "d.csv", tmp_path / "p.hwp"
    path.write_text("a:y\n" + "".join(f"{i / 8}:{int(i < 15)}\n" for i in range(30)))
    said = run("fit", path, "-t", "y", "-a", "0.1", "-d", "1", "--separator", ":", "--proof", proof)
    assert "has cells separated by ':'" in said
    assert "To check it" not in said


def test_classes_that_are_numbers_are_found_however_they_are_written(tmp_path: Path) -> None:
    path, model = tmp_path / "labels.csv", tmp_path / "m.json"
    path.write_text("a,y\n" + "".join(f"{i},{-1 if i < 15 else 1}\n" for i in range(30)))
    run("fit", path, "-t", "y", "-a", "0.1", "-d", "1", "--holdout", "0", "-o", model)
    path.write_text(path.read_text().replace(",1", ",+1"))
    assert "100.0 %" in run("evaluate", model, path, "-t", "y")


def test_a_label_of_text_among_numbers_is_named_with_its_line(tmp_path: Path) -> None:
    path, model = tmp_path / "labels.csv", tmp_path / "m.json"
    path.write_text("a,y\n" + "".join(f"{i},{int(i < 15)}\n" for i in range(30)))
    run("fit", path, "-t", "y", "-a", "0.1", "-d", "1", "--holdout", "0", "-o", model)
    path.write_text(path.read_text().replace("29,0", "29,dunno"))
    said = run("evaluate", model, path, "-t", "y", code=1)
    assert "line 31: 'y' is 'dunno', and the classes of the model are numbers (0, 1)" in said


def test_predictions_are_not_added_beside_a_column_of_the_same_name(tmp_path: Path) -> None:
    path, model = tmp_path / "d.csv", tmp_path / "m.json"
    path.write_text("prediction,y\n" + "".join(f"{i},{int(i < 15)}\n" for i in range(30)))
    run("fit", path, "-t", "y", "-a", "0.1", "-d", "1", "-o", model)
    said = run("predict", model, path, code=1)
    assert "has a column 'prediction' already" in said
    assert len(json.loads(run("predict", model, path, "--json"))["predictions"]) == 30


@pytest.mark.parametrize("kind", ["gzip", "bz2", "lzma"])
def test_a_compressed_file_is_said_to_be_one(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    path.write_bytes(import_module(kind).compress(b"a,y\n1,2\n"))
    assert "it is compressed" in run("inspect", path, "-t", "y", code=1)
