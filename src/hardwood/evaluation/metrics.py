"""How good a model is, with and without an attacker."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from hardwood.data.chunks import chunks_of, is_chunked
from hardwood.data.weights import as_weights, weighted_share
from hardwood.errors import InvalidInputError
from hardwood.tree.attacked import AttackedData
from hardwood.tree.tree import Tree


def adversarial_accuracy(
    model: Any, X: Any, y: Any, attack: Any, sample_weight: Any = None, *, time_limit: float | None = None
) -> float:
    """Share of the samples that no move of the attacker can make the model misclassify. Exact.

    Parameters
    ----------
    model : Tree, or anything `hardwood.as_ensemble` takes
        A tree, a fitted forest, boosted trees, a pipeline, a saved model.
    X : array-like of shape (n_samples, n_features), dask array or dataframe
        A Dask collection is read chunk by chunk; one chunk is in memory at a time.
    y : array-like of shape (n_samples,), dask array or series
    attack : anything `AttackModel.parse` takes, or AttackRules
        In the units of X.
    sample_weight : like y, or None
    time_limit : float or None
        Seconds, for ensembles and for relations between features; else a single tree needs none. Samples that are
        undecided when they are over count as lost, and a warning says how many; `hardwood.robustness` tells them apart.
    """
    if is_chunked(X):
        return _over_chunks(model, X, y, attack, sample_weight, time_limit)
    if not isinstance(model, Tree):
        return _of_ensemble(model, X, y, attack, sample_weight, time_limit)
    data = AttackedData.prepare(model, X, y, attack)
    if not data.relations:
        return weighted_share(~data.fooled(), sample_weight)
    found = data.related_attacks(math.inf if time_limit is None else time.monotonic() + time_limit)
    if found.undecided.any():
        _say_undecided(int(found.undecided.sum()), len(found.undecided))
    return weighted_share(~found.fooled, sample_weight)


def _say_undecided(undecided: int, n_samples: int) -> None:
    from hardwood.ensembles.verification import warn_of_undecided

    warn_of_undecided(undecided, n_samples, stacklevel=5)


def _over_chunks(model: Any, X: Any, y: Any, attack: Any, sample_weight: Any, time_limit: float | None) -> float:
    ends = math.inf if time_limit is None else time.perf_counter() + time_limit
    right = total = 0.0
    for values, labels, weight in chunks_of(X, y, sample_weight):
        if len(values) == 0 or (weight is not None and not np.asarray(weight).any()):
            continue
        here = float(as_weights(weight, len(values)).sum())
        left = None if time_limit is None else max(0.0, ends - time.perf_counter())
        share = adversarial_accuracy(model, values, labels, attack, weight, time_limit=left)
        right += round(share * here) if weight is None else share * here
        total += here
    if total == 0:
        raise InvalidInputError("X has no rows with weight")
    return right / total


def _of_ensemble(model: Any, X: Any, y: Any, attack: Any, sample_weight: Any, time_limit: float | None) -> float:
    from hardwood.ensembles.verification import robustness

    found = robustness(model, X, y, attack, time_limit=time_limit)
    undecided = int(found.is_open.sum())
    if undecided:
        _say_undecided(undecided, len(found.is_open))
    return found.interval(sample_weight)[0]


def accuracy(tree: Tree, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Share of the samples that the tree classifies correctly as they are; missing values go where it sends them."""
    label = AttackedData.prepare(tree, X, y, 0.0).label
    right = tree.label[tree.apply(X)] == label
    return weighted_share(right, sample_weight)
