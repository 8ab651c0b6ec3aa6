"""However a search was cut, it ends with the answer of a search that was not, and with a proof."""

from __future__ import annotations

import errno
import gzip
import json
import os
import random
import resource
import signal
import warnings
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardwood_checker
from hardwood import InvalidInputError, Problem, RobustTreeClassifier, _core, solve
from hardwood.proofs import checkpoint as module
from hardwood.proofs import growing
from hardwood.proofs.checkpoint import (
    Checkpoint,
    CheckpointInUseError,
    CheckpointWarning,
    CheckpointWriteError,
    open_checkpoint,
)
from hardwood.proofs.members import Piece, note, pack, read_members, read_note
from hardwood.proofs.writer import PlainRanks, write_proof
from hardwood.solvers.result import EndReason, Status
from hardwood.solvers.search import first_trees, helping, solver, spread
from hardwood.solvers.search.ledger import Ledger
from hardwood.solvers.search.local_search import MOST_DEEP
from hardwood.solvers.search.model import SearchModel
from hardwood.solvers.search.options import core_options
from hardwood.solvers.search.scout import Scout
from hardwood.solvers.search.scouting import NO_STARTS, Looked, Scouting
from hardwood.solvers.search.solver import SearchSolver
from hardwood.solvers.search.station import Commission, Duty, Models, Station
from hardwood.solvers.solve import SolverFailureWarning
from proofs.test_proofs import places

SEED = 20261117


def problem_of(seed: int) -> tuple[Any, Any, Any, Problem]:
    """A problem that needs a search: overlapping classes on a few coarse features."""
    rng = np.random.default_rng([SEED, seed])
    n, p, classes = int(rng.integers(15, 45)), int(rng.integers(1, 4)), int(rng.integers(2, 4))
    X = rng.integers(0, 25, (n, p)) / 10
    y = np.clip(np.rint(X @ rng.random(p) / p + rng.normal(0, 0.6, n)), 0, classes - 1).astype(int)
    y[:classes] = np.arange(classes)
    weight = (None, rng.integers(1, 4, n).astype(float), rng.random(n) + 0.1)[int(rng.integers(3))]
    depth, penalty = int(rng.choice([2, 3, 3, 4])), float(rng.choice([0, 0, 0.5]))
    problem = Problem.from_data(
        X, y, float(rng.choice([0.05, 0.1, 0.2])), depth, sample_weight=weight, leaf_penalty=penalty
    )
    return X, y, weight, problem


def break_off(path: Path, rng: random.Random) -> None:
    """Leave what a process leaves that is killed: a torn last member, or one that was written amid a claim.

    In half of the cases nothing is torn, so that the next sitting goes on with the streams and states that are there.
    """
    if rng.random() < 0.5:
        return
    with path.open("rb") as stream:
        members = list(read_members(stream))
    content = path.read_bytes()
    pieces = [member for member in members[1:] if "stream" in read_note(member.content)]
    last = pieces[-1] if pieces else members[-1]
    entries = read_note(last.content) if pieces else {}
    if "stream" not in entries or rng.random() < 0.5:
        cut = rng.randrange(members[0].end, len(content) + 1)
        path.write_bytes(content[:cut])
        return
    head = len(note(entries))
    found = [(0, 0, 0), *places(last.content[head:])]
    _, _, end = rng.choice(found)
    torn = pack(note({**entries, "settled": []}) + last.content[head : head + end])
    path.write_bytes(content[: last.start] + torn)


def check_cuts(seed: int, path: Path) -> int:
    """Search in several sittings that break off; whether the end is that of a search in one."""
    X, y, weight, problem = problem_of(seed)
    rng = random.Random(f"{SEED} {seed}")
    whole = solve(problem)
    path.unlink(missing_ok=True)
    cuts = 0
    for _ in range(rng.randrange(1, 5)):
        stopped = solve(problem, checkpoint=path, n_jobs=rng.choice([1, 2, 3]), options={"effort": rng.randrange(3000)})
        if stopped.status is Status.OPTIMAL:
            break
        assert stopped.bound <= whole.objective * (1 + 1e-12)
        break_off(path, rng)
        cuts += 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CheckpointWarning)
        result = solve(problem, checkpoint=path, n_jobs=rng.choice([1, 2]))
    assert result.objective == pytest.approx(whole.objective, abs=1e-9), seed
    assert result.status is Status.OPTIMAL, seed
    verdict = hardwood_checker.check(path, X, y, sample_weight=weight)
    # Weights that are not whole numbers are proven up to a billionth.
    assert verdict.is_optimal or float(verdict.bound) == pytest.approx(result.objective, rel=2e-9), seed
    assert float(verdict.objective or 0) == pytest.approx(result.objective), seed
    return cuts


@pytest.mark.filterwarnings("ignore::hardwood.proofs.checkpoint.CheckpointWarning")
def test_random_cuts_change_neither_answer_nor_proof(tmp_path: Path) -> None:
    print(f"seed {SEED}")
    assert sum(check_cuts(seed, tmp_path / "run.hwp") for seed in range(12)) > 10


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::hardwood.proofs.checkpoint.CheckpointWarning")
@pytest.mark.parametrize("first", range(100, 400, 50))
def test_three_hundred_problems_in_random_sittings(first: int, tmp_path: Path) -> None:
    print(f"seed {SEED}")
    assert sum(check_cuts(seed, tmp_path / "run.hwp") for seed in range(first, first + 50)) > 20


def problem_to_help_with(seed: int) -> tuple[Any, Any, Problem]:
    """A problem whose root is settled fast and asks long questions: few samples on many thresholds that overlap."""
    rng = np.random.default_rng([SEED, seed])
    if seed % 2:
        X = rng.integers(0, 60, (80, 4)) / 10
        y = (X[:, 0] + rng.normal(0, 8, 80) > 3).astype(int)
        return X, y, Problem.from_data(X, y, 0.1, 4)
    X = 6 * rng.random((300, 3))
    y = (X[:, 0] + rng.normal(0, 4, 300) > 3).astype(int)
    return X, y, Problem.from_data(X, y, 0.3, 3)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::hardwood.proofs.checkpoint.CheckpointWarning")
def test_sittings_in_which_threads_help_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # However short the searches are. When they break off, and who helps whom, is a matter of the moment.
    monkeypatch.setattr(helping, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(spread, "POLL", 0.001)
    monkeypatch.setattr(module, "PACE", (0.01, 0.01, 0.0))
    cuts = twins = 0
    for seed in range(20):
        rng = random.Random(f"{SEED} {seed} help")
        X, y, problem = problem_to_help_with(seed)
        path = tmp_path / f"{seed}.hwp"
        for _ in range(rng.randrange(4)):
            stopped = solve(problem, checkpoint=path, n_jobs=12, time_limit=0.3 * rng.random())
            if stopped.status is Status.OPTIMAL:
                break
            break_off(path, rng)
            cuts += 1
        result = solve(problem, checkpoint=path, n_jobs=12)
        assert (result.objective, result.status) == (solve(problem).objective, Status.OPTIMAL), seed
        verdict = hardwood_checker.check(path, X, y)
        assert verdict.is_optimal, seed
        twins += verdict.records.get("TWIN", 0)
    print(f"seed {SEED}: {cuts} sittings broke off, helpers proved {twins} claims")


def stopped_search(path: Path, depth: int = 3) -> tuple[Any, Any, Problem]:
    rng = np.random.default_rng(SEED)
    X = rng.integers(0, 60, (200, 3)) / 10
    y = (X[:, 0] + rng.normal(0, 2, 200) > 3).astype(int)
    problem = Problem.from_data(X, y, 0.1, depth)
    result = solve(problem, checkpoint=path, options={"effort": 10_000})
    assert result.status is not Status.OPTIMAL
    return X, y, problem


def test_a_stopped_search_goes_on_where_it_was(tmp_path: Path) -> None:
    X, y, problem = stopped_search(tmp_path / "run.hwp")
    with open_checkpoint(Checkpoint(tmp_path / "run.hwp"), problem) as saved:
        assert saved.is_scouted
        assert saved.settled
        assert saved.tree is not None
        assert [number for number, _ in saved.streams_to_go_on_with()] == [0]
    result = solve(problem, checkpoint=tmp_path / "run.hwp")
    assert result.objective == solve(problem).objective
    verdict = hardwood_checker.check(tmp_path / "run.hwp", X, y)
    assert verdict.is_optimal
    assert verdict.records["RESET"] == 1  # the second sitting went on with the stream of the first


def test_a_sitting_without_time_leaves_what_is_there(tmp_path: Path) -> None:
    _, _, problem = stopped_search(tmp_path / "run.hwp")
    before = (tmp_path / "run.hwp").read_bytes()
    assert solve(problem, checkpoint=tmp_path / "run.hwp", time_limit=0).status is Status.FEASIBLE
    assert (tmp_path / "run.hwp").read_bytes().startswith(before)
    assert solve(problem, checkpoint=tmp_path / "run.hwp").objective == solve(problem).objective


def test_good_trees_are_not_looked_for_again_and_again(tmp_path: Path) -> None:
    _, _, problem = stopped_search(tmp_path / "run.hwp")
    with (tmp_path / "run.hwp").open("rb") as stream:
        members = list(read_members(stream))
    kept = [member for member in members[1:] if "is_scouted" not in read_note(member.content)]
    assert sum("scouting" in read_note(member.content) for member in kept) == 1
    for times in (2, 3):
        more = [note({"scouting": True})] * (times - 1)
        contents = [members[0].content, *(member.content for member in kept), *more]
        (tmp_path / "other.hwp").write_bytes(b"".join(map(pack, contents)))
        with open_checkpoint(Checkpoint(tmp_path / "other.hwp"), problem) as saved:
            assert saved.is_scouted == (times == 3)


def test_a_sitting_without_trees_to_look_for_has_one_model_of_the_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, problem = stopped_search(tmp_path / "run.hwp")
    ranks, whole = list[Any](), solve(problem)
    of = SearchModel.of
    monkeypatch.setattr(SearchModel, "of", lambda problem, own=None: ranks.append(own) or of(problem, own))  # type: ignore[func-returns-value]
    assert solve(problem, checkpoint=tmp_path / "run.hwp").objective == whole.objective
    assert [type(one) for one in ranks] == [PlainRanks]


def test_the_proof_for_a_sample_is_not_lost_with_what_comes_after_it() -> None:
    rng = np.random.default_rng(SEED)
    X = rng.random((2500, 3))
    problem = Problem.from_data(X, (X[:, 0] > 0.5).astype(int), 0.05, 3)
    options = {option.name: option.default for option in SearchSolver.options}

    def scouting(looked: Looked) -> Scouting:
        run = Scout(lambda *_: None, problem, options, random_state=0, seconds=60, tree=None)._run
        return Scouting(SearchModel.of(problem), core_options(options), run, list, looked)

    first = scouting((0, 0))
    sample = first.give("one")
    assert sample is not None
    assert sample[0] == ()
    assert first.looked == (0, 0)
    first.end("one", is_lost=True)
    again = first.give("another")
    assert again is not None
    assert again[0] == ()
    first.end("another", is_lost=False)
    assert first.looked == NO_STARTS
    for looked in (NO_STARTS, (1, 1000)):
        given = scouting(looked).give("one")
        assert given is not None
        assert given[0]


def test_greedy_trees_grow_while_the_only_station_solves_the_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(SEED)
    X = rng.random((2500, 3))
    problem = Problem.from_data(X, (X[:, 0] + rng.normal(0, 0.1, 2500) > 0.5).astype(int), 0.05, 3)
    order = list[str]()
    begin, end = Station.begin, Scouting.end
    find = first_trees.find_greedy_trees

    def begun(station: Station, duty: Duty) -> None:
        order.append("root" if duty.parts is not None else "starts" if duty.starts else "sample")
        begin(station, duty)

    def ended(scouting: Scouting, station: str, *, is_lost: bool) -> None:
        order.append("end")
        end(scouting, station, is_lost=is_lost)

    monkeypatch.setattr(Station, "begin", begun)
    monkeypatch.setattr(Scouting, "end", ended)

    def found(model: SearchModel, *rest: Any) -> Any:
        order.extend(["greedy"] if model.problem.n_samples == 2500 else [])  # the sample has greedy trees, too
        return find(model, *rest)

    monkeypatch.setattr(solver, "find_greedy_trees", found)
    solve(problem, checkpoint=tmp_path / "run.hwp")
    assert order[:4] == ["sample", "greedy", "end", "starts"]
    assert order.count("greedy") == 1


@pytest.mark.parametrize("looked", [(-1, 0), (0, -5), (10**30, 0), (3, 10**30)])
def test_a_search_for_trees_that_was_impossibly_far_is_refused(looked: tuple[int, int], tmp_path: Path) -> None:
    _, _, problem = stopped_search(tmp_path / "run.hwp")
    with (tmp_path / "run.hwp").open("ab") as stream:
        stream.write(pack(note({"looked": looked})))
    with pytest.raises(InvalidInputError, match="search for good trees was makes no sense"):
        solve(problem, checkpoint=tmp_path / "run.hwp")


def long_problem() -> Problem:
    rng = np.random.default_rng(SEED)
    X = rng.integers(0, 60, (300, 5)) / 10
    return Problem.from_data(X, rng.integers(0, 2, 300), 0.1, 5)


def members_of(path: Path) -> list[Any]:
    with path.open("rb") as stream:
        return list(read_members(stream))


def test_the_search_for_good_trees_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, problem = stopped_search(tmp_path / "other.hwp", depth=4)
    path, improved = tmp_path / "run.hwp", list[Any]()
    take = Scouting.take

    def counted(scouting: Scouting, station: str, news: Any) -> None:
        improved.extend(news)
        take(scouting, station, news)

    monkeypatch.setattr(Scouting, "take", counted)
    whole = solve(problem, checkpoint=path)
    with path.open("rb") as stream:
        assert not any("looked" in member.content[:60].decode(errors="replace") for member in read_members(stream))
    assert improved
    n_starts, kept = len(improved), list[Any]()
    with open_checkpoint(Checkpoint(tmp_path / "cut.hwp"), problem) as saved:
        for looked in ((5, 1000), (20, 4000)):
            saved.keep_looked(looked)
        saved.keep_tree(whole.tree, whole.objective)
    with open_checkpoint(Checkpoint(tmp_path / "cut.hwp"), problem) as saved:
        kept.append(saved.looked)
    assert kept == [(20, 4000)]
    improved.clear()
    assert solve(problem, checkpoint=tmp_path / "cut.hwp").objective == whole.objective
    assert 0 < len(improved) <= n_starts - 20 + MOST_DEEP


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_states_that_are_superseded_do_not_fill_the_disk(
    n_jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PACE", (0.0, 0.0, 0.0))
    monkeypatch.setattr(module, "REST", 0)
    monkeypatch.setattr(growing, "LEAST_DEAD", 1 << 12)
    path, problem = tmp_path / "run.hwp", long_problem()
    for _ in range(2):  # the second sitting finds some that the first one left
        solve(problem, checkpoint=path, time_limit=1.5, n_jobs=n_jobs, options={"restarts": 0})
        members = members_of(path)[1:]
        notes = [read_note(member.content) for member in members]
        states = {entries["state_of"]: k for k, entries in enumerate(notes) if "state_of" in entries}
        assert sum("stream" in entries for entries in notes) > 3
        dead = sum(
            m.end - m.start for k, m in enumerate(members) if "state_of" in notes[k] and k not in states.values()
        )
        largest = max(m.end - m.start for m in members)
        assert dead <= max(1 << 12, path.stat().st_size - dead) + n_jobs * largest


def test_a_file_of_states_is_rewritten_again_and_again_and_every_piece_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.hwp"
    X, y, problem = stopped_search(path)
    piece = piece_of(path, problem)
    monkeypatch.setattr(growing, "LEAST_DEAD", 1)
    with open_checkpoint(Checkpoint(path), problem) as saved:
        saved.keep_piece(0, piece)
        filling = random.Random(SEED).randbytes(100_000)
        states = [pack(note({"state_of": number}) + filling) for number in (0, 1)]
        for _ in range(20):
            for number, state in enumerate(states):
                saved.keep_piece(number, Piece(pack(note({"stream": number, "settled": []})), [], state))
            saved.sync()
            assert path.stat().st_size < 6 * len(filling)
        saved.keep_piece(0, Piece(pack(note({"stream": 0, "settled": []})), [], piece.state))
        pieces = {number: len(found) for number, found in saved._pieces.items()}
    with open_checkpoint(Checkpoint(path), problem) as saved:
        assert {number: len(found) for number, found in saved._pieces.items()} == pieces
        assert saved.streams_to_go_on_with() == [(0, piece.state), (1, states[1])]
    result = solve(problem, checkpoint=path)
    assert result.status is Status.OPTIMAL
    assert hardwood_checker.check(path, X, y).is_optimal


def piece_of(path: Path, problem: Problem) -> Piece:
    """The next piece of stream 0 of a stopped search, as a station that goes on makes it."""
    with open_checkpoint(Checkpoint(path), problem) as saved:
        options = {option.name: option.default for option in SearchSolver.options}
        (stream,) = saved.streams_to_go_on_with()
        commission = Commission(problem, options, 0, writes_proof=True)
        station = Station(commission, Models(commission, saved.model), *stream)
        parts = [(j, 0, station._core.n_candidates(j)) for j in range(problem.n_features)]
        best = saved.model.in_parts(saved.objective)
        station.begin(Duty(parts, best // 2, best))
        while not station.news(0.05).is_done:
            pass
        piece = station.take_piece()
        assert piece is not None
        return piece


def test_a_state_is_there_wherever_writing_the_next_one_breaks_off(tmp_path: Path) -> None:
    path = tmp_path / "run.hwp"
    X, y, problem = stopped_search(path)
    piece, before = piece_of(path, problem), path.read_bytes()
    whole = len(piece.records) + len(piece.state)
    with open_checkpoint(Checkpoint(path), problem) as saved:
        ((_, old),) = saved.streams_to_go_on_with()
    rng = random.Random(SEED)
    places = {0, 1, len(piece.records), whole - 1, *(rng.randrange(whole) for _ in range(20))}
    for kept in sorted(places):
        path.write_bytes(before)
        # The kernel ends the process with the first byte beyond the limit, and has written all before it.
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            with open_checkpoint(Checkpoint(path), problem) as saved:
                resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + kept, resource.RLIM_INFINITY))
                saved.keep_piece(0, piece)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGXFSZ
        assert path.stat().st_size == len(before) + kept
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CheckpointWarning)
            with open_checkpoint(Checkpoint(path), problem) as saved:
                assert saved.streams_to_go_on_with() == [(0, old)]
        assert path.read_bytes() == before
    with open_checkpoint(Checkpoint(path), problem) as saved:
        saved.keep_piece(0, piece)
        assert saved.streams_to_go_on_with() == [(0, piece.state)]
    solve(problem, checkpoint=path)
    assert hardwood_checker.check(path, X, y).is_optimal


def test_a_full_disk_leaves_the_last_state_and_nothing_torn(tmp_path: Path) -> None:
    path = tmp_path / "run.hwp"
    X, y, problem = stopped_search(path)
    piece, before = piece_of(path, problem), path.read_bytes()
    signal_before, limits = signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with open_checkpoint(Checkpoint(path), problem) as saved:
            old = saved.streams_to_go_on_with()
            resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + len(piece.records) + 1, limits[1]))
            with pytest.raises(CheckpointWriteError, match="File too large"):
                saved.keep_piece(0, piece)
            assert saved.streams_to_go_on_with() == old
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, signal_before)
    assert path.read_bytes() == before
    solve(problem, checkpoint=path)
    assert hardwood_checker.check(path, X, y).is_optimal


def test_a_checkpoint_that_cannot_be_rewritten_goes_on_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.hwp"
    _, _, problem = stopped_search(path)
    state = pack(note({"state_of": 0}) + random.Random(SEED).randbytes(100_000))
    piece = Piece(pack(note({"stream": 0, "settled": []})), [], state)
    monkeypatch.setattr(growing, "LEAST_DEAD", 1)

    def no_room(*_: object) -> Any:
        raise InvalidInputError("cannot write: No space left on device")

    with open_checkpoint(Checkpoint(path), problem) as saved:
        with monkeypatch.context() as patch:
            patch.setattr(growing, "whole_file", no_room)
            for _ in range(4):
                size = path.stat().st_size
                saved.keep_piece(0, piece)
                saved.sync()
                assert path.stat().st_size > size
            assert saved.streams_to_go_on_with() == [(0, state)]
        for _ in range(4):  # twice as much has to be superseded before it is tried again
            saved.keep_piece(0, piece)
            saved.sync()
        assert path.stat().st_size < size
        assert saved.streams_to_go_on_with() == [(0, state)]


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("pace", [0.0, 1e9])
def test_a_sitting_that_ends_by_its_limit_claims_what_its_checkpoint_keeps(
    pace: float, n_jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PACE", (pace, pace, 0.0))
    path, problem = tmp_path / "run.hwp", long_problem()
    options = {"restarts": 0, "stages": tuple(k / 50 for k in range(1, 40))}
    claimed = [0.0]
    while claimed[-1] == 0 or len(claimed) < 4:
        result = solve(problem, checkpoint=path, time_limit=0.4, n_jobs=n_jobs, options=options)
        assert result.stopped_by is EndReason.TIME_LIMIT
        with open_checkpoint(Checkpoint(path), problem) as saved:
            core = _core.RootSearch(saved.model.core, _core.SearchOptions(), 5, 1, _core.Control())
            ledger = Ledger([core.n_candidates(j) for j in range(problem.n_features)])
            ledger.note(saved.settled)
            kept = saved.model.next_cost(ledger.least or 0) / saved.model.scale
            assert result.bound == max(kept, saved.bound_of_any_model or 0.0)
        claimed.append(result.bound)
    assert claimed == sorted(claimed)


def test_a_checkpoint_that_takes_most_of_the_limit_to_open_is_left_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.hwp"
    _, _, problem = stopped_search(path)
    before = path.read_bytes()
    monkeypatch.setattr(import_module("hardwood.solvers.solve"), "LEAST_OPENING", 0.0)
    with pytest.warns(SolverFailureWarning, match="takes most of the time limit"):
        result = solve(problem, checkpoint=path, time_limit=1e-6)
    assert result.stopped_by is EndReason.TIME_LIMIT
    assert path.read_bytes() == before
    with pytest.warns(SolverFailureWarning, match="takes most of the time limit"):
        solve(problem, checkpoint=tmp_path / "new.hwp", time_limit=1e-6)
    assert not (tmp_path / "new.hwp").exists()


def test_what_was_settled_but_never_written_is_not_claimed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, problem = stopped_search(tmp_path / "other.hwp")
    path, note_settled = tmp_path / "run.hwp", Ledger.note
    told: list[Any] = []

    def noted(ledger: Ledger, parts: Any) -> None:
        told.extend(parts)
        note_settled(ledger, parts)

    monkeypatch.setattr(Ledger, "note", noted)
    with monkeypatch.context() as patch:
        patch.setattr(Station, "take_piece", lambda _: None)
        result = solve(problem, checkpoint=path, time_limit=1.0)
    assert told
    with open_checkpoint(Checkpoint(path), problem) as saved:
        assert (result.bound, result.stopped_by) == (saved.bound_of_any_model, EndReason.TIME_LIMIT)
    assert solve(problem, checkpoint=path).status is Status.OPTIMAL
    assert hardwood_checker.check(path, X, y).is_optimal


@pytest.mark.parametrize("room", [1500, 2000, 3000])
def test_a_full_disk_costs_neither_the_answer_nor_what_was_proven(
    room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, _, problem = problem_of(3)
    path, write = tmp_path / "run.hwp", os.write
    whole = solve(problem)

    def write_if_there_is_room(descriptor: int, content: bytes) -> int:
        if not os.path.samestat(os.fstat(descriptor), path.stat()):
            return write(descriptor, content)
        left = room - os.fstat(descriptor).st_size
        if left <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, content[:left])

    monkeypatch.setattr(module, "PACE", (0.0, 0.0, 0.0))
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write_if_there_is_room)
        with pytest.warns(SolverFailureWarning, match="No space left"):
            full = solve(problem, checkpoint=path)
    assert full.failure is not None
    assert full.bound <= whole.objective <= full.objective
    assert path.stat().st_size <= room
    with warnings.catch_warnings():
        warnings.simplefilter("error", CheckpointWarning)  # nothing is torn
        assert solve(problem, checkpoint=path).objective == whole.objective
    assert hardwood_checker.check(path, X, y).is_optimal


def test_a_proof_that_finds_no_room_leaves_answer_and_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y, _, problem = problem_of(3)
    path = tmp_path / "run.hwp"

    def no_room(*_: object) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(module, "whole_file", no_room)
        with pytest.warns(SolverFailureWarning, match="its proof is not.*No space left"):
            assert solve(problem, checkpoint=path).status is Status.OPTIMAL
    assert solve(problem, checkpoint=path).status is Status.OPTIMAL
    assert hardwood_checker.check(path, X, y).is_optimal


def test_a_finished_checkpoint_answers_at_once(tmp_path: Path) -> None:
    _, _, problem = stopped_search(tmp_path / "run.hwp")
    first = solve(problem, checkpoint=tmp_path / "run.hwp")
    content = (tmp_path / "run.hwp").read_bytes()
    again = solve(problem, checkpoint=tmp_path / "run.hwp", options={"effort": 0})
    assert (again.objective, again.bound, again.status) == (first.objective, first.bound, first.status)
    assert (tmp_path / "run.hwp").read_bytes() == content


def test_a_torn_end_is_cut_off_and_said(tmp_path: Path) -> None:
    path = tmp_path / "run.hwp"
    X, y, problem = stopped_search(path)
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.warns(CheckpointWarning, match="torn and were cut off"):
        solve(problem, checkpoint=path)
    assert hardwood_checker.check(path, X, y).is_optimal


def test_a_run_that_was_killed_in_its_first_moment_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "run.hwp"
    X, y, problem = stopped_search(path)
    path.write_bytes(path.read_bytes()[:40])
    with pytest.warns(CheckpointWarning, match="torn"):
        solve(problem, checkpoint=path)
    assert hardwood_checker.check(path, X, y).is_optimal


def test_a_second_run_on_one_checkpoint_is_refused_while_the_first_one_lasts(tmp_path: Path) -> None:
    _, _, problem = stopped_search(tmp_path / "run.hwp")
    with (
        open_checkpoint(Checkpoint(tmp_path / "run.hwp"), problem),
        pytest.raises(CheckpointInUseError, match="another process"),
    ):
        solve(problem, checkpoint=tmp_path / "run.hwp")
    assert solve(problem, checkpoint=tmp_path / "run.hwp").status is Status.OPTIMAL


def test_other_data_and_parameters_are_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.hwp"
    X, y, problem = stopped_search(path)
    before = path.read_bytes()
    moved, flipped = X.copy(), y.copy()
    moved[3, 1] += 0.1
    flipped[5] = 1 - flipped[5]
    others = {
        "another attack": Problem.from_data(X, y, 0.2, 3),
        "depth 3 there, 4 here": problem.replace(max_depth=4),
        "columns are in another order": Problem.from_data(X[:, ::-1], y, 0.1, 3),
        r"values \(or radii\) in the columns 1": Problem.from_data(moved, y, 0.1, 3),
        "other labels": Problem.from_data(X, flipped, 0.1, 3),
        "other weights": Problem.from_data(X, y, 0.1, 3, sample_weight=np.arange(1.0, 201.0)),
        "leaf_penalty 0 there, 1 here": Problem.from_data(X, y, 0.1, 3, leaf_penalty=1.0),
        "rows 200 there, 199 here": Problem.from_data(X[1:], y[1:], 0.1, 3),
        "classes": Problem.from_data(X, np.where(y, "a", "b"), 0.1, 3),
    }
    for message, other in others.items():
        with pytest.raises(InvalidInputError, match=message):
            solve(other, checkpoint=path)
    monkeypatch.setattr(module, "__version__", "9.9")
    with pytest.raises(InvalidInputError, match=r"written by hardwood .*this is 9\.9"):
        solve(problem, checkpoint=path)
    assert path.read_bytes() == before


def test_columns_that_changed_names_are_refused(tmp_path: Path) -> None:
    import pandas as pd

    path = tmp_path / "run.hwp"
    X, y, _ = stopped_search(tmp_path / "other.hwp")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    RobustTreeClassifier(3, attack=0.1, checkpoint=path, solver_options={"effort": 1000}).fit(frame, y)
    with pytest.raises(InvalidInputError, match="columns"):
        RobustTreeClassifier(3, attack=0.1, checkpoint=path).fit(frame[["b", "a", "c"]], y)
    clf = RobustTreeClassifier(3, attack=0.1, checkpoint=path).fit(frame, y)
    assert hardwood_checker.check(path, frame, y).objective == Fraction(clf.result_.objective)


def test_files_that_are_no_checkpoints_are_left_as_they_are(tmp_path: Path) -> None:
    _, _, problem = stopped_search(tmp_path / "run.hwp")
    write_proof(problem, None, 1.0, tmp_path / "proof.hwp")
    contents = {
        "letter.txt": b"Dear Sir,",
        "packed.gz": gzip.compress(b"hardwood checkpoint 2\n{}\n"),
        "headless.gz": gzip.compress(b"hardwood checkpoint 1\n[" * 9),
        "proof.hwp": (tmp_path / "proof.hwp").read_bytes(),
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InvalidInputError):
            solve(problem, checkpoint=tmp_path / name)
        assert (tmp_path / name).read_bytes() == content
    with pytest.raises(InvalidInputError, match="ordinary file"):
        solve(problem, checkpoint=tmp_path)


@pytest.mark.parametrize(
    "entries",
    [
        {"stream": -1, "settled": []},
        {"stream": 1, "settled": [[0, 0, 1]]},
        {"stream": 1, "settled": [[0, 0, 10**9, 5]]},
        {"stream": 1, "settled": [[99, 0, 1, 5]]},
        {"tree": {"feature": [0], "threshold": [0], "left": [5], "right": [6], "label": [0]}, "objective": 0},
        {"tree": {"feature": [0], "threshold": ["x"], "left": [0], "right": [0], "label": [0]}, "objective": 0},
        {"tree": 5, "objective": 0},
        {"stream": "x"},
    ],
)
def test_pieces_that_make_no_sense_are_refused(entries: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "run.hwp"
    _, _, problem = stopped_search(path)
    with path.open("ab") as stream:
        stream.write(pack(note(entries)))
    with pytest.raises(InvalidInputError, match=r"no piece|no part"):
        solve(problem, checkpoint=path)


def test_what_cannot_have_a_checkpoint_says_so(tmp_path: Path) -> None:
    X, y, _ = stopped_search(tmp_path / "run.hwp")
    with pytest.raises(InvalidInputError, match="does not support checkpoint"):
        solve(Problem.from_data(X, y, 0.1, 2), "greedy", checkpoint=tmp_path / "g.hwp")
    for limit in ({"min_samples_leaf": 3}, {"min_weight_fraction_leaf": 0.1}):
        with pytest.raises(InvalidInputError, match=next(iter(limit))):
            solve(Problem.from_data(X, y, 0.1, 2, **limit), checkpoint=tmp_path / "m.hwp")


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_searches_that_are_over_at_once_leave_a_proof_too(depth: int, tmp_path: Path) -> None:
    X, y, _ = stopped_search(tmp_path / "run.hwp")
    solve(Problem.from_data(X, y, 0.1, depth), checkpoint=tmp_path / "p.hwp")
    assert hardwood_checker.check(tmp_path / "p.hwp", X, y).is_optimal
    y[:] = 0
    y[0] = 1
    solve(Problem.from_data(X[:4], y[:4], 9.0, 3), checkpoint=tmp_path / "q.hwp")
    assert hardwood_checker.check(tmp_path / "q.hwp", X[:4], y[:4]).is_optimal


def test_the_command_line_keeps_a_checkpoint_that_the_checker_accepts(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from hardwood.cli.app import app, register_commands

    register_commands()
    X, y, _ = stopped_search(tmp_path / "run.hwp")
    rows = "".join(f"{a},{b},{c},{label}\n" for (a, b, c), label in zip(X.tolist(), y, strict=True))
    (tmp_path / "d.csv").write_text("a,b,c,kind\n" + rows)
    command = ["fit", str(tmp_path / "d.csv"), "-t", "kind", "--attack", "0.1", "--checkpoint", str(tmp_path / "c.hwp")]
    ended = CliRunner().invoke(app, [*command, "--time-limit", "0.05"])
    assert ended.exit_code == 0, ended.output
    ended = CliRunner().invoke(app, [*command, "--json"])
    assert ended.exit_code == 0, ended.output
    assert json.loads(ended.stdout)["status"] == "optimal"
    assert hardwood_checker.check(tmp_path / "c.hwp", tmp_path / "d.csv").is_optimal
