"""How accurate any model can be under attack, before one is trained: Theorem 2 of Vos & Verwer, AAAI 2022.

From the bottom up: `conflict_index` finds boxes that meet, `conflicts` lists samples that exclude each other,
`cover_search` grows flows, `vertex_cover` turns them into the least weight of errors (`many_classes` where there are
more than two classes), `accuracy` is the bound with its proof; `box_family` ranks the boxes of many attacks for
`epsilons`, the bound over many radii, and `feature_report`, the bound without a feature or without the attack on it.
"""

from __future__ import annotations

from hardwood.bounds.accuracy import AccuracyBound, adversarial_accuracy_bound, bound_problem, matching_bound
from hardwood.bounds.conflicts import conflict_pairs
from hardwood.bounds.epsilons import EpsilonCurve, choose_epsilons, epsilon_curve
from hardwood.bounds.feature_report import FeatureReport, bound_features, robust_feature_report

__all__ = [
    "AccuracyBound",
    "EpsilonCurve",
    "FeatureReport",
    "adversarial_accuracy_bound",
    "bound_features",
    "bound_problem",
    "choose_epsilons",
    "conflict_pairs",
    "epsilon_curve",
    "matching_bound",
    "robust_feature_report",
]
