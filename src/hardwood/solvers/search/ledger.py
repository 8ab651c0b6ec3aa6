"""What is known of the candidates of a root that is shared out: what is proven of each, and who was at it last."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hardwood.arrays import IntArray
from hardwood.errors import InvalidInputError
from hardwood.proofs.members import Settled
from hardwood.solvers.search.helping import RootPart


class Ledger:
    """What is proven of each candidate of the root, in parts of a weight."""

    def __init__(self, n_candidates: Sequence[int]) -> None:
        self._all = np.zeros(sum(n_candidates), np.int64)
        self.bound: list[IntArray] = np.split(self._all, np.cumsum(n_candidates)[:-1])  # of each feature: views

    def note(self, settled: Sequence[Settled]) -> None:
        """Raise what is known."""
        for feature, first, end, bound in settled:
            if feature >= len(self.bound) or not first < end <= len(self.bound[feature]):
                raise InvalidInputError(f"the root has no part {first}–{end} of feature {feature} to be settled")
            part = self.bound[feature][first:end]
            np.maximum(part, bound, out=part)

    def open_parts(self, cutoff: int, within: Sequence[RootPart] | None = None) -> list[RootPart]:
        """Return the runs of candidates of which less than the cutoff is proven."""
        found: list[RootPart] = []
        if within is None:
            within = [(j, 0, len(bound)) for j, bound in enumerate(self.bound)]
        for feature, first, end in within:
            is_open = self.bound[feature][first:end] < cutoff
            edges = np.flatnonzero(np.diff(np.concatenate([[False], is_open, [False]]))) + first
            found += [(feature, int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
        return found

    def forget_beyond(self, other: Ledger) -> None:
        """Lower what is known to what another ledger knows."""
        np.minimum(self._all, other._all, out=self._all)

    def settled_share(self, cutoff: int) -> float:
        """Return the share of the candidates that is settled for a cutoff."""
        return int(np.count_nonzero(self._all >= cutoff)) / max(1, self._all.size)

    @property
    def least(self) -> int | None:
        """What is proven of every candidate; None where there is none."""
        return int(self._all.min()) if self._all.size else None


class Keepers:
    """Which station settled a candidate last: what it remembers below the root is about that one and its neighbours."""

    def __init__(self, n_candidates: Sequence[int]) -> None:
        self._number: list[IntArray] = [np.full(n, -1, np.int64) for n in n_candidates]
        self._slots: dict[str, int] = {}

    def note(self, slot: str, settled: Sequence[Settled]) -> None:
        """Take note of what a station has settled."""
        number = self._slots.setdefault(slot, len(self._slots))
        for feature, first, end, _ in settled:
            self._number[feature][first:end] = number

    def strangeness(self, slot: str, part: RootPart) -> float:
        """Return how strange a part is to a station: from 0, all its own, to 2, all others'."""
        feature, first, end = part
        number = self._number[feature][first:end]
        own = self._slots.get(slot, -2)
        return float(np.mean(np.where(number == own, 0, np.where(number < 0, 1, 2))))
