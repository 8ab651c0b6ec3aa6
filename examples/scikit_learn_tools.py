"""A robust tree as a genuine scikit-learn tree: its tools, and whatever reads scikit-learn's trees, work on it."""

from sklearn.datasets import load_iris
from sklearn.tree import export_text

from hardwood import RobustTreeClassifier

X, y = load_iris(return_X_y=True, as_frame=True)
clf = RobustTreeClassifier(max_depth=2, attack=0.2).fit(X, y)
tree = clf.to_sklearn()
assert tree.predict(X).tolist() == clf.predict(X).tolist()
print(export_text(tree, feature_names=list(X.columns)))
print("importance of features for staying right:", dict(zip(X.columns, clf.feature_importances_.round(2), strict=True)))
