"""The scikit-learn face: estimators, cross validation, scorers."""
