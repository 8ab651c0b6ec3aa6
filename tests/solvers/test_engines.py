"""Engines live in a child process: what they break stays there, and what they reported stays with us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hardwood
from hardwood import EndReason, InvalidInputError, MissingEngineError, Problem, Status, solve
from hardwood.solvers import registry
from hardwood.solvers.engines import child
from hardwood.solvers.engines.child import EngineNotReadyWarning
from hardwood.solvers.engines.solver import EngineSolver
from hardwood.solvers.formulations.encoding import Encoding
from hardwood.solvers.registry import Engine
from hardwood.solvers.run import RunProgress
from hardwood.solvers.solve import SolverFailureWarning

X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0]])
Y = np.array([0, 1, 0, 1, 1])
PROBLEM = Problem.from_data(X, Y, 0.1, 1)
STUMP_COST, LEAF_COST = 1, 2
# Here the stump costs 2 and the leaf 3, so that a bound of 1 proves nothing.
UNEQUAL = PROBLEM.replace(weight=np.array([1.0, 1.0, 2.0, 2.0, 2.0]))


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Register, for one test, a solver on an engine of `engines_that_misbehave`."""
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))

    def make(function: str) -> str:
        class Told(EngineSolver):
            name = "told"
            summary = ""
            engines = (Engine("told", "numpy"),)
            folders = (str(Path(__file__).parents[1]),)

            def _target(self, engine: Engine) -> str:
                return f"engines_that_misbehave:{function}"

            def _bytes_needed(self, encoding: Encoding) -> int:
                return 1

        registry.register(Told)
        return "told"

    return make


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("raises", "ValueError: a bad day"),
        ("runs_out_of_memory", "MemoryError"),
        ("is_killed", "its process died: SIGKILL, perhaps out of memory"),
        ("crashes_in_native_code", "its process died: SIGSEGV"),
        ("claims_too_little", "claims an objective of -1"),
        ("sends_nonsense", "IndexError"),
        ("proves_too_much", "claims a bound of"),
    ],
)
def test_an_engine_that_fails_loses_nothing_that_was_verified(told: Any, function: str, reason: str) -> None:
    start = solve(PROBLEM, "maxsat-lsu").tree
    with pytest.warns(SolverFailureWarning, match=f"solver 'told' failed .*{reason}"):
        result = solve(PROBLEM, told(function), start=start)
    assert (result.objective, result.tree) == (STUMP_COST, start)


def test_what_an_engine_found_before_it_was_killed_is_returned(told: Any) -> None:
    with pytest.warns(SolverFailureWarning, match="SIGKILL"):
        result = solve(PROBLEM, told("is_killed"))
    assert result.objective == STUMP_COST < LEAF_COST


def test_an_engine_that_dies_at_once_is_named_with_its_last_words(told: Any) -> None:
    with pytest.warns(
        SolverFailureWarning,
        match=r"solver 'told' failed \(its process died while building its model: the library could not be loaded\)",
    ):
        result = solve(PROBLEM, told("dies_at_once"), options={"strengthen": False})
    assert result.stopped_by is EndReason.FAILURE
    assert result.failure == "its process died while building its model: the library could not be loaded"


def test_an_engine_that_is_killed_before_its_first_tree_leaves_the_best_leaf_and_the_bound_of_any_model(
    told: Any,
) -> None:
    twins = Problem.from_data(np.vstack([X, X[:1]]), [*Y, 1], 0.1, 1)
    with pytest.warns(SolverFailureWarning, match="SIGKILL"):
        result = solve(twins, told("is_killed_at_once"))
    assert (result.objective, result.bound, result.tree.n_leaves) == (2, 1, 1)


def test_an_engine_that_never_ends_is_ended_at_the_limit(told: Any) -> None:
    result = solve(UNEQUAL, told("never_ends"), time_limit=3.0)
    assert result.stopped_by == "time limit"


def test_a_limit_that_is_over_before_the_engine_starts_starts_none(told: Any) -> None:
    result = solve(PROBLEM, told("tells"), time_limit=0, options={"strengthen": False})
    assert "process" not in result.stats
    assert (result.objective, result.stopped_by) == (LEAF_COST, "time limit")


def test_ctrl_c_returns_the_incumbent_and_ends_the_engine(told: Any) -> None:
    def press_ctrl_c(progress: RunProgress) -> None:
        if progress.bound == 1:
            signal.raise_signal(signal.SIGINT)

    result = solve(UNEQUAL, told("never_ends"), options={"strengthen": False}, on_progress=press_ctrl_c)
    assert (result.stopped_by, result.objective, result.bound) == ("interrupt", 2, 1)


def test_what_an_engine_prints_does_not_disturb_it(told: Any, capfd: pytest.CaptureFixture[str]) -> None:
    result = solve(PROBLEM, told("prints"), options={"strengthen": False})
    assert result.objective == STUMP_COST
    assert capfd.readouterr() == ("", "")


def test_the_child_is_another_process_and_loads_only_what_it_needs(told: Any) -> None:
    result = solve(PROBLEM, told("tells"), random_state=5, n_jobs=2, options={"strengthen": False})
    assert result.stats["process"] != os.getpid()
    assert (result.stats["seed"], result.stats["n_jobs"]) == (5, 2)
    assert result.stats["loaded"] == []


def run_script(text: str, folder: Path, name: str = "program.py") -> str:
    """Run a program as a user would: a file, without a guard around its main part, in its own folder."""
    program = start_script(text, folder, name)
    said, complaints = program.communicate(timeout=120)
    assert program.returncode == 0, complaints
    return said


def start_script(text: str, folder: Path, name: str = "program.py") -> subprocess.Popen[str]:
    """Start a program, in a process group of its own, that finds this hardwood."""
    script = folder / name
    script.write_text(textwrap.dedent(text))
    return subprocess.Popen(
        [sys.executable, script],
        env={**os.environ, "PYTHONPATH": str(Path(hardwood.__file__).parents[1])},
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


HOSTILE = "import os; open({marker!r}, 'a').write(__name__ + chr(10)); raise SystemExit('a stranger was let in')"
SOLVE_XOR = """
    from hardwood import Problem, solve
    problem = Problem.from_data([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], 0.1, 2)
    for solver in ("milp", "maxsat-rc2"):
        print(solve(problem, solver, time_limit=60).status.name)
"""


@pytest.mark.parametrize("command", ["hardwood", "program"])
def test_nothing_in_the_working_directory_is_run(tmp_path: Path, command: str) -> None:
    marker, work, elsewhere = tmp_path / "marker", tmp_path / "work", tmp_path / "elsewhere"
    work.mkdir()
    elsewhere.mkdir()
    for name in ("pickle", "six", "numpy", "site", "signal", "highspy", "sitecustomize", "usercustomize", "hardwood"):
        (work / f"{name}.py").write_text(HOSTILE.format(marker=str(marker)))
    (elsewhere / "program.py").write_text(textwrap.dedent(SOLVE_XOR))
    (elsewhere / "xor.csv").write_text("a,b,y\n0,0,n\n0,1,p\n1,0,p\n1,1,n\n")
    # As the installed command does: the interpreter's own folder comes first, not the working directory.
    (elsewhere / "hardwood_command.py").write_text("from hardwood.cli import main; main()")
    arguments = {
        "program": [str(elsewhere / "program.py")],
        "hardwood": [
            str(elsewhere / "hardwood_command.py"), "fit", str(elsewhere / "xor.csv"), "--target", "y", "--attack",
            "0.1", "--depth", "2", "--solver", "milp", "-o", str(elsewhere / "model.json"),
        ],
    }[command]  # fmt: skip
    source = Path(hardwood.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": str(source)},
        cwd=work,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert not marker.exists(), marker.read_text()


@pytest.mark.parametrize("name", ["six.py", "pysat.py", "highspy.py"])
def test_a_program_with_the_name_of_a_library_is_not_run_again_by_its_engines(tmp_path: Path, name: str) -> None:
    # Its own folder is first on the program's path, as Python has it; the engines' processes do not look there.
    output = run_script("print('run', flush=True)" + textwrap.dedent(SOLVE_XOR), tmp_path, name)
    assert output.split() == ["run", "OPTIMAL", "OPTIMAL"]


def test_a_copy_of_hardwood_beside_a_hostile_file_opens_no_door(tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    (tmp_path / "hardwood").symlink_to(Path(hardwood.__file__).parent, target_is_directory=True)
    (tmp_path / "six.py").write_text(HOSTILE.format(marker=str(marker)))
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "program.py").write_text(textwrap.dedent(SOLVE_XOR))
    done = subprocess.run(
        [sys.executable, tmp_path / "program" / "program.py"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.split() == ["OPTIMAL", "OPTIMAL"], done.stderr
    assert not marker.exists()


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_a_parent_that_is_killed_leaves_no_engine_behind(tmp_path: Path) -> None:
    program = start_script(
        """
        import numpy as np
        from hardwood import Problem, solve
        rng = np.random.default_rng(0)
        problem = Problem.from_data(rng.random((150, 3)), rng.integers(0, 2, 150), 0.01, 3)
        solve(problem, "maxsat-lsu", on_progress=lambda p: print(p.objective, flush=True))
        """,
        tmp_path,
    )
    assert program.stdout is not None
    while float(program.stdout.readline()) > 60:  # the leaf loses more, so a better tree comes from the engine
        pass
    children = Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()
    assert children
    program.kill()
    program.communicate()
    deadline = time.monotonic() + 30
    while any(_is_alive(pid) for pid in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(_is_alive(pid) for pid in children)


def _is_alive(pid: str) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def run_until(is_over: Callable[[], bool], target: str, job: Any) -> None:
    """Run an engine of `engines_that_misbehave` for as long as the test says, whatever the clock says."""
    child.run_child(
        f"engines_that_misbehave:{target}",
        job,
        lambda message: pytest.fail(f"{message} was not expected"),
        should_stop=is_over,
        remaining=lambda: 0.0 if is_over() else 600.0,
        folders=(str(Path(__file__).parents[1]),),
    )


def test_an_engine_that_has_not_built_its_model_in_time_is_reported_as_such(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    with pytest.warns(EngineNotReadyWarning, match="the engine's process was still building its model"):
        run_until(begun.exists, "never_builds", begun)


def test_a_process_that_has_not_started_in_time_is_reported_as_such(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    begun = tmp_path / "begun"
    (tmp_path / "hangs.py").write_text(f"import time; open({str(begun)!r}, 'w').close(); time.sleep(600)")
    monkeypatch.setattr(child, "_BOOTSTRAP", str(tmp_path / "hangs.py"))
    with pytest.warns(EngineNotReadyWarning, match="the engine's process was still starting"):
        run_until(begun.exists, "tells", None)


def test_highs_then_cp_sat_then_highs_works_in_one_program_without_a_main_guard(tmp_path: Path) -> None:
    output = run_script(
        """
        import sys
        from hardwood import Problem, solve
        problem = Problem.from_data([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], 0.1, 2)
        for solver in ("binary-milp", "cp-sat", "milp"):
            print(solve(problem, solver).status.name)
        print("highspy" in sys.modules or "ortools" in sys.modules)
        """,
        tmp_path,
    )
    assert output.split() == ["OPTIMAL"] * 3 + ["False"]


def test_ctrl_c_in_a_terminal_reaches_the_parent_only(tmp_path: Path) -> None:
    # SIGINT goes to the whole process group, as a terminal sends it.
    program = start_script(
        """
        import numpy as np
        from hardwood import Problem, solve
        rng = np.random.default_rng(0)
        problem = Problem.from_data(rng.random((300, 5)), rng.integers(0, 2, 300), 0.01, 3)
        options = {"strengthen": False}
        result = solve(problem, "maxsat-lsu", options=options, on_progress=lambda p: print(p.objective, flush=True))
        print(result.stopped_by, result.objective < problem.class_weight_sums.min())
        """,
        tmp_path,
    )
    assert program.stdout is not None
    # The best leaf first, then what the engine finds: with a better tree it is surely running.
    leaf = float(program.stdout.readline())
    while float(program.stdout.readline()) >= leaf:
        pass
    os.killpg(program.pid, signal.SIGINT)
    output, complaints = program.communicate(timeout=60)
    assert output.splitlines()[-1] == "interrupt True", complaints


def test_a_missing_engine_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "find_spec", lambda module: None)
    for solver, options, what in (
        ("milp", {"engine": "gurobi"}, r"hardwood\[gurobi\]"),
        ("binary-milp", {"engine": "scip"}, r"hardwood\[scip\]"),
        ("cp-sat", {}, r"hardwood\[cpsat\]"),
        ("maxsat-lsu", {}, "python-sat"),
        ("milp", {}, "highspy"),
    ):
        with pytest.raises(MissingEngineError, match=f"pip install '{what}'"):
            solve(PROBLEM, solver, options=options)


def test_an_unknown_engine_is_answered_with_the_known_ones() -> None:
    with pytest.raises(
        InvalidInputError, match="engine='cplex' is not known to solver 'milp'; its engines are 'highs'"
    ):
        solve(PROBLEM, "milp", options={"engine": "cplex"})


@pytest.mark.parametrize("solver", ["maxsat-lsu", "maxsat-rc2", "cp-sat", "milp", "binary-milp"])
def test_a_model_that_does_not_fit_is_refused_before_it_is_built(solver: str) -> None:
    rng = np.random.default_rng(0)
    problem = Problem.from_data(rng.random((2000, 10)), rng.integers(0, 2, 2000), 0.01, 12)
    with pytest.raises(InvalidInputError, match=r"takes about [\d.]+ GB, but 1\.0 GB are available; max_depth=\d"):
        solve(problem, solver, options={"memory_limit": 1})
    with pytest.raises(InvalidInputError, match=r"about \d+ samples would fit"):
        solve(problem.replace(max_depth=1), solver, options={"memory_limit": 1e-4})
    with pytest.raises(InvalidInputError, match=r"memory_limit=-1; it must be"):
        solve(problem, solver, options={"memory_limit": -1})


def test_the_status_is_optimal_only_with_a_proof(told: Any) -> None:
    assert solve(PROBLEM, told("prints"), options={"strengthen": False}).status is Status.FEASIBLE
