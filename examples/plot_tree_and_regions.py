"""Draw a robust tree with what the attacker takes at each node, and its answers over two features."""

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris

from hardwood import RobustTreeClassifier
from hardwood.plotting import plot_regions, plot_tree

folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
X, y = load_iris(return_X_y=True, as_frame=True)
y = np.array(["setosa", "versicolor", "virginica"])[y]
clf = RobustTreeClassifier(max_depth=2, attack=0.3).fit(X, y)

plot_tree(clf, X, y).figure.savefig(folder / "tree.png", dpi=120)
axes = plot_regions(clf, X, y, features=("petal length (cm)", "petal width (cm)"))
axes.figure.savefig(folder / "regions.png", dpi=120)
