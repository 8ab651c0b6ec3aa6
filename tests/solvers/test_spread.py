"""One search on many workers: the same answer, whatever becomes of them."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardwood_checker
from hardwood import InvalidInputError, Problem, RobustTreeClassifier, solve
from hardwood.solvers.result import EndReason, Status
from hardwood.solvers.search import cluster as cluster_module
from hardwood.solvers.search import seats
from hardwood.solvers.search import spread as spread_module
from hardwood.solvers.search.station import Commission, Streams
from hardwood.solvers.solve import SolverFailureWarning

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def problem_of(seed: int, n: int = 120, depth: int = 3) -> tuple[Any, Any, Problem]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 60, (n, 3)) / 10
    y = (X[:, 0] + rng.normal(0, 2, n) > 3).astype(int)
    return X, y, Problem.from_data(X, y, 0.1, depth)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as workers,
        distributed.Client(workers, set_as_default=False) as client,
    ):
        yield client


@pytest.mark.parametrize("seed", range(3))
def test_a_cluster_finds_what_one_machine_finds(seed: int, client: Any, tmp_path: Path) -> None:
    X, y, problem = problem_of(seed)
    alone = solve(problem)
    spread = solve(problem, client=client, checkpoint=tmp_path / "run.hwp" if seed else None)
    assert (spread.objective, spread.bound, spread.status) == (alone.objective, alone.bound, alone.status)
    if seed:
        assert hardwood_checker.check(tmp_path / "run.hwp", X, y).is_optimal
    assert not [key for key, seat in seats._SEATS.items() if not seat.station.control.stopped]


def test_a_search_that_began_here_goes_on_on_a_cluster(client: Any, tmp_path: Path) -> None:
    X, y, problem = problem_of(7)
    stopped = solve(problem, checkpoint=tmp_path / "run.hwp", options={"effort": 5000})
    assert stopped.status is not Status.OPTIMAL
    solve(problem, client=client, checkpoint=tmp_path / "run.hwp")
    assert hardwood_checker.check(tmp_path / "run.hwp", X, y).is_optimal


def test_limits_hold_on_a_cluster_too(client: Any) -> None:
    _, _, problem = problem_of(1, n=2000, depth=5)
    result = solve(problem, client=client, time_limit=2)
    assert result.stopped_by is EndReason.TIME_LIMIT
    assert 0 < result.bound <= result.objective


def test_an_estimator_takes_the_address_of_a_scheduler(client: Any) -> None:
    X, y, problem = problem_of(2)
    clf = RobustTreeClassifier(3, attack=0.1, client=client.scheduler.address).fit(X, y)
    assert clf.result_.objective == solve(problem).objective
    with pytest.raises(InvalidInputError, match="no Dask scheduler"):
        RobustTreeClassifier(3, attack=0.1, client="nonsense://x").fit(X, y)


def test_a_slice_without_its_station_says_so(client: Any) -> None:
    _, _, problem = problem_of(3)
    commission = Commission(problem, {}, 0, False)
    task = seats.Slice("none", "here", stream=5, turn=1, fresh=6, state=b"", best=0, seconds=0.1, duty=None)
    assert seats.do_slice(commission, task).stream == -1


def test_an_answer_that_is_lost_with_its_worker_is_no_failure(client: Any) -> None:
    from concurrent.futures import CancelledError

    class Lost:
        status = "finished"

        def result(self, timeout: float) -> None:
            raise CancelledError

    _, _, problem = problem_of(3)
    workers = cluster_module.Workers(client, Commission(problem, {}, 0, False), Streams())
    assert workers._answer(Lost()) is None


def test_many_stations_have_long_slices_so_that_the_scheduler_is_not_swamped() -> None:
    assert cluster_module.slice_seconds(2, 0.0) == pytest.approx(0.4)
    assert cluster_module.slice_seconds(2, 100.0) == pytest.approx(2.0)
    assert cluster_module.slice_seconds(2, 1e6) == pytest.approx(5.0)
    assert 10_000 / cluster_module.slice_seconds(10_000, 1.0) <= cluster_module.MOST_SLICES


@pytest.mark.slow
def test_workers_may_die_and_others_join(tmp_path: Path) -> None:
    X, y, problem = problem_of(5, n=600, depth=3)
    alone = solve(problem)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as workers,
        distributed.Client(workers, set_as_default=False) as client,
    ):
        pids = list(client.run(os.getpid).values())

        def trouble() -> None:
            for pid in pids:
                time.sleep(1.5)
                os.kill(pid, signal.SIGKILL)
            workers.scale(3)

        thread = threading.Thread(target=trouble)
        thread.start()
        result = solve(problem, client=client, checkpoint=tmp_path / "run.hwp")
        thread.join()
    assert (result.objective, result.status) == (alone.objective, alone.status)
    assert hardwood_checker.check(tmp_path / "run.hwp", X, y).is_optimal


@pytest.mark.slow
def test_a_scheduler_that_dies_leaves_what_was_proven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import subprocess
    import sys

    monkeypatch.setattr(cluster_module, "PATIENCE", 2.0)
    _, _, problem = problem_of(5, n=2000, depth=5)
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", "0", "--no-dashboard"]
    file = tmp_path / "scheduler.json"
    scheduler = subprocess.Popen([*command, "--scheduler-file", str(file)], stderr=subprocess.DEVNULL)
    client = distributed.Client(scheduler_file=str(file), timeout=60, set_as_default=False)
    worker = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(file), "--no-dashboard"],
        stderr=subprocess.DEVNULL,
    )
    try:
        client.wait_for_workers(1, timeout=60)
        threading.Timer(6.0, scheduler.kill).start()
        with pytest.warns(SolverFailureWarning, match="scheduler"):
            result = solve(problem, client=client, checkpoint=tmp_path / "run.hwp", time_limit=60)
        assert result.failure is not None
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()
        client.close(timeout=2)
    again = solve(problem, checkpoint=tmp_path / "run.hwp", time_limit=2)
    assert again.bound >= result.bound


@pytest.mark.slow
def test_a_worker_that_does_not_answer_holds_nobody_up() -> None:
    _, _, problem = problem_of(5, n=2000, depth=5)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as workers,
        distributed.Client(workers, set_as_default=False) as client,
    ):
        pid, *_ = client.run(os.getpid).values()
        stop = threading.Timer(3.0, os.kill, (pid, signal.SIGSTOP))
        go_on = threading.Timer(120.0, os.kill, (pid, signal.SIGCONT))
        stop.start()
        go_on.start()
        try:
            result = solve(problem, client=client, time_limit=8)
            assert go_on.is_alive()  # else the search waited for the worker
        finally:
            go_on.cancel()
            os.kill(pid, signal.SIGCONT)
    assert result.stopped_by is EndReason.TIME_LIMIT


def test_a_worker_that_does_not_take_the_data_is_passed_over(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, problem = problem_of(4)
    scatter, asked = client.scatter, list[str]()

    def stuck_at_first(*arguments: Any, workers: list[str], **named: Any) -> Any:
        asked.extend(workers)
        if workers == asked[:1]:
            time.sleep(2)
        return scatter(*arguments, workers=workers, **named)

    monkeypatch.setattr(client, "scatter", stuck_at_first)
    monkeypatch.setattr(cluster_module, "ANSWER", 0.2)
    result = solve(problem, client=client)
    assert (result.objective, result.status) == (solve(problem).objective, Status.OPTIMAL)
    assert len(set(asked)) == 2


def test_first_trees_that_were_lost_with_a_worker_are_looked_for_again(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, problem = problem_of(4)
    answer, give = cluster_module.Workers._answer, cluster_module.Workers.give
    given, losses = list[bytes](), [None]

    def give_noted(workers: Any, slot: str, duty: Any) -> None:
        given.extend(rows.tobytes() for rows, _ in duty.starts)
        give(workers, slot, duty)

    monkeypatch.setattr(cluster_module.Workers, "give", give_noted)
    monkeypatch.setattr(
        cluster_module.Workers,
        "_answer",
        lambda workers, future: losses.pop() if losses else answer(workers, future),
    )
    result = solve(problem, client=client)
    assert (result.objective, result.status) == (solve(problem).objective, Status.OPTIMAL)
    assert len(given) == len(set(given)) + 1  # the first station had one start when it was lost


def test_a_station_that_says_nothing_of_its_first_trees_holds_nobody_up(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, problem = problem_of(4)
    give, silent = cluster_module.Workers.give, list[str]()

    def give_to_others(workers: Any, slot: str, duty: Any) -> None:
        if duty.parts is None and not silent:
            silent.append(slot)
        else:
            give(workers, slot, duty)

    monkeypatch.setattr(cluster_module.Workers, "give", give_to_others)
    monkeypatch.setattr(spread_module, "PATIENCE", 0.3)
    result = solve(problem, client=client, time_limit=60)
    assert (result.objective, result.status) == (solve(problem).objective, Status.OPTIMAL)
    assert len(silent) == 1
