"""What exports to source code share: which question a split asks, where missing values go, what a leaf answers.

Every number is written so that a correct reader of decimals gets the same float64. A missing value goes where the tree
sends it: comparisons with NaN or NULL are not true, so a split that sends missing values right needs nothing and one
that sends them left asks the opposite question. Where the tree refuses missing values, the code does not look for them.

Names and labels are somebody else's text. Each language writes them so that they stay text, or refuses them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hardwood.errors import InvalidInputError
from hardwood.plain_data import Label, as_label, as_text
from hardwood.tree.tree import Tree

DEEPEST = 90
"""Compilers refuse code that is nested deeper: Python at 100 levels, C promises 127, databases vary."""


def check_depth(tree: Tree, language: str) -> None:
    """Refuse a tree that no compiler would take as nested conditions."""
    if tree.depth > DEEPEST:
        raise InvalidInputError(
            f"the tree is {tree.depth} splits deep; {language} code nested deeper than {DEEPEST} does not compile"
        )


def nested_lines(
    tree: Tree, question: Callable[[int], str], otherwise: str, end: str | None, leaf: Callable[[int], str]
) -> list[str]:
    """Return the tree as indented lines: a question, what holds if so, "otherwise", what holds if not, an end.

    Parameters
    ----------
    tree : Tree
    question, leaf : callable
        Write the line of a split and of a leaf.
    otherwise, end : str
        The lines between and below the two sides of a split; without an end where it is None.
    """
    lines: list[str] = []
    # What is still to be written, the next one last: nodes, or lines that are ready.
    waiting: list[tuple[int | str, int]] = [(0, 1)]
    while waiting:
        item, level = waiting.pop()
        if isinstance(item, str):
            lines.append("    " * level + item)
        elif tree.left[item] < 0:
            lines.append("    " * level + leaf(item))
        else:
            lines.append("    " * level + question(item))
            below = (int(tree.left[item]), level + 1), (otherwise, level), (int(tree.right[item]), level + 1)
            waiting += [] if end is None else [(end, level)]
            waiting += reversed(below)
    return lines


def labels_of(tree: Tree) -> list[Label]:
    """Return the labels as plain values."""
    return [as_label(one, "a class label") for one in tree.classes.tolist()]


def answer(tree: Tree, node: int) -> Label:
    """Return what a leaf answers."""
    return labels_of(tree)[int(tree.label[node])]


def missing_goes_left(tree: Tree, node: int) -> bool:
    """Whether a split sends missing values left."""
    return tree.missing_left is not None and bool(tree.missing_left[node])


def category_test(tree: Tree, node: int) -> tuple[int, Any] | None:
    """Return the column and the category that a split asks for, or None if it compares a number."""
    return None if tree.encoding is None else tree.encoding.tests[int(tree.feature[node])]


def column_of(tree: Tree, node: int) -> int:
    """Return the column of the table that a split looks at."""
    j = int(tree.feature[node])
    return j if tree.encoding is None else int(tree.encoding.source[j])


def column_names(tree: Tree) -> tuple[str, ...] | None:
    """Return the names of the columns of the table."""
    names = tree.feature_names if tree.encoding is None else tree.encoding.names
    return None if names is None else tuple(as_text(name, "the name of a feature") for name in names)


def n_columns(tree: Tree) -> int:
    """Return the number of columns of the table."""
    return tree.n_features if tree.encoding is None else tree.encoding.n_columns
