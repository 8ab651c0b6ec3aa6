"""How the scores of an ensemble become probabilities of classes."""

from __future__ import annotations

import numpy as np

from hardwood.arrays import FloatArray


def logistic(scores: FloatArray) -> FloatArray:
    """Return ``1 / (1 + exp(-s))`` without overflow."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -scores)))


def shares_of_votes(scores: FloatArray) -> FloatArray:
    """Return what each class has of the votes, or of the class shares of leaves, of a forest."""
    return np.asarray(scores / scores.sum(axis=1, keepdims=True))


def shares_of_margins(scores: FloatArray, loss: str) -> FloatArray:
    """Return the logistic function of boosted scores, of twice the scores for the exponential loss.

    With more than two classes these are divided by their sum.
    """
    scores = scores * (2.0 if loss == "exponential" else 1.0)
    shares = logistic(scores)
    if shares.shape[1] == 1:
        return np.column_stack([logistic(-scores[:, 0]), shares[:, 0]])
    total = shares.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(shares, total, out=np.full_like(shares, 1 / shares.shape[1]), where=total > 0))
