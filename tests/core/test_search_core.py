"""Every function of the search core against a short twin in plain Python that looks at all splits."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any, cast

import numpy as np
import pytest

import hardwood._core as _core
from hardwood.arrays import IntArray, RankArray

Nested = tuple[Any, ...]  # (feature, threshold, left, right), or a class as an int


@dataclass(frozen=True)
class Case:
    lower: RankArray
    upper: RankArray
    n_ranks: IntArray
    label: IntArray
    count: IntArray
    weight: IntArray
    n_classes: int
    penalty: int
    min_leaf: int

    @property
    def forbidden(self) -> int:
        return int(self.weight.sum()) + self.penalty * 17 + 1

    def core(self) -> _core.SearchProblem:
        return _core.SearchProblem(
            self.lower,
            self.upper,
            np.arange(len(self.label)),
            self.n_ranks,
            self.label,
            self.count,
            self.weight,
            n_classes=self.n_classes,
            penalty=self.penalty,
            forbidden=self.forbidden,
            step=1,
            min_leaf=self.min_leaf,
        )


def random_case(seed: int, most: int = 12) -> Case:
    """Boxes on few ranks, so that ties and touching boxes are common; some ends are infinite."""
    rng = np.random.default_rng([seed, 77])
    n, p = int(rng.integers(1, most + 1)), int(rng.integers(1, 4))
    n_classes = int(rng.integers(2, 5))
    n_ranks = rng.integers(1, 7, p)
    ends = np.sort(rng.integers(0, n_ranks, (2, n, p)), axis=0).astype(np.int32)
    lower = np.where(rng.random((n, p)) < 0.1, -1, ends[0]).astype(np.int32)
    upper = np.where(rng.random((n, p)) < 0.1, n_ranks, ends[1]).astype(np.int32)
    return Case(
        lower,
        upper,
        n_ranks,
        rng.integers(0, n_classes, n),
        rng.integers(1, 4, n),
        rng.integers(0, 40, n),
        n_classes,
        int(rng.choice([0, 0, 3])),
        int(rng.choice([0, 0, 2])),
    )


def nested_of(rows: IntArray, node: int = 0) -> Nested | int:
    feature, threshold, left, right, label = (int(v) for v in rows[:, node])
    return label if left < 0 else (feature, threshold, nested_of(rows, left), nested_of(rows, right))


def cost_of(tree: Nested | int, case: Case) -> int:
    """Weight of the samples that reach a leaf of another class, and the leaves; `forbidden` if a leaf is too small."""
    lost: set[int] = set()
    certain: list[int] = []

    def walk(node: Nested | int, samples: list[int], alone: set[int]) -> None:
        if not isinstance(node, tuple):
            lost.update(i for i in samples if case.label[i] != node)
            certain.append(sum(int(case.count[i]) for i in alone))
            return
        j, t, left, right = node
        to_left = [i for i in samples if case.lower[i, j] <= t]
        to_right = [i for i in samples if case.upper[i, j] > t]
        walk(left, to_left, alone - set(to_right))
        walk(right, to_right, alone - set(to_left))

    everyone = list(range(len(case.label)))
    walk(tree, everyone, set(everyone))
    if isinstance(tree, tuple) and min(certain) < case.min_leaf:
        return case.forbidden
    return sum(int(case.weight[i]) for i in lost) + case.penalty * len(certain)


def trees(case: Case, depth: int) -> list[Nested | int]:
    """All trees of at most so many splits on a path."""
    leaves: list[Nested | int] = list(range(case.n_classes))
    if depth == 0:
        return leaves
    below = trees(case, depth - 1)
    splits = [(j, t) for j in range(len(case.n_ranks)) for t in range(int(case.n_ranks[j]))]
    return leaves + [(j, t, a, b) for (j, t), a, b in product(splits, below, below)]


def best_of_depth_two(case: Case) -> int:
    """The optimum of depth 2: for each root split all pairs of subtrees, by the sets of samples that each loses."""

    def outcomes(samples: frozenset[int], alone: frozenset[int]) -> set[tuple[frozenset[int], int]]:
        """Samples lost and leaves of every allowed subtree of depth at most 1."""

        def leaf(reaching: frozenset[int], certain: frozenset[int]) -> list[frozenset[int]]:
            if sum(int(case.count[i]) for i in certain) < case.min_leaf:
                return []
            return [frozenset(i for i in reaching if case.label[i] != c) for c in range(case.n_classes)]

        found = {(lost, 1) for lost in leaf(samples, alone)}
        for j in range(len(case.n_ranks)):
            for t in range(int(case.n_ranks[j])):
                left = frozenset(i for i in samples if case.lower[i, j] <= t)
                right = frozenset(i for i in samples if case.upper[i, j] > t)
                found |= {(a | b, 2) for a in leaf(left, alone - right) for b in leaf(right, alone - left)}
        return found

    everyone = frozenset(range(len(case.label)))

    def weight_of(lost: frozenset[int]) -> int:
        return sum(int(case.weight[i]) for i in lost)

    best = min(cost_of(c, case) for c in range(case.n_classes))
    for j in range(len(case.n_ranks)):
        for t in range(int(case.n_ranks[j])):
            left = frozenset(i for i in everyone if case.lower[i, j] <= t)
            right = frozenset(i for i in everyone if case.upper[i, j] > t)
            for (a, m), (b, n) in product(outcomes(left, everyone - right), outcomes(right, everyone - left)):
                best = min(best, weight_of(a | b) + case.penalty * (m + n))
    return best


def solved(case: Case, depth: int, options: _core.SearchOptions, n_threads: int = 1) -> tuple[int, list[int]]:
    """Run one stage that asks for anything better than nothing; the optimum and the costs of the trees on the way."""
    core = case.core()
    search = _core.RootSearch(core, options, depth, n_threads, _core.Control())
    search.start(case.forbidden, case.forbidden)
    costs = []
    is_running = True
    while is_running:
        found, settled, items, is_running = search.wait(0.05)
        for cost, rows in found:
            assert cost_of(nested_of(rows), case) == cost
            costs.append(cost)
    search.stop()
    assert settled == items
    assert search.cutoff == search.best == min(costs, default=case.forbidden)
    return search.best, costs


def test_the_last_ranks_of_places_are_those_of_the_ends_there() -> None:
    for seed in range(40):
        case = random_case(seed)
        rng = np.random.default_rng([seed, 78])
        n, feature, n_places = len(case.label), int(rng.integers(case.lower.shape[1])), int(rng.integers(0, 4))
        lower, upper = rng.integers(0, n_places + 1, (2, n)).astype(np.int32)
        expected = [
            max([0, *case.lower[lower == k, feature].tolist(), *case.upper[upper == k, feature].tolist()])
            for k in range(n_places)
        ]
        found = case.core().last_ranks(feature, lower, upper, n_places)
        assert found.tolist() == expected, f"seed {seed}"
        with pytest.raises(ValueError, match="place"):
            case.core().last_ranks(feature, lower + np.int32(n_places + 1), upper, n_places)


@pytest.mark.parametrize("block", range(4))
def test_best_stump_is_the_best_of_all_stumps(block: int) -> None:
    for seed in range(50 * block, 50 * (block + 1)):
        case = random_case(seed)
        cost, rows = _core.best_stump(case.core())
        expected = min(cost_of(tree, case) for tree in trees(case, 1) if not _is_too_small_a_leaf(tree, case))
        assert cost == expected == cost_of(nested_of(rows), case), f"seed {seed}"


def _is_too_small_a_leaf(tree: Nested | int, case: Case) -> bool:
    return isinstance(tree, tuple) and cost_of(tree, case) == case.forbidden


@pytest.mark.parametrize("block", range(4))
def test_a_stage_of_depth_two_finds_the_optimum_of_all_trees(block: int) -> None:
    for seed in range(20 * block, 20 * (block + 1)):
        case = random_case(seed, most=8)
        best, _ = solved(case, 2, _core.SearchOptions())
        leaf = min(cost_of(c, case) for c in range(case.n_classes))
        assert min(best, leaf) == best_of_depth_two(case), f"seed {seed}"


def test_random_options_within_their_ranges_never_change_an_optimum() -> None:
    switches = (
        "first_tree",
        "use_memory",
        "use_ranges",
        "use_pool",
        "use_lazy_scan",
        "use_carry",
        "use_witness",
        "use_early_join",
        "use_blocks",
        "use_resplit",
        "use_solved",
        "use_late_branching",
        "use_coarse_scan",
        "use_doubtful_first",
        "use_room",
    )
    for seed in range(120):
        rng = np.random.default_rng([seed, 78])
        case = random_case(seed, most=20)
        depth = int(rng.integers(2, 5))
        expected, _ = solved(case, depth, _core.SearchOptions())
        options = _core.SearchOptions(
            rounds=int(rng.integers(0, 30)),
            range_rounds=int(rng.integers(0, 6)),
            deep_rounds=int(rng.integers(1, 30)),
            deep_range_rounds=int(rng.integers(0, 30)),
            ascent_steps=int(rng.integers(1, 30)),
            blocks_from=0,
            coarse_from=0,
            coarse_from_many=0,
            **{name: bool(rng.integers(2)) for name in switches},
        )
        got, _ = solved(case, depth, options, n_threads=int(rng.integers(1, 4)))
        leaf = min(cost_of(c, case) for c in range(case.n_classes))
        assert min(got, leaf) == min(expected, leaf), f"seed {seed}"


@pytest.mark.parametrize(
    ("name", "value"),
    [("rounds", -1), ("range_rounds", -1), ("deep_rounds", 0), ("deep_range_rounds", -1), ("ascent_steps", 0)],
)
def test_options_out_of_range_are_refused(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"{name}={value}"):
        _core.SearchOptions(**cast(Any, {name: value}))


def test_the_core_refuses_options_that_it_does_not_know_or_of_another_kind() -> None:
    with pytest.raises(TypeError, match="the search has no option use_luck"):
        _core.SearchOptions(**cast(Any, {"use_luck": True}))
    for name, value in (("rounds", "many"), ("use_memory", 2.5), ("ascent_steps", 1.5)):
        with pytest.raises(TypeError, match=f"the option {name} is of another kind"):
            _core.SearchOptions(**cast(Any, {name: value}))


def test_re_optimisation_never_makes_a_tree_worse_and_ends_where_no_subtree_can_be_improved() -> None:
    for seed in range(60):
        case = random_case(seed, most=10)
        core = case.core()
        reoptimiser = _core.Reoptimiser(core, _core.SearchOptions(), _core.Control())
        rng = np.random.default_rng([seed, 79])
        feature = int(rng.integers(len(case.n_ranks)))
        threshold = int(rng.integers(case.n_ranks[feature]))
        rows = np.array([[feature, -1, -1], [threshold, -1, -1], [1, -1, -1], [2, -1, -1], [-1, 0, 1]])
        start = cost_of(nested_of(rows), case)
        assert reoptimiser.cost_of(core, rows) == start
        cost, better = reoptimiser.descend(core, rows, 2, 2, 10**9)
        assert cost <= start
        if cost < case.forbidden:
            assert cost == cost_of(nested_of(better), case)
            leaf = min(cost_of(c, case) for c in range(case.n_classes))
            # At depth 2 the subtree below the root is the whole tree.
            assert min(cost, leaf) == best_of_depth_two(case), f"seed {seed}"


@pytest.mark.parametrize("seed", range(20))
def test_larger_steps_end_no_higher_than_where_they_begin_and_their_cost_is_true(seed: int) -> None:
    case = random_case(seed, most=30)
    core = case.core()
    rows = np.array([[0, -1, -1], [0, -1, -1], [1, -1, -1], [2, -1, -1], [-1, 0, 1]])
    reoptimiser = _core.Reoptimiser(core, _core.SearchOptions(), _core.Control())
    small, tree = reoptimiser.descend(core, rows, 4, 2, 10**9)
    large, tree = reoptimiser.descend(core, tree, 4, 3, 10**9)
    assert large <= small, f"seed {seed}"
    if large < case.forbidden:
        assert large == cost_of(nested_of(tree), case), f"seed {seed}"
    for reach in (1, 4):
        with pytest.raises(ValueError, match="reach must be 2 or 3"):
            reoptimiser.descend(core, rows, 4, reach, 1)


def test_re_optimisation_without_effort_changes_nothing_for_the_worse() -> None:
    for seed in range(30):
        case = random_case(seed, most=12)
        core = case.core()
        rows = np.array([[0, -1, -1], [0, -1, -1], [1, -1, -1], [2, -1, -1], [-1, 0, 1]])
        cost, _ = _core.Reoptimiser(core, _core.SearchOptions(), _core.Control()).descend(core, rows, 4, 3, 0)
        assert cost <= cost_of(nested_of(rows), case)


def test_a_shifted_split_lets_the_share_of_its_samples_pass_and_keeps_all_else() -> None:
    n_moved = 0
    for seed in range(40):
        case = random_case(seed, most=30)
        core = case.core()
        feature, last = 0, int(case.n_ranks[0]) - 2
        for threshold, share in ((0, 0.2601), (max(0, last), -0.2601), (max(0, last // 2), 0.1101)):
            rows = np.array([[feature, -1, -1], [threshold, -1, -1], [1, -1, -1], [2, -1, -1], [-1, 0, 1]])
            moved = _core.shifted(core, rows, 0, share)
            if moved is None:
                continue
            n_moved += 1
            upper, step = np.sort(case.upper[:, feature]), round(share * len(case.upper))
            assert moved[1, 0] == upper[np.sum(upper <= threshold) + step - 1], f"seed {seed}"
            assert 0 <= moved[1, 0] <= last
            moved[1, 0] = threshold
            assert np.array_equal(moved, rows)
    assert n_moved > 20
    with pytest.raises(ValueError, match="node must be a split"):
        _core.shifted(core, rows, 1, 0.5)


def test_merged_rows_are_those_of_numpy() -> None:
    for seed in range(50):
        case = random_case(seed, most=60)
        key = np.concatenate([case.lower, case.upper, case.label[:, None]], axis=1)
        unique, expected = np.unique(key, axis=0, return_inverse=True)
        merged = _core.merge_rows(case.lower, case.upper, case.label)
        assert merged is not None
        group, first = merged
        assert np.array_equal(group, expected.reshape(-1))
        assert np.array_equal(key[first], unique)


def test_a_search_that_is_stopped_has_settled_nothing_falsely() -> None:
    rng = np.random.default_rng(0)
    n = 400
    lower = rng.integers(0, 300, (n, 6)).astype(np.int32)
    case = Case(
        lower,
        (lower + 5).astype(np.int32),
        np.full(6, 310),
        rng.integers(0, 2, n),
        np.ones(n, np.int64),
        np.full(n, 1000),
        2,
        0,
        0,
    )
    control = _core.Control()
    search = _core.RootSearch(case.core(), _core.SearchOptions(), 5, 2, control)
    search.start(10**5, case.forbidden)
    search.wait(0.1)
    control.request_stop()
    is_running = True
    while is_running:
        _, settled, items, is_running = search.wait(0.05)
    assert settled < items


@pytest.mark.parametrize("depth", [2, 3])
def test_a_search_that_was_stopped_before_it_began_has_not_finished(depth: int) -> None:
    search = _core.RootSearch(random_case(3, most=40).core(), _core.SearchOptions(), depth, 1, _core.Control(0.0))
    search.start(10**5, 10**5)
    is_running = True
    while is_running:
        _, settled, items, is_running = search.wait(0.05)
    assert settled < items


def n_candidates_of(case: Case, feature: int) -> int:
    """Count the thresholds that matter: in the order of ends, an upper one followed by a lower one."""
    n = len(case.label)
    ends = sorted(
        [(int(case.lower[i, feature]), 0) for i in range(n)] + [(int(case.upper[i, feature]), 1) for i in range(n)]
    )
    return sum(a[1] == 1 and b[1] == 0 for a, b in pairwise(ends))


def run_to_its_end(search: _core.RootSearch) -> None:
    while search.wait(0.05)[3]:
        pass


@pytest.mark.parametrize("seed", range(30))
def test_a_root_in_parts_is_the_root(seed: int) -> None:
    case = random_case(seed)
    best, _ = solved(case, 2, _core.SearchOptions())
    rng = np.random.default_rng(seed)
    core = case.core()
    settled: dict[tuple[int, int], int] = {}
    parts = []
    for j in range(len(case.n_ranks)):
        n = _core.RootSearch(core, _core.SearchOptions(), 2, 1, _core.Control()).n_candidates(j)
        assert n == n_candidates_of(case, j)
        cuts = sorted({0, n, *rng.integers(0, n + 1, 2).tolist()})
        parts += [(j, a, b) for a, b in pairwise(cuts)]
    rng.shuffle(parts)
    for half in (parts[::2], parts[1::2]):
        search = _core.RootSearch(core, _core.SearchOptions(), 2, 1, _core.Control())
        search.start(best, best, half)
        run_to_its_end(search)
        assert search.best == best
        for feature, first, end, bound in search.take_settled():
            assert bound >= best
            for k in range(first, end):
                settled[feature, k] = bound
        assert search.take_settled() == []
    assert best == 0 or set(settled) == {(j, k) for j, first, end in parts for k in range(first, end)}


def test_parts_that_are_not_begun_are_given_back_and_better_costs_taken_over() -> None:
    case = random_case(5, most=40)
    control = _core.Control()
    control.request_stop()  # so that nothing is ever begun
    search = _core.RootSearch(case.core(), _core.SearchOptions(), 3, 1, control)
    parts = [(j, 0, search.n_candidates(j)) for j in range(len(case.n_ranks)) if search.n_candidates(j)]
    search.start(case.forbidden, case.forbidden, parts)
    run_to_its_end(search)
    given = search.give_back()
    assert given == parts[len(parts) // 2 :]
    search.offer(7)
    assert search.best == 7
    search.offer(9)
    assert search.best == 7
    assert search.cutoff <= 7
    for part in ((0, 0, 10**6), (99, 0, 1), (0, -1, 1), (0, 1, 1)):
        with pytest.raises(ValueError, match=r"feature|part of the root"):
            search.start(1, 1, [part])


@pytest.mark.parametrize("seed", range(6))
def test_what_another_search_was_told_changes_no_answer(seed: int) -> None:
    case = random_case(seed, most=40)
    first, second = (_core.RootSearch(case.core(), _core.SearchOptions(), 3, 1, _core.Control()) for _ in range(2))
    assert first.take_told() == []  # from now on it tells
    for search in (first, second):
        second.hear(first.take_told())
        search.start(case.forbidden, case.forbidden)
        run_to_its_end(search)
    assert first.cutoff == second.cutoff, f"seed {seed}"
    assert second.take_told() == []
    too_deep = np.array([[0] * 3 + [-1] * 4, [0] * 3 + [-1] * 4, [1, 2, 3] + [-1] * 4, [4, 5, 6] + [-1] * 4, [0] * 7])
    for side, rows in ((0, too_deep), (2, too_deep[:, 3:4])):
        with pytest.raises(ValueError, match=r"too deep|side is"):
            second.hear([(side, np.ascontiguousarray(rows))])


@pytest.mark.parametrize("seed", range(6))
def test_threads_that_are_held_back_change_no_answer(seed: int) -> None:
    case = random_case(seed, most=40)

    def cutoff_of(n_threads: int, n_used: int) -> int:
        search = _core.RootSearch(case.core(), _core.SearchOptions(), 3, n_threads, _core.Control())
        search.use_threads(n_used)
        search.start(case.forbidden, case.forbidden)
        search.use_threads(n_used + 1)
        run_to_its_end(search)
        return search.cutoff

    assert cutoff_of(3, 1) == cutoff_of(3, 0) == cutoff_of(1, 1), f"seed {seed}"


@pytest.mark.parametrize("depth", [3, 4, 40])
@pytest.mark.parametrize("seed", range(4))
def test_a_thread_that_joins_in_a_later_stage_changes_no_answer(seed: int, depth: int) -> None:
    case = random_case(seed, most=40)
    alone = _core.RootSearch(case.core(), _core.SearchOptions(), depth, 1, _core.Control())
    alone.start(case.forbidden, case.forbidden)
    run_to_its_end(alone)
    joined = _core.RootSearch(case.core(), _core.SearchOptions(), depth, 2, _core.Control())
    joined.use_threads(1)
    joined.start(alone.cutoff // 2, case.forbidden)
    run_to_its_end(joined)
    joined.use_threads(2)
    joined.start(case.forbidden, case.forbidden)
    run_to_its_end(joined)
    assert joined.cutoff == alone.cutoff, f"seed {seed}"


def test_effort_ends_a_search() -> None:
    case = random_case(3, most=40)
    search = _core.RootSearch(case.core(), _core.SearchOptions(), 3, 1, _core.Control())
    search.set_effort(0)
    search.start(case.forbidden, case.forbidden)
    is_running = True
    while is_running:
        _, settled, items, is_running = search.wait(0.05)
    assert settled < items


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lower": np.full((3, 2), 9, np.int32)}, "ranks"),
        ({"upper": np.full((3, 2), -1, np.int32)}, "ranks"),
        ({"label": np.array([0, 1, 2])}, "label holds 2"),
        ({"weight": np.array([1, -1, 1])}, "negative"),
        ({"weight": np.array([1, 1])}, "3 entries"),
        ({"forbidden": 2}, "less than forbidden"),
        ({"forbidden": 2**61}, "overflow"),
        ({"rows": np.array([0, 1, 3])}, "rows holds 3"),
        ({"step": 0}, "step"),
        ({"penalty": -1}, "penalty"),
    ],
)
def test_what_would_lead_the_search_astray_is_refused(change: dict[str, object], message: str) -> None:
    arguments: dict[str, object] = {
        "lower": np.zeros((3, 2), np.int32),
        "upper": np.ones((3, 2), np.int32),
        "rows": np.arange(3),
        "n_ranks": np.array([2, 2]),
        "label": np.array([0, 1, 0]),
        "count": np.ones(3, np.int64),
        "weight": np.ones(3, np.int64),
        "n_classes": 2,
        "penalty": 0,
        "forbidden": 4,
        "step": 1,
        "min_leaf": 0,
    }
    with pytest.raises(ValueError, match=message):
        _core.SearchProblem(**cast(Any, {**arguments, **change}))


@pytest.mark.parametrize(
    "rows",
    [
        np.array([[0, -1, -1], [0, -1, -1], [0, -1, -1], [2, -1, -1], [-1, 0, 1]]),  # its own child
        np.array([[0, -1, -1], [0, -1, -1], [1, -1, -1], [7, -1, -1], [-1, 0, 1]]),  # a child that is not there
        np.array([[9, -1, -1], [0, -1, -1], [1, -1, -1], [2, -1, -1], [-1, 0, 1]]),  # a feature that is not there
        np.array([[-1], [-1], [-1], [-1], [5]]),  # a class that is not there
        np.zeros((5, 0), np.int64),
        np.zeros((4, 1), np.int64),
    ],
)
def test_trees_that_are_none_are_refused(rows: IntArray) -> None:
    case = random_case(0)
    core = case.core()
    with pytest.raises(ValueError, match=r"tree|children|feature|class"):
        _core.Reoptimiser(core, _core.SearchOptions(), _core.Control()).cost_of(core, rows)


def test_depth_and_threads_have_limits() -> None:
    core = random_case(0).core()
    for depth, threads in ((1, 1), (10**6, 1), (2, 0), (2, 10**6)):
        with pytest.raises(ValueError, match="between"):
            _core.RootSearch(core, _core.SearchOptions(), depth, threads, _core.Control())


def test_better_splits_above_subtrees_only_improve_first_trees() -> None:
    improved = 0
    for seed in range(60):
        case = random_case(seed, most=20)
        rng = np.random.default_rng([seed, 81])
        j = int(rng.integers(len(case.n_ranks)))
        if case.n_ranks[j] < 2:
            continue
        t = int(rng.integers(case.n_ranks[j] - 1))
        start = np.array([[j, -1, -1], [t, -1, -1], [1, -1, -1], [2, -1, -1], [-1, 0, 1]])
        core = case.core()
        costs = []
        for use_resplit in (False, True):
            options = _core.SearchOptions(use_resplit=use_resplit)
            cost, rows = _core.Reoptimiser(core, options, _core.Control()).descend(core, start, 3, 2, 10**9)
            assert cost_of(nested_of(rows), case) == cost, f"seed {seed}"
            costs.append(cost)
        optimum, _ = solved(case, 3, _core.SearchOptions())
        leaf = min(cost_of(c, case) for c in range(case.n_classes))
        assert costs[1] >= min(optimum, leaf), f"seed {seed}"
        improved += costs[1] < costs[0]
    assert improved > 0


def test_subtrees_that_are_remembered_change_no_descent() -> None:
    for seed in range(60):
        case = random_case(seed, most=20)
        rng = np.random.default_rng([seed, 83])
        core = case.core()
        cores = [
            _core.Reoptimiser(core, _core.SearchOptions(use_solved=remembers), _core.Control())
            for remembers in (False, True)
        ]
        for _ in range(4):  # later descents meet what earlier ones solved
            j = int(rng.integers(len(case.n_ranks)))
            if case.n_ranks[j] < 2:
                continue
            t = int(rng.integers(case.n_ranks[j] - 1))
            start = np.array([[j, -1, -1], [t, -1, -1], [1, -1, -1], [2, -1, -1], [-1, 0, 1]])
            for depth, reach in ((3, 2), (4, 3)):
                anew, known = (one.descend(core, start, depth, reach, 10**9) for one in cores)
                assert known[0] == anew[0] == cost_of(nested_of(known[1]), case), f"seed {seed}"
