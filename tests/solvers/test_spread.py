"""One search on many workers: the same answer, whatever becomes of them."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardwood_checker
from hardwood import InvalidInputError, Problem, RobustTreeClassifier, _core, solve
from hardwood.solvers.result import EndReason, Status
from hardwood.solvers.search import cluster as cluster_module
from hardwood.solvers.search import seats
from hardwood.solvers.search import spread as spread_module
from hardwood.solvers.search.local_search import REACH
from hardwood.solvers.search.model import SearchModel
from hardwood.solvers.search.options import core_options
from hardwood.solvers.search.solver import SearchSolver
from hardwood.solvers.search.station import Commission, Duty
from hardwood.solvers.solve import SolverFailureWarning
from hardwood.solvers.stopping import Interrupt

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


OPTIONS = {option.name: option.default for option in SearchSolver.options}


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
    assert not seats._SEATS


def test_a_search_that_began_here_goes_on_on_a_cluster(client: Any, tmp_path: Path) -> None:
    X, y, problem = problem_of(7)
    stopped = solve(problem, checkpoint=tmp_path / "run.hwp", options={"effort": 5000})
    assert stopped.status is not Status.OPTIMAL
    solve(problem, client=client, checkpoint=tmp_path / "run.hwp")
    assert hardwood_checker.check(tmp_path / "run.hwp", X, y).is_optimal


def test_nobody_waits_for_the_end_of_another_search_on_the_same_cluster(client: Any) -> None:
    _, _, long = problem_of(1, n=2000, depth=5)
    _, _, short = problem_of(2)
    seen = threading.Event()
    end = Interrupt()
    named = {"client": client, "interrupt": end, "on_progress": lambda _: seen.set()}
    with ThreadPoolExecutor(1) as threads:
        other = threads.submit(solve, long, **named)
        seen.wait(20)
        try:
            assert client.submit(abs, -3, pure=False).result(timeout=20) == 3
            assert solve(short, client=client).status is Status.OPTIMAL
            assert not other.done()
        finally:
            end.request()
        assert other.result(timeout=20).stopped_by is EndReason.INTERRUPT


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


def duty_of(problem: Problem) -> Duty:
    model = SearchModel.of(problem)
    root = _core.RootSearch(model.core, core_options(OPTIONS), model.depth, 1, _core.Control())
    parts = [(j, 0, root.n_candidates(j)) for j in range(problem.n_features)]
    best = model.in_parts(solve(problem).objective)
    return Duty(parts, best, best)


class Sitting:
    """A station in a thread of this process, and what a searcher hears of it."""

    def __init__(self, problem: Problem) -> None:
        commission = Commission(problem, OPTIONS, 0, writes_proof=False)
        self.search = f"{id(self)}"
        self.thread = threading.Thread(target=seats.sit, args=(commission, self.search, "slot"), daemon=True)

    def __enter__(self) -> Sitting:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        seats.end_search(self.search)
        self.thread.join(20)
        assert not self.thread.is_alive()

    def begin(self, order: seats.DutyOrder, seat: str = "") -> str:
        return seats.begin(self.search, "slot", seat, order)

    def said(self, known: int) -> list[seats.Said]:
        """Return what was said since, waiting for something."""
        until = time.monotonic() + 20
        while time.monotonic() < until:
            _, said = seats.take_said(self.search, "slot", known, 1 << 62)
            if said:
                return said
            time.sleep(0.01)
        raise AssertionError("the station says nothing")


def test_what_a_station_said_is_kept_until_the_searcher_knows_it() -> None:
    _, _, problem = problem_of(3)
    with Sitting(problem) as sitting:
        sitting.begin(seats.DutyOrder(7, duty_of(problem), 1 << 62, 1, stream=0))
        first = sitting.said(0)
        again = sitting.said(0)  # the answer may have been lost on its way
        assert [(one.number, one.order) for one in again][: len(first)] == [(one.number, 7) for one in first]
        while not again[-1].news.is_done:
            again = sitting.said(again[-1].number)
        assert seats.take_said(sitting.search, "slot", again[-1].number, 1 << 62)[1] == []


def test_an_order_for_a_station_that_is_gone_is_not_given_to_another_one() -> None:
    _, _, problem = problem_of(3)
    with Sitting(problem) as sitting:
        seat = sitting.begin(seats.DutyOrder(1, duty_of(problem), 1 << 62, 1, stream=0), seat="another")
        assert seat != "another"
        time.sleep(0.3)
        assert seats.take_said(sitting.search, "slot", 0, 1 << 62) == (seat, [])
    assert seats.take_said(sitting.search, "slot", 0, 1 << 62) == ("", [])


def test_a_new_order_ends_the_one_before() -> None:
    _, _, problem = problem_of(1, n=2000, depth=5)
    duty = Duty([(0, 0, 3)], 1 << 40, 1 << 40)
    with Sitting(problem) as sitting:
        seat = sitting.begin(seats.DutyOrder(1, duty, 1 << 62, 1, stream=0))
        sitting.begin(seats.DutyOrder(2, replace(duty, target=1), 1 << 62, 1, stream=1), seat)
        said = sitting.said(0)
        while not said[-1].news.is_done:
            said = sitting.said(said[-1].number)
        assert {one.order for one in said} == {2}


def test_a_station_ends_when_its_searcher_is_not_heard_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seats, "LEASE", 0.5)
    _, _, problem = problem_of(1, n=2000, depth=5)
    with Sitting(problem) as sitting:
        sitting.begin(seats.DutyOrder(1, duty_of(problem_of(1, n=2000, depth=2)[2]), 1 << 62, 1, stream=0))
        sitting.thread.join(20)
        assert not sitting.thread.is_alive()
        assert not seats._SEATS


def test_the_profile_of_a_worker_rests_only_while_stations_sit_there(client: Any) -> None:
    def is_running(dask_worker: Any) -> bool:
        return bool(dask_worker.periodic_callbacks["profile"].is_running())

    _, _, problem = problem_of(1, n=2000, depth=5)
    assert set(client.run(is_running).values()) == {True}
    seen = set[bool]()
    solve(problem, client=client, time_limit=3, on_progress=lambda _: seen.update(client.run(is_running).values()))
    assert False in seen
    until = time.monotonic() + 10
    while set(client.run(is_running).values()) != {True}:
        assert time.monotonic() < until
        time.sleep(0.05)


def test_counters_of_all_stations_are_added_up() -> None:
    one, other = {"depth 2": {"scans": 5, "nodes": 1}}, {"depth 2": {"scans": 7}, "depth 3": {"nodes": 2}}
    assert spread_module._added_up([one, other]) == {"depth 2": {"scans": 12, "nodes": 1}, "depth 3": {"nodes": 2}}
    assert one == {"depth 2": {"scans": 5, "nodes": 1}}


def test_many_stations_have_long_slices_so_that_the_scheduler_is_not_swamped() -> None:
    assert seats.slice_seconds(2, 0.0) == pytest.approx(0.4)
    assert seats.slice_seconds(2, 100.0) == pytest.approx(2.0)
    assert seats.slice_seconds(2, 1e6) == pytest.approx(5.0)
    assert 10_000 / seats.slice_seconds(10_000, 1.0) <= seats.MOST_SLICES


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
    take, give = cluster_module.Workers._come, cluster_module.Workers.give
    given, losses = list[bytes](), [None]

    def give_noted(workers: Any, slot: str, duty: Any) -> None:
        given.extend(rows.tobytes() for rows, _ in duty.starts)
        give(workers, slot, duty)

    def come(workers: Any, name: str, order: int, news: Any) -> None:
        take(workers, name, order, losses.pop() if losses else news)

    monkeypatch.setattr(cluster_module.Workers, "give", give_noted)
    monkeypatch.setattr(cluster_module.Workers, "_come", come)
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


def test_nobody_waits_for_the_last_large_steps_of_first_trees(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, problem = problem_of(4, depth=4)
    give, held = cluster_module.Workers.give, list[str]()

    def give_others(workers: Any, slot: str, duty: Any) -> None:
        if any(reach > REACH for _, reach in duty.starts) and not held:
            held.append(slot)
        else:
            give(workers, slot, duty)

    monkeypatch.setattr(cluster_module.Workers, "give", give_others)
    monkeypatch.setattr(spread_module, "PATIENCE", 1000.0)
    result = solve(problem, client=client, time_limit=30)
    assert (result.objective, result.status) == (solve(problem).objective, Status.OPTIMAL)
    assert len(held) == 1
