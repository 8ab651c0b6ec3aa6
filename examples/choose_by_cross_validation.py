"""Choose depth and training radius by accuracy under the real attack."""

from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

from hardwood import GreedyRobustTreeClassifier, RobustTreeCV, make_adversarial_scorer

X, y = load_iris(return_X_y=True)

clf = RobustTreeCV(attack=0.3, max_depths=(1, 2, 3), radius_factors=(1, 1.2, 1.5)).fit(X, y)
print("chosen:", clf.best_params_, f"adversarial accuracy {clf.best_score_:.3f}")

# The same measure works in scikit-learn's own tools, for any of hardwood's estimators.
search = GridSearchCV(
    GreedyRobustTreeClassifier(attack=0.3),
    {"max_depth": [1, 2, 3, 4], "criterion": ["groot", "chen"]},
    scoring=make_adversarial_scorer(0.3),
).fit(X, y)
print("grid search:", search.best_params_, f"adversarial accuracy {search.best_score_:.3f}")
