"""Robust boosting: on the split and radii of Andriushchenko & Hein, on the paper's instances, and on large data.

Depth and rounds are chosen by 3-fold cross validation on the training part; the test part is looked at once, by the
final model, whose samples are verified exactly. The paper's instances (``python -m benchmarks boosting.instances``)
take an hour of one core and go on where they were stopped (``results/boosting-instances.jsonl``).
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import MinMaxScaler

from benchmarks.report import RESULTS, table
from hardwood import RobustBoostingClassifier, RobustTreeCV, robustness
from hardwood.data.datasets import PAPER_RADII, Split, load, paper_split
from hardwood.ensembles.boosting import BoostingLearner
from hardwood.ensembles.boosting.selection import choose_rounds
from hardwood.problem.problem import prepare

LEARNER = BoostingLearner(n_estimators=100, learning_rate=0.2)
DEPTHS = (1, 2, 3)
SEEDS = range(5)
SAMPLE_SECONDS = 1.0
ENOUGH_SAMPLES = 3000


def run() -> str:
    """Andriushchenko & Hein's split, then large data."""
    rows = []
    for name, radius in (("breast-cancer", 0.3), ("diabetes", 0.05)):
        split = _in_order(name)
        boosted, single = _boost(split, radius), _tree(split, radius, depths=(3,))
        shares = [f"{share:.3f}" for share in (boosted["accuracy"], boosted["attacked"])]
        rows.append((name, radius, boosted["depth"], boosted["rounds"], *shares, boosted["open"], f"{single:.3f}"))
    columns = ("set", "radius", "depth", "rounds", "accuracy", "certified", "open", "one optimal tree of depth 3")
    return "\n\n".join(
        [
            "First 80 % of the file in order to learn from, scaled on it; depth (1 to 3) and rounds (up to 100) by "
            "3-fold cross validation on it, drawn several times on small data. Test accuracy, as is and certified "
            "under attack. The sets are as the paper's, so breast-cancer without the column of sample numbers.",
            table(columns, rows),
            "Features uniform, a linear rule with noise, radius 0.02; the whole fit from the table on.",
            large(),
        ]
    )


def large() -> str:
    """200,000 samples, stumps, on one and on two threads."""
    columns = ("samples x features", "rounds of stumps", "threads", "seconds", "CPU seconds", "loss")
    return table(columns, [_large(threads) for threads in (1, 2)])


def instances() -> str:
    """Run the paper's 24 instances on five seeds, beside the optimal tree whose depth is chosen in the same way."""
    path = RESULTS / "boosting-instances.jsonl"
    found = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    known = {(one["name"], one["radius"], one["seed"]) for one in found}
    for seed in SEEDS:
        for name, radii in PAPER_RADII.items():
            data = load(name)
            split = paper_split(data.X, data.y, seed)
            for radius in radii:
                if (name, radius, seed) in known:
                    continue
                one = {"name": name, "radius": radius, "seed": seed, **_boost(split, radius)}
                one["tree"] = _tree(split, radius, depths=(1, 2, 3, 4))
                found.append(one)
                with path.open("a") as stream:
                    stream.write(json.dumps(one) + "\n")
    return summary(found)


def summary(found: list[dict[str, Any]]) -> str:
    """Return means by seed and by instance, and a paired test over the instances."""
    from scipy.stats import wilcoxon

    rows = []
    for seed in sorted({one["seed"] for one in found}):
        some = [one for one in found if one["seed"] == seed]
        boosted, trees = (float(np.mean([one[key] for one in some])) for key in ("attacked", "tree"))
        rows.append((seed, len(some), f"{boosted:.4f}", f"{trees:.4f}", f"{boosted - trees:+.4f}"))
    keys = sorted({(one["name"], one["radius"]) for one in found})
    means = {
        key: [float(np.mean([o[k] for o in found if (o["name"], o["radius"]) == key])) for k in ("attacked", "tree")]
        for key in keys
    }
    gain = np.array([a - b for a, b in means.values()])
    test = wilcoxon(gain) if np.any(gain != 0) else None
    return "\n\n".join(
        [
            "Test accuracy under attack, exact (samples open after 1 s count as lost): boosting (depth 1 to 3, up to "
            "100 rounds) and one optimal tree (depth 1 to 4, 5 s a fit), each chosen by 3-fold cross validation.",
            table(("seed", "instances", "boosting", "optimal tree", "difference"), rows),
            f"Over {len(keys)} instances, means over seeds: mean difference {gain.mean():+.4f}, better on "
            f"{int(np.sum(gain > 0))}, worse on {int(np.sum(gain < 0))}, Wilcoxon p = "
            f"{1.0 if test is None else float(test.pvalue):.3g}.",
            table(
                ("instance", "boosting", "optimal tree"),
                [(f"{name}, {radius:g}", f"{a:.4f}", f"{b:.4f}") for (name, radius), (a, b) in means.items()],
            ),
        ]
    )


PARTS = {"instances": instances, "large": large}


def _in_order(name: str) -> Split:
    data = load(name)
    n = int(0.8 * len(data.y))
    scaler = MinMaxScaler().fit(data.X[:n])
    return Split(scaler.transform(data.X[:n]), scaler.transform(data.X[n:]), data.y[:n], data.y[n:])


def _boost(split: Split, radius: float) -> dict[str, Any]:
    """Choose, learn and look at the test part."""
    started = time.process_time()
    problem = prepare(split.X_train, split.y_train, radius, max(DEPTHS))
    folds = list(_folds(split))
    choice = choose_rounds(problem, problem, folds, LEARNER, DEPTHS)
    learner = replace(LEARNER, max_depth=choice.max_depth, n_estimators=max(1, choice.rounds))
    boosted = learner.run(problem)
    ensemble = boosted.ensemble(problem, choice.rounds)
    seconds = time.process_time() - started
    verdicts = robustness(ensemble, split.X_test, split.y_test, radius, sample_time_limit=SAMPLE_SECONDS)
    return {
        "depth": choice.max_depth,
        "rounds": choice.rounds,
        "chosen_by": choice.score,
        "accuracy": float(np.mean(ensemble.predict(split.X_test) == split.y_test)),
        "attacked": verdicts.interval()[0],
        "open": int(verdicts.is_open.sum()),
        "seconds": round(seconds, 2),
    }


def _folds(split: Split) -> Iterator[tuple[Any, Any]]:
    """Draw three folds, on small data several times: a choice between hundred rounds should not hang on one draw."""
    for seed in range(int(np.clip(round(ENOUGH_SAMPLES / len(split.y_train)), 1, 10))):
        yield from StratifiedKFold(3, shuffle=True, random_state=seed).split(split.X_train, split.y_train)


def _tree(split: Split, radius: float, depths: tuple[int, ...]) -> float:
    model = RobustTreeCV(attack=radius, max_depths=depths, time_limit=5.0).fit(split.X_train, split.y_train)
    return model.adversarial_score(split.X_test, split.y_test)


def _large(threads: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    X = rng.random((200_000, 30))
    y = (X[:, 0] + X[:, 1] - X[:, 2] + 0.3 * rng.normal(size=len(X)) > 0.5).astype(int)
    started, cpu = time.perf_counter(), time.process_time()
    model = RobustBoostingClassifier(100, attack=0.02, n_jobs=threads).fit(X, y)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    shown = (f"{seconds:.1f}", f"{cpu:.1f}", f"{model.history_[-1].loss:.4f}")
    return "200,000 x 30", model.n_estimators_, threads, *shown
