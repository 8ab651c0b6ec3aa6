"""Trees as SQL expressions, in the standard's own dialect."""

from __future__ import annotations

from typing import Any

from hardwood.errors import InvalidInputError
from hardwood.export.code import answer, category_test, check_depth, column_names, column_of, missing_goes_left
from hardwood.plain_data import as_label
from hardwood.tree.tree import Tree

_LARGEST_INTEGER = 2**63 - 1


def to_sql(tree: Tree, *, backslashes: bool = False) -> str:
    r"""Return an SQL ``CASE`` expression for the class, in standard SQL: columns in ``"..."``, texts in ``'...'``.

    SQLite, PostgreSQL and DuckDB read it as it is; MySQL and MariaDB need ``sql_mode='ANSI_QUOTES'``. Columns must be
    of a type with double precision and, where they hold text, compare letter by letter. Without feature names the
    columns are x0, x1, ... SQLite reads some decimals one unit in the last place off, which matters to values that
    stand exactly on a threshold.

    Parameters
    ----------
    tree : Tree
    backslashes : bool
        Whether labels and categories may hold backslashes. Standard SQL reads them as letters; MySQL, Spark and
        BigQuery by default as escapes, so that ``'\'`` would not end where it seems to. So they are refused unless
        the database is known to follow the standard.
    """
    check_depth(tree, "SQL")
    names = unique_columns(tree)

    def value(one: Any) -> str:
        return sql_value(one, backslashes=backslashes)

    def condition(node: int) -> str:
        return sql_condition(tree, node, names, backslashes=backslashes)

    # One line per leaf, from left to right. The first line that holds counts, so a leaf need not say where its path
    # goes right: had the question been true, a line before would have held. Nested CASEs overflow SQLite's parser.
    lines: list[str] = []
    waiting: list[tuple[int, tuple[str, ...]]] = [(0, ())]
    while waiting:
        node, path = waiting.pop()
        if tree.left[node] >= 0:
            waiting += [(int(tree.right[node]), path), (int(tree.left[node]), (*path, condition(node)))]
        elif path:
            lines.append(f"  WHEN {' AND '.join(path)} THEN {value(answer(tree, node))}")
        else:
            lines.append(f"  ELSE {value(answer(tree, node))}")
    return "\n".join(["CASE", *lines, "END"]) if len(lines) > 1 else value(answer(tree, 0))


def unique_columns(tree: Tree) -> tuple[str, ...] | None:
    """Return the names of the columns, no two of which may be the same."""
    names = column_names(tree)
    if names is not None and len(set(names)) < len(names):
        raise InvalidInputError("two features have the same name; columns of SQL cannot")
    return names


def sql_condition(tree: Tree, node: int, names: tuple[str, ...] | None, *, backslashes: bool) -> str:
    """Return the question of a split."""
    test, j = category_test(tree, node), column_of(tree, node)
    column = _name(f"x{j}" if names is None else names[j])
    if test is None:
        asked = f"{column} <= {float(tree.threshold[node])!r}"
    else:
        asked = f"{column} = {sql_value(test[1], backslashes=backslashes)}"
    return f"({asked} OR {column} IS NULL)" if missing_goes_left(tree, node) else asked


def _name(name: str) -> str:
    if not name or "\0" in name:
        raise InvalidInputError(f"a feature is called {name!r}; a column of SQL cannot be")
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def sql_value(value: Any, *, backslashes: bool) -> str:
    """Return a label or a category as a literal, or refuse it."""
    value = as_label(value, "a label")
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int) and not -_LARGEST_INTEGER - 1 <= value <= _LARGEST_INTEGER:
        raise InvalidInputError(f"the label {value} does not fit into an integer of SQL (64 bits)")
    if isinstance(value, int | float):
        return repr(value)
    if "\0" in value:
        raise InvalidInputError(f"the label {value!r} holds NUL, which no text of SQL can")
    if "\\" in value and not backslashes:
        raise InvalidInputError(
            f"the label {value!r} holds a backslash, which SQLite, PostgreSQL and DuckDB read as a letter but MySQL, "
            "Spark and BigQuery as an escape; for a database of the first kind use tree.to_sql(backslashes=True)"
        )
    escaped = value.replace("'", "''")
    return f"'{escaped}'"
