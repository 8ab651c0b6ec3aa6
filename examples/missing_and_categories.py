"""Text columns and gaps, as tables have them, and an attacker who can change one category into another."""

import numpy as np
import pandas as pd

from hardwood import RobustTreeClassifier

rng = np.random.default_rng(0)
claims = pd.DataFrame(
    {
        "channel": pd.Categorical(rng.choice(["branch", "phone", "web"], 300, p=[0.3, 0.3, 0.4])),
        "amount": rng.gamma(2.0, 400.0, 300).round(),
        "days since start": rng.integers(1, 900, 300).astype(float),
    }
)
is_fraud = (claims["amount"] > 900) & ((claims["channel"] == "web") | (claims["days since start"] < 120))
label = np.where(is_fraud, "fraud", "honest")
claims.loc[rng.random(300) < 0.05, "days since start"] = np.nan

clf = RobustTreeClassifier(
    max_depth=3,
    missing="reachable",  # a missing value may be anything, so it reaches both sides of a split
    attack={"channel": {"web": ["phone"], "phone": ["web"]}, "amount": (100, 0)},
).fit(claims, label)
print(clf.tree_)
print(clf.attack_)
print(f"accuracy {clf.score(claims, label):.3f}, under attack {clf.adversarial_score(claims, label):.3f}")
