"""Trees as source code without dependencies: Python, C and SQL.

Every number is written so that it reads back as the same float64. A missing value goes where the tree sends it:
comparisons with NaN or NULL are not true, so a split that sends missing values right needs nothing and one that sends
them left asks the opposite question. Where the tree refuses missing values, the code does not look for them.
"""

from __future__ import annotations

import json
import keyword
import re
from typing import Any

from hardwood.errors import InvalidInputError
from hardwood.tree.tree import Tree


def to_python(tree: Tree, name: str = "predict") -> str:
    """Return a Python function that takes the features of one sample and returns its class.

    The argument is a sequence with the features in order; categories are compared as they are.
    """
    if not name.isidentifier() or keyword.iskeyword(name):
        raise InvalidInputError(f"name={name!r} is not a name that a Python function can have")
    lines = [f"def {name}(x):", f'    """Return the class of one sample; x holds {_escaped(_columns_text(tree))}."""']

    def write(node: int, indent: str) -> None:
        if tree.left[node] < 0:
            lines.append(f"{indent}return {_label(tree, node)!r}")
            return
        lines.append(f"{indent}if {_python_condition(tree, node)}:")
        write(int(tree.left[node]), indent + "    ")
        lines.append(f"{indent}else:")
        write(int(tree.right[node]), indent + "    ")

    write(0, "    ")
    return "\n".join(lines) + "\n"


def to_c(tree: Tree, name: str = "predict") -> str:
    """Return a C function ``int name(const double *x)`` that returns the index of the class.

    The labels follow as an array ``name_classes``. A category is given as its number in the list that stands in the
    comment, -1 for one that is not in it and NaN for a missing one.
    """
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise InvalidInputError(f"name={name!r} is not a name that a C function can have")
    lines = ["/*", f" * Returns the index of the class of one sample; x holds {_commented(_columns_text(tree))}."]
    if tree.encoding is not None:
        for j, categories in enumerate(tree.encoding.categories):
            if categories is not None:
                listed = ", ".join(f"{number} {category}" for number, category in enumerate(categories))
                lines.append(f" * x[{j}] is the number of a category: {_commented(listed)}.")
    labels = [_c_string(str(label)) for label in tree.classes.tolist()]
    lines += [
        " */",
        f"const char *const {name}_classes[] = {{{', '.join(labels)}}};",
        "",
        f"int {name}(const double *x)",
        "{",
    ]

    def write(node: int, indent: str) -> None:
        if tree.left[node] < 0:
            lines.append(f"{indent}return {int(tree.label[node])};")
            return
        lines.append(f"{indent}if ({_c_condition(tree, node)}) {{")
        write(int(tree.left[node]), indent + "    ")
        lines.append(f"{indent}}} else {{")
        write(int(tree.right[node]), indent + "    ")
        lines.append(f"{indent}}}")

    if tree.n_nodes == 1:
        lines.append("    (void)x;")
    write(0, "    ")
    return "\n".join([*lines, "}"]) + "\n"


def to_sql(tree: Tree) -> str:
    """Return an SQL ``CASE`` expression for the class; features are columns, quoted with ``"``.

    Columns must be of a type with double precision. Without feature names the columns are x0, x1, ...
    """

    def write(node: int, indent: str) -> str:
        if tree.left[node] < 0:
            return _sql_value(_label(tree, node))
        inner = indent + "  "
        return (
            f"CASE WHEN {_sql_condition(tree, node)}\n"
            f"{inner}THEN {write(int(tree.left[node]), inner)}\n"
            f"{inner}ELSE {write(int(tree.right[node]), inner)} END"
        )

    return write(0, "")


def _label(tree: Tree, node: int) -> Any:
    return tree.classes[tree.label[node]].item()


def _missing_goes_left(tree: Tree, node: int) -> bool:
    return tree.missing_left is not None and bool(tree.missing_left[node])


def _test(tree: Tree, node: int) -> tuple[int, Any] | None:
    return None if tree.encoding is None else tree.encoding.tests[int(tree.feature[node])]


def _column(tree: Tree, node: int) -> int:
    j = int(tree.feature[node])
    return j if tree.encoding is None else int(tree.encoding.source[j])


def _python_condition(tree: Tree, node: int) -> str:
    x, test = f"x[{_column(tree, node)}]", _test(tree, node)
    if test is not None:
        missing = f" or {x} is None or {x} != {x}" if _missing_goes_left(tree, node) else ""
        return f"{x} == {test[1]!r}{missing}"
    b = repr(float(tree.threshold[node]))
    return f"not {x} > {b}" if _missing_goes_left(tree, node) else f"{x} <= {b}"


def _c_condition(tree: Tree, node: int) -> str:
    x, test = f"x[{_column(tree, node)}]", _test(tree, node)
    if test is not None:
        assert tree.encoding is not None
        categories = tree.encoding.categories[test[0]]
        assert categories is not None
        missing = f" || {x} != {x}" if _missing_goes_left(tree, node) else ""
        return f"{x} == {categories.index(test[1])}{missing}"
    b = repr(float(tree.threshold[node]))
    return f"!({x} > {b})" if _missing_goes_left(tree, node) else f"{x} <= {b}"


def _sql_condition(tree: Tree, node: int) -> str:
    test = _test(tree, node)
    column = _sql_name(_column_name(tree, _column(tree, node)))
    condition = f"{column} <= {float(tree.threshold[node])!r}" if test is None else f"{column} = {_sql_value(test[1])}"
    return f"({condition} OR {column} IS NULL)" if _missing_goes_left(tree, node) else condition


def _column_name(tree: Tree, column: int) -> str:
    names = tree.feature_names if tree.encoding is None else tree.encoding.names
    return f"x{column}" if names is None else names[column]


def _columns_text(tree: Tree) -> str:
    count = tree.n_features if tree.encoding is None else tree.encoding.n_columns
    names = tree.feature_names if tree.encoding is None else tree.encoding.names
    return f"{count} numbers" if names is None else ", ".join(names)


def _sql_name(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def _sql_value(value: Any) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return repr(value)
    escaped = str(value).replace("'", "''")
    return f"'{escaped}'"


def _c_string(text: str) -> str:
    # JSON's escapes are C's, but for characters beyond ASCII, which C reads as they are.
    return json.dumps(text, ensure_ascii=False)


def _commented(text: str) -> str:
    return text.replace("*/", "* /").replace("\n", " ")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', "'").replace("\n", " ")
