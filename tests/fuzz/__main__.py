"""Draw problems and check them until the time is over; save what fails.

::

    python -m fuzz --minutes 5             # from a random first seed, which is printed
    python -m fuzz --count 100000 --seed 0
    python -m fuzz failures/seed-17.json   # run a saved failure again, with every check

The problems are run by a child process, so that a crash is a failure with a seed like any other.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from fuzz.cases import Case, draw

STUCK_AFTER = 120.0
"""Seconds without a finished problem after which the child counts as stuck."""


def main() -> int:
    """Run what the command line asks for; exit code 1 if anything failed."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("cases", nargs="*", type=Path, help="saved failures to run again")
    parser.add_argument("--minutes", type=float, default=5.0, help="how long to go on (5)")
    parser.add_argument("--count", type=int, help="stop after so many problems, whatever the time")
    parser.add_argument("--seed", type=int, help="seed of the first problem; the others follow one by one")
    parser.add_argument("--failures", type=Path, default=Path("fuzz-failures"), help="folder for what failed")
    parser.add_argument("--most-failures", type=int, default=20, help="stop after so many failures (20)")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.cases:
        return run_again(asked.cases)
    if asked.worker:
        return work(asked.seed, asked.count)
    first = secrets.randbelow(10**9) if asked.seed is None else asked.seed
    return watch(first, asked.count, 60 * asked.minutes, asked.failures, asked.most_failures)


def run_again(paths: list[Path]) -> int:
    """Run saved cases with every check."""
    failed = 0
    for path in paths:
        error = failure_of(Case.from_json(path.read_text(encoding="utf-8")), everything=True)
        print(f"{path}: {error or 'holds'}")
        failed += error is not None
    return int(failed > 0)


def failure_of(case: Case, *, everything: bool = False) -> str | None:
    """Return what went wrong, or None."""
    from fuzz.checks import FalseClaimError, check

    try:
        check(case, everything=everything)
    except FalseClaimError as failure:
        return str(failure)
    except Exception:
        return traceback.format_exc()
    return None


def shrunk(case: Case, still_fails: Callable[[Case], bool]) -> Case:
    """Leave out rows and columns as long as the case still fails."""
    going = True
    while going:
        going = False
        smaller = [case.without_row(i) for i in range(case.n)] + [
            case.without_feature(j) for j in range(case.n_features)
        ]
        for candidate in smaller:
            if candidate is not None and still_fails(candidate):
                case, going = candidate, True
                break
    return case


def work(first: int, count: int) -> int:
    """Check problem after problem; a line to standard output for each, with what went wrong."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    faulthandler.enable()
    use_lasting_engines()
    for seed in range(first, first + count):
        case = draw(seed)
        error = failure_of(case)
        if error is not None:
            case = shrunk(case, lambda smaller: failure_of(smaller) is not None)
            error = failure_of(case) or error
        out.write(json.dumps({"seed": seed, "failure": error, "case": case.to_json() if error else None}) + "\n")
    return 0


def use_lasting_engines() -> None:
    """Keep one process per engine, since starting one for each tiny problem takes longer than solving it."""
    import persistent_child
    from hardwood.solvers.engines import solver

    solver.run_child = persistent_child.Workers().run_child  # type: ignore[attr-defined]


def watch(first: int, count: int | None, seconds: float, folder: Path, most_failures: int) -> int:
    """Run workers until time, count or patience is over."""
    began = last_shown = time.monotonic()
    done, failed, seed = 0, 0, first
    print(f"first seed {first}", flush=True)

    def is_over() -> bool:
        out_of_time = count is None and time.monotonic() - began >= seconds
        return out_of_time or failed >= most_failures or (count is not None and done >= count)

    while not is_over():
        left = 10**9 if count is None else count - done
        for line in _lines_of_worker(seed, left):
            report = json.loads(line)
            done, seed = done + 1, report["seed"] + 1
            if report["failure"] is not None:
                failed += 1
                save(folder, report["seed"], report["failure"], report["case"])
            if time.monotonic() - last_shown > 30:
                last_shown = time.monotonic()
                print(f"{done} problems, {failed} failures, {done / (last_shown - began):.0f} a second", flush=True)
            if is_over():
                break
        else:
            if not is_over():
                # The worker ended without an answer to this seed: it crashed, or was stuck.
                failed, done = failed + 1, done + 1
                save(folder, seed, "the process crashed or was stuck; standard error says where", draw(seed).to_json())
                seed += 1
    took = time.monotonic() - began
    print(f"{done} problems (seeds {first} to {seed - 1}), {failed} failures, {took:.0f} s, {done / took:.0f} a second")
    return int(failed > 0)


def _lines_of_worker(seed: int, count: int) -> Iterator[str]:
    """Lines of a new worker, until it ends, is stuck or nobody wants more."""
    command = [sys.executable, "-m", "fuzz", "--worker", "--seed", str(seed), "--count", str(count)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    patience = threading.Timer(STUCK_AFTER, _abort, [process])
    patience.start()
    try:
        for line in process.stdout:
            patience.cancel()
            yield line
            patience = threading.Timer(STUCK_AFTER, _abort, [process])
            patience.start()
    finally:
        patience.cancel()
        process.kill()
        process.wait()
        process.stdout.close()


def _abort(process: subprocess.Popen[str]) -> None:
    """End a stuck worker so that it says on standard error where it was."""
    print(f"no answer for {STUCK_AFTER:g} s", file=sys.stderr, flush=True)
    process.send_signal(signal.SIGABRT)


def save(folder: Path, seed: int, failure: str, case: str) -> None:
    """Write a case that can be run again, and say how."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"seed-{seed}.json"
    path.write_text(json.dumps({"failure": failure, **json.loads(case)}, indent=1) + "\n", encoding="utf-8")
    print(f"seed {seed}: {failure}\n  again: PYTHONPATH=tests python -m fuzz {path}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
