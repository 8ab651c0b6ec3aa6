"""``hardwood fit-ensemble``: boosting and forests."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from hardwood._core import Control
from hardwood.cli.app import app
from hardwood.cli.fit_command import ClassWeight, next_command
from hardwood.cli.holding_out import HoldoutOption, TestOption, parts_of
from hardwood.cli.inputs import (
    AttackedClassOption,
    AttackOption,
    DataArgument,
    DepthOption,
    IntegerOption,
    JobsOption,
    JsonOption,
    ModelOnTable,
    Samples,
    TargetOption,
    WeightOption,
    checked_jobs,
)
from hardwood.cli.output import check_output, exit_if_interrupted, percent, print_json, print_table
from hardwood.cli.reading import Reading, reads_csv
from hardwood.ensembles.boosting import BoostingLearner
from hardwood.ensembles.forest import GrownTree, OptimalLearner, grow_forest, voting
from hardwood.ensembles.model_file import EnsembleModel
from hardwood.ensembles.scores import Ensemble
from hardwood.ensembles.verification import robustness
from hardwood.problem.problem import Problem
from hardwood.solvers.greedy import GreedyLearner
from hardwood.solvers.options import Number, Option, Whole

TREES = Option("trees", 100, Whole(1, 1_000_000), "rounds of boosting, or trees of a forest")
LEARNING_RATE = Option("learning_rate", 0.1, Number(0, 1, above=True), "by how much boosting shrinks each tree")


class EnsembleKind(StrEnum):
    """What can be learned on the command line."""

    boosting = "boosting"
    forest = "forest"


@dataclass(frozen=True)
class Plan:
    """What many trees are to be learned, and how.

    Attributes
    ----------
    kind : EnsembleKind
    base : {"search", "greedy"}
        Where trees come from.
    trees : int
    learning_rate : float
    time_limit : float
        Seconds to learn; as many more to verify the training samples.
    n_jobs, seed : int
    """

    kind: EnsembleKind
    base: str
    trees: int
    learning_rate: float
    time_limit: float
    n_jobs: int
    seed: int

    def __post_init__(self) -> None:
        TREES.check(self.trees)
        LEARNING_RATE.check(self.learning_rate)

    def learn(self, problem: Problem) -> tuple[Ensemble, bool]:
        """Learn; return the trees, and whether Ctrl-C ended it."""
        if self.kind is EnsembleKind.boosting:
            learner = BoostingLearner(
                self.trees, self.learning_rate, max(1, problem.max_depth), base=self.base, n_jobs=self.n_jobs
            )
            boosted = learner.run(problem, random_state=self.seed, control=Control(self.time_limit))
            return boosted.ensemble(problem), boosted.stopped_by == "interrupt"
        finished: list[GrownTree] = []
        grown: Sequence[GrownTree] = finished
        was_interrupted = False
        try:
            grown = grow_forest(
                problem,
                GreedyLearner(max_features="sqrt") if self.base == "greedy" else OptimalLearner(),
                self.trees,
                n_jobs=self.n_jobs,
                random_state=self.seed,
                time_limit=self.time_limit,
                finished=finished,
            )
        except KeyboardInterrupt:
            if not grown:
                raise
            was_interrupted = True
        return voting([one.tree for one in grown]), was_interrupted


class TreesFrom(StrEnum):
    """Where trees come from."""

    greedy = "greedy"
    search = "search"


@app.command("fit-ensemble")
@reads_csv
def fit_ensemble_command(
    data: DataArgument,
    target: TargetOption,
    attack: AttackOption,
    reading: Reading,
    model: Annotated[EnsembleKind, typer.Option(help="Trees that add up, or trees that vote.")] = EnsembleKind.boosting,
    depth: DepthOption = 3,
    trees: Annotated[int, typer.Option(help="Rounds of boosting, or trees of a forest.")] = 100,
    learning_rate: Annotated[float, typer.Option(help="By how much boosting shrinks each tree.")] = 0.1,
    base: Annotated[
        TreesFrom, typer.Option(help="Grow trees split by split, or let the exact search find them.")
    ] = TreesFrom.greedy,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the model to this JSON file.")] = None,
    holdout: HoldoutOption = None,
    test: TestOption = None,
    time_limit: Annotated[float, typer.Option(help="Seconds to learn, and as many to verify.")] = 60.0,
    attacked_class: AttackedClassOption = None,
    integer: IntegerOption = None,
    weight: WeightOption = None,
    class_weight: Annotated[ClassWeight, typer.Option(help="Weigh classes equally.")] = ClassWeight.none,
    jobs: JobsOption = 1,
    seed: Annotated[int, typer.Option(help="Seed of the rows held out and of whatever else is random.")] = 0,
    json: JsonOption = False,
) -> None:
    """Learn many robust trees from a CSV file: boosting on worst-case margins, or a forest."""
    check_output(output)
    plan = Plan(model, base.value, trees, learning_rate, time_limit, checked_jobs(jobs), seed)
    samples = Samples.read(data, target, reading, weight=weight)
    learned_from, held_out = parts_of(samples, holdout, test, None, seed)
    problem = learned_from.problem(
        attack,
        attacked_class,
        integer,
        max_depth=depth,
        class_weight=None if class_weight is ClassWeight.none else class_weight.value,
    )
    started = time.perf_counter()
    ensemble, was_interrupted = plan.learn(problem)
    fitted = _Fitted(plan, ensemble, problem, learned_from, held_out, test, target, time.perf_counter() - started)
    fitted.save(output)
    fitted.show(output, json=json)
    if output is not None and not json:
        typer.echo(f"Model written to {output}. Next: {next_command(output, test or data, target, reading)}")
    exit_if_interrupted(was_interrupted=was_interrupted)


@dataclass(frozen=True, eq=False)
class _Fitted:
    """What was learned, from what, and what it is judged by."""

    plan: Plan
    ensemble: Ensemble
    problem: Problem
    learned_from: Samples
    held_out: Samples | None
    test: Path | None
    target: str
    seconds: float

    @cached_property
    def training(self) -> dict[str, Any]:
        """How it was learned, and how it does on what it was learned from and on what it was not."""
        samples = self.learned_from
        found: dict[str, Any] = {
            "solver": self.plan.kind.value,
            "base": self.plan.base,
            "trees": self.ensemble.n_trees,
            "runtime": round(self.seconds, 6),
            "data": Path(samples.table.path).name,
            "samples": len(samples.y),
            **self._scores(samples.X, samples.y, samples.weight, ""),
        }
        X, y, weight = self._others()
        if y is not None:
            found |= {"test_samples": len(y), **self._scores(X, y, weight, "test_")}
        return found

    def _others(self) -> tuple[Any, Any, Any]:
        if self.held_out is not None:
            return self.held_out.X, self.held_out.y, self.held_out.weight
        if self.test is None:
            return None, None, None
        table = self.learned_from.reading.table(self.test)
        table.position(self.target)
        given = ModelOnTable.of(EnsembleModel(self.ensemble, self.problem.known_attack), table, {self.target})
        return given.X, given.labels(self.target), None

    def _scores(self, X: Any, y: Any, weight: Any, prefix: str) -> dict[str, float]:
        plan = self.plan
        attack = self.problem.known_attack
        found = robustness(self.ensemble, X, y, attack, time_limit=plan.time_limit, n_jobs=plan.n_jobs)
        low, high = found.interval(weight)
        return {
            f"{prefix}accuracy": float(np.average(self.ensemble.predict(X) == y, weights=weight)),
            f"{prefix}adversarial_accuracy": low,
            f"{prefix}adversarial_accuracy_upper": high,
        }

    def save(self, output: Path | None) -> None:
        """Write the model."""
        if output is not None:
            EnsembleModel(self.ensemble, self.problem.known_attack, self.training).save(output)

    def show(self, output: Path | None, *, json: bool) -> None:
        """Show what was learned."""
        training = self.training
        if json:
            path = None if output is None else str(output)
            print_json({**training, "leaves": self.ensemble.n_leaves, "model": path})
            return
        parts = [prefix for prefix in ("", "test_") if f"{prefix}samples" in training]

        def under_attack(prefix: str) -> str:
            low, high = (training[f"{prefix}adversarial_accuracy{end}"] for end in ("", "_upper"))
            return percent(low) if low == high else f"{percent(low)} to {percent(high)}"

        columns = [f"{training['samples']} learned from"]
        if "test_" in parts:
            where = "held out" if self.test is None else f"of {self.test.name}"
            columns.append(f"{training['test_samples']} {where}")
        rows = [
            ("accuracy", *(percent(training[f"{prefix}accuracy"]) for prefix in parts)),
            ("accuracy under attack", *map(under_attack, parts)),
            ("trees", str(self.ensemble.n_trees)),
            ("leaves", str(self.ensemble.n_leaves)),
            ("seconds", f"{self.seconds:.2f}"),
        ]
        print_table("", ("", *columns), rows)
