"""Model files from strangers: each is read as a model that works, or refused with the reason."""

from __future__ import annotations

import copy
import json
import os
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builders import make_tree
from hardwood import (
    AttackModel,
    AttackRules,
    GreedyRobustTreeClassifier,
    InvalidInputError,
    Model,
    TreantClassifier,
    load_model,
)
from hardwood.attack.rules import AttackRule
from hardwood.export import model_schema

SEED = 20260101
FILES = 20_000
CHUNKS = 4
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 10**6, -(10**6), 2**31, 2**63, 2**64, 10**30, 10**399, 0.5, -0.5, 1e308, -1e308,
    5e-324, "", "x", "inf", "nan", "-1", "raw", "range", "\0", "a\0", "\ud800", "💥", "__proto__", "optimal", [], [[]],
    [None], [0], [1, 2], ["a", "b"], {}, {"": 0}, {"by_class": []}, [[[[]]]],
)  # fmt: skip
LITERALS = (
    "NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" * 5000, "[" * 200_000, "{" * 10, "01", "'x'", "undefined",
)  # fmt: skip


def models() -> list[Model]:
    """Small models that between them use everything a file can hold."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 10, (40, 2)).astype(float)
    y = np.where(X[:, 0] > 4, "yes", np.where(X[:, 1] > 6, "no", "maybe"))
    named = AttackModel.per_class({"yes": {0: (0.5, 1), 1: ">"}, "no": 0.25}).with_integers([0, 1]).with_bounds({0: 0})
    with_gaps = X.copy()
    with_gaps[::7, 1] = np.nan
    table = [["red" if a > 4 else "blue" if b > 3 else "green", b] for a, b in X]
    rules = AttackRules((AttackRule(0, -1.0, 1.0, 1.0, 0.0, 5.0), AttackRule(1, 0.0, 2.0)), 2.0)
    moves = {0: {"red": ["green"]}, 1: 1}
    return [
        GreedyRobustTreeClassifier(2, attack=named).fit(X, y).to_model(),
        GreedyRobustTreeClassifier(2, attack=1, missing="reachable").fit(with_gaps, y == "yes").to_model(),
        GreedyRobustTreeClassifier(2, attack=moves, categorical_features=[0]).fit(table, X[:, 0] > 4).to_model(),
        TreantClassifier(2, rules=rules).fit(X, (X[:, 0] > 4).astype(int)).to_model(),
        Model(make_tree([-1], [np.nan], [-1], [-1], [0], np.array([1.5]), 3, ("a", "b", "c")), AttackModel.parse(0.0)),
    ]


def places(data: Any) -> list[tuple[Any, Any]]:
    """Every place of a value inside nested data: what holds it, and its key or index there."""
    found: list[tuple[Any, Any]] = []
    waiting = [data]
    while waiting:
        one = waiting.pop()
        pairs = list(one.items()) if isinstance(one, dict) else list(enumerate(one)) if isinstance(one, list) else []
        found += [(one, key) for key, _ in pairs]
        waiting += [value for _, value in pairs]
    return found


def damage_structure(data: Any, rng: random.Random) -> None:
    """Change one value, key or length."""
    holder, key = rng.choice(places(data))
    value = holder[key]
    other_holder, other_key = rng.choice(places(data))
    other = copy.deepcopy(other_holder[other_key])
    changes: list[Callable[[], Any]] = [
        lambda: holder.__delitem__(key),
        lambda: holder.__setitem__(key, rng.choice(VALUES)),
        lambda: holder.__setitem__(key, [value]),
        lambda: holder.__setitem__(key, str(value)),
        lambda: holder.__setitem__(key, other),
        lambda: holder.__setitem__(key, value + rng.choice((-1, 1, 0.5)) if isinstance(value, int | float) else value),
        lambda: (
            holder.append(copy.deepcopy(value)) if isinstance(holder, list) else holder.__setitem__(f"{key}2", value)
        ),
        lambda: holder.insert(key, value) if isinstance(holder, list) else holder.__setitem__("", value),
        lambda: holder.reverse() if isinstance(holder, list) else holder.__setitem__(key, {key: value}),
        lambda: rng.shuffle(holder) if isinstance(holder, list) else holder.pop(key),
    ]
    rng.choice(changes)()


def damage_text(text: str, rng: random.Random) -> bytes:
    """Change the file as such: words, repeated lines, bytes."""
    way = rng.randrange(7)
    if way == 0:
        at = rng.choice([k for k, letter in enumerate(text) if letter in "0123456789"])
        return (text[:at] + rng.choice(LITERALS) + text[at + 1 :]).encode()
    if way == 1:
        lines = text.splitlines(keepends=True)
        at = rng.randrange(len(lines))
        return "".join([*lines[: at + 1], rng.choice(lines), *lines[at + 1 :]]).encode()
    if way == 2:
        lines = text.splitlines(keepends=True)
        del lines[rng.randrange(len(lines))]
        return "".join(lines).encode()
    data = bytearray(text.encode())
    if way == 3:
        return bytes(data[: rng.randrange(len(data))])
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(data))
        if way == 4:
            data[at] = rng.randrange(256)
        elif way == 5:
            del data[at]
        else:
            data.insert(at, rng.choice(b'0123456789-.,:[]{}"\\eE \x00\xff'))
    return bytes(data)


def damaged(whole: list[str], rng: random.Random) -> bytes:
    """One damaged file."""
    text = rng.choice(whole)
    if rng.random() < 0.6:
        data = json.loads(text)
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            if places(data):
                damage_structure(data, rng)
        return json.dumps(data, indent=1).encode()
    return damage_text(text, rng)


def is_clear(error: InvalidInputError, path: Path) -> bool:
    """Whether a message names the file and can be read."""
    return str(path) in str(error) and len(str(error)) < 600


def works(model: Model, folder: Path) -> None:
    """A model that was read must predict, show itself, and survive being saved again."""
    tree = model.tree
    if tree.encoding is None:
        rows: Any = np.zeros((2, tree.n_features))
    else:
        rows = [[0.5 if categories is None else categories[0] for categories in tree.encoding.categories]] * 2
    answers = model.predict(rows).tolist()
    assert set(answers) <= set(tree.classes.tolist())
    assert tree.to_text()
    assert isinstance(str(model.attack), str)
    model.save(folder / "again.json")
    again = load_model(folder / "again.json")
    assert (again.tree, again.attack, again.training) == (model.tree, model.attack, model.training)
    assert again.predict(rows).tolist() == answers


@pytest.fixture
def quick_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: disks take most of the time of thousands of small files."""
    memory = Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_a_damaged_file_is_a_model_that_works_or_is_refused_with_the_reason(quick_folder: Path, chunk: int) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(model_schema())
    path = quick_folder / "model.json"
    whole = []
    for model in models():
        model.save(path)
        whole.append(path.read_text())
    outcomes: Counter[str] = Counter()
    for k in range(chunk * FILES // CHUNKS, (chunk + 1) * FILES // CHUNKS):
        seed = SEED + k
        content = damaged(whole, random.Random(seed))
        path.write_bytes(content)
        try:
            try:
                model = load_model(path)
            except InvalidInputError as error:
                outcomes["refused" if is_clear(error, path) else "unclear"] += 1
                continue
            works(model, quick_folder)
            # Whatever we read, the published schema allows, so that others can trust it.
            problems = [error.message for error in validator.iter_errors(json.loads(content.decode("utf-8-sig")))]
            assert problems == []
            outcomes["read"] += 1
        except Exception as error:
            pytest.fail(f"seed {seed}: {type(error).__name__}: {error}\n{content[:3000]!r}")
    print(f"seeds {SEED + chunk * FILES // CHUNKS} and on: {dict(outcomes)}")
    assert outcomes["unclear"] == 0
    assert outcomes["refused"] > FILES // CHUNKS / 2
    assert outcomes["read"] > 100


def test_damaged_rules_are_rules_or_refused(quick_folder: Path) -> None:
    path = quick_folder / "rules.json"
    data = {
        "budget": 3, "max_per_feature": 2,
        "rules": [{"feature": "income", "within": [0, None], "magnitude": 2000, "cost": 1},
                  {"feature": 1, "magnitude": [-5, 5]}],
    }  # fmt: skip
    whole = [json.dumps(data, indent=1)]
    for k in range(3000):
        path.write_bytes(content := damaged(whole, random.Random(SEED + k)))
        try:
            rules = AttackRules.load(path)
            assert AttackRules.from_dict(json.loads(json.dumps(rules.to_dict(), allow_nan=False))) == rules
        except InvalidInputError as error:
            if not is_clear(error, path):
                pytest.fail(f"seed {SEED + k}: {error}")
        except Exception as error:
            pytest.fail(f"seed {SEED + k}: {type(error).__name__}: {error}\n{content!r}")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"threshold": [float("inf"), None, None]}, r"Infinity, which is no number of JSON"),
        ({"threshold": [10**400, None, None]}, "a number of 401 digits"),
        ({"threshold": ["0.5", None, None]}, r"threshold of the tree\[0\] is '0.5'; it must be a number"),
        ({"feature_names": [3]}, r"feature_names of the tree\[0\] is 3; it must be text"),
        ({"feature_names": ["\ud800"]}, "half a character"),
        ({"feature_names": ["a", "b"]}, "feature_names of the tree has 2 entries; it must have 1"),
        ({"classes": ["a", "a"]}, "classes of the tree holds 'a' twice"),
        ({"classes": ["a", 1]}, "mixes labels of different types"),
        ({"classes": [["a"], ["b"]]}, "must be text, a number, true or false"),
        ({"left": [1, -1]}, "left of the tree has 2 entries; it must have 3"),
        ({"left": [True, -1, -1]}, "must be a whole number from -1 to 2"),
        ({"left": [0, -1, -1]}, "child of exactly one node"),
        ({"right": [1, -1, -1]}, "child of exactly one node"),
        ({"n_features": 2**62}, "n_features of the tree is 4611686018427387904; it must be a whole number from 1 to"),
        ({"margin": [[0.6, 0.7], [None, None], [None, None]]}, "the threshold 0.5 must lie in it"),
        ({"missing_left": [0, 1, 0]}, "must be true or false"),
        ({"encoding": {"names": None, "categories": [["a", "b"]]}}, "the categories make 2 features"),
        ({"encoding": {"names": None, "categories": [[]]}}, "the categories of column 0 is empty"),
        ({"encoding": {"names": None, "categories": [["a"]]}, "threshold": [1.5, None, None]},
         "splits a category at 1.5"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_tree_is_said(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    tree = make_tree([0, -1, -1], [0.5, np.nan, np.nan], [1, -1, -1], [2, -1, -1], [-1, 0, 1], np.array(["a", "b"]), 1)
    path = tmp_path / "model.json"
    Model(tree, AttackModel.parse(0.1)).save(path)
    data = json.loads(path.read_text())
    data["tree"] |= change
    path.write_text(json.dumps(data))
    with pytest.raises(InvalidInputError, match=said):
        load_model(path)


@pytest.mark.parametrize(
    ("attack", "said"),
    [
        ({"by_class": [["a", {"by_class": []}]]}, "has no entry 'unit'"),
        ({"by_class": [["z", AttackModel().to_dict()]]}, "names class 'z'"),
        ({**AttackModel().to_dict(), "features": [[5, [0, 1]]]}, "names feature 5"),
        ({**AttackModel().to_dict(), "features": [[0, [-1, 1]]]}, "must be a finite number >= 0"),
        ({**AttackModel().to_dict(), "unit": "percent"}, "'raw' or 'range'"),
        ({**AttackModel().to_dict(), "default": [0]}, "has 1 entries; it must have 2"),
        ({**AttackModel().to_dict(), "n_features": 7}, "the attack is on 7 features, the tree has 1"),
        ({**AttackModel().to_dict(), "colour": 1}, "has the entry 'colour'"),
    ],
)
def test_what_is_wrong_with_a_stored_attack_is_said(tmp_path: Path, attack: dict[str, Any], said: str) -> None:
    tree = make_tree([-1], [np.nan], [-1], [-1], [0], np.array(["a"]), 1)
    path = tmp_path / "model.json"
    Model(tree, AttackModel.parse(0.1)).save(path)
    path.write_text(json.dumps({**json.loads(path.read_text()), "attack": attack}))
    with pytest.raises(InvalidInputError, match=said):
        load_model(path)


def test_a_key_that_stands_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    Model(make_tree([-1], [np.nan], [-1], [-1], [0], np.array(["a"]), 1), AttackModel.parse(0.1)).save(path)
    path.write_text(path.read_text().replace('"classes"', '"label": [0], "classes"'))
    with pytest.raises(InvalidInputError, match="the key 'label' twice"):
        load_model(path)


def test_nesting_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    tree = make_tree([-1], [np.nan], [-1], [-1], [0], np.array(["a"]), 1)
    deep: Any = {}
    for _ in range(100):
        deep = {"more": [deep]}
    with pytest.raises(InvalidInputError, match="nested too deeply"):
        Model(tree, AttackModel.parse(0.1), deep).save(path)
    Model(tree, AttackModel.parse(0.1)).save(path)
    whole = path.read_text()
    for depth in (60, 900, 100_000):
        path.write_text(whole.replace('"training": {}', f'"training": {"[" * depth + "]" * depth}'))
        with pytest.raises(InvalidInputError, match="nested too deeply"):
            load_model(path)


def test_a_deep_tree_goes_through_a_file(tmp_path: Path) -> None:
    depth = 20_000
    k = np.arange(depth)
    arrays = {name: np.full(2 * depth + 1, -1) for name in ("feature", "left", "right", "label")}
    threshold = np.full(2 * depth + 1, np.nan)
    arrays["feature"][2 * k], threshold[2 * k], arrays["left"][2 * k], arrays["right"][2 * k] = (
        0,
        k,
        2 * k + 1,
        2 * k + 2,
    )
    arrays["label"][2 * k + 1], arrays["label"][2 * depth] = k % 2, 0
    tree = make_tree(**arrays, threshold=threshold, classes=np.array([0, 1]), n_features=1)
    Model(tree, AttackModel.parse(0.1)).save(tmp_path / "deep.json")
    loaded = load_model(tmp_path / "deep.json")
    assert loaded.tree == tree
    assert loaded.predict([[12345.0], [1e9]]).tolist() == [1, 0]


def test_a_model_with_a_mark_at_its_beginning_is_read(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    Model(make_tree([-1], [np.nan], [-1], [-1], [0], np.array(["a"]), 1), AttackModel.parse(0.1)).save(path)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert load_model(path).predict([[0.0]]).tolist() == ["a"]
