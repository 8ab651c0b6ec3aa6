"""First lines of an engine's process; run as a file by an isolated interpreter (``python -I``), standard library only.

Isolated, the interpreter knows its standard library and its installed packages; the working directory, the folder of
the user's program and PYTHONPATH are not searched, so that no file that happens to lie there is ever run. hardwood is
loaded from where the parent has it, by its own path, and further folders are searched only if the parent names them:
the rest of a folder that happens to hold hardwood stays outside.
"""

import os
import pickle
import signal
import site
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

PR_SET_PDEATHSIG = 1


def end_with_parent(parent: int) -> None:
    """Ask the system to end this process when the parent is gone, where it can; see also `child.main`."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        # It went before the system was asked.
        os._exit(1)


def load_hardwood(folders: list[str]) -> None:
    """Make ``import hardwood`` mean the package in these folders, whatever else is on the path."""
    spec = spec_from_file_location(
        "hardwood", Path(folders[0]) / "__init__.py", submodule_search_locations=list(folders)
    )
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["hardwood"] = module
    spec.loader.exec_module(module)


def main() -> None:
    """Read where things are, load hardwood and hand over to `hardwood.solvers.engines.child`."""
    # Ctrl-C reaches the whole process group; the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent(int(sys.argv[1]))
    places = pickle.load(sys.stdin.buffer)
    for folder in places["installed"]:
        site.addsitedir(folder)
    sys.path += places["extra"]
    load_hardwood(places["hardwood"])
    from hardwood.solvers.engines.child import main

    main()


if __name__ == "__main__":
    main()
