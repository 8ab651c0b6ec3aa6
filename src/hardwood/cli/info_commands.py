"""``hardwood solvers`` and ``hardwood demo``."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from hardwood.cli.app import app
from hardwood.cli.inputs import JsonOption
from hardwood.cli.output import percent, print_json, print_table
from hardwood.solvers import get_solver, registered_solvers
from hardwood.solvers.result import Status


@app.command()
def solvers(
    name: Annotated[str | None, typer.Argument(help="List the options of this solver.", show_default=False)] = None,
    json: JsonOption = False,
) -> None:
    """List the solvers and what is installed for them, or the options of one."""
    if name is not None:
        _print_options(name, json)
        return
    rows: list[dict[str, Any]] = [
        {
            "solver": name,
            "proves": cls.proves,
            "engines": {engine.name: engine.is_installed for engine in cls.engines},
            "install": [f"hardwood[{e.extra}]" for e in cls.engines if e.extra and not e.is_installed],
            "summary": cls.summary,
        }
        for name, cls in sorted(
            registered_solvers().items(), key=lambda item: (not item[1].proves, item[0] != "search")
        )
    ]
    if json:
        print_json(rows)
        return
    print_table(
        "Solvers",
        ("solver", "proof", "engines", "what it does"),
        [
            (row["solver"], "yes" if row["proves"] else "no", _engines_text(row["engines"]), row["summary"])
            for row in rows
        ],
        left=4,
    )
    for row in rows:
        for extra in row["install"]:
            typer.echo(f"More engines for {row['solver']}: pip install '{extra}'")


def _print_options(name: str, json: bool) -> None:
    options = get_solver(name).options
    if json:
        rows = [{"option": o.name, "default": o.default, "allowed": o.kind.text, "meaning": o.meaning} for o in options]
        print_json(rows)
        return
    print_table(
        f"Options of {name}",
        ("option", "default", "allowed", "what it is"),
        [(o.name, repr(o.default), o.kind.text, o.meaning) for o in options],
        left=4,
    )


def _engines_text(engines: dict[str, bool]) -> str:
    if not engines:
        return "built in"
    return ", ".join(name if installed else f"({name})" for name, installed in engines.items())


@app.command()
def demo(
    depth: Annotated[int, typer.Option("--depth", "-d", min=1, help="Largest number of splits on a path.")] = 2,
    time_limit: Annotated[float, typer.Option(help="Seconds for the solver.")] = 30.0,
) -> None:
    """Learn robust trees on data that comes with scikit-learn: nothing to download."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split
    from sklearn.tree import DecisionTreeClassifier

    from hardwood.attack.model import AttackModel
    from hardwood.estimators.trees import GreedyRobustTreeClassifier, RobustTreeClassifier
    from hardwood.evaluation.metrics import accuracy, adversarial_accuracy
    from hardwood.export import from_sklearn

    bunch = load_breast_cancer()
    names = tuple(str(name) for name in bunch.feature_names)
    X, X_test, y, y_test = train_test_split(
        bunch.data, bunch.target_names[bunch.target], test_size=0.3, stratify=bunch.target, random_state=0
    )
    attack = AttackModel.fraction_of_range(0.05).fit(X)
    typer.echo(
        f"Breast tumours: {len(X)} samples to learn from, {len(X_test)} to test, {X.shape[1]} features.\n"
        "The attacker may move every feature by 5 % of its range.\n"
    )
    plain = from_sklearn(DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X, y))
    greedy = GreedyRobustTreeClassifier(depth, attack=attack).fit(X, y)
    optimal = RobustTreeClassifier(depth, attack=attack, time_limit=time_limit, verbose=1).fit(X, y)
    trees = {"plain (CART)": plain, "greedy robust (GROOT)": greedy.tree_, "optimal robust": optimal.tree_}
    print_table(
        f"Trees of depth {depth}, accuracy",
        ("tree", "training", "under attack", "test", "under attack"),
        [
            (
                name,
                *(
                    percent(score)
                    for part, labels in ((X, y), (X_test, y_test))
                    for score in (accuracy(tree, part, labels), adversarial_accuracy(tree, part, labels, attack))
                ),
            )
            for name, tree in trees.items()
        ],
    )
    typer.echo("The optimal robust tree:\n")
    typer.echo(replace(optimal.tree_, feature_names=names).to_text())
    result = optimal.result_
    said = f"It loses {result.objective:g} of {len(X)} training samples to the attacker; "
    if result.status is Status.OPTIMAL:
        said += f"no tree of depth {depth} loses fewer: proven in {result.runtime:.1f} s."
    else:
        said += f"no tree of depth {depth} loses fewer than {result.bound:g} (stopped after {result.runtime:.0f} s)."
    typer.echo(f"\n{said}\n")
    typer.echo("Try next: hardwood solvers; hardwood demo --depth 3; hardwood fit YOUR.csv --target CLASS --attack 5%")
