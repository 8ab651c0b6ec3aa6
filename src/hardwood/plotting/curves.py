"""Curves: how a solver closes in on the optimum, and how accuracy falls as the attack grows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hardwood.arrays import FloatArray
from hardwood.attack.model import AttackModel
from hardwood.data.frames import column_names
from hardwood.ensembles.conversion import as_ensemble
from hardwood.errors import InvalidInputError
from hardwood.evaluation.adversarial import robust_radius
from hardwood.evaluation.fragility import fragility
from hardwood.export.model_file import Model
from hardwood.plain_data import as_number
from hardwood.plotting.models import named_models, own_attack, tree_of
from hardwood.plotting.style import colour_of, dash_of, new_axes, shown, tidy
from hardwood.solvers.result import Result, Status, TracePoint
from hardwood.tree.attacked import AttackedData
from hardwood.tree.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class _Course(NamedTuple):
    """How learning went, as far as a figure needs it."""

    trace: Sequence[TracePoint]
    runtime: float
    objective: float
    bound: float
    solver: str
    status: Status


def _course_of(item: Any) -> Result | _Course:
    if isinstance(item, Model):
        training = item.training
        if "trace" not in training:
            raise InvalidInputError("the model does not say how its learning went; learn it again with 'hardwood fit'")
        trace = [TracePoint(*(as_number(value, "training.trace") for value in point)) for point in training["trace"]]
        last = (training["runtime"], training["objective"], training["bound"] or 0.0)
        return _Course(trace, *last, training["solver"], Status(training["status"]))
    result = getattr(item, "result_", item)
    if not isinstance(result, Result):
        raise InvalidInputError(f"{type(item).__name__} is neither a Result nor a fitted tree estimator")
    return result


def plot_convergence(results: Any, ax: Axes | None = None, *, log: bool | None = None) -> Axes:
    """Draw the best objective and the proven bound over time.

    Parameters
    ----------
    results : Result, fitted estimator, model of 'hardwood fit', or mapping of name to any of these
    ax : matplotlib axes or None
        Where to draw; new axes if None.
    log : bool or None
        Whether time is drawn on a logarithmic scale; by default where it spans more than a factor of ten.
    """
    ax = new_axes() if ax is None else ax
    ends: list[float] = []
    for k, (name, item) in enumerate(named_models(results, "").items()):
        result = _course_of(item)
        # From the first tree on; before it there is nothing to compare the bound with.
        trace = [point for point in result.trace if np.isfinite(point.objective)]
        seconds = np.array([point.seconds for point in trace] + [result.runtime])
        objective = np.array([point.objective for point in trace] + [result.objective])
        bound = np.array([point.bound for point in trace] + [result.bound])
        if log is not False:
            seconds = np.maximum(seconds, 1e-3)
        ends += [float(seconds.min()), float(seconds.max())]
        label = shown(name or result.solver)
        colour = colour_of(k)
        ax.step(seconds, objective, where="post", color=colour, linewidth=1.8, label=f"{label}: best tree")
        ax.step(
            seconds,
            bound,
            where="post",
            color=colour,
            linewidth=1.4,
            linestyle="dashed",
            label=f"{label}: proven bound",
        )
        ax.fill_between(seconds, bound, objective, step="post", color=colour, alpha=0.12, linewidth=0)
        if result.status is Status.OPTIMAL:
            ax.plot(
                seconds[-1], objective[-1], marker="*", markersize=13, color=colour, markeredgecolor="white", zorder=4
            )
            ax.annotate(
                "proven", (seconds[-1], objective[-1]), xytext=(9, -4), textcoords="offset points",
                color=colour,
            )  # fmt: skip
    if log or (log is None and max(ends) > 10 * min(ends)):
        ax.set_xscale("log")
    ax.set_xlabel("seconds")
    ax.set_ylabel("robust errors (weight)")
    ax.set_ylim(bottom=0)
    ax.margins(x=0.12)
    tidy(ax)
    ax.legend(frameon=False)
    return ax


def _tree_or_ensemble(model: Any) -> Any:
    """Return what `robust_radius` takes: the tree where there is a single one, else the ensemble."""
    try:
        return tree_of(model)
    except InvalidInputError:
        return as_ensemble(model)


def _radii(model: Any, X: Any, y: Any, unit: AttackModel) -> FloatArray:
    """Return how many times the attack each sample bears; with categories and gaps, too, where it is a single tree."""
    if isinstance(model, Tree) and not AttackedData.prepare(model, X, y, unit).is_plain:
        return fragility(model, X, y, unit).bears
    return np.asarray(robust_radius(model, X, y, unit))


def _common_attack(models: Mapping[str, Any]) -> Any:
    """Return the attack that models were trained against, which must be one."""
    known = {name: own_attack(model) for name, model in models.items()}
    given = {name: attack for name, attack in known.items() if attack is not None}
    if not given:
        raise InvalidInputError("none of the models was trained against an attack; say which one with attack=...")
    first, *others = given.items()
    for name, attack in others:
        if attack != first[1]:
            raise InvalidInputError(
                f"the models were trained against different attacks ({first[0]}: {first[1]}; {name}: {attack}); say by "
                "which one they are to be judged with attack=..."
            )
    return first[1]


def _shortly(attack: AttackModel, names: tuple[str, ...] | None) -> str:
    text = attack.describe(names)
    return shown(text, 60)


def plot_robustness_curve(
    models: Any | Mapping[str, Any],
    X: Any,
    y: Any,
    *,
    attack: Any = None,
    mark: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the accuracy under attack over the strength of the attack; exact, not sampled.

    Parameters
    ----------
    models : tree, fitted estimator, or mapping of name to either
        hardwood's trees, and anything `hardwood.as_ensemble` takes; ensembles up to a thousandth of the radius.
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    attack : anything `hardwood.AttackModel.parse` takes, or None
        The unit of the horizontal axis; by default the attack that the models were trained against, which is then
        marked. Models that were trained against none are judged by that of the others; models that were trained
        against different ones are refused, since no axis would do them justice: say which.
    mark : float or None
        A multiple to mark, e.g. the one that the models were trained against.
    ax : matplotlib axes or None
        Where to draw; new axes if None.
    """
    named = named_models(models, "accuracy")
    unit = AttackModel.parse(_common_attack(named) if attack is None else attack)
    mark = 1.0 if attack is None and mark is None else mark
    ax = new_axes() if ax is None else ax
    found = {name: _radii(_tree_or_ensemble(model), X, y, unit) for name, model in named.items()}
    finite = np.concatenate([radius[np.isfinite(radius)] for radius in found.values()])
    ends = [float(np.quantile(finite, 0.98))] if len(finite) else [1.0]
    end = 1.02 * max([*ends, 0.0 if mark is None else 1.3 * mark])
    for k, (name, radius) in enumerate(found.items()):
        # A sample is right under r times the attack iff its radius is at least r.
        at = np.unique(np.concatenate([[0.0, end], radius[(radius > 0) & (radius < end)]]))
        share = 1 - np.searchsorted(np.sort(radius), at, side="left") / len(radius)
        look: dict[str, Any] = {"color": colour_of(k), "linestyle": dash_of(k), "linewidth": 1.8}
        ax.step(at, share, where="pre", label=shown(name), **look)
    if mark is not None:
        ax.axvline(mark, color="0.35", linewidth=1.0, linestyle=(0, (4, 3)))
        ax.annotate(
            "trained against", (mark, 1.0), xycoords=("data", "axes fraction"), xytext=(4, -12),
            textcoords="offset points", color="0.35", fontsize="small",
        )  # fmt: skip
    ax.set_xlim(0, end)
    ax.set_ylim(0, 1.02)
    is_radius = isinstance(attack, int | float) and attack == 1
    names = column_names(X)
    ax.set_xlabel("radius of the attack" if is_radius else f"multiples of the attack ({_shortly(unit, names)})")
    ax.set_ylabel("accuracy under attack")
    tidy(ax)
    ax.legend(frameon=False)
    return ax
