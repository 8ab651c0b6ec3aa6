"""Options are declared with type and range; whatever is outside is refused with its name, value and what is right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hardwood import InvalidInputError, Problem, solve
from hardwood.solvers import registered_solvers
from hardwood.solvers.options import Option, Whole, check_options, count_threads

PROBLEM = Problem.from_data(np.arange(12.0).reshape(6, 2), [0, 1, 0, 1, 1, 0], 0.1, 2)
EVERY_OPTION = [(name, option) for name, cls in registered_solvers().items() for option in cls.options]
HOSTILE: list[Any] = [
    -1, -(10**30), 10**400, float("nan"), float("inf"), -0.5, "", "x" * 10_000, b"\0", [], [2.0, 1.0], [0.5, "a"],
    {}, object(), 1j, np.array([[1.0]]), range(3), Exception(),
]  # fmt: skip


class Unshowable:
    def __repr__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(("solver", "option"), EVERY_OPTION, ids=[f"{s}.{o.name}" for s, o in EVERY_OPTION])
def test_an_option_is_either_in_its_range_or_named_with_its_value(solver: str, option: Option) -> None:
    assert option.meaning
    assert option.kind.accepts(option.default)
    for value in (*HOSTILE, Unshowable()):
        if option.kind.accepts(value):
            continue
        with pytest.raises(InvalidInputError, match=f"^{option.name}=.*; it must be "):
            solve(PROBLEM, solver, options={option.name: value})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"ascent_steps": 0}, "ascent_steps=0; it must be a whole number >= 1"),
        ({"rounds": -1}, "rounds=-1; it must be a whole number >= 0"),
        ({"deep_rounds": 0}, "deep_rounds=0"),
        ({"range_rounds": 2.0}, "range_rounds=2.0"),
        ({"use_pool": 1}, "use_pool=1; it must be True or False"),
        ({"restarts": -1}, r"restarts=-1; it must be a whole number >= 0 or None \(by depth\)"),
        ({"stages": [0.9, 0.5]}, r"stages=\[0.9, 0.5\]; it must be a sequence of rising numbers, each > 0 and < 1"),
        ({"stages": 0.5}, "stages=0.5"),
        ({"stages": "0.5"}, "stages='0.5'"),
        ({"stages": [1.0]}, "stages="),
        ("rounds=3", "the options of solver 'search' are 'rounds=3'; they must be a mapping"),
        ([("rounds", 3)], "they must be a mapping"),
        ({3: 4}, "solver 'search' has no option 3; its options are: 'rounds'"),
    ],
)
def test_options_of_the_search_that_used_to_corrupt_memory_are_refused(options: Any, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        solve(PROBLEM, "search", options=options)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"time_limit": "10"}, r"time_limit='10'; it must be a number of seconds >= 0 or None \(no limit\)"),
        ({"time_limit": float("nan")}, "time_limit=nan"),
        ({"time_limit": -1}, "time_limit=-1"),
        ({"time_limit": True}, "time_limit=True"),
        ({"time_limit": [1]}, "time_limit="),
        ({"max_gap": 1}, "max_gap=1; it must be a number >= 0 and < 1"),
        ({"max_gap": "0.1"}, "max_gap='0.1'"),
        ({"max_gap": None}, "max_gap=None"),
        ({"max_gap": float("nan")}, "max_gap=nan"),
        ({"random_state": -1}, "random_state=-1; it must be a whole number from 0 to 4294967295"),
        ({"random_state": 1.5}, "random_state=1.5"),
        ({"random_state": 2**32}, "random_state=4294967296"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"n_jobs": 100_000}, "n_jobs=100000; it must be .* or a whole number from 1 to 1024"),
        ({"n_jobs": "2"}, "n_jobs='2'"),
    ],
)
@pytest.mark.parametrize("solver", ["search", "greedy", "milp"])
def test_settings_of_a_run_are_checked_for_every_solver(solver: str, arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        solve(PROBLEM, solver, **arguments)


def test_numbers_of_numpy_are_numbers() -> None:
    result = solve(
        PROBLEM,
        time_limit=np.float32(20),  # type: ignore[arg-type]
        random_state=np.int64(3),  # type: ignore[arg-type]
        options={"rounds": np.int32(4), "use_pool": np.bool_(False), "stages": np.array([0.2, 0.5])},
    )
    assert result.stopped_by == "proof"


def test_what_is_not_given_has_its_default() -> None:
    declared = [Option("a", 1, Whole(0), ""), Option("b", 2, Whole(0), "")]
    assert check_options(declared, {"b": np.int64(5)}, "it") == {"a": 1, "b": 5}
    assert check_options(declared, None, "it") == {"a": 1, "b": 2}


def test_threads_are_counted_from_either_end() -> None:
    assert (count_threads(None), count_threads(3)) == (1, 3)
    assert count_threads(-1) >= 1
    assert count_threads(-1024) == 1
