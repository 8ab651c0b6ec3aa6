"""Help with the next level of a search: the same answer, and records that the checker accepts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardwood_checker
from hardwood import Problem, Result, _core, solve
from hardwood.proofs.checkpoint import Checkpoint, SavedSearch, open_checkpoint
from hardwood.proofs.members import Piece, Settled
from hardwood.solvers.result import Status
from hardwood.solvers.search import helping, spread
from hardwood.solvers.search.helping import (
    FIRST_PLACE,
    Help,
    Question,
    Questions,
    RootPart,
    _halved,
    question_of,
    without,
)
from hardwood.solvers.search.ledger import Keepers, Ledger
from hardwood.solvers.search.model import SearchModel
from hardwood.solvers.search.solver import SearchSolver
from hardwood.solvers.search.station import Commission, Duty, Models, News, Station

SEED = 20261119


def problem_of(seed: int, n: int, depth: int, n_features: int = 4) -> tuple[Any, Any, Problem]:
    rng = np.random.default_rng([SEED, seed])
    X = rng.integers(0, 60, (n, n_features)) / 10
    y = (X[:, 0] + rng.normal(0, 8, n) > 3).astype(int)
    return X, y, Problem.from_data(X, y, 0.1, depth)


HELPED = 40
"""Questions of a search that are helped with; the others it answers alone."""

Wrong = Callable[[Question, Sequence[RootPart], Help], Help]


def honest(question: Question, parts: Sequence[RootPart], given: Help) -> Help:
    return given


def unproven(question: Question, parts: Sequence[RootPart], given: Help) -> Help:
    return Help([(feature, first, end, question.target) for feature, first, end in parts])


def help_with(asker: Station, helpers: Sequence[Station], question: Question, said: Wrong) -> None:
    """Let helpers work on their parts of a question, one after another, until they are done with them."""
    questions = Questions()
    questions.note("asker", question)
    for k, helper in enumerate(helpers):
        found = questions.share_out(str(k))
        if found is None:
            return
        _, _, parts, place = found
        helper.begin(Duty(parts, question=question, place=place))
        news = News()
        while not news.is_done:
            news = helper.news(1.0)
            assert asker.take_help(question.number, place, said(question, parts, news.help))


def search_with_help(
    asker: Station, helpers: Sequence[Station], duty: Duty, said: Wrong = honest
) -> tuple[int, list[Settled], Piece]:
    """Do a duty of which the first questions stand still until they were helped with: how many, and what came of it.

    Whether a question is still open when help comes is a matter of the moment otherwise.
    """
    asker._core.hold_questions(True)
    asker.begin(duty)
    n_asked, news, settled = 0, News(), list[Settled]()
    while not news.is_done:
        news = asker.news(0.001)
        settled += news.settled
        question = question_of(asker._core) if n_asked < HELPED else None
        if question is not None:
            n_asked += 1
            help_with(asker, helpers, question, said)
            asker._core.hold_questions(n_asked < HELPED)
    piece = asker.take_piece()
    assert piece is not None
    return n_asked, settled, piece


@contextmanager
def stations_of(problem: Problem, path: Path) -> Iterator[tuple[SavedSearch, Station, list[Station]]]:
    """Yield a checkpoint, a station and two that help it."""
    options = {option.name: option.default for option in SearchSolver.options}
    with open_checkpoint(Checkpoint(path), problem) as saved:
        commission = Commission(problem, options, 0, writes_proof=True)
        models = Models(commission, saved.model)
        asker, *helpers = (Station(commission, models, k) for k in range(3))
        yield saved, asker, helpers


def prove_with_help(problem: Problem, result: Result, path: Path, said: Wrong = honest) -> int:
    """Prove the optimum with one station that two others help, and leave the proof; how often they did."""
    with stations_of(problem, path) as (saved, asker, helpers):
        best = saved.model.in_parts(result.objective)
        ledger = Ledger([asker._core.n_candidates(j) for j in range(problem.n_features)])
        duty = Duty(ledger.open_parts(1), best, best)
        n_helped, settled, piece = search_with_help(asker, helpers, duty, said)
        ledger.note(settled)
        saved.keep_piece(0, piece)
        proven = ledger.least or 0
        assert saved.model.next_cost(proven) >= best
        assert result.tree is not None
        saved.finish(result.tree, result.objective, proven)
    return n_helped


def test_what_helpers_settle_is_part_of_the_proof(tmp_path: Path) -> None:
    print(f"seed {SEED}")
    n_proofs = n_helped = n_twins = 0
    for seed in range(6):
        X, y, problem = problem_of(seed, (60, 200)[seed % 2], 4 - seed % 2)
        result = solve(problem)
        if result.objective == 0:
            continue
        n_helped += prove_with_help(problem, result, tmp_path / f"{seed}.hwp")
        verdict = hardwood_checker.check(tmp_path / f"{seed}.hwp", X, y)
        assert verdict.is_optimal, seed
        assert float(verdict.bound) == result.objective
        n_proofs += 1
        n_twins += verdict.records.get("TWIN", 0)
    assert n_proofs >= 4
    assert min(n_helped, n_twins) > n_proofs


def test_help_that_is_not_proven_is_found_out(tmp_path: Path) -> None:
    X, y, problem = problem_of(0, 60, 4)
    assert prove_with_help(problem, solve(problem), tmp_path / "run.hwp", unproven) > 0
    with pytest.raises(hardwood_checker.Refused):
        hardwood_checker.check(tmp_path / "run.hwp", X, y)


def test_more_stations_than_parts_of_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helping, "LEAST_SECONDS", 0.0)
    monkeypatch.setattr(spread, "POLL", 0.001)
    X, y, problem = problem_of(3, 60, 4)
    result = solve(problem, checkpoint=tmp_path / "run.hwp", n_jobs=12)
    assert (result.objective, result.status) == (solve(problem).objective, Status.OPTIMAL)
    assert hardwood_checker.check(tmp_path / "run.hwp", X, y).is_optimal


def test_the_later_half_is_given_away_the_last_ones_first() -> None:
    assert _halved([(0, 0, 4), (1, 0, 2)]) == ([(0, 0, 3)], [(1, 0, 2), (0, 3, 4)])
    assert _halved([(2, 5, 6)]) == ([(2, 5, 6)], [])
    rng = np.random.default_rng(SEED)
    for _ in range(50):
        parts = [(j, int(a), int(a + b)) for j, (a, b) in enumerate(rng.integers(1, 9, (5, 2)))]
        stays, given = _halved(parts)
        cells = [(f, k) for part in (stays, given) for f, a, b in part for k in range(a, b)]
        assert sorted(cells) == [(f, k) for f, a, b in parts for k in range(a, b)]


def test_places_of_helpers_are_never_used_twice_for_one_question() -> None:
    question = Question(5, np.arange(3), np.ones(3, int), 9, [(0, 0, 8)])
    questions = Questions()
    questions.note("a", question)
    first, second = questions.share_out("b"), questions.share_out("c")
    assert first is not None
    assert second is not None
    questions.note("a", question)  # asked again, for what is left
    third = questions.share_out("b")
    assert third is not None
    assert len({first[3], second[3], third[3]}) == 3
    assert questions.is_known("a")
    questions.forget("a", 4)
    assert questions.is_known("a")
    questions.forget("a", 5)
    assert questions.share_out("b") is None


def covered(parts: Sequence[tuple[int, int, int]]) -> list[tuple[int, int]]:
    return [(feature, k) for feature, first, end in parts for k in range(first, end)]


def random_parts(rng: np.random.Generator) -> list[tuple[int, int, int]]:
    edges = [np.unique(rng.integers(0, 30, 6)) for _ in range(3)]
    return [(j, int(a), int(b)) for j, cut in enumerate(edges) for a, b in pairwise(cut) if rng.random() < 0.6]


def test_parts_without_others_are_what_is_in_no_other_one() -> None:
    print(f"seed {SEED}")
    for seed in range(200):
        rng = np.random.default_rng([SEED, seed])
        parts, others = random_parts(rng), random_parts(rng)
        assert covered(without(parts, others)) == [one for one in covered(parts) if one not in covered(others)]


def test_a_ledger_finds_nothing_open_within_no_parts() -> None:
    ledger = Ledger([3, 4])
    assert ledger.open_parts(1, []) == []
    assert ledger.open_parts(1) == [(0, 0, 3), (1, 0, 4)]


def test_a_part_is_least_strange_to_whoever_settled_it_last() -> None:
    keepers = Keepers([10, 4])
    keepers.note("a", [(0, 0, 5, 7)])
    keepers.note("b", [(0, 4, 8, 7)])
    assert [keepers.strangeness("a", part) for part in [(0, 0, 4), (0, 4, 8), (0, 8, 10), (1, 0, 4)]] == [0, 2, 1, 1]
    assert keepers.strangeness("b", (0, 0, 8)) == 1
    assert keepers.strangeness("c", (0, 0, 8)) == 2


def twins_at_one_threshold(seed: int, path: Path) -> int:
    """Settle one threshold of the root, whose questions take long, with help; how many records of helpers are right."""
    rng = np.random.default_rng([SEED, seed])
    X = 6 * rng.random((1500, 3))
    y = (X[:, 0] + rng.normal(0, 4, 1500) > 3).astype(int)
    problem = Problem.from_data(X, y, 0.3, 3)
    result = solve(problem.replace(max_depth=2))
    with stations_of(problem, path) as (saved, asker, helpers):
        best = saved.model.in_parts(result.objective)
        middle = asker._core.n_candidates(0) // 2
        duty = Duty([(0, middle, middle + 1)], int(0.97 * best), best)
        saved.keep_piece(0, search_with_help(asker, helpers, duty)[2])
        saved.finish(result.tree, 0.0, 0)
    return hardwood_checker.check(path, X, y).records.get("TWIN", 0)


def test_records_of_helpers_are_right_where_there_are_many(tmp_path: Path) -> None:
    print(f"seed {SEED}")
    assert all(twins_at_one_threshold(seed, tmp_path / f"{seed}.hwp") > 0 for seed in range(4))


def test_a_question_that_stands_still_is_let_go_or_ended() -> None:
    _, _, problem = problem_of(3, 200, 4)
    model = SearchModel.of(problem)
    for ends in (_core.RootSearch.stop, lambda search: search.hold_questions(False)):
        search = _core.RootSearch(model.core, _core.SearchOptions(), model.depth, 1, _core.Control())
        search.hold_questions(True)
        search.start(model.forbidden, model.forbidden)
        question = None
        while question is None:
            search.wait(0.001)
            question = search.ask_question(0.0)
        assert search.help(question[0], FIRST_PLACE, [], b"")  # it is open, and stays so
        ends(search)
        while search.wait(1.0)[3]:
            pass
        assert not search.help(question[0], FIRST_PLACE, [], b"")


def station_for(problem: Problem) -> Station:
    options = {option.name: option.default for option in SearchSolver.options}
    commission = Commission(problem, options, 0, writes_proof=False)
    return Station(commission, commission.models(), 0)


def test_a_cost_that_arrives_before_a_duty_does_is_not_forgotten() -> None:
    _, _, problem = problem_of(3, 60, 3)
    station = station_for(problem)
    model = SearchModel.of(problem)
    station.offer(model.step)
    station.begin(Duty([(0, 0, 1)], model.forbidden, model.forbidden))
    station.close()
    assert station._core.best == model.step


def test_a_search_may_be_ended_by_several_at_once() -> None:
    _, _, problem = problem_of(3, 200, 4)
    model = SearchModel.of(problem)
    for _ in range(50):
        search = _core.RootSearch(model.core, _core.SearchOptions(), model.depth, 1, _core.Control())
        search.start(model.forbidden, model.forbidden)
        enders = [threading.Thread(target=search.stop, daemon=True) for _ in range(3)]
        for ender in enders:
            ender.start()
        for ender in enders:
            ender.join(60)
        assert not any(ender.is_alive() for ender in enders)


def test_a_helper_that_is_ended_while_it_is_asked_for_news_is_done() -> None:
    _, _, problem = problem_of(3, 200, 4)
    station = station_for(problem)
    model = SearchModel.of(problem)
    question = Question(1, np.arange(model.n), model.weight, model.forbidden, [])
    parts = [(0, 0, 20), (1, 0, 20)]
    for _ in range(20):
        station.begin(Duty(parts, question=question, place=FIRST_PLACE))
        ender = threading.Thread(target=station.end_help)
        ender.start()
        news = News()
        while not news.is_done:
            news = station.news(0.0)
        ender.join(60)
    station.close()
