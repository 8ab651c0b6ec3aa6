"""The paper's sets from OpenML: ids, preprocessing, a checksum, and a cache.

What comes out equals, cell by cell, what the paper's code loaded: OpenML's default target and ignored columns, nominal
features as their index in OpenML's list of values, rows with a missing value dropped.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hardwood.errors import InvalidInputError
from hardwood.files import write_whole

CACHE_VARIABLE = "HARDWOOD_CACHE"
"""Environment variable that names the folder in which downloaded sets are kept."""


@dataclass(frozen=True)
class Source:
    """Where a set comes from.

    Attributes
    ----------
    data_id : int
        Id at OpenML.
    is_positive : callable
        Which of OpenML's labels, as text, are class 1.
    checksum : str
        `digest` of the result.
    """

    data_id: int
    is_positive: Callable[[str], bool]
    checksum: str


SOURCES: dict[str, Source] = {
    "banknote-authentication": Source(
        1462, lambda label: label == "2", "164be9496fb726559bfdac6d8420e7a73580693700a24e43d6c8d1012b4fea03"
    ),
    "blood-transfusion": Source(
        1464, lambda label: label == "2", "2446f4e567ee76993235ad4f19dc768998f01ef4eadfda8737c113d1d7af58b2"
    ),
    "breast-cancer": Source(
        15, lambda label: label == "malignant", "098ecc8724a620eb19824a0769d68732ac533ce8d04c959a8f34cfc6236c71ec"
    ),
    "cylinder-bands": Source(
        6332, lambda label: label == "band", "c3f7b9455028d79af3d1143de032bf592f88f07c2dfb1c1395f3753c050cfc80"
    ),
    "diabetes": Source(
        37, lambda label: label == "tested_positive", "ab176b4c5599dd640e55f9146bf688d76e433aec984f6d30f0a12aa54657097b"
    ),
    "haberman": Source(
        43, lambda label: label == "2", "9e3e7b1bb8ed97802f5a37ef9576d2285a3fca8b07dc49ed7076743b157445cc"
    ),
    "ionosphere": Source(
        59, lambda label: label == "b", "f878a77f5c6cbb1ef775f246bea16e9fd9a7f1a9e8f5935849fa4091e2904f6f"
    ),
    "wine": Source(
        287, lambda label: float(label) < 6, "669d3b62f1e70aea5d3a872576ea2a5dced49b2ae5dd8cb4dcc007505ceeff04"
    ),
}


def digest(X: NDArray[np.float64], y: NDArray[np.int64]) -> str:
    """Return a checksum of a table: SHA-256 of its shape, its values to six digits, and its labels, row by row."""
    hashed = hashlib.sha256(repr(X.shape).encode())
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        hashed.update((",".join(f"{value:.6g}" for value in row) + f":{label}\n").encode())
    return hashed.hexdigest()


def cached(name: str) -> Path:
    """Return the CSV file of a set in the cache, after fetching it from OpenML if it is not there yet."""
    path = cache_folder() / f"{name}.csv"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, fetch(name))
    return path


def cache_folder() -> Path:
    """Return where downloaded sets are kept: HARDWOOD_CACHE, else ``hardwood`` in the user's cache folder."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hardwood"


def fetch(name: str) -> str:
    """Download a set from OpenML and return it as the text of a CSV file; what is not the known set is refused."""
    from sklearn.datasets import fetch_openml

    source = SOURCES[name]
    try:
        with warnings.catch_warnings():
            # It announces each further try; the error below says all there is to say.
            warnings.filterwarnings("ignore", message="A network error occurred", category=UserWarning)
            bunch = fetch_openml(data_id=source.data_id, as_frame=False, parser="liac-arff", cache=False, n_retries=1)
    except OSError as error:
        raise InvalidInputError(
            f"data set {name!r} is not here and OpenML cannot be reached ({error}). Either connect to the internet "
            f"once (the set is then kept in {cache_folder()}), or put {name}.csv into a folder and name that folder "
            "with --data or the environment variable HARDWOOD_DATA"
        ) from error
    complete = ~np.isnan(bunch.data).any(axis=1)
    X = np.asarray(bunch.data, dtype=np.float64)[complete]
    y = np.array([source.is_positive(str(label)) for label in bunch.target[complete]], dtype=np.int64)
    found = digest(X, y)
    if found != source.checksum:
        raise InvalidInputError(
            f"what OpenML returns as data set {source.data_id} ({name}) is not the paper's: checksum {found[:16]}…, "
            f"expected {source.checksum[:16]}…; use a folder of CSV files (--data or HARDWOOD_DATA) instead"
        )
    return _as_csv([str(feature) for feature in bunch.feature_names], X, y)


def _as_csv(features: list[str], X: NDArray[np.float64], y: NDArray[np.int64]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*features, "target"])
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        writer.writerow([*(repr(value) for value in row), label])
    return text.getvalue()
