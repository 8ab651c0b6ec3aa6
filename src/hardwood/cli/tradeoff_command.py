"""``hardwood tradeoff``: optimal trees over radius and depth, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from hardwood.cli.app import app
from hardwood.cli.inputs import (
    AttackedClassOption,
    AttackOption,
    DataArgument,
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
    progress_bar,
    save_picture,
)
from hardwood.cli.reading import Reading, reads_csv
from hardwood.errors import InvalidInputError
from hardwood.evaluation.tradeoff import Part, Tradeoff, trade_off
from hardwood.problem.problem import Problem

RadiiOption = Annotated[str, typer.Option(help="Multiples of the attack to train against, separated by commas.")]
DepthsOption = Annotated[str, typer.Option(help="Depths, separated by commas.")]
JudgeOption = Annotated[float, typer.Option("--holdout", help="Share of the rows to judge trees by; 0 for none.")]
LimitOption = Annotated[float, typer.Option(help="Seconds for each tree; what is not proven by then says its gap.")]
SeedOption = Annotated[int, typer.Option(help="Seed of the rows held out.")]


@app.command()
@reads_csv
def tradeoff(
    data: DataArgument,
    target: TargetOption,
    attack: AttackOption,
    reading: Reading,
    radii: RadiiOption = "0,0.25,0.5,0.75,1,1.25,1.5",
    depths: DepthsOption = "1,2,3,4",
    plot: Annotated[Path | None, typer.Option(help="Draw the front into this file (.png, .svg or .pdf).")] = None,
    holdout: JudgeOption = 0.2,
    time_limit: LimitOption = 30.0,
    attacked_class: AttackedClassOption = None,
    integer: IntegerOption = None,
    weight: WeightOption = None,
    jobs: JobsOption = 1,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Weigh accuracy, accuracy under attack and leaves against each other, over radius and depth."""
    check_picture(plot)
    samples = Samples.read(data, target, reading, weight=weight)
    learned_from, judge = split(samples, holdout, seed)
    found = learn_all(
        learned_from, judge, (attack, attacked_class, integer), radii, depths,
        time_limit=time_limit, jobs=jobs, seed=seed, shown=not json,
    )  # fmt: skip
    judged_on = "training data" if judge is None else "held-out data"
    if plot is not None:
        from hardwood.plotting.tradeoff import plot_tradeoff

        save_picture(plot_tradeoff(found, judged_on=judged_on), plot)
    if json:
        print_json({**found.to_dict(), "judged_on": judged_on, "plot": None if plot is None else str(plot)})
    else:
        _print(found, judged_on, len(learned_from.y), 0 if judge is None else len(judge.y), learned_from.features)
        if plot is not None:
            typer.echo(f"Figure written to {plot}")
    exit_if_interrupted(was_interrupted=found.was_interrupted)


def split(samples: Samples, holdout: float, seed: int) -> tuple[Samples, Samples | None]:
    """Return the samples to learn from and, if any are held out, those to judge by."""
    return (samples, None) if holdout == 0 else samples.hold_out(holdout, seed)


def learn_all(
    samples: Samples,
    judge: Samples | None,
    attack: tuple[str, list[str] | None, str | None],
    radii: str,
    depths: str,
    *,
    time_limit: float,
    jobs: int,
    seed: int,
    shown: bool,
) -> Tradeoff:
    """Learn the trees that the options ask for; the attack with its class and what is whole, as they were typed."""
    chosen_radii, chosen_depths = _numbers(radii, "--radii"), _numbers(depths, "--depths")
    whole = samples.problem(*attack, max_depth=0)

    def state(scaled: Any, depth: int) -> Problem:
        return samples.state(scaled, max_depth=depth)

    with progress_bar(shown, "trees") as on_point:
        return trade_off(
            state,
            whole.known_attack,
            Part(samples.X, samples.y),
            None if judge is None else Part(judge.X, judge.y),
            radii=chosen_radii,
            depths=[int(depth) for depth in chosen_depths],
            time_limit=time_limit,
            n_jobs=checked_jobs(jobs),
            random_state=seed,
            on_point=on_point,
        )


def _numbers(text: str, option: str) -> list[float]:
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = [-1.0]
    is_bad = any(not 0 <= value < 1e6 or (option == "--depths" and value != int(value)) for value in found)
    if is_bad:
        kind = "whole numbers" if option == "--depths" else "numbers"
        raise InvalidInputError(f"{option} {text}; write {kind} >= 0 with commas between, such as 0,1,2")
    return found


def _print(found: Tradeoff, judged_on: str, n_train: int, n_test: int, features: Any) -> None:
    typer.echo(
        f"{n_train} samples to learn from, {n_test} held out; attack: {found.attack.describe(features)}.\n"
        f"Optimal trees, trained against multiples of the attack (radius), judged by the attack itself on {judged_on}."
    )
    front, knee = found.front, found.knee
    print_table(
        "Trees: * nothing beats them in all of accuracy, accuracy under attack and leaves; the knee is marked",
        ("depth", "radius", "leaves", "as is", "under attack", "proof", ""),
        [
            (
                point.depth,
                f"{point.radius:g}",
                point.leaves,
                percent(point.accuracy),
                percent(point.attacked),
                "optimal" if point.result.gap == 0 else f"gap {percent(point.result.gap)}",
                "* knee" if k == knee else "*" if front[k] else "",
            )
            for k, point in enumerate(found.points)
        ],
        left=0,
    )
    bounds = ", ".join(f"{radius:g}: {percent(bound)}" for radius, bound in found.bounds.items())
    typer.echo(f"No model of any kind exceeds, under so many times the attack on the training data: {bounds}")
    best = found.points[knee]
    typer.echo(
        f"The knee: depth {best.depth}, radius {best.radius:g}, {best.leaves} leaves. It was chosen on {judged_on}, so "
        "judge it once more on data that nobody has looked at."
    )
