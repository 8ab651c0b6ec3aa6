"""Random inputs for the core for so many seconds: right ones against the twins, spoilt ones against the boundary.

    PYTHONPATH=tests python -m core.fuzz --seconds 300 --seed 7

A spoilt input must be refused (ValueError, TypeError) or computed; a crash, an IndexError of a checked span or a
finding of a sanitizer is a mistake in the core. Seeds are printed.
"""

from __future__ import annotations

import argparse
import inspect
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from core import test_boosting, test_conflicts, test_flow, test_greedy, test_ranks, test_relabel, test_treant, test_walk
from hardwood import Problem, _core, solve

Check = Callable[[np.random.Generator], None]


def check_search(rng: np.random.Generator) -> None:
    """All parts of the core at once: a small problem solved by every solver of our own."""
    n, p = int(rng.integers(2, 25)), int(rng.integers(1, 4))
    X, y = rng.integers(0, 8, (n, p)) / 8, rng.integers(0, int(rng.integers(2, 4)), n)
    y[:2] = 0, 1
    problem = Problem.from_data(X, y, float(rng.integers(0, 3)) / 10, int(rng.integers(0, 4)))
    exact = solve(problem, "search", time_limit=2, random_state=0)
    for options in ({}, {"criterion": "chen"}, {"criterion": "adversarial-error"}):
        greedy = solve(problem, "greedy", options=options)
        assert greedy.objective >= exact.bound


CHECKS: tuple[Check, ...] = (
    test_walk.check_walks,
    test_walk.check_walks_on_ranks,
    test_walk.check_nearest_points,
    test_conflicts.check_index,
    test_conflicts.check_pairs_and_sweep,
    test_conflicts.check_neighbours,
    test_flow.check_flow,
    test_flow.check_cut,
    test_flow.check_hand_down,
    test_relabel.check_labelings,
    test_ranks.check_ranks,
    test_ranks.check_events,
    test_greedy.check_impurity,
    test_greedy.check_errors,
    test_treant.check_predictions,
    test_treant.check_threshold,
    test_boosting.check_scan,
    test_boosting.check_two_leaves,
    test_boosting.check_many_leaves,
    test_boosting.check_steps,
)


def spoilt(value: Any, rng: random.Random) -> Any:
    """Something like the value that no caller should pass."""
    if not isinstance(value, np.ndarray):
        return rng.choice([-1, 0, 10**6, None, "x", 0.5]) if not isinstance(value, bool) else value
    value = value.copy()
    way = rng.randrange(6)
    if way == 0:
        return value[:-1]
    if way == 1:
        return np.concatenate([value, value])
    if way == 2:
        return value.astype(np.float32)
    if way == 3:
        return value[..., None]
    if way == 4:
        return np.asfortranarray(value[::-1])
    if value.size:
        worst: list[Any] = [-np.inf, np.inf, np.nan, -1.0]
        if value.dtype.kind in "iu":
            limits = np.iinfo(value.dtype)
            worst = [max(-(2**31), limits.min), -2, -1, 7, min(2**31 - 1, limits.max)]
        value.flat[rng.randrange(value.size)] = rng.choice(worst) if value.dtype.kind != "b" else True
    return value


class Spoiler:
    """Stands in front of the core and calls it a second time with one spoilt argument."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.refused = self.computed = 0

    def __getattr__(self, name: str) -> Any:
        real = getattr(_core, name)
        if inspect.isclass(real) or not callable(real):
            return real

        def call(*arguments: Any, **named: Any) -> Any:
            worse = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
            place = self._rng.randrange(len(worse))
            worse[place] = spoilt(worse[place], self._rng)
            stop = _core.Control(1.0)
            try:
                real(*worse, **named) if "control" in named else self._bounded(real, worse, named, stop)
                self.computed += 1
            except (ValueError, TypeError):
                self.refused += 1
            return real(*arguments, **named)

        return call

    @staticmethod
    def _bounded(real: Any, arguments: list[Any], named: dict[str, Any], stop: _core.Control) -> None:
        """Call with a second at most, where the function can be stopped."""
        if "control" in (real.__doc__ or ""):
            named = {**named, "control": stop}
        real(*arguments, **named)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=None)
    arguments = parser.parse_args()
    first = arguments.seed if arguments.seed is not None else time.time_ns() % 10**9
    print(f"seeds from {first}", flush=True)
    modules = (test_walk, test_conflicts, test_flow, test_relabel, test_ranks, test_greedy, test_treant, test_boosting)
    end, seed, refused, computed = time.monotonic() + arguments.seconds, first, 0, 0
    while time.monotonic() < end or seed == first:
        spoiler = Spoiler(random.Random(seed))
        for module in modules:
            module._core = spoiler  # type: ignore[attr-defined]
        for check in (*CHECKS, *([check_search] if seed % 20 == 0 else [])):
            try:
                check(np.random.default_rng(seed))
            except BaseException:
                print(f"failed: {check.__name__} with seed {seed}", flush=True)
                raise
        refused, computed, seed = refused + spoiler.refused, computed + spoiler.computed, seed + 1
    print(f"seeds {first} to {seed - 1}: all right; of the spoilt inputs {refused} refused, {computed} computed")


if __name__ == "__main__":
    main()
