from __future__ import annotations

import doctest
import importlib
import json
import pkgutil
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import hardwood

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PYTHON = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
JSON = re.compile(r"^```json\n(.*?)^```", re.MULTILINE | re.DOTALL)
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(hardwood.__path__, "hardwood.")
    if not module.name.startswith(("hardwood.kernels", "hardwood.__main__"))
)


def what_pages_speak_of() -> dict[str, Any]:
    """Return the names that a page may use without defining them: a table X with labels y, and all public names."""
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


@pytest.mark.parametrize(
    "page", [page for page in PAGES if PYTHON.search(page.read_text(encoding="utf-8"))], ids=lambda page: page.stem
)
def test_code_on_the_pages_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    for block in JSON.findall(text):
        Path("attacker.json").write_text(json.dumps(json.loads(block)))
    scope = what_pages_speak_of()
    for block in PYTHON.findall(text):
        if "dask_jobqueue" in block:
            continue  # needs a cluster
        exec(compile(block, str(page), "exec"), scope)
    plt.close("all")


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_true(name: str) -> None:
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        pytest.skip(f"{name} needs something that is not installed: {error}")
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS).failed == 0
