from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from builders import make_tree
from hardwood import AttackModel, InvalidInputError, Model, load_model
from hardwood.data.csv import read_csv
from hardwood.files import write_whole


@pytest.fixture
def model() -> Model:
    tree = make_tree(
        [0, -1, -1], [0.5, np.nan, np.nan], [1, -1, -1], [2, -1, -1], [-1, 0, 1], np.array(["a", "b"]), 1, ("x",)
    )
    return Model(tree, AttackModel.parse({"x": (0.1, float("inf"))}).only(["b"]), {"solver": "greedy"})


def test_a_model_survives_its_file(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    model.save(path)
    loaded = load_model(path)
    assert loaded.tree == model.tree
    assert loaded.attack == model.attack
    assert loaded.training == model.training
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.json"]


def test_broken_model_files_are_refused_by_name(model: Model, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    model.save(path)
    whole = path.read_text()
    data = json.loads(whole)
    for content, said in (
        (whole[: len(whole) // 2], "truncated or not JSON"),
        ("", "truncated or not JSON"),
        ("[]", "not a hardwood model"),
        (json.dumps({**data, "format": "other"}), "not a hardwood model"),
        (json.dumps({**data, "version": 2}), "model version 2, made by hardwood .* upgrade"),
        (json.dumps({**data, "version": "1"}), "model version '1'"),
        (json.dumps({key: data[key] for key in data if key != "attack"}), "has no entry 'attack'"),
        (json.dumps({**data, "tree": {**data["tree"], "left": [7, -1, -1]}}), "damaged"),
        (json.dumps({**data, "tree": 3}), "damaged"),
    ):
        path.write_text(content)
        with pytest.raises(InvalidInputError, match=said) as error:
            load_model(path)
        assert "model.json" in str(error.value)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInputError, match="not UTF-8"):
        load_model(path)
    with pytest.raises(InvalidInputError, match=r"nowhere\.json: No such file"):
        load_model(tmp_path / "nowhere.json")


def test_a_write_that_fails_leaves_the_old_file_and_no_litter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "precious.txt"
    path.write_text("old")

    def full_disk(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(InvalidInputError, match=r"precious\.txt: No space left"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["precious.txt"]


def test_a_write_into_a_missing_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="No such file or directory"):
        write_whole(tmp_path / "missing" / "file", "content")


def test_a_written_file_has_ordinary_permissions(tmp_path: Path) -> None:
    write_whole(tmp_path / "ours", "x")
    (tmp_path / "plain").write_text("x")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_messy_csv_files_are_read(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "messy.csv"
    rows = [["age", ' "the label" '], ["1", "yes"], ["", ""], [" 2.5 ", "no "]]
    path.write_text("\ufeff\n" + "\n".join(separator.join(row) for row in rows) + "\n\n")
    table = read_csv(path)
    assert table.names == ("age", '"the label"')
    assert table.numbers(["age"]).tolist() == [[1], [2.5]]
    assert table.labels('"the label"').tolist() == ["yes", "no"]
    assert table.lines == [3, 5]


def test_whole_number_labels_stay_numbers(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("x,y\n1,0\n2,1\n")
    assert read_csv(path).labels("y").tolist() == [0, 1]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        ("x,y\n", "has a header but no rows"),
        ("x,y\n1,2,3\n", "line 2: 3 cells, but the header has 2"),
        ("x,x\n1,2\n", "two columns are called 'x'"),
        ("x,,y\n1,2,3\n", "column 2 of the header has no name"),
        ("x,y\n1,a\nDelft,b\n", "line 3: column 'x' holds the text 'Delft'"),
        ("x,y\n1,a\n,b\n", "line 3: column 'x' has no value"),
        ("x,y\n1,a\nNA,b\n", "line 3: column 'x' has no value"),
        ("x,y\n1,a\nnan,b\n", "line 3: column 'x' has no value"),
        ("x,y\n1,a\ninf,b\n", "line 3: column 'x' holds 'inf'"),
        ("x,y\n1,a\n2,\n", "line 3: the target column 'y' is empty"),
        ("a,b\n1,2\n", "has no column 'x'; its columns are a, b"),
    ],
)
def test_bad_csv_files_are_refused_by_line_and_column(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(content)

    def read() -> None:
        table = read_csv(path)
        table.numbers(["x"])
        table.labels("y")

    with pytest.raises(InvalidInputError, match=said) as error:
        read()
    assert "bad.csv" in str(error.value)
