"""Compiled walks through a tree: where points end, which leaves boxes reach, how far the nearest wrong leaf is.

The rule, stated once for floats: a point goes left iff ``x <= b``; a box reaches left iff ``lower <= b`` and right iff
``upper > b``. Boxes are given as ``low - down[group]`` and ``high + up[group]``, the very expression that makes
``Problem.lower`` and ``Problem.upper``, so that large data need no two extra matrices.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from hardwood.kernels.signatures import IN_F1, IN_F2, IN_I1, OUT_B1, OUT_B2, OUT_F1, OUT_F2, OUT_I1

_SPLITS = (IN_I1, IN_F1, IN_I1, IN_I1)
_REGIONS = (IN_F2, IN_F2, IN_I1)


@nb.njit(nb.void(*_SPLITS, IN_F2, OUT_I1), cache=True, nogil=True)
def apply(feature, threshold, left, right, X, leaf):
    """Write the leaf in which each row of X ends."""
    for i in range(X.shape[0]):
        node = 0
        while left[node] >= 0:
            node = left[node] if X[i, feature[node]] <= threshold[node] else right[node]
        leaf[i] = node


@nb.njit(nb.void(*_SPLITS, IN_I1, IN_F2, IN_F2, IN_F2, IN_F2, IN_I1, IN_I1, OUT_B1), cache=True, nogil=True)
def fooled(feature, threshold, left, right, leaf_label, low, high, down, up, group, label, out):
    """Write whether the box of each row reaches a leaf whose label is not the row's."""
    stack = np.empty(len(feature) + 1, np.int64)
    for i in range(low.shape[0]):
        g = group[i]
        size = 1
        stack[0] = 0
        wrong = False
        while size > 0 and not wrong:
            size -= 1
            node = stack[size]
            # Descend along a single path without touching the stack where the box reaches one side only.
            while left[node] >= 0:
                j = feature[node]
                b = threshold[node]
                goes_left = low[i, j] - down[g, j] <= b
                goes_right = high[i, j] + up[g, j] > b
                if goes_left:
                    if goes_right:
                        stack[size] = right[node]
                        size += 1
                    node = left[node]
                else:
                    node = right[node]
            wrong = leaf_label[node] != label[i]
        out[i] = wrong


@nb.njit(nb.void(*_SPLITS, IN_F2, IN_F2, OUT_B2), cache=True, nogil=True)
def reached_nodes(feature, threshold, left, right, lower, upper, out):
    """Write whether the box of each row reaches each node."""
    for i in range(lower.shape[0]):
        for node in range(len(feature)):
            out[i, node] = False
        out[i, 0] = True
        # Children stand behind their parents in the arrays.
        for node in range(len(feature)):
            if out[i, node] and left[node] >= 0:
                j = feature[node]
                if lower[i, j] <= threshold[node]:
                    out[i, left[node]] = True
                if upper[i, j] > threshold[node]:
                    out[i, right[node]] = True


@nb.njit(nb.void(*_REGIONS, IN_F2, IN_F2, IN_F2, IN_I1, IN_I1, OUT_F2, OUT_F1), cache=True, nogil=True)
def nearest_wrong_points(region_low, region_high, region_label, X, down, up, group, label, point, distance):
    """Write the L∞-nearest point inside each row's box that lies in a region of another label.

    Regions are half-open boxes ``(low, high]``. Rows that no move can change keep NaN and an infinite distance.
    """
    n_features = X.shape[1]
    for i in range(X.shape[0]):
        g = group[i]
        best = np.inf
        best_region = -1
        for r in range(len(region_label)):
            if region_label[r] == label[i]:
                continue
            dist = 0.0
            for j in range(n_features):
                x = X[i, j]
                if x > region_high[r, j]:
                    if x - down[g, j] > region_high[r, j]:
                        dist = np.inf
                        break
                    dist = max(dist, x - region_high[r, j])
                elif x <= region_low[r, j]:
                    if x + up[g, j] <= region_low[r, j]:
                        dist = np.inf
                        break
                    dist = max(dist, np.nextafter(region_low[r, j], np.inf) - x)
            if dist < best:
                best = dist
                best_region = r
                if best == 0.0:
                    break
        distance[i] = best
        for j in range(n_features):
            if best_region < 0:
                point[i, j] = np.nan
            else:
                x = X[i, j]
                x = min(x, region_high[best_region, j])
                if x <= region_low[best_region, j]:
                    x = np.nextafter(region_low[best_region, j], np.inf)
                point[i, j] = x


@nb.njit(nb.void(*_REGIONS, IN_F2, IN_F2, IN_F2, IN_I1, IN_I1, OUT_F1), cache=True, nogil=True)
def robust_factors(region_low, region_high, region_label, X, down, up, group, label, factor):
    """Write the largest multiple of the attack under which each row stays right; -inf where it is wrong as it is."""
    n_features = X.shape[1]
    for i in range(X.shape[0]):
        g = group[i]
        best = np.inf
        for r in range(len(region_label)):
            if region_label[r] == label[i]:
                continue
            # Entering a region takes the largest of what its features ask for; staying out of it is
            # possible up to the largest factor that keeps out at least one feature.
            stays = -np.inf
            for j in range(n_features):
                x = X[i, j]
                if x > region_high[r, j]:
                    gap = x - np.nextafter(region_high[r, j], np.inf)
                    reach = down[g, j]
                elif x <= region_low[r, j]:
                    gap = region_low[r, j] - x
                    reach = up[g, j]
                else:
                    continue
                if reach == 0.0:
                    stays = np.inf
                    break
                if reach == np.inf:
                    stays = max(stays, 0.0)
                    continue
                f = gap / reach
                # Rounding of the quotient must not carry the box across.
                if x > region_high[r, j]:
                    while f > 0.0 and x - f * reach <= region_high[r, j]:
                        f = np.nextafter(f, 0.0)
                else:
                    while f > 0.0 and x + f * reach > region_low[r, j]:
                        f = np.nextafter(f, 0.0)
                stays = max(stays, f)
            best = min(best, stays)
            if best == -np.inf:
                break
        factor[i] = best
