"""One HTML page with everything in it: data, style and script. It asks the network for nothing."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any


def render(document: dict[str, Any]) -> str:
    """Return the page for a document (see `hardwood.experiments.document.document_of`)."""
    parts = files("hardwood.report")
    scripts = ("elements.js", "charts.js", "trees.js", "page.js")
    # "</" inside a string of the data would end the script element.
    data = json.dumps(document, separators=(",", ":"), allow_nan=False).replace("</", "<\\/")
    page = (parts / "page.html").read_text(encoding="utf-8")
    style = (parts / "page.css").read_text(encoding="utf-8")
    script = "\n".join((parts / name).read_text(encoding="utf-8") for name in scripts)
    return page.replace("/*STYLE*/", style).replace("/*SCRIPT*/", script).replace("/*DATA*/", data)
