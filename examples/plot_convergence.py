"""Watch the exact search close the gap between the best tree and the proven bound."""

import sys
from pathlib import Path

from sklearn.datasets import load_breast_cancer

from hardwood import AttackModel, RobustTreeClassifier
from hardwood.plotting import plot_convergence

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
X, y = load_breast_cancer(return_X_y=True)
clf = RobustTreeClassifier(max_depth=2, attack=AttackModel.fraction_of_range(0.07)).fit(X, y)
plot_convergence(clf).figure.savefig(folder / "convergence.png", dpi=120)
print(clf.result_.summary())
