"""Robust boosting: on the split and radii of Andriushchenko & Hein, and on large data.

Everything is chosen by 3-fold cross validation on the training part; the test part is looked at once, by the final
model, whose samples are verified exactly. What the best of all candidates would have reached there is shown beside it,
as what it is: nobody can choose it. Their own procedure for stumps is run beside it, on many drawings of what they drew
once. The paper's instances are run by ``hardwood reproduce ensembles``.

Their breast-cancer has a column of sample numbers, which ours has not. ``python -m benchmarks boosting.sample_numbers``
takes it from a CSV file that the environment variable HARDWOOD_BIOPSY names: ``biopsy`` of R's package MASS, as several
packages bundle it (``csv/MASS/biopsy.csv``).
"""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.preprocessing import MinMaxScaler

from benchmarks.report import table
from hardwood import RobustBoostingClassifier, RobustTreeCV, robustness
from hardwood.data.datasets import Dataset, Split, load
from hardwood.ensembles.boosting import BoostingLearner
from hardwood.ensembles.boosting.selection import certified_curve
from hardwood.experiments.ensembles import ENSEMBLES, choose_ensemble
from hardwood.problem.problem import prepare

MEAN = ENSEMBLES["boosting"]
ONE: dict[str, Any] = {
    "choices": {"loss": ["logistic", "sigmoid"], "radius_factor": [1.0], "rounds": [0, 100]},
    "fixed": {"n_estimators": 100, "learning_rate": 0.2, "max_depth": 2},
    "judged_samples": 3000,
}
WITH_TREES: dict[str, Any] = {**MEAN, "rivals": [0, 1, 2], "choices": {"radius_factor": [1.0], "rounds": [100]}}
CHOICES = {"mean of four": MEAN, "mean of four or a tree": WITH_TREES, "one of two": ONE}
FIXED: dict[str, Any] = {"n_estimators": 100, "learning_rate": 0.2}
AS_THEY_DO: dict[str, Any] = {
    "loss": "exponential",
    "l2_regularization": 0.0,
    "validation_fraction": 0.2,
    "n_iter_no_change": FIXED["n_estimators"],
}
DRAWINGS = 20
INSTANCES = (("breast-cancer", 0.3), ("diabetes", 0.05))
PUBLISHED = {"breast-cancer": 0.891, "diabetes": 0.682}
LOSSES = ("logistic", "sigmoid")
DEPTHS = (1, 2, 3)
BIOPSY = "HARDWOOD_BIOPSY"
WORDS_OF_CHOICES = (
    "First 80 % of the file in order to learn from, scaled on it. Candidates: that of the experiments (a "
    "constant, or the mean of four models of 100 rounds: stumps and trees of depth 2 for the logistic loss, "
    "depth 2 and 3 for the sigmoid loss), that and optimal trees of depth 1 and 2, or a constant and 100 "
    "rounds of trees of depth 2 for one of the two losses; by 3-fold cross validation on the training part, "
    "drawn twice, twice and up to five times. Test accuracy, "
    "as is and certified under attack; the best candidate is the one with the most certified by its margins on "
    "the test part (both losses, depth 1 to 3, any number of rounds), which nobody can choose; the tree has "
    "depth 3."
)
WORDS_OF_STUMPS = (
    f"Their stumps as they learn them (exponential loss, no regularisation, exact margins, a fifth of the "
    f"training part held out to choose the number of rounds, up to {FIXED['n_estimators']} here), on "
    f"{DRAWINGS} drawings of what is held out; they published one."
)


def run() -> str:
    """Andriushchenko & Hein's split."""
    words = "The sets are as the paper's, so breast-cancer without the column of sample numbers."
    return _learned_on([(load(name), radius) for name, radius in INSTANCES], words)


def sample_numbers() -> str:
    """Andriushchenko & Hein's split of breast-cancer with the column of sample numbers."""
    path = os.environ.get(BIOPSY)
    if not path:
        raise SystemExit(f"name the CSV file with the sample numbers in the environment variable {BIOPSY}")
    data = _with_sample_numbers(load("breast-cancer"), path)
    second = np.sort(_in_order(data).X_train[:, 0])[-2]
    words = (
        "Breast-cancer with the column of sample numbers as a tenth feature; of those in the training part all but the "
        f"largest are at most {second:.3f} when they are scaled."
    )
    return _learned_on([(data, dict(INSTANCES)[data.name])], words)


def _learned_on(instances: list[tuple[Dataset, float]], words: str) -> str:
    columns = (
        "set",
        "radius",
        "candidates",
        "chosen",
        "on the folds",
        "accuracy",
        "certified",
        "best candidate",
        "one optimal tree",
    )
    return "\n\n".join(
        [
            f"{WORDS_OF_CHOICES} {words}",
            table(columns, [row for instance in instances for row in _on_their_split(*instance)]),
            WORDS_OF_STUMPS,
            table(
                ("set", "radius", "learning rate", "least", "median", "mean", "most", "published"),
                [_as_they_do(*instance, rate) for instance in instances for rate in (1.0, 0.2)],
            ),
        ]
    )


def _with_sample_numbers(data: Dataset, path: str) -> Dataset:
    """Put the column ID of a file in front; its other columns must be those of the set, row by row."""
    biopsy = pd.read_csv(path).dropna()
    same_features = np.array_equal(biopsy[[f"V{k + 1}" for k in range(data.X.shape[1])]].to_numpy(float), data.X)
    if not (same_features and np.array_equal(biopsy["class"] == "malignant", data.y == 1)):
        raise ValueError(f"{path}: its complete rows are not those of {data.name}")
    numbers = biopsy[["ID"]].to_numpy(float)
    return Dataset(data.name, np.hstack([numbers, data.X]), data.y, ("sample_number", *data.feature_names))


def _as_they_do(data: Dataset, radius: float, rate: float) -> tuple[Any, ...]:
    split = _in_order(data)
    found = []
    for seed in range(DRAWINGS):
        model = RobustBoostingClassifier(
            FIXED["n_estimators"], attack=radius, learning_rate=rate, random_state=seed, **AS_THEY_DO
        ).fit(split.X_train, split.y_train)
        found.append(model.adversarial_score(split.X_test, split.y_test))
    shown = (min(found), np.median(found), np.mean(found), max(found), PUBLISHED[data.name])
    return data.name, radius, rate, *(f"{share:.3f}" for share in shown)


def _on_their_split(data: Dataset, radius: float) -> list[tuple[Any, ...]]:
    split = _in_order(data)
    single = RobustTreeCV(attack=radius, max_depths=(3,), time_limit=5.0).fit(split.X_train, split.y_train)
    tree, best = single.adversarial_score(split.X_test, split.y_test), _best_of_all(split, radius)
    rows = []
    for candidates, settings in CHOICES.items():
        chosen, score, ensemble = choose_ensemble(split, radius, "boosting", settings, 3)
        found = robustness(ensemble, split.X_test, split.y_test, radius)
        right = np.mean(ensemble.predict(split.X_test) == split.y_test)
        words = ", ".join(f"{key} {value}" for key, value in chosen.items())
        shares = (score, right, found.interval()[0], best, tree)
        rows.append((data.name, radius, candidates, words, *(f"{share:.3f}" for share in shares)))
    return rows


def _best_of_all(split: Split, radius: float) -> float:
    """Return the most that any candidate certifies on the test part, after any number of rounds."""
    judged, training = prepare(split.X_test, split.y_test, radius, 1), prepare(split.X_train, split.y_train, radius, 1)
    learners = [BoostingLearner(**FIXED, max_depth=depth, loss=loss) for depth in DEPTHS for loss in LOSSES]
    return max(float(certified_curve(learner, training, judged).max()) for learner in learners)


def large() -> str:
    """200,000 samples, stumps, on one and on two threads."""
    columns = ("samples x features", "rounds of stumps", "threads", "seconds", "CPU seconds", "loss")
    rule = "Features uniform, a linear rule with noise, radius 0.02; the whole fit from the table on."
    return f"{rule}\n\n{table(columns, [_large(threads) for threads in (1, 2)])}"


PARTS = {"large": large, "sample_numbers": sample_numbers}


def _in_order(data: Dataset) -> Split:
    n = int(0.8 * len(data.y))
    scaler = MinMaxScaler().fit(data.X[:n])
    return Split(scaler.transform(data.X[:n]), scaler.transform(data.X[n:]), data.y[:n], data.y[n:])


def _large(threads: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(0)
    X = rng.random((200_000, 30))
    y = (X[:, 0] + X[:, 1] - X[:, 2] + 0.3 * rng.normal(size=len(X)) > 0.5).astype(int)
    started, cpu = time.perf_counter(), time.process_time()
    model = RobustBoostingClassifier(100, attack=0.02, n_jobs=threads).fit(X, y)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    shown = (f"{seconds:.1f}", f"{cpu:.1f}", f"{model.history_[-1].loss:.4f}")
    return "200,000 x 30", model.n_estimators_, threads, *shown
