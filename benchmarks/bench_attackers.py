"""Three attackers, from a CSV file to a fitted, evaluated and explained tree: spam, fraud, intrusion.

Spam needs ``more/spambase.csv`` below ``HARDWOOD_DATA``; the other two are generated. docs/three_attackers.md tells
them.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

from benchmarks.report import table
from hardwood import AttackModel, RobustTreeClassifier, attack_cost
from hardwood.evaluation import explain
from hardwood.export import from_sklearn

TRAIN = 1000
TIME_LIMIT = 60.0


@dataclass(frozen=True)
class Story:
    """A table in a file, the column to predict, an attacker, and how deep the tree may be."""

    name: str
    frame: pd.DataFrame
    target: str
    attack: AttackModel
    depth: int
    attacked: str
    budgets: tuple[float, ...]


def spam() -> Story:
    """Words can be added, not removed; only spammers play; five words at most."""
    frame = pd.read_csv(Path(os.environ["HARDWOOD_DATA"]) / "more" / "spambase.csv")
    words = [name for name in frame.columns if name.startswith("word_")]
    frame = frame[[*words, "target"]].assign(target=np.where(frame["target"] == 1, "spam", "ham"))
    attack = AttackModel.parse({"*": ">"}).only(["spam"]).with_budget(features=5)
    return Story("spam", frame, "target", attack, 2, "spam", (0, 1, 2, 5))


def fraud(n: int = 1500) -> Story:
    """Amounts in cents cost by the euro, another shop costs a fee; the age of the account cannot be changed."""
    rng = np.random.default_rng(0)
    shops = ["food", "travel", "electronics"]
    amount = rng.gamma(2, 6000, n).astype(int)
    hour, age = rng.integers(0, 24, n), rng.integers(0, 2000, n)
    shop = rng.choice(shops, n, p=[0.5, 0.2, 0.3])
    risk = amount / 15000 + (shop == "electronics") * 0.8 + (age < 600) * 0.7 + (hour < 5) * 0.3
    is_fraud = risk + rng.normal(0, 0.2, n) > 1.7
    columns = {"amount": amount // 100 * 100, "hour": hour, "account_age": age}
    frame = pd.DataFrame(columns | {f"shop_{name}": (shop == name).astype(int) for name in shops})
    frame["label"] = np.where(is_fraud, "fraud", "honest")
    frame["amount"] //= 100  # whole euros
    attack = (
        AttackModel.parse({"amount": (100, 0), "hour": 3})
        .with_integers(["amount", "hour"])
        .with_bounds({"amount": 0, "hour": 0}, {"hour": 23})
        .with_group([f"shop_{name}" for name in shops], {"shop_electronics": ["shop_food"]})
        .only(["fraud"])
        .with_budget(total=60, cost={"amount": 1, "hour": {"once": 10}, "shop_electronics": {"once": 30}})
    )
    return Story("fraud", frame, "label", attack, 2, "fraud", (0, 10, 30, 60, 100))


def intrusion(n: int = 1500) -> Story:
    """Count connections, ports and failures a minute: changing them costs by the unit."""
    rng = np.random.default_rng(1)
    scan = rng.random(n) < 0.4
    frame = pd.DataFrame(
        {
            "connections": rng.poisson(np.where(scan, 30, 12)),
            "ports": rng.poisson(np.where(scan, 14, 3)),
            "failed_logins": rng.poisson(np.where(scan, 2.5, 0.4)),
        }
    )
    frame["label"] = np.where(scan, "scan", "normal")
    attack = (
        AttackModel.parse({"connections": "<>", "ports": "<", "failed_logins": "<"})
        .with_integers(["*"])
        .with_bounds(0)
        .only(["scan"])
        .with_budget(total=6, cost={"connections": 0.5, "ports": 1, "failed_logins": 2})
    )
    return Story("intrusion", frame, "label", attack, 2, "scan", (0, 2, 4, 6, 8))


def tell(story: Story, folder: Path) -> str:
    """Write the table to a file, read it, learn from a part of it, and say what came of it on the rest."""
    path = folder / f"{story.name}.csv"
    story.frame.to_csv(path, index=False)
    frame = pd.read_csv(path)
    y = frame.pop(story.target).to_numpy()
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:TRAIN], order[TRAIN:]
    X = frame.astype(float)
    clf = RobustTreeClassifier(story.depth, attack=story.attack, time_limit=TIME_LIMIT).fit(X.iloc[train], y[train])
    cart = DecisionTreeClassifier(max_depth=story.depth, random_state=0).fit(X.iloc[train].to_numpy(), y[train])
    trees = {"CART": from_sklearn(cart, tuple(X.columns)), "learned against the attacker": clf.tree_}
    rows: list[tuple[Any, ...]] = []
    for name, tree in trees.items():
        curve = attack_cost(tree, X.iloc[test], y[test], story.attack).accuracy(story.budgets)
        rows.append((name, *(f"{share:.3f}" for share in curve)))
    attacked = [int(i) for i in test if y[i] == story.attacked and clf.tree_.predict(X.iloc[[i]])[0] == story.attacked]
    explanation = explain(clf.tree_, X.iloc[[attacked[0]]], clf.attack_, label=story.attacked)
    return (
        f"## {story.name}\n\nThe attacker: {clf.attack_.describe(tuple(X.columns))}.\n\n"
        f"Learned from {len(train)} of {len(y)} rows; {clf.result_.proof_text} "
        f"({clf.result_.objective:g} robust errors, at least {clf.result_.bound:g}):\n\n```text\n{clf.tree_}\n```\n\n"
        + table(["accuracy on the rest, budget", *(f"{budget:g}" for budget in story.budgets)], rows)
        + f"\n\nOne {story.attacked} of them:\n\n```text\n{explanation.to_text()}\n```"
    )


def run() -> str:
    with TemporaryDirectory() as folder:
        return "\n\n".join(tell(story, Path(folder)) for story in (spam(), fraud(), intrusion()))
