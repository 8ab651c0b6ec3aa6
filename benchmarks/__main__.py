"""Run benchmarks and keep what they print in ``results/``.

::

    python -m benchmarks                       # all of them
    python -m benchmarks search bounds         # some
    python -m benchmarks search.growth         # a part that is not in the default run, kept as results/search-growth.md
    python -m benchmarks history               # the key figures of this version, from results/ into history.md
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable

import benchmarks
from benchmarks import history
from benchmarks.report import keep


def runs() -> dict[str, Callable[[], str]]:
    """Return all benchmarks: ``run`` of each module called ``bench_*``, and its ``PARTS`` as NAME.PART."""
    found: dict[str, Callable[[], str]] = {}
    for module in pkgutil.iter_modules(benchmarks.__path__):
        if module.name.startswith("bench_"):
            name = module.name.removeprefix("bench_")
            loaded = importlib.import_module(f"benchmarks.{module.name}")
            found[name] = loaded.run
            found |= {f"{name}.{part}": action for part, action in getattr(loaded, "PARTS", {}).items()}
    return found


def main() -> int:
    """Run the chosen benchmarks; each returns Markdown, which is printed and kept."""
    asked = sys.argv[1:]
    if asked[:1] == ["history"]:
        return history.main(asked[1:])
    known = runs()
    unknown = [name for name in asked if name not in known]
    if unknown:
        print(f"no benchmark {unknown[0]!r}; there are {', '.join(sorted(known))} and history", file=sys.stderr)
        return 2
    for name in asked or sorted(name for name in known if "." not in name):
        print(keep(name.replace(".", "-"), known[name]()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
