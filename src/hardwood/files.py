"""Files are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hardwood.errors import InvalidInputError


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file so that readers see the old content or all of the new one, also if this process dies midway."""
    target = Path(path)
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        descriptor, temporary = tempfile.mkstemp(dir=target.parent or ".", prefix=f".{target.name}.")
    except OSError as error:
        raise InvalidInputError(f"cannot write {target}: {error.strerror}") from error
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        # mkstemp makes private files; give the result the permissions that a plain open() would have given it.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, target)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise InvalidInputError(f"cannot write {target}: {error.strerror}") from error
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read_text(path: str | os.PathLike[str], what: str) -> str:
    """Read a text file; ``what`` says in messages what it should have been."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidInputError(f"cannot read {what} {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"cannot read {what} {path}: it is not UTF-8 text ({error.reason})") from error
