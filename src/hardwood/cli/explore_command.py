"""``hardwood explore``: a page with the optimal tree at each radius and depth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hardwood.cli.app import app
from hardwood.cli.inputs import (
    AttackedClassOption,
    AttackOption,
    DataArgument,
    IntegerOption,
    JobsOption,
    Samples,
    TargetOption,
    WeightOption,
)
from hardwood.cli.output import check_output, exit_if_interrupted
from hardwood.cli.reading import Reading, reads_csv
from hardwood.cli.tradeoff_command import (
    DepthsOption,
    JudgeOption,
    LimitOption,
    RadiiOption,
    SeedOption,
    learn_all,
    split,
)
from hardwood.evaluation.tradeoff import Part
from hardwood.files import write_whole


@app.command()
@reads_csv
def explore(
    data: DataArgument,
    target: TargetOption,
    attack: AttackOption,
    reading: Reading,
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path("explore.html"),
    radii: RadiiOption = "0,0.25,0.5,0.75,1,1.25,1.5,1.75,2",
    depths: DepthsOption = "1,2,3",
    holdout: JudgeOption = 0.2,
    time_limit: LimitOption = 30.0,
    attacked_class: AttackedClassOption = None,
    integer: IntegerOption = None,
    weight: WeightOption = None,
    jobs: JobsOption = 1,
    seed: SeedOption = 0,
) -> None:
    """Write a page to explore what an attacker can do: the optimal tree at each radius and depth. Needs no network."""
    from hardwood.report.explore import explore_document
    from hardwood.report.page import render_exploration

    check_output(output)
    samples = Samples.read(data, target, reading, weight=weight)
    learned_from, judge = split(samples, holdout, seed)
    found = learn_all(
        learned_from, judge, (attack, attacked_class, integer), radii, depths,
        time_limit=time_limit, jobs=jobs, seed=seed, shown=True,
    )  # fmt: skip
    document = explore_document(
        found,
        Part(learned_from.X, learned_from.y),
        None if judge is None else Part(judge.X, judge.y),
        name=data.name,
        target=target,
        lines=learned_from.table.lines,
        attack_typed=attack,
    )
    write_whole(output, render_exploration(document))
    typer.echo(f"{len(found.points)} trees written to {output}. Open it in any browser.")
    exit_if_interrupted(was_interrupted=found.was_interrupted)
