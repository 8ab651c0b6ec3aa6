"""The HTML report, in a real browser."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hardwood.evaluation.methods import find_method
from hardwood.experiments.cells import BoundCell, FitCell, key_of
from hardwood.experiments.document import document_of
from hardwood.experiments.grid import Grid
from hardwood.experiments.log import Log, open_log
from hardwood.experiments.outputs import write_report
from hardwood.experiments.runner import lost_record, run_cell, run_grid
from hardwood.experiments.sets import load_set
from hardwood.report.page import render
from report.browser import choose, find, press, set_width, texts
from strategies import hostile_texts

METHODS_RUN = (find_method("GROOT"), find_method("TREANT"))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tuple[Log, Path]:
    """Results of small experiments of every kind, with one failed cell, and their page."""
    folder = tmp_path_factory.mktemp("report")
    grids = (
        Grid("table", "selection", (("moons", 0.03), ("blobs", 0.1)), METHODS_RUN, (0, 1, 2), 5.0, folds=2),
        Grid("xor", "fit", (("xor", 0.1),), METHODS_RUN, (2,), 5.0),
        Grid("runtime", "fit", (("moons", 0.03), ("blobs", 0.1)), METHODS_RUN, (3,), 5.0),
        Grid("epsilons", "curve", (("moons", 0.0), ("blobs", 0.0))),
    )
    with open_log(folder / "results.jsonl") as writer:
        for grid in grids:
            run_grid(grid, writer, load_set, lambda tasks: (run_cell(*task) for task in tasks))
        failed = lost_record(BoundCell("moons", 0.03), RuntimeError("<b>no</b> memory"))
        writer.append(failed)
        log = writer.log
    write_report([log], folder / "report.html")
    return log, folder / "report.html"


def fit_cells(log: Log) -> list[FitCell]:
    return [record.cell for record in log.cells.values() if isinstance(record.cell, FitCell)]


@pytest.fixture
def page(browser: Any, results: tuple[Log, Path]) -> Any:
    """The report, freshly loaded at desktop width."""
    set_width(browser, 1200)
    # A new browser opens pages of its own; what they said and asked for is not ours.
    for log in ("browser", "performance"):
        browser.get_log(log)
    browser.get(results[1].as_uri())
    return browser


def column(page: Any, number: int) -> list[str]:
    return texts(page, f"#rows tbody td:nth-child({number})")


def test_the_page_loads_without_errors_and_asks_the_network_for_nothing(page: Any, results: tuple[Log, Path]) -> None:
    press(page, "#rows tbody tr[tabindex]")
    assert page.get_log("browser") == []
    sent = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    asked = {
        m["params"]["request"]["url"].partition(":")[0] for m in sent if m["method"] == "Network.requestWillBeSent"
    }
    assert asked <= {"file", "data"}
    assert "http" not in results[1].read_text().replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")


def test_tables_charts_and_failures_are_there(page: Any) -> None:
    headings = texts(page, "#tables h3")
    assert "Accuracy under attack on held-out data: Adversarial accuracy on the test part" in headings
    assert "0.726 ± 0.015" in page.page_source
    charts = [card.get_attribute("data-chart") for card in find(page, "#charts .card")]
    assert charts == ["table-means", "xor-regions", "runtime-over-time", "runtime-regions", "epsilons-curves"]
    assert all(find(page, f'[data-chart="{name}"] svg[role="img"]') for name in charts)
    assert "<b>no</b> memory" in texts(page, "#failures td")[-1]


def test_the_page_opens_with_what_was_asked_and_found(page: Any) -> None:
    assert find(page, "#headline")[0].text
    asked = texts(page, "#questions .card p")
    assert len(asked) == 4
    assert asked[0].startswith("Which learner keeps the most accuracy under attack")
    places = [element.location["y"] for element in find(page, "#questions, #charts, #tables, #fits")]
    assert places == sorted(places)
    assert not [name for name in texts(page, "h3") if "-aggregate" in name or "-curves" in name]


def test_every_picture_has_a_title_and_a_label(page: Any) -> None:
    press(page, "#rows tbody tr[tabindex]")
    for picture in find(page, "svg"):
        assert picture.get_attribute("aria-label")
        assert picture.find_elements("css selector", "title")


def test_who_proves_nothing_has_no_bound(page: Any, results: tuple[Log, Path]) -> None:
    document = document_of([results[0]])
    heuristic = [fit for fit in document["fits"] if fit["stopped_by"] == "heuristic"]
    assert heuristic
    assert all(fit["bound"] is None and fit["gap"] is None for fit in heuristic)
    assert "–" in column(page, 10)


def test_bands_are_shown_on_demand(page: Any) -> None:
    card = '[data-chart="runtime-over-time"]'
    before = len(find(page, f"{card} svg[role='img'] path"))
    press(page, f"{card} .bands input")
    assert len(find(page, f"{card} svg[role='img'] path")) == 2 * before


def test_columns_sort_both_ways(page: Any) -> None:
    header = 'th[data-key="test_adversarial_accuracy"]'
    press(page, f"{header} button")
    ascending = [float(cell.removesuffix(" %")) for cell in column(page, 6)]
    assert ascending == sorted(ascending)
    assert len(set(ascending)) > 1
    assert find(page, header)[0].get_attribute("aria-sort") == "ascending"
    press(page, f"{header} button")
    assert [float(cell.removesuffix(" %")) for cell in column(page, 6)] == ascending[::-1]
    press(page, 'th[data-key="method"] button')
    assert column(page, 3) == sorted(column(page, 3), key=str.lower)


def test_filters_leave_what_was_asked_for(page: Any, results: tuple[Log, Path]) -> None:
    fits = fit_cells(results[0])
    whole = [cell for cell in fits if cell.fold is None]
    assert find(page, "#count")[0].text == f"{len(whole)} fits"
    press(page, "#folds")
    assert find(page, "#count")[0].text == f"{len(fits)} fits"
    choose(page, "#filter-method", "TREANT")
    assert set(column(page, 3)) == {"TREANT"}
    choose(page, "#filter-depth", "2")
    assert set(column(page, 5)) == {"2"}
    find(page, "#search")[0].send_keys("BLOB")
    assert {cell.partition(",")[0] for cell in column(page, 1)} == {"blobs"}
    expected = [c for c in fits if (c.recipe.solver, c.depth, c.dataset) == ("treant", 2, "blobs")]
    assert find(page, "#count")[0].text == f"{len(expected)} fits"


def test_a_row_opens_its_tree_and_its_nodes_tell_what_an_attacker_can_do(page: Any, results: tuple[Log, Path]) -> None:
    choose(page, "#filter-method", "GROOT")
    choose(page, "#filter-dataset", "moons")
    choose(page, "#filter-depth", "3")
    press(page, "#rows tbody tr[tabindex]")
    [cell] = [c for c in fit_cells(results[0]) if (c.recipe, c.depth, c.dataset) == (METHODS_RUN[0].recipe, 3, "moons")]
    outcome = results[0].fit(key_of(cell))
    assert outcome is not None
    assert outcome.nodes is not None
    tree, nodes = outcome.tree.to_dict(), [node.to_dict() for node in outcome.nodes]
    assert find(page, "#detail[open]")
    assert len(find(page, "#tree .tree-node")) == len(tree["feature"])
    assert len(find(page, "#tree .tree-edge")) == len(tree["feature"]) - 1
    across = sum(nodes[0]["both"])
    assert across > 0
    assert f"An attacker can push {across} of them across" in find(page, "#node")[0].text
    assert len(find(page, "#node .scroll tbody tr")) == min(25, across)
    leaf = tree["left"].index(-1)
    press(page, f'#tree [data-node="{leaf}"]')
    assert f"{sum(nodes[leaf]['reach'])} samples can be made to end here" in find(page, "#node")[0].text
    assert find(page, f'#tree .chosen[data-node="{leaf}"]')
    assert find(page, "#convergence svg")
    press(page, "#close")
    assert not find(page, "#detail[open]")
    assert page.get_log("browser") == []


def test_a_series_can_be_hidden_and_a_chart_says_its_values(page: Any) -> None:
    card = '[data-chart="epsilons-curves"]'
    lines = len(find(page, f"{card} svg path"))
    press(page, f"{card} .legend button")
    assert find(page, f"{card} .legend button")[0].get_attribute("aria-pressed") == "false"
    assert len(find(page, f"{card} svg[role='img'] path")) == lines - 1
    area = find(page, f"{card} svg rect")[0]
    script = (
        "const b = arguments[0].getBoundingClientRect(); arguments[0].dispatchEvent(new PointerEvent('pointermove', "
        "{clientX: b.left + b.width / 2, clientY: b.top + 20}))"
    )
    page.execute_script(script, area)
    tip = find(page, "#tip")[0].get_attribute("textContent")
    assert "blobs: " in tip
    assert "moons" not in tip


@pytest.mark.parametrize("width", [360, 390, 768])
def test_nothing_sticks_out_on_a_small_screen(page: Any, width: int) -> None:
    set_width(page, width)
    page.refresh()
    assert page.execute_script("return document.documentElement.scrollWidth") <= width
    press(page, "#rows tbody tr[tabindex]")
    assert find(page, "#detail")[0].rect["width"] <= width


def test_an_experiment_run_again_with_other_settings_is_shown_once(results: tuple[Log, Path]) -> None:
    log = results[0]
    changed = replace(log.grids[0], depths=(0, 1))
    document = document_of([Log([*log.grids, changed], log.cells)])
    [aggregate] = [table for table in document["tables"] if table["name"] == "table-aggregate"]
    assert "depth 0 to 1" in aggregate["notes"][0]
    assert len(document["fits"]) == len(document_of([log])["fits"])


@pytest.mark.parametrize(
    "text",
    ["</script><script>alert(1)</script>", "<!--<script>", "]]>", "&lt;", "\u2028\u2029", "/*DATA*/", "/*STYLE*/"],
)
def test_data_cannot_break_out_of_the_page(text: str) -> None:
    document = {"name": text, text: [text]}
    page = render(document)
    assert page.count("</script>") == 2
    data = page.partition('id="data">')[2].partition("</script>")[0]
    assert json.loads(data) == document
    assert not set(data) & set("<>&\u2028\u2029")


def renamed(document: Any, names: dict[str, str]) -> Any:
    """The same document with other names, wherever they stand."""
    if isinstance(document, dict):
        return {key: renamed(value, names) for key, value in document.items()}
    if isinstance(document, list | tuple):
        return [renamed(value, names) for value in document]
    return names.get(document, document) if isinstance(document, str) else document


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(hostile_texts(), min_size=4, max_size=4, unique=True))
@example(["<!--<script>", "</script>", "__proto__", "x" * 10_000])
@example(["x" * 10_000, "שלום\u202e", "é" * 10_000, "\0\n"])
def test_hostile_names_are_shown_as_they_are(
    browser: Any, results: tuple[Log, Path], tmp_path: Path, texts_given: list[str]
) -> None:
    """Sets, methods, features and classes called what somebody chose in order to break the page."""
    data_set, method, feature, label = texts_given
    document = renamed(document_of([results[0]]), {"moons": data_set, "GROOT": method})
    fits = [fit for fit in document["fits"] if fit["dataset"] == data_set and fit["depth"] == 3]
    for fit in fits:
        fit["tree"]["feature_names"] = [feature] * fit["tree"]["n_features"]
        fit["tree"]["classes"] = [label, "other"]
    document["fits"] = fits
    page = tmp_path / "hostile.html"
    page.write_text(render(document), encoding="utf-8")
    set_width(browser, 1200)
    browser.get_log("browser")
    browser.get(page.as_uri())
    assert len(find(browser, "#rows tbody tr[tabindex]")) == len(fits) > 0
    assert {one.get_attribute("textContent") for one in find(browser, "#rows tbody td:first-child")} == {data_set}
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 1200
    press(browser, "#rows tbody tr[tabindex]")
    assert f"on {data_set}, ε" in texts(browser, "#detail-title")[0]
    root = f"{feature} ≤ "
    assert texts(browser, '#tree [data-node="0"] title')[0].startswith(root)
    assert f"class {label}" in texts(browser, "#node thead th")
    assert len(find(browser, "script")) == 2
    assert browser.get_log("browser") == []
