"""Labels and classes: from whatever holds them to arrays, or an error that names the value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood.arrays import IntArray
from hardwood.errors import InvalidInputError


def as_labels(y: Any, n_samples: int) -> NDArray[Any]:
    """Return the labels as a one-dimensional array without missing values."""
    if y is None or isinstance(y, str | bytes | Mapping):
        raise InvalidInputError(
            f"y is {'None' if y is None else repr(y)[:60]}; it must be a list with one label per row"
        )
    if isinstance(y, np.ma.MaskedArray):
        raise InvalidInputError("y is a masked array; every sample needs a label: drop the rows that have none")
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise InvalidInputError(f"y must be one-dimensional, not of shape {labels.shape}")
    if len(labels) != n_samples:
        raise InvalidInputError(f"X has {n_samples} samples, but y has {len(labels)}")
    if labels.dtype.kind == "f" and not np.all(np.isfinite(labels)):
        raise InvalidInputError("Input y contains NaN or infinity; every sample needs a label")
    if labels.dtype == object:
        missing = [i for i, label in enumerate(labels) if _is_missing(label)]
        if missing:
            raise InvalidInputError(f"y has no label (None or NaN) in row {missing[0]}")
        if len({type(label) for label in labels}) > 1:
            kinds = ", ".join(sorted({type(label).__name__ for label in labels}))
            raise InvalidInputError(f"y mixes labels of different types ({kinds}); use one type")
        if len(labels) and isinstance(labels[0], str):
            labels = labels.astype(str)
    return labels


def _is_missing(label: Any) -> bool:
    return label is None or type(label).__name__ == "NAType" or bool(label != label)


FEW_CLASSES = 3
"""Up to so many classes labels are compared with all of them."""


def encode_labels(labels: NDArray[Any], classes: NDArray[Any]) -> IntArray:
    """Return the index of each label in sorted `classes`, or -1 where it is none of them."""
    if len(labels) == 0:
        return np.empty(0, np.int64)
    if (labels.dtype.kind in "OUS") != (classes.dtype.kind in "OUS"):
        raise InvalidInputError(
            f"y holds labels such as {labels[:1].tolist()}, but the classes of the tree are {classes.tolist()}"
        )
    if len(classes) <= FEW_CLASSES and labels.dtype.kind in "iufb" and classes.dtype.kind in "iufb":
        # One comparison for each is faster than a search.
        code = np.full(len(labels), -1, np.int64)
        for k, known in enumerate(classes):
            code += (k + 1) * (labels == known)
        return code
    position = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    return np.where(classes[position] == labels, position, -1).astype(np.int64, copy=False)
