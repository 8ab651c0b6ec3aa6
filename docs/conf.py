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
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"hardwood {__version__}"
default_role = "py:obj"
myst_heading_anchors = 3
autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
# Pages of single subjects may be added without touching the index.
suppress_warnings = ["toc.empty_glob"]

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


def setup(app: Any) -> None:
    """Register what happens before pages are read."""
    app.connect("builder-inited", draw_pictures)
