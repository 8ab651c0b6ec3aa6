"""Objects that tests write down by hand."""

from __future__ import annotations

from typing import Any

from hardwood import Tree


def make_tree(*parts: Any, **others: Any) -> Tree:
    """Return a tree from lists, as `Tree` takes them: feature, threshold, left, right, label, classes, n_features."""
    return Tree(*parts, **others)
