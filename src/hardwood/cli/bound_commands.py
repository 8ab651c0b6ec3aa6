"""``hardwood bound`` and ``hardwood epsilons``: what any model can reach, before one is trained."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from hardwood.attack.model import AttackModel
from hardwood.bounds import (
    AccuracyBound,
    EpsilonCurve,
    FeatureReport,
    bound_features,
    bound_problem,
    epsilon_curve,
)
from hardwood.cli.app import app
from hardwood.cli.inputs import (
    AttackedClassOption,
    AttackOption,
    DataArgument,
    IntegerOption,
    JsonOption,
    ProofOption,
    Samples,
    TargetOption,
    WeightOption,
)
from hardwood.cli.output import (
    check_output,
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
from hardwood.proofs import write_bound_proof


@app.command()
@reads_csv
def bound(
    data: DataArgument,
    target: TargetOption,
    attack: AttackOption,
    reading: Reading,
    attacked_class: AttackedClassOption = None,
    integer: IntegerOption = None,
    weight: WeightOption = None,
    features: Annotated[bool, typer.Option("--features", help="Also without each feature, or its attack.")] = False,
    show: Annotated[int, typer.Option(help="How many of the samples that exclude each other to list.")] = 5,
    proof: ProofOption = None,
    json: JsonOption = False,
) -> None:
    """Bound the accuracy under attack that any model can reach on a CSV file."""
    check_output(proof)
    samples = Samples.read(data, target, reading, weight=weight)
    problem = samples.problem(attack, attacked_class, integer, max_depth=0)
    result = bound_problem(problem)
    result.check()
    if proof is not None:
        write_bound_proof(result, proof, target=target)
    report = None
    if features:
        untouched = samples.problem("0", None, None, max_depth=0)
        with progress_bar(not json, "features") as progress:
            report = bound_features(problem, progress, untouched=untouched)
    described = problem.known_attack.describe(samples.features)
    if json:
        print_json(_bound_data(result, samples, described, report))
        return
    typer.echo(f"{len(samples.y)} samples of {data.name}, attack: {described}")
    print_table("What any model can reach", ("", ""), _bound_rows(result))
    pairs = _pairs(result)
    if show > 0 and pairs:
        lines = samples.table.lines
        print_table(
            f"{min(show, len(pairs))} of {len(pairs)} pairs",
            ("line", "class", "line", "class"),
            [(lines[i], samples.y[i], lines[k], samples.y[k]) for i, k in pairs[:show]],
            left=4,
        )
        typer.echo("No model gets both samples of a pair right.")
    if report is not None:
        _print_features(report)
    if proof is not None:
        typer.echo(f"Proof written to {proof}. {samples.how_to_check(proof)}")
        proven = float(result.matching_weight.sum())
        if proven < result.errors * (1 - 1e-9):
            typer.echo(
                f"It consists of pairs, which prove {proven:g} errors; that {result.errors:g} cannot be avoided "
                "follows from more than two samples at once, which a proof cannot say."
            )


def _pairs(result: AccuracyBound) -> list[tuple[int, int]]:
    """Return each pair of samples that exclude each other once; the proof may use a pair in several parts."""
    return list(dict.fromkeys((min(i, k), max(i, k)) for i, k in result.matching.tolist()))


def _bound_data(result: AccuracyBound, samples: Samples, attack: str, report: FeatureReport | None) -> dict[str, Any]:
    lines = np.array(samples.table.lines)
    found = result.to_dict()
    found["matching_lines"] = [[int(lines[i]), int(lines[k])] for i, k in _pairs(result)]
    found["cover_lines"] = lines[result.cover].tolist()
    found["samples"] = len(samples.y)
    found["attack"] = attack
    if report is not None:
        found["features"] = report.to_dict()["features"]
    return found


def _bound_rows(result: AccuracyBound) -> list[tuple[str, str]]:
    if result.exact:
        proof = "exact"
    elif result.complete:
        proof = f"valid; {result.cover_weight:g} errors suffice"
    else:
        proof = "valid, not all conflicts seen"
    return [
        ("accuracy under attack, at most", percent(result.bound)),
        ("errors that no model avoids", f"{result.errors:g} of {result.total_weight:g}"),
        ("always predicting the majority class", percent(result.majority_share)),
        ("bound", proof),
    ]


def _print_features(report: FeatureReport) -> None:
    print_table(
        "Bound, feature by feature",
        ("feature", "if untouchable", "if dropped"),
        [
            (report.features[j], percent(report.bound_if_untouchable[j]), percent(report.bound_if_dropped[j]))
            for j in report.ranking()
        ],
    )


@app.command()
@reads_csv
def epsilons(
    data: Annotated[list[Path], typer.Argument(help="CSV files with a header row.", show_default=False)],
    target: TargetOption,
    reading: Reading,
    attack: Annotated[
        str, typer.Option("--attack", "-a", help="The attack at radius 1; 100% makes radii shares of the range.")
    ] = "100%",
    attacked_class: AttackedClassOption = None,
    integer: IntegerOption = None,
    weight: WeightOption = None,
    largest: Annotated[float, typer.Option("--max", help="Largest radius.")] = 0.5,
    step: Annotated[float, typer.Option(help="Distance between radii.")] = 0.01,
    shares: Annotated[
        str, typer.Option(help="Shares of the bound's range at which radii are chosen.")
    ] = "0.75,0.5,0.25",
    plot: Annotated[Path | None, typer.Option(help="Draw the curves into this file (.png, .pdf, .svg).")] = None,
    json: JsonOption = False,
) -> None:
    """Bound the accuracy of any model over many radii, and choose radii that make an experiment meaningful."""
    radii = _radii(largest, step)
    wanted = _shares(shares)
    check_picture(plot)
    names = _names(data)
    curves: dict[str, EpsilonCurve] = {}
    was_interrupted = False
    try:
        for path, name in zip(data, names, strict=True):
            samples = Samples.read(path, target, reading, weight=weight)
            used = samples.attack(attack, attacked_class, integer)
            curves[name] = _curve(samples, name, radii, used, shown=not json)
    except KeyboardInterrupt:
        if not curves:
            raise
        was_interrupted = True
    if plot is not None:
        _draw(curves, plot)
    if json:
        found = [{"data": name, **curve.to_dict(), "chosen": _chosen(curve, wanted)} for name, curve in curves.items()]
        print_json(found[0] if len(found) == 1 else found)
    else:
        for name, curve in curves.items():
            _print_curve(name, curve, wanted)
        if plot is not None:
            typer.echo(f"Curves drawn into {plot}.")
    exit_if_interrupted(was_interrupted=was_interrupted)


def _curve(samples: Samples, name: str, radii: list[float], attack: AttackModel, *, shown: bool) -> EpsilonCurve:
    with progress_bar(shown, name) as progress:
        return epsilon_curve(
            samples.X,
            samples.y,
            radii,
            attack=attack,
            sample_weight=samples.weight,
            feature_names=samples.features,
            categorical_features=samples.encoding,
            missing=samples.reading.missing.value,
            progress=progress,
        )


def _radii(largest: float, step: float) -> list[float]:
    if not 0 < step < np.inf or not 0 <= largest < np.inf:
        raise InvalidInputError(f"--max {largest:g} --step {step:g}: the radii must be finite and the step above 0")
    count = int(np.floor(largest / step + 1e-9)) + 1
    if count > 100_000:
        raise InvalidInputError(f"--max {largest:g} --step {step:g} asks for {count} radii; at most 100000 are taken")
    # Rounded to what was typed: 0.07, not 0.07 plus the rounding of seven hundredths.
    return [float(f"{k * step:.12g}") for k in range(count)]


def _shares(text: str) -> list[float]:
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or not all(0 <= share <= 1 for share in found):
        raise InvalidInputError(f"--shares {text!r}; write numbers between 0 and 1 with commas between, e.g. 0.75,0.5")
    return found


def _names(paths: list[Path]) -> list[str]:
    """Name files by their stems, or by their whole paths where stems repeat."""
    stems = [path.stem for path in paths]
    names = stems if len(set(stems)) == len(stems) else [str(path) for path in paths]
    if len(set(names)) != len(names):
        raise InvalidInputError(f"{next(n for n in names if names.count(n) > 1)} is given twice")
    return names


def _draw(curves: dict[str, EpsilonCurve], path: Path) -> None:
    from hardwood.plotting import plot_epsilon_curve

    save_picture(plot_epsilon_curve(curves if len(curves) > 1 else next(iter(curves.values()))), path)


def _chosen(curve: EpsilonCurve, shares: list[float]) -> list[dict[str, float | None]]:
    """Return the radius for each share; None where no radius is large enough, or only that of no attack is near."""
    found: list[dict[str, float | None]] = []
    for share in shares:
        radius = float(curve.choose([share])[0]) if curve.reaches(share) else 0.0
        found.append({"share": share, "epsilon": radius if radius > 0 else None})
    return found


def _print_curve(name: str, curve: EpsilonCurve, shares: list[float]) -> None:
    # Radii that change nothing are left out of the table.
    kept = [k for k in range(len(curve.errors)) if k == 0 or curve.errors[k] != curve.errors[k - 1]]
    typer.echo(f"{name}: accuracy under attack that no model exceeds")
    print_table(
        "",
        ("radius from", "bound", "errors"),
        [(f"{curve.epsilons[k]:g}", percent(curve.bound[k]), f"{curve.errors[k]:g}") for k in kept],
    )
    typer.echo(f"Always predicting the majority class: {percent(curve.floor)}.")
    for row in _chosen(curve, shares):
        share = row["share"] or 0.0
        if row["epsilon"] is not None:
            radius = f"{row['epsilon']:g}"
        elif curve.reaches(share):
            # Already the smallest radius takes more than that, so nothing but no attack at all would be nearer.
            radius = "none: the bound falls farther at the smallest radius; a smaller --step may show one"
        else:
            radius = "none is large enough"
        typer.echo(f"Radius at {100 * share:g} % of the range: {radius}")
    typer.echo("")
