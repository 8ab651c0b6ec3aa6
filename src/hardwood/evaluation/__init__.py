"""How good a tree is under attack: metrics, adversarial examples and radii, explanations, comparisons."""

from __future__ import annotations

from hardwood.evaluation.comparison import Comparison, compare
from hardwood.evaluation.explanation import Explanation, explain

__all__ = ["Comparison", "Explanation", "compare", "explain"]
