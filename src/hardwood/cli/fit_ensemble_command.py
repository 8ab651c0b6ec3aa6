"""``hardwood fit-ensemble``: boosting and forests."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from hardwood._core import Control
from hardwood.cli.app import app
from hardwood.cli.fit_command import ClassWeight
from hardwood.cli.inputs import (
    AttackedClassOption,
    AttackOption,
    DataArgument,
    DepthOption,
    IntegerOption,
    JobsOption,
    JsonOption,
    Samples,
    TargetOption,
    WeightOption,
    checked_jobs,
)
from hardwood.cli.output import check_output, percent, print_json, print_table
from hardwood.cli.reading import Reading, reads_csv
from hardwood.ensembles.boosting import BoostingLearner
from hardwood.ensembles.forest import OptimalLearner, grow_forest, voting
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

    def learn(self, problem: Problem) -> Ensemble:
        """Learn."""
        if self.kind is EnsembleKind.boosting:
            learner = BoostingLearner(
                self.trees, self.learning_rate, max(1, problem.max_depth), base=self.base, n_jobs=self.n_jobs
            )
            boosted = learner.run(problem, random_state=self.seed, control=Control(self.time_limit))
            return boosted.ensemble(problem)
        grown = grow_forest(
            problem,
            GreedyLearner(max_features="sqrt") if self.base == "greedy" else OptimalLearner(),
            self.trees,
            n_jobs=self.n_jobs,
            random_state=self.seed,
            time_limit=self.time_limit,
        )
        return voting([one.tree for one in grown])


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
    time_limit: Annotated[float, typer.Option(help="Seconds to learn, and as many to verify.")] = 60.0,
    attacked_class: AttackedClassOption = None,
    integer: IntegerOption = None,
    weight: WeightOption = None,
    class_weight: Annotated[ClassWeight, typer.Option(help="Weigh classes equally.")] = ClassWeight.none,
    jobs: JobsOption = 1,
    seed: Annotated[int, typer.Option(help="Seed of whatever is random.")] = 0,
    json: JsonOption = False,
) -> None:
    """Learn many robust trees from a CSV file: boosting on worst-case margins, or a forest."""
    check_output(output)
    plan = Plan(model, base.value, trees, learning_rate, time_limit, checked_jobs(jobs), seed)
    samples = Samples.read(data, target, reading, weight=weight)
    problem = samples.problem(
        attack,
        attacked_class,
        integer,
        max_depth=depth,
        class_weight=None if class_weight is ClassWeight.none else class_weight.value,
    )
    fit_ensemble(plan, samples, problem, output, json=json)
    if output is not None and not json:
        typer.echo(f"Model written to {output}. Next: hardwood evaluate {output} {data} --target {target}")


def fit_ensemble(plan: Plan, samples: Samples, problem: Problem, output: Path | None, *, json: bool) -> None:
    """Learn many trees, write them and show what was learned."""
    started = time.perf_counter()
    ensemble = plan.learn(problem)
    seconds = time.perf_counter() - started
    attack = problem.known_attack
    found = robustness(ensemble, samples.X, samples.y, attack, time_limit=plan.time_limit, n_jobs=plan.n_jobs)
    low, high = found.interval(samples.weight)
    training: dict[str, Any] = {
        "solver": plan.kind.value,
        "base": plan.base,
        "trees": ensemble.n_trees,
        "runtime": round(seconds, 6),
        "data": Path(samples.table.path).name,
        "accuracy": float(np.average(ensemble.predict(samples.X) == samples.y, weights=samples.weight)),
        "adversarial_accuracy": low,
        "adversarial_accuracy_upper": high,
    }
    if output is not None:
        EnsembleModel(ensemble, attack, training).save(output)
    if json:
        print_json({**training, "leaves": ensemble.n_leaves, "model": None if output is None else str(output)})
        return
    under_attack = percent(low) if low == high else f"{percent(low)} to {percent(high)}"
    rows = {
        "accuracy": percent(training["accuracy"]),
        "accuracy under attack": under_attack,
        "trees": str(ensemble.n_trees),
        "leaves": str(ensemble.n_leaves),
        "seconds": f"{seconds:.2f}",
    }
    print_table("", ("", "training data"), list(rows.items()))
