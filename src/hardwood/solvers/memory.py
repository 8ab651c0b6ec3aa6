"""How much memory is free for use: of the machine, of the control group (containers) and of the process."""

from __future__ import annotations

import contextlib
import math
import os
from pathlib import Path

PROC = Path("/proc")
CGROUPS = Path("/sys/fs/cgroup")

UNLIMITED = 2**60
"""Version 1 of control groups writes a number about this large where there is no limit."""


def available_memory(proc: Path = PROC, cgroups: Path = CGROUPS) -> float:
    """Bytes of memory that are free for use; infinite where the system does not tell.

    The least of what the machine has left, what the control groups of this process (versions 1 and 2, with all groups
    above) leave of their limits, and what the process's own limits (``ulimit -v``, ``-d``) leave.
    """
    return max(0.0, min(_of_machine(proc), _of_groups(proc, cgroups), _of_process(proc)))


def _of_machine(proc: Path) -> float:
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in (proc / "meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return float(line.split()[1]) * 1024
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def _of_groups(proc: Path, cgroups: Path) -> float:
    """Return what the control groups leave. A line of /proc/self/cgroup is ``number:controllers:path``."""
    least = math.inf
    with contextlib.suppress(OSError):
        for line in (proc / "self" / "cgroup").read_text().splitlines():
            number, controllers, path = [*line.split(":", 2), "", ""][:3]
            if number == "0" and not controllers:
                least = min(least, _least_left(cgroups, path, "memory.max", "memory.current", "inactive_file"))
            elif "memory" in controllers.split(","):
                files = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
                least = min(least, _least_left(cgroups / "memory", path, *files))
    return least


def _least_left(root: Path, path: str, limit_file: str, usage_file: str, cache: str) -> float:
    """Return the least that a group and those above it leave; files read before count as free, as they can go."""
    least = math.inf
    parts = [part for part in path.split("/") if part not in ("", "..")]
    for depth in range(len(parts), -1, -1):
        group = root.joinpath(*parts[:depth])
        limit = _number(group / limit_file)
        if limit is None or limit >= UNLIMITED:
            continue
        used = (_number(group / usage_file) or 0.0) - _statistic(group / "memory.stat", cache)
        least = min(least, limit - max(0.0, used))
    return least


def _number(file: Path) -> float | None:
    try:
        text = file.read_text().strip()
    except OSError:
        return None
    return float(text) if text.isdigit() else None


def _statistic(file: Path, name: str) -> float:
    with contextlib.suppress(OSError, ValueError):
        for line in file.read_text().splitlines():
            words = line.split()
            if len(words) == 2 and words[0] == name:
                return float(words[1])
    return 0.0


def _of_process(proc: Path) -> float:
    """Return what the limits of this process leave; its children inherit them, each for itself."""
    try:
        import resource
    except ImportError:
        return math.inf
    size, data = _sizes(proc)
    left = math.inf
    for name, used in (("RLIMIT_AS", size), ("RLIMIT_DATA", data)):
        limit = resource.getrlimit(getattr(resource, name))[0]
        if limit != resource.RLIM_INFINITY:
            left = min(left, limit - used)
    return left


def _sizes(proc: Path) -> tuple[float, float]:
    """Return the address space and the data of this process in bytes."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        pages = (proc / "self" / "statm").read_text().split()
        return float(pages[0]) * os.sysconf("SC_PAGE_SIZE"), float(pages[5]) * os.sysconf("SC_PAGE_SIZE")
    return 0.0, 0.0
