"""Settings of the documentation; ``make docs`` builds it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "src"))
sys.path.insert(0, str(HERE))
os.environ.setdefault("MPLBACKEND", "Agg")

from blocks import with_outputs  # noqa: E402

from hardwood import __version__  # noqa: E402

project = "hardwood"
author = "The hardwood developers"
copyright = author
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.viewcode", "numpydoc"]
exclude_patterns = ["_build", "results/tables"]
html_theme = "furo"
html_title = f"hardwood {__version__}"
default_role = "py:obj"
myst_heading_anchors = 3
myst_enable_extensions = ["deflist"]
autosummary_generate = True
templates_path = ["_templates"]
autodoc_typehints = "none"
numpydoc_show_class_members = False
linkcheck_timeout = 20
linkcheck_retries = 2

BENCHMARKS = HERE.parent / "benchmarks"
TABLES = HERE / "results" / "tables"
RESULTS_BLOCK = re.compile(r"^```\{results\} (?P<name>[\w-]+)(?: (?P<number>\d+))?\n```$", re.MULTILINE)
PICTURES = ("plot_what_each_loses", "plot_tree_and_regions", "plot_robustness", "plot_convergence")


def draw_pictures(app: Any) -> None:
    """Run the examples that draw, where their pictures are missing."""
    folder = HERE / "pictures"
    folder.mkdir(exist_ok=True)
    if len(list(folder.glob("*.png"))) >= 5:
        return
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent / "src"), "MPLBACKEND": "Agg"}
    for name in PICTURES:
        script = HERE.parent / "examples" / f"{name}.py"
        subprocess.run([sys.executable, str(script), str(folder)], check=True, env=environment)


def write_tables_of_experiments(app: Any) -> None:
    """Write the tables of the results files, as ``hardwood reproduce`` does, for the pages to include."""
    from hardwood.experiments.log import read_log
    from hardwood.experiments.outputs import write_tables

    for path in sorted((HERE / "results").glob("*.jsonl.gz")):
        log = read_log(path)
        write_tables(log.grids[-1], log, TABLES)


def write_options(app: Any) -> None:
    """Write the table of all options of all solvers, as they are declared."""
    import hardwood.solvers  # noqa: F401  (registers them)
    from hardwood.solvers.registry import options_table

    TABLES.mkdir(parents=True, exist_ok=True)
    (TABLES / "options.md").write_text(options_table())


def include_results(app: Any, page: str, source: list[str]) -> None:
    """Replace ``{results} NAME`` by what a benchmark or experiment wrote, ``{results} NAME 2`` by its second table."""

    def text_of(block: re.Match[str]) -> str:
        name, number = block["name"], block["number"]
        places = [BENCHMARKS / "results" / f"{name}.md", BENCHMARKS / f"{name}.md", TABLES / f"{name}.md"]
        path = next((place for place in places if place.is_file()), None)
        if path is None:
            return f"*Not measured for this version: `python -m benchmarks {name.replace('-', '.')}`.*"
        # The page has a heading of its own in place of the file's; those below it go down a level.
        body = re.sub(r"\A#+ .*\n+", "", path.read_text(encoding="utf-8"))
        if number is None:
            return re.sub(r"^#", "##", body, flags=re.MULTILINE)
        tables: list[str] = re.findall(r"(?:^\|.*\n)+", body, re.MULTILINE)
        return tables[int(number) - 1]

    source[0] = RESULTS_BLOCK.sub(text_of, source[0])


def run_code(app: Any, page: str, source: list[str]) -> None:
    """Run the code of a page and show what it gives under each block."""
    if app.builder.name != "linkcheck":
        source[0] = with_outputs(source[0], page)


def leave_out_foreign_methods(app: Any, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds to every estimator for its metadata routing."""
    return True if name == "get_metadata_routing" or name.endswith("_request") else None


def setup(app: Any) -> None:
    """Register what happens before pages are read."""
    app.connect("builder-inited", draw_pictures)
    app.connect("builder-inited", write_tables_of_experiments)
    app.connect("builder-inited", write_options)
    app.connect("source-read", include_results)
    app.connect("source-read", run_code)
    app.connect("autodoc-skip-member", leave_out_foreign_methods)
