"""Settings of the documentation; ``make docs`` builds it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "src"))

from hardwood import __version__  # noqa: E402

project = "hardwood"
author = "The hardwood developers"
copyright = author
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.viewcode", "numpydoc"]
# search.html is the name of Sphinx's own page; exact_search.md includes this one.
exclude_patterns = ["_build", "search.md"]
html_theme = "furo"
html_title = f"hardwood {__version__}"
default_role = "py:obj"
myst_heading_anchors = 3
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

PICTURES = ("plot_tree_and_regions", "plot_robustness", "plot_convergence")


def draw_pictures(app: Any) -> None:
    """Run the examples that draw, where their pictures are missing."""
    folder = HERE / "pictures"
    folder.mkdir(exist_ok=True)
    if len(list(folder.glob("*.png"))) >= 4:
        return
    environment = {**os.environ, "PYTHONPATH": str(HERE.parent / "src"), "MPLBACKEND": "Agg"}
    for name in PICTURES:
        script = HERE.parent / "examples" / f"{name}.py"
        subprocess.run([sys.executable, str(script), str(folder)], check=True, env=environment)


def list_pages(app: Any, page: str, source: list[str]) -> None:
    """Let the index list every page, also those that it does not name."""
    if page == "index":
        named = set(source[0].split())
        others = sorted(path.stem for path in HERE.glob("*.md") if path.name not in exclude_patterns)
        source[0] = source[0].replace(
            "(all other pages)", "\n".join(name for name in others if name not in {"index", *named})
        )


def setup(app: Any) -> None:
    """Register what happens before pages are read."""
    app.connect("builder-inited", draw_pictures)
    app.connect("source-read", list_pages)
