"""Options of the search that the core knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import hardwood._core as _core
from hardwood.solvers.options import Flag, Option, Whole

CORE_OPTIONS = (
    Option("rounds", 24, Whole(0), "subgradient rounds at a split of depth 2"),
    Option("range_rounds", 4, Whole(0), "subgradient rounds at a range of splits of depth 2"),
    Option("deep_rounds", 60, Whole(1), "subgradient rounds at a deeper split"),
    Option("deep_range_rounds", 20, Whole(1), "subgradient rounds at a range of deeper splits"),
    Option("ascent_steps", 100, Whole(1), "steps of the ascent that shares out weights"),
    Option("blocks_from", 500, Whole(0), "distinct samples from which on blocks of them are counted"),
    Option(
        "coarse_from", 100_000, Whole(0), "distinct samples of two classes from which on blocks of ranks are counted"
    ),
    Option("coarse_from_many", 500, Whole(0), "the same for more classes"),
    Option("first_tree", True, Flag(), "whether a child begins with the tree of its neighbour"),
    Option("use_memory", True, Flag(), "whether bounds of similar weights are used"),
    Option("use_ranges", True, Flag(), "whether ranges of splits are settled together"),
    Option("use_pool", True, Flag(), "whether trees are remembered and priced anew"),
    Option("use_lazy_scan", True, Flag(), "whether scans skip what cannot matter"),
    Option("use_carry", True, Flag(), "whether shares carry over to the next split"),
    Option("use_witness", True, Flag(), "whether the last cheap tree is priced before a range of splits is bounded"),
    Option("use_early_join", True, Flag(), "whether a range is given up before all features are scanned"),
    Option("use_blocks", True, Flag(), "whether samples are counted by blocks where no box reaches two sides"),
    Option("use_solved", True, Flag(), "whether subtrees that were re-optimised are not asked for again"),
    Option("use_resplit", True, Flag(), "whether first trees are improved by better splits above their subtrees"),
    Option("use_late_branching", True, Flag(), "whether thresholds that need branching wait for all others"),
    Option("use_coarse_scan", True, Flag(), "whether samples of large tables are counted by blocks of ranks"),
    Option("use_doubtful_first", True, Flag(), "whether the child that had a tree last time is asked first"),
    Option("use_room", True, Flag(), "whether weights move on until trees that are known leave room above the cutoff"),
)


def core_options(options: Mapping[str, Any]) -> _core.SearchOptions:
    """Return those of a solver's options that the core knows."""
    return _core.SearchOptions(**{option.name: options[option.name] for option in CORE_OPTIONS})
