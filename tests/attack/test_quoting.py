"""Names that hold what separates names."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli_runner import run
from hardwood import AttackModel
from hardwood.attack.quoting import parts_of, quoted, unquoted
from hardwood.attack.spelling import attack_from_text

NAMES = st.text(st.sampled_from(list('ab,;=: "*%')), min_size=1, max_size=6).filter(lambda name: name not in ("*",))


@given(st.lists(NAMES, min_size=1, max_size=4, unique=True), st.sampled_from(",;"))
@settings(max_examples=300)
def test_what_is_quoted_comes_back(names: list[str], separator: str) -> None:
    text = f" {separator} ".join(map(quoted, names))
    assert [unquoted(part) for part in parts_of(text, separator)] == names


@given(st.lists(NAMES.map(str.strip).filter(bool), min_size=1, max_size=4, unique=True))
@settings(max_examples=200)
def test_an_attack_reads_names_of_any_kind(names: list[str]) -> None:
    text = ", ".join(f"{quoted(name)}={k}" for k, name in enumerate(names))
    assert attack_from_text(text) == AttackModel.parse({name: str(k) for k, name in enumerate(names)})


@pytest.mark.parametrize(
    ("text", "separator", "parts"),
    [
        ("a, b", ",", ["a", "b"]),
        ('"a, b"=1, c=2', ",", ['"a, b"=1', "c=2"]),
        ('5" pipe=1, c=2', ",", ['5" pipe=1', "c=2"]),
        ('integer: "a; b", c; minimum: c=0', ";", ['integer: "a; b", c', "minimum: c=0"]),
        ('"a ""b"", c"', ",", ['"a ""b"", c"']),
        ('"open, c', ",", ['"open, c']),
        ("", ",", [""]),
    ],
)
def test_texts_are_divided_outside_of_quotes(text: str, separator: str, parts: list[str]) -> None:
    assert parts_of(text, separator) == parts


def test_the_attack_that_inspect_suggests_can_be_given(tmp_path: Path) -> None:
    names = ["price, net", "a; b", '"x"', "y=z", "plain"]
    header = ",".join('"' + name.replace('"', '""') + '"' for name in [*names, "class"])
    rng = np.random.default_rng(0)
    rows = [",".join(f"{v:g}" for v in rng.integers(0, 90, 5) / 10) + f",{k % 2}" for k in range(200)]
    path = tmp_path / "d.csv"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    report = json.loads(run("inspect", path, "-t", "class", "--json"))
    given_attack = report["attack"]
    found = json.loads(run("fit", path, "-t", "class", "--attack", given_attack, "--depth", "1", "--json"))
    assert found["is_attacked"]
