"""Writes a proof: a second pass of the search that logs what it prunes.

The pass is handed the bound that is to be proven, so it looks for no trees: every threshold of the root is pruned, and
what that rests on goes to the file as it comes (`src/core/search/proof_log.h`). It works on the plain ranks of the ends
(the format knows no others) and in one thread, since a record may rest on those before it.
"""

from __future__ import annotations

import gzip
import json
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil, floor
from typing import Any, NamedTuple

import numpy as np

from hardwood import _core
from hardwood.arrays import IntArray, RankArray
from hardwood.bounds import AccuracyBound, bound_problem
from hardwood.errors import InvalidInputError, SolverError, StoppedError
from hardwood.files import whole_file
from hardwood.problem.endpoints import maximum_margin
from hardwood.problem.problem import Problem
from hardwood.proofs.header import header_of
from hardwood.solvers.search.model import SearchModel
from hardwood.tree.conversion import to_indices, tree_of
from hardwood.tree.draft import Fork, Leaf, grow
from hardwood.tree.index_tree import IndexTree
from hardwood.tree.tree import Tree

MAGIC = b"hardwood proof 1\n"
PACKING, BOUND, END = bytes([10]), bytes([11]), bytes([12])
_POLL = 0.05


def write_proof(
    problem: Problem,
    tree: Tree | None,
    bound: float,
    path: str | os.PathLike[str],
    *,
    target: str | None = None,
    time_limit: float | None = None,
    extra: dict[str, Any] | None = None,
) -> None:
    """Prove that no tree of the problem costs less than `bound`, and write it down.

    Parameters
    ----------
    problem : Problem
    tree : Tree or None
        Tree whose cost the proof states beside the bound.
    bound : float
        In units of the objective. What is proven is rounded down where it does not fit the parts of a weight.
    path : path of the file; written whole or not at all
    target : str or None
        Name of the column with the labels, for whoever checks the proof against a CSV file.
    time_limit : float or None
        Seconds; when they are over, no file is written and `SolverError` raised.
    extra : dict or None
        Further entries of the header, which whoever checks the proof does not look at.
    """
    if problem.leaf_limit_name is not None:
        raise InvalidInputError(f"a proof cannot speak of {problem.leaf_limit_name}; learn without it to get one")
    model = SearchModel.of(problem, PlainRanks.of(problem))
    parts = parts_to_prove(bound, model)
    header = header_of(
        problem,
        tree,
        target,
        bound=parts,
        depth=problem.max_depth,
        scale=model.exact_scale,
        heavy=model.forbidden,
    ) | (extra or {})
    with _proof_file(path, header) as stream:
        record, packed = packing_record(problem, model)
        if packed >= parts:
            stream.write(record)
        else:
            _write_search(model, parts, stream, time_limit)


def parts_to_prove(bound: float, model: SearchModel) -> int:
    """Return the least bound in parts that amounts to `bound`.

    Where costs are multiples of a step, that is one part above a step. Weights that are not whole numbers were rounded
    down, each by less than one part, and the penalty of each leaf too.
    """
    if model.step > 1:
        return (ceil(bound * model.scale / model.step - 1e-6) - 1) * model.step + 1
    return floor(bound * model.scale) - model.problem.n_samples - model.most_leaves


def write_bound_proof(bound: AccuracyBound, path: str | os.PathLike[str], *, target: str | None = None) -> None:
    """Write the pairs of conflicting samples that bound every model; see `write_proof`."""
    problem = bound.problem
    model = SearchModel.of(problem, PlainRanks.of(problem))
    record, parts = _packing(bound, model)
    header = header_of(problem, None, target, bound=parts, depth=None, scale=model.exact_scale, heavy=model.forbidden)
    with _proof_file(path, header) as stream:
        stream.write(record)


@contextmanager
def _proof_file(path: str | os.PathLike[str], header: dict[str, Any]) -> Iterator[gzip.GzipFile]:
    """Open a file for the records between the header and END."""
    with whole_file(path) as raw, gzip.GzipFile("", "wb", compresslevel=4, fileobj=raw, mtime=0) as stream:
        stream.write(MAGIC + json.dumps(header, allow_nan=False).encode() + b"\n")
        yield stream
        stream.write(END)


class PlainRanks(NamedTuple):
    """Ends numbered among the distinct finite ends of their feature: the ranks of the format."""

    lower_rank: RankArray
    upper_rank: RankArray
    n_ranks: IntArray

    @classmethod
    def of(cls, problem: Problem, control: _core.Control | None = None) -> PlainRanks:
        """Rank the ends of the problem's boxes; `StoppedError` where the control stops it."""
        ranks = np.empty((2, problem.n_samples, problem.n_features), np.int32)
        n_ranks = np.empty(problem.n_features, np.int64)
        for j in range(problem.n_features):
            if control is not None and control.stopped:
                raise StoppedError("stopped while the ends of boxes were ranked")
            both = problem.ends_on(j)
            is_finite = np.isfinite(both)
            values, places = np.unique(both[is_finite], return_inverse=True)
            n_ranks[j] = len(values)
            ranks[:, :, j] = np.where(both == -np.inf, -1, len(values))
            ranks[:, :, j][is_finite] = places
        return cls(ranks[0], ranks[1], n_ranks)


def plain_to_indices(rows: IntArray, problem: Problem) -> IndexTree:
    """Turn a tree of the core whose thresholds are plain ranks into one of the problem's own."""

    def node_of(node: int) -> Leaf | Fork[int]:
        feature, index, left, right, label = (int(row[node]) for row in rows)
        if left < 0:
            return Leaf(label)
        both = problem.ends_on(feature)
        ends = np.concatenate([[-np.inf], np.unique(both[np.isfinite(both)]), [np.inf]])
        return Fork(feature, maximum_margin(*ends[index + 1 : index + 3]), left, right)

    return to_indices(tree_of(grow(0, node_of), problem), problem)


def numbers_of_samples(model: SearchModel) -> IntArray:
    """Return the number of each merged sample in the proof: its place in the order of first appearance."""
    assert model.group is not None
    first = np.full(model.n, model.problem.n_samples)
    np.minimum.at(first, model.group, np.arange(model.problem.n_samples))
    return np.argsort(np.argsort(first)).astype(np.int64)


def _write_search(model: SearchModel, parts: int, stream: gzip.GzipFile, time_limit: float | None) -> None:
    """Let the search prove the bound, and write its records as they come."""
    log = _core.ProofLog(numbers_of_samples(model))
    if model.depth >= 2 and parts > 0:
        search = _core.RootSearch(model.core, _core.SearchOptions(), model.depth, 1, _core.Control(time_limit), log)
        try:
            search.start(parts, parts + model.step - 1)
            is_running = True
            while is_running:
                trees, settled, items, is_running = search.wait(_POLL)
                stream.write(log.take())
                if trees:
                    cost = trees[0][0] / model.scale
                    raise SolverError(f"a tree that costs {cost:g} was found while {parts / model.scale:g} was proven")
        finally:
            search.stop()
        if settled < items:
            raise SolverError("the proof was not finished within its time limit; no file was written")
        stream.write(log.take())
    log.bound(parts)
    stream.write(log.take())


def packing_record(problem: Problem, model: SearchModel) -> tuple[bytes, int]:
    """Return the bound of any model as a record, and what it proves in parts."""
    return _packing(bound_problem(problem), model)


def _packing(bound: AccuracyBound, model: SearchModel) -> tuple[bytes, int]:
    order = numbers_of_samples(model)
    assert model.group is not None
    pairs = np.sort(order[model.group[bound.matching]], axis=1)
    weight = bound.matching_weight
    if model.problem.has_integer_weights:
        # A part may be worth several samples where all merged weights have a common divisor: add up before rounding.
        pairs, place = np.unique(pairs, axis=0, return_inverse=True)
        weight = np.bincount(place.ravel(), weights=weight, minlength=len(pairs)).astype(np.float64)
    parts, unit = model.exact_scale
    amount = np.floor(weight * parts / unit).astype("<i8")
    pairs = pairs.astype("<u4")
    record = PACKING + struct.pack("<I", len(pairs)) + pairs[:, 0].tobytes() + pairs[:, 1].tobytes() + amount.tobytes()
    return record, int(amount.sum()) + model.penalty
