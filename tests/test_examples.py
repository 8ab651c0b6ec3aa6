from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("*.py"))
PICTURES = {
    "plot_tree_and_regions": ["regions.png", "tree.png"],
    "plot_robustness": ["robustness.png"],
    "plot_convergence": ["convergence.png"],
    "plot_what_each_loses": ["what-each-loses.png"],
}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    monkeypatch.setattr(sys, "argv", [str(example), str(tmp_path)])
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(example), run_name="__main__")
    matplotlib.pyplot.close("all")
    assert sorted(os.listdir(tmp_path)) == PICTURES.get(example.stem, [])
