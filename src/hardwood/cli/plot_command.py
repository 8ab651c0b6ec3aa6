"""``hardwood plot``: what the plotting functions draw, from files."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from hardwood.cli.app import app
from hardwood.cli.inputs import AttackedClassOption, IntegerOption, ModelOnTable, OtherAttackOption
from hardwood.cli.output import check_picture, save_picture
from hardwood.cli.reading import Reading, reads_csv
from hardwood.data.frames import Table, rounding_of
from hardwood.errors import InvalidInputError
from hardwood.export.model_file import load_model


class Picture(StrEnum):
    """What can be drawn."""

    tree = "tree"
    regions = "regions"
    robustness = "robustness"
    convergence = "convergence"


@app.command("plot")
@reads_csv
def plot_command(
    what: Annotated[
        Picture,
        typer.Argument(
            help="The tree; its answers over two features with boxes and attacks; accuracy over the strength of the "
            "attack; how its learning went. Figures of comparisons, bounds and trade-offs come with --plot of "
            "'compare', 'epsilons' and 'tradeoff'.",
            show_default=False,
        ),
    ],
    models: Annotated[list[Path], typer.Argument(help="Model files written by 'hardwood fit'.", show_default=False)],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Picture to write (.png, .svg or .pdf).", show_default=False)
    ],
    reading: Reading,
    data: Annotated[Path | None, typer.Option(help="CSV file with samples; a tree can do without.")] = None,
    target: Annotated[str | None, typer.Option("--target", "-t", help="Column with the classes.")] = None,
    features: Annotated[str | None, typer.Option(help="Two features, with a comma between, for regions.")] = None,
    attack: OtherAttackOption = None,
    attacked_class: AttackedClassOption = None,
    integer: IntegerOption = None,
) -> None:
    """Draw a tree, its regions, its robustness or how its learning went."""
    check_picture(output)
    chosen = (attack, attacked_class, integer)
    if what is Picture.convergence:
        axes = _convergence(models)
    elif what is Picture.tree and data is None:
        from hardwood.plotting import plot_tree

        axes = plot_tree(load_model(_one(models, what)))
    else:
        axes = _with_data(what, models, data, target, reading, features, chosen)
    save_picture(axes, output)
    typer.echo(f"Figure written to {output}")


def _one(models: list[Path], what: Picture) -> Path:
    if len(models) != 1:
        raise InvalidInputError(f"plot {what} draws one model; {len(models)} are given")
    return models[0]


def _named(models: list[Path], load: Callable[[Path], Any]) -> dict[str, Any]:
    names = [path.stem for path in models]
    unique = len(set(names)) == len(names)
    return {path.stem if unique else str(path): load(path) for path in models}


def _convergence(models: list[Path]) -> Any:
    from hardwood.plotting import plot_convergence

    return plot_convergence(_named(models, load_model))


def _with_data(
    what: Picture,
    models: list[Path],
    data: Path | None,
    target: str | None,
    reading: Reading,
    features: str | None,
    attack: tuple[str | None, list[str] | None, str | None],
) -> Any:
    from hardwood.plotting import plot_regions, plot_robustness_curve, plot_tree

    if data is None or target is None:
        raise InvalidInputError(f"plot {what} needs samples: --data FILE.csv --target CLASS")
    table, column = data, target
    given = _named(models, lambda path: ModelOnTable.read(path, table, reading, column))
    first = next(iter(given.values()))
    y = first.labels(target)
    used = None if attack[0] is None else first.attack(*attack)
    if what is Picture.robustness:
        curves = {name: one.model for name, one in given.items()}
        return plot_robustness_curve(curves, _table(first), y, attack=used)
    _one(models, what)
    if what is Picture.tree:
        return plot_tree(first.model, first.X, y, attack=used)
    pair = None if features is None else _pair(features)
    return plot_regions(first.model, _table(first), y, features=pair, attack=used)


def _table(given: ModelOnTable) -> Any:
    """Return the samples with the names of their columns, where all are numbers."""
    if given.X.dtype == object:
        return given.X
    return Table(given.X, tuple(given.features), rounding_of(given.X, given.X.shape[1]))


def _pair(text: str) -> tuple[str, str]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2:
        raise InvalidInputError(f"--features {text}; name two features with a comma between")
    return parts[0], parts[1]
