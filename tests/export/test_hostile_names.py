"""Names and labels are somebody else's text: every export keeps them text, and answers as the tree does."""

from __future__ import annotations

import html
import re
import shutil
import sqlite3
import subprocess
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from builders import make_tree
from hardwood import AttackModel, GreedyRobustTreeClassifier, InvalidInputError, Model, Tree, load_model
from hardwood.export import to_c, to_python
from hardwood.plain_data import printable
from strategies import hostile_texts, trees

STANDARDS = ("c99", "gnu17")
STUMP = make_tree([0, -1, -1], [0.5, np.nan, np.nan], [1, -1, -1], [2, -1, -1], [-1, 0, 1], np.array(["no", "yes"]), 1)

MAIN = """
#include <stdio.h>
int main(void) {
    double x[8]; int p, n, i; const char *c;
    if (scanf("%d %d", &p, &n) != 2) return 1;
    for (i = 0; i < n; i++) {
        for (c = classify_classes[i]; *c; c++) printf("%02x", (unsigned)(unsigned char)*c);
        putchar('\\n');
    }
    for (;;) {
        for (i = 0; i < p; i++) if (scanf("%lf", &x[i]) != 1) return 0;
        printf("%d\\n", classify(x));
    }
}
"""


def run_c(tree: Tree, points: Any, folder: Path, standard: str) -> list[str]:
    """The answers of the compiled function, each as the label that the compiled array holds."""
    code = tree.to_c("classify")
    assert "??" not in code
    assert code.isascii() or not set(code) - {letter for letter in code if letter.isprintable() or letter == "\n"}
    source, program = folder / "tree.c", folder / "tree"
    source.write_text(code + MAIN, encoding="utf-8")
    build = ["gcc", f"-std={standard}", "-pedantic", "-Wall", "-Wextra", "-Werror", "-o", str(program), str(source)]
    built = subprocess.run(build, capture_output=True, text=True, timeout=120)
    assert built.returncode == 0, built.stderr
    table = "\n".join(" ".join(float(v).hex() for v in row) for row in points)
    lines = subprocess.run(
        [str(program)], input=f"{points.shape[1]} {len(tree.classes)}\n{table}\n", capture_output=True, text=True,
        check=True, timeout=60,
    ).stdout.splitlines()  # fmt: skip
    labels = [bytes.fromhex(line).decode() for line in lines[: len(tree.classes)]]
    assert labels == tree.classes.tolist()
    return [labels[int(line)] for line in lines[len(tree.classes) :]]


def run_python(tree: Tree, points: Any) -> list[Any]:
    scope: dict[str, Any] = {}
    exec(compile(to_python(tree, "classify"), "exported", "exec"), scope)
    assert set(scope) == {"__builtins__", "classify"}
    return [scope["classify"](point) for point in points]


def run_sql(tree: Tree, points: Any) -> list[Any]:
    names = [f"x{j}" for j in range(tree.n_features)] if tree.feature_names is None else list(tree.feature_names)
    quoted = [name.replace('"', '""') for name in names]
    with sqlite3.connect(":memory:") as base:
        base.execute("CREATE TABLE samples ({})".format(", ".join(f'"{name}" REAL' for name in quoted)))
        base.executemany(f"INSERT INTO samples VALUES ({', '.join('?' * len(names))})", points.tolist())
        query = f"SELECT {tree.to_sql(backslashes=True)} FROM samples ORDER BY rowid"
        answers = [row[0] for row in base.execute(query)]
    base.close()
    return answers


def run_onnx(tree: Tree, points: Any, dtype: str = "float64") -> list[Any]:
    onnxruntime = pytest.importorskip("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(tree.to_onnx(dtype), options, providers=["CPUExecutionProvider"])
    answers: list[Any] = session.run(None, {"X": points.astype(dtype)})[0].tolist()
    return answers


def labels_in_dot(code: str) -> dict[str, str]:
    """What Graphviz shows in each node, read by the rules of its language."""
    found = {}
    for line in code.splitlines():
        node = re.fullmatch(r'    (n\d+) \[label="((?:[^"\\]|\\.)*)"(?:, style=rounded)?\];', line)
        if node:
            shown = re.sub(r"\\(.)", lambda escape: {"\\": "\\", '"': '"'}[escape[1]], node[2])
            found[node[1]] = html.unescape(shown)
        else:
            assert re.fullmatch(r'digraph tree \{|    node \[.*\];|    n\d+ -> n\d+ \[label="(yes|no)"\];|\}', line), (
                line
            )
    return found


def labels_in_svg(code: str) -> dict[str, str]:
    drawn = subprocess.run(["dot", "-Tsvg"], input=code, capture_output=True, text=True, check=True, timeout=120).stdout
    space = {"svg": "http://www.w3.org/2000/svg"}
    nodes = ET.fromstring(drawn).findall(".//svg:g[@class='node']", space)
    texts = {node.findtext("svg:title", "", space): node.findtext("svg:text", "", space) for node in nodes}
    return {name: re.sub(r"\s", " ", shown) for name, shown in texts.items()}


def check_dot(tree: Tree) -> None:
    code = tree.to_dot()
    shown = labels_in_dot(code)
    answers = [printable(tree.classes[tree.label[node]]) for node in range(tree.n_nodes) if tree.left[node] < 0]
    assert [shown[f"n{node}"] for node in range(tree.n_nodes) if tree.left[node] < 0] == answers
    assert code.count(" -> ") >= tree.n_nodes - 1
    if shutil.which("dot") and len(code) < 20_000:
        assert labels_in_svg(code) == {name: re.sub(r"\s", " ", text) for name, text in shown.items()}


def is_fit_for_sqlite(names: tuple[str, ...]) -> bool:
    """SQLite takes upper and lower case of ASCII as one, and no name that is empty or holds NUL."""
    folded = {"".join(c.lower() if c.isascii() else c for c in name) for name in names}
    return len(folded) == len(names) and all(name and "\0" not in name for name in names)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    tree=trees(2, 3, 2),
    names=st.lists(hostile_texts(), min_size=2, max_size=2, unique=True),
    labels=st.lists(hostile_texts(), min_size=3, max_size=3, unique=True),
)
@example(tree=replace(STUMP, n_features=2, classes=np.arange(3)),
         names=["*/ int evil(void) { return 1; } /*", "\\"],
         labels=["a\x01", '??/"}; int evil(void) { return 1; } //', "\x01f"])  # fmt: skip
def test_every_export_keeps_hostile_names_text_and_answers_as_the_tree(
    tmp_path: Path, tree: Tree, names: list[str], labels: list[str]
) -> None:
    tree = replace(tree, feature_names=tuple(names), classes=np.array(labels, dtype=object))
    rng = np.random.default_rng(0)
    cuts = [0.5, *tree.threshold[tree.left >= 0]]
    points = rng.choice(np.concatenate([cuts, np.nextafter(cuts, -np.inf), np.nextafter(cuts, np.inf)]), (20, 2))
    expected = tree.predict(points).tolist()

    assert run_python(tree, points) == expected
    assert run_onnx(tree, points) == expected
    rounded = points.astype(np.float32)
    assert run_onnx(tree, rounded, "float32") == tree.predict(rounded).tolist()
    assert tree.to_sklearn().predict(pd.DataFrame(rounded, columns=names)).tolist() == tree.predict(rounded).tolist()
    check_dot(tree)
    assert all(letter.isprintable() or letter == "\n" for letter in tree.to_text())

    Model(tree, AttackModel.parse({names[0]: 0.1})).save(tmp_path / "model.json")
    again = load_model(tmp_path / "model.json")
    assert again.tree == tree
    assert again.predict(points).tolist() == expected

    if any("\0" in label for label in labels):
        with pytest.raises(InvalidInputError, match="NUL"):
            tree.to_c()
    else:
        for standard in STANDARDS:
            assert run_c(tree, points, tmp_path, standard) == expected

    answered = {labels[k] for k in tree.label if k >= 0}
    asked = {names[j] for j in tree.feature if j >= 0}
    if any("\0" in text for text in answered | asked) or "" in asked:
        with pytest.raises(InvalidInputError, match=r"NUL|cannot be"):
            tree.to_sql(backslashes=True)
    elif is_fit_for_sqlite(tuple(names)):
        assert run_sql(tree, points) == expected
        if any("\\" in label for label in answered):
            with pytest.raises(InvalidInputError, match="backslash"):
                tree.to_sql()


@pytest.mark.parametrize("standard", STANDARDS)
@pytest.mark.parametrize(
    "labels",
    [
        ["a\x01", "\x01f"],
        ["??/", "??<??>"],
        ['??/"}; int evil(void) { return 1; } const char *const rest[] = {"', "b"],
        ["\\", '"'],
        ["é", "x" * 10_000],
    ],
    ids=["escapes that swallow letters", "trigraphs", "a function", "escapes", "beyond ASCII and long"],
)
def test_labels_that_once_broke_c_code_are_what_they_are(tmp_path: Path, labels: list[str], standard: str) -> None:
    tree = replace(STUMP, classes=np.array(labels, dtype=object))
    assert run_c(tree, np.array([[0.0], [1.0]]), tmp_path, standard) == labels


@pytest.mark.parametrize("standard", STANDARDS)
def test_comments_cannot_be_ended_or_continued_from_inside(tmp_path: Path, standard: str) -> None:
    for name in ("*/ int evil; /*", "??/\n*/", "\\", "a\\\nb", "/*", "*", "\u202e\u2066", "é"):
        tree = replace(STUMP, feature_names=(name,))
        assert run_c(tree, np.array([[0.0], [1.0]]), tmp_path, standard) == ["no", "yes"]


@pytest.mark.parametrize(
    "name",
    ["int", "for", "main", "_Bool", "__x", "restrict", "bool", "printf", "log", "index", "linux", "NULL x", "é", "2go",
     "", "a b", "x\n", "a;b"],
)  # fmt: skip
def test_names_that_no_c_function_can_have_are_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match="not a name that a C function can have"):
        to_c(STUMP, name)


@pytest.mark.parametrize("name", ["class", "None", "__debug__", "2go", "a b", "", "x\n", "a;b", "f(x):#"])
def test_names_that_no_python_function_can_have_are_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match="not a name that a Python function can have"):
        to_python(STUMP, name)


def test_every_name_that_is_not_refused_builds(tmp_path: Path) -> None:
    for name in ("predict", "int_", "Class", "new", "_x", "x1", "MAIN"):
        source = tmp_path / "named.c"
        source.write_text(to_c(STUMP, name))
        for standard in STANDARDS:
            build = ["gcc", f"-std={standard}", "-Wall", "-Werror", "-c", "-o", str(tmp_path / "named.o"), str(source)]
            subprocess.run(build, check=True, timeout=60)


def test_categories_are_as_hostile_as_labels(tmp_path: Path) -> None:
    kinds = ["it's", '"', "*/", "??/", "\x01f", "a\nb", "</script>", "😀"]
    table = pd.DataFrame({"*/ kind": pd.Categorical([kinds[k % 8] for k in range(64)])})
    clf = GreedyRobustTreeClassifier(4).fit(table, np.arange(64) % 8 % 3)
    expected = clf.predict(table).tolist()
    rows = [[value] for value in table["*/ kind"]]
    assert run_python(clf.tree_, rows) == expected
    assert clf.tree_.encoding is not None
    listed = list(clf.tree_.encoding.categories[0] or ())
    codes = np.array([[listed.index(row[0])] for row in rows])
    words = replace(clf.tree_, classes=np.array(["zero", "one", "two"]))
    for standard in STANDARDS:
        assert run_c(words, codes, tmp_path, standard) == [["zero", "one", "two"][k] for k in expected]
    with sqlite3.connect(":memory:") as base:
        base.execute('CREATE TABLE samples ("*/ kind" TEXT)')
        base.executemany("INSERT INTO samples VALUES (?)", rows)
        query = f"SELECT {clf.tree_.to_sql()} FROM samples ORDER BY rowid"
        assert [row[0] for row in base.execute(query)] == expected
    base.close()


def test_a_tree_too_deep_for_nested_code_is_refused_with_the_reason() -> None:
    for write in (Tree.to_c, Tree.to_python, Tree.to_sql):
        with pytest.raises(InvalidInputError, match="500 splits deep"):
            write(chain(500))
    with pytest.raises(InvalidInputError, match="2000 splits deep"):
        chain(2000).to_onnx()
    points = np.arange(-1, 92)[:, None] + 0.25
    assert run_python(chain(90), points) == chain(90).predict(points).tolist()
    assert run_sql(chain(90), points) == chain(90).predict(points).tolist()


def test_a_tree_of_a_million_levels_answers() -> None:
    tree = chain(1_000_000)
    assert tree.predict([[-1.0], [0.0], [999_998.5], [2e6]]).tolist() == [0, 0, 1, 0]
    assert tree.depth == 1_000_000
    assert chain(3000).to_text().count("\n") == 2 * 3000 - 1


def chain(depth: int) -> Tree:
    """A tree whose right branch goes on: x <= 0, x <= 1, ... with alternating answers."""
    k = np.arange(depth)
    feature, threshold = np.full(2 * depth + 1, -1), np.full(2 * depth + 1, np.nan)
    left, right, label = (np.full(2 * depth + 1, -1) for _ in range(3))
    feature[2 * k], threshold[2 * k], left[2 * k], right[2 * k] = 0, k, 2 * k + 1, 2 * k + 2
    label[2 * k + 1], label[2 * depth] = k % 2, depth % 2
    return make_tree(feature, threshold, left, right, label, np.array([0, 1]), 1)
