"""``hardwood fit``."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from hardwood.attack.model import AttackModel
from hardwood.cli.app import app
from hardwood.cli.inputs import (
    AttackedClassOption,
    AttackOption,
    DataArgument,
    DepthOption,
    DropOption,
    IntegerOption,
    JobsOption,
    JsonOption,
    ProofOption,
    Samples,
    TargetOption,
    WeightOption,
    checked_jobs,
)
from hardwood.cli.output import check_output, percent, print_json, print_table
from hardwood.evaluation.methods import Recipe, find_recipe
from hardwood.evaluation.metrics import accuracy, adversarial_accuracy
from hardwood.export.model_file import Model, training_record
from hardwood.problem.problem import Problem, fractions_text, moved_by_fractions
from hardwood.proofs.writer import write_proof
from hardwood.solvers import get_solver, solve
from hardwood.solvers.display import progress_display
from hardwood.solvers.result import Result, Status


class StartChoice(StrEnum):
    """Where a solver may start on the command line."""

    none = "none"
    greedy = "greedy"


class Missing(StrEnum):
    """What to do with missing values on the command line."""

    error = "error"
    reachable = "reachable"


class ClassWeight(StrEnum):
    """Class weights on the command line."""

    none = "none"
    balanced = "balanced"


EngineOption = Annotated[str | None, typer.Option(help="Library to run on, for solvers with a choice.")]
GapOption = Annotated[float, typer.Option(help="Stop at this relative gap between objective and bound.")]
PenaltyOption = Annotated[float, typer.Option(help="Cost of a leaf, in units of sample weight.")]
LeafOption = Annotated[int, typer.Option(help="Samples that must reach each leaf for certain.")]
CategoricalOption = Annotated[
    list[str] | None, typer.Option("--categorical", help="Column that holds categories; may be repeated.")
]
MissingOption = Annotated[
    Missing, typer.Option(help="Refuse missing values, or let them reach both sides of every split.")
]


@app.command()
def fit(
    data: DataArgument,
    target: TargetOption,
    attack: AttackOption = "0",
    depth: DepthOption = 3,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the model to this JSON file.")] = None,
    solver: Annotated[str, typer.Option(help="How to learn; 'hardwood solvers' lists the choices.")] = "search",
    engine: EngineOption = None,
    start: Annotated[StartChoice, typer.Option(help="Where the solver starts.")] = StartChoice.none,
    time_limit: Annotated[float, typer.Option(help="Seconds; the best tree so far is kept when they are over.")] = 60.0,
    max_gap: GapOption = 0.0,
    attacked_class: AttackedClassOption = None,
    integer: IntegerOption = None,
    drop: DropOption = None,
    weight: WeightOption = None,
    class_weight: Annotated[ClassWeight, typer.Option(help="Weigh classes equally.")] = ClassWeight.none,
    leaf_penalty: PenaltyOption = 0.0,
    min_samples_leaf: LeafOption = 0,
    categorical: CategoricalOption = None,
    missing: MissingOption = Missing.error,
    jobs: JobsOption = 1,
    seed: Annotated[int, typer.Option(help="Seed of whatever is random.")] = 0,
    proof: ProofOption = None,
    json: JsonOption = False,
) -> None:
    """Learn a robust tree from a CSV file."""
    started = time.perf_counter()
    check_output(output)
    check_output(proof)
    n_jobs = checked_jobs(jobs)
    recipe = find_recipe(solver).changed(None, engine, None if start is StartChoice.none else start.value)
    allow_missing = missing is Missing.reachable
    samples = Samples.read(data, target, drop, weight=weight, categorical=categorical, allow_missing=allow_missing)
    problem = samples.problem(
        attack,
        attacked_class,
        integer,
        max_depth=depth,
        class_weight=None if class_weight is ClassWeight.none else class_weight.value,
        leaf_penalty=leaf_penalty,
        min_samples_leaf=min_samples_leaf,
        missing=missing.value,
    )
    if counts := moved_by_fractions(problem):
        typer.echo(f"Note: {fractions_text(counts)} --integer NAMES, or --integer auto", err=True)
    limits = {"time_limit": time_limit, "max_gap": max_gap, "random_state": seed, "n_jobs": n_jobs, "started": started}
    result = _learn(problem, recipe, limits, shown=not json)
    _finish(result, samples, problem.known_attack, output, json=json)
    if output is not None and not json:
        typer.echo(f"Model written to {output}. Next: hardwood evaluate {output} {data} --target {target}")
    if proof is not None:
        write_proof(problem, result.tree, result.bound, proof, target=target)
        typer.echo(f"Proof written to {proof}. To check it: hardwood-checker {proof} {data}", err=json)


def _learn(problem: Problem, recipe: Recipe, limits: dict[str, Any], *, shown: bool) -> Result:
    """Run a method, with what it has reached on the screen while it runs."""
    with progress_display(shown, limits["time_limit"]) as on_progress:
        return solve(
            problem, recipe.solver, start=recipe.start, options=recipe.options, on_progress=on_progress, **limits
        )


def _finish(result: Result, samples: Samples, attack: AttackModel, output: Path | None, *, json: bool) -> None:
    """Write the model and show what was learned."""
    tree = result.tree
    scores = {
        "accuracy": accuracy(tree, samples.X, samples.y),
        "adversarial_accuracy": adversarial_accuracy(tree, samples.X, samples.y, attack),
    }
    if output is not None:
        name = Path(samples.table.path).name
        Model(tree, attack, {**training_record(result), "data": name, **scores}).save(output)
    if not json:
        typer.echo(tree.to_text())
        print_table("", ("", "training data"), _fit_rows(result, scores))
        return
    print_json(
        {
            **training_record(result),
            **scores,
            "depth": tree.depth,
            "leaves": tree.n_leaves,
            "tree": tree.to_dict(),
            "model": None if output is None else str(output),
        }
    )


def _fit_rows(result: Result, scores: dict[str, float]) -> list[tuple[str, str]]:
    if result.status is Status.OPTIMAL:
        proof = result.proof_text
    elif not get_solver(result.solver).proves:
        proof = "a heuristic: nothing is proven"
    else:
        proof = f"not proven: bound {result.bound:g}, gap {percent(result.gap)} (ended by {result.stopped_by})"
    return [
        ("accuracy", percent(scores["accuracy"])),
        ("accuracy under attack", percent(scores["adversarial_accuracy"])),
        ("objective (robust errors)", f"{result.objective:g}"),
        ("status", proof),
        ("leaves", str(result.tree.n_leaves)),
        ("seconds", f"{result.runtime:.2f}"),
    ]
