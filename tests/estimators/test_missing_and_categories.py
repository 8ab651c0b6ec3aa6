from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from hardwood import (
    AttackModel,
    GreedyRobustTreeClassifier,
    InvalidInputError,
    Problem,
    RobustTreeClassifier,
    Status,
    TreantClassifier,
    adversarial_accuracy,
    attack_samples,
    robust_radius,
    solve,
)
from hardwood.cli.app import app, register_commands
from hardwood.data.categories import CategoryEncoding
from hardwood.solvers import registered_solvers
from hardwood.tree.reach import robust_errors
from oracle import is_fooled

register_commands()
COLOURS = ["blue", "green", "red"]


def gaps(draw_from: list[list[float | None]]) -> np.ndarray[Any, Any]:
    return np.array([[np.nan if v is None else v for v in row] for row in draw_from], dtype=float)


class TestMissing:
    def test_missing_values_are_refused_unless_they_are_asked_for(self) -> None:
        X = [[0.0], [np.nan], [1.0]]
        with pytest.raises(InvalidInputError, match=r"NaN in column 0, row 1.*missing='reachable'"):
            GreedyRobustTreeClassifier().fit(X, [0, 0, 1])
        with pytest.raises(InvalidInputError, match="missing='drop'; it must be 'error' or 'reachable'"):
            GreedyRobustTreeClassifier(missing="drop").fit([[0.0], [1.0]], [0, 1])
        clf = GreedyRobustTreeClassifier(missing="reachable").fit(X, [0, 0, 1])
        with pytest.raises(InvalidInputError, match="infinity"):
            clf.predict([[np.inf]])
        plain = GreedyRobustTreeClassifier().fit([[0.0], [1.0]], [0, 1])
        with pytest.raises(InvalidInputError, match="NaN"):
            plain.predict([[np.nan]])

    def test_who_cannot_learn_with_gaps_is_not_told_how(self) -> None:
        with pytest.raises(InvalidInputError, match="fill in or drop missing") as refused:
            TreantClassifier(attack=0.1).fit([[np.nan], [1.0]], [0, 1])
        assert "reachable" not in str(refused.value)

    @settings(max_examples=60)
    @given(
        st.lists(st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.3, None]), min_size=2, max_size=2), min_size=4, max_size=9),
        st.randoms(use_true_random=False),
        st.sampled_from([0.0, 0.05, 0.1]),
    )
    def test_a_missing_value_reaches_both_sides_of_every_split(
        self, rows: list[list[float | None]], random: Any, radius: float
    ) -> None:
        X = gaps(rows)
        y = np.array([0, 1] + [random.randint(0, 1) for _ in rows[2:]])
        problem = Problem.from_data(X, y, radius, 2, missing="reachable")
        result = solve(problem, "greedy")
        lost = robust_errors(result.tree, problem)
        for i, row in enumerate(rows):
            low = [-np.inf if v is None else v - radius for v in row]
            high = [np.inf if v is None else v + radius for v in row]
            assert lost[i] == is_fooled(result.tree, low, high, int(y[i]))
        # The same by way of evaluation, and whatever is robust is predicted right although values are missing.
        assert adversarial_accuracy(result.tree, X, y, radius) == np.mean(~lost)
        assert np.all(result.tree.predict(X)[~lost] == y[~lost])

    def test_it_is_the_same_as_an_attacker_who_may_change_these_values_to_anything(self) -> None:
        rng = np.random.default_rng(0)
        X = rng.random((40, 2))
        y = (X[:, 0] > 0.5).astype(int)
        with_gaps = X.copy()
        with_gaps[::5, 1] = np.nan
        problem = Problem.from_data(with_gaps, y, 0.02, 2, missing="reachable")
        complete = Problem.from_data(X, y, 0.02, 2)
        lower, upper = complete.lower.copy(), complete.upper.copy()
        lower[::5, 1], upper[::5, 1] = -np.inf, np.inf
        assert np.array_equal(problem.lower, lower)
        assert np.array_equal(problem.upper, upper)
        assert np.isfinite(problem.values).all()

    def test_predictions_follow_the_heavier_side(self) -> None:
        X = [[0.0], [0.1], [0.2], [1.0], [np.nan]]
        clf = GreedyRobustTreeClassifier(1, missing="reachable").fit(X, ["a", "a", "a", "b", "b"])
        assert clf.predict([[np.nan]]).tolist() == ["a"]
        heavy = clf.fit(X, ["a", "a", "a", "b", "b"], [1, 1, 1, 9, 1])
        assert heavy.predict([[np.nan]]).tolist() == ["b"]

    @pytest.mark.parametrize("solver", [name for name, cls in registered_solvers().items() if not cls.engines])
    def test_solvers_count_missing_values_alike(self, solver: str) -> None:
        rng = np.random.default_rng(1)
        X = rng.integers(0, 5, (20, 2)).astype(float)
        y = (X[:, 0] > 2).astype(int)
        X[rng.random(X.shape) < 0.2] = np.nan
        result = solve(Problem.from_data(X, y, 0.1, 2, missing="reachable"), solver)
        assert result.objective == np.sum(
            [
                is_fooled(
                    result.tree,
                    np.where(np.isnan(row), -np.inf, row - 0.1).tolist(),
                    np.where(np.isnan(row), np.inf, row + 0.1).tolist(),
                    int(label),
                )
                for row, label in zip(X, y, strict=True)
            ]
        )

    def test_ranges_and_distances_mind_the_gaps(self) -> None:
        X = np.array([[0.0, np.nan], [10.0, np.nan], [np.nan, np.nan]])
        attack = AttackModel.fraction_of_range(0.1).fit(X)
        assert attack.reach(2)[0].tolist() == [[1.0, 0.0]]
        clf = GreedyRobustTreeClassifier(1, missing="reachable", attack=attack).fit(X, [0, 1, 1])
        with pytest.raises(InvalidInputError, match="robust_radius measures distances"):
            robust_radius(clf.tree_, X, [0, 1, 1])
        assert robust_radius(clf.tree_, [[0.0, 1.0]], [0]).shape == (1,)


def can_be(colour: str, moves: dict[str, list[str]]) -> set[str]:
    return {colour, *moves.get(colour, [])}


def reach_by_definition(tree: Any, encoding: Any, colours: set[str], size: float, radius: float) -> set[int]:
    """Leaves that a sample reaches: left iff it can become the category, right iff it can be any other."""
    found, waiting = set(), [0]
    while waiting:
        node = waiting.pop()
        if tree.left[node] < 0:
            found.add(node)
            continue
        test = encoding.tests[tree.feature[node]]
        if test is None:
            left, right = size - radius <= tree.threshold[node], size + radius > tree.threshold[node]
        else:
            left, right = test[1] in colours, bool(colours - {test[1]})
        waiting += [int(child) for child, reached in ((tree.left[node], left), (tree.right[node], right)) if reached]
    return found


class TestCategories:
    @settings(max_examples=60)
    @given(
        st.lists(st.tuples(st.sampled_from(COLOURS), st.integers(0, 4), st.integers(0, 1)), min_size=4, max_size=12),
        st.dictionaries(st.sampled_from(COLOURS), st.lists(st.sampled_from(COLOURS), max_size=2), max_size=3),
    )
    def test_reach_is_as_defined(self, rows: list[tuple[str, int, int]], moves: dict[str, list[str]]) -> None:
        rows = [("red", 0, 0), ("green", 4, 1), ("blue", 2, 0), *rows]
        table = pd.DataFrame({"colour": [r[0] for r in rows], "size": [float(r[1]) for r in rows]})
        y = np.array([r[2] for r in rows])
        attack = {"colour": moves, "size": 0.5} if moves else {"size": 0.5}
        problem = Problem.from_data(table, y, attack, 2, categorical_features=["colour"])
        result = solve(problem, "greedy")
        tree = result.tree
        lost = [
            any(
                tree.label[leaf] != label
                for leaf in reach_by_definition(tree, problem.encoding, can_be(colour, moves), size, 0.5)
            )
            for colour, size, label in rows
        ]
        assert robust_errors(tree, problem).tolist() == lost
        assert adversarial_accuracy(tree, table, y, attack) == pytest.approx(1 - np.mean(lost))
        # What is not lost is answered rightly whatever the attacker does.
        for (colour, size, label), is_lost in zip(rows, lost, strict=True):
            if not is_lost:
                options = product(can_be(colour, moves), (size - 0.5, float(size), size + 0.5))
                moved = pd.DataFrame(list(options), columns=["colour", "size"])
                assert set(tree.predict(moved)) == {label}

    def test_categories_come_from_names_or_types(self) -> None:
        y = [0, 1, 1, 0]
        values = {"colour": ["red", "blue", "green", "red"], "n": [1.0, 2.0, 3.0, 4.0]}
        by_name = RobustTreeClassifier(1, solver="greedy", categorical_features=["colour"]).fit(pd.DataFrame(values), y)
        assert str(by_name.tree_) == "colour = red: 0\ncolour ≠ red: 1"
        typed = pd.DataFrame(values).astype({"colour": "category"})
        polar = pl.DataFrame(values).with_columns(pl.col("colour").cast(pl.Categorical))
        for table in (typed, polar):
            clf = RobustTreeClassifier(1, solver="greedy").fit(table, y)
            assert clf.tree_ == by_name.tree_
            assert clf.predict(table).tolist() == y
            assert clf.feature_names_in_.tolist() == ["colour", "n"]
            assert clf.feature_importances_.tolist() == [1.0, 0.0]
        array = np.array([[1.0, 5], [2, 6], [3, 7], [1, 8]])
        clf = RobustTreeClassifier(1, solver="greedy", categorical_features=[0]).fit(array, y)
        assert str(clf.tree_) == "x[0] = 1.0: 0\nx[0] ≠ 1.0: 1"
        assert clf.predict(array).tolist() == y

    def test_an_unseen_category_is_none_of_the_known_ones(self) -> None:
        table = pd.DataFrame({"colour": pd.Categorical(["red", "blue", "green", "red"])})
        clf = GreedyRobustTreeClassifier(2).fit(table, [0, 1, 1, 0])
        assert clf.predict(pd.DataFrame({"colour": ["violet"]})).tolist() == [1]

    def test_a_missing_category_may_be_any(self) -> None:
        table = pd.DataFrame({"colour": pd.Categorical(["red", "blue", None, "red"])})
        with pytest.raises(InvalidInputError, match="NaN in column 'colour = blue', row 2"):
            GreedyRobustTreeClassifier(1).fit(table, [0, 1, 1, 0])
        clf = GreedyRobustTreeClassifier(1, missing="reachable").fit(table, [0, 1, 1, 0])
        assert clf.adversarial_score(table, [0, 1, 1, 0]) == 0.75
        assert clf.predict(table).tolist() == [0, 1, 0, 0]

    def test_attacks_are_spelled_in_categories(self) -> None:
        table = pd.DataFrame({"colour": ["red", "blue", "green", "red"], "n": [0.0, 10.0, 20.0, 5.0]})
        y = [0, 1, 1, 0]
        tree = GreedyRobustTreeClassifier(1, categorical_features=["colour"]).fit(table, y).tree_
        for attack, right in (
            (0.1, 1.0),
            ({"colour": "<>"}, 0.0),
            ({"colour": ""}, 1.0),
            ({"colour": {"red": "blue"}}, 0.5),
            ({"colour": {"green", "blue"}}, 0.5),
            ({"colour": ["red"]}, 0.5),
            ({0: {"blue": ["green"]}}, 1.0),
            (AttackModel.parse({"colour": {"blue": ["red"]}}).only([1]), 0.75),
            (AttackModel.parse({"colour": {"blue": ["red"]}}).only([0]), 1.0),
            (AttackModel.parse({"colour": "<>"}).scaled(0), 1.0),
        ):
            assert adversarial_accuracy(tree, table, y, attack) == right, attack
        relative = AttackModel.fraction_of_range({"n": 0.1, "colour": "<>"})
        clf = GreedyRobustTreeClassifier(1, categorical_features=["colour"], attack=relative).fit(table, y)
        assert clf.attack_.reach(2)[0].tolist() == [[np.inf, 2.0]]
        assert clf.adversarial_score(table, y) == 1
        assert "any -> blue or green" in str(AttackModel.parse({"colour": {"green", "blue"}}))

    @pytest.mark.parametrize(
        ("attack", "said"),
        [
            ({"colour": 0.5}, "'colour' is a radius"),
            ({"colour": {"pink": ["red"]}}, "category 'pink' of 'colour'; its categories are 'blue', 'red'"),
            ({"n": {"red": ["blue"]}}, "that feature is numeric"),
        ],
    )
    def test_attacks_that_make_no_sense_say_so(self, attack: object, said: str) -> None:
        table = pd.DataFrame({"colour": pd.Categorical(["red", "blue"]), "n": [0.0, 1.0]})
        with pytest.raises(InvalidInputError, match=said):
            GreedyRobustTreeClassifier(1, attack=attack).fit(table, [0, 1])

    def test_methods_that_cannot_do_it_say_so(self) -> None:
        table = pd.DataFrame({"colour": pd.Categorical(["red", "blue", "red", "blue"])})
        y = [0, 1, 0, 1]
        for learner in (TreantClassifier(),):
            with pytest.raises(
                InvalidInputError, match=f"categorical, and {type(learner).__name__} learns from numbers"
            ):
                learner.fit(table, y)
        tree = GreedyRobustTreeClassifier(1).fit(table, y).tree_
        for function in (attack_samples, robust_radius):
            with pytest.raises(InvalidInputError, match="distances, which categorical features do not have"):
                function(tree, table, y, 1.0)
        with pytest.raises(InvalidInputError, match="scikit-learn's trees do not know"):
            tree.to_sklearn()
        with pytest.raises(InvalidInputError, match="not categorical here"):
            GreedyRobustTreeClassifier(1, attack={0: {"red": ["blue"]}}).fit([[0.0], [1.0]], [0, 1])

    @pytest.mark.parametrize(
        ("features", "said"),
        [
            (["size"], "names 'size'; X has the columns 'colour'"),
            ([7], "names 7; X has 1 columns"),
            ("auto", "categorical_features='auto'"),
            (3, "categorical_features=3"),
        ],
    )
    def test_columns_that_are_not_there_are_refused(self, features: object, said: str) -> None:
        with pytest.raises(InvalidInputError, match=said):
            CategoryEncoding.fit(pd.DataFrame({"colour": ["red", "blue"]}), features)

    def test_what_is_no_category_is_refused(self) -> None:
        for values, said in (
            ([f"name {i}" for i in range(300)], "300 different values"),
            ([1, "one"], "mixes categories of different types"),
            ([None, None], "no value at all"),
        ):
            with pytest.raises(InvalidInputError, match=said):
                CategoryEncoding.fit(pd.DataFrame({"c": pd.Series(values, dtype=object)}), ["c"])
        table = pd.DataFrame({"colour": pd.Categorical(["red", "blue"]), "city": ["Delft", "Leiden"]})
        with pytest.raises(InvalidInputError, match="column 'city' holds 'Delft'"):
            GreedyRobustTreeClassifier().fit(table, [0, 1])
        clf = GreedyRobustTreeClassifier().fit(table[["colour"]], [0, 1])
        with pytest.raises(InvalidInputError, match="learned on 1"):
            clf.tree_.predict(table)


Row = tuple[str | None, int | None, int]


def least_loss(rows: list[Row], moves: dict[str, list[str]], radius: float, depth: int) -> int:
    """Fewest lost samples over all trees of a depth, by trying every tree on sets of samples as bit masks."""
    everything = {*COLOURS, "any other"}
    colours = [everything if colour is None else can_be(colour, moves) for colour, _, _ in rows]
    boxes = [(-np.inf, np.inf) if size is None else (size - radius, size + radius) for _, size, _ in rows]
    sides = [(_mask(colour in c for c in colours), _mask(bool(c - {colour}) for c in colours)) for colour in COLOURS]
    # With these sizes and radii every gap between ends of boxes holds a multiple of a half.
    cuts = np.arange(0, 4.1, 0.5)
    sides += [(_mask(low <= cut for low, _ in boxes), _mask(high > cut for _, high in boxes)) for cut in cuts]
    of_class = [_mask(label == c for _, _, label in rows) for c in (0, 1)]

    def outcomes(here: int, depth: int) -> set[int]:
        found = {here & ~members for members in of_class}
        if depth > 0:
            for left, right in sides:
                lefts, rights = outcomes(here & left, depth - 1), outcomes(here & right, depth - 1)
                found |= {a | b for a in lefts for b in rights}
        return found

    return min(lost.bit_count() for lost in outcomes(_mask(True for _ in rows), depth))


def _mask(members: Any) -> int:
    return sum(1 << i for i, is_member in enumerate(members) if is_member)


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(st.sampled_from([*COLOURS, None]), st.one_of(st.none(), st.integers(0, 4)), st.integers(0, 1)),
        min_size=3,
        max_size=8,
    ),
    st.dictionaries(st.sampled_from(COLOURS), st.lists(st.sampled_from(COLOURS), min_size=1, max_size=2), max_size=3),
    st.sampled_from([0.2, 0.6]),
    st.sampled_from([1, 2]),
)
def test_search_is_optimal_with_categories_and_gaps(
    rows: list[Row], moves: dict[str, list[str]], radius: float, depth: int
) -> None:
    rows = [("red", 0, 0), ("green", 4, 1), ("blue", 2, 0), *rows]
    table = pd.DataFrame(
        {
            "colour": pd.Series([colour for colour, _, _ in rows], dtype=object),
            "size": [np.nan if size is None else float(size) for _, size, _ in rows],
        }
    )
    attack = {"size": radius, **({"colour": moves} if moves else {})}
    y = [label for _, _, label in rows]
    problem = Problem.from_data(table, y, attack, depth, missing="reachable", categorical_features=["colour"])
    result = solve(problem, "search")
    assert result.status is Status.OPTIMAL
    assert result.objective == least_loss(rows, moves, radius, depth)


class TestCommandLine:
    def run(self, *arguments: object) -> str:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exit_code == 0, result.exception
        return result.output

    def test_files_with_text_and_gaps_can_be_learned_from(self, tmp_path: Path) -> None:
        data, model = tmp_path / "shops.csv", tmp_path / "model.json"
        data.write_text(
            "shop,amount,label\nfood,10,ok\ntravel,900,check\nfood,NA,ok\ngames,11,check\nfood,12,ok\n?,15,ok\n"
        )
        attack = tmp_path / "attack.toml"
        attack.write_text('[features]\namount = 2\n[features.shop]\ntravel = ["games"]\n')
        kinds = ("--categorical", "shop", "--missing", "reachable", "--attack", attack)
        shown = self.run(
            "fit", data, "-t", "label", "--depth", 1, "--solver", "greedy", *kinds, "--holdout", 0, "-o", model
        )
        assert "shop = food" in shown
        report = json.loads(self.run("evaluate", model, data, "-t", "label", "--json"))
        assert report["accuracy"] == 1
        assert report["adversarial_accuracy"] == pytest.approx(5 / 6)
        assert report["most_fragile"] == [
            {"line": 7, "class": "ok", "bears": 0.0, "change": "shop missing -> not food"}
        ]
        assert self.run("predict", model, data).splitlines()[-1] == "?,15,ok,ok"
        assert "shop = food" in self.run("explain", model, data, "--row", 1)
        assert "\"shop\" = 'food'" in self.run("export", model, "--to", "sql")

    def test_text_and_gaps_are_refused_without_being_declared(self, tmp_path: Path) -> None:
        data = tmp_path / "shops.csv"
        data.write_text("shop,amount,label\nfood,10,ok\ntravel,,check\n")
        refused = CliRunner().invoke(app, ["fit", str(data), "-t", "label", "-a", "1", "--solver", "greedy"])
        assert "--categorical shop" in str(refused.exception)
        assert "--missing reachable" in str(refused.exception)
        refused = CliRunner().invoke(
            app, ["fit", str(data), "-t", "label", "-a", "1", "--solver", "greedy", "--categorical", "shop"]
        )
        assert "1 of 2 values missing" in str(refused.exception)


def test_a_value_may_be_missing_among_the_largest_numbers() -> None:
    X, y = [[1e308], [1.2e308], [np.nan], [1.7e308], [-5.0]], [0, 1, 1, 0, 1]
    problem = Problem.from_data(X, y, 1.0, 2, missing="reachable")
    assert problem.values[2, 0] == 1.1e308
    for solver in ("greedy", "search"):
        assert solve(problem, solver).failure is None
