from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from hardwood import AttackModel, InvalidInputError
from hardwood.attack.spelling import attack_from_text, attack_from_toml, read_attack, with_labels_of

NAMES = ("age", "income", "links")


def reach_of(spec: object) -> tuple[list[list[float]], list[list[float]]]:
    down, up = AttackModel.parse(spec).reach(3, NAMES)
    return down.tolist(), up.tolist()


@pytest.mark.parametrize(
    ("spec", "down", "up"),
    [
        (0.1, [0.1] * 3, [0.1] * 3),
        (np.float32(0.5), [0.5] * 3, [0.5] * 3),
        (np.array(2), [2] * 3, [2] * 3),
        ([1, (2, 3), ""], [1, 2, 0], [1, 3, 0]),
        (["<", ">", "<>"], [math.inf, 0, math.inf], [0, math.inf, math.inf]),
        (np.array([1.0, 2.0, 3.0]), [1, 2, 3], [1, 2, 3]),
        ({"income": (0, 100), "links": ">"}, [0, 0, 0], [0, 100, math.inf]),
        ({1: 5, "*": 0.5}, [0.5, 5, 0.5], [0.5, 5, 0.5]),
        (AttackModel.parse(0.2), [0.2] * 3, [0.2] * 3),
    ],
)
def test_every_spelling_means_the_radii_it_says(spec: object, down: list[float], up: list[float]) -> None:
    assert reach_of(spec) == ([down], [up])


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (-0.1, "-0.1"),
        (float("nan"), "nan"),
        ([1, -2, 0], "-2"),
        ([1, "up", 0], "'up'"),
        ([1, (1, 2, 3), 0], "(1, 2, 3)"),
        ("much", "'much'"),
        (None, "None"),
        (True, "True"),
        ({2.5: 1}, "2.5"),
    ],
)
def test_what_cannot_be_an_attack_is_refused_with_the_value(spec: object, said: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        AttackModel.parse(spec)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ([1, 2], "2 entries"),
        ({"height": 1}, "'height'; the features are 'age', 'income', 'links'"),
        ({7: 1}, "feature 7; features are numbered 0 to 2"),
    ],
)
def test_an_attack_that_does_not_fit_the_data_is_refused(spec: object, said: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        AttackModel.parse(spec).reach(3, NAMES)
    assert said in str(error.value)


def test_an_attack_by_name_needs_names() -> None:
    with pytest.raises(InvalidInputError, match="has no feature names"):
        AttackModel.parse({"age": 1}).reach(3)
    with pytest.raises(InvalidInputError, match="2 columns have that name"):
        AttackModel.parse({"age": 1}).reach(2, ("age", "age"))


def test_an_attacker_of_one_class_leaves_the_others_alone() -> None:
    down, up = AttackModel.parse({"links": ">"}).only(["spam"]).reach(3, NAMES, ["ham", "spam"])
    assert down.tolist() == [[0, 0, 0], [0, 0, 0]]
    assert up.tolist() == [[0, 0, 0], [0, 0, math.inf]]
    with pytest.raises(InvalidInputError, match="class 'virus'; the classes of the data are 'ham', 'spam'"):
        AttackModel.parse(1).only(["virus"]).reach(3, NAMES, ["ham", "spam"])


def test_classes_may_be_attacked_differently_and_numpy_labels_are_plain_labels() -> None:
    attack = AttackModel.per_class({np.int64(0): 0.1, 1: 0.3})
    down, _ = attack.reach(1, None, np.array([0, 1, 2]))
    assert down.tolist() == [[0.1], [0.3], [0]]
    with pytest.raises(InvalidInputError, match="itself given per class"):
        AttackModel.per_class({0: attack})


def test_a_fraction_of_the_range_becomes_raw_units_on_data() -> None:
    attack = AttackModel.fraction_of_range(0.1)
    X = np.array([[0.0, 5.0], [10.0, 5.0]])
    with pytest.raises(InvalidInputError, match=r"attack.fit\(X\)"):
        attack.reach(2)
    down, up = attack.fit(X).reach(2)
    assert down.tolist() == [[1, 0]] == up.tolist()
    assert attack.only([1]).fit(X).reach(2, None, [0, 1])[0].tolist() == [[0, 0], [1, 0]]
    assert attack.is_relative
    assert not attack.fit(X).is_relative


def test_scaling_multiplies_every_radius_and_nothing_stays_nothing() -> None:
    attack = AttackModel.parse({"age": (1, 2), "links": ">"}).only([0])
    down, up = attack.scaled(3).reach(3, NAMES, [0])
    assert (down.tolist(), up.tolist()) == ([[3, 0, 0]], [[6, 0, math.inf]])
    assert attack.scaled(0).reach(3, NAMES, [0])[1].tolist() == [[0, 0, 0]]
    with pytest.raises(InvalidInputError, match="-1"):
        attack.scaled(-1)


@pytest.mark.parametrize("attack", [AttackModel.parse({"age": (1, 2), "links": ">", "*": 3}),
                                    AttackModel.parse([1, "<>", ""]).only(["a", "b"]),
                                    AttackModel.fraction_of_range(0.1)])  # fmt: skip
def test_an_attack_survives_json(attack: AttackModel) -> None:
    assert AttackModel.from_dict(json.loads(json.dumps(attack.to_dict(), allow_nan=False))) == attack


def test_a_damaged_stored_attack_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="the attack has no entry 'default'"):
        AttackModel.from_dict({"unit": "raw"})


def test_an_attack_describes_itself() -> None:
    assert str(AttackModel.parse(0.1)) == "every feature ±0.1"
    assert str(AttackModel.fraction_of_range(0.1)) == "every feature ±10 % of its range"
    assert AttackModel.parse([1, (0, 2), ""]).describe(NAMES) == "age ±1, income -0/+2, links untouchable"
    assert str(AttackModel.parse({"links": ">"}).only(["spam"])) == "class spam: links -0/+any amount"


@pytest.mark.parametrize(
    ("text", "attack"),
    [
        ("0.1", AttackModel.parse({"*": 0.1})),
        ("10%", AttackModel.fraction_of_range({"*": 0.1})),
        ("age=5, income=0:100,links=>", AttackModel.parse({"age": 5, "income": (0, 100), "links": ">"})),
        ("age=5%,*=1%:0%", AttackModel.fraction_of_range({"age": 0.05, "*": (0.01, 0)})),
        ("age=,links=<>,income=inf:0", AttackModel.parse({"age": "", "links": "<>", "income": (math.inf, 0)})),
    ],
)
def test_command_line_spellings(text: str, attack: AttackModel) -> None:
    assert attack_from_text(text) == attack


@pytest.mark.parametrize("text", ["abc", "age=x", "age=1:2:3", "age=1,age=2", "age=1:2%", "=3", "age=1,2", "-1"])
def test_unreadable_command_line_attacks_are_refused(text: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        attack_from_text(text)
    assert text.split("=")[-1].strip("%") in str(error.value)


def test_an_attack_file_may_name_features_and_classes(tmp_path: Path) -> None:
    path = tmp_path / "attack.toml"
    path.write_text('unit = "raw"\ndefault = 0.5\nclasses = [1]\n[features]\nage = [1, 2]\nlinks = ">"\n')
    expected = AttackModel.parse({"*": 0.5, "age": (1, 2), "links": ">"}).only([1])
    assert read_attack(str(path)) == expected == attack_from_toml(path)
    path.write_text('[per_class.spam]\nunit = "range"\ndefault = 0.1\n[per_class.0]\n[per_class.0.features]\nage = 1\n')
    model = attack_from_toml(path)
    expected = AttackModel.per_class({"spam": AttackModel.fraction_of_range({"*": 0.1}), "0": {"*": 0.0, "age": 1}})
    assert model == expected
    assert with_labels_of(model, ["spam", 0]).by_class[1][0] == 0  # type: ignore[index]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("default = ", "not valid TOML"),
        ("radius = 1", "has the entry 'radius'"),
        ('unit = "metres"', "'metres'"),
        ("default = -1", "-1"),
        ("default = 1\n[per_class.a]\ndefault = 1", "has the entry 'default'"),
    ],
)
def test_a_bad_attack_file_is_refused_by_name(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "attack.toml"
    path.write_text(content)
    with pytest.raises(InvalidInputError) as error:
        attack_from_toml(path)
    assert said in str(error.value)
    assert "attack.toml" in str(error.value)
    with pytest.raises(InvalidInputError, match=r"nowhere\.toml"):
        attack_from_toml(tmp_path / "nowhere.toml")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("features = 5", "features of attack file .* is 5; it must be an object"),
        ("classes = 5", "classes of attack file .* is 5; it must be a list"),
        ("classes = []", "classes of attack file .* at least one class"),
        ("classes = [[1]]", r"classes of attack file .* is \[1\]; it must be text, a number"),
        ("per_class = 5", "per_class of attack file .* is 5; it must be an object"),
        ("[per_class]", "per_class of attack file .* at least one class"),
        ("[per_class]\nspam = 5", "spam of per_class of attack file .* is 5"),
        ("[per_class.spam]\nclasses = ['a']", "has the entry 'classes'"),
        ("[per_class.spam]\nfeatures = [1]", "features of spam of per_class"),
        ("unit = 3", "unit of attack file .* is 3; it must be text"),
        ("default = 'much'", "attack file .*'much'"),
        ("default = [1, 2, 3]", r"attack file .*\[1, 2, 3\]"),
        ("default = {a = 1}", "attack file"),
        ("default = nan", "attack file .*nan"),
        ("[features]\nage = true", "attack file"),
        ("[features]\nage = 1979-05-27", "attack file"),
    ],
)
def test_an_attack_file_that_makes_no_sense_is_refused_with_its_place(
    content: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "attack.toml"
    path.write_text(content)
    with pytest.raises(InvalidInputError, match=message):
        attack_from_toml(path)
