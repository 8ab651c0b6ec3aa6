"""Rows to test on rather than to learn from, for the commands that learn."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hardwood.cli.inputs import Samples
from hardwood.errors import InvalidInputError

HOLDOUT = 0.2
"""Share of the rows that is held out unless somebody says otherwise."""

HoldoutOption = Annotated[
    float | None,
    typer.Option(
        "--holdout",
        help="Share of the rows to test on rather than to learn from; 0 for none. By default 0.2, unless there is "
        "--test or something that is about all rows, such as --proof.",
        show_default=False,
    ),
]
TestOption = Annotated[Path | None, typer.Option("--test", help="CSV file to test on, instead of rows held out.")]


def parts_of(
    samples: Samples, holdout: float | None, test: Path | None, about_all: Path | None, seed: int
) -> tuple[Samples, Samples | None]:
    """Return the samples to learn from, and those held out.

    Parameters
    ----------
    samples : Samples
    holdout : float or None
        Share of the rows; None for the usual one.
    test : Path or None
        Another file to test on.
    about_all : Path or None
        A proof or checkpoint, which is about all rows of the file.
    seed : int
    """
    if test is not None:
        if holdout:
            raise InvalidInputError(f"--holdout {holdout:g} and --test {test}: test on one of them")
        return samples, None
    if about_all is not None:
        if holdout:
            raise InvalidInputError(
                f"--proof or --checkpoint with --holdout {holdout:g}: a proof is about all rows of a file; "
                "test on another file with --test"
            )
        return samples, None
    if holdout == 0:
        return samples, None
    try:
        return samples.hold_out(HOLDOUT if holdout is None else holdout, seed)
    except InvalidInputError as error:
        if holdout is not None:
            raise
        typer.echo(f"Nothing is held out: {error}", err=True)
        return samples, None
