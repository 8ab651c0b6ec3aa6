"""Data: the eight sets of the paper by name, its protocol, and small made-up sets."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hardwood.arrays import FloatArray, IntArray
from hardwood.data.csv import read_csv
from hardwood.errors import InvalidInputError

DATA_VARIABLE = "HARDWOOD_DATA"
"""Environment variable that names the folder with the paper's sets as CSV files."""

PAPER_RADII: dict[str, tuple[float, float, float]] = {
    "banknote-authentication": (0.07, 0.09, 0.11),
    "blood-transfusion": (0.01, 0.02, 0.03),
    "breast-cancer": (0.28, 0.39, 0.45),
    "cylinder-bands": (0.23, 0.28, 0.45),
    "diabetes": (0.05, 0.07, 0.09),
    "haberman": (0.02, 0.03, 0.05),
    "ionosphere": (0.2, 0.28, 0.36),
    "wine": (0.02, 0.03, 0.04),
}
"""The sets of Vos & Verwer, AAAI 2022, and the three L∞ radii (on [0, 1]-scaled features) used for each."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table with labels."""

    name: str
    X: FloatArray
    y: IntArray
    feature_names: tuple[str, ...]


class Split(NamedTuple):
    """Training and test part."""

    X_train: FloatArray
    X_test: FloatArray
    y_train: IntArray
    y_test: IntArray


def load(name: str, folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load one of the paper's sets: from a folder of CSV files, else from OpenML.

    Parameters
    ----------
    name : str
        One of `PAPER_RADII`.
    folder : path or None
        Where ``<name>.csv`` lies; the folder that the environment variable HARDWOOD_DATA names by default. With
        neither, the set comes from OpenML (`hardwood.data.openml`) and is kept in a cache for the next time.
    """
    if name not in PAPER_RADII:
        raise InvalidInputError(f"data set {name!r} is not known; the sets are {', '.join(PAPER_RADII)}")
    place = folder if folder is not None else os.environ.get(DATA_VARIABLE)
    if place:
        return read_dataset(name, Path(place) / f"{name}.csv")
    from hardwood.data.openml import cached

    return read_dataset(name, cached(name))


def read_dataset(name: str, path: Path) -> Dataset:
    """Read a CSV file with a column ``target`` of whole numbers, all other columns numeric features."""
    table = read_csv(path)
    features = tuple(column for column in table.names if column != "target")
    return Dataset(name, table.numbers(features), table.labels("target").astype(np.int64), features)


def paper_split(X: FloatArray, y: IntArray, random_state: int = 0) -> Split:
    """Split 80/20 as the paper does: stratified, min-max scaled on the training part, test part clipped.

    The paper's own split is the one of seed 0.
    """
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import MinMaxScaler

    X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, test_size=0.2, random_state=random_state)
    scaler = MinMaxScaler().fit(X_train)
    return Split(scaler.transform(X_train), np.clip(scaler.transform(X_test), 0, 1), y_train, y_test)


def make_xor() -> tuple[FloatArray, IntArray]:
    """Return the paper's worst case for greedy learners: four blocks of 5 x 5 points, opposite corners of one class.

    With an L∞ radius of 0.1 a tree of depth 2 can get every sample right, but no single split improves on none.
    """
    steps = np.arange(5) * 0.05
    low, high = 0.15 + steps, 0.65 + steps
    blocks, labels = [], []
    for first in (low, high):
        for second in (low, high):
            blocks.append(np.array([(a, b) for a in first for b in second]))
            labels.append(np.full(25, int(first[0] != second[0])))
    return _to_unit_square(np.concatenate(blocks)), np.concatenate(labels).astype(np.int64)


def make_moons(n_samples: int = 200, noise: float = 0.1, random_state: int = 0) -> tuple[FloatArray, IntArray]:
    """Return two interleaved half circles, scaled to [0, 1]."""
    from sklearn.datasets import make_moons as moons

    X, y = moons(n_samples, noise=noise, random_state=random_state)
    return _to_unit_square(X), np.asarray(y, dtype=np.int64)


def make_blobs(
    n_samples: int = 200, n_classes: int = 2, spread: float = 0.08, random_state: int = 0
) -> tuple[FloatArray, IntArray]:
    """Return round clouds of one class each, their centres evenly on a circle, scaled to [0, 1]."""
    from sklearn.datasets import make_blobs as blobs

    angle = 2 * np.pi * np.arange(n_classes) / n_classes
    centres = np.column_stack([np.cos(angle), np.sin(angle)]) / 2
    X, y = blobs(n_samples, centers=centres, cluster_std=spread, random_state=random_state)
    return _to_unit_square(X), np.asarray(y, dtype=np.int64)


def _to_unit_square(X: FloatArray) -> FloatArray:
    low, high = X.min(axis=0), X.max(axis=0)
    return np.asarray((X - low) / (high - low))
