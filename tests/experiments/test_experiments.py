from __future__ import annotations

import gzip
import json
import math
from collections.abc import Generator, Iterable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hardwood import InvalidInputError, Problem, Tree, adversarial_accuracy
from hardwood.data.datasets import PAPER_RADII, Dataset
from hardwood.experiments import charts, figures, scores, tables
from hardwood.experiments.cells import BoundCell, CurveCell, FitCell, cell_from_dict, key_of, load_set, split
from hardwood.experiments.grid import Choice, Grid, load_grid, shipped_grids
from hardwood.experiments.log import Log, LogInUseError, Record, open_log, read_log
from hardwood.experiments.methods import METHODS, Learner, Method, find_methods
from hardwood.experiments.nodes import describe_nodes
from hardwood.experiments.published import PUBLISHED
from hardwood.experiments.runner import Task, lost_record, run_cell, run_grid

GROOT = METHODS["GROOT"]
LEAF = Tree.from_dict(
    {"classes": [0, 1], "n_features": 2, "feature_names": None, "feature": [-1], "threshold": [None], "left": [-1],
     "right": [-1], "label": [0]}
).to_dict()  # fmt: skip
TWO_FACTORS = Method("two radii", Learner("greedy"), radius_factors=(1.5, 1.0))


def small_grid(kind: str = "selection", methods: tuple[Method, ...] = (GROOT,), **changes: Any) -> Grid:
    settings: dict[str, Any] = {"depths": (0, 1, 2), "time_limit": 5.0, "folds": 2}
    return Grid("small", kind, (("moons", 0.05), ("blobs", 0.1)), methods, **(settings | changes))


def in_process(tasks: Iterable[Task]) -> Generator[Record, None, None]:
    yield from (run_cell(cell, data) for cell, data in tasks)


def run(grid: Grid, path: Path, execute: Any = in_process, **options: Any) -> Log:
    with open_log(path) as writer:
        run_grid(grid, writer, load_set, execute, **options)
        return writer.log


def made_up_fit(log: Log, cell: FitCell, score: float, **result: Any) -> None:
    """Add a record as if the cell had been run and scored so."""
    values: dict[str, Any] = {
        "status": "feasible", "objective": 10.0, "bound": 0.0, "gap": 1.0, "stopped_by": "heuristic", "seconds": 0.1,
        "trace": [[0.1, 10.0, 0.0]], "n_train": 100, "n_test": 20, "train_accuracy": score,
        "train_adversarial_accuracy": score, "test_accuracy": score, "test_adversarial_accuracy": score,
        "tree": LEAF,
    }  # fmt: skip
    log.take({"record": "cell", "key": key_of(cell), "cell": cell.to_dict(), "ok": True, "result": values | result})


# Grids


def test_the_papers_experiments_are_shipped() -> None:
    assert shipped_grids() == ["epsilons", "optimality", "runtime", "table", "xor"]
    table = load_grid("table")
    assert len(table.instances) == 24
    assert table.depths == (0, 1, 2, 3, 4)
    assert (table.folds, table.time_limit) == (3, 1800)
    assert {method.name for method in table.methods} | set(table.skipped) == set(METHODS)
    quick = load_grid("table", quick=True)
    assert quick.name == "table-quick"
    assert len(quick.instances) == 3
    assert quick.time_limit == 10
    assert load_grid("xor", quick=True).name == "xor"


def test_a_grid_can_be_cut_down_and_comes_back_from_the_log() -> None:
    methods = ["groot", "search, radius chosen"]
    grid = load_grid("table", datasets=["haberman"], methods=methods, depths=[1, 2], time_limit=3)
    assert grid.instances == tuple(("haberman", radius) for radius in PAPER_RADII["haberman"])
    assert [method.name for method in grid.methods] == ["GROOT", "search, radius chosen"]
    assert Grid.from_record(json.loads(json.dumps(grid.to_record()))) == grid


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ('kind = "fit"\nradius = 3', "has the entry 'radius'"),
        ('kind = "fly"', "kind='fly'; it must be one of selection, fit, curve"),
        ('kind = "fit"\ndatasets = ["titanic"]', "data set 'titanic' is not known"),
        ('kind = "fit"\ndatasets = ["moons"]', "no radii for data set 'moons'"),
        ('kind = "fit"\nradii = [-1]', "a radius is a number >= 0"),
        ('kind = "fit"\nradii = "some"', 'it must be "paper", "middle" or a list'),
        ('kind = "fit"\nmethods = ["ID3"]', "method 'ID3' is not known; the methods are: TREANT"),
        ('kind = "fit"\ndepths = [1.5]', "depths holds 1.5"),
        ('kind = "fit"\ntime_limit = 0', "time_limit=0; it must be a number of seconds above 0"),
        ("kind = ", "is not a TOML file"),
    ],
)
def test_a_wrong_grid_is_refused_with_what_would_be_right(change: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(change)
    with pytest.raises(InvalidInputError) as caught:
        load_grid(path)
    assert message in str(caught.value)


def test_an_unknown_experiment_names_the_known_ones() -> None:
    with pytest.raises(InvalidInputError, match="the experiments are epsilons, optimality"):
        load_grid("tabel")


def test_methods_that_cannot_run_here_say_why() -> None:
    assert "no solver 'oracle'" in str(Method("x", Learner("oracle")).missing)
    assert GROOT.missing is None
    with pytest.raises(InvalidInputError, match="methods are: TREANT"):
        find_methods(["nobody"])


# Cells


def test_cells_come_back_from_plain_data_with_the_same_key() -> None:
    cells = [
        FitCell("moons", 0.1, Learner("greedy", {"criterion": "chen"}), 2, 5.0, radius_factor=1.2, fold=1, folds=3),
        BoundCell("moons", 0.1),
        CurveCell("moons"),
    ]
    for cell in cells:
        again = cell_from_dict(json.loads(json.dumps(cell.to_dict())))
        assert again == cell
        assert key_of(again) == key_of(cell)
    assert len({key_of(cell) for cell in cells}) == 3


def test_a_fit_cell_reports_scores_of_the_attack_not_of_the_training_radius() -> None:
    data = load_set("moons")
    cell = FitCell("moons", 0.03, Learner("greedy"), 3, 5.0, radius_factor=2.0)
    result = cell.run(data)
    tree = Tree.from_dict(result["tree"])
    assert result["test_adversarial_accuracy"] == adversarial_accuracy(tree, data.X, data.y, 0.03)
    assert result["objective"] == round((1 - adversarial_accuracy(tree, data.X, data.y, 0.06)) * len(data.y))


def test_the_folds_of_a_cell_are_a_partition_of_the_training_part(paper_data: Path) -> None:
    data = load_set("haberman", paper_data)
    parts = [FitCell("haberman", 0.03, Learner("greedy"), 1, 5.0, fold=fold, folds=3)._part(data) for fold in range(3)]
    whole = split(data, 0)
    held_out = np.concatenate([part.X_test for part in parts])
    assert sorted(map(tuple, held_out.tolist())) == sorted(map(tuple, whole.X_train.tolist()))
    assert all(len(part.X_train) + len(part.X_test) == len(whole.X_train) for part in parts)


def test_bounds_and_curves_agree_with_each_other() -> None:
    data = load_set("moons")
    curve = CurveCell("moons").run(data)
    bound = BoundCell("moons", 0.05).run(data)
    assert bound["bound"] == pytest.approx(dict(zip(curve["epsilons"], curve["bound"], strict=True))[0.05])
    assert len(curve["chosen"]) == 3


@pytest.mark.parametrize("seed", range(5))
def test_node_descriptions_count_every_sample_as_boxes_meet_the_splits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.random((40, 2)).round(1), rng.integers(0, 2, 40)
    problem = Problem.from_data(X, y, 0.1, 2)
    tree = Tree.from_dict(FitCell("x", 0.1, Learner("greedy"), 2, 5.0).run(Dataset("moons", X, y, ("a", "b")))["tree"])
    described = describe_nodes(tree, problem)

    def visit(node: int, inside: list[int]) -> None:
        entry = described[node]
        assert entry["reach"] == np.bincount(y[inside], minlength=2).tolist()
        if tree.left[node] < 0:
            assert entry["lost"] == sum(y[i] != tree.label[node] for i in inside)
            return
        j, threshold = tree.feature[node], tree.threshold[node]
        left = [i for i in inside if problem.lower[i, j] <= threshold]
        right = [i for i in inside if problem.upper[i, j] > threshold]
        both = sorted(set(left) & set(right))
        assert entry["both"] == np.bincount(y[both], minlength=2).tolist()
        assert sorted(sample for sample, *_ in entry["across"]) == both or len(both) > 25
        assert entry["margin"] is None or entry["margin"] > 0
        visit(tree.left[node], left)
        visit(tree.right[node], right)

    visit(0, list(range(40)))


# Selection


def test_cross_validation_takes_the_best_mean_and_the_shallowest_of_equals() -> None:
    grid = small_grid(methods=(TWO_FACTORS,))
    instance = grid.instances[0]
    assert grid.choices(TWO_FACTORS) == [Choice(0, 1), Choice(1, 1), Choice(1, 1.5), Choice(2, 1), Choice(2, 1.5)]
    log = Log()
    fold_scores = {
        Choice(0, 1): (0.5, 0.6), Choice(1, 1): (0.7, 0.8), Choice(1, 1.5): (0.8, 0.7), Choice(2, 1): (0.7, 0.7)
    }  # fmt: skip
    for choice, values in fold_scores.items():
        for fold, score in enumerate(values):
            made_up_fit(log, grid.fit_cell(instance, TWO_FACTORS, 0, choice, fold), score)
    assert grid.selected(instance, TWO_FACTORS, 0, log) is None, "some folds have not been run"
    for fold in range(2):
        made_up_fit(log, grid.fit_cell(instance, TWO_FACTORS, 0, Choice(2, 1.5), fold), 0.9)
    assert grid.selected(instance, TWO_FACTORS, 0, log) == Choice(2, 1.5)
    failed = grid.fit_cell(instance, TWO_FACTORS, 0, Choice(2, 1.5), 1)
    log.take(lost_record(failed, RuntimeError("out of memory")))
    assert grid.selected(instance, TWO_FACTORS, 0, log) == Choice(1, 1)


def test_methods_that_share_a_learner_share_their_fits() -> None:
    grid = small_grid(methods=(Method("one radius", Learner("greedy")), TWO_FACTORS))
    alone = small_grid(methods=(TWO_FACTORS,))
    assert set(grid.pending(Log())) == set(alone.pending(Log()))


# Running


def test_a_run_gives_every_cell_a_record_and_a_second_run_nothing_to_do(tmp_path: Path) -> None:
    path = tmp_path / "results" / "small.jsonl"
    log = run(small_grid(), path)
    # Two instances, three depths, two folds, and one final fit for each instance.
    assert len(log.cells) == 2 * 3 * 2 + 2
    assert all(record["ok"] for record in log.cells.values())
    before = path.read_bytes()

    def never(tasks: Iterable[Task]) -> Generator[Record, None, None]:
        assert not list(tasks), "there was something to run"
        yield from ()

    again = run(small_grid(), path, never)
    assert again.cells == log.cells
    assert path.read_bytes() == before
    record = next(iter(log.cells.values()))
    assert {"versions", "machine", "finished", "total_seconds"} <= set(record)
    assert record["versions"]["numpy"] == np.__version__
    assert record["cell"]["seed"] == 0


def test_a_failed_cell_is_recorded_and_stops_nothing_and_can_be_retried(tmp_path: Path) -> None:
    broken = Method("broken", Learner("greedy", {"criterion": "nonsense"}))
    grid = small_grid("fit", (broken, GROOT), depths=(1,))
    path = tmp_path / "results.jsonl"
    log = run(grid, path)
    failures = [record for record in log.cells.values() if not record["ok"]]
    assert len(failures) == 2
    assert all("nonsense" in record["error"] and "Traceback" in record["traceback"] for record in failures)
    assert sum(record["ok"] for record in log.cells.values()) == 2

    tried: list[str] = []

    def counting(tasks: Iterable[Task]) -> Generator[Record, None, None]:
        for cell, data in tasks:
            tried.append(key_of(cell))
            yield run_cell(cell, data)

    run(grid, path, counting)
    assert tried == []
    run(grid, path, counting, retry_failed=True)
    assert sorted(tried) == sorted(record["key"] for record in failures), "each failed cell once"


def test_an_interrupted_fit_is_not_a_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hardwood.solvers.greedy import GreedyLearner

    grid = small_grid("fit", (METHODS["Chen"],), depths=(2,))
    run(small_grid("fit", (METHODS["Chen"],), depths=(1,)), tmp_path / "other.jsonl")

    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(GreedyLearner, "grow", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(grid, tmp_path / "results.jsonl")
    assert read_log(tmp_path / "results.jsonl").cells == {}


# The log


def test_a_torn_last_line_is_ignored_by_readers_and_cut_off_by_writers(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    log = run(small_grid("fit", depths=(1,)), path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    assert len(read_log(path).cells) == len(log.cells) - 1
    with open_log(path) as writer:
        assert len(writer.log.cells) == len(log.cells) - 1
    assert path.read_bytes() == whole[: whole[:-1].rfind(b"\n") + 1]
    assert run(small_grid("fit", depths=(1,)), path).cells.keys() == log.cells.keys()


def test_damage_in_the_middle_is_an_error_with_the_line(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text('{"record": "cell", "key": "a", "ok": false}\n{"record": "ce\n')
    with pytest.raises(InvalidInputError, match="line 2 is not a result"):
        read_log(path)
    with gzip.open(tmp_path / "packed.jsonl.gz", "wt") as stream:
        stream.write('{"record": "cell", "key": "a", "ok": false}\n')
    assert read_log(tmp_path / "packed.jsonl.gz").has_failed("a")
    with pytest.raises(InvalidInputError, match="cannot read results"):
        read_log(tmp_path / "none.jsonl")


def test_only_one_writer_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    with open_log(path), pytest.raises(LogInUseError, match="is being written by another process"), open_log(path):
        pass
    with open_log(path) as writer:
        writer.append({"record": "cell", "key": "a", "ok": True})
    assert list(read_log(path).cells) == ["a"]


def test_numbers_that_json_cannot_say_never_reach_the_file(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    with open_log(path) as writer:
        with pytest.raises(ValueError, match="not JSON compliant"):
            writer.append({"record": "cell", "key": "a", "ok": True, "result": math.nan})
        assert path.read_bytes() == b""


# Tables and figures


def three_methods() -> tuple[Grid, Log]:
    """Two instances, three methods: scores .8/.6, .8/.5, .7/.6."""
    methods = (GROOT, METHODS["TREANT"], METHODS["Chen"])
    grid = small_grid(methods=methods, depths=(1,))
    log = Log()
    for method, values in zip(methods, ((0.8, 0.6), (0.8, 0.5), (0.7, 0.6)), strict=True):
        for instance, score in zip(grid.instances, values, strict=True):
            for fold in (0, 1, None):
                made_up_fit(log, grid.fit_cell(instance, method, 0, Choice(1, 1.0), fold), score)
    return grid, log


def test_equal_scores_share_the_better_rank_and_both_win() -> None:
    result = scores.standings(*three_methods())
    assert {name: standing.ranks for name, standing in result.items()} == {
        "GROOT": [1, 1], "TREANT": [1, 3], "Chen": [3, 1]
    }  # fmt: skip
    assert {name: standing.wins for name, standing in result.items()} == {"GROOT": 2, "TREANT": 1, "Chen": 1}
    mean, error = scores.mean_and_error([0.8, 0.6])
    assert (mean, error) == (pytest.approx(0.7), pytest.approx(0.1))


def test_the_papers_numbers_stand_beside_ours_in_every_format() -> None:
    table = tables.aggregate(*three_methods())
    assert len(table.rows) == 3 + len(set(PUBLISHED) - {"GROOT", "TREANT"})
    row = next(row for row in table.rows if row[0] == "GROOT")
    assert row == ["GROOT", "0.700 ± 0.100", "1.000 ± 0.000", "2", "2/2", "0.726 ± 0.015", "2.375 ± 0.450", "16"]
    markdown, text, latex = table.to_markdown(), table.to_csv(), table.to_latex()
    assert "| GROOT | **0.700 ± 0.100** |" in markdown
    assert "GROOT,0.700 ± 0.100,1.000 ± 0.000,2,2/2," in text
    assert r"GROOT & \textbf{0.700 $\pm$ 0.100} & 1.000 $\pm$ 0.000" in latex
    assert "MILP-warm,,,,,0.735 ± 0.015,1.583 ± 0.225,17" in text
    assert r"\toprule" in latex


def test_tables_line_up_in_a_terminal() -> None:
    text = tables.Table("Title", ["name", "n"], [["a", "1"], ["long", "10"]], notes=["Note."]).to_text()
    assert text == "Title\nname   n\n────  ──\na      1\nlong  10\nNote.\n"


def test_means_stand_beside_the_published_ones_on_the_same_instances_only() -> None:
    chart = charts.charts_of(*three_methods())["small-means"]
    assert isinstance(chart, charts.Chart)
    assert chart.names[0] == "GROOT"
    [here] = chart.series
    assert here.x[here.labels.index("GROOT")] == pytest.approx(0.7)
    assert here.high[here.labels.index("GROOT")] == pytest.approx(0.8)
    grid = load_grid("table", methods=["GROOT", "TREANT", "Chen"], depths=[1])
    log = Log()
    for instance, method, fold in product(grid.instances, grid.methods, (0, 1, 2, None)):
        made_up_fit(log, grid.fit_cell(instance, method, 0, Choice(1, 1.0), fold), 0.7)
    here, published = charts.means(grid, log).series
    assert here.x == [pytest.approx(0.7)] * 3
    assert dict(zip(published.labels, published.x, strict=True)) == {name: row[0] for name, row in PUBLISHED.items()}


def test_the_published_table_is_the_papers() -> None:
    assert [f"{row.accuracy:.3f}" for row in PUBLISHED.values()] == [
        "0.692", "0.714", "0.720", "0.724", "0.726", "0.726", "0.729", "0.735"
    ]  # fmt: skip
    assert [row.rank for row in PUBLISHED.values()] == [5.167, 3.958, 2.917, 2.667, 2.375, 2.083, 2.125, 1.583]
    assert [row.wins for row in PUBLISHED.values()] == [7, 10, 12, 10, 16, 16, 13, 17]


def test_the_best_of_an_instance_stand_out() -> None:
    table = tables.per_instance(*three_methods())
    assert table.columns == ["data set", "ε", "GROOT", "TREANT", "Chen"]
    assert table.rows[0] == ["moons", "0.05", "0.8000 (d1)", "0.8000 (d1)", "0.7000 (d1)"]
    assert table.bold == {(0, 2), (0, 3), (1, 2), (1, 4)}


def test_ratios_are_taken_where_optimality_is_proven_only() -> None:
    optimal = METHODS["search"]
    grid = small_grid("fit", (GROOT, optimal), depths=(2,), bounds=True)
    log = Log()
    for (dataset, radius), status in zip(grid.instances, ("optimal", "feasible"), strict=True):
        choice = Choice(2, 1.0)
        made_up_fit(log, grid.fit_cell((dataset, radius), GROOT, 0, choice), 0.6)
        made_up_fit(log, grid.fit_cell((dataset, radius), optimal, 0, choice), 0.8, status=status)
        cell = BoundCell(dataset, radius)
        log.take({"record": "cell", "key": key_of(cell), "cell": cell.to_dict(), "ok": True, "result": {"bound": 0.9}})
    table = tables.shares(grid, log)
    assert table.rows == [["2", "1/2", "50%", "1", "0.7500", "0.7500", "0.8889", "0.8889"]]
    assert charts.ratio_chart(grid, log, against_bound=False).series[0].y == [pytest.approx(0.75)]
    assert set(charts.charts_of(grid, log)) == {"small-groot", "small-bound"}


def test_errors_over_time_are_those_of_the_best_tree_so_far() -> None:
    grid = small_grid("fit", depths=(2,))
    log = Log()
    for instance in grid.instances:
        cell = grid.fit_cell(instance, GROOT, 0, Choice(2, 1.0))
        made_up_fit(log, cell, 0.8, trace=[[0.1, 40.0, 0.0], [1.0, 30.0, 5.0], [2.0, 20.0, 5.0]])
    record = next(iter(log.cells.values()))
    assert [scores.error_at(record, t) for t in (0.01, 0.5, 1.0, 9.0)] == [0.4, 0.4, 0.3, 0.2]
    chart = charts.over_time(grid, log)
    assert chart.series[0].y[0] == 0.4
    assert chart.series[0].y[-1] == 0.2
    assert tables.over_time(grid, log).rows == [["GROOT", "0.4000", "0.3000", "0.2000", "2"]]


def test_figures_are_written_in_three_formats_and_equal_results_give_equal_files(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    grid = Grid("xor", "fit", (("xor", 0.1),), (GROOT, METHODS["TREANT"]), (2,), 5.0)
    log = run(grid, tmp_path / "results.jsonl")
    curve = charts.Chart("lines", "t", "x", "y", [charts.Series("a", [0.1, 1], [1, 2], [0.5, 1], [2, 3])], x_log=True)
    points = charts.Chart("points", "t", "x", "y", [charts.Series("a", [1, 2], [0.9, 1], labels=["p", "q"])])
    dots = charts.means(*three_methods())
    drawn = {"dots": dots, "regions": charts.charts_of(grid, log)["xor-regions"], "curve": curve, "points": points}
    for name, chart in drawn.items():
        first = {path.suffix: path.read_bytes() for path in figures.draw(chart, tmp_path / name)}
        assert set(first) == {".png", ".pdf", ".svg"}
        assert first[".png"].startswith(b"\x89PNG")
        assert first[".pdf"].startswith(b"%PDF")
        assert first[".png"] == figures.draw(chart, tmp_path / f"{name}-again")[0].read_bytes()
