"""The page to explore, in a real browser, by mouse and by keyboard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_moons

from cli_runner import run
from hardwood import AttackModel, adversarial_accuracy_bound
from hardwood.evaluation import Part, trade_off
from hardwood.evaluation.fragility import fragility
from hardwood.problem.problem import prepare
from hardwood.report.explore import explore_document
from hardwood.report.page import render_exploration
from hardwood.report.tree_changes import describe_changes
from report.browser import asked_for, choose, find, open_page, press, texts

HOSTILE = "</script><script>alert(1)</script>"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    X, y = make_moons(80, noise=0.25, random_state=1)
    path = tmp_path_factory.mktemp("explore") / "moons.csv"
    rows = [
        f"{a:.3f},{b:.3f},{'red' if a > 0 else 'blue'},{'up' if label else 'down'}"
        for (a, b), label in zip(X, y, strict=True)
    ]
    path.write_text("\n".join(["first,second,colour,class", *rows]))
    return path


@pytest.fixture(scope="module")
def explored(table: Path) -> Path:
    page = table.with_name("explore.html")
    options = ("--attack", "first=0.2,second=0.1", "--categorical", "colour", "--radii", "0,0.5,1,2", "--depths", "1,2")
    run("explore", table, "-t", "class", *options, "-o", page)
    return page


def document_of(page: Path) -> Any:
    return json.loads(page.read_text().partition('id="data">')[2].partition("</script>")[0])


def slide(page: Any, slider: str, key: str) -> None:
    from selenium.webdriver.common.keys import Keys

    find(page, slider)[0].send_keys(getattr(Keys, key))


def test_the_page_works_offline_without_errors(browser: Any, explored: Path) -> None:
    open_page(browser, explored)
    assert asked_for(browser) <= {"file", "data"}
    assert browser.get_log("browser") == []
    assert "http" not in explored.read_text().replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")


def test_sliders_move_tree_numbers_curves_and_samples_by_keyboard(browser: Any, explored: Path) -> None:
    open_page(browser, explored)
    cells = {(cell["radius"], cell["depth"]): cell for cell in document_of(explored)["cells"]}

    def is_shown(radius: float, depth: int) -> None:
        cell = cells[radius, depth]
        assert f"{cell['n_lost']} of 64 samples" in texts(browser, "#headline")[0]
        assert len(find(browser, "#tree .tree-node")) == len(cell["tree"]["feature"])
        assert f"{cell['leaves']} lea" in texts(browser, "#proof")[0]
        assert "proven optimal" in texts(browser, "#proof")[0]
        assert len(find(browser, "#samples tbody tr")) == len(cell["lost"])
        assert find(browser, "#curves svg .current")

    is_shown(1, 2)
    slide(browser, "#radius", "ARROW_RIGHT")
    is_shown(2, 2)
    assert find(browser, "#radius")[0].get_attribute("aria-valuetext") == "2 times the attack"
    slide(browser, "#depth", "ARROW_LEFT")
    is_shown(2, 1)
    slide(browser, "#radius", "HOME")
    is_shown(0, 1)
    assert "Nobody attacks" in texts(browser, "#headline")[0]
    assert "can do nothing" in texts(browser, "#attack")[0]
    assert not find(browser, "#changed-title")[0].is_displayed()
    slide(browser, "#radius", "END")
    assert texts(browser, "#changed li")
    assert browser.get_log("browser") == []


def test_a_click_on_a_sample_tells_the_cheapest_attack(browser: Any, explored: Path) -> None:
    open_page(browser, explored)
    document = document_of(explored)
    [cell] = [cell for cell in document["cells"] if (cell["radius"], cell["depth"]) == (1, 2)]
    press(browser, "#only-lost")
    assert len(find(browser, "#samples tbody tr")) == len(document["rows"]) == 64
    wanted = next(
        i for i, bears in enumerate(cell["bears"]) if isinstance(bears, float) and bears > 1 and cell["changes"][i]
    )
    press(browser, f'#samples tr[data-row="{wanted}"] button')
    said = texts(browser, "#sample")[0]
    name, before, after = cell["changes"][wanted][0]
    assert f"Line {document['rows'][wanted]['line']}: class is" in said
    assert f"{name} from {before} to {after}" in said
    assert "it is safe" in said
    choose(browser, "#which-class", "up")
    assert set(texts(browser, "#samples tbody td:nth-child(2)")) == {"up"}


def test_a_node_tells_what_an_attacker_can_do(browser: Any, explored: Path) -> None:
    open_page(browser, explored)
    press(browser, '#tree [data-node="1"]')
    assert find(browser, '#tree .chosen[data-node="1"]')
    assert "Node 1" in texts(browser, "#node")[0] or "Leaf 1" in texts(browser, "#node")[0]


@pytest.mark.parametrize("width", [360, 768])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone_and_a_dark_room(browser: Any, explored: Path, width: int, scheme: str) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    open_page(browser, explored, width)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    paper, ink = (
        browser.execute_script(f"return getComputedStyle(document.body).{name}")
        for name in ("backgroundColor", "color")
    )
    light = [sum(map(int, colour[4:-1].split(","))) for colour in (paper, ink)]
    assert (light[0] < light[1]) == (scheme == "dark")
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_everything_has_a_name_for_screen_readers(browser: Any, explored: Path) -> None:
    open_page(browser, explored)
    for control in find(browser, "input, select, button"):
        assert control.accessible_name, control.get_attribute("outerHTML")
    for picture in find(browser, "svg[role]"):
        assert picture.get_attribute("aria-label")
    assert [heading.tag_name for heading in find(browser, "h1")] == ["h1"]
    assert find(browser, "#headline[role=status]")


def test_one_model_is_reported_over_radii(browser: Any, table: Path, tmp_path: Path) -> None:
    model, page = tmp_path / "model.json", tmp_path / "report.html"
    run(
        "fit",
        table,
        "-t",
        "class",
        "--attack",
        "first=0.2,second=0.1",
        "--categorical",
        "colour",
        "--depth",
        2,
        "-o",
        model,
    )
    run("report", model, table, "-t", "class", "-o", page)
    open_page(browser, page)
    assert texts(browser, "h1") == ["model.json on moons.csv"]
    assert not find(browser, "#depth-control")[0].is_displayed()
    before = texts(browser, "#headline")[0]
    slide(browser, "#radius", "END")
    assert texts(browser, "#headline")[0] != before
    assert browser.get_log("browser") == []
    assert "--target" in run("report", model, table, code=1)
    assert "two files" in run("report", model, "-t", "class", code=1)


def test_hostile_names_are_text(browser: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((30, 2))
    y = np.where(X[:, 0] > 0.5, HOSTILE, "<b>other</b>")
    attack = AttackModel.parse(0.05)
    names = (HOSTILE, "__proto__")

    def state(scaled: AttackModel, depth: int) -> Any:
        return prepare(X, y, scaled, depth, feature_names=names)

    found = trade_off(state, attack, Part(X, y), radii=(1,), depths=(1,))
    named = {"name": HOSTILE, "target": HOSTILE, "attack_typed": HOSTILE}
    document = explore_document(found, Part(X, y), None, lines=range(2, 32), **named)
    page = tmp_path / "hostile.html"
    page.write_text(render_exploration(document))
    open_page(browser, page)
    assert len(find(browser, "script")) == 2
    assert HOSTILE in texts(browser, "h1")[0]
    assert texts(browser, '#tree [data-node="0"] title')[0].startswith(HOSTILE)
    assert browser.get_log("browser") == []


def test_what_is_shown_is_what_the_library_says() -> None:
    X, y = make_moons(60, noise=0.3, random_state=2)
    attack = AttackModel.parse([0.1, 0.2])

    def state(scaled: AttackModel, depth: int) -> Any:
        return prepare(X, y, scaled, depth)

    found = trade_off(state, attack, Part(X, y), radii=(0, 1), depths=(1, 2))
    document = explore_document(found, Part(X, y), None, name="", target="", lines=range(60), attack_typed="")
    assert document["bounds"][1]["bound"] == adversarial_accuracy_bound(X, y, attack).bound
    for point, cell in zip(found.points, document["cells"], strict=True):
        assert cell["n_lost"] == point.result.objective == len(cell["lost"])
        assert cell["train"]["attacked"] == pytest.approx(1 - cell["n_lost"] / 60)
        borne = fragility(point.result.tree, X, y, attack).bears
        assert cell["lost"] == np.flatnonzero(borne < point.radius).tolist()
    assert describe_changes(found.points[0].result.tree, found.points[0].result.tree) == []
    assert describe_changes(found.points[0].result.tree, found.points[1].result.tree)
