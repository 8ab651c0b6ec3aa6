"""``hardwood fit``, ``predict`` and ``evaluate``."""

from __future__ import annotations

import csv
import io
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from hardwood.cli.app import app
from hardwood.cli.inputs import (
    AttackedClassOption,
    AttackOption,
    DataArgument,
    DropOption,
    JsonOption,
    TargetOption,
    attack_for,
    feature_columns,
    features_of_model,
    labels_like,
    read_csv,
)
from hardwood.cli.output import percent, print_json, print_table
from hardwood.data.categories import CategoryEncoding
from hardwood.data.frames import has_missing
from hardwood.errors import InvalidInputError
from hardwood.evaluation.adversarial import attack_samples, robust_radius
from hardwood.evaluation.metrics import accuracy, adversarial_accuracy
from hardwood.export.model_file import Model, training_record
from hardwood.files import write_whole
from hardwood.problem.problem import Problem, fit_attack
from hardwood.solvers import get_solver, solve
from hardwood.solvers.display import progress_display
from hardwood.solvers.result import Result, Status
from hardwood.tree.attacked import AttackedData

ModelArgument = Annotated[Path, typer.Argument(help="Model file written by 'hardwood fit'.", show_default=False)]


class Start(StrEnum):
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


@app.command()
def fit(
    data: DataArgument,
    target: TargetOption,
    attack: AttackOption = "0",
    depth: Annotated[int, typer.Option("--depth", "-d", help="Largest number of splits on a path.")] = 3,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the model to this JSON file.")] = None,
    solver: Annotated[str, typer.Option(help="How to learn; 'hardwood solvers' lists the choices.")] = "search",
    engine: Annotated[str | None, typer.Option(help="Library to run on, for solvers with a choice.")] = None,
    start: Annotated[Start, typer.Option(help="Where the solver starts.")] = Start.none,
    time_limit: Annotated[float, typer.Option(help="Seconds; the best tree so far is kept when they are over.")] = 60.0,
    max_gap: Annotated[float, typer.Option(help="Stop at this relative gap between objective and bound.")] = 0.0,
    attacked_class: AttackedClassOption = None,
    drop: DropOption = None,
    weight: Annotated[str | None, typer.Option(help="Column with sample weights.")] = None,
    class_weight: Annotated[ClassWeight, typer.Option(help="Weigh classes equally.")] = ClassWeight.none,
    leaf_penalty: Annotated[float, typer.Option(help="Cost of a leaf, in units of sample weight.")] = 0.0,
    min_samples_leaf: Annotated[int, typer.Option(help="Samples that must reach each leaf for certain.")] = 0,
    categorical: Annotated[
        list[str] | None, typer.Option("--categorical", help="Column that holds categories; may be repeated.")
    ] = None,
    missing: Annotated[
        Missing, typer.Option(help="Refuse missing values, or let them reach both sides of every split.")
    ] = Missing.error,
    jobs: Annotated[int, typer.Option(help="Threads to use, where the solver can.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of whatever is random.")] = 0,
    json: JsonOption = False,
) -> None:
    """Learn a robust tree from a CSV file."""
    started = time.perf_counter()
    if output is not None and not output.parent.is_dir():
        raise InvalidInputError(f"cannot write {output}: there is no folder {output.parent}")
    if jobs < 1:
        raise InvalidInputError(f"--jobs {jobs}; it must be at least 1")
    table = read_csv(data)
    features = feature_columns(table, target=target, drop=drop, others=() if weight is None else (weight,))
    y = table.labels(target)
    allow_missing = missing is Missing.reachable
    encoding = None
    X: Any = None
    if categorical:
        X = table.mixed(features, set(categorical), allow_missing=allow_missing)
        encoding = CategoryEncoding.fit(X, categorical, tuple(features))
    else:
        X = table.numbers(features, allow_missing=allow_missing)
    model_of_attack = fit_attack(
        attack_for(attack, attacked_class, np.unique(y)),
        X if encoding is None else encoding.encode(X),
        tuple(features),
        encoding,
    )
    problem = Problem.from_data(
        X,
        y,
        model_of_attack,
        depth,
        sample_weight=None if weight is None else table.numbers([weight])[:, 0],
        class_weight=None if class_weight is ClassWeight.none else class_weight.value,
        leaf_penalty=leaf_penalty,
        min_samples_leaf=min_samples_leaf,
        feature_names=tuple(features),
        missing=missing.value,
        categorical_features=encoding,
    )
    if engine is not None and "engine" not in get_solver(solver).defaults:
        raise InvalidInputError(f"solver {solver!r} has no choice of engine")
    with progress_display(not json, time_limit) as on_progress:
        result = solve(
            problem,
            solver,
            time_limit=time_limit,
            start=None if start is Start.none else start.value,
            max_gap=max_gap,
            random_state=seed,
            n_jobs=jobs,
            options={} if engine is None else {"engine": engine},
            on_progress=on_progress,
            started=started,
        )
    scores = {
        "accuracy": accuracy(result.tree, X, y),
        "adversarial_accuracy": adversarial_accuracy(result.tree, X, y, model_of_attack),
    }
    if output is not None:
        Model(result.tree, model_of_attack, {**training_record(result), "data": data.name, **scores}).save(output)
    if json:
        print_json(
            {
                **training_record(result),
                **scores,
                "depth": result.tree.depth,
                "leaves": result.tree.n_leaves,
                "tree": result.tree.to_dict(),
                "model": None if output is None else str(output),
            }
        )
        return
    typer.echo(result.tree.to_text())
    print_table("", ("", "training data"), _fit_rows(result, scores))
    if output is not None:
        typer.echo(f"Model written to {output}. Next: hardwood evaluate {output} {data} --target {target}")


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


@app.command()
def predict(
    model: ModelArgument,
    data: DataArgument,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="CSV file to write.")] = None,
    json: JsonOption = False,
) -> None:
    """Classify the rows of a CSV file; prints the file with a column 'prediction' added."""
    loaded = Model.load(model)
    table = read_csv(data)
    tree = loaded.tree
    predicted = tree.predict(features_of_model(table, tree, set())[1]).tolist()
    if json:
        print_json({"predictions": predicted})
        return
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([*table.names, "prediction"])
    writer.writerows([*row, label] for row, label in zip(table.rows, predicted, strict=True))
    if output is None:
        typer.echo(buffer.getvalue(), nl=False)
    else:
        write_whole(output, buffer.getvalue())
        typer.echo(f"{len(predicted)} predictions written to {output}")


@app.command()
def evaluate(
    model: ModelArgument,
    data: DataArgument,
    target: TargetOption,
    attack: Annotated[
        str | None, typer.Option("--attack", "-a", help="Another attack than the model was learned against.")
    ] = None,
    attacked_class: AttackedClassOption = None,
    fragile: Annotated[int, typer.Option(help="How many of the most fragile samples to list.")] = 5,
    json: JsonOption = False,
) -> None:
    """Score a model on a CSV file, with and without the attacker."""
    loaded = Model.load(model)
    tree = loaded.tree
    table = read_csv(data)
    features, X = features_of_model(table, tree, {target})
    y = labels_like(table, target, tree.classes)
    if attack is None and attacked_class:
        raise InvalidInputError("--attacked-class needs --attack")
    attack_used = (
        loaded.attack
        if attack is None
        else fit_attack(attack_for(attack, attacked_class, tree.classes), tree.rows(X), tuple(features), tree.encoding)
    )
    fooled = AttackedData.prepare(tree, X, y, attack_used).fooled()
    wrong = tree.predict(X) != y
    classes = [
        {
            "class": label,
            "samples": int(np.sum(y == label)),
            "accuracy": float(np.mean(~wrong[y == label])),
            "adversarial_accuracy": float(np.mean(~fooled[y == label])),
        }
        for label in np.unique(y).tolist()
    ]
    has_distances = tree.encoding is None and not has_missing(X)
    weakest = _most_fragile(loaded, X, y, attack_used, features, wrong, table.lines, fragile) if has_distances else []
    report = {
        "samples": len(y),
        "attack": attack_used.describe(features),
        "accuracy": float(np.mean(~wrong)),
        "adversarial_accuracy": float(np.mean(~fooled)),
        "classes": classes,
        "most_fragile": weakest,
    }
    if json:
        print_json(report)
        return
    typer.echo(f"{len(y)} samples of {data.name}, attack: {attack_used.describe(features)}")
    rows = [(row["class"], row["samples"], row["accuracy"], row["adversarial_accuracy"]) for row in classes]
    rows.append(("all", len(y), report["accuracy"], report["adversarial_accuracy"]))
    print_table(
        "Accuracy",
        ("class", "samples", "as is", "under attack"),
        [(label, n, percent(clean), percent(attacked)) for label, n, clean, attacked in rows],
    )
    if weakest:
        print_table(
            "Most fragile samples that are right as they are",
            ("line", "class", "bears", "change that flips it"),
            [(row["line"], row["class"], f"{row['bears']:.3g} x attack", row["change"]) for row in weakest],
            left=4,
        )


def _most_fragile(
    loaded: Model,
    X: Any,
    y: Any,
    attack: Any,
    features: list[str],
    wrong: Any,
    lines: list[int],
    count: int,
) -> list[dict[str, Any]]:
    """Return the samples that are right as they are but bear the least multiple of the attack."""
    bears = robust_radius(loaded.tree, X, y, attack)
    order = [int(i) for i in np.argsort(bears, kind="stable") if not wrong[i] and np.isfinite(bears[i])][:count]
    if not order:
        return []
    rows = []
    for i in order:
        # The change is shown even where it lies just beyond the attack.
        least = attack.scaled(max(1.0, float(bears[i]) * (1 + 1e-6)))
        point = attack_samples(loaded.tree, X[[i]], y[[i]], least)[0]
        change = ", ".join(f"{features[j]} {X[i, j]:g} -> {point[j]:.6g}" for j in np.flatnonzero(point != X[i]))
        rows.append({"line": lines[i], "class": y[i].item(), "bears": float(bears[i]), "change": change})
    return rows
