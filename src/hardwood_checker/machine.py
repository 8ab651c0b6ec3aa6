"""The claims of a proof, checked record by record.

A claim says: every tree of depth at most d costs at least c on the merged samples with weights W. The proof asks for
claims at numbered *places*. For each place the machine keeps the depth, the weights W of the last claim, what is known
of every threshold (M[f][t]: every such tree that splits its root on feature f at threshold t costs at least M[f][t])
and the shares in which weight was divided. Everything is an integer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from hardwood_checker.reading import KINDS, Kind, Reader, Refused, Unusable
from hardwood_checker.samples import Samples, Stumps

HALF, WHOLE = np.uint64(1 << 31), np.uint64(0xFFFFFFFF)
MOST_BYTES = 2 << 30
MOST_CLAIMS_NOTED = 1_000_000
NUMBERS_AT_ONCE = 200_000
"""Of weights: when so many wait to be scanned, they are."""


class Case(NamedTuple):
    """What says how much the two children of a range of thresholds are charged for each sample.

    `branches` are the samples that trees are told apart by, each with whether it is given up.
    """

    feature: int
    first: int
    last: int
    share: Any
    branches: tuple[tuple[int, bool], ...]
    given_up: int


def sides(samples: Samples, weight: Any, ids: Any, cases: Sequence[Case]) -> tuple[Any, Any]:
    """Return the weights of some samples in the left and in the right child, one row per case."""
    feature, first, last = (np.array([case[k] for case in cases])[:, None] for k in range(3))
    left, right = samples.lower[feature, ids] <= first, samples.upper[feature, ids] > last
    share, w = np.array([case.share for case in cases])[:, ids], weight[ids].astype(np.uint64)
    # floor(w * share / 2^32) without overflow: the two halves of w one after the other.
    part = (w >> np.uint64(32)) * share + (((w & WHOLE) * share) >> np.uint64(32))
    part = np.where(share == WHOLE, w, part).astype(np.int64)
    a, b = np.where(right, part, weight[ids]) * left, np.where(left, weight[ids] - part, weight[ids]) * right
    for row, case in enumerate(cases):
        for sample, is_given_up in case.branches:
            heavy = 0 if is_given_up else samples.heavy
            here = ids == sample
            a[row, here], b[row, here] = heavy * left[row, here], heavy * right[row, here]
    return a, b


@dataclass
class Place:
    """What is known at one place; `waiting` are ranges whose two sides' weights have still to be scanned."""

    number: int
    depth: int
    weight: Any
    bound: Any
    stumps: Stumps
    shares: dict[int, Any] = field(default_factory=dict)
    waiting: list[tuple[slice, list[Case]]] = field(default_factory=list)

    def scan(self) -> None:
        """Scan what waits: a range costs at least the least that one of its cases does."""
        every = [case for _, cases in self.waiting for case in cases]
        if every:
            weights = np.vstack(sides(self.stumps.samples, self.weight, self.stumps.ids, every))
            left, right = np.split(self.stumps.costs(weights), 2)
            value = left + right + np.array([case.given_up for case in every])
            starts = np.cumsum([0, *(len(cases) for _, cases in self.waiting)])
            for (where, _), least in zip(self.waiting, np.minimum.reduceat(value, starts[:-1]).tolist(), strict=True):
                np.maximum(self.bound[where], least, out=self.bound[where])
        self.waiting = []


@dataclass
class Claim:
    """For `--explain`: a claim that was opened, by the range of the claim above it."""

    above: int
    what: str
    first_record: int
    last_record: int = 0
    is_proven: bool = False


class Reset(Exception):  # noqa: N818
    """A RESET was read: whatever is open is given up."""


class Cases:
    """Samples that the trees of a range are told apart by: first those that get it right, then those that lose it."""

    def __init__(self, weight: Any) -> None:
        self.weight, self.given_up = weight, 0
        self.stack: list[tuple[int, bool]] = []

    def present(self, feature: int, first: int, last: int, share: Any) -> Case:
        """Return the case that is settled now."""
        return Case(feature, first, last, share, tuple(self.stack), self.given_up)

    def advance(self) -> bool:
        """Go to the next case; whether there is none left."""
        while self.stack and self.stack[-1][1]:
            self.given_up -= int(self.weight[self.stack.pop()[0]])
        if self.stack:
            sample, _ = self.stack[-1]
            self.stack[-1] = (sample, True)
            self.given_up += int(self.weight[sample])
        return not self.stack


class Machine:
    """Reads the records of a proof; `proven` is the largest bound on the root that was verified, in units."""

    def __init__(self, samples: Samples, depth: int | None, reader: Reader, watch: Callable[[float], None]) -> None:
        self.samples, self.reader, self.watch = samples, reader, watch
        self.offset = np.concatenate([[0], np.cumsum(samples.n_ranks)])
        self._offset, self._n_ranks = self.offset.tolist(), samples.n_ranks.tolist()
        # Of each threshold of all features, one after another: its feature, and its number there.
        self._feature = np.repeat(np.arange(samples.p), samples.n_ranks)
        self._index = np.arange(self.offset[-1]) - self.offset[self._feature]
        self._all = np.arange(samples.n)
        self.places: dict[int, Place] = {}
        self.proven = self._n_bytes = 0
        self._counts = [0] * len(KINDS)
        self.ranges: dict[tuple[int, int], int] = {}
        self.claims = [Claim(-1, "the root", 0)]
        self._present = 0
        self._opened = [0]
        self.root = self._open(0, 0 if depth is None else depth, samples.weight)
        self.is_about_trees = depth is not None

    def run(self) -> None:
        """Check all records; raise `Refused` where one does not hold."""
        while True:
            try:
                self._run()
                return
            except Reset:
                self._forget()

    @property
    def records(self) -> dict[str, int]:
        """How many records of each kind there were."""
        return {kind.name: self._counts[kind] for kind in Kind if self._counts[kind]}

    def _forget(self) -> None:
        """Keep nothing but what is known of the thresholds at the root."""
        self.root.scan()
        self.root.shares.clear()
        self.places = {0: self.root}
        self._n_bytes = 8 * (int(self.offset[-1]) + self.samples.n)
        self._present = 0
        self._opened = [0]

    def _run(self) -> None:
        while (kind := self._next()) is not Kind.END:
            if kind is Kind.RANGE:
                self._range(self.root)
            elif kind is Kind.FORGET:
                self._forget_from(*self.reader.numbers("I"))
            elif kind is Kind.PACKING:
                self._packing()
            elif kind is Kind.BOUND and self.is_about_trees:
                (bound,) = self.reader.numbers("q")
                self._require(self.root, bound, f"the bound {bound} at the root")
                self.proven = max(self.proven, bound)
            else:
                raise Unusable(f"record {self.reader.n_records}: {kind.name} does not belong at the root")
        self.reader.expect_end()

    def _next(self) -> Kind:
        kind = self.reader.record()
        self._counts[kind] += 1
        if self.reader.n_records % 1000 == 0:
            self.watch(self.reader.share_read)
        if kind is Kind.RESET:
            raise Reset
        return kind

    def _allocate(self, n_numbers: int) -> None:
        self._n_bytes += 8 * n_numbers
        if self._n_bytes > MOST_BYTES:
            raise Unusable(f"record {self.reader.n_records}: checking needs more than {MOST_BYTES >> 30} GiB")

    def _open(self, number: int, depth: int, weight: Any) -> Place:
        """Give a place new weights: no tree loses more than the weight that was taken away since."""
        stumps = Stumps(self.samples, weight > 0)
        place = self.places.get(number)
        if place is None:
            self._allocate(int(self.offset[-1]) + self.samples.n)
            place = Place(number, depth, weight, np.zeros(int(self.offset[-1]), np.int64), stumps)
            self.places[number] = place
        if place.depth != depth:
            raise Unusable(f"record {self.reader.n_records}: place {number} is for depth {place.depth}")
        np.maximum(place.bound - int(np.maximum(place.weight - weight, 0).sum()), 0, out=place.bound)
        place.weight, place.stumps = weight, stumps
        return place

    def _noted(self, place: Place, target: int, where: str) -> bool:
        """Check a claim, and note it for `--explain` if there are not too many."""
        above = self._present
        if len(self.claims) < MOST_CLAIMS_NOTED:
            self._present = len(self.claims)
            self.claims.append(Claim(above, f"{where}: depth {place.depth}, {target} units", self.reader.n_records))
        claim = self.claims[self._present]
        is_proven = self._claim(place, target)
        if self._present != above:
            claim.last_record, claim.is_proven, self._present = self.reader.n_records, is_proven, above
        return is_proven

    def _claim(self, place: Place, target: int) -> bool:
        """Check a claim; whether it was proven, or given up by whoever wrote the proof."""
        self._opened.append(place.number)
        while (kind := self._next()) in (Kind.RANGE, Kind.TWIN, Kind.FORGET):
            if kind is Kind.RANGE:
                self._range(place)
            elif kind is Kind.TWIN:
                self._twin(place)
            else:
                self._forget_from(*self.reader.numbers("I"))
        self._opened.pop()
        if kind not in (Kind.PROVEN, Kind.ABANDONED):
            raise Unusable(f"record {self.reader.n_records}: {kind.name} does not belong outside a range")
        place.scan()
        if kind is Kind.PROVEN:
            self._require(place, target, f"record {self.reader.n_records}, claim {target} at place {place.number}")
        return kind is Kind.PROVEN

    def _twin(self, place: Place) -> None:
        """Check what is proven at another place for the same weights; it holds here, too."""
        (number,) = self.reader.numbers("I")
        if number in self._opened:
            raise Unusable(f"record {self.reader.n_records}: place {number} is open already")
        twin = self._open(number, place.depth, place.weight)
        self._noted(twin, 0, "beside it")
        np.maximum(place.bound, twin.bound, out=place.bound)

    def _forget_from(self, first: int) -> None:
        """Forget all places from a number on, none of which may be open."""
        if max(self._opened) >= first:
            raise Unusable(f"record {self.reader.n_records}: place {max(self._opened)} is open and cannot be forgotten")
        for number in [number for number in self.places if number >= first]:
            place = self.places.pop(number)
            self._n_bytes -= 8 * (int(self.offset[-1]) + self.samples.n * (1 + len(place.shares)))

    def _require(self, place: Place, bound: int, what: str) -> None:
        """Raise unless every tree of at most its depth costs at least `bound` at a place."""
        place.scan()
        there = place.weight > 0
        if bound <= 0:
            return
        cost = self.samples.leaf_cost(place.weight)
        if place.depth == 1:
            cost = int(place.stumps.costs(place.weight[None, there])[0])
        if cost < bound:
            raise Refused(f"{what}: a tree with at most {min(1, place.depth)} split costs {cost}")
        if place.depth < 2 or not there.any():
            return
        # Where all samples reach the same side, that child alone is a tree that costs no more.
        lower, upper = self.samples.lower[:, there], self.samples.upper[:, there]
        first, last = np.maximum(upper.min(axis=1), 0), np.minimum(lower.max(axis=1), self.samples.n_ranks)
        known = place.bound >= bound
        counts = (self._index >= first[self._feature]) & (self._index < last[self._feature])
        for f in np.unique(self._feature[counts & ~known]):
            its = known[self.offset[f] + first[f] : self.offset[f] + last[f]]
            enough = _dominated(its, lower[f] - first[f], upper[f] - first[f])
            if not enough.all():
                t = int(first[f] + np.argmin(enough))
                cost = place.bound[self.offset[f] + t]
                raise Refused(f"{what}: threshold {t} of feature {f} is only proven to cost {cost}")

    def _range(self, place: Place) -> None:
        f, first, last = self.reader.numbers("III")
        if place.depth < 2 or f >= self.samples.p or not first <= last < self._n_ranks[f]:
            raise Unusable(f"{self._here(place, f, first, last)}: there is no such range")
        self.ranges[(place.depth, f)] = self.ranges.get((place.depth, f), 0) + 1
        where = slice(self._offset[f] + first, self._offset[f] + last + 1)
        if f not in place.shares:
            self._allocate(self.samples.n)
            place.shares[f] = np.full(self.samples.n, HALF)
        cases = Cases(place.weight)
        targets: dict[int, int] = {}
        settled: list[Any] = []
        while True:
            kind = self._next()
            if kind is Kind.SHARES:
                place.shares[f] = self._shares(place.shares[f])
                targets = {}
            elif kind is Kind.BRANCH:
                (sample,) = self.reader.numbers("I")
                if sample >= self.samples.n or any(sample == other for other, _ in cases.stack):
                    raise Unusable(f"{self._here(place, f, first, last)}: no branch on sample {sample} is possible")
                cases.stack.append((sample, False))
                targets = {}
            elif kind is Kind.CHILD and place.depth > 2:
                side, number, target = self.reader.numbers("BIq")
                if side > 1:
                    raise Unusable(f"{self._here(place, f, first, last)}: there is no side {side}")
                case = cases.present(f, first, last, place.shares[f])
                weight = sides(self.samples, place.weight, self._all, [case])[side][0]
                child = self._open(number, place.depth - 1, weight)
                if self._noted(child, target, f"{('left', 'right')[side]} of thresholds {first}–{last} of feature {f}"):
                    targets[side] = target
            elif kind is (Kind.SETTLE if place.depth == 2 else Kind.JOIN):
                if place.depth == 2:
                    settled.append(cases.present(f, first, last, place.shares[f]))
                elif len(targets) == 2:
                    settled.append(targets[0] + targets[1] + cases.given_up)
                else:
                    raise Refused(f"{self._here(place, f, first, last)}: joined without a proof for both sides")
                targets = {}
                if cases.advance():
                    break
            elif kind is Kind.DROP:
                return
            else:
                raise Unusable(f"{self._here(place, f, first, last)}: {kind.name} does not belong there")
        if place.depth > 2:
            np.maximum(place.bound[where], min(settled), out=place.bound[where])
        else:
            place.waiting.append((where, settled))
            if len(place.waiting) * self.samples.n >= NUMBERS_AT_ONCE:
                place.scan()

    def _here(self, place: Place, f: int, first: int, last: int) -> str:
        return f"record {self.reader.n_records}, in the range {first}–{last} of feature {f} at place {place.number}"

    def _shares(self, share: Any) -> Any:
        """Return new shares; the old ones stay as they are, since cases may still wait for them."""
        (length,) = self.reader.numbers("I")
        sample, value = self.reader.array(length, "<u4"), self.reader.array(length, "<u4")
        if length and int(sample.max()) >= self.samples.n:
            raise Unusable(
                f"record {self.reader.n_records}: a share for sample {int(sample.max())}, which does not exist"
            )
        share = share.copy()
        share[sample] = value
        return share

    def _packing(self) -> None:
        """Check disjoint conflicts: of two samples of different classes whose boxes meet, any model loses one."""
        (length,) = self.reader.numbers("I")
        one, other = self.reader.array(length, "<u4"), self.reader.array(length, "<u4")
        amount = self.reader.array(length, "<i8")
        s = self.samples
        if length and max(int(one.max()), int(other.max())) >= s.n:
            raise Unusable("a conflict of a sample that does not exist")
        if (s.label[one] == s.label[other]).any() or (amount < 0).any() or (amount > s.weight[one]).any():
            raise Refused("a conflict of two samples of one class, or of an impossible amount")
        for f in range(s.p):
            if ((s.lower[f, one] > s.upper[f, other]) | (s.lower[f, other] > s.upper[f, one])).any():
                raise Refused(f"two samples that are said to conflict are told apart by feature {f}")
        used = [0] * s.n
        for i, k, a in zip(one.tolist(), other.tolist(), amount.tolist(), strict=True):
            used[i] += a
            used[k] += a
        if any(spent > own for spent, own in zip(used, s.weight.tolist(), strict=True)):
            raise Refused("the conflicts of a sample use more than it weighs")
        self.proven = max(self.proven, sum(amount.tolist()) + s.penalty)


def _dominated(known: Any, lower: Any, upper: Any) -> Any:
    """Return which thresholds are known to cost enough, by themselves or by another one.

    From t to t' > t the left side only grows, and unless an upper end lies in between the right side stays: then t'
    costs at least as much as t. From t to t' < t the right side only grows, and unless a lower end lies in between the
    left side stays.
    """
    at = np.arange(len(known))
    n_lower, n_upper = (np.searchsorted(np.sort(ends), at, side="right") for ends in (lower, upper))
    before = np.maximum.accumulate(np.where(known, at, -1))
    after = np.minimum.accumulate(np.where(known, at, len(known))[::-1])[::-1]
    from_before = (before >= 0) & (n_upper[np.maximum(before, 0)] == n_upper)
    return from_before | ((after < len(known)) & (n_lower[np.minimum(after, len(known) - 1)] == n_lower))
