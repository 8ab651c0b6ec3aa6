"""What is free is the least of machine, control groups and the process's own limits."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

import hardwood
from hardwood.solvers.memory import available_memory

MB = 2**20


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


@pytest.fixture
def machine(tmp_path: Path) -> tuple[Path, Path]:
    """A machine with 8 GB left, with control groups that a test fills in."""
    proc, groups = tmp_path / "proc", tmp_path / "cgroup"
    write(proc, {"meminfo": f"MemTotal: 16000000 kB\nMemAvailable: {8 * 1024 * 1024} kB\n", "self/cgroup": ""})
    groups.mkdir()
    return proc, groups


def test_this_machine_tells_a_number_of_bytes() -> None:
    assert 1e8 < available_memory() < math.inf


def test_without_limits_it_is_what_the_machine_has_left(machine: tuple[Path, Path]) -> None:
    assert available_memory(*machine) == 8192 * MB


def test_a_control_group_of_version_2_limits_it(machine: tuple[Path, Path]) -> None:
    proc, groups = machine
    write(proc, {"self/cgroup": "0::/user/job\n"})
    write(
        groups,
        {
            "user/job/memory.max": f"{1000 * MB}\n",
            "user/job/memory.current": f"{400 * MB}\n",
            # Files that were read are kept as long as nobody needs the place.
            "user/job/memory.stat": f"anon 1\ninactive_file {100 * MB}\n",
            "user/memory.max": "max\n",
        },
    )
    assert available_memory(proc, groups) == 700 * MB


def test_a_group_above_limits_it_too(machine: tuple[Path, Path]) -> None:
    proc, groups = machine
    write(proc, {"self/cgroup": "0::/user/job\n"})
    write(
        groups, {"user/job/memory.max": "max\n", "user/memory.max": f"{50 * MB}", "user/memory.current": f"{20 * MB}"}
    )
    assert available_memory(proc, groups) == 30 * MB


def test_inside_a_container_the_root_of_the_groups_limits_it(machine: tuple[Path, Path]) -> None:
    proc, groups = machine
    write(proc, {"self/cgroup": "0::/\n"})
    write(groups, {"memory.max": f"{256 * MB}", "memory.current": "0"})
    assert available_memory(proc, groups) == 256 * MB


def test_a_control_group_of_version_1_limits_it(machine: tuple[Path, Path]) -> None:
    proc, groups = machine
    write(proc, {"self/cgroup": "11:cpu,cpuacct:/a\n7:memory:/docker/b\n"})
    write(
        groups,
        {
            "memory/docker/b/memory.limit_in_bytes": f"{600 * MB}",
            "memory/docker/b/memory.usage_in_bytes": f"{100 * MB}",
            "memory/memory.limit_in_bytes": "9223372036854771712",
        },
    )
    assert available_memory(proc, groups) == 500 * MB


def test_a_group_that_is_over_its_limit_leaves_nothing(machine: tuple[Path, Path]) -> None:
    proc, groups = machine
    write(proc, {"self/cgroup": "0::/j\n"})
    write(groups, {"j/memory.max": f"{10 * MB}", "j/memory.current": f"{20 * MB}"})
    assert available_memory(proc, groups) == 0


@pytest.mark.parametrize("text", ["", "nonsense", "0::", "a:b\n"])
def test_files_that_say_nothing_limit_nothing(machine: tuple[Path, Path], text: str) -> None:
    proc, groups = machine
    write(proc, {"self/cgroup": text})
    assert available_memory(proc, groups) == 8192 * MB


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such limits")
@pytest.mark.parametrize("limit", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_the_limits_of_a_process_limit_it(limit: str) -> None:
    code = f"""
import resource
from hardwood.solvers.memory import available_memory
free = available_memory()
resource.setrlimit(resource.{limit}, (4 * 2**30, 4 * 2**30))
left = available_memory()
print(left <= 4 * 2**30, left <= free)
"""
    source = str(Path(hardwood.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    assert done.stdout.split() == ["True", "True"]
