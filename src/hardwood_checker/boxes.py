"""From a table and the header's attack to the box of every row, as docs/proof_format.md says."""

from __future__ import annotations

import csv
import hashlib
import io
import os
from typing import Any

import numpy as np

from hardwood_checker.reading import Unusable, field, number

MISSING = {"", "na", "nan", "null", "none", "?", "n/a"}
SEPARATORS = ",;\t|"
# Relative and least spacing of the types in which numbers came.
ROUNDING = {"float64": (2.0**-52, 2.0**-1074), "float32": (2.0**-23, 2.0**-149), "float16": (2.0**-10, 2.0**-24)}
LARGEST = float(np.nextafter(np.finfo(np.float64).max, 0))


def read_boxes(header: Any, X: Any, y: Any) -> tuple[Any, Any, Any]:
    """Return lower and upper ends of shape (rows, features) and the class of each row."""
    specs, classes = field(header, "columns", list), field(header, "classes", list)
    attack = [field(one, "columns", list) for one in field(header, "attack", list)]
    if len(attack) != len(classes) or any(len(reach) != len(specs) for reach in attack) or not specs or not classes:
        raise Unusable("the header must say for each class and column what the attacker can do")
    if isinstance(X, str | os.PathLike):
        cells, labels = _read_csv(X, [field(spec, "name", str) for spec in specs], field(header, "target", str))
    else:
        cells, labels = _from_memory(X, y, len(specs))
    if len(labels) != field(header, "rows", int) or any(len(column) != len(labels) for column in cells):
        raise Unusable(f"the proof is about {header['rows']} rows, the data have {len(labels)}")
    label = _codes(labels, classes)
    if ((label < 0) | (label >= len(classes))).any():
        raise Unusable("the data have a label that is none of the proof's classes")
    ends = []
    for j, (values, spec) in enumerate(zip(cells, specs, strict=True)):
        categories = field(spec, "categories", list, type(None))
        reaches = [reach[j] for reach in attack]
        ends.append(
            _numeric(_numbers(values), field(spec, "type", str), reaches, label)
            if categories is None
            else _categorical(_codes(values, categories), len(categories), reaches, label)
        )
    lower, upper = (np.concatenate([pair[k] for pair in ends], axis=1) + 0.0 for k in range(2))
    digest = hashlib.sha256(lower.astype("<f8").tobytes() + upper.astype("<f8").tobytes())
    digest.update(label.astype("<i8").tobytes())
    if np.isnan(lower).any() or digest.hexdigest() != field(header, "digest", str):
        raise Unusable("these are not the data that the proof is about")
    return lower, upper, label


def _read_csv(path: str | os.PathLike[str], names: list[str], target: str) -> tuple[list[Any], list[Any]]:
    try:
        with open(path, encoding="utf-8-sig", newline="") as stream:
            text = stream.read()
    except (OSError, ValueError) as error:
        raise Unusable(f"the data cannot be read: {error}") from error
    first = next((line for line in text.splitlines() if line.strip()), "")
    # Lines end as files end them; other signs that Python takes for ends of lines are part of a cell.
    cells = csv.reader(io.StringIO(text, newline=None), delimiter=max(SEPARATORS, key=first.count))
    rows = [[cell.strip() for cell in row] for row in cells if any(cell.strip() for cell in row)]
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        raise Unusable("the rows of the CSV file differ in length")
    for name in (*names, target):
        if rows[0].count(name) != 1:
            raise Unusable(f"the CSV file has no column {name!r}, or several")
    columns = [[row[rows[0].index(name)] for row in rows[1:]] for name in (*names, target)]
    return columns[:-1], columns[-1]


def _from_memory(X: Any, y: Any, width: int) -> tuple[list[Any], list[Any]]:
    table = X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X)
    if table.ndim != 2 or table.shape[1] != width or y is None:
        raise Unusable(f"a table with {width} columns, and y, are needed")
    return [table[:, j].tolist() for j in range(width)], np.asarray(y).tolist()


def _is_missing(value: Any) -> bool:
    if isinstance(value, str):
        return value.lower() in MISSING
    return value is None or type(value).__name__ == "NAType" or value != value


def _codes(values: list[Any], known: list[Any]) -> Any:
    """Return the place of each value among the known ones, as many as there are if it is none, -1 if it is missing."""
    places = {key: k for k, value in enumerate(known) for key in ((value, str(value)) if value is not None else ())}
    return np.array([-1 if _is_missing(v) else places.get(v, len(known)) for v in values], dtype=np.int64)


def _numbers(values: list[Any]) -> Any:
    try:
        return np.array([np.nan if _is_missing(value) else float(value) for value in values])
    except (TypeError, ValueError) as error:
        raise Unusable(f"a column of numbers holds something else: {error}") from error


def _numeric(x: Any, kind: str, reaches: list[Any], label: Any) -> tuple[Any, Any]:
    """Return ends at x ∓ Δ, a little farther out by as much as that arithmetic can be wrong."""
    if kind not in ROUNDING:
        raise Unusable(f"the header knows no type {kind[:60]!r}")
    ends = []
    for name, sign, beyond in (("down", -1.0, -np.inf), ("up", 1.0, np.inf)):
        reach = np.array([np.inf if r == "inf" else number(r, name) for r in (field(one, name, int, float, str)
                          for one in reaches)], float)[label]  # fmt: skip
        if (reach < 0).any():
            raise Unusable("the header has a negative radius")
        relative, least = ROUNDING[kind]
        with np.errstate(over="ignore", invalid="ignore"):
            ulp = np.maximum(np.spacing(np.minimum(np.abs(x) + reach, LARGEST)) * (relative / 2.0**-52), least)
            step = np.maximum(2.0**-20, ulp * (2.0**20 if kind == "float64" else 2.0**10))
            is_exact = (x == np.rint(x / step) * step) & (reach == np.rint(reach / step) * step)
            noise = np.where((reach > 0) & ~is_exact, np.maximum(1e-9 * reach, 4 * ulp), 0.0)
            ends.append(np.where(np.isnan(x), beyond, (x + sign * reach) + sign * noise))
    return _inside(ends[0], ends[1], reaches, label)


def _inside(lower: Any, upper: Any, reaches: list[Any], label: Any) -> tuple[Any, Any]:
    """Cut boxes off at the bounds of the column and at the whole numbers inside them, as far as the header has any."""
    low = np.array([number(reach["minimum"], "minimum") if "minimum" in reach else -np.inf for reach in reaches],
                   float)[label]  # fmt: skip
    high = np.array([number(reach["maximum"], "maximum") if "maximum" in reach else np.inf for reach in reaches],
                    float)[label]  # fmt: skip
    whole = np.array([reach.get("integer", False) for reach in reaches])
    if whole.dtype != bool:
        raise Unusable("the header's 'integer' must be true or false")
    lower, upper = np.maximum(lower, low), np.minimum(upper, high)
    lower, upper = np.where(whole[label], np.ceil(lower), lower), np.where(whole[label], np.floor(upper), upper)
    return lower[:, None], upper[:, None]


def _categorical(code: Any, k: int, reaches: list[Any], label: Any) -> tuple[Any, Any]:
    """Return ends on one feature per category: 0 for this category, 1 for any other."""
    tables = [field(reach, "can_become", list) for reach in reaches]
    for rows in tables:
        if len(rows) != k + 1 or not all(isinstance(r, str) and len(r) == k + 1 and set(r) <= {"0", "1"} for r in rows):
            raise Unusable("'can_become' must have a row of 0 and 1 for each category and one for all others")
    can_be = np.array([[[d == "1" for d in row] for row in rows] for rows in tables], bool)[label, np.maximum(code, 0)]
    lower = np.where(can_be[:, :k], 0.0, 1.0)
    upper = np.where(can_be.sum(axis=1, keepdims=True) > can_be[:, :k], 1.0, 0.0)
    missing = (code < 0)[:, None]
    return np.where(missing, -np.inf, lower), np.where(missing, np.inf, upper)
