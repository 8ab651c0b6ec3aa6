"""Figures. Every function draws into the axes it is given, or makes some, and returns them."""

from __future__ import annotations

from hardwood.plotting.comparison import plot_comparison
from hardwood.plotting.curves import plot_convergence, plot_robustness_curve
from hardwood.plotting.epsilon_curve import plot_epsilon_curve
from hardwood.plotting.regions import plot_regions
from hardwood.plotting.tradeoff import plot_tradeoff
from hardwood.plotting.tree import plot_tree

__all__ = [
    "plot_comparison",
    "plot_convergence",
    "plot_epsilon_curve",
    "plot_regions",
    "plot_robustness_curve",
    "plot_tradeoff",
    "plot_tree",
]
