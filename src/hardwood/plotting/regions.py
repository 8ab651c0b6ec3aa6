"""The plane of two features: what the tree answers where, the boxes of the samples, and what the attacker does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hardwood.arrays import BoolArray, FloatArray
from hardwood.errors import InvalidInputError
from hardwood.evaluation.adversarial import attack_samples
from hardwood.plotting.models import attack_of, tree_of
from hardwood.plotting.style import colour_of, marker_of, new_axes, shown
from hardwood.tree.attacked import AttackedData
from hardwood.tree.tree import Tree

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_regions(
    model: Any,
    X: Any,
    y: Any,
    *,
    features: tuple[str | int, str | int] | None = None,
    fixed: Mapping[str | int, float] | None = None,
    attack: Any = None,
    show_boxes: bool = True,
    show_attacks: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw the answers of a tree over two features, with the samples, their boxes and successful attacks.

    Parameters
    ----------
    model : Tree, fitted tree estimator, Model or scikit-learn decision tree
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    features : pair of names or indices, or None
        Which features; the first two that the tree tests by default. Samples are attacked in all features.
    fixed : mapping of name or index to value, or None
        Where the other features that the tree tests are held in the background, which the figure says; at their
        medians by default. Samples that the tree answers otherwise than the background would say, since their other
        features lie elsewhere, are drawn as grey crosses; if these are more than half, nothing is drawn.
    attack : anything `hardwood.AttackModel.parse` takes, or None
        What the model was learned against by default.
    show_boxes : bool
        Draw where the attacker can move each sample.
    show_attacks : bool
        Draw an arrow from each sample that is right as it is to the nearest point at which it is misclassified.
    ax : matplotlib axes or None
        Where to draw; new axes if None.
    """
    tree = tree_of(model)
    chosen_attack = attack_of(model, attack)
    data = AttackedData.prepare(tree, X, y, chosen_attack)
    data.require_plain_numbers("plot_regions")
    first, second = _two_features(tree, features)
    ax = new_axes(5.6, 4.6) if ax is None else ax
    lower, upper = data.boxes.lower, data.boxes.upper
    plane = _Plane(first, second, *(_limits(data.X[:, j], lower[:, j], upper[:, j]) for j in (first, second)))
    held, others = _held(tree, data.X, plane, fixed)
    elsewhere = _elsewhere(data, held, plane)
    _refuse_to_mislead(elsewhere, _held_text(tree, held, others))
    _fill_regions(ax, tree, held, plane)
    lost = data.fooled()
    if show_boxes:
        _draw_boxes(ax, data, lost, plane, ~elsewhere)
    _draw_samples(ax, data, lost, plane, elsewhere)
    if show_attacks:
        seen = lost & ~elsewhere
        _draw_attacks(ax, data.X[seen], attack_samples(tree, data.X, y, chosen_attack)[seen], plane)
    if others:
        ax.set_title(f"slice at {_held_text(tree, held, others)}", fontsize=8, loc="left", color="0.35")
    ax.set_xlim(*plane.across)
    ax.set_ylim(*plane.up)
    ax.set(xlabel=shown(tree.name_of(first)), ylabel=shown(tree.name_of(second)))
    ax.legend(fontsize=8, framealpha=0.9, loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.3, frameon=False)
    return ax


def _held(
    tree: Tree, X: FloatArray, plane: _Plane, fixed: Mapping[str | int, float] | None
) -> tuple[FloatArray, list[int]]:
    """Return where features are held in the background, and which of them matter."""
    held = np.median(X, axis=0)
    for key, value in (fixed or {}).items():
        held[_position(tree, key, "fixed")] = float(value)
    tested = np.unique(tree.feature[tree.left >= 0]).tolist()
    return held, [int(j) for j in tested if j not in (plane.first, plane.second)]


def _refuse_to_mislead(elsewhere: BoolArray, slice_at: str) -> None:
    if 2 * elsewhere.sum() > len(elsewhere):
        raise InvalidInputError(
            f"with {slice_at} the figure would show {int(elsewhere.sum())} of {len(elsewhere)} samples where the tree "
            "does not see them; choose other features=..., other values fixed=..., or a tree that tests fewer features"
        )


def _held_text(tree: Tree, held: FloatArray, others: list[int]) -> str:
    shown_ones = ", ".join(f"{shown(tree.name_of(j), 16)} = {held[j]:.4g}" for j in others[:4])
    return shown_ones + (f" and {len(others) - 4} more" if len(others) > 4 else "")


def _elsewhere(data: AttackedData, held: FloatArray, plane: _Plane) -> BoolArray:
    """Which samples the tree answers otherwise than it would answer them in the plane that is drawn."""
    in_plane = np.tile(held, (len(data.X), 1))
    in_plane[:, [plane.first, plane.second]] = data.X[:, [plane.first, plane.second]]
    return np.asarray(data.tree.predict(in_plane) != data.tree.predict(data.X))


class _Plane(NamedTuple):
    """Which two features are drawn, and from where to where."""

    first: int
    second: int
    across: tuple[float, float]
    up: tuple[float, float]

    def rectangle(self, low: FloatArray, high: FloatArray, **style: Any) -> Any:
        """Return what is seen of a box; None if that is nothing."""
        from matplotlib.patches import Rectangle

        x0, x1 = max(low[self.first], self.across[0]), min(high[self.first], self.across[1])
        y0, y1 = max(low[self.second], self.up[0]), min(high[self.second], self.up[1])
        return Rectangle((x0, y0), x1 - x0, y1 - y0, **style) if x0 <= x1 and y0 <= y1 else None


def _draw_boxes(ax: Axes, data: AttackedData, lost: BoolArray, plane: _Plane, chosen: BoolArray) -> None:
    """Draw where the attacker can move samples, with a broken line where that is their loss."""
    boxes = (data.boxes.lower[chosen], data.boxes.upper[chosen], data.label[chosen], lost[chosen])
    for low, high, label, is_lost in zip(*boxes, strict=True):
        ax.add_patch(
            plane.rectangle(
                low, high, facecolor="none", edgecolor=colour_of(int(label)), linewidth=0.7, alpha=0.55,
                linestyle=(0, (3, 2)) if is_lost else "solid", zorder=2,
            )
        )  # fmt: skip


def _draw_samples(ax: Axes, data: AttackedData, lost: BoolArray, plane: _Plane, elsewhere: BoolArray) -> None:
    if elsewhere.any():
        samples = data.X[elsewhere]
        ax.scatter(
            samples[:, plane.first], samples[:, plane.second], s=18, marker="x", color="0.6", linewidths=0.9, zorder=3,
            label=f"{len(samples)} in another slice",
        )  # fmt: skip
    for c, label in enumerate(data.tree.classes.tolist()):
        for is_lost in (False, True):
            samples = data.X[(data.label == c) & (lost == is_lost) & ~elsewhere]
            ax.scatter(
                samples[:, plane.first], samples[:, plane.second], s=26, marker=marker_of(c), zorder=4,
                facecolors="white" if is_lost else colour_of(c), edgecolors=colour_of(c), linewidths=1.2,
                label=f"{shown(label, 20)}, {'lost' if is_lost else 'safe'}" if len(samples) else None,
            )  # fmt: skip


def _draw_attacks(ax: Axes, samples: FloatArray, points: FloatArray, plane: _Plane) -> None:
    """Draw an arrow from each sample to the point at which it is misclassified; a light edge keeps it apart."""
    from matplotlib.patheffects import Stroke, withStroke

    j, k = plane.first, plane.second
    edge: list[Any] = [withStroke(linewidth=3.2, foreground="white"), Stroke()]
    for sample, point in zip(samples, points, strict=True):
        start, end = (sample[j], sample[k]), (point[j], point[k])
        if start != end:
            ax.annotate(
                "", end, start, zorder=5, annotation_clip=True,
                arrowprops={"arrowstyle": "-|>", "color": "black", "linewidth": 1.3, "shrinkA": 2, "shrinkB": 0,
                            "mutation_scale": 11, "path_effects": edge},
            )  # fmt: skip


def _two_features(tree: Tree, features: tuple[str | int, str | int] | None) -> tuple[int, int]:
    if features is None:
        tested = list(dict.fromkeys(tree.feature[tree.left >= 0].tolist()))
        tested += [j for j in range(tree.n_features) if j not in tested]
        if len(tested) < 2:
            raise InvalidInputError("the tree has one feature only; plot_regions draws two")
        return tested[0], tested[1]
    found = [_position(tree, key, "features") for key in features]
    if len(found) != 2 or found[0] == found[1]:
        raise InvalidInputError(f"features={features!r}; give two different features")
    return found[0], found[1]


def _position(tree: Tree, key: str | int, what: str) -> int:
    if isinstance(key, str):
        if tree.feature_names is None or key not in tree.feature_names:
            raise InvalidInputError(f"{what} names {key!r}; the tree has {tree.feature_names or 'no names'}")
        return tree.feature_names.index(key)
    if not 0 <= key < tree.n_features:
        raise InvalidInputError(f"{what} names {key!r}; the features are numbered 0 to {tree.n_features - 1}")
    return int(key)


def _limits(values: FloatArray, lower: FloatArray, upper: FloatArray) -> tuple[float, float]:
    """Return limits that hold all samples and boxes, boxes without an end aside."""
    ends = np.concatenate([values, lower[np.isfinite(lower)], upper[np.isfinite(upper)]])
    margin = 0.04 * (ends.max() - ends.min()) or 0.5
    return float(ends.min() - margin), float(ends.max() + margin)


def _fill_regions(ax: Axes, tree: Tree, fixed: FloatArray, plane: _Plane) -> None:
    """Colour what the tree answers where, the features that are not drawn being fixed."""
    others = [j for j in range(tree.n_features) if j not in (plane.first, plane.second)]
    for low, high, label in zip(*tree.regions(), strict=True):
        if np.any(fixed[others] <= low[others]) or np.any(fixed[others] > high[others]):
            continue
        style = {"facecolor": colour_of(int(label)), "edgecolor": "white", "linewidth": 1.2, "alpha": 0.18, "zorder": 0}
        seen = plane.rectangle(low, high, **style)
        if seen is not None and seen.get_width() > 0 and seen.get_height() > 0:
            ax.add_patch(seen)
