"""Run a module with a package of hardwood that lies in another folder than the one that is installed.

    PYTHONPATH=tests python -m core.built_elsewhere build/sanitize/site pytest tests/core

What is installed for developers is found before anything on PYTHONPATH, so a module that was built with sanitizers
would be passed over, and its tests would be of another one.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType


class FirstOf(MetaPathFinder):
    """Finds one package in one folder, before anybody else is asked."""

    def __init__(self, package: str, folder: Path) -> None:
        self.package, self.folder = package, folder

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where the package, or a module of it, is found; None for others."""
        if fullname.partition(".")[0] != self.package:
            return None
        return PathFinder.find_spec(fullname, [str(self.folder)] if path is None else path, target)


def main() -> None:
    folder, module, *arguments = sys.argv[1:]
    sys.meta_path.insert(0, FirstOf("hardwood", Path(folder).resolve()))
    core = __import__("hardwood._core")._core
    assert Path(core.__file__).is_relative_to(Path(folder).resolve()), core.__file__
    print("with", core.__file__, flush=True)
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
