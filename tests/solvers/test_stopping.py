"""Each criterion answers one question."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import pytest

from hardwood import EndReason
from hardwood._core import Control
from hardwood.solvers.stopping import Criterion, Gap, Interrupt, Proof, TimeLimit, counting_cpu_seconds


@dataclass
class Known:
    is_proven: bool = False
    gap: float = 0.5


def test_proof_ends_when_objective_and_bound_have_met() -> None:
    assert not Proof().is_met(Known())
    assert Proof().is_met(Known(is_proven=True))


@pytest.mark.parametrize(("max_gap", "gap", "met"), [(0.1, 0.2, False), (0.1, 0.1, True), (0.0, 0.0, True)])
def test_gap_ends_when_it_is_small_enough(max_gap: float, gap: float, met: bool) -> None:
    assert Gap(max_gap).is_met(Known(gap=gap)) == met


def test_without_a_tree_no_gap_is_small_enough() -> None:
    assert not Gap(0.99).is_met(Known(gap=math.inf))


def test_interrupt_ends_when_it_is_asked_to_and_stays_so() -> None:
    interrupt = Interrupt()
    assert not interrupt.is_met(Known())
    interrupt.request()
    assert interrupt.is_met(Known())
    assert interrupt.is_met(Known())


def test_a_time_limit_counts_from_its_start() -> None:
    now = time.perf_counter()
    over, long = TimeLimit(5, started=now - 6), TimeLimit(1000, started=now - 6)
    assert over.is_met(Known())
    assert over.remaining() == 0
    assert not long.is_met(Known())
    assert 900 < long.remaining() <= 994
    assert long.elapsed() >= 6


def test_seconds_of_cpu_time_do_not_pass_asleep() -> None:
    with counting_cpu_seconds():
        limit = TimeLimit(0.1)
    control, on_the_wall = Control(0.1, cpu=True), TimeLimit(0.1)
    time.sleep(0.15)
    assert on_the_wall.is_met(Known())
    assert not limit.is_met(Known())
    assert not control.stopped
    assert limit.elapsed() < 0.15 <= on_the_wall.elapsed()
    until = time.process_time() + 0.2
    while time.process_time() < until:
        pass
    assert limit.is_met(Known())
    assert control.stopped


def test_no_time_limit_is_never_over() -> None:
    limit = TimeLimit(None)
    assert not limit.is_met(Known())
    assert limit.remaining() == math.inf


def test_every_criterion_names_its_reason() -> None:
    criteria: list[Criterion] = [Proof(), Interrupt(), TimeLimit(1), Gap(0)]
    assert [str(criterion.reason) for criterion in criteria] == ["proof", "interrupt", "time limit", "gap"]
    assert len({criterion.reason for criterion in criteria}) == len(criteria) < len(EndReason)
