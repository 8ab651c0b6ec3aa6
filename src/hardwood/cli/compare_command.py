"""``hardwood compare``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hardwood.cli.app import app
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
from hardwood.cli.output import (
    check_picture,
    exit_if_interrupted,
    percent,
    print_json,
    print_table,
    save_picture,
    steps_display,
)
from hardwood.cli.reading import Reading, reads_csv
from hardwood.evaluation.comparison import DEFAULT_METHODS, Comparison, Row, Score, compare


@app.command("compare")
@reads_csv
def compare_command(
    data: DataArgument,
    target: TargetOption,
    attack: AttackOption,
    reading: Reading,
    depth: DepthOption = 3,
    learners: Annotated[
        str | None,
        typer.Option(help=f"Which learners, separated by commas; by default {', '.join(DEFAULT_METHODS)}. "
                     "Any solver that 'hardwood solvers' lists is a learner too."),
    ] = None,
    model: Annotated[
        list[Path] | None,
        typer.Option(help="Saved model to put beside them: XGBoost's or CatBoost's JSON, LightGBM's text or JSON, or "
                     "one of 'hardwood fit'; may be repeated. It is scored on both parts, whatever it learned from."),
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a figure to this file (.png, .svg or .pdf).")] = None,
    held_out: Annotated[
        float, typer.Option("--holdout", "--held-out", help="Share of the data to test on; 0 for none.")
    ] = 0.2,
    time_limit: Annotated[float, typer.Option(help="Seconds for each learner.")] = 60.0,
    attacked_class: AttackedClassOption = None,
    integer: IntegerOption = None,
    weight: WeightOption = None,
    jobs: JobsOption = 1,
    seed: Annotated[int, typer.Option(help="Seed of the split and of whatever else is random.")] = 0,
    json: JsonOption = False,
) -> None:  # fmt: skip
    """Train all learners on a CSV file and put them side by side, with and without the attacker."""
    check_picture(plot)
    n_jobs = checked_jobs(jobs)
    samples = Samples.read(data, target, reading, weight=weight)
    with steps_display(not json, "Learning") as on_start:
        comparison = compare(
            samples.X,
            samples.y,
            samples.attack(attack, attacked_class, integer),
            depth,
            learners=None if learners is None else [name.strip() for name in learners.split(",")],
            models={path.name: path for path in model or ()},
            test_size=held_out,
            time_limit=time_limit,
            n_jobs=n_jobs,
            random_state=seed,
            feature_names=samples.features,
            sample_weight=samples.weight,
            categorical_features=samples.encoding,
            missing=reading.missing.value,
            on_start=on_start,
        )
    if plot is not None:
        _save_plot(comparison, plot)
    if json:
        print_json({**comparison.to_dict(), "plot": None if plot is None else str(plot)})
    else:
        _print(comparison, data.name)
        if plot is not None:
            typer.echo(f"Figure written to {plot}")
    exit_if_interrupted(was_interrupted=comparison.was_interrupted)


def _save_plot(comparison: Comparison, path: Path) -> None:
    from hardwood.plotting.comparison import plot_comparison

    save_picture(plot_comparison(comparison), path)


def _print(comparison: Comparison, name: str) -> None:
    typer.echo(
        f"{name}: {comparison.n_train} samples to learn from, {comparison.n_test} held out; "
        f"attack: {comparison.attack}; depth {comparison.max_depth}"
    )
    if comparison.bound > 0:
        typer.echo(
            f"No tree of this depth loses fewer than {comparison.bound:g} training samples to the attacker "
            f"(accuracy under attack at most {percent(comparison.accuracy_bound)}; proven by: {comparison.bound_by})."
        )
    held_out = ("test", "atk") if comparison.n_test else ()
    print_table(
        "Accuracy as is and under attack (atk) in %; training samples lost to the attacker",
        ("learner", "train", "atk", *held_out, "lost", "bound", "gap", "leaves", "s"),
        [_cells(comparison, row) for row in comparison.rows],
    )
    for learner, reason in comparison.left_out.items():
        typer.echo(f"Left out: {learner} ({reason})")
    for row in comparison.rows:
        if row.ended_by not in ("proof", "heuristic"):
            typer.echo(f"{row.name} was ended by: {row.ended_by}")


def _cells(comparison: Comparison, row: Row) -> list[str]:
    def scores(part: Score) -> list[str]:
        sign = "" if part.attacked == part.attacked_at_most else ">="
        return [f"{100 * part.accuracy:.1f}", f"{sign}{100 * part.attacked:.1f}"]

    gap = comparison.gap(row)
    return [
        row.name,
        *scores(row.train),
        *(scores(row.test) if row.test is not None else []),
        "-" if row.errors is None else f"{row.errors:g}",
        "-" if row.errors is None else f"{comparison.bound:g}",
        "-" if gap is None else f"{100 * gap:.0f} %",
        str(row.leaves),
        f"{row.seconds:.1f}",
    ]
