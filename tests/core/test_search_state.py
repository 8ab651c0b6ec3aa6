"""States of a search: whoever goes on from one knows what the other knew; what is no state is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import hardwood._core as _core
from core.test_search_core import Case, random_case, run_to_its_end, solved

FORGET = bytes([16]) + (1 << 12).to_bytes(4, "little")


def searching(case: Case, depth: int) -> tuple[_core.RootSearch, _core.ProofLog]:
    log = _core.ProofLog(np.arange(len(case.label)))
    return _core.RootSearch(case.core(), _core.SearchOptions(), depth, 1, _core.Control(), log), log


@pytest.mark.parametrize("depth", [2, 3, 4])
@pytest.mark.parametrize("seed", range(12))
def test_a_search_that_goes_on_has_nothing_to_prove_again(seed: int, depth: int) -> None:
    case = replace(random_case(seed, most=25), min_leaf=0)
    best, _ = solved(case, depth, _core.SearchOptions())
    first, _ = searching(case, depth)
    first.start(best, best)
    run_to_its_end(first)
    settled = first.take_settled()
    piece = first.take_piece(0.0)
    assert piece is not None
    records, written, state = piece
    assert written == settled
    second, log = searching(case, depth)
    second.load(state)
    assert log.take() == FORGET  # nothing was open
    second.start(best, best)
    run_to_its_end(second)
    assert second.counters(depth)["evaluations"] == 0
    again = second.take_piece(0.0)
    assert again is not None
    assert again == (b"", [], state)
    assert not settled or records


def test_a_state_is_taken_while_the_search_runs() -> None:
    rng = np.random.default_rng(3)
    n = 300
    ends = np.sort(rng.integers(0, 600, (2, n, 4)), axis=0).astype(np.int32)
    case = Case(ends[0], ends[1], np.full(4, 600), rng.integers(0, 2, n), np.ones(n, int), np.ones(n, int), 2, 0, 0)
    search, _ = searching(case, 4)
    search.start(90, 300)
    pieces = [search.take_piece(20.0) for _ in range(5)]
    search.stop()
    assert all(piece is not None and piece[2] for piece in pieces)
    levels = [int.from_bytes(piece[2][:8], "little") for piece in pieces if piece is not None]
    assert max(levels) > 0
    state = pieces[levels.index(max(levels))]
    assert state is not None
    other, log = searching(case, 4)
    other.load(state[2])
    assert log.take() == bytes([7, 9]) * max(levels) + FORGET  # what was open is given up


def test_what_is_no_state_of_the_search_is_refused() -> None:
    case = replace(random_case(4, most=25), min_leaf=0)
    first, _ = searching(case, 3)
    first.start(case.forbidden // 3, case.forbidden)
    run_to_its_end(first)
    piece = first.take_piece(0.0)
    assert piece is not None
    state = piece[2]
    rng = np.random.default_rng(20261118)
    other = random_case(7, most=25)
    with pytest.raises(ValueError, match="another search"):
        searching(other, 3)[0].load(state)
    for cut in [0, 3, *rng.integers(0, len(state), 60).tolist()]:
        with pytest.raises(ValueError, match="another search"):
            searching(case, 3)[0].load(state[:cut])
    with pytest.raises(ValueError, match="another search"):
        searching(case, 3)[0].load(state + b"\0")
    for _ in range(300):
        damaged = bytearray(state)
        damaged[int(rng.integers(len(state)))] = int(rng.integers(256))
        search, _ = searching(case, 3)
        try:
            search.load(bytes(damaged))
        except ValueError:
            continue
        search.start(5, case.forbidden)  # whatever it says now: nothing may crash
        run_to_its_end(search)
    alone = _core.RootSearch(case.core(), _core.SearchOptions(), 3, 1, _core.Control())
    with pytest.raises(ValueError, match="with a proof"):
        alone.load(state)
    with pytest.raises(ValueError, match="no proof"):
        alone.take_piece(0.0)
