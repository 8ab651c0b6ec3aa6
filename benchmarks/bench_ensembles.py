"""Ensembles under attack, against veritas in one run: what is decided in a second a sample, and how long it takes.

Features are scaled to [0, 1] on the training part (80 %); samples are the first that the model classifies correctly on
the test part. veritas runs its plain output search, with the trees that hardwood converted, towards the other class.
"""

from __future__ import annotations

import importlib.util
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import table
from hardwood import as_ensemble, robustness
from hardwood.arrays import BoolArray, FloatArray, IntArray
from hardwood.ensembles.scores import Ensemble

SECONDS = 1.0
SAMPLES, MANY_SAMPLES = 100, 500
SETS = {
    "banknote-authentication": (0.02, 0.05, 0.1),
    "wine": (0.005, 0.01, 0.02),
    "magic": (0.005, 0.01, 0.02),
    "spambase": (0.001, 0.003, 0.01),
}
MOST_SECONDS_OF_OTHERS = 20.0
"""When veritas has taken so long on one line, it is judged by the samples it has seen."""


@dataclass(frozen=True)
class Case:
    """A converted model with samples that it classifies correctly; neither side is charged for the conversion."""

    name: str
    ensemble: Ensemble
    X: FloatArray
    y: IntArray


def run() -> str:
    """Compare on boosted trees, then look at forests."""
    return _compared(SETS, ((50, 4), (200, 6)), SAMPLES)


def _compared(sets: Mapping[str, Sequence[float]], sizes: Sequence[tuple[int, int]], samples: int) -> str:
    boosted, forests = [], []
    for name, radii in sets.items():
        for trees, depth in sizes:
            case = _case(name, trees, depth, samples, forest=False)
            boosted += [_row(case, radius) for radius in radii]
    for radius in sets.get("spambase", ()):
        case = _case("spambase", 100, 8, samples, forest=True)
        found, seconds = _ours(case, radius)
        forests.append((case.name, f"{radius:g}", *_counts(found.is_robust, found.is_fooled), f"{seconds:.2f}"))
    columns = ("radius", "robust", "fooled", "open", "seconds")
    parts = [
        f"Limit {SECONDS:g} s a sample, one thread, {samples} samples (fewer where the test part has not so many); "
        f"veritas begins no further sample of a line after {MOST_SECONDS_OF_OTHERS:g} s.",
        _in_all(boosted),
        table(("XGBoost", *columns, "veritas decides", "veritas, seconds", "disagreements"), boosted),
    ]
    return "\n\n".join(parts + ([table(("RandomForest", *columns), forests)] if forests else []))


def _in_all(rows: Sequence[tuple[Any, ...]]) -> str:
    """Say how long both took, and what share they decided."""
    compared = [row for row in rows if " of " in str(row[6])]
    if not compared:
        return "veritas is not installed."
    ours, theirs = (sum(float(row[k]) for row in compared) for k in (5, 7))
    samples = sum(sum(row[2:5]) for row in compared)
    decided, asked = (sum(int(str(row[6]).split(" of ")[k]) for row in compared) for k in (0, 1))
    return (
        f"In all: hardwood {ours:.1f} s for {samples} samples, {sum(row[4] for row in compared)} of them open; veritas "
        f"{theirs:.1f} s for {asked} samples, {asked - decided} of them open; {sum(row[8] for row in compared)} "
        "disagreements."
    )


def _whole(name: str) -> Callable[[], str]:
    """One set with all sizes and many samples; minutes each, so it runs in parts."""
    return lambda: _compared({name: SETS[name]}, tuple(product((50, 200), (4, 6))), MANY_SAMPLES)


PARTS = {name.split("-")[0]: _whole(name) for name in SETS}


def _case(name: str, trees: int, depth: int, samples: int, *, forest: bool) -> Case:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import train_test_split

    folder = Path(os.environ["HARDWOOD_DATA"])
    path = next(place for place in (folder / f"{name}.csv", folder / "more" / f"{name}.csv") if place.is_file())
    data = np.loadtxt(path, delimiter=",", skiprows=1)
    X, y = data[:, :-1], data[:, -1].astype(np.int64)
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=0, stratify=y)
    low, spread = train.min(axis=0), np.ptp(train, axis=0)
    train, test = ((part - low) / np.where(spread > 0, spread, 1) for part in (train, test))
    if forest:
        model: Any = RandomForestClassifier(trees, max_depth=depth, random_state=0).fit(train, y_train)
    else:
        from xgboost import XGBClassifier

        model = XGBClassifier(n_estimators=trees, max_depth=depth, random_state=0, n_jobs=1).fit(train, y_train)
    right = np.flatnonzero(model.predict(test) == y_test)[:samples]
    return Case(
        f"{name}, {trees} x depth {depth}", as_ensemble(model), np.ascontiguousarray(test[right]), y_test[right]
    )


def _ours(case: Case, radius: float) -> tuple[Any, float]:
    started = time.perf_counter()
    found = robustness(case.ensemble, case.X, case.y, radius, sample_time_limit=SECONDS)
    return found, time.perf_counter() - started


def _counts(robust: BoolArray, fooled: BoolArray) -> tuple[int, int, int]:
    return int(robust.sum()), int(fooled.sum()), int((~robust & ~fooled).sum())


def _row(case: Case, radius: float) -> tuple[Any, ...]:
    found, seconds = _ours(case, radius)
    ours = (case.name, f"{radius:g}", *_counts(found.is_robust, found.is_fooled), f"{seconds:.2f}")
    if importlib.util.find_spec("veritas") is None:
        return (*ours, "not installed", "", "")
    robust, fooled, asked, theirs = _veritas(case, radius)
    wrong = int(np.sum((robust & found.is_fooled) | (fooled & found.is_robust)))
    return (*ours, f"{int((robust | fooled).sum())} of {asked}", f"{theirs:.2f}", wrong)


def _veritas(case: Case, radius: float) -> tuple[BoolArray, BoolArray, int, float]:
    import veritas

    towards = {label: _as_veritas(veritas, case.ensemble, label) for label in (0, 1)}
    going_on = (veritas.StopReason.NONE, veritas.StopReason.OUT_OF_TIME)
    robust, fooled = np.zeros(len(case.y), bool), np.zeros(len(case.y), bool)
    started = time.perf_counter()
    asked = 0
    for i, (x, label) in enumerate(zip(case.X, case.y, strict=True)):
        if time.perf_counter() - started > MOST_SECONDS_OF_OTHERS:
            break
        asked += 1
        box = [veritas.Interval(float(v - radius), float(np.nextafter(v + radius, np.inf))) for v in x]
        config = veritas.Config(veritas.HeuristicType.MAX_OUTPUT)
        config.ignore_state_when_worse_than = 0.0
        config.stop_when_num_solutions_exceeds = 1
        search = config.get_search(towards[int(label)], box)
        begun = time.perf_counter()
        reason = veritas.StopReason.NONE
        while reason in going_on and time.perf_counter() - begun < SECONDS:
            reason = search.step_for(0.1, 100)
        fooled[i] = search.num_solutions() > 0 and search.get_solution(0).output > 0
        robust[i] = not fooled[i] and reason == veritas.StopReason.NO_MORE_OPEN
    return robust, fooled, asked, time.perf_counter() - started


def _as_veritas(veritas: Any, ensemble: Ensemble, label: int) -> Any:
    """Trees whose output is positive where the model answers the other class; ``x < value`` goes left there."""
    sign = 1.0 if label == 0 else -1.0
    other = veritas.AddTree(1, veritas.AddTreeType.REGR)
    other.set_base_score(0, sign * (float(ensemble.base[0]) - ensemble.rule.cutoff))
    for tree in ensemble.trees:
        copy = other.add_tree()
        waiting = [(0, copy.root())]
        while waiting:
            node, target = waiting.pop()
            if tree.left[node] < 0:
                copy.set_leaf_value(target, 0, sign * float(tree.value[node, 0]))
                continue
            copy.split(target, int(tree.feature[node]), float(np.nextafter(tree.threshold[node], np.inf)))
            waiting += [(int(tree.left[node]), copy.left(target)), (int(tree.right[node]), copy.right(target))]
    return other
