"""What cross validation chooses, and that an interrupt ends it."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import numpy as np
import pytest

from hardwood import AttackModel, InvalidInputError, Problem, RobustTreeCV, Status, adversarial_accuracy
from hardwood.evaluation.selection import Candidate, best_candidate, combinations
from hardwood.solvers.parallel import in_threads
from hardwood.solvers.stopping import Interrupt
from hardwood.tree.reach import objective


def test_simple_candidates_come_first_and_a_leaf_only_once() -> None:
    found = combinations((2, 0, 1, 1), (1.5, 0.5, 1.0), (0.1, 0.0))
    assert found[0] == Candidate(0, 1.0, 0.0)
    assert [c for c in found if c.max_depth == 0] == found[:1]
    assert [c.radius_factor for c in found if c.max_depth == 1] == [1.0, 1.0, 0.5, 0.5, 1.5, 1.5]
    assert [c.leaf_penalty for c in found if c.max_depth == 1] == [0.0, 0.1] * 3
    assert len(found) == 1 + 2 * 6


def test_the_first_of_equals_is_best_whatever_the_order_of_summation() -> None:
    # 0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1 in floats.
    scores = {Candidate(1): [0.1, 0.2, 0.3], Candidate(2): [0.3, 0.2, 0.1], Candidate(3): [0.2, 0.2, 0.1]}
    assert sum(scores[Candidate(1)]) != sum(scores[Candidate(2)])
    assert best_candidate(scores) == Candidate(1)
    assert best_candidate(dict(reversed(scores.items()))) == Candidate(2)
    assert best_candidate({}) is None


@pytest.fixture(scope="module")
def blobs() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 60)
    return (rng.normal(size=(60, 2)) + y[:, None]).round(2), y


@pytest.mark.parametrize("factor", [0.5, 1.0, 1.5])
def test_the_result_belongs_to_the_real_attack(blobs: tuple[np.ndarray, np.ndarray], factor: float) -> None:
    X, y = blobs
    clf = RobustTreeCV(attack=0.3, max_depths=(1, 2), radius_factors=(factor,), cv=2).fit(X, y)
    depth = clf.best_params_["max_depth"]
    real = Problem.from_data(X, y, 0.3, depth)
    assert clf.attack_ == AttackModel.parse(0.3)
    assert clf.training_attack_ == AttackModel.parse(0.3).scaled(factor)
    assert clf.best_estimator_.attack_ == clf.training_attack_
    lost = 60 - 60 * adversarial_accuracy(clf.tree_, X, y, 0.3)
    assert clf.result_.objective == objective(clf.tree_, real) == pytest.approx(lost)
    # What the result claims to be proven is proven: by the search against the real attack.
    optimum = RobustTreeCV(attack=0.3, max_depths=(depth,), cv=2).fit(X, y).result_
    assert optimum.status is Status.OPTIMAL
    assert clf.result_.bound <= optimum.objective <= clf.result_.objective
    assert (clf.result_.status is Status.OPTIMAL) == (clf.result_.bound == clf.result_.objective)
    assert clf.result_.trace[-1].objective == clf.result_.objective


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_depths": 3}, "max_depths=3; it must be a sequence"),
        ({"max_depths": ()}, "max_depths=()"),
        ({"max_depths": (1.5,)}, "each entry a whole number >= 0"),
        ({"max_depths": (None,)}, "each entry a whole number >= 0"),
        ({"max_depths": "12"}, "max_depths='12'"),
        ({"radius_factors": (1, float("inf"))}, "radius_factors="),
        ({"radius_factors": (1, float("nan"))}, "radius_factors="),
        ({"radius_factors": {1: 2}}, "radius_factors="),
        ({"leaf_penalties": (-1,)}, "leaf_penalties=(-1,)"),
        ({"cv": 1}, "cv=1 cannot be used"),
        ({"cv": "five"}, "cv='five' cannot be used"),
        ({"cv": 100}, "cv=100 cannot be used"),
        ({"n_jobs": 100_000}, "n_jobs=100000"),
        ({"n_jobs": "two"}, "n_jobs='two'"),
        ({"random_state": -1}, "random_state=-1"),
        ({"random_state": "luck"}, "random_state='luck'"),
        ({"time_limit": "long"}, "time_limit='long'"),
        ({"solver_options": 5}, "5"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(
    blobs: tuple[np.ndarray, np.ndarray], parameters: dict[str, Any], message: str
) -> None:
    settings: dict[str, Any] = {"max_depths": (1,), "cv": 2, **parameters}
    with pytest.raises(InvalidInputError) as caught:
        RobustTreeCV(**settings).fit(*blobs)
    assert message in str(caught.value)


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_ctrl_c_ends_all_threads(n_jobs: int) -> None:
    begun, interrupt = threading.Event(), Interrupt()

    def work(number: int) -> int:
        begun.set()
        if n_jobs == 1:
            os.kill(os.getpid(), signal.SIGINT)
        while not interrupt.is_met(None):  # type: ignore[arg-type]
            threading.Event().wait(0.01)
        return number

    def press() -> None:
        begun.wait()
        os.kill(os.getpid(), signal.SIGINT)

    before = threading.active_count()
    finger = threading.Thread(target=press)
    if n_jobs > 1:
        finger.start()
    with pytest.raises(KeyboardInterrupt):
        in_threads(work, [(number,) for number in range(20)], n_jobs, interrupt)
    if n_jobs > 1:
        finger.join()
    assert threading.active_count() <= before


def test_a_failure_in_one_thread_ends_the_others() -> None:
    interrupt = Interrupt()

    def work(number: int) -> int:
        if number == 1:
            raise ValueError("broken")
        while not interrupt.is_met(None):  # type: ignore[arg-type]
            threading.Event().wait(0.01)
        return number

    before = threading.active_count()
    with pytest.raises(ValueError, match="broken"):
        in_threads(work, [(1,), (0,)], 2, interrupt)
    assert threading.active_count() == before
    assert in_threads(lambda number: number**2, [(3,), (1,), (2,)], 2) == [9, 1, 4]
