"""Files are written whole or not at all; what is no ordinary file is written to, never replaced.

A file that grows over hours is written by one process at a time: `alone` keeps the others out.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from hardwood.errors import HardwoodError, InvalidInputError

_MOST_LINKS = 40


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file at once; see `whole_file`."""
    try:
        data = content.encode("utf-8") if isinstance(content, str) else content
    except UnicodeEncodeError as error:
        name = _name_of(path, "cannot write")
        raise InvalidInputError(f"cannot write {name}: the text holds half a character ({error.reason})") from error
    with whole_file(path) as stream:
        stream.write(data)


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file to write so that readers see the old content or all of the new one, also if this process dies midway.

    A link stays and its target is written. A file that was there keeps its permissions. Devices, pipes and open file
    descriptors (``/dev/stdout``, ``/dev/fd/3``) are written to as they are.
    """
    name = _name_of(path, "cannot write")
    try:
        with _opened(name) as stream:
            yield stream
    except OSError as error:
        raise InvalidInputError(f"cannot write {name}: {error.strerror or error}") from error


@contextlib.contextmanager
def alone(path: str | os.PathLike[str], refusal: Callable[[str], Exception], *, wait: bool = False) -> Iterator[None]:
    """Keep all other processes that ask for the same away from a file.

    Parameters
    ----------
    path : path
        The file; beside it lies one whose name ends in ``.lock``, and stays there: deleting it would let two processes
        lock two different files of the same name. The lock goes with the process, also when it is killed.
    refusal : callable
        What to raise if another process has it, made from the id of that process.
    wait : bool
        Whether to wait for the other process instead.
    """
    lock = open_descriptor(os.fsdecode(path) + ".lock", os.O_RDWR | os.O_CREAT)
    try:
        while not _try_lock(lock):
            if not wait:
                raise refusal(os.pread(lock, 32, 0).decode().strip() or "unknown")
            time.sleep(0.2)
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(lock)


def open_descriptor(path: str | os.PathLike[str], flags: int) -> int:
    """Open a file for writing in ways that `open` does not know."""
    name = _name_of(path, "cannot write")
    try:
        return os.open(name, flags, 0o666)
    except OSError as error:
        raise InvalidInputError(f"cannot write {name}: {error.strerror}") from error


def _try_lock(descriptor: int) -> bool:
    try:
        import fcntl
    except ImportError as error:  # Windows
        raise HardwoodError("files that grow need a system with fcntl locks (Linux, macOS, WSL)") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def read_text(path: str | os.PathLike[str], what: str) -> str:
    """Read a text file; ``what`` says in messages what it should have been."""
    data = read_bytes(path, what)
    try:
        return with_plain_newlines(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"cannot read {what} {path}: it is not UTF-8 text ({error.reason})") from error


def read_bytes(path: str | os.PathLike[str], what: str) -> bytes:
    """Read a file; ``what`` says in messages what it should have been."""
    name = _name_of(path, f"cannot read {what}")
    try:
        with open(name, "rb") as stream:
            return stream.read()
    except OSError as error:
        raise InvalidInputError(f"cannot read {what} {name}: {error.strerror or error}") from error


def with_plain_newlines(text: str) -> str:
    """Return a text in which every line ends as on this system's terminal, wherever it was written."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _name_of(path: Any, doing: str) -> str:
    try:
        name = os.fsdecode(path)
    except TypeError:
        raise InvalidInputError(f"{doing} {path!r}: it is not the name of a file") from None
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        raise InvalidInputError(f"{doing} {name!r}: a file cannot have this name") from None
    if "\0" in name or not name:
        raise InvalidInputError(f"{doing} {name!r}: a file cannot have this name")
    return name


@contextlib.contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    target, descriptor = _target_of(name)
    if descriptor is not None:
        # What was printed before comes before.
        for printed in (sys.stdout, sys.stderr):
            with contextlib.suppress(AttributeError, ValueError):
                printed.flush()
        with os.fdopen(os.dup(descriptor), "wb") as stream:
            yield stream
        return
    try:
        old = os.stat(target)
    except FileNotFoundError:
        old = None
    if old is None or stat.S_ISREG(old.st_mode):
        with _replacement(target, old) as stream:
            yield stream
    elif stat.S_ISCHR(old.st_mode) or stat.S_ISFIFO(old.st_mode):
        with os.fdopen(os.open(target, os.O_WRONLY), "wb") as stream:
            yield stream
    else:
        kind = "a folder" if stat.S_ISDIR(old.st_mode) else "neither a file, a pipe nor a terminal"
        raise InvalidInputError(f"cannot write {name}: it is {kind}")


def _target_of(name: str) -> tuple[str, int | None]:
    """Follow links to the file that they name, or to the open descriptor of this process that they stand for."""
    own = re.compile(rf"/proc/{os.getpid()}(/task/\d+)?/fd")
    for _ in range(_MOST_LINKS):
        folder, last = os.path.split(name)
        folder = os.path.realpath(folder or ".")
        if own.fullmatch(folder) and last.isdecimal():
            return name, int(last)
        name = os.path.join(folder, last)
        if not os.path.islink(name):
            return name, None
        name = os.path.join(folder, os.readlink(name))
    raise OSError(0, "too many links lead from one to the other")


@contextlib.contextmanager
def _replacement(target: str, old: os.stat_result | None) -> Iterator[BinaryIO]:
    """Open a file that takes the place of `target` when all is written."""
    if old is not None and not os.access(target, os.W_OK):
        raise PermissionError(0, "Permission denied")
    # Not after the file's name, which may already be as long as a name can be.
    temporary = os.path.join(os.path.dirname(target), f".hardwood-{secrets.token_hex(8)}.tmp")
    mode = 0o666 if old is None else stat.S_IMODE(old.st_mode) & 0o777
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            if old is not None:
                _keep_permissions(descriptor, old)
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _keep_permissions(descriptor: int, old: os.stat_result) -> None:
    if hasattr(os, "fchown"):
        # Only root may hand a file to someone else; for all others it is theirs already or stays so.
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, old.st_uid, old.st_gid)
        os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
