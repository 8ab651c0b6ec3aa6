"""Code on the pages: run when they are built, with what it gives under it, and run by the tests."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
JSON = re.compile(r"^```json\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MOST_LINES, MOST_LETTERS = 12, 110


def what_pages_speak_of() -> dict[str, Any]:
    """Return the names that a page may use without defining them: a table X with labels y, and all public names."""
    import numpy as np
    import pandas as pd

    import hardwood

    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.random((80, 3)), columns=["income", "hours", "age"])
    y = (X["income"] + 0.3 * rng.random(80) > 0.6).astype(int)
    return {
        **{name: getattr(hardwood, name) for name in hardwood.__all__},
        "__name__": "page",
        "X": X,
        "y": y,
        "problem": hardwood.Problem.from_data(X, y, 0.1),
    }


def run_page(text: str, name: str) -> Iterator[tuple[str, str]]:
    """Run the blocks of a page, in order and in the current folder; yield each with what it gives."""
    for block in JSON.findall(text):
        Path("attacker.json").write_text(json.dumps(json.loads(block)))
    scope = what_pages_speak_of()
    for block in PYTHON.findall(text):
        # A block about a cluster needs one.
        yield block, "" if "dask_jobqueue" in block else _run(block, name, scope)


def _run(block: str, name: str, scope: dict[str, Any]) -> str:
    """Run a block as a prompt would: what expressions give is shown, and what is printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        for statement in ast.parse(block, name).body:
            if isinstance(statement, ast.Expr):
                value = eval(compile(ast.Expression(statement.value), name, "eval"), scope)
                if value is not None and not type(value).__module__.startswith("matplotlib"):
                    print(_shortened(repr(value)))
            else:
                exec(compile(ast.Module([statement], []), name, "exec"), scope)
    return printed.getvalue().rstrip()


def _shortened(text: str) -> str:
    lines = text.splitlines()
    shown = [line if len(line) <= MOST_LETTERS else f"{line[: MOST_LETTERS - 1]}…" for line in lines[:MOST_LINES]]
    return "\n".join([*shown, "…"] if len(lines) > MOST_LINES else shown)


def with_outputs(text: str, name: str) -> str:
    """Return a page with the output of each block of code under it."""
    if not PYTHON.search(text):
        return text
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            outputs = iter([output for _, output in run_page(text, name)])
        finally:
            os.chdir(here)

    def add(block: re.Match[str]) -> str:
        output = next(outputs)
        return block[0] if not output else f"{block[0]}\n\n```text\n{output}\n```"

    return PYTHON.sub(add, text)
