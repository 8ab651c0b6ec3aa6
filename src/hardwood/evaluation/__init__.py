"""How good a tree is under attack: metrics, adversarial examples and radii, explanations, comparisons, trade-offs."""

from __future__ import annotations

from hardwood.evaluation.comparison import Comparison, compare
from hardwood.evaluation.explanation import Explanation, explain
from hardwood.evaluation.fragility import Fragility, fragility
from hardwood.evaluation.recall import RecallUnderAttack, adversarial_recall
from hardwood.evaluation.tradeoff import Part, Tradeoff, trade_off

__all__ = [
    "Comparison",
    "Explanation",
    "Fragility",
    "Part",
    "RecallUnderAttack",
    "Tradeoff",
    "adversarial_recall",
    "compare",
    "explain",
    "fragility",
    "trade_off",
]
