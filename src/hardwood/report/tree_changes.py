"""What is different between two trees, in words."""

from __future__ import annotations

from hardwood.tree.tree import Tree

MOST = 12
"""So many differences are told."""


def describe_changes(before: Tree, after: Tree) -> list[str]:
    """Return what changed from one tree to another, from the root down; below a new question nothing is compared."""
    found: list[str] = []
    _compare(before, after, 0, 0, "", found)
    if len(found) > MOST:
        found[MOST:] = [f"and {len(found) - MOST} more differences"]
    return found


def _compare(before: Tree, after: Tree, a: int, b: int, where: str, found: list[str]) -> None:
    place = f"Where {where}: " if where else ""
    was_leaf, is_leaf = before.left[a] < 0, after.left[b] < 0
    if was_leaf and is_leaf:
        old, new = (str(tree.classes[tree.label[k]]) for tree, k in ((before, a), (after, b)))
        if old != new:
            found.append(f"{place}the answer is {new} instead of {old}.")
    elif was_leaf:
        answer = before.classes[before.label[a]]
        found.append(f"{place}it asks whether {after.condition(b, left=True)}, where it answered {answer} at once.")
    elif is_leaf:
        answer = after.classes[after.label[b]]
        found.append(f"{place}it answers {answer} at once, where it asked whether {before.condition(a, left=True)}.")
    elif before.feature[a] != after.feature[b]:
        new, old = after.condition(b, left=True), before.condition(a, left=True)
        found.append(f"{place}it asks whether {new} instead of {old}.")
    else:
        new, old = after.condition(b, left=True), before.condition(a, left=True)
        if new != old:
            found.append(f"{place}the threshold moved: {new} instead of {old}.")
        for left in (True, False):
            a_child, b_child = (int((tree.left if left else tree.right)[k]) for tree, k in ((before, a), (after, b)))
            condition = after.condition(b, left=left)
            _compare(before, after, a_child, b_child, f"{where} and {condition}" if where else condition, found)
