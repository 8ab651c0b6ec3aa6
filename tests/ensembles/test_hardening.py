"""Leaves fitted anew against an attacker: the same splits, a smaller robust loss."""

from __future__ import annotations

import numpy as np
import pytest

from ensemble_models import fitted, table
from hardwood import InvalidInputError, as_ensemble, robustness
from hardwood.ensembles.hardening import harden_leaves


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", ["xgboost", "forest", "gradient boosting"])
def test_hardened_leaves_lose_less_than_the_model_on_what_it_learned_from(name: str, classes: int) -> None:
    X, y = table(np.random.default_rng(0), 200, 3, classes)
    model = fitted(name, X, y, 20, 3, 0)
    attack = 0.05
    before = robustness(model, X, y, attack).interval()[0]
    hardened = harden_leaves(model, X, y, attack)
    after = robustness(hardened, X, y, attack).interval()[0]
    assert after > before
    given = as_ensemble(model)
    known = {(int(f), float(b)) for t in given.trees for f, b in zip(t.feature, t.threshold, strict=True) if f >= 0}
    used = {(int(f), float(b)) for t in hardened.trees for f, b in zip(t.feature, t.threshold, strict=True) if f >= 0}
    assert used <= known


def test_a_model_for_other_data_is_refused() -> None:
    X, y = table(np.random.default_rng(0), 60, 3, 2)
    model = fitted("forest", X, y, 3, 2, 0)
    with pytest.raises(InvalidInputError, match="3 features"):
        harden_leaves(model, X[:, :2], y, 0.1)
    with pytest.raises(InvalidInputError, match="classes"):
        harden_leaves(model, X, y + 5, 0.1)
