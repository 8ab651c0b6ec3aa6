"""Compiled walks through many trees at once: votes, a certificate that no attack succeeds, and a search for one.

The trees stand one behind the other in the same arrays; children are counted from the start of their tree. A tree votes
for the class of the leaf; the class with the most votes wins, the first of several.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from hardwood.kernels.signatures import IN_F1, IN_F2, IN_I1, OUT_B1, OUT_F2

_TREES = (IN_I1, IN_I1, IN_F1, IN_I1, IN_I1, IN_I1)
_OUT_I2 = nb.types.Array(nb.int64, 2, "C")


@nb.njit(cache=True, nogil=True)
def _vote(begin, feature, threshold, left, right, label, point):
    node = begin
    while left[node] >= 0:
        node = begin + (left[node] if point[feature[node]] <= threshold[node] else right[node])
    return label[node]


@nb.njit(nb.void(*_TREES, IN_F2, _OUT_I2), cache=True, nogil=True)
def votes(begin, feature, threshold, left, right, label, X, out):
    """Write how many trees vote for each class at each row of X."""
    out[:] = 0
    for i in range(X.shape[0]):
        for t in range(len(begin)):
            out[i, _vote(begin[t], feature, threshold, left, right, label, X[i])] += 1


@nb.njit(nb.void(*_TREES, IN_F2, IN_F2, IN_I1, nb.int64, OUT_B1), cache=True, nogil=True)
def certified(begin, feature, threshold, left, right, label, lower, upper, truth, n_classes, out):
    """Write whether no point of the box of each row can be misclassified, as far as single trees tell.

    Against each rival class every tree gives the best vote that the box reaches, as if the attacker could choose a
    point for each tree. If even so no rival wins, no attack does.
    """
    stack = np.empty(len(feature) + 1, np.int64)
    seen = np.zeros(n_classes, np.bool_)
    lead = np.zeros(n_classes, np.int64)
    for i in range(lower.shape[0]):
        out[i] = truth[i] >= 0
        if truth[i] < 0:
            continue
        lead[:] = 0
        for t in range(len(begin)):
            seen[:] = False
            stack[0] = begin[t]
            size = 1
            while size > 0:
                size -= 1
                node = stack[size]
                if left[node] < 0:
                    seen[label[node]] = True
                    continue
                j = feature[node]
                if upper[i, j] > threshold[node]:
                    stack[size] = begin[t] + right[node]
                    size += 1
                if lower[i, j] <= threshold[node]:
                    stack[size] = begin[t] + left[node]
                    size += 1
            only_truth = True
            for c in range(n_classes):
                if seen[c] and c != truth[i]:
                    only_truth = False
            for c in range(n_classes):
                if seen[c]:
                    lead[c] += 1
                elif only_truth:
                    lead[c] -= 1
        for c in range(n_classes):
            if c != truth[i] and (lead[c] > 0 or (lead[c] == 0 and c < truth[i])):
                out[i] = False


@nb.njit(cache=True, nogil=True)
def _margin(counts, truth):
    """Return by how many votes the strongest rival leads, in halves: positive iff the answer is wrong."""
    best = -1_000_000_000
    for c in range(len(counts)):
        if c != truth:
            # A tie goes to the class that comes first.
            best = max(best, 2 * (counts[c] - counts[truth]) + (1 if c < truth else -1))
    return best


@nb.njit(nb.void(*_TREES, IN_F2, IN_F2, IN_F2, IN_I1, nb.int64, IN_I1, IN_F1, OUT_B1, OUT_F2), cache=True, nogil=True)
def attacked(
    begin, feature, threshold, left, right, label, X, lower, upper, truth, n_classes, offset, cuts, out, point
):
    """Search a misclassified point in the box of each row, one feature at a time; write whether there is one and where.

    Parameters
    ----------
    offset, cuts : the thresholds of feature j in increasing order, ``cuts[offset[j] : offset[j + 1]]``.
    """
    counts, trial = np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64)
    for i in range(X.shape[0]):
        point[i] = X[i]
        here = point[i]
        if truth[i] < 0:
            out[i] = True
            continue
        counts[:] = 0
        for t in range(len(begin)):
            counts[_vote(begin[t], feature, threshold, left, right, label, here)] += 1
        best = _margin(counts, truth[i])
        improved = True
        while best <= 0 and improved:
            improved = False
            for j in range(X.shape[1]):
                kept = here[j]
                chosen = kept
                # One value in every cell that the box meets: its lower end, or just above the cut below.
                for k in range(offset[j] - 1, offset[j + 1]):
                    if k < offset[j]:
                        value = lower[i, j]
                    else:
                        value = np.nextafter(cuts[k], np.inf)
                        if cuts[k] < lower[i, j]:
                            continue
                        if cuts[k] >= upper[i, j]:
                            break
                    if value == -np.inf:
                        value = min(kept, cuts[offset[j]] if offset[j] < offset[j + 1] else kept)
                    here[j] = value
                    trial[:] = 0
                    for t in range(len(begin)):
                        trial[_vote(begin[t], feature, threshold, left, right, label, here)] += 1
                    margin = _margin(trial, truth[i])
                    if margin > best:
                        best, chosen, improved = margin, value, True
                here[j] = chosen
                if best > 0:
                    break
        out[i] = best > 0
