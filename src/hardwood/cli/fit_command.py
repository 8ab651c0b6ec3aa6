"""``hardwood fit``."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from hardwood.attack.model import AttackModel
from hardwood.cli.app import app
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
    ProofOption,
    Samples,
    TargetOption,
    WeightOption,
    checked_jobs,
)
from hardwood.cli.output import check_output, exit_if_interrupted, percent, print_json, print_table
from hardwood.cli.reading import Reading, reads_csv
from hardwood.evaluation.methods import Recipe, find_recipe
from hardwood.evaluation.metrics import accuracy, adversarial_accuracy
from hardwood.export.model_file import Model, training_record, weight_by_leaf
from hardwood.problem.problem import Problem
from hardwood.problem.suspicions import fractions_text, moved_by_fractions, moved_one_by_one, one_hot_text
from hardwood.proofs.checkpoint import Checkpoint
from hardwood.proofs.writer import write_proof
from hardwood.solvers import get_solver, solve
from hardwood.solvers.display import progress_display
from hardwood.solvers.result import Result, Status, TracePoint
from hardwood.solvers.search.cluster import connected
from hardwood.tree.statistics import NodeStatistics


class StartChoice(StrEnum):
    """Where a solver may start on the command line."""

    none = "none"
    greedy = "greedy"


class ClassWeight(StrEnum):
    """Class weights on the command line."""

    none = "none"
    balanced = "balanced"


EngineOption = Annotated[str | None, typer.Option(help="Library to run on, for solvers with a choice.")]
GapOption = Annotated[float, typer.Option(help="Stop at this relative gap between objective and bound.")]
PenaltyOption = Annotated[float, typer.Option(help="Cost of a leaf, in units of sample weight.")]
LeafOption = Annotated[int, typer.Option(help="Samples that must reach each leaf for certain.")]
LeafShareOption = Annotated[float, typer.Option(help="Share of all weight that must reach each leaf for certain.")]
CheckpointOption = Annotated[
    Path | None,
    typer.Option("--checkpoint", help="Keep what is proven in this file; run the same again to go on from it."),
]
DaskOption = Annotated[
    str | None, typer.Option("--dask", help="Search on this Dask cluster, e.g. tcp://scheduler:8786.")
]


@app.command()
@reads_csv
def fit(
    data: DataArgument,
    target: TargetOption,
    attack: AttackOption,
    reading: Reading,
    depth: DepthOption = 3,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the model to this JSON file.")] = None,
    holdout: HoldoutOption = None,
    test: TestOption = None,
    solver: Annotated[str, typer.Option(help="How to learn; 'hardwood solvers' lists the choices.")] = "search",
    engine: EngineOption = None,
    start: Annotated[StartChoice, typer.Option(help="Where the solver starts.")] = StartChoice.none,
    time_limit: Annotated[float, typer.Option(help="Seconds; the best tree so far is kept when they are over.")] = 60.0,
    max_gap: GapOption = 0.0,
    attacked_class: AttackedClassOption = None,
    integer: IntegerOption = None,
    weight: WeightOption = None,
    class_weight: Annotated[ClassWeight, typer.Option(help="Weigh classes equally.")] = ClassWeight.none,
    leaf_penalty: PenaltyOption = 0.0,
    min_samples_leaf: LeafOption = 0,
    min_weight_fraction_leaf: LeafShareOption = 0.0,
    jobs: JobsOption = 1,
    seed: Annotated[int, typer.Option(help="Seed of the rows held out and of whatever else is random.")] = 0,
    proof: ProofOption = None,
    checkpoint: CheckpointOption = None,
    dask: DaskOption = None,
    json: JsonOption = False,
) -> None:
    """Learn a robust tree from a CSV file."""
    started = time.perf_counter()
    check_output(output)
    check_output(proof)
    n_jobs = checked_jobs(jobs)
    recipe = find_recipe(solver).changed(None, engine, None if start is StartChoice.none else start.value)
    samples = Samples.read(data, target, reading, weight=weight)
    learned_from, judged_by = parts_of(samples, holdout, test, proof or checkpoint, seed)
    problem = learned_from.problem(
        attack,
        attacked_class,
        integer,
        max_depth=depth,
        class_weight=None if class_weight is ClassWeight.none else class_weight.value,
        leaf_penalty=leaf_penalty,
        min_samples_leaf=min_samples_leaf,
        min_weight_fraction_leaf=min_weight_fraction_leaf,
    )
    _say_suspicions(problem)
    limits = {"time_limit": time_limit, "max_gap": max_gap, "random_state": seed, "n_jobs": n_jobs, "started": started}
    kept = None if checkpoint is None else Checkpoint(checkpoint, target)
    result = _learn(problem, recipe, {**limits, "checkpoint": kept}, dask, shown=not json)
    fitted = _Fitted(result, problem, learned_from, judged_by, test, target)
    fitted.save(output)
    fitted.show(output, json=json)
    if checkpoint is not None:
        _say_where_it_stands(result, checkpoint, samples.how_to_check(checkpoint), json=json)
    if proof is not None:
        write_proof(problem, result.tree, result.bound, proof, target=target)
        typer.echo(f"Proof written to {proof}. {samples.how_to_check(proof)}", err=json)
    exit_if_interrupted(result)


def _say_suspicions(problem: Problem) -> None:
    """Name columns that look like counts or one-hot groups but are attacked otherwise."""
    if counts := moved_by_fractions(problem):
        typer.echo(f"Note: {fractions_text(counts)} --integer NAMES, or --integer auto", err=True)
    if groups := moved_one_by_one(problem):
        typer.echo(f"Note: {one_hot_text(groups)} --attack '...; group: {', '.join(groups[0])}'", err=True)


def next_command(output: Path, data: Path, target: str, reading: Reading) -> str:
    """Return the command that judges what was learned, with what says how its data are written."""
    return shlex.join(["hardwood", "evaluate", str(output), str(data), "--target", target, *reading.how_it_is_written])


def _learn(problem: Problem, recipe: Recipe, limits: dict[str, Any], dask: str | None, *, shown: bool) -> Result:
    """Run a method, with what it has reached on the screen while it runs."""
    with progress_display(shown, limits["time_limit"]) as on_progress, connected(dask) as client:
        return solve(
            problem,
            recipe.solver,
            start=recipe.start,
            options=recipe.options,
            on_progress=on_progress,
            client=client,
            **limits,
        )


def _say_where_it_stands(result: Result, checkpoint: Path, check: str, *, json: bool) -> None:
    if result.status is Status.OPTIMAL:
        text = f"Proven; {checkpoint} is the proof. {check}"
    else:
        text = f"What is proven so far (bound {result.bound:g}) is in {checkpoint}. Run the same again to go on."
    typer.echo(text, err=json)


@dataclass(frozen=True, eq=False)
class _Fitted:
    """What was learned, from what, and what it is judged by."""

    result: Result
    problem: Problem
    learned_from: Samples
    held_out: Samples | None
    test: Path | None
    target: str

    @property
    def attack(self) -> AttackModel:
        return self.problem.known_attack

    @cached_property
    def scores(self) -> dict[str, Any]:
        """Accuracy as is and under attack, on what it was learned from and on what it was not."""
        tree, samples = self.result.tree, self.learned_from
        found: dict[str, Any] = {
            "accuracy": accuracy(tree, samples.X, samples.y),
            "adversarial_accuracy": adversarial_accuracy(tree, samples.X, samples.y, self.attack),
            "samples": len(samples.y),
        }
        X, y = self._others()
        if y is not None:
            found["test_accuracy"] = accuracy(tree, X, y)
            found["test_adversarial_accuracy"] = adversarial_accuracy(tree, X, y, self.attack)
            found["test_samples"] = len(y)
        return found

    def _others(self) -> tuple[Any, Any]:
        if self.held_out is not None:
            return self.held_out.X, self.held_out.y
        if self.test is None:
            return None, None
        table = self.learned_from.reading.table(self.test)
        table.position(self.target)
        given = ModelOnTable.of(Model(self.result.tree, self.attack), table, {self.target})
        return given.X, given.labels(self.target)

    def save(self, output: Path | None) -> None:
        """Write the model."""
        if output is None:
            return
        record = {**training_record(self.result), "data": Path(self.learned_from.table.path).name, **self.scores}
        record["trace"] = [[point.seconds, point.objective, point.bound] for point in _finite(self.result)]
        weight = NodeStatistics.of(self.result.tree, self.problem).certain
        Model(self.result.tree, self.attack, record, weight_by_leaf(weight)).save(output)

    def show(self, output: Path | None, *, json: bool) -> None:
        """Show what was learned."""
        tree = self.result.tree
        if json:
            shape = {"depth": tree.depth, "leaves": tree.n_leaves, "tree": tree.to_dict()}
            print_json(
                {
                    **training_record(self.result),
                    **self.scores,
                    **shape,
                    "is_attacked": _attacks_anything(self.problem),
                    "model": None if output is None else str(output),
                }
            )
            return
        typer.echo(tree.to_text())
        if not _attacks_anything(self.problem):
            typer.echo("\nNothing is attacked: --attack leaves every sample where it is, so this is an ordinary tree.")
        print_table("", ("", *self._columns()), self._rows())
        if output is not None:
            judged = self.test or Path(self.learned_from.table.path)
            following = next_command(output, judged, self.target, self.learned_from.reading)
            typer.echo(f"Model written to {output}. Next: {following}")

    def _columns(self) -> list[str]:
        columns = [f"{self.scores['samples']} learned from"]
        if "test_samples" in self.scores:
            where = "held out" if self.test is None else f"of {self.test.name}"
            columns.append(f"{self.scores['test_samples']} {where}")
        return columns

    def _rows(self) -> list[tuple[str, ...]]:
        result, scores = self.result, self.scores
        if result.status is Status.OPTIMAL:
            proof = result.proof_text
        elif not get_solver(result.solver).proves:
            proof = "a heuristic: nothing is proven"
        else:
            proof = f"not proven: bound {result.bound:g}, gap {percent(result.gap)} (ended by {result.stopped_by})"

        def both(name: str) -> list[str]:
            return [percent(scores[key]) for key in (name, f"test_{name}") if key in scores]

        attacked = [("accuracy under attack", *both("adversarial_accuracy"))] if _attacks_anything(self.problem) else []
        return [
            ("accuracy", *both("accuracy")),
            *attacked,
            ("objective (robust errors)", f"{result.objective:g}"),
            ("status", proof),
            ("leaves", str(result.tree.n_leaves)),
            ("seconds", f"{result.runtime:.2f}"),
        ]


def _finite(result: Result) -> list[TracePoint]:
    """Return the trace from the first tree on; before it there is nothing that JSON could hold."""
    return [point for point in result.trace if np.isfinite(point.objective) and np.isfinite(point.bound)]


def _attacks_anything(problem: Problem) -> bool:
    """Whether some sample can be moved at all, or be anything where it is missing."""
    return bool(problem.reach.moves(problem.values).any())
