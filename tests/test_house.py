"""The shape of the code itself: how long functions and modules are, and which names mean which thing."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import hardwood

SOURCE = Path(hardwood.__file__).parent
LONGEST_FUNCTION, LONGEST_MODULE = 60, 430


def modules() -> Iterator[tuple[str, str]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield path.relative_to(SOURCE).as_posix(), path.read_text(encoding="utf-8")


def test_no_function_is_longer_than_a_screen() -> None:
    long = {
        f"{name}: {node.name}": node.end_lineno - node.lineno + 1
        for name, text in modules()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > LONGEST_FUNCTION
    }
    assert long == {}


def test_no_module_is_longer_than_a_reader_keeps_in_mind() -> None:
    assert {name for name, text in modules() if len(text.splitlines()) > LONGEST_MODULE} == set()


def test_modules_import_the_core_from_the_package_and_nothing_else() -> None:
    """The import contract cannot see a compiled module and takes it for the package, so it looks away there."""
    taken = {
        alias.name
        for _, text in modules()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and node.module == "hardwood"
        for alias in node.names
    }
    known = {name.removesuffix(".py") for name, _ in modules() if "/" not in name}
    assert taken - known == {"_core"}


def test_a_public_name_is_defined_once() -> None:
    """A class or alias that exists twice makes a reader ask which one is meant."""
    found = Counter(
        name
        for _, text in modules()
        for node in ast.parse(text).body
        for name in defined_by(node)
        if not name.startswith("_")
    )
    assert {name for name, count in found.items() if count > 1} == set()


def defined_by(node: ast.stmt) -> list[str]:
    """Names of the class or type alias (in capitalised words) that a statement defines."""
    if isinstance(node, ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    return [name for name in names if name[:1].isupper() and not name.isupper()]
