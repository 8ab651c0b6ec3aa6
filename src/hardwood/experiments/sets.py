"""The data sets of experiments and how they are divided."""

from __future__ import annotations

from typing import Any

from hardwood.arrays import IntArray
from hardwood.data.datasets import Dataset, Split, load, make_blobs, make_moons, make_xor, paper_split

MADE_UP = {"xor": make_xor, "moons": make_moons, "blobs": make_blobs}
"""Sets that need no file; they are not split: trees are scored on the samples they were learned from."""


def load_set(name: str, folder: Any = None) -> Dataset:
    """Return one of the paper's sets or a made-up one."""
    if name in MADE_UP:
        X, y = MADE_UP[name]()
        return Dataset(name, X, y, tuple(f"x{j + 1}" for j in range(X.shape[1])))
    return load(name, folder)


def split(data: Dataset, seed: int) -> Split:
    """Return the training and the test part of a set."""
    if data.name in MADE_UP:
        return Split(data.X, data.X, data.y, data.y)
    return paper_split(data.X, data.y, seed)


def stratified_folds(label: Any, folds: int, seed: int) -> list[tuple[IntArray, IntArray]]:
    """Return which rows to learn from and which to judge on, fold by fold."""
    from sklearn.model_selection import StratifiedKFold

    return list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(label, label))
