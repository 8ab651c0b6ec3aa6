"""What a table spans, in a few rows."""

from __future__ import annotations

import numpy as np

from hardwood.arrays import FloatArray

ROWS_AT_A_TIME = 4096
"""Rows of a table that are looked at together where all of them would take much memory."""


def extremes(values: FloatArray) -> FloatArray:
    """Return three rows with the least and the largest value of each column and, if there is any, one with decimals.

    Enough to say what a fraction of the range is, and which columns are whole numbers, without keeping the data.
    """
    least, most = np.nan_to_num(np.fmin.reduce(values, axis=0)), np.nan_to_num(np.fmax.reduce(values, axis=0))
    third, whole = least.copy(), np.arange(values.shape[1])  # columns that are whole numbers so far
    # Some rows at a time: mostly the first of them say all, and a mask of a large table is as large as an eighth of it.
    for begin in range(0, len(values), ROWS_AT_A_TIME):
        rows = values[begin : begin + ROWS_AT_A_TIME, whole]
        with np.errstate(invalid="ignore"):
            broken = np.isfinite(rows) & (rows != np.floor(rows))
        found = np.flatnonzero(broken.any(axis=0))
        third[whole[found]] = rows[broken.argmax(axis=0)[found], found]
        whole = np.delete(whole, found)
        if len(whole) == 0:
            break
    return np.vstack([least, most, third])
