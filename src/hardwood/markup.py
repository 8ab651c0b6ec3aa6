"""HTML for notebooks: small tables, folded parts and sparklines, with everything from outside escaped.

Colours are those of the notebook (``currentColor``) and one palette, so that light and dark pages both work.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence

from hardwood.plain_data import printable

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c6d31")
"""Okabe & Ito's colours, which readers with any colour vision tell apart, yellow replaced by a brown that shows."""


def escaped(text: object) -> str:
    """Return a text as HTML shows it letter by letter."""
    return html.escape(printable(text))


def facts(rows: Mapping[str, object]) -> str:
    """Return a table of names and values."""
    cells = "".join(
        f"<tr><th scope='row' style='text-align:left'>{escaped(name)}</th>"
        f"<td style='text-align:left'>{escaped(value)}</td></tr>"
        for name, value in rows.items()
    )
    return f"<table>{cells}</table>"


def table(columns: Sequence[object], rows: Sequence[Sequence[object]]) -> str:
    """Return a table with a row of headings; the first cell of each row names it."""
    head = "".join(f"<th scope='col' style='text-align:left'>{escaped(name)}</th>" for name in columns)
    body = "".join(
        f"<tr><th scope='row' style='text-align:left'>{escaped(row[0])}</th>"
        + "".join(f"<td>{escaped(value)}</td>" for value in row[1:])
        + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def folded(title: str, body: str) -> str:
    """Return HTML that opens with a click."""
    return f"<details><summary>{escaped(title)}</summary>{body}</details>"


def card(title: str, *parts: str) -> str:
    """Return parts under a title."""
    return f"<div class='hardwood'><strong>{escaped(title)}</strong>{''.join(parts)}</div>"


def sparkline(lines: Sequence[Sequence[tuple[float, float]]], label: str, *, steps: bool = False) -> str:
    """Return small curves as SVG; what is not finite is left out.

    Parameters
    ----------
    lines : sequence of sequences of (x, y)
    label : str
        What it shows, for who cannot see it.
    steps : bool
        Whether a value stays until the next.
    """
    width, height, margin = 160, 34, 3
    finite = [[(x, y) for x, y in line if math.isfinite(x) and math.isfinite(y)] for line in lines]
    points = [point for line in finite for point in line]
    if not points:
        return ""
    low_x, high_x = min(x for x, _ in points), max(x for x, _ in points)
    low_y, high_y = min(y for _, y in points), max(y for _, y in points)

    def place(x: float, y: float) -> tuple[float, float]:
        across = (x - low_x) / (high_x - low_x) if high_x > low_x else 0.0
        up = (y - low_y) / (high_y - low_y) if high_y > low_y else 0.5
        return margin + across * (width - 2 * margin), height - margin - up * (height - 2 * margin)

    paths = []
    for k, line in enumerate(finite):
        if line:
            placed = [place(*point) for point in line]
            path = f"M{placed[0][0]:.1f},{placed[0][1]:.1f}"
            path += "".join(f"H{x:.1f}V{y:.1f}" if steps else f"L{x:.1f},{y:.1f}" for x, y in placed[1:])
            dash = "" if k == 0 else " stroke-dasharray='4 2'"
            paths.append(f"<path d='{path}' fill='none' stroke='{COLOURS[k]}' stroke-width='1.5'{dash}/>")
    return (
        f"<svg role='img' aria-label='{escaped(label)}' width='{width}' height='{height}' "
        "style='vertical-align:middle'>"
        f"<title>{escaped(label)}</title>{''.join(paths)}</svg>"
    )
