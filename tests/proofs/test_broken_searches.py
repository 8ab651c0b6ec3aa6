"""Searches that were broken on purpose: whatever they claim, the checker accepts nothing that is false.

A copy of the core is built once, then broken in one place after the other. Each broken search writes proofs of what it
believes; the checker, which knows nothing of all this, has to refuse some of them and must accept no false one. Some
searches notice that they are broken and claim nothing: that counts, too.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import hardwood_checker
from hardwood import Problem, solve

ROOT = Path(__file__).resolve().parents[2]
SEARCH = Path("src/core/search")
N_PROBLEMS = 60

BREAKS = {
    "a bound that is almost enough": (
        "stump_pair.cpp",
        "if (left + right >= cutoff)",
        "if (left + right + 70000 >= cutoff)",
    ),
    "the last threshold is skipped": (
        "node.cpp",
        "k < std::min(known.size(), end_); ++k)",
        "k + 1 < std::min(known.size(), end_); ++k)",
    ),
    "shared samples are charged twice": ("node.h", "(toLeft ? weight - part : weight)", "(toLeft ? weight : weight)"),
    "bounds do not fall with weights": ("memory.h", "shift_ += taken;", "shift_ += 0 * taken;"),
    "bounds of stumps do not fall": (
        "stump_pair.cpp",
        "std::max<Weight>(0, own.bound[j] - taken)",
        "std::max<Weight>(0, own.bound[j] - 0 * taken)",
    ),
    "a child has to prove too little": ("deeper.cpp", "cutoff - leftTarget);", "cutoff - leftTarget - 70000);"),
    "a child is not tried as a leaf": ("node.cpp", "leaf.cost < best)", "leaf.cost < 0 * best)"),
    "a threshold is passed over": (
        "depth_two_node.cpp",
        "            position = last + 1;",
        "            position = last + 2;",
    ),
    "a deeper threshold is passed over": ("deeper.cpp", "        position = last + 1;", "        position = last + 2;"),
    "who reaches right is wrong by one": ("depth_two.cpp", "(upper[k] > last)", "(upper[k] >= last)"),
    "the last feature is forgotten": (
        "node.cpp",
        "turn < problem_.nFeatures &&",
        "turn + 1 < problem_.nFeatures &&",
    ),
    "a scan begins too late": (
        "scan.h",
        "for (Index k = 0; k < half; ++k)",
        "for (Index k = 1; k < half; ++k)",
    ),
}

WRITE = """
import json, sys, warnings
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder
from pathlib import Path
sys.meta_path[:] = [BuiltinImporter, FrozenImporter, PathFinder]
from hardwood import Problem, _core, solve
assert Path(_core.__file__).is_relative_to(sys.argv[4]), f"{_core.__file__} is not the core that was broken"
from hardwood.errors import HardwoodError
from hardwood.solvers.solve import SolverFailureWarning
warnings.simplefilter("error", SolverFailureWarning)
sys.path.insert(0, sys.argv[2])
from test_broken_searches import problem_data
outcomes = []
for seed in range(int(sys.argv[3])):
    X, y, radius, depth = problem_data(seed)
    try:
        result = solve(Problem.from_data(X, y, radius, depth), "search")
        result.write_proof(f"{sys.argv[1]}/{seed}.hwp")
        outcomes.append(result.bound)
    except (HardwoodError, RuntimeError, SolverFailureWarning):
        outcomes.append(None)
print(json.dumps(outcomes))
"""
"""What the broken search runs. An editable installation puts a finder of its own before the path, which would import
the intact core: only the finders that Python brings along are left."""


def problem_data(seed: int) -> tuple[np.ndarray, np.ndarray, float, int]:
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (24, 3)).astype(float)
    return X, rng.integers(0, 2 + seed % 2, 24), [0.0, 0.4, 0.6, 1.0][seed % 4], 2 + seed % 3 // 2


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of the project whose core can be built again and again."""
    folder = tmp_path_factory.mktemp("workshop")
    shutil.copy(ROOT / "CMakeLists.txt", folder)
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    yield folder
    shutil.rmtree(folder)


def build(folder: Path) -> None:
    if not (folder / "build").is_dir():
        # The problems are small: compiling fast is worth more than searching fast.
        settings = [f"-DPython_EXECUTABLE={sys.executable}", "-DCMAKE_CXX_FLAGS_RELEASE=-O1"]
        command = ["cmake", "-S", ".", "-B", "build", "-G", "Ninja", *settings]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    subprocess.run(["cmake", "--build", "build"], cwd=folder, check=True, capture_output=True)


@pytest.mark.parametrize("name", BREAKS)
def test_the_place_to_break_stands_in_the_search_once(name: str) -> None:
    file, right, _ = BREAKS[name]
    assert (ROOT / SEARCH / file).read_text().count(right) == 1


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.skipif(shutil.which("cmake") is None or shutil.which("ninja") is None, reason="cmake and ninja are needed")
def test_every_broken_search_is_found_out(workshop: Path, tmp_path: Path) -> None:
    truth = [solve(Problem.from_data(*problem_data(seed)), "search").objective for seed in range(N_PROBLEMS)]
    found_out = {}
    for name, (file, right, wrong) in BREAKS.items():
        source = workshop / SEARCH / file
        intact = source.read_text()
        source.write_text(intact.replace(right, wrong))
        build(workshop)
        found_out[name] = count_found_out(workshop, tmp_path, truth)
        source.write_text(intact)
    print(json.dumps(found_out, indent=2))
    assert all(noticed + refused for noticed, refused in found_out.values()), found_out


def count_found_out(workshop: Path, folder: Path, truth: list[float]) -> tuple[int, int]:
    """Let the search of the workshop write proofs; return how many it gives up itself, and how many are refused.

    Nothing false may be accepted.
    """
    environment = {"PYTHONPATH": str(workshop / "src"), "PATH": "/usr/bin:/bin"}
    here = str(Path(__file__).parent)
    command = [sys.executable, "-c", WRITE, str(folder), here, str(N_PROBLEMS), str(workshop)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=True)
    bounds = json.loads(ended.stdout)
    refused = 0
    for seed, bound in enumerate(bounds):
        X, y, _, _ = problem_data(seed)
        if bound is None:
            continue
        try:
            verdict = hardwood_checker.check(folder / f"{seed}.hwp", X, y)
        except hardwood_checker.Refused:
            refused += 1
            continue
        assert float(verdict.bound) <= truth[seed], (seed, verdict)
    return bounds.count(None), refused
