"""``hardwood certify``: a proof for a model, whatever learned it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hardwood.cli.app import app
from hardwood.cli.inputs import (
    AttackedClassOption,
    DataArgument,
    IntegerOption,
    ModelArgument,
    ModelOnTable,
    OtherAttackOption,
    TargetOption,
)
from hardwood.cli.output import check_output, exit_if_interrupted, how_to_check
from hardwood.cli.reading import Reading, reads_csv
from hardwood.errors import InvalidInputError
from hardwood.problem.problem import prepare
from hardwood.proofs.writer import write_proof
from hardwood.solvers.display import progress_display
from hardwood.solvers.solve import solve
from hardwood.tree.reach import objective


@app.command()
@reads_csv
def certify(
    model: ModelArgument,
    data: DataArgument,
    target: TargetOption,
    output: Annotated[Path, typer.Option("--output", "-o", help="Write the proof to this file.", show_default=False)],
    reading: Reading,
    attack: OtherAttackOption = None,
    attacked_class: AttackedClassOption = None,
    integer: IntegerOption = None,
    depth: Annotated[
        int | None, typer.Option("--depth", "-d", help="Compare with trees of this depth; the model's own by default.")
    ] = None,
    time_limit: Annotated[float, typer.Option(help="Seconds to look for a bound; the best so far is proven.")] = 60.0,
) -> None:
    """Prove how far a learned tree is from the best one on a CSV file.

    Check the proof with 'hardwood-checker PROOF DATA.csv'.
    """
    check_output(output)
    given = ModelOnTable.read(model, data, reading, target)
    tree, y = given.tree, given.labels(target)
    if unknown := given.unknown(y):
        raise InvalidInputError(f"{data} has the label {unknown[0]!r}, which is no class of the model")
    problem = prepare(
        given.X,
        y,
        given.attack(attack, attacked_class, integer),
        tree.depth if depth is None else depth,
        feature_names=tuple(given.features),
        missing="error" if tree.missing_left is None else "reachable",
        categorical_features=tree.encoding,
    )
    with progress_display(True, time_limit) as on_progress:
        result = solve(problem, "search", start=tree, time_limit=time_limit, on_progress=on_progress)
    bound = result.bound
    own = objective(tree, problem)
    write_proof(problem, tree, min(bound, own), output, target=target)
    verdict = "no tree of this depth loses less" if own <= bound else f"no tree of this depth loses less than {bound:g}"
    typer.echo(f"The model loses {own:g} of {float(problem.weight.sum()):g} under attack; {verdict}.")
    typer.echo(f"Proof written to {output}. {how_to_check(output, given.table, given.features, tree.encoding)}")
    exit_if_interrupted(result)
