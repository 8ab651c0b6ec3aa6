"""The same data, CART and the proven tree, and what an attacker takes from each: the picture of the README."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from hardwood import AttackModel, RobustTreeClassifier, adversarial_accuracy
from hardwood.export import from_sklearn
from hardwood.plotting import plot_regions

data = load_breast_cancer(as_frame=True)
names = ["worst concave points", "worst radius"]
X, X_test, y, y_test = train_test_split(
    data.data[names], data.target_names[data.target], test_size=0.3, stratify=data.target, random_state=0
)
attack = AttackModel.fraction_of_range(0.05).fit(X.to_numpy())
cart = from_sklearn(DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y))
proven = RobustTreeClassifier(max_depth=2, attack=attack).fit(X, y)

figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), sharey=True, layout="constrained")
for ax, title, tree in zip(axes, ("CART", "proven optimal"), (cart, proven.tree_), strict=True):
    plot_regions(tree, X_test, y_test, attack=attack, features=tuple(names), show_boxes=False, ax=ax)
    lost = round((1 - adversarial_accuracy(tree, X_test, y_test, attack)) * len(y_test))
    ax.set_title(f"{title}: {lost} of {len(y_test)} held-out samples lost", fontsize=11)
axes[0].get_legend().remove()
axes[1].set_ylabel("")
folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
figure.savefig(folder / "what-each-loses.png", dpi=110)
