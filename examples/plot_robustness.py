"""How fast does accuracy fall as the attack grows? A plain tree against a greedy and an optimal robust one."""

import sys
from pathlib import Path

from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

from hardwood import AttackModel, GreedyRobustTreeClassifier, RobustTreeClassifier
from hardwood.plotting import plot_robustness_curve

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
X, y = load_breast_cancer(return_X_y=True)
whole_range = AttackModel.fraction_of_range(1.0).fit(X)
attack = whole_range.scaled(0.07)
models = {
    "plain (CART)": DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y),
    "greedy robust (GROOT)": GreedyRobustTreeClassifier(2, attack=attack).fit(X, y),
    "optimal robust": RobustTreeClassifier(2, attack=attack).fit(X, y),
}
axes = plot_robustness_curve(models, X, y, attack=whole_range, mark=0.07)
axes.set_xlabel("radius of the attack, as a share of each feature's range")
axes.figure.savefig(folder / "robustness.png", dpi=120)
