"""What Python may call of the core, what it refuses, and how it is stopped."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import hardwood
from core.cases import random_tree
from hardwood import _core

STUB = Path(hardwood.__file__).with_name("_core.pyi")


def public(names: object) -> set[str]:
    return {name for name in names if not name.startswith("_")}  # type: ignore[attr-defined]


def test_the_stub_names_what_the_module_has() -> None:
    body = ast.parse(STUB.read_text()).body
    stubs = {node.name: node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    assert set(stubs) == public(dir(_core))
    for name, stub in stubs.items():
        if isinstance(stub, ast.ClassDef):
            methods = {node.name for node in stub.body if isinstance(node, ast.FunctionDef)}
            fields = {node.target.id for node in stub.body if isinstance(node, ast.AnnAssign)}  # type: ignore[union-attr]
            assert public(methods | fields) == public(dir(getattr(_core, name))), name


def test_everything_that_python_may_call_says_what_it_does() -> None:
    for name in public(dir(_core)):
        assert getattr(_core, name).__doc__, name


def tree_and_rows() -> tuple[list[np.ndarray], np.ndarray]:
    tree = next(
        tree for seed in range(99) if len((tree := random_tree(np.random.default_rng(seed), 2, 3, 2)).feature) > 5
    )
    return [*tree.splits], np.zeros((5, 2))


@pytest.mark.parametrize(
    ("place", "value", "error"),
    [
        (0, np.array([7]), ValueError),
        (0, np.array([0.0]), TypeError),
        (2, np.array([[1]]), TypeError),
        (3, None, TypeError),
    ],
)
def test_arrays_of_another_length_type_or_shape_are_refused(place: int, value: object, error: type[Exception]) -> None:
    tree, X = tree_and_rows()
    tree[place] = value
    with pytest.raises(error):
        _core.apply(*tree, X)


def test_splits_that_name_no_feature_or_no_node_are_refused() -> None:
    tree, X = tree_and_rows()
    with pytest.raises(ValueError, match="feature"):
        _core.apply(*tree, X[:, :0].copy())
    for place, worst in ((2, len(tree[0])), (3, 0)):
        spoilt = [array.copy() for array in tree]
        spoilt[place][0] = worst
        with pytest.raises(ValueError, match="children"):
            _core.apply(*spoilt, X)


def test_a_leaf_without_a_class_is_refused_so_that_no_sample_without_one_is_right_there() -> None:
    tree, X = tree_and_rows()
    label = np.where(tree[2] < 0, 0, -1)
    label[np.flatnonzero(tree[2] < 0)[0]] = -1
    with pytest.raises(ValueError, match="label"):
        _core.fooled(*tree, label, X, X, np.full(len(X), -1))


def test_arrays_in_another_order_are_refused_rather_than_copied() -> None:
    tree, X = tree_and_rows()
    with pytest.raises(TypeError):
        _core.apply(*tree, np.asfortranarray(X))
    read_only = np.zeros(3, np.int64)
    read_only.flags.writeable = False
    edge = np.zeros(1, np.int32)
    with pytest.raises(TypeError):
        _core.grow_flow(edge, edge, np.zeros(1, np.int64), read_only, np.zeros(3, np.int64))


def test_amounts_whose_sum_could_overflow_are_refused() -> None:
    edge, flow, half = np.zeros(1, np.int32), np.zeros(1, np.int64), np.full(2, 2**61)
    with pytest.raises(ValueError, match="2\\^62"):
        _core.grow_flow(edge, edge, flow, half, np.ones(2, np.int64))


def test_a_control_stops_by_request_by_deadline_and_from_another_thread() -> None:
    control = _core.Control()
    before = control.stopped
    thread = threading.Thread(target=control.request_stop)
    thread.start()
    thread.join()
    assert (before, control.stopped) == (False, True)
    assert _core.Control(0.0).stopped
    assert not _core.Control(float("inf")).stopped
    with pytest.raises(ValueError, match="NaN"):
        _core.Control(float("nan"))


def test_a_stopped_greedy_learner_returns_a_tree_with_open_nodes_as_leaves() -> None:
    rng = np.random.default_rng(0)
    lower = rng.integers(0, 50, (200, 3)).astype(np.int32)
    clusters = np.tile(np.arange(60.0), 3)
    arguments = (
        lower,
        lower + 1,
        60 * np.arange(4),
        clusters,
        clusters,
        rng.integers(0, 2, 200),
        np.ones(200),
        2,
        6,
        2,
        1,
        3,
    )
    assert len(_core.grow_on_errors(*arguments, 0)[0]) > 1
    feature, index, left, right, label = _core.grow_on_errors(*arguments, 0, _core.Control(0.0))
    assert (feature.tolist(), index.tolist(), left.tolist(), right.tolist()) == ([-1], [-1], [-1], [-1])
    assert label[0] in (0, 1)


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal to a process")
def test_ctrl_c_ends_a_long_call() -> None:
    # A chain of intervals that all meet, none in conflict: all pairs would have to be looked at, which takes minutes.
    code = (
        "import signal; import numpy as np; from hardwood import _core\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # what runs in the background may ignore it
        "n = 400_000; r = np.zeros((n, 1), np.int32); label = np.zeros(n, np.int64)\n"
        "try:\n"
        "    print('go', flush=True)\n"  # inside the try: the signal may come before the call has begun
        "    _core.sweep_for_conflict(r, r, label, 0)\n"
        "except KeyboardInterrupt: print('stopped')\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "go\n"
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[0] == "stopped\n"


@pytest.mark.skipif(sys.platform == "win32", reason="users and permissions are of another kind")
def test_a_first_fit_writes_nothing(tmp_path: Path) -> None:
    """No home, no place to write: the core comes compiled, so a fit needs none."""
    code = (
        "import builtins, os; from hardwood import RobustTreeClassifier; import numpy as np\n"
        "X = np.arange(20.0)[:, None]\n"
        "assert RobustTreeClassifier(max_depth=2, attack=0.1).fit(X, X[:, 0] > 7).score(X, X[:, 0] > 7) == 1\n"
    )
    home = tmp_path / "read-only"
    home.mkdir()
    home.chmod(0o555)
    before = {path for path in Path(hardwood.__file__).parent.rglob("*") if "__pycache__" not in path.parts}
    environment = {**os.environ, "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": "/nonexistent"}
    subprocess.run([sys.executable, "-c", code], check=True, cwd=home, env=environment, timeout=120)
    after = {path for path in Path(hardwood.__file__).parent.rglob("*") if "__pycache__" not in path.parts}
    assert before == after
