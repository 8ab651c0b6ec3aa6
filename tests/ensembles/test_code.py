"""Ensembles as C, Python, SQL and ONNX answer as the ensemble does, on thresholds, on ties and on gaps."""

from __future__ import annotations

import sqlite3
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from ensemble_models import near_thresholds, table
from hardwood import InvalidInputError, RobustBoostingClassifier, RobustForestClassifier, as_ensemble, load_model
from hardwood.ensembles.scores import Ensemble

LEARNERS: dict[str, Any] = {
    "stumps": lambda: RobustBoostingClassifier(8, attack=0.03, missing="reachable", learning_rate=0.5),
    "trees": lambda: RobustBoostingClassifier(5, attack=0.03, max_depth=2, missing="reachable"),
    "votes": lambda: RobustForestClassifier(6, attack=0.03, max_depth=3, missing="reachable"),
    "shares": lambda: RobustForestClassifier(6, attack=0.03, max_depth=3, voting="soft", missing="reachable"),
}


def points_of(ensemble: Ensemble, rng: np.random.Generator) -> Any:
    cuts = [
        np.unique(np.concatenate([t.threshold[t.feature == j] for t in ensemble.trees]))
        for j in range(ensemble.n_features)
    ]
    points = np.concatenate([near_thresholds(rng, cuts, 150), rng.random((150, ensemble.n_features))])
    return np.where(rng.random(points.shape) < 0.1, np.nan, points)


def by_c(ensemble: Ensemble, points: Any, folder: Path) -> list[str]:
    main = """
#include <stdio.h>
int main(void) {
    double x[64]; int p, i;
    if (scanf("%d", &p) != 1) return 1;
    for (;;) {
        for (i = 0; i < p; i++) if (scanf("%lf", &x[i]) != 1) return 0;
        puts(classify_classes[classify(x)]);
    }
}
"""
    source = folder / "ensemble.c"
    source.write_text(ensemble.to_c("classify") + main, encoding="utf-8")
    program = folder / "ensemble"
    subprocess.run(
        ["cc", "-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", str(source), "-o", str(program)], check=True
    )
    rows = "\n".join(" ".join(repr(float(v)) for v in row) for row in points)
    answer = subprocess.run([str(program)], input=f"{points.shape[1]}\n{rows}\n", text=True, capture_output=True)
    return answer.stdout.splitlines()


def by_sql(ensemble: Ensemble, points: Any, names: list[str]) -> list[Any]:
    with sqlite3.connect(":memory:") as base:
        base.execute(f"CREATE TABLE samples ({', '.join(names)})")
        rows = [[None if v != v else v for v in row] for row in points]
        base.executemany(f"INSERT INTO samples VALUES ({', '.join('?' * len(names))})", rows)
        found = [row[0] for row in base.execute(f"SELECT {ensemble.to_sql()} FROM samples ORDER BY rowid")]
    base.close()
    return found


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", LEARNERS)
def test_every_language_gives_the_ensembles_own_answers(kind: str, classes: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(classes)
    X, code = table(rng, 80, 3, classes)
    y = np.array(["no", "yes", "may'be"])[code]
    X[0, 0] = np.nan
    model = LEARNERS[kind]().fit(X, y)
    ensemble = model.ensemble_
    points = points_of(ensemble, rng)
    expected = ensemble.predict(points).tolist()
    space: dict[str, Any] = {}
    exec(ensemble.to_python("classify"), space)
    assert [space["classify"](row) for row in points.tolist()] == expected
    assert by_c(ensemble, points, tmp_path) == expected
    assert by_sql(ensemble, points, ["x0", "x1", "x2"]) == expected
    model.save(tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").predict(points).tolist() == expected


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", LEARNERS)
def test_onnx_gives_the_ensembles_own_answers(kind: str, classes: int) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    rng = np.random.default_rng(classes)
    X, y = table(rng, 80, 3, classes)
    X[0, 0] = np.nan
    ensemble = LEARNERS[kind]().fit(X, y).ensemble_
    points = points_of(ensemble, rng)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(ensemble.to_onnx(), options, providers=["CPUExecutionProvider"])
    found = session.run(None, {"X": points})[0]
    same = found == ensemble.predict(points)
    if classes == 2:
        assert same.all()
    else:
        scores = np.sort(ensemble.scores(points), axis=1)
        assert np.all(same | (scores[:, -1] - scores[:, -2] < 1e-5))


def test_categories_are_exported_as_questions(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"shop": pd.Categorical(rng.choice(["a'b", "c", "d"], 80)), "amount": rng.random(80).round(2)})
    y = np.where((frame["shop"] == "c") | (frame["amount"] > 0.7), 1, 0)
    model = RobustBoostingClassifier(10, learning_rate=0.5).fit(frame, y)
    expected = model.predict(frame).tolist()
    space: dict[str, Any] = {}
    exec(model.ensemble_.to_python(), space)
    rows = frame.astype(object).to_numpy().tolist()
    assert [space["predict"](row) for row in rows] == expected
    assert by_sql(model.ensemble_, rows, ["shop", "amount"]) == expected
    with pytest.raises(InvalidInputError, match="categorical"):
        model.ensemble_.to_onnx()
    model.save(tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").predict(frame).tolist() == expected


def test_scores_that_are_no_plain_sums_are_refused() -> None:
    X, y = table(np.random.default_rng(0), 50, 2, 2)
    forest = as_ensemble(RandomForestClassifier(3, random_state=0).fit(X, y))
    for export in (forest.to_c, forest.to_python, forest.to_sql, forest.to_onnx):
        with pytest.raises(InvalidInputError, match="plain sums"):
            export()
    with pytest.raises(InvalidInputError, match="name="):
        RobustForestClassifier(2).fit(X, y).ensemble_.to_c("while")
