"""Rows to test on, set aside class by class; scikit-learn's way, without a second spent on importing it."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardwood.arrays import IntArray
from hardwood.errors import InvalidInputError


def hold_out(y: NDArray[Any], share: float, seed: int) -> tuple[IntArray, IntArray]:
    """Return the rows to learn from and the rows to test on, in order, with classes in about the same shares.

    Parameters
    ----------
    y : array of shape (n_samples,)
        Labels.
    share : float
        Share of the rows to test on, above 0 and below 1.
    seed : int
    """
    if not 0 < share < 1:
        raise InvalidInputError(f"{share:g} of the data cannot be held out; it must be above 0 and below 1")
    if seed < 0:
        raise InvalidInputError(f"random_state={seed}; it must be a whole number of 0 and more")
    classes, label, count = np.unique(y, return_inverse=True, return_counts=True)
    n = len(label)
    n_test = ceil(share * n * (1 - 1e-9))
    if count.min() < 2:
        lonely = classes.tolist()[int(np.argmin(count))]
        raise InvalidInputError(
            f"{share:g} of the data cannot be held out: of class {lonely!r} there is one row only, which cannot be "
            "both learned from and tested on"
        )
    if min(n_test, n - n_test) < len(classes):
        raise InvalidInputError(
            f"{share:g} of {n} rows cannot be held out with all of the {len(classes)} classes on both sides"
        )
    rng = np.random.default_rng(seed)
    # Every class gives its share, rounded down; who was rounded down most gives one more.
    exact = count * (n_test / n)
    taken = np.floor(exact).astype(np.int64)
    order = rng.permutation(len(classes))
    late = order[np.argsort((taken - exact)[order], kind="stable")]
    taken[late[: n_test - int(taken.sum())]] += 1
    tests = [rng.permutation(np.flatnonzero(label == c))[: taken[c]] for c in range(len(classes))]
    is_test = np.zeros(n, bool)
    is_test[np.concatenate(tests)] = True
    return np.flatnonzero(~is_test).astype(np.int64), np.flatnonzero(is_test).astype(np.int64)
