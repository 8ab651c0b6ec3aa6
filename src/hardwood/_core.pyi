"""What Python may call of the compiled core (`src/core`): arrays in, arrays out.

Arrays must be C-contiguous and of exactly the type named here (TypeError otherwise); lengths that must agree and
indices that must lie in a range are checked (ValueError). The interpreter's lock is released while the core computes.
"""

from collections.abc import Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from hardwood.arrays import BoolArray, EventArray, FloatArray, Int32Array, IntArray, PlaceArray

def return_free_memory() -> None:
    """Give the system back what was freed, where that can be asked for."""

class Control:
    """How a long computation is stopped: by `request_stop()` from any thread, or by its deadline."""

    def __init__(self, time_left: float | None = None, cpu: bool = False) -> None: ...
    def set_time_left(self, seconds: float | None, cpu: bool = False) -> None:
        """Let the run end in so many seconds from now, of CPU time of the process if asked; None for never."""
    @property
    def time_left(self) -> float:
        """Seconds until the deadline, of CPU time where that counts; infinite without one."""
    def request_stop(self) -> None:
        """Ask the computation to end at its next look."""
    @property
    def stopped(self) -> bool:
        """Whether somebody asked for an end or the deadline has passed."""

class PricedSearch:
    """Search for the best tree against attackers who pay; see src/core/priced/search.h.

    Prices are whole units, `affordable` what every sample can spend. Thresholds ``begin[j]`` to ``begin[j + 1]`` belong
    to feature j; `left` and `right` hold, feature by feature and sample by sample, what it costs to get to at most
    and above each of them. A feature may be the column of a `category` of a `group`, with one threshold; then
    `category_cost` holds, group by group and sample by sample, what it costs to become each category, none last.
    """

    def __init__(
        self,
        begin: IntArray,
        left: IntArray,
        right: IntArray,
        group: IntArray,
        category: IntArray,
        yes_is_left: BoolArray,
        group_begin: IntArray,
        category_cost: IntArray,
        label: IntArray,
        weight: IntArray,
        affordable: int,
        n_classes: int,
        leaf_penalty: int,
        step: int,
        depth: int,
        control: Control,
    ) -> None: ...
    def advance(self, seconds: float) -> bool:
        """Work for so many seconds, or until the control stops it; return whether everything is settled."""
    def lower(self, cost: int) -> None:
        """Tell it that a tree of this cost is known."""
    @property
    def bound(self) -> int:
        """Every tree costs at least this, or at least the least known cost."""
    @property
    def cost(self) -> int:
        """What the best tree found here costs."""
    def rows(self) -> IntArray:
        """Return its nodes: feature, threshold index, left, right, label."""

# One tree: its arrays as in `hardwood.tree.tree.Tree`.

def apply(feature: IntArray, threshold: FloatArray, left: IntArray, right: IntArray, X: FloatArray) -> IntArray:
    """Return the leaf in which each row of X ends."""

def fooled(
    feature: IntArray,
    threshold: FloatArray,
    left: IntArray,
    right: IntArray,
    leaf_label: IntArray,
    lower: FloatArray,
    upper: FloatArray,
    label: IntArray,
) -> BoolArray:
    """Return whether each row's box reaches a leaf of another label."""

def fooled_under_attack(
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
    rounding: FloatArray,
    label: IntArray,
) -> BoolArray:
    """As `fooled`, for boxes around samples whose ends are computed where the tree asks for them."""

def box_ends(
    low: FloatArray, high: FloatArray, down: FloatArray, up: FloatArray, group: IntArray, rounding: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return both ends of the boxes of all samples; see hardwood.problem.boxes."""

def reached_nodes(
    feature: IntArray, threshold: FloatArray, left: IntArray, right: IntArray, lower: FloatArray, upper: FloatArray
) -> BoolArray:
    """Return whether the box of each row reaches each node, of shape (n, n_nodes)."""

def reached_nodes_under_attack(
    feature: IntArray,
    threshold: FloatArray,
    left: IntArray,
    right: IntArray,
    low: FloatArray,
    high: FloatArray,
    down: FloatArray,
    up: FloatArray,
    group: IntArray,
    rounding: FloatArray,
) -> BoolArray:
    """As `reached_nodes`, for boxes whose ends are computed where the tree asks for them."""

def node_sums(
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
    rounding: FloatArray,
    label: IntArray,
    weight: FloatArray,
    n_classes: int,
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, IntArray]:
    """Return what samples add up to at the nodes.

    By node and class the weight of the samples that reach one leaf only, of those that can reach the node and no leaf
    of another class, and of those whose leaves of other classes all lie there or below; by node the weight of those
    that can reach it and are lost, and how many can reach it.
    """

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
    lower: FloatArray,
    upper: FloatArray,
    label: IntArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the nearest point inside each row's box that lies in a region of another label, and its distance."""

def largest_factors(
    region_low: FloatArray,
    region_high: FloatArray,
    region_label: IntArray,
    low: FloatArray,
    high: FloatArray,
    down: FloatArray,
    up: FloatArray,
    group: IntArray,
    rounding: FloatArray,
    label: IntArray,
) -> FloatArray:
    """Return the largest multiple of the attack under which each row keeps out of all regions of another label."""

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

def order_neighbours(
    lower: Int32Array, upper: Int32Array, number: IntArray, leaf: int, control: Control | None = None
) -> IntArray:
    """Return the numbers of some boxes in an order in which neighbours stand together; stopped, less so."""

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

# The exact search (docs/exact_search.md). A tree has five rows: feature, threshold index, left, right, label.

class SearchProblem:
    """Merged boxes, classes, whole-number weights: the boxes are `rows` of the ranks `lower` and `upper`."""

    def __init__(
        self,
        lower: Int32Array,
        upper: Int32Array,
        rows: IntArray,
        n_ranks: IntArray,
        label: IntArray,
        count: IntArray,
        weight: IntArray,
        *,
        n_classes: int,
        penalty: int,
        forbidden: int,
        step: int,
        min_leaf: int,
    ) -> None: ...
    @property
    def shares_nothing(self) -> bool:
        """Whether no sample reaches both sides of any split."""
    @property
    def n_ranks(self) -> IntArray:
        """Number of ends per feature."""
    def upper_rank(self, sample: int, feature: int) -> int:
        """Rank of the upper end of a sample."""
    def keep_events(self) -> None:
        """Sort the ends of all features, once, instead of whenever those of one are asked for."""
    def ends_up_to(self, feature: int, rank: int) -> tuple[BoolArray, BoolArray]:
        """Whether the lower, and the upper, end of each sample has at most this rank."""
    def last_ranks(self, feature: int, lower: PlaceArray, upper: PlaceArray, n_places: int) -> IntArray:
        """Return the largest rank of the lower and upper ends in each place, at least 0; the last place is no place."""
    def part(self, samples: IntArray, weight: IntArray) -> SearchProblem:
        """Return the problem of some of the samples, with other weights; costs may be any whole numbers then."""

class RankedColumns:
    """The ranks of the ends of all boxes, feature by feature; a problem takes over their memory."""

    @property
    def shares_nothing(self) -> bool:
        """Whether all boxes are points."""
    def merge(self, label: IntArray, control: Control | None = None) -> tuple[IntArray, IntArray] | None:
        """Group equal boxes of one class, as `merge_rows` does."""
    def take_problem(
        self,
        rows: IntArray,
        label: IntArray,
        count: IntArray,
        weight: IntArray,
        *,
        n_classes: int,
        penalty: int,
        forbidden: int,
        step: int,
        min_leaf: int,
        keeps_events: bool,
    ) -> SearchProblem:
        """Return the problem of these rows; nothing is left of the ranks."""

def rank_columns(
    low: FloatArray,
    high: FloatArray,
    down: FloatArray,
    up: FloatArray,
    group: IntArray,
    rounding: FloatArray,
    values: FloatArray,
    control: Control | None = None,
) -> RankedColumns | None:
    """Rank the ends of all boxes, feature by feature; None if the control stopped it."""

class SearchOptions:
    """How hard each bound is tried, and which ideas are used at all."""

    def __init__(
        self,
        *,
        rounds: int = 24,
        range_rounds: int = 4,
        deep_rounds: int = 60,
        deep_range_rounds: int = 20,
        ascent_steps: int = 100,
        blocks_from: int = 500,
        coarse_from: int = 100000,
        coarse_from_many: int = 500,
        first_tree: bool = True,
        use_memory: bool = True,
        use_ranges: bool = True,
        use_pool: bool = True,
        use_lazy_scan: bool = True,
        use_carry: bool = True,
        use_witness: bool = True,
        use_early_join: bool = True,
        use_blocks: bool = True,
        use_solved: bool = True,
        use_resplit: bool = True,
        use_late_branching: bool = True,
        use_coarse_scan: bool = True,
        use_doubtful_first: bool = True,
        use_room: bool = True,
    ) -> None: ...

class ProofLog:
    """The records of a proof, as the search writes them."""

    def __init__(self, sample_number: IntArray, first_place: int = 0) -> None: ...
    def bound(self, value: int) -> None:
        """Claim a bound at the root."""
    def take(self) -> bytes:
        """Return what was written since the last call."""

class RootSearch:
    """The root of the search, shared out to threads."""

    def __init__(
        self,
        problem: SearchProblem,
        options: SearchOptions,
        depth: int,
        n_threads: int,
        control: Control,
        proof: ProofLog | None = None,
    ) -> None: ...
    def set_effort(self, samples: int) -> None:
        """Let every thread give up when it has scanned so many samples, all stages together."""
    @property
    def n_scanned(self) -> int:
        """Samples or blocks that the busiest thread has scanned, to be asked between two stages."""
    def use_threads(self, n_threads: int) -> None:
        """Let only so many threads take work, at least one."""
    def start(self, target: int, best: int, parts: Sequence[tuple[int, int, int]] | None = None) -> None:
        """Look for trees that cost less than the target, and than `best` by a step; returns at once.

        Everywhere, or in parts (feature, first, end) of the root: ranges of the feature's candidates.
        """
    def offer(self, cost: int) -> None:
        """Take note that a tree of this cost is known elsewhere."""
    def give_back(self) -> list[tuple[int, int, int]]:
        """Return parts (feature, first, end) that were not begun; if none, the next call may find some."""
    def take_told(self) -> list[tuple[int, IntArray]]:
        """Return trees that children of the root were answered with since the last call: side and tree."""
    def hear(self, told: Sequence[tuple[int, IntArray]]) -> None:
        """Take note of trees that another search was told, as a guide."""
    def take_settled(self) -> list[tuple[int, int, int, int]]:
        """Return what was settled since the last call: feature, first, end, and what every tree there costs."""
    def take_piece(
        self, seconds: float, is_for_help: bool = False
    ) -> tuple[bytes, list[tuple[int, int, int, int]], bytes] | None:
        """Return records, parts settled since the last piece and the state behind them; None if it takes too long."""
    def load(self, state: bytes) -> None:
        """Go on from the state of an earlier search, behind its records."""
    def ask_question(
        self, least_seconds: float
    ) -> tuple[int, IntArray, IntArray, int, list[tuple[int, int, int]]] | None:
        """Return number, samples, weights, target and open parts of the question to a child of the root.

        None where there is none that has been open for so long; the next call may find one.
        """
    def help(
        self,
        question: int,
        place: int,
        settled: Sequence[tuple[int, int, int, int]],
        records: bytes,
        tree: tuple[int, IntArray] | None = None,
    ) -> bool:
        """Return whether the question is still open; the help is taken then."""
    def hold_questions(self, is_holding: bool) -> None:
        """Stand still at the first threshold of every question from now on, until the next call."""
    def n_candidates(self, feature: int) -> int:
        """Return how many thresholds of a feature need to be searched at the root."""
    def take_missed(self) -> IntArray | None:
        """Return the cheapest tree of a feature of the root that was not cheap enough and that nobody has taken."""
    def wait(self, seconds: float) -> tuple[list[tuple[int, IntArray]], int, int, bool]:
        """Trees (cost, rows) found since the last call, items settled, items in all, whether threads still run."""
    def stop(self) -> None:
        """End all threads, wait for them."""
    def counters(self, depth: int) -> dict[str, int]:
        """Return what was done at nodes of this depth; only while no thread runs."""
    @property
    def cutoff(self) -> int:
        """Where all items are settled: no tree costs less than this."""
    @property
    def best(self) -> int:
        """Cost of the incumbent."""

class Reoptimiser:
    """Exact re-optimisation of the subtrees of a tree."""

    def __init__(self, problem: SearchProblem, options: SearchOptions, control: Control) -> None: ...
    def descend(
        self, problem: SearchProblem, rows: IntArray, depth: int, reach: int, effort: int
    ) -> tuple[int, IntArray]:
        """Re-optimise subtrees of at most `reach` (2 or 3) levels of splits until none improves.

        Each may scan `effort` samples. Returns cost and tree.
        """
    def polish(self, problem: SearchProblem, rows: IntArray) -> tuple[int, IntArray]:
        """Move one threshold after the other to where it is best until nothing improves; returns cost and tree."""
    def cost_of(self, problem: SearchProblem, rows: IntArray) -> int:
        """Cost of a tree; `forbidden` if a leaf is too small."""
    @property
    def effort(self) -> int:
        """Samples scanned so far, all of them at every scan."""
    @property
    def n_scanned(self) -> int:
        """Samples or blocks scanned so far, as a proof counts them."""

def best_stump(problem: SearchProblem) -> tuple[int, IntArray]:
    """Best tree with at most one split: its cost and the tree."""

def shifted(problem: SearchProblem, rows: IntArray, node: int, share: float) -> IntArray | None:
    """Move a threshold past a share of the samples that reach it; None where there are not so many."""

def merge_rows(
    lower: Int32Array, upper: Int32Array, label: IntArray, control: Control | None = None
) -> tuple[IntArray, IntArray] | None:
    """Group equal boxes of one class: the group of each row, and a row of each group, in lexicographic order.

    None if the control stopped it.
    """

# Ensembles whose leaves add up to scores.

class ScoredTrees:
    """Trees whose leaves add up to scores, in the arithmetic of a library; see `hardwood.ensembles.scores`."""

    def __init__(
        self,
        root: IntArray,
        feature: IntArray,
        threshold: FloatArray,
        left: IntArray,
        right: IntArray,
        missing_left: NDArray[np.uint8],
        value: FloatArray,
        base: FloatArray,
        n_features: int,
        link: int,
        single: bool,
        divisor: float,
        cutoff: float,
        slope: float,
    ) -> None: ...
    @property
    def rounding(self) -> float:
        """By how much the sums of the library can differ from the exact ones."""
    def sums(self, X: FloatArray) -> FloatArray:
        """Return the sums of the leaves at each row of X, before division and link."""
    def classes(self, sums: FloatArray) -> IntArray:
        """Return the class, as an index, that each row of sums stands for."""
    def verify(
        self,
        X: FloatArray,
        lower: FloatArray,
        upper: FloatArray,
        label: IntArray,
        verdict: NDArray[np.int8],
        point: FloatArray,
        parts: IntArray,
        seconds: FloatArray,
        seconds_per_sample: float,
        most_entries: int,
        n_threads: int,
        control: Control,
    ) -> None:
        """Treat the samples whose verdict is open (0); write verdicts, points, parts of boxes and seconds.

        Parts are -1 where a box reaches more leaves than may be kept.
        """

# Ends in order, see `hardwood.problem.endpoints`.

def rank_ends(
    low: FloatArray,
    high: FloatArray,
    down: FloatArray,
    up: FloatArray,
    group: IntArray,
    rounding: FloatArray,
    values: FloatArray,
    control: Control | None = None,
) -> tuple[Int32Array, Int32Array, IntArray] | None:
    """Return ranks of lower and upper ends, and finite ranks per feature; None if the control stopped it."""

def cluster_ends(
    lower_rank: Int32Array,
    upper_rank: Int32Array,
    n_ranks: IntArray,
    low: FloatArray,
    high: FloatArray,
    down: FloatArray,
    up: FloatArray,
    group: IntArray,
    rounding: FloatArray,
) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
    """Return where ranks of features begin, and the smallest, the largest and the largest lower end of each rank."""

def sort_events(
    low: FloatArray,
    high: FloatArray,
    down: FloatArray,
    up: FloatArray,
    group: IntArray,
    rounding: FloatArray,
    values: FloatArray,
    label: IntArray,
    control: Control | None = None,
) -> tuple[EventArray, IntArray] | None:
    """Return lower ends, values and upper ends as events, of shape (n_features, 3 n), and which of them are finite.

    None if the control stopped it.
    """

class EventLists:
    """The sorted events of all features (`sort_events`), for any number of trees."""

    def __init__(self, events: EventArray, finite: IntArray, label: IntArray) -> None: ...

def gaps_behind(
    low: FloatArray,
    high: FloatArray,
    down: FloatArray,
    up: FloatArray,
    group: IntArray,
    rounding: FloatArray,
    values: FloatArray,
    events: EventLists,
    feature: IntArray,
    place: IntArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the largest end or value of the rank of each event at a place, and the smallest of the next rank."""

# Thresholds at maximum margin, see `hardwood.tree.conversion`.

PlacedNodes = tuple[IntArray, FloatArray, IntArray, IntArray, IntArray, FloatArray]

def place_ranks(
    feature: IntArray,
    index: IntArray,
    left: IntArray,
    right: IntArray,
    label: IntArray,
    lower_rank: Int32Array,
    upper_rank: Int32Array,
    n_ranks: IntArray,
    column: IntArray,
    low: FloatArray,
    high: FloatArray,
    down: FloatArray,
    up: FloatArray,
    group: IntArray,
    rounding: FloatArray,
    values: FloatArray,
    is_question: BoolArray,
    is_whole: BoolArray,
) -> PlacedNodes:
    """Return feature, threshold, left, right, label and margin of the nodes that are needed."""

def place_gaps(
    feature: IntArray,
    last: FloatArray,
    first: FloatArray,
    left: IntArray,
    right: IntArray,
    label: IntArray,
    low: FloatArray,
    high: FloatArray,
    down: FloatArray,
    up: FloatArray,
    group: IntArray,
    rounding: FloatArray,
    values: FloatArray,
    is_question: BoolArray,
    is_whole: BoolArray,
    events: EventLists | None = None,
) -> PlacedNodes | None:
    """As `place_ranks`, for splits in gaps; None where the ends around a gap count as one."""

# Robust boosting.

def scan_splits(
    lower_rank: Int32Array,
    lower_sample: Int32Array,
    upper_rank: Int32Array,
    upper_sample: Int32Array,
    sign: NDArray[np.int8],
    gradient: FloatArray,
    curvature: FloatArray,
    node: Int32Array,
    n_nodes: int,
    l2: float,
    features: IntArray,
    control: Control | None = None,
) -> tuple[FloatArray, Int32Array, NDArray[np.uint8]]:
    """Return, for the best split of each node on each feature, gain, threshold index and whether values rise."""

def scan_bins(
    enters: NDArray[np.uint16],
    leaves: NDArray[np.uint16],
    thresholds: IntArray,
    sign: NDArray[np.int8],
    gradient: FloatArray,
    curvature: FloatArray,
    node: Int32Array,
    n_nodes: int,
    l2: float,
    features: IntArray,
    control: Control | None = None,
) -> tuple[FloatArray, Int32Array, NDArray[np.uint8]]:
    """Do the same for samples in bins: which threshold of each feature, of so many, is best."""

def fit_leaves(
    rest: FloatArray,
    sign: NDArray[np.int8],
    weight: FloatArray,
    start: IntArray,
    leaf: Int32Array,
    offset: FloatArray,
    group_start: IntArray,
    group_leaf: Int32Array,
    n_leaves: int,
    exponential: bool,
    l2: float,
    largest: float,
    rounds: int,
    control: Control | None = None,
) -> tuple[FloatArray, float]:
    """Return values of leaves that minimise the loss of the worst-case margins, and that loss."""

def step_extremes(
    cut: FloatArray, value: FloatArray, lower: FloatArray, upper: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the least and the largest value of a step function over each interval."""

def boosting_loss(margin: FloatArray, exponential: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the loss of margins and its first two derivatives."""

# Greedy learners: feature, threshold (the place of the event before it, or its index), left, right and label of nodes.

def grow_on_impurity(
    events: EventLists,
    weight: FloatArray,
    n_classes: int,
    max_depth: int,
    min_samples_split: int,
    min_samples_leaf: int,
    max_features: int,
    robust_weight: float,
    criterion: str,
    seed: int,
    control: Control | None = None,
    min_weight_leaf: float = 0.0,
) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray]:
    """Grow a tree on the impurity under attack ("groot", "chen-gini", "chen-entropy").

    Samples of weight 0 take no part. Stopped, the nodes still open become leaves.
    """

def grow_on_errors(
    lower_rank: Int32Array,
    upper_rank: Int32Array,
    offset: IntArray,
    first: FloatArray,
    last: FloatArray,
    label: IntArray,
    weight: FloatArray,
    n_classes: int,
    max_depth: int,
    min_samples_split: int,
    min_samples_leaf: int,
    max_features: int,
    seed: int,
    control: Control | None = None,
    min_weight_leaf: float = 0.0,
) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray]:
    """Grow a tree on the errors under attack; stopped, the nodes still open stay leaves."""

# TREANT.

def treant_loss(prediction: float, zeros: float, ones: float, logistic: bool) -> float:
    """Return the loss of a prediction for weights of class 0 and class 1."""

def treant_best_predictions(
    left0: float,
    left1: float,
    right0: float,
    right1: float,
    both0: float,
    both1: float,
    left_low: float,
    left_high: float,
    right_low: float,
    right_high: float,
    start: float,
    logistic: bool,
) -> tuple[float, float, float]:
    """Return the least loss under attack and the predictions of the left and the right leaf that reach it."""

def treant_best_threshold(
    low: Int32Array,
    high: Int32Array,
    label: IntArray,
    weight: FloatArray,
    rule_low: Int32Array,
    rule_high: Int32Array,
    rule_is_upper: IntArray,
    rule_bound: FloatArray,
    lowest: int,
    highest: int,
    start: float,
    logistic: bool,
    control: Control | None = None,
) -> tuple[float, int, int, float, float]:
    """Return the least loss of a split of one feature, its threshold index, the next lower end and both predictions."""
