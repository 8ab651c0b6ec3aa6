"""Learn an optimal robust tree, see the proof, and look at what the attacker can do."""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from hardwood import AttackModel, RobustTreeClassifier

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X, X_test, y, y_test = train_test_split(X, y, stratify=y, random_state=0)

# The attacker may move every feature by 5 % of its range.
attack = AttackModel.fraction_of_range(0.05)
clf = RobustTreeClassifier(max_depth=2, attack=attack).fit(X, y)

print(clf.tree_)
print(clf.result_.summary())
print(f"test accuracy {clf.score(X_test, y_test):.3f}, under attack {clf.adversarial_score(X_test, y_test):.3f}")

fragile = clf.attack_samples(X_test, y_test)
moved = ~(fragile != fragile).any(axis=1)  # rows without an adversarial example are NaN
print(f"{moved.sum()} of {len(X_test)} test samples can be got wrong")
assert clf.adversarial_score(X_test, y_test) == 1 - moved.mean()
