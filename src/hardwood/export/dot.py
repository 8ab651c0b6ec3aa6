"""Trees as graphs for Graphviz."""

from __future__ import annotations

from hardwood.export.code import category_test, labels_of
from hardwood.plain_data import printable
from hardwood.tree.tree import Tree


def to_dot(tree: Tree) -> str:
    """Return the tree in the language of Graphviz: ``dot -Tsvg`` draws it. Splits ask, the left branch is yes."""
    labels = labels_of(tree)
    lines = ["digraph tree {", '    node [shape=box, fontname="sans-serif"];']
    for node in range(tree.n_nodes):
        left, right = int(tree.left[node]), int(tree.right[node])
        if left < 0:
            lines.append(f"    n{node} [label={_quoted(str(labels[int(tree.label[node])]))}, style=rounded];")
        else:
            lines.append(f"    n{node} [label={_quoted(_question(tree, node))}];")
            lines += [f'    n{node} -> n{left} [label="yes"];', f'    n{node} -> n{right} [label="no"];']
    return "\n".join([*lines, "}"]) + "\n"


def _question(tree: Tree, node: int) -> str:
    if category_test(tree, node) is not None:
        return tree.condition(node, left=True)
    return f"{tree.name_of(int(tree.feature[node]))} ≤ {float(tree.threshold[node])!r}"


def _quoted(text: str) -> str:
    """Write text so that Graphviz shows it letter by letter: backslashes are its escapes, ampersands its entities."""
    shown = printable(text)
    for letter, written in (("&", "&amp;"), ("\\", "\\\\"), ('"', '\\"')):
        shown = shown.replace(letter, written)
    return f'"{shown}"'
