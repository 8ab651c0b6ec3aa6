"""What Python calls of the exact search."""

from __future__ import annotations

import numpy as np

from hardwood.kernels.search_compile import entry
from hardwood.kernels.search_deep import sweep_deep
from hardwood.kernels.search_depth2 import sweep_depth2
from hardwood.kernels.search_node import fill_node, leaf_cost, remember_weights
from hardwood.kernels.search_state import GENERAL, WEIGHT, Data, Work


@entry
def open_root(data, work, events, weight, member, depth):
    """Fill slot 1 with the members; return the cost and the label of the best plain leaf.

    Parameters
    ----------
    events : (p, 2 n) uint32
        ``2 sample + kind`` in the order of (rank, kind), kind 0: lower end, 1: upper end.
    weight : (n,) int64
    member : (n,) uint8
    """
    slot = np.int64(1)  # not the literal, for which the kernels would be compiled a second time
    n = weight.shape[0]
    for i in range(n):
        work.vector[slot, WEIGHT, i] = weight[i]
    fill_node(data, work, slot, events, 2 * n, member, depth == 2 and data.control[GENERAL] == 0)
    remember_weights(data, work, slot)
    return leaf_cost(data, work, slot)


def sweep_root(data: Data, work: Work, depth: int, feature: int, cutoff: int, start: int) -> tuple[int, int]:
    """Look for a tree that costs less than `cutoff` and splits the root on `feature`.

    Start with the candidate number `start` of those that are open. Returns the cost of the tree, which stands in
    ``work.tree[1, CURRENT]``, and where to go on; or `cutoff` if there is none or the search was stopped.
    """
    if depth == 2:
        cost, position = sweep_depth2(data, work, 1, feature, cutoff, start)
    else:
        cost, position = sweep_deep(data, work, 1, depth, feature, cutoff, start)
    return cost, position
