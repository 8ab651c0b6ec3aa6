"""First trees of a search that is shared out: which starts stations are given, and when."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hardwood import Problem, _core
from hardwood.solvers.search.first_trees import find_greedy_trees, improve_first_trees
from hardwood.solvers.search.local_search import DEEP_REACH, Improved, StartRows, improve_start
from hardwood.solvers.search.model import SearchModel, tree_of
from hardwood.solvers.search.options import core_options
from hardwood.solvers.search.scout import Scout
from hardwood.solvers.search.scouting import Scouting
from hardwood.solvers.search.solver import SearchSolver

SEED = 20261118


def problem_of(depth: int = 4) -> Problem:
    rng = np.random.default_rng(SEED)
    X = rng.integers(0, 60, (300, 4)) / 10
    return Problem.from_data(X, (X[:, 0] + X[:, 1] + rng.normal(0, 3, 300) > 6).astype(int), 0.2, depth)


class Look:
    """A search for first trees, and whoever improves its starts."""

    def __init__(self, problem: Problem) -> None:
        options = {option.name: option.default for option in SearchSolver.options}
        self.run = Scout(lambda *_: None, problem, options, random_state=0, seconds=60, tree=None)._run
        self.model, self.options = SearchModel.of(problem), core_options(options)
        _, rows = _core.best_stump(self.model.core)
        self.run.report(tree_of(rows))
        self.greedy = find_greedy_trees(self.model, self.options, self.run)
        self.scouting = Scouting(self.model, self.options, self.run, lambda: self.greedy)
        self.core = _core.Reoptimiser(self.model.core, self.options, _core.Control())

    def improve(self, starts: Any) -> list[Improved]:
        improved = [improve_start(start, self.core, self.model) for start in starts]
        for _, rows, _ in improved:
            self.run.report(tree_of(rows))
        return improved

    def finish(self, stations: tuple[str, ...], *, is_last_first: bool = False) -> list[StartRows]:
        """Let stations take turns until all is done, the last one first if asked; what they were given."""
        given = list[StartRows]()
        while not self.scouting.is_over:
            at = [(station, self.scouting.give(station)) for station in stations]
            given += [start for _, what in at if what is not None for start in what[0]]
            for station, what in reversed(at) if is_last_first else at:
                if what is not None:
                    self.scouting.take(station, self.improve(what[0]))
                    self.scouting.end(station, is_lost=False)
        return given


def keys(starts: list[StartRows]) -> list[tuple[bytes, int]]:
    return [(rows.tobytes(), reach) for rows, reach in starts]


@pytest.mark.parametrize("stations", [("a",), ("a", "b"), ("a", "b", "c")])
def test_stations_find_what_one_search_finds(stations: tuple[str, ...]) -> None:
    shared, alone = Look(problem_of()), Look(problem_of())
    given = shared.finish(stations)
    improve_first_trees(alone.model, lambda: alone.greedy, alone.options, alone.run)
    assert shared.run.best_objective == alone.run.best_objective
    assert len(given) == shared.scouting.looked[0]
    assert {reach for _, reach in given} == {2, DEEP_REACH}


def test_it_does_not_matter_who_is_faster() -> None:
    stations = ("a", "b", "c")
    assert keys(Look(problem_of()).finish(stations)) == keys(Look(problem_of()).finish(stations, is_last_first=True))


def test_larger_steps_wait_until_all_other_starts_are_done() -> None:
    look = Look(problem_of())
    first = look.scouting.give("slow")
    assert first is not None
    while (given := look.scouting.give("fast")) is not None:
        assert all(reach < DEEP_REACH for _, reach in given[0])
        look.scouting.take("fast", look.improve(given[0]))
        look.scouting.end("fast", is_lost=False)
    assert not look.scouting.is_over
    assert look.scouting.looked[0] == 0  # what lies before the first start of which nothing is known
    look.scouting.take("slow", look.improve(first[0]))
    look.scouting.end("slow", is_lost=False)
    assert look.scouting.looked[0] > 10
    assert not look.scouting.is_at_large_steps
    deep = look.scouting.give("fast")
    assert deep is not None
    assert [reach for _, reach in deep[0]] == [DEEP_REACH]
    assert look.scouting.is_at_large_steps


def test_starts_that_were_lost_are_given_to_others_and_none_twice() -> None:
    undisturbed = keys(Look(problem_of()).finish(("a",)))
    look = Look(problem_of())
    warm_up = look.scouting.give("a")  # later batches are longer
    assert warm_up is not None
    look.scouting.take("a", look.improve(warm_up[0]))
    look.scouting.end("a", is_lost=False)
    lost = look.scouting.give("a")
    assert lost is not None
    assert len(lost[0]) > 2
    look.scouting.take("a", look.improve(lost[0][:2]))
    look.scouting.end("a", is_lost=True)
    given = keys([*warm_up[0], *lost[0][:2], *look.finish(("b",))])
    assert given == undisturbed


def test_a_problem_that_needs_no_first_trees_has_no_starts() -> None:
    assert Look(problem_of(depth=2)).scouting.is_over
