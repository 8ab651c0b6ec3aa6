"""Run all benchmarks, or those named on the command line, and keep what they print."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path

import benchmarks
from benchmarks.report import machine

RESULTS = Path(__file__).parent / "results"


def names() -> list[str]:
    """Return the benchmarks: the modules of this package called ``bench_*``."""
    found = (module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    return sorted(name.removeprefix("bench_") for name in found if name.startswith("bench_"))


def main() -> int:
    """Run the chosen benchmarks; each returns Markdown, which is printed and written to ``results/NAME.md``."""
    chosen = sys.argv[1:] or names()
    unknown = [name for name in chosen if name not in names()]
    if unknown:
        print(f"no benchmark {unknown[0]!r}; there are {', '.join(names())}", file=sys.stderr)
        return 2
    RESULTS.mkdir(exist_ok=True)
    for name in chosen:
        text = importlib.import_module(f"benchmarks.bench_{name}").run()
        page = f"# Benchmark: {name}\n\n{machine()}\n\n{text}\n"
        print(page)
        (RESULTS / f"{name}.md").write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
