"""Whoever attacks, what is called robust is not fooled: random points, and the attacks of ART."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from ensemble_models import fitted, own_answers, table
from hardwood import RobustBoostingClassifier, robustness

RADIUS = 0.06


@pytest.mark.parametrize("name", ["forest", "xgboost", "lightgbm", "histogram boosting", "own boosting"])
def test_random_points_fool_nobody_who_is_called_robust(name: str) -> None:
    rng = np.random.default_rng(0)
    X, y = table(rng, 120, 4, 2)
    model = fitted(name, X, y, 15, 3, 0)
    found = robustness(model, X, y, RADIUS)
    assert not found.is_open.any()
    points = np.tile(X, (200, 1)) + rng.uniform(-RADIUS, RADIUS, (200 * len(X), X.shape[1]))
    left = np.all((own_answers(model, points) == np.tile(y, 200)).reshape(200, len(X)), axis=0)
    assert np.all(left[found.is_robust])
    assert found.interval()[0] <= np.mean(left)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["forest", "boosting"])
def test_attacks_of_art_fool_nobody_who_is_called_robust(kind: str) -> None:
    evasion = pytest.importorskip("art.attacks.evasion")
    estimators = pytest.importorskip("art.estimators.classification")
    X, y = table(np.random.default_rng(1), 60, 3, 2)
    model: Any = (
        RandomForestClassifier(15, max_depth=4, random_state=0, n_jobs=1)
        if kind == "forest"
        else RobustBoostingClassifier(20, attack=RADIUS, max_depth=2)
    ).fit(X, y)
    X, y = X[:20], y[:20]
    found = robustness(model, X, y, RADIUS)
    wrapped = estimators.BlackBoxClassifier(
        lambda points: np.eye(2)[model.predict(np.asarray(points, np.float64))], (3,), 2, clip_values=(-1.0, 2.0)
    )
    attacks = [
        evasion.HopSkipJump(wrapped, norm=np.inf, max_iter=5, max_eval=100, init_eval=10, verbose=False),
        evasion.ZooAttack(wrapped, max_iter=5, nb_parallel=1, use_resize=False, use_importance=False, verbose=False),
    ]
    for attack in attacks:
        moved = np.asarray(attack.generate(x=X.astype(np.float32), y=np.eye(2)[y]), np.float64)
        # Whatever it found, brought back into the box.
        points = np.clip(moved, X - RADIUS, X + RADIUS)
        fooled = model.predict(points) != y
        assert not np.any(fooled & found.is_robust)
