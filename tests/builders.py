"""Objects that tests write down by hand."""

from __future__ import annotations

from typing import Any

from hardwood import Tree
from hardwood.tree.conversion import index_tree_of
from hardwood.tree.draft import Draft, Fork, Leaf, grow
from hardwood.tree.index_tree import IndexTree


def make_tree(*parts: Any, **others: Any) -> Tree:
    """Return a tree from lists, as `Tree` takes them: feature, threshold, left, right, label, classes, n_features."""
    return Tree(*parts, **others)


def index_tree(nested: Any) -> IndexTree:
    """Return a tree from nested tuples ``(feature, index, left, right)`` with class indices as leaves."""
    return index_tree_of(grow(nested, lambda node: Fork(*node) if isinstance(node, tuple) else Leaf(node)))


def nested_of(tree: IndexTree | Draft, node: int = 0) -> Any:
    """Inverse of `index_tree`; the leaves of a draft are its answers."""
    answers, thresholds = (tree.answer, tree.threshold) if isinstance(tree, Draft) else (tree.label, tree.index)
    if tree.left[node] < 0:
        return answers[node]
    below = (nested_of(tree, int(child)) for child in (tree.left[node], tree.right[node]))
    return (tree.feature[node], thresholds[node], *below)
