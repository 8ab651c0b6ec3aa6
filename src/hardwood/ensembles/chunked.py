"""Greedy trees and forests of tables that do not fit into memory."""

from __future__ import annotations

from typing import Any

from hardwood.ensembles.forest import voting
from hardwood.ensembles.scores import Ensemble
from hardwood.errors import InvalidInputError
from hardwood.solvers.chunked import ChunkedGreedy
from hardwood.tree.tree import Tree


def learn_in_chunks(
    X: Any,
    y: Any,
    attack: Any = 0.0,
    *,
    max_depth: int = 6,
    n_trees: int | None = None,
    sample_weight: Any = None,
    min_samples_leaf: float = 1.0,
    random_state: int = 0,
) -> Tree | Ensemble:
    """Learn a greedy robust tree, or a forest of them, from a Dask array or dataframe.

    GROOT's rule on a grid of 255 thresholds per feature, from the ends of 200,000 rows drawn at random; splits are
    scored with exact counts of all rows. One pass over the chunks per level of a tree. What is guaranteed, and what is
    not, stands in `hardwood.solvers.chunked`. How good the model is, `adversarial_accuracy` says exactly, also chunk by
    chunk.

    Parameters
    ----------
    X : dask array or dataframe of shape (n_samples, n_features)
        Finite numbers. One chunk is in memory at a time, and 3 bytes per number if that is less than 1.5 GB in all.
    y : dask array or series with the same chunks, or array of shape (n_samples,)
    attack : anything `AttackModel.parse` takes
        In the units of X.
    max_depth : int
    n_trees : int or None
        None for one tree of all rows and features; else a forest, whose trees vote. Each draws rows with replacement,
        and the square root of the number of features for each split.
    sample_weight : like y, or None
    min_samples_leaf : float
        Least weight on each side of a split, as the attacker distributes the samples.
    random_state : int
    """
    if max_depth < 0 or (n_trees is not None and n_trees < 1):
        raise InvalidInputError(f"max_depth={max_depth} and n_trees={n_trees}: they must be at least 0 and 1")
    learner = ChunkedGreedy(X, y, attack, sample_weight, random_state=random_state)
    if n_trees is None:
        return learner.grow(max_depth, min_samples_leaf=min_samples_leaf)
    return voting(
        tuple(
            learner.grow(
                max_depth,
                min_samples_leaf=min_samples_leaf,
                max_features=max(1, round(learner.n_features**0.5)),
                bootstrap=True,
                random_state=k,
            )
            for k in range(n_trees)
        )
    )
