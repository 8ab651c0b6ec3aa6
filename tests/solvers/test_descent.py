"""Re-optimising one node at a time: exact for one node, never worse for many."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hardwood import Problem
from hardwood.solvers.formulations.descent import descend, search_nearby
from hardwood.solvers.formulations.encoding import encode
from hardwood.tree.conversion import place
from hardwood.tree.index_tree import IndexTree
from hardwood.tree.reach import objective
from oracle import TinyProblem, optimal_objective
from strategies import problem_of, tiny_problems


@given(tiny_problems(), st.booleans())
def test_one_node_is_re_optimised_exactly(tiny: TinyProblem, strengthen: bool) -> None:
    problem = problem_of(tiny, 1)
    encoding = encode(problem, strengthen=strengthen)
    if encoding.n_values > 0:
        worst = encoding.to_choice(IndexTree.leaf(int(np.argmin(problem.class_weight_sums))))
        assert encoding.objective(descend(encoding, worst)) == optimal_objective(tiny, 1)


@settings(max_examples=40)
@given(tiny_problems(), st.integers(0, 1000))
def test_the_objective_never_rises_and_is_that_of_the_tree(tiny: TinyProblem, seed: int) -> None:
    problem = problem_of(tiny, 2)
    encoding = encode(problem, strengthen=True)
    if encoding.n_values > 0:
        start = encoding.to_choice(IndexTree.leaf(0))
        better = search_nearby(encoding, start, 0.01, seed)
        assert optimal_objective(tiny, 2) <= encoding.objective(better) <= encoding.objective(start)
        assert objective(place(encoding.to_tree(better), problem), problem) <= encoding.objective(better)


def test_shaking_finds_what_no_single_node_can() -> None:
    # No single split of xor is better than none, so a descent from a leaf stays there.
    xor = Problem.from_data([[0, 0], [0, 1], [1, 0], [1, 1]], [0, 1, 1, 0], 0.1, 2)
    encoding = encode(xor, strengthen=True)
    leaf = encoding.to_choice(IndexTree.leaf(0))
    assert encoding.objective(descend(encoding, leaf)) == 2
    assert encoding.objective(search_nearby(encoding, leaf, 5.0, 0)) == 0
