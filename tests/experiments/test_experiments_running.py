"""Experiments as processes: killed, run twice at once, spread over workers that die."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cli_runner import run
from hardwood import MissingEngineError
from hardwood.data.datasets import Dataset
from hardwood.experiments.cells import Cell, CurveCell, key_of
from hardwood.experiments.grid import Grid
from hardwood.experiments.grid_file import load_grid
from hardwood.experiments.log import Log, open_log, read_log
from hardwood.experiments.outcomes import CurveOutcome, Failure, FitOutcome
from hardwood.experiments.progress import PlainLines, as_duration, watch
from hardwood.experiments.records import CellRecord
from hardwood.experiments.runner import DaskCluster, local_processes, lost_record, run_cell, run_grid
from hardwood.experiments.schedule import cells_of, pending
from hardwood.experiments.sets import load_set

GRID = """
kind = "selection"
datasets = ["moons", "blobs"]
radii = [0.02, 0.05, 0.1]
methods = ["GROOT", "Chen"]
depths = [0, 1, 2, 3]
folds = 3
time_limit = 5
seeds = [0]
"""


@pytest.fixture
def grid_file(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(GRID)
    return path


def reproduce(grid: Path, *options: object) -> list[str]:
    folder = grid.parent / "out"
    return [sys.executable, "-m", "hardwood", "reproduce", str(grid), "-o", str(folder), *map(str, options)]


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]


ENDED_AFTER_EIGHT_LINES = """
import os, signal, sys
from hardwood.cli import main
from hardwood.experiments.log import LogWriter
append, lines = LogWriter.append, []
def append_then_end(writer, record):
    append(writer, record)
    lines.append(record)
    if len(lines) == 8:
        os.killpg(os.getpid(), signal.{signal})
LogWriter.append = append_then_end
main()
"""


def run_and_end(command: list[str], how: signal.Signals) -> subprocess.CompletedProcess[str]:
    """Run a command of hardwood in a process group that gets a signal once eight lines are written."""
    program = ENDED_AFTER_EIGHT_LINES.format(signal=how.name)
    command = [command[0], "-c", program, *command[3:]]
    return subprocess.run(command, capture_output=True, text=True, start_new_session=True, check=False)


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_killed_run_goes_on_where_it_stopped(grid_file: Path, jobs: int) -> None:
    results = grid_file.parent / "out" / "small.jsonl"
    first = run_and_end(reproduce(grid_file, "-j", jobs), signal.SIGKILL)
    assert first.returncode == -signal.SIGKILL, first.stderr
    kept = lines_of(results)
    expected = {key_of(cell) for cell in cells_of(load_grid(grid_file), read_log(results))}
    assert len(kept) == 8 < len(expected)

    second = subprocess.run(reproduce(grid_file, "-j", jobs), capture_output=True, text=True)
    assert second.returncode == 0, second.stderr
    lines = lines_of(results)
    assert lines[: len(kept)] == kept
    counts = Counter(line["key"] for line in lines if line["record"] == "cell")
    assert set(counts.values()) == {1}, "a cell was run twice"
    log = read_log(results)
    assert set(counts) == {key_of(cell) for cell in cells_of(load_grid(grid_file), log)}
    assert pending(load_grid(grid_file), log) == {}
    assert "0 failed" in second.stderr
    for name in ("tables/small-aggregate.md", "tables/small-instances.tex", "tables/small-aggregate.csv", "small.html"):
        assert (results.parent / name).is_file()


def test_an_interrupted_run_says_so_and_keeps_what_is_done(grid_file: Path) -> None:
    results = grid_file.parent / "out" / "small.jsonl"
    ended = run_and_end(reproduce(grid_file, "-j", 1), signal.SIGINT)
    assert ended.returncode == 130
    assert "Stopped. The same command goes on where this one stopped" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert len(read_log(results).cells) >= 7


def test_a_second_process_refuses_or_waits(grid_file: Path) -> None:
    results = grid_file.parent / "out" / "small.jsonl"
    with open_log(results):
        refused = subprocess.run(reproduce(grid_file, "-j", 1), capture_output=True, text=True)
        assert refused.returncode == 1
        assert f"is being written by another process (id {os.getpid()})" in refused.stderr
        waiting = threading.Thread(target=_append_when_free, args=(results,))
        waiting.start()
        time.sleep(0.3)
        assert read_log(results).cells == {}
    waiting.join()
    assert list(read_log(results).cells) == [key_of(CurveCell("later"))]


def _append_when_free(path: Path) -> None:
    with open_log(path, wait=True) as writer:
        writer.append(lost_record(CurveCell("later"), RuntimeError()))


@dataclass(frozen=True)
class DeadlyCell(CurveCell):
    """Ends its process, as a solver that runs out of memory does."""

    def run(self, data: Dataset) -> CurveOutcome:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("unreachable")


@dataclass(frozen=True)
class SlowCell(CurveCell):
    """Takes a while."""

    def run(self, data: Dataset) -> CurveOutcome:
        time.sleep(0.3)
        return CurveOutcome((), (), (), 0.0, 1.0, 0.5, ())


def test_a_cell_that_kills_its_worker_is_a_failed_cell_and_the_others_are_run() -> None:
    data = load_set("moons")
    cells: list[Cell] = [SlowCell("a"), DeadlyCell("b"), SlowCell("c"), SlowCell("d"), SlowCell("e")]
    records = list(local_processes(2)((cell, data) for cell in cells))
    assert sorted(record.cell.dataset for record in records) == ["a", "b", "c", "d", "e"]
    failed = {record.cell.dataset: record.outcome for record in records if isinstance(record.outcome, Failure)}
    assert list(failed) == ["b"]
    assert "the worker process died" in failed["b"].error


@pytest.fixture
def cluster() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install 'hardwood[dask]'")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as made:
        yield made


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_dask_cluster_loses_nothing_when_a_worker_is_killed(cluster: Any, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"depths": (0, 1, 2, 3), "time_limit": 5.0, "seeds": tuple(range(4))}
    grid = Grid("dask", "selection", (("moons", 0.05), ("blobs", 0.1)), tuple(load_grid("xor").methods[:1]), **settings)
    dask = DaskCluster(cluster.scheduler_address)
    assert dask.slots == 2
    victims = [worker.pid for worker in cluster.workers.values()]
    seen: list[CellRecord] = []

    def execute(tasks: Any) -> Generator[CellRecord, None, None]:
        for record in dask(tasks):
            seen.append(record)
            if len(seen) == 10:
                os.kill(victims[0], signal.SIGKILL)
            yield record

    with open_log(tmp_path / "results.jsonl") as writer:
        run_grid(grid, writer, load_set, execute)
        log = writer.log
    dask.close()
    assert pending(grid, log) == {}
    assert len(log.cells) == len(seen) > 90
    assert not any(record.has_failed for record in log.cells.values())
    for key, cell in list(pending(grid, Log()).items())[-5:]:
        here, there = run_cell(cell, load_set(cell.dataset)).outcome, log.fit(key)
        assert isinstance(here, FitOutcome)
        assert there is not None
        assert there.tree == here.tree, "a worker learns the same tree"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_cell_that_kills_every_dask_worker_becomes_a_failed_cell(cluster: Any) -> None:
    dask = DaskCluster(cluster.scheduler_address)
    data = load_set("moons")
    cells: list[Cell] = [SlowCell("a"), DeadlyCell("b"), SlowCell("c")]
    records = {record.cell.dataset: record.outcome for record in dask((cell, data) for cell in cells)}
    dask.close()
    assert {name for name, outcome in records.items() if isinstance(outcome, CurveOutcome)} == {"a", "c"}
    assert isinstance(records["b"], Failure)
    assert "KilledWorker" in records["b"].error


def test_no_scheduler_or_no_dask_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingEngineError, match="hardwood\\[dask\\]"):
        DaskCluster("tcp://127.0.0.1:1")


# What is shown


def test_plain_lines_say_what_is_done_running_failed_and_left() -> None:
    stream = io.StringIO()
    with watch(stream) as watcher:
        assert isinstance(watcher, PlainLines)
        watcher.begins(3, slots=2)
        watcher.ended(run_cell(CurveCell("moons"), load_set("moons")))
        watcher.ended(lost_record(CurveCell("blobs"), RuntimeError("no memory")))
    first, second, third = stream.getvalue().splitlines()
    assert first == "3 cells to run, 2 at a time"
    assert second.startswith("[1/3 cells done, 2 running, 0 failed, about ")
    assert "moons bound over radii: radii 0" in second
    assert third.startswith("[2/3 cells done, 1 running, 1 failed, about ")
    assert third.endswith("blobs bound over radii: FAILED, the worker process died: RuntimeError: no memory")


def test_a_terminal_gets_a_live_line_and_keeps_failures() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    with watch(stream) as watcher:
        watcher.begins(2, slots=1)
        watcher.ended(lost_record(CurveCell("blobs"), RuntimeError("no memory")))
    assert "FAILED" in stream.getvalue()
    assert "\x1b[" in stream.getvalue()


def test_durations_are_said_as_people_say_them() -> None:
    assert [as_duration(seconds) for seconds in (5, 89, 600, 7200)] == ["5 s", "89 s", "10 min", "2.0 h"]


# The commands


def test_reproduce_writes_results_tables_figures_and_report(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    shown = run("reproduce", "xor", "--methods", "GROOT,TREANT", "-j", 1, "-o", tmp_path)
    assert "GROOT" in shown
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        "xor-regions.png", "xor-regions.pdf", "xor-regions.svg"
    }  # fmt: skip
    assert (tmp_path / "tables" / "xor-fits.md").is_file()
    assert len(read_log(tmp_path / "xor.jsonl").cells) == 2
    page = tmp_path / "again.html"
    assert "Report on 2 cells" in run("report", tmp_path / "xor.jsonl", "-o", page)
    assert page.read_text() == (tmp_path / "xor.html").read_text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["table", "--jobs", "-2"], "--jobs -2"),
        (["table", "--depths", "1,x"], "--depths 1,x"),
        (["table", "--methods", "ID3"], "method 'ID3' is not known"),
        (["table", "--datasets", "titanic"], "data set 'titanic' is not known"),
        (["nothing"], "experiment 'nothing' is not known"),
    ],
)
def test_a_command_line_that_makes_no_sense_is_refused(options: list[str], message: str, tmp_path: Path) -> None:
    assert message in run("reproduce", *options, "-o", tmp_path, code=1)
    assert list(tmp_path.iterdir()) == []
