"""One HTML page with everything in it: data, style and script. It asks the network for nothing."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from hardwood.markup import COLOURS
from hardwood.plotting.style import COLOURS_ON_DARK

# What could end or change a script element, however HTML parsers read it. Nothing beyond ASCII gets this far: JSON
# has escaped it.
_ESCAPES = str.maketrans({letter: f"\\u{ord(letter):04x}" for letter in "<>&"})
_SHARED = ("elements.js", "charts.js", "trees.js")


def render(document: dict[str, Any]) -> str:
    """Return the page for a document (see `hardwood.experiments.document.document_of`)."""
    return _filled("page.html", (*_SHARED, "page.js"), document)


def render_exploration(document: dict[str, Any]) -> str:
    """Return the page to explore trees (see `hardwood.report.explore`)."""
    return _filled("explore.html", (*_SHARED, "explore.js"), document)


def _filled(template: str, scripts: tuple[str, ...], document: dict[str, Any]) -> str:
    parts = files("hardwood.report")
    data = json.dumps(document, separators=(",", ":"), allow_nan=False).translate(_ESCAPES)
    page = (parts / template).read_text(encoding="utf-8")
    style = _palette() + (parts / "page.css").read_text(encoding="utf-8")
    script = "\n".join((parts / name).read_text(encoding="utf-8") for name in scripts)
    # The data come last, so that nothing is looked for in them.
    return page.replace("/*STYLE*/", style).replace("/*SCRIPT*/", script).replace("/*DATA*/", data)


def _palette() -> str:
    def variables(colours: tuple[str, ...]) -> str:
        return " ".join(f"--colour-{k}: {colour};" for k, colour in enumerate(colours))

    return (
        f":root {{ --colours: {len(COLOURS)}; {variables(COLOURS)} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ {variables(COLOURS_ON_DARK)} }} }}\n"
    )
