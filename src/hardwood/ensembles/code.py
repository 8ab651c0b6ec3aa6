"""Ensembles as source code: C, Python and SQL, and as ONNX models.

Each split is written as `hardwood.export` writes it for single trees. The values of hardwood's own ensembles are whole
multiples of a small power of two (`hardwood.ensembles.boosting.learner.GRID`), so their sums are exact in float64, in
whatever order a database or a runtime adds them up, and every export answers as the ensemble does, to the last tie.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hardwood.arrays import FloatArray
from hardwood.ensembles.scores import Ensemble, Link, Rule
from hardwood.errors import InvalidInputError
from hardwood.export.c import c_categories, c_classes, c_columns, c_condition, check_c_name
from hardwood.export.code import check_depth, column_names, labels_of, n_columns, nested_lines
from hardwood.export.onnx import OnnxAnswer, write_onnx
from hardwood.export.python import check_python_name, in_docstring, python_condition
from hardwood.export.sql import sql_condition, sql_value, unique_columns
from hardwood.tree.tree import Tree

MOST_LEAVES = 100_000
"""Code of more leaves is some ten megabytes, which compilers and databases give up on."""


def _members(ensemble: Ensemble, language: str) -> list[tuple[Tree, FloatArray]]:
    """Return the trees with names and categories, and the values of their nodes; refuse what code cannot express."""
    if ensemble.rule not in (Rule(Link.CUTOFF), Rule(Link.ARGMAX)):
        raise InvalidInputError(
            f"the scores of {ensemble.library} are not plain sums of float64; export the model with its own library"
        )
    if ensemble.n_leaves > MOST_LEAVES:
        raise InvalidInputError(
            f"{language} code of {ensemble.n_leaves} leaves is too long to be of use; at most {MOST_LEAVES} are written"
        )
    found = []
    for one in ensemble.trees:
        is_leaf = one.left < 0
        tree = Tree(
            one.feature,
            one.threshold,
            one.left,
            one.right,
            np.where(is_leaf, 0, -1),
            ensemble.classes,
            ensemble.n_features,
            ensemble.feature_names,
            missing_left=one.missing_left if ensemble.takes_missing else None,
            encoding=ensemble.encoding,
        )
        check_depth(tree, language)
        found.append((tree, one.value))
    return found


def to_c(ensemble: Ensemble, name: str = "predict") -> str:
    """Return a C function ``int name(const double *x)`` that returns the index of the class.

    As `hardwood.export.to_c` does for a tree; the labels follow as an array ``name_classes``.
    """
    check_c_name(name)
    members = _members(ensemble, "C")
    first = members[0][0]
    base = ", ".join(map(_number, ensemble.base))
    lines = [
        "/*",
        f" * Returns the index of the class of one sample; x holds {c_columns(first)}.",
        *c_categories(first),
        " */",
        *c_classes(labels_of(first), name),
        "",
        f"int {name}(const double *x)",
        "{",
        f"    double s[{len(ensemble.base)}] = {{{base}}};",
    ]

    lines.append("    (void)x;")
    for tree, value in members:
        lines += _nested(tree, value, c_condition, ("if ({}) {{", "} else {", "}"), ("s[{}] += {};", " ", ";"))
    if ensemble.rule.link is Link.CUTOFF:
        lines.append("    return s[0] >= 0.0;")
    else:
        lines += [
            "    int best = 0;",
            f"    for (int k = 1; k < {len(ensemble.base)}; ++k)",
            "        if (s[k] > s[best])",
            "            best = k;",
            "    return best;",
        ]
    return "\n".join([*lines, "}"]) + "\n"


def to_python(ensemble: Ensemble, name: str = "predict") -> str:
    """Return a Python function without dependencies that takes the features of one sample and returns its class."""
    check_python_name(name)
    members = _members(ensemble, "Python")
    first = members[0][0]
    names = column_names(first)
    columns = f"{n_columns(first)} numbers" if names is None else ", ".join(names)
    labels = labels_of(first)
    lines = [
        f"def {name}(x):",
        f'    """Return the class of one sample; x holds {in_docstring(columns)}."""',
        f"    s = [{', '.join(map(_number, ensemble.base))}]",
    ]

    for tree, value in members:
        lines += _nested(tree, value, python_condition, ("if {}:", "else:", None), ("s[{}] += {}", "; ", "pass"))
    best = "s[0] >= 0.0" if ensemble.rule.link is Link.CUTOFF else "s.index(max(s))"
    lines.append(f"    return {labels!r}[{best}]")
    return "\n".join(lines) + "\n"


def to_sql(ensemble: Ensemble, *, backslashes: bool = False) -> str:
    """Return an SQL expression for the class, in standard SQL; see `hardwood.export.to_sql`.

    More than two classes compare sums that a subquery without a table computes, which SQLite, PostgreSQL and DuckDB
    understand.
    """
    members = _members(ensemble, "SQL")
    names = unique_columns(members[0][0])
    labels = [sql_value(label, backslashes=backslashes) for label in labels_of(members[0][0])]
    sums = []
    for k, base in enumerate(ensemble.base):
        terms = [_number(base)]
        for tree, value in members:
            if np.any(value[:, k] != 0):
                terms.append(_sql_case(tree, value[:, k], names, backslashes))
        sums.append(_balanced(terms))
    if ensemble.rule.link is Link.CUTOFF:
        return f"CASE WHEN {sums[0]} >= 0.0\n THEN {labels[1]} ELSE {labels[0]} END"
    columns = ", ".join(f"{one} AS s{k}" for k, one in enumerate(sums))
    cases = [
        f"WHEN {' AND '.join(f's{k} >= s{other}' for other in range(len(sums)) if other != k)} THEN {label}"
        for k, label in enumerate(labels)
    ]
    return f"(SELECT CASE {' '.join(cases)} END\nFROM (SELECT {columns}) AS hardwood_scores)"


def _sql_case(tree: Tree, value: FloatArray, names: Any, backslashes: bool) -> str:
    """Write what one tree adds to one score, one line per leaf; the first line that holds counts."""
    lines: list[str] = []
    waiting: list[tuple[int, tuple[str, ...]]] = [(0, ())]
    while waiting:
        node, path = waiting.pop()
        if tree.left[node] >= 0:
            here = sql_condition(tree, node, names, backslashes=backslashes)
            waiting += [(int(tree.right[node]), path), (int(tree.left[node]), (*path, here))]
        elif path:
            lines.append(f"WHEN {' AND '.join(path)} THEN {_number(value[node])}")
        else:
            lines.append(f"ELSE {_number(value[node])}")
    return f"\nCASE {' '.join(lines)} END" if len(lines) > 1 else _number(value[0])


def _balanced(terms: list[str]) -> str:
    """Add up terms as a tree of few levels: databases limit how deep expressions may be, and the sums are exact."""
    while len(terms) > 1:
        terms = [" + ".join(terms[k : k + 8]) for k in range(0, len(terms), 8)]
        terms = [f"({term})" for term in terms]
    return terms[0]


def to_onnx(ensemble: Ensemble, dtype: str = "float64") -> bytes:
    """Return an ONNX model with the answers of the ensemble, as the content of a file; see `hardwood.export.to_onnx`.

    The operator adds up doubles, but hands the sums over as float32. With two classes that changes no answer; of more
    classes, scores that differ by less than float32 can tell count as equal, and the first wins. With
    ``dtype="float32"`` runtimes may round every addition.
    """
    members = _members(ensemble, "ONNX")
    if ensemble.encoding is not None:
        raise InvalidInputError(
            "the trees have categorical features, which ONNX's trees do not know; export C, Python or SQL instead"
        )
    labels = labels_of(members[0][0])
    values = [value for _, value in members]
    trees = [tree for tree, _ in members]
    if np.any(ensemble.base != 0):
        none = np.array([-1])
        trees.append(Tree(none, np.array([np.nan]), none, none, none + 1, ensemble.classes, ensemble.n_features))
        values.append(ensemble.base[None, :])
    answer = OnnxAnswer.CUTOFF if ensemble.rule.link is Link.CUTOFF else OnnxAnswer.ARGMAX
    if answer is OnnxAnswer.ARGMAX and len(labels) == 2:
        # The first class wins a tie: it is the second one of a cutoff when the classes change places.
        values, labels, answer = [value[:, :1] - value[:, 1:] for value in values], labels[::-1], OnnxAnswer.CUTOFF
    return write_onnx(trees, values, labels, dtype, answer)


def _nested(
    tree: Tree,
    value: FloatArray,
    condition: Callable[[Tree, int], str],
    words: tuple[str, str, str | None],
    addition: tuple[str, str, str],
) -> list[str]:
    """Write one tree: the words of a question, and how a leaf adds to scores (each, between them, and none)."""
    each, between, nothing = addition

    def leaf(node: int) -> str:
        return between.join(each.format(k, _number(value[node, k])) for k in np.flatnonzero(value[node])) or nothing

    return nested_lines(tree, lambda node: words[0].format(condition(tree, node)), words[1], words[2], leaf)


def _number(value: Any) -> str:
    return repr(float(value))
