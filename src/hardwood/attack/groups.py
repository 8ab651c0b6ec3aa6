"""One-hot groups: one categorical feature in several columns, of which exactly one (or at most one) is 1.

The attacker does not move such columns one by one but changes the category: the 1 goes from one column to another, as
far as the moves allow it. Categories are numbered like the columns of the group; after the last one stands "none", for
groups in which all columns may be 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hardwood.arrays import BoolArray, FloatArray, IntArray
from hardwood.attack.entries import FeatureKey, Moves, feature_key, parse_moves, position
from hardwood.errors import InvalidInputError
from hardwood.plain_data import as_entries, as_flag, as_items

NONE = ""
"""How moves call the state in which no column is 1."""


@dataclass(frozen=True)
class Group:
    """Columns of which exactly one, or at most one, is 1, and how an attacker may change which.

    Parameters
    ----------
    columns : tuple of (str or int)
    moves : Moves or None
        What may become what, in names of columns and ``""`` for none; None for anything.
    at_most_one : bool
        Whether all columns may be 0.
    """

    columns: tuple[FeatureKey, ...]
    moves: Moves | None = None
    at_most_one: bool = False

    @classmethod
    def parse(cls, columns: Any, moves: Any, at_most_one: bool) -> Group:
        """Check what a user wrote."""
        if isinstance(columns, str) or not isinstance(columns, Iterable):
            raise InvalidInputError(f"the columns of a group are {columns!r}; give a list of names or indices")
        keys = tuple(feature_key(key) for key in columns)
        if len(keys) < 2 - at_most_one or len(set(keys)) < len(keys):
            raise InvalidInputError(
                f"the columns of a group are {list(keys)!r}; it needs different columns, two or more"
            )
        if not isinstance(at_most_one, bool):
            raise InvalidInputError(f"at_most_one={at_most_one!r}; it must be True or False")
        group = cls(keys, None if isinstance(moves, str) and moves == "<>" else cls._moves(moves), at_most_one)
        group._check_names()
        return group

    @staticmethod
    def _moves(moves: Any) -> Moves:
        if moves is None or (isinstance(moves, str) and moves == ""):
            return ()
        found = parse_moves(moves)
        if found is None:
            raise InvalidInputError(
                f"the moves of a group are {moves!r}; give '<>' for any, a dict from column to the columns that may be "
                "1 instead, or a set of columns ('' for none)"
            )
        return found

    def _check_names(self) -> None:
        known = {*self.columns, *([NONE] if self.at_most_one else [])}
        for source, targets in self.moves or ():
            for name in (*targets, *(() if source is None else (source,))):
                if name not in known:
                    raise InvalidInputError(
                        f"the moves of a group name {name!r}; its columns are {', '.join(map(repr, self.columns))}"
                        + ("" if self.at_most_one else "; with at_most_one=True there is also '' for none")
                    )

    def positions(self, n_features: int, names: Sequence[str] | None) -> IntArray:
        """Return which features the columns are."""
        found = np.array([position(key, n_features, names) for key in self.columns], dtype=np.int64)
        if len(set(found.tolist())) < len(found):
            raise InvalidInputError(f"a group names a column twice: {', '.join(map(repr, self.columns))}")
        return found

    def can_become(self) -> BoolArray:
        """Return what each category, and last none of them, can become."""
        k = len(self.columns)
        can_be = np.eye(k + 1, dtype=bool)
        if self.moves is None:
            can_be[:, :k] = True
            can_be[:, k] |= self.at_most_one
            return can_be
        code: dict[Any, int] = {key: place for place, key in enumerate(self.columns)}
        code[NONE] = k
        for source, targets in self.moves:
            rows = slice(None) if source is None else code[source]
            can_be[rows, [code[target] for target in targets]] = True
        return can_be

    def codes(self, matrix: FloatArray, columns: IntArray) -> IntArray:
        """Return the category of each sample; samples that are no such group are refused."""
        cells = matrix[:, columns]
        wrong = ~((cells == 0) | (cells == 1)).all(axis=1)
        count = (cells == 1).sum(axis=1)
        wrong |= count > 1 if self.at_most_one else count != 1
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InvalidInputError(
                f"row {row} holds {cells[row].tolist()} in the group {', '.join(map(repr, self.columns))}; "
                f"{'at most' if self.at_most_one else 'exactly'} one of them must be 1 and all others 0"
            )
        return np.where(count == 0, len(columns), cells.argmax(axis=1))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        moves: Any = "<>" if self.moves is None else [[source, list(targets)] for source, targets in self.moves]
        return {"columns": list(self.columns), "moves": moves, "at_most_one": self.at_most_one}

    @classmethod
    def from_dict(cls, data: Any, where: str) -> Group:
        """Inverse of `to_dict`; anything else is refused."""
        data = as_entries(data, where, ("columns", "moves", "at_most_one"))
        moves = data["moves"]
        if moves != "<>":
            pairs = [as_items(pair, where, 2) for pair in as_items(moves, where)]
            every = [pair[1] for pair in pairs if pair[0] is None]
            if every and len(pairs) > 1:
                raise InvalidInputError(f"the moves of {where} name 'every' beside others")
            moves = set(as_items(every[0], where)) if every else {pair[0]: as_items(pair[1], where) for pair in pairs}
        return cls.parse(as_items(data["columns"], where), moves, as_flag(data["at_most_one"], where))


def suspected_groups(X: FloatArray, names: Sequence[str] | None) -> list[tuple[str, ...]]:
    """Return columns that look like one-hot groups: neighbours of 0 and 1 of which exactly one is 1 in every row.

    Only neighbours are looked at, and names must share what stands before a separator, where there are names.
    """
    binary = ((X == 0) | (X == 1)).all(axis=0) & (X == 1).any(axis=0)
    found: list[tuple[str, ...]] = []
    j = 0
    while j < X.shape[1]:
        run = [j]
        while binary[run[-1]] and run[-1] + 1 < X.shape[1] and binary[run[-1] + 1] and _alike(names, j, run[-1] + 1):
            run.append(run[-1] + 1)
        whole = next((m for m in range(len(run), 2, -1) if (X[:, run[:m]].sum(axis=1) == 1).all()), 0)
        if binary[j] and whole:
            found.append(tuple(str(k) if names is None else names[k] for k in run[:whole]))
        j += max(1, whole)
    return found


def _alike(names: Sequence[str] | None, i: int, k: int) -> bool:
    if names is None:
        return True
    stems = [next((name.rsplit(mark, 1)[0] for mark in ("=", "_", ":", ".", " ") if mark in name), name) for name in
             (names[i], names[k])]  # fmt: skip
    return stems[0] == stems[1]
