"""A stand-in for `run_child` that keeps one process per engine alive, so that hundreds of tiny problems take seconds.

Everything else is the real thing: the encoding, the messages over a pipe, the check of every claim.
"""

from __future__ import annotations

import importlib
import os
import pickle
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from hardwood.solvers.engines import child

_BOOTSTRAP = "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); import persistent_child as p; p.loop()"


class Worker:
    """One process that runs one engine, job after job."""

    def __init__(self, target: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _BOOTSTRAP], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._messages: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._reader = threading.Thread(target=child._read, args=(self._process.stdout, self._messages), daemon=True)
        self._reader.start()
        self._write([sys.path, target])

    def _write(self, items: list[Any]) -> None:
        assert self._process.stdin is not None
        child._write(self._process.stdin, items)

    def run(self, job: Any, receive: Callable[[Any], None]) -> None:
        self._write([job])
        # Every message is taken, to the last: the next job begins with an empty pipe.
        deadline = time.monotonic() + 120
        assert child._Relay(self._messages, receive).until_end(lambda: time.monotonic() > deadline, lambda: 1.0)

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._reader.join()
        self._process.stdout.close()


class Workers:
    """Takes the place of `run_child`."""

    def __init__(self) -> None:
        self._by_target: dict[str, Worker] = {}

    def run_child(self, target: str, job: Any, receive: Callable[[Any], None], **clock: Any) -> None:
        if target not in self._by_target:
            self._by_target[target] = Worker(target)
        self._by_target[target].run(job, receive)

    def close(self) -> None:
        for worker in self._by_target.values():
            worker.close()


def loop() -> None:
    """Run in the process: read jobs until the input ends."""
    stream = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def send(message: Any) -> None:
        pickle.dump(message, stream)
        stream.flush()

    module, function = pickle.load(sys.stdin.buffer).split(":")
    engine = getattr(importlib.import_module(module), function)
    while True:
        try:
            job = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            engine(job, send)
        except Exception as error:
            send(child._Failed(type(error).__name__, str(error)))
        else:
            send(child._Ended())
