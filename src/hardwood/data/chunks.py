"""Tables that do not fit into memory: Dask arrays and dataframes, read one chunk of rows after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np

from hardwood.errors import InvalidInputError


def is_chunked(X: Any) -> bool:
    """Whether a table is a Dask collection."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "shape")


def chunks_of(X: Any, *others: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the chunks of a Dask array or dataframe, each with its part of the others; one is in memory at a time.

    Parameters
    ----------
    X : dask array of shape (n_samples, n_features), or dask dataframe
    *others : dask array or series with the same chunks, array of shape (n_samples,), or None
    """
    dask: Any = import_module("dask")
    blocks = _blocks(X)
    parts = [_blocks(other) if is_chunked(other) else other for other in others]
    for part in parts:
        if isinstance(part, list) and len(part) != len(blocks):
            raise InvalidInputError(f"X has {len(blocks)} chunks, and y or the weights have {len(part)}; rechunk them")
    begin = 0
    for k, block in enumerate(blocks):
        lazy = [block] + [part[k] for part in parts if isinstance(part, list)]
        computed = iter(dask.compute(*lazy))
        chunk = next(computed)
        end = begin + len(chunk)
        yield (
            chunk,
            *(
                next(computed) if isinstance(part, list) else None if part is None else _rows(part, begin, end)
                for part in parts
            ),
        )
        begin = end
    for part in parts:
        if part is not None and not isinstance(part, list) and len(part) != begin:
            raise InvalidInputError(f"X has {begin} rows, y or the weights {len(part)}")


def _blocks(X: Any) -> list[Any]:
    if hasattr(X, "partitions") and hasattr(X, "npartitions") and not hasattr(X, "chunks"):
        return [X.partitions[k] for k in range(X.npartitions)]
    if X.ndim == 2 and X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    return [X.blocks[k] for k in range(X.numblocks[0])]


def _rows(values: Any, begin: int, end: int) -> Any:
    part = np.asarray(values)[begin:end]
    if len(part) != end - begin:
        raise InvalidInputError(f"X has more rows than y or the weights, which have {len(np.asarray(values))}")
    return part


def over_chunks(answer: Callable[[Any], Any], X: Any, dtype: Any) -> Any:
    """Return, lazily, one answer per row of a Dask array or dataframe: an array or series with the same chunks."""
    if hasattr(X, "map_partitions"):
        import pandas as pd

        meta = pd.Series([], dtype=dtype)
        return X.map_partitions(lambda part: pd.Series(answer(part), index=part.index), meta=meta)
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    return X.map_blocks(answer, dtype=dtype, drop_axis=1)
