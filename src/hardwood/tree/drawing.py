"""A tree as SVG, for notebooks; the pages of reports draw the same in the browser."""

from __future__ import annotations

from collections.abc import Sequence

from hardwood.markup import COLOURS, escaped, folded
from hardwood.tree.tree import Tree

MOST_LEAVES = 32
"""Larger trees are shown as text."""
_WIDTH, _HEIGHT, _GAP, _RISE = 140, 46, 10, 34


def tree_html(tree: Tree, captions: Sequence[str] | None = None) -> str:
    """Return a tree as HTML: drawn where it is small, else as text.

    Parameters
    ----------
    tree : Tree
    captions : sequence of str or None
        A few words about each node.
    """
    text = f"<pre style='line-height:1.4'>{escaped_lines(tree.to_text())}</pre>"
    if tree.n_leaves > MOST_LEAVES:
        return text
    return f"<div style='overflow-x:auto'>{tree_svg(tree, captions)}</div>{folded('as text', text)}"


def escaped_lines(text: str) -> str:
    """Return lines of text, each as HTML shows it letter by letter."""
    return "\n".join(escaped(line) for line in text.split("\n"))


def tree_svg(tree: Tree, captions: Sequence[str] | None = None) -> str:
    """Return a tree as SVG; see `tree_html`."""
    column, level = _places(tree)
    width = tree.n_leaves * (_WIDTH + _GAP) + _GAP
    height = (tree.depth + 1) * (_HEIGHT + _RISE) - _RISE + 12

    def centre(k: int) -> float:
        return _GAP + column[k] * (_WIDTH + _GAP) + _WIDTH / 2

    def top(k: int) -> int:
        return 6 + level[k] * (_HEIGHT + _RISE)

    edges, nodes = [], []
    for k in range(tree.n_nodes):
        nodes.append(_node(tree, k, centre(k), top(k), "" if captions is None else captions[k]))
        if tree.left[k] >= 0:
            for child, word in ((int(tree.left[k]), "yes"), (int(tree.right[k]), "no")):
                x0, y0, x1, y1 = centre(k), top(k) + _HEIGHT, centre(child), top(child)
                middle = (y0 + y1) / 2
                edges.append(
                    f"<path d='M{x0:.1f},{y0}C{x0:.1f},{middle} {x1:.1f},{middle} {x1:.1f},{y1}' fill='none' "
                    f"stroke='currentColor' opacity='.4'/><text x='{(x0 + x1) / 2 + (-12 if x1 < x0 else 12):.1f}' "
                    f"y='{middle - 3}' text-anchor='middle' opacity='.7' font-size='10'>{word}</text>"
                )
    label = f"Decision tree with {tree.n_leaves} leaves"
    return (
        f"<svg role='img' aria-label='{label}' width='{width}' height='{height}' fill='currentColor' "
        f"font-family='sans-serif' font-size='12'><title>{label}</title>{''.join(edges)}{''.join(nodes)}</svg>"
    )


def _node(tree: Tree, k: int, x: float, y: int, caption: str) -> str:
    is_leaf = tree.left[k] < 0
    whole = str(tree.classes[tree.label[k]]) if is_leaf else tree.condition(k, left=True, digits=3)
    name, mark, value = (whole, "", "") if is_leaf else whole.rpartition(" <= ")
    shown = _shortened(whole, 20) if not mark else f"{_shortened(name, 11)} ≤ {value}"
    colour = COLOURS[int(tree.label[k]) % len(COLOURS)] if is_leaf else "currentColor"
    weight = " font-weight='bold'" if is_leaf else ""
    text_y = y + (20 if caption else 28)
    below = (
        f"<text x='{x:.1f}' y='{y + 36}' text-anchor='middle' font-size='10' opacity='.75'>{escaped(caption)}</text>"
        if caption
        else ""
    )
    return (
        f"<g><title>{escaped(whole)}</title>"
        f"<rect x='{x - _WIDTH / 2:.1f}' y='{y}' width='{_WIDTH}' height='{_HEIGHT}' "
        f"rx='{14 if is_leaf else 5}' fill='none' stroke='{colour}' stroke-width='{1.8 if is_leaf else 1}'/>"
        f"<text x='{x:.1f}' y='{text_y}' text-anchor='middle' fill='{colour}'{weight}>{escaped(shown)}</text>"
        f"{below}</g>"
    )


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _places(tree: Tree) -> tuple[list[float], list[int]]:
    """Return column and level of every node: leaves side by side, splits above the middle of their children."""
    column, level = [0.0] * tree.n_nodes, [0] * tree.n_nodes
    order: list[int] = []
    waiting = [0]
    while waiting:
        k = waiting.pop()
        order.append(k)
        if tree.left[k] >= 0:
            for child in (int(tree.right[k]), int(tree.left[k])):
                level[child] = level[k] + 1
                waiting.append(child)
    leaves = 0
    for k in order:
        if tree.left[k] < 0:
            column[k] = leaves
            leaves += 1
    for k in reversed(order):
        if tree.left[k] >= 0:
            column[k] = (column[int(tree.left[k])] + column[int(tree.right[k])]) / 2
    return column, level
