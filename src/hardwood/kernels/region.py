"""Where a node of a growing tree lies."""

from __future__ import annotations

import numba as nb


@nb.njit(cache=True, nogil=True)
def region(node, j, parent, feature, index, left, n_ranks):
    """Between which ranks of feature j a node lies, by the splits above it."""
    lowest, highest = -1, n_ranks[j] - 1
    while parent[node] >= 0:
        above = parent[node]
        if feature[above] == j:
            if left[above] == node:
                highest = min(highest, index[above])
            else:
                lowest = max(lowest, index[above])
        node = above
    return lowest, highest
