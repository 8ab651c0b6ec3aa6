"""Engines for `test_engines.py`: run in a child process, each fails in its own way."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from hardwood.solvers.engines.child import Built, Found, Job, Proved, Send
from hardwood.solvers.formulations.encoding import Choice


def _stump(job: Job) -> Choice:
    """The split behind the first sample, classes 0 and 1."""
    return Choice(np.array([0]), np.array([-1 if job.encoding.strengthened else 1]), np.array([0, 1]))


def _report(job: Job, send: Send) -> None:
    send(Found(_stump(job), job.encoding.objective(_stump(job))))


def raises(job: Job, send: Send) -> None:
    _report(job, send)
    raise ValueError("a bad day")


def runs_out_of_memory(job: Job, send: Send) -> None:
    _report(job, send)
    raise MemoryError


def is_killed(job: Job, send: Send) -> None:
    _report(job, send)
    os.kill(os.getpid(), signal.SIGKILL)


def is_killed_at_once(job: Job, send: Send) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def dies_at_once(job: Job, send: Send) -> None:
    print("the library could not be loaded", file=sys.stderr, flush=True)
    os._exit(3)


def crashes_in_native_code(job: Job, send: Send) -> None:
    _report(job, send)
    os.kill(os.getpid(), signal.SIGSEGV)


def never_ends(job: Job, send: Send) -> None:
    _report(job, send)
    send(Proved(1.0))
    time.sleep(600)


def never_builds(begun: Path, send: Send) -> None:
    begun.touch()
    time.sleep(600)


def claims_too_little(job: Job, send: Send) -> None:
    send(Found(_stump(job), -1.0))


def proves_too_much(job: Job, send: Send) -> None:
    _report(job, send)
    send(Proved(1e6))


def sends_nonsense(job: Job, send: Send) -> None:
    send(Found(Choice(np.array([77]), np.array([5]), np.array([0, 1])), 0.0))


def prints(job: Job, send: Send) -> None:
    print("words that do not belong into the stream", flush=True)
    os.write(1, b"neither do these\n")
    _report(job, send)


def tells(job: Job, send: Send) -> None:
    loaded = [name for name in ("sklearn", "pandas", "matplotlib", "highspy", "ortools") if name in sys.modules]
    facts: dict[str, Any] = {"loaded": loaded, "seed": job.seed, "n_jobs": job.n_jobs, "process": os.getpid()}
    send(Built(facts))
