"""Third-party engines run in a child process, one per solve, that streams what it finds back over a pipe.

Some engines cannot be loaded into one process together (the pip wheels of highspy and ortools), some ignore their time
limit, some crash or eat the memory. In a process of its own an engine can be ended at any moment, and nothing that it
reported before is lost. The child is started with a fresh interpreter rather than by `multiprocessing`, so that a
user's script needs no ``if __name__ == "__main__"`` and a daemonic worker may fit trees as well.

An engine is a function ``engine(job, send)`` that calls ``send`` with one of the messages `Built`, `Found`, `Proved`.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Any

from hardwood import errors
from hardwood.errors import HardwoodError
from hardwood.solvers.formulations.encoding import Choice, Encoding

_BOOTSTRAP = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from hardwood.solvers.engines.child import main; main()"
)
_POLL = 0.1
"""Seconds between two looks at the clock."""


class EngineFailedError(HardwoodError, RuntimeError):
    """The engine's process failed or died; what it had reported before stands."""


@dataclass(frozen=True)
class Job:
    """What an engine is asked to do.

    Attributes
    ----------
    encoding : Encoding
    start : Choice or None
        Tree to start from.
    best : float
        Objective of the best tree that is known.
    deadline : float
        `time.time` at which the engine is ended; may be infinite.
    n_jobs, seed : int
    options : dict
    """

    encoding: Encoding
    start: Choice | None
    best: float
    deadline: float
    n_jobs: int = 1
    seed: int = 0
    options: dict[str, Any] = field(default_factory=dict)

    def remaining(self) -> float:
        """Seconds left."""
        return max(0.0, self.deadline - time.time())


@dataclass(frozen=True)
class Built:
    """The model is ready: its size and other facts for `Result.stats`."""

    stats: dict[str, Any]


@dataclass(frozen=True)
class Found:
    """A tree, and what the engine thinks it costs."""

    choice: Choice
    claim: float


@dataclass(frozen=True)
class Proved:
    """A lower bound on the objective of every tree."""

    bound: float


@dataclass(frozen=True)
class _Failed:
    kind: str
    text: str


@dataclass(frozen=True)
class _Ended:
    pass


Message = Built | Found | Proved
Send = Callable[[Message], None]


def run_child(
    target: str,
    job: Any,
    receive: Callable[[Message], None],
    *,
    should_stop: Callable[[], bool],
    remaining: Callable[[], float],
) -> None:
    """Run an engine in a process of its own.

    Parameters
    ----------
    target : str
        The engine as ``"module:function"``.
    job : Job
        Sent to the child.
    receive : callable
        Called, in this thread, with each message.
    should_stop : callable
        Asked after each message and about ten times a second; the child is ended when it says so.
    remaining : callable
        Seconds left.

    Raises
    ------
    EngineFailedError
        If the child raised an error or died.
    InvalidInputError, MissingEngineError
        If the engine raised them.
    """
    with tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(
            [sys.executable, "-c", _BOOTSTRAP],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
        # Writing is left to the thread as well: a child that never reads must not hold up the clock.
        talk = threading.Thread(
            target=_talk, args=(process.stdin, [sys.path, target, job], process.stdout, messages), daemon=True
        )
        try:
            talk.start()
            ended = _relay(messages, receive, should_stop, remaining)
        finally:
            process.kill()
            process.wait()
            talk.join()
            process.stdout.close()
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
        if ended:
            return
        # Whatever was on its way when the child was ended still counts.
        while not messages.empty():
            message = messages.get()
            if isinstance(message, Message):
                receive(message)
            elif isinstance(message, _Failed) and remaining() > 0:
                raise _as_error(message)
        if not should_stop():
            raise EngineFailedError(f"its process died: {_last_line(complaints) or _how(process.returncode)}")


def _talk(to_child: IO[bytes], items: list[Any], from_child: IO[bytes], messages: queue.SimpleQueue[Any]) -> None:
    _write(to_child, items)
    _read(from_child, messages)


def _write(stream: IO[bytes], items: list[Any]) -> None:
    try:
        for item in items:
            pickle.dump(item, stream)
        stream.flush()
    except BrokenPipeError:
        # The child died at once; the reader finds out and its complaints say why.
        return


def _read(stream: IO[bytes], messages: queue.SimpleQueue[Any]) -> None:
    try:
        while True:
            messages.put(pickle.load(stream))
    except (EOFError, pickle.UnpicklingError):
        # The end of the stream, perhaps in the middle of a message: the child is gone.
        return
    finally:
        messages.put(None)


def _relay(
    messages: queue.SimpleQueue[Any],
    receive: Callable[[Message], None],
    should_stop: Callable[[], bool],
    remaining: Callable[[], float],
) -> bool:
    """Pass messages on until the engine ends (True), dies or must stop (False)."""
    while not should_stop():
        try:
            message = messages.get(timeout=min(_POLL, max(remaining(), 0.001)))
        except queue.Empty:
            continue
        if isinstance(message, _Ended):
            return True
        if message is None:
            return False
        if isinstance(message, _Failed):
            raise _as_error(message)
        receive(message)
    return False


def _as_error(failed: _Failed) -> Exception:
    if failed.kind in ("InvalidInputError", "MissingEngineError"):
        return getattr(errors, failed.kind)(failed.text)  # type: ignore[no-any-return]
    return EngineFailedError(f"{failed.kind}: {failed.text}")


def _last_line(complaints: IO[bytes]) -> str:
    complaints.seek(0)
    lines = complaints.read()[-10_000:].decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""


def _how(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    name = signal.Signals(-code).name
    return f"{name}, perhaps out of memory" if name == "SIGKILL" else name


def main() -> None:
    """Entry point of the child: read the engine's name and its job, run it, stream its messages."""
    # Ctrl-C reaches the whole process group; the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _offer_to_the_memory_killer()
    stream = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # Engines print; their words must not get into the stream.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    lock = threading.Lock()

    def send(message: Any) -> None:
        with lock:
            pickle.dump(message, stream)
            stream.flush()

    module, function = pickle.load(sys.stdin.buffer).split(":")
    job = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        getattr(importlib.import_module(module), function)(job, send)
    except Exception as error:
        send(_Failed(type(error).__name__, str(error)))
    else:
        send(_Ended())
    # Some engines take seconds to clean up or never end their threads.
    os._exit(0)


def _end_with_parent() -> None:
    """Nothing more is ever written to the child: the end of its input means that the parent is gone."""
    sys.stdin.buffer.read()
    os._exit(1)


def _offer_to_the_memory_killer() -> None:
    """Where memory runs out, the system should end this process and not the user's."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        # Not Linux, or not allowed: then the system chooses as it does.
        return
