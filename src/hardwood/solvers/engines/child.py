"""Third-party engines run in a child process, one per solve, that streams what it finds back over a pipe.

Some engines cannot be loaded into one process together (the pip wheels of highspy and ortools), some ignore their time
limit, some crash or eat the memory. In a process of its own an engine can be ended at any moment, and nothing that it
reported before is lost. The child is started with a fresh interpreter rather than by `multiprocessing`, so that a
user's script needs no ``if __name__ == "__main__"`` and a daemonic worker may fit trees as well. It is isolated (see
`hardwood.solvers.engines.bootstrap`): nothing in the working directory or beside the user's program is imported.

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
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from hardwood import errors
from hardwood.errors import HardwoodError
from hardwood.solvers.formulations.encoding import Choice, Encoding

_BOOTSTRAP = str(Path(__file__).with_name("bootstrap.py"))
_POLL = 0.1
"""Seconds between two looks at the clock."""
_STARTING, _BUILDING, _SEARCHING = "starting", "building its model", "searching"


class EngineFailedError(HardwoodError, RuntimeError):
    """The engine's process failed or died; what it had reported before stands."""


class EngineNotReadyWarning(UserWarning):
    """The time was over before the engine had begun to search."""


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
class _Started:
    """The child is there and has its job."""


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
    folders: Sequence[str] = (),
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
    folders : sequence of str
        Searched for `target`, if it is neither of hardwood nor installed.

    Raises
    ------
    EngineFailedError
        If the child raised an error or died.
    InvalidInputError, MissingEngineError
        If the engine raised them.
    """
    with tempfile.TemporaryFile() as complaints:
        process = _start(complaints)
        messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
        talk = threading.Thread(target=_talk, args=(process, [_places(folders), target, job], messages), daemon=True)
        relay = _Relay(messages, receive)
        try:
            # Writing is left to the thread as well: a child that never reads must not hold up the clock.
            talk.start()
            ended = relay.until_end(should_stop, remaining)
        finally:
            _end(process, talk)
        if ended:
            return
        # Whatever was on its way when the child was ended still counts.
        failed = relay.rest()
        if failed is not None and remaining() > 0:
            raise _as_error(failed)
        if not should_stop():
            when = "" if relay.stage == _SEARCHING else f" while {relay.stage}"
            raise EngineFailedError(f"its process died{when}: {_last_line(complaints) or _how(process.returncode)}")
        if remaining() <= 0:
            _warn_if_not_ready(relay.stage)


def _start(complaints: IO[bytes]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-I", "-X", "utf8", _BOOTSTRAP, str(os.getpid())]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints)


def _warn_if_not_ready(stage: str) -> None:
    if stage != _SEARCHING:
        warnings.warn(
            f"the time was over when the engine's process was still {stage}; give it more time or a smaller "
            "problem, or use solver='search'",
            EngineNotReadyWarning,
            stacklevel=3,
        )


def _places(folders: Sequence[str]) -> dict[str, list[str]]:
    """Return where the child finds what it needs: hardwood, installed packages, and what it was told besides."""
    program = getattr(sys.modules.get("__main__"), "__file__", None)
    # Python puts the working directory or the folder of the program first on the path; they are the user's.
    own = {os.getcwd()} | ({os.path.dirname(os.path.abspath(program))} if program else set())
    installed = [
        entry
        for entry in sys.path
        if os.path.isabs(entry) and entry not in own and os.path.isdir(entry) and any(Path(entry).glob("*.dist-info"))
    ]
    return {"hardwood": list(sys.modules["hardwood"].__path__), "installed": installed, "extra": list(folders)}


def _talk(process: subprocess.Popen[bytes], items: list[Any], messages: queue.SimpleQueue[Any]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        _write(process.stdin, items)
    except Exception as error:
        # What cannot be sent must not leave both sides waiting for each other.
        messages.put(_Failed(type(error).__name__, str(error)))
    _read(process.stdout, messages)


def _end(process: subprocess.Popen[bytes], talk: threading.Thread) -> None:
    process.kill()
    process.wait()
    if talk.ident is not None:
        talk.join()
    for stream in (process.stdout, process.stdin):
        assert stream is not None
        with contextlib.suppress(BrokenPipeError):
            stream.close()


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


class _Relay:
    """Passes the messages of a child on and keeps track of how far it is."""

    def __init__(self, messages: queue.SimpleQueue[Any], receive: Callable[[Message], None]) -> None:
        self._messages = messages
        self._receive = receive
        self.stage = _STARTING

    def until_end(self, should_stop: Callable[[], bool], remaining: Callable[[], float]) -> bool:
        """Pass messages on until the engine ends (True), dies or must stop (False)."""
        while not should_stop():
            try:
                message = self._messages.get(timeout=min(_POLL, max(remaining(), 0.001)))
            except queue.Empty:
                continue
            if isinstance(message, _Ended):
                return True
            if message is None:
                return False
            if isinstance(message, _Failed):
                raise _as_error(message)
            self._take(message)
        return False

    def rest(self) -> _Failed | None:
        """Pass on what is left, once the child is gone; return its failure, if it told one."""
        while not self._messages.empty():
            message = self._messages.get()
            if isinstance(message, _Failed):
                return message
            if isinstance(message, Message | _Started):
                self._take(message)
        return None

    def _take(self, message: Message | _Started) -> None:
        if isinstance(message, _Started):
            self.stage = _BUILDING
            return
        self.stage = _SEARCHING
        self._receive(message)


def _as_error(failed: _Failed) -> Exception:
    if failed.kind in ("InvalidInputError", "MissingEngineError", "SolverError"):
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
    """Go on from `hardwood.solvers.engines.bootstrap`: read the engine's name and job, run it, stream its messages."""
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
    send(_Started())
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
