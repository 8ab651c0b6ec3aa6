"""What Python may call of the compiled core (`src/core`): arrays in, arrays out.

Arrays must be C-contiguous and of exactly the type named here (TypeError otherwise); lengths that must agree and
indices that must lie in a range are checked (ValueError). The interpreter's lock is released while the core computes.
"""

from typing import overload

import numpy as np
from numpy.typing import NDArray

from hardwood.arrays import BoolArray, FloatArray, Int32Array, IntArray

class Control:
    """How a long computation is stopped: by `request_stop()` from any thread, or by its deadline."""

    def __init__(self, time_left: float | None = None) -> None: ...
    def set_time_left(self, seconds: float | None) -> None:
        """Let the run end in so many seconds from now; None for never."""
    def request_stop(self) -> None:
        """Ask the computation to end at its next look."""
    @property
    def stopped(self) -> bool:
        """Whether somebody asked for an end or the deadline has passed."""

# One tree: its arrays as in `hardwood.tree.tree.Tree`.

def apply(feature: IntArray, threshold: FloatArray, left: IntArray, right: IntArray, X: FloatArray) -> IntArray:
    """Return the leaf in which each row of X ends."""

def fooled(
    feature: IntArray,
    threshold: FloatArray,
    left: IntArray,
    right: IntArray,
    leaf_label: IntArray,
    low: FloatArray,
    high: FloatArray,
    down: FloatArray,
    up: FloatArray,
    group: IntArray,
    label: IntArray,
) -> BoolArray:
    """Return whether each row's box, ``low - down[group]`` to ``high + up[group]``, reaches a leaf of another label."""

def reached_nodes(
    feature: IntArray, threshold: FloatArray, left: IntArray, right: IntArray, lower: FloatArray, upper: FloatArray
) -> BoolArray:
    """Return whether the box of each row reaches each node, of shape (n, n_nodes)."""

@overload
def reached_leaves(
    feature: IntArray,
    threshold: FloatArray,
    left: IntArray,
    right: IntArray,
    can_left: BoolArray,
    can_right: BoolArray,
    lower: FloatArray,
    upper: FloatArray,
) -> NDArray[np.uint64]:
    """Return the leaves that the box of each row reaches as bits of 64-bit words."""

@overload
def reached_leaves(
    feature: IntArray,
    threshold: IntArray,
    left: IntArray,
    right: IntArray,
    can_left: BoolArray,
    can_right: BoolArray,
    lower: Int32Array,
    upper: Int32Array,
) -> NDArray[np.uint64]: ...
def nearest_wrong_points(
    region_low: FloatArray,
    region_high: FloatArray,
    region_label: IntArray,
    X: FloatArray,
    down: FloatArray,
    up: FloatArray,
    group: IntArray,
    label: IntArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the nearest point inside each row's box that lies in a region of another label, and its distance."""

def robust_factors(
    region_low: FloatArray,
    region_high: FloatArray,
    region_label: IntArray,
    X: FloatArray,
    down: FloatArray,
    up: FloatArray,
    group: IntArray,
    label: IntArray,
) -> FloatArray:
    """Return the largest multiple of the attack under which each row stays right; -inf where it is wrong as it is."""

# Boxes that meet, given by the ranks of their ends.

class BoxIndex:
    """Answers which columns (boxes) the box of a row meets."""

    BLOCK: int
    def __init__(
        self, row_lower: Int32Array, row_upper: Int32Array, column_lower: Int32Array, column_upper: Int32Array
    ) -> None: ...
    def find(
        self,
        row: Int32Array,
        restriction: Int32Array,
        allowed: BoolArray,
        limit: int | None = None,
        listed: bool = True,
        control: Control | None = None,
    ) -> tuple[IntArray, Int32Array, bool]:
        """Return how many columns each of these rows meets, the columns, and whether the search came to its end."""

def pairs_meet(
    row_lower: Int32Array,
    row_upper: Int32Array,
    row: Int32Array,
    column_lower: Int32Array,
    column_upper: Int32Array,
    column: Int32Array,
) -> BoolArray:
    """Return for each listed pair of a row and a column whether they meet."""

def sweep_for_conflict(lower: Int32Array, upper: Int32Array, label: IntArray, feature: int) -> tuple[int, int]:
    """Return two boxes of different labels that meet, or (-1, -1); boxes come sorted by ``lower[:, feature]``."""

# Maximum flow.

def grow_flow(
    row: Int32Array,
    column: Int32Array,
    flow: IntArray,
    row_left: IntArray,
    column_left: IntArray,
    control: Control | None = None,
) -> tuple[BoolArray, BoolArray, bool]:
    """Grow a flow through a bipartite graph to a maximum one, in place; return the source side of the minimum cut.

    Last comes whether it came to its end. Stopped before, `flow` is still feasible and its sum a lower bound on every
    cover; only the cut means nothing.
    """

def minimum_cut(
    tail: Int32Array, head: Int32Array, supply: FloatArray, demand: FloatArray, control: Control | None = None
) -> BoolArray:
    """Return the smallest source side of a minimum cut between supplies and demands, along arcs that cannot be cut."""

def hand_down(
    pair: IntArray, amount: IntArray, start: IntArray, member: IntArray, weight: IntArray
) -> tuple[IntArray, IntArray]:
    """Hand a packing of vertices down to their samples, whose weights are used up one after the other."""

# Labels of leaves.

def try_labelings(
    begin: IntArray,
    leaf: IntArray,
    label: IntArray,
    weight: FloatArray,
    n_classes: int,
    most: float,
    max_nodes: int,
    start: IntArray,
    control: Control | None = None,
) -> tuple[IntArray, bool]:
    """Search leaf labels that lose less than `most`; return the best known and whether the search came to its end."""
