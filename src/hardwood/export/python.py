"""Trees as Python functions."""

from __future__ import annotations

import keyword

from hardwood.errors import InvalidInputError
from hardwood.export.code import (
    answer,
    category_test,
    check_depth,
    column_names,
    column_of,
    missing_goes_left,
    n_columns,
    nested_lines,
)
from hardwood.plain_data import as_label
from hardwood.tree.tree import Tree


def to_python(tree: Tree, name: str = "predict") -> str:
    """Return a Python function that takes the features of one sample and returns its class.

    The argument is a sequence with the features in order; categories are compared as they are.
    """
    check_python_name(name)
    check_depth(tree, "Python")
    names = column_names(tree)
    columns = f"{n_columns(tree)} numbers" if names is None else ", ".join(names)
    lines = [f"def {name}(x):", f'    """Return the class of one sample; x holds {in_docstring(columns)}."""']
    lines += nested_lines(
        tree,
        lambda node: f"if {python_condition(tree, node)}:",
        "else:",
        None,
        lambda leaf: f"return {answer(tree, leaf)!r}",
    )
    return "\n".join(lines) + "\n"


def check_python_name(name: str) -> None:
    """Refuse what no Python function can be called."""
    if not name.isidentifier() or keyword.iskeyword(name) or name == "__debug__":
        raise InvalidInputError(f"name={name!r} is not a name that a Python function can have")


def python_condition(tree: Tree, node: int) -> str:
    """Return the question of a split."""
    x, test = f"x[{column_of(tree, node)}]", category_test(tree, node)
    if test is not None:
        missing = f" or {x} is None or {x} != {x}" if missing_goes_left(tree, node) else ""
        return f"{x} == {as_label(test[1], 'a category')!r}{missing}"
    b = repr(float(tree.threshold[node]))
    return f"not {x} > {b}" if missing_goes_left(tree, node) else f"{x} <= {b}"


def in_docstring(text: str) -> str:
    """Return text with every character that is not plainly visible, and every double quote, as an escape."""
    return repr(text)[1:-1].replace('"', '\\"')
