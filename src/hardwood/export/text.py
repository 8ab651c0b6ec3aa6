"""Trees as indented text."""

from __future__ import annotations

from hardwood.plain_data import printable
from hardwood.tree.tree import Tree


def to_text(tree: Tree) -> str:
    """Return the tree as indented text, one line per branch."""
    if tree.n_nodes == 1:
        return f"always {printable(tree.classes[tree.label[0]])}"
    lines: list[str] = []
    # Branches still to be written, the next one last: no recursion, however deep the tree.
    waiting = [(0, False, 0), (0, True, 0)]
    while waiting:
        node, is_left, level = waiting.pop()
        child = int(tree.left[node] if is_left else tree.right[node])
        is_leaf = tree.left[child] < 0
        answer = f": {printable(tree.classes[tree.label[child]])}" if is_leaf else ""
        lines.append(f"{'|   ' * level}{tree.condition(node, left=is_left)}{answer}")
        if not is_leaf:
            waiting += [(child, False, level + 1), (child, True, level + 1)]
    return "\n".join(lines)
