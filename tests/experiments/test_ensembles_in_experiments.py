from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold

from hardwood import InvalidInputError, RobustBoostingClassifier, robustness
from hardwood.data.datasets import Dataset
from hardwood.data.fields import Fields
from hardwood.ensembles import verification
from hardwood.ensembles.boosting.learner import BoostingRun
from hardwood.evaluation.methods import find_method
from hardwood.experiments import ensembles, pairs, tables
from hardwood.experiments.cells import FitCell, cell_from_fields, key_of
from hardwood.experiments.ensembles import ENSEMBLES, EnsembleCell, choose_ensemble
from hardwood.experiments.grid import Grid
from hardwood.experiments.grid_file import load_grid
from hardwood.experiments.log import Log, open_log, read_log
from hardwood.experiments.outcomes import EnsembleOutcome, Scores
from hardwood.experiments.pairs import means_by_seed, paired_test, paired_tests
from hardwood.experiments.records import record_from_dict, record_to_dict
from hardwood.experiments.runner import lost_record, run_cell, run_grid
from hardwood.experiments.schedule import cells_of
from hardwood.experiments.scores import Standing, final_fits
from hardwood.experiments.sets import load_set, split

SMALL = {
    "choices": {"radius_factor": [1.0, 1.5], "max_depth": [1, 2]},
    "fixed": {"n_estimators": 6, "learning_rate": 0.5},
    "judged_samples": 150,
}


def some_set(seed: int = 0, n: int = 90) -> Dataset:
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3))
    y = (X[:, 0] + X[:, 1] + 0.3 * rng.normal(size=n) > 1).astype(int)
    return Dataset("made", X, y, ("a", "b", "c"))


def small_cell(method: str = "boosting", settings: dict[str, Any] = SMALL, **changes: Any) -> EnsembleCell:
    cell = EnsembleCell("made", 0.05, method, json.dumps(settings, sort_keys=True), 1.0, 3, 2)
    return replace(cell, **changes)


def test_boosting_is_chosen_as_the_estimator_would_be() -> None:
    data, cell = some_set(), small_cell()
    outcome = cell.run(data)
    part = split(data, cell.seed)
    means = {}
    for factor, depth in itertools.product((1.0, 1.5), (1, 2)):
        curves = []
        for draw in range(2):
            folds = StratifiedKFold(2, shuffle=True, random_state=cell.seed + draw)
            for a, b in folds.split(part.X_train, part.y_train):
                y_a, y_b = part.y_train[a], part.y_train[b]
                model = RobustBoostingClassifier(
                    6, learning_rate=0.5, max_depth=depth, attack=cell.radius * factor, random_state=cell.seed
                ).fit(part.X_train[a], y_a)
                curve = [np.mean(y_b == np.argmax(np.bincount(y_a)))]
                curve += model.staged_certified_score(part.X_train[b], y_b, attack=cell.radius)
                curves.append(curve + [curve[-1]] * (7 - len(curve)))
        mean = np.mean(curves, axis=0)
        for rounds in range(7):
            near = [mean[min(max(0, rounds + k), 6)] for k in range(-3, 4)]
            means[factor, depth, rounds] = round(float(np.mean(near)), 12)
    best = max(means, key=lambda key: means[key])
    assert outcome.chosen == {"radius_factor": best[0], "max_depth": best[1], "rounds": best[2]}
    assert outcome.chosen_by == pytest.approx(means[best])
    final = RobustBoostingClassifier(
        max(1, best[2]), learning_rate=0.5, max_depth=best[1], attack=cell.radius * best[0], random_state=cell.seed
    ).fit(part.X_train, part.y_train)
    exact = robustness(final, part.X_test, part.y_test, cell.radius).interval()
    assert exact[0] == exact[1] == pytest.approx(outcome.scores.test_adversarial_accuracy)


@pytest.mark.parametrize("when", [0, 7, 50, 97])
def test_an_ensemble_that_was_interrupted_is_not_a_result(when: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Boosting that Ctrl-C ends returns the rounds so far, and verification what it knows: no cell may record that."""
    rounds, data = itertools.count(), some_set()
    next_round = BoostingRun.next_round

    def interrupted(run: BoostingRun) -> Any:
        if next(rounds) == when:
            raise KeyboardInterrupt
        return next_round(run)

    monkeypatch.setattr(BoostingRun, "next_round", interrupted)
    with pytest.raises(KeyboardInterrupt):
        small_cell().run(data)
    assert next(rounds) == when + 1


@pytest.mark.parametrize("method", ["boosting", "forest"])
def test_an_ensemble_whose_verification_was_interrupted_is_not_a_result(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(verification, "Control", interrupted)
    settings = SMALL if method == "boosting" else ENSEMBLES[method]
    with pytest.raises(KeyboardInterrupt):
        small_cell(method, settings).run(some_set())


def test_boosting_is_chosen_among_the_rounds_that_are_given() -> None:
    part = split(some_set(1), 0)
    free: dict[str, list[Any]] = {"radius_factor": [1.0], "loss": ["logistic", "sigmoid"], "max_depth": [2]}
    settings = {**SMALL, "choices": {**free, "rounds": [0, 2, 6]}}
    chosen, score, ensemble = choose_ensemble(part, 0.05, "boosting", settings, 2)
    judged = {}
    for loss, rounds in itertools.product(free["loss"], (0, 2, 6)):
        shares = []
        for draw in range(2):
            for a, b in StratifiedKFold(2, shuffle=True, random_state=draw).split(part.X_train, part.y_train):
                y_a, y_b = part.y_train[a], part.y_train[b]
                model = RobustBoostingClassifier(
                    max(1, rounds), learning_rate=0.5, max_depth=2, loss=loss, attack=0.05
                ).fit(part.X_train[a], y_a)
                certified = [np.mean(y_b == np.argmax(np.bincount(y_a)))]
                certified += model.staged_certified_score(part.X_train[b], y_b)
                shares.append(certified[min(rounds, len(certified) - 1)])
        judged[loss, rounds] = round(float(np.mean(shares)), 12)
    best = max(judged, key=lambda key: judged[key])
    assert (chosen["loss"], chosen["rounds"]) == best
    assert score == pytest.approx(judged[best])
    assert len(ensemble.trees) == max(1, best[1])


def test_something_simpler_is_chosen_where_it_is_as_good() -> None:
    taken = set()
    for seed in range(6):
        part = split(some_set(seed), 0)
        settings = {**SMALL, "rivals": [0, 1, 2], "choices": {"radius_factor": [1.0], "rounds": [6]}}
        chosen, score, ensemble = choose_ensemble(part, 0.05, "boosting", settings, 2)
        folds = RepeatedFolds(2, len(part.y_train), 150)
        model = RobustBoostingClassifier(6, learning_rate=0.5, attack=0.05, rivals=2, cv=folds).fit(*part[0:3:2])
        assert score == pytest.approx(max(model.rival_scores_.values()))
        assert chosen.get("tree") == model.rival_depth_
        assert np.array_equal(ensemble.predict(part.X_test), model.predict(part.X_test))
        taken.add(model.rival_depth_)
    assert len(taken) > 1


class RepeatedFolds:
    """The folds of a cell: drawn again until about so many samples are judged."""

    def __init__(self, folds: int, n_samples: int, judged_samples: int) -> None:
        self.folds, self.draws = folds, max(1, round(judged_samples / n_samples))

    def split(self, X: Any, y: Any) -> Any:
        for draw in range(self.draws):
            yield from StratifiedKFold(self.folds, shuffle=True, random_state=draw).split(X, y)

    def get_n_splits(self) -> int:
        return self.folds * self.draws


def test_the_choice_does_not_look_at_the_test_part(monkeypatch: pytest.MonkeyPatch) -> None:
    cell, data = small_cell(), some_set()
    outcome = cell.run(data)
    part = split(data, cell.seed)
    twisted = part._replace(y_test=1 - part.y_test)
    monkeypatch.setattr(ensembles, "split", lambda data, seed: twisted)
    other = cell.run(data)
    assert (other.chosen, other.chosen_by) == (outcome.chosen, outcome.chosen_by)
    assert other.scores.test_accuracy == pytest.approx(1 - outcome.scores.test_accuracy)


@pytest.mark.parametrize("voting", ["hard", "soft"])
@pytest.mark.parametrize("base", ["greedy", "search"])
def test_forests_are_chosen_and_verified(base: str, voting: str) -> None:
    settings = {
        "choices": {"radius_factor": [1.0], "max_depth": [1, 2]},
        "fixed": {"n_estimators": 3, "base": base, "voting": voting},
        "judged_samples": 1,
    }
    outcome = small_cell("forest", settings).run(some_set())
    assert outcome.chosen["max_depth"] in (1, 2)
    assert (outcome.n_trees, outcome.n_open) == (3, 0)
    assert 0 <= outcome.scores.test_adversarial_accuracy <= outcome.scores.test_accuracy <= 1


def test_cells_and_outcomes_come_back_from_a_file(tmp_path: Path) -> None:
    cell = small_cell()
    assert cell_from_fields(Fields(json.loads(json.dumps(cell.to_dict())), "cell")) == cell
    other = small_cell(settings={**SMALL, "judged_samples": 1})
    assert key_of(other) != key_of(cell)
    record = run_cell(cell, some_set())
    assert record_from_dict(json.loads(json.dumps(record_to_dict(record)))) == record


def small_grid(*names: str) -> Grid:
    methods = tuple(find_method(name) for name in names or ("GROOT", "boosting"))
    return Grid("small", "selection", (("moons", 0.05), ("blobs", 0.1)), methods, (1,), 1.0, (0, 1), 2)


def test_a_grid_with_boosting_runs_to_its_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENSEMBLES, "boosting", SMALL)
    grid, path = small_grid(), tmp_path / "small.jsonl"
    with open_log(path) as writer:
        run_grid(grid, writer, load_set, lambda tasks: (run_cell(cell, data) for cell, data in tasks))
    log = read_log(path)
    assert log.grids[-1] == grid
    assert not any(record.has_failed for record in log.cells.values())
    shown = tables.tables_of(grid, log)
    assert set(shown) == {f"small-{name}" for name in ("aggregate", "instances", "pairs", "seeds")}
    assert [row[0] for row in shown["small-pairs"].rows] == ["boosting"]
    assert "GROOT" in shown["small-pairs"].title
    assert len(shown["small-instances"].rows) == 4
    final = {key: cell.choice for key, cell in final_fits(grid, log, grid.methods[1]).items()}
    chosen = log.ensemble(key_of(grid.ensemble_cell(("moons", 0.05), grid.methods[1], 0)))
    assert chosen is not None
    rounds, depth, factor = (chosen.chosen[name] for name in ("rounds", "max_depth", "radius_factor"))
    wide = "" if factor == 1 else f", {factor:g}ε"
    assert final["moons", 0.05, 0] == (f"{rounds} × d{depth}{wide}" if rounds else "constant")
    assert any(note.startswith("boosting: radius_factor 1.0 or 1.5") for note in shown["small-aggregate"].notes)


def test_what_was_chosen_and_what_was_given_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the depth is given and the loss chosen, tables say both; no rounds are a constant."""
    for rounds, shown in ((3, "3 × d2, sigmoid"), (0, "constant")):
        choices = {"radius_factor": [1.0], "loss": ["sigmoid"], "rounds": [rounds]}
        fixed = {"n_estimators": 3, "learning_rate": 0.5, "max_depth": 2}
        monkeypatch.setitem(ENSEMBLES, "boosting", {"choices": choices, "fixed": fixed, "judged_samples": 1})
        grid = replace(small_grid("boosting"), instances=(("moons", 0.05),), seeds=(0,))
        with open_log(tmp_path / f"{rounds}.jsonl") as writer:
            run_grid(grid, writer, load_set, lambda tasks: (run_cell(cell, data) for cell, data in tasks))
            found = final_fits(grid, writer.log, grid.methods[0])
        assert [chosen.choice for chosen in found.values()] == [shown]


def test_seeds_and_their_instances_are_run_one_after_another() -> None:
    cells = [cell for cell in cells_of(small_grid(), Log()) if isinstance(cell, FitCell | EnsembleCell)]
    order = [(cell.seed, cell.dataset == "blobs", cell.kind == "ensemble") for cell in cells]
    assert order == sorted(order)
    assert len(set(order)) == 8


def test_only_selections_take_ensembles(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('kind = "fit"\nmethods = ["boosting"]\ndepths = [1]\n')
    with pytest.raises(InvalidInputError, match="only a selection takes ensembles"):
        load_grid(path)


def made_up_scores(log: Log, grid: Grid, score: dict[tuple[str, int], float]) -> None:
    """Add boosting's results for some sets and seeds."""
    for (dataset, radius), seed in itertools.product(grid.instances, grid.seeds):
        if (dataset, seed) in score:
            value = score[dataset, seed]
            outcome = EnsembleOutcome(
                {"max_depth": 1, "radius_factor": 1.0}, value, 1, 0, 0.1, 0.1, 10, 10, Scores(*[value] * 4)
            )
            for method in grid.methods:
                if method.recipe is None:
                    cell = grid.ensemble_cell((dataset, radius), method, seed)
                    log.take(replace(lost_record(cell, RuntimeError()), outcome=outcome))


def test_a_paired_test_is_wilcoxons_over_instances() -> None:
    from scipy.stats import wilcoxon

    rng = np.random.default_rng(5)
    gain = rng.normal(0.01, 0.02, 12)
    gain[3] = 0.0
    theirs = {(f"set{k}", 0.1, seed): 0.5 for k in range(12) for seed in range(3)}
    ours = {key: 0.5 + gain[int(key[0][3:])] + 0.001 * (key[2] - 1) for key in theirs}
    ours["only here", 0.1, 0] = 1.0
    test = paired_test(ours, theirs)
    assert test is not None
    assert test.mean == pytest.approx(gain.mean())
    assert test.p == pytest.approx(wilcoxon(gain[gain != 0]).pvalue)
    assert (test.better, test.worse, test.n_seeds) == (int(np.sum(gain > 0)), int(np.sum(gain < 0)), 3)
    # All pairs of two different gains, by hand: the share of pairs whose mean is above zero, as Walsh averages.
    some = gain[gain != 0]
    walsh = [(a + b) / 2 for i, a in enumerate(some) for b in some[i:]]
    assert test.effect == pytest.approx(2 * np.mean(np.array(walsh) > 0) - 1)
    same = paired_test(theirs, theirs)
    assert same is not None
    assert (same.effect, same.p, same.mean) == (0, 1, 0)
    assert paired_test(ours, {}) is None


def test_what_hindsight_would_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    def scored(*scores: float) -> Standing:
        splits = [("a", 0.1, 0), ("a", 0.1, 1), ("b", 0.1, 0), ("b", 0.1, 1)]
        return Standing(dict(zip(splits, scores, strict=False)), [], 0)

    found = {"search": scored(0.5, 0.5, 0.5, 0.5), "boosting": scored(0.7, 0.4, 0.4, 0.5), "none": scored()}
    monkeypatch.setattr(pairs, "standings", lambda grid, log: found)
    grid, log = small_grid("boosting"), Log()
    # On a, boosting is ahead by 0.05 on average, on b the tree; split by split it is ahead once, by 0.2.
    assert pairs.gain_in_hindsight(grid, log) == pytest.approx((0.05 / 2, 0.2 / 4))
    assert "+0.0250" in tables.pairs(grid, log).notes[-1]
    found.pop("search")
    assert pairs.gain_in_hindsight(grid, log) is None


def test_means_by_seed_are_over_what_all_methods_have() -> None:
    grid, log = small_grid("boosting", "forest"), Log()
    made_up_scores(log, grid, {("moons", 0): 0.9, ("blobs", 0): 0.5, ("moons", 1): 0.7})
    cell = grid.ensemble_cell(("blobs", 0.1), grid.methods[1], 0)
    del log.cells[key_of(cell)]
    counts, means = means_by_seed(grid, log)
    assert counts == {0: 1, 1: 1}
    assert means == {"boosting": {0: 0.9, 1: 0.7}, "forest": {0: 0.9, 1: 0.7}}
    assert paired_tests(grid, log)[0] == "boosting"
    shown = tables.by_seed(grid, log)
    assert shown.columns == ["method", "seed 0 (1)", "seed 1 (1)", "mean over all seeds"]
    assert [row[1:] for row in shown.rows] == [["0.9000", "0.7000", "0.8000"]] * 2
    for instance in grid.instances:
        log.cells.pop(key_of(grid.ensemble_cell(instance, grid.methods[1], 1)), None)
    shown = tables.by_seed(grid, log)
    assert shown.columns[-1] == "mean over seeds 0"
    assert {row[0]: row[1:] for row in shown.rows}["forest"] == ["0.9000", "–", "0.9000"]
    first = replace(grid, seeds=(0,))
    assert "small-seeds" in tables.tables_of(first, log)
    assert any("not comparable" in note for note in tables.aggregate(first, log).notes)
