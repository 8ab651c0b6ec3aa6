"""Methods compared in pairs, instance by instance: the differences, and whether they could be chance.

Scores of different sets differ by far more than those of different methods, so that means with standard errors say
little. Paired, the difference between sets drops out: Wilcoxon's signed-rank test asks whether the differences lie
symmetrically around zero, and the rank-biserial correlation says by how much they do not, from -1 (always worse) to 1
(always better).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hardwood.experiments.grid import Grid
from hardwood.experiments.log import Log
from hardwood.experiments.scores import Setting, standings

REFERENCE = "search"
"""What the others are compared with, where it is among the methods; otherwise it is the first."""


@dataclass(frozen=True)
class PairedTest:
    """A method against another one.

    Attributes
    ----------
    differences : tuple of float
        One for each instance: mean over the seeds that both were run with.
    n_seeds : float
        How many seeds an instance has on average.
    effect : float
        Rank-biserial correlation: sums of ranks for and against, over their total; 0 where all are equal.
    p : float
        Of Wilcoxon's signed-rank test, two-sided, equal pairs left out; 1 where all are equal.
    """

    differences: tuple[float, ...]
    n_seeds: float
    effect: float
    p: float

    @property
    def mean(self) -> float:
        """Mean difference."""
        return float(np.mean(self.differences))

    @property
    def better(self) -> int:
        """Instances on which it is better."""
        return sum(difference > 0 for difference in self.differences)

    @property
    def worse(self) -> int:
        """Instances on which it is worse."""
        return sum(difference < 0 for difference in self.differences)


def paired_test(ours: dict[Setting, float], theirs: dict[Setting, float]) -> PairedTest | None:
    """Compare two methods over the instances that both were run on; None where there are none."""
    from scipy.stats import rankdata, wilcoxon

    by_instance: dict[tuple[str, float], list[float]] = {}
    for dataset, radius, seed in ours.keys() & theirs.keys():
        difference = ours[dataset, radius, seed] - theirs[dataset, radius, seed]
        by_instance.setdefault((dataset, radius), []).append(difference)
    if not by_instance:
        return None
    # Shares of few samples are often equal; a rounding must not rank them.
    found = [round(float(np.mean(by_instance[key])), 12) for key in sorted(by_instance)]
    n_seeds = float(np.mean([len(values) for values in by_instance.values()]))
    different = np.array([difference for difference in found if difference != 0])
    if not len(different):
        return PairedTest(tuple(found), n_seeds, 0.0, 1.0)
    ranks = rankdata(np.abs(different))
    effect = float(np.sum(ranks * np.sign(different)) / np.sum(ranks))
    return PairedTest(tuple(found), n_seeds, effect, float(wilcoxon(different).pvalue))


def paired_tests(grid: Grid, log: Log) -> tuple[str, dict[str, PairedTest]]:
    """Return the reference, and every other method with scores against it."""
    scores = {name: standing.scores for name, standing in standings(grid, log).items() if standing.scores}
    reference = REFERENCE if REFERENCE in scores else next(iter(scores), REFERENCE)
    found = {name: paired_test(of, scores[reference]) for name, of in scores.items() if name != reference}
    return reference, {name: test for name, test in found.items() if test is not None}


def gain_in_hindsight(grid: Grid, log: Log) -> tuple[float, float] | None:
    """Return by how much the best method would be ahead of the reference if the test parts had chosen it.

    Once for each instance, by the mean over its seeds, and once for each split: what no choice can beat. Over the
    splits that all methods with scores have; None where there are none, or one method only.
    """
    scores = {name: standing.scores for name, standing in standings(grid, log).items() if standing.scores}
    if REFERENCE not in scores or len(scores) < 2:
        return None
    common = sorted(set.intersection(*(set(of) for of in scores.values())))
    by_instance: dict[tuple[str, float], list[list[float]]] = {}
    for split in common:
        gains = [of[split] - scores[REFERENCE][split] for of in scores.values()]
        by_instance.setdefault(split[:2], []).append(gains)
    if not by_instance:
        return None
    each = [np.array(gains) for gains in by_instance.values()]
    return (
        float(np.mean([gains.mean(axis=0).max() for gains in each])),
        float(np.mean([gains.max(axis=1).mean() for gains in each])),
    )


def means_by_seed(grid: Grid, log: Log) -> tuple[dict[int, int], dict[str, dict[int, float]]]:
    """Return, by seed, how many instances all methods of that seed share, and each method's mean over these."""
    scores = {name: standing.scores for name, standing in standings(grid, log).items()}
    counts: dict[int, int] = {}
    means: dict[str, dict[int, float]] = {name: {} for name in scores}
    for seed in grid.seeds:
        here = {name: {s: score for s, score in of.items() if s[2] == seed} for name, of in scores.items()}
        present = {name: of for name, of in here.items() if of}
        common = sorted(set.intersection(*(set(of) for of in present.values()))) if present else []
        counts[seed] = len(common)
        for name, of in present.items():
            if common:
                means[name][seed] = float(np.mean([of[setting] for setting in common]))
    return counts, means
