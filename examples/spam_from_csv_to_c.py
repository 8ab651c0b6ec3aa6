"""From a CSV file to C code: a spam filter against senders who can only add to their messages, never take away.

The attacker controls spam alone. Adding text makes a message longer and lowers the share of suspicious words; links and
exclamation marks earn the sender money, so they stay. Everything that a spammer cannot undo is safe to test.
"""

import csv
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from hardwood import AttackModel, RobustTreeClassifier, load_model
from hardwood.evaluation.explanation import explain

folder = Path(tempfile.mkdtemp())
names = ["links", "exclamation marks", "length", "suspicious words per 100"]

# A made-up mailbox, written as people have it.
rng = np.random.default_rng(1)
n = 400
spam = rng.random(n) < 0.4
rows = np.column_stack(
    [
        rng.poisson(np.where(spam, 5, 1)),
        rng.poisson(np.where(spam, 4, 1)),
        rng.integers(20, 400, n),
        np.round(rng.gamma(2, np.where(spam, 3, 0.6)), 1),
    ]
)
with (folder / "mail.csv").open("w", newline="") as stream:
    writer = csv.writer(stream)
    writer.writerow([*names, "label"])
    writer.writerows([*row, "spam" if is_spam else "ham"] for row, is_spam in zip(rows, spam, strict=True))

# Read it back.
table = pd.read_csv(folder / "mail.csv")
X, y = table[names], table["label"].to_numpy()

# Only ever more: links, marks and length may rise without end, the density of suspicious words may fall by padding.
attack = AttackModel.parse(
    {"links": ">", "exclamation marks": ">", "length": ">", "suspicious words per 100": "<"}
).only(["spam"])
clf = RobustTreeClassifier(max_depth=3, attack=attack).fit(X, y)
plain = RobustTreeClassifier(max_depth=3).fit(X, y)
for name, tree in (("plain", plain), ("robust", clf)):
    print(f"{name}: accuracy {tree.score(X, y):.3f}, under attack {tree.adversarial_score(X, y, attack=attack):.3f}")
print(clf.tree_)

# What would it take for this message to pass?
row = int(np.flatnonzero(y == "spam")[0])
print(explain(clf.tree_, X.iloc[[row]], attack, label="spam").to_text())

# Ship it: a model file for Python, a C function for the mail server.
clf.save(folder / "model.json")
tree = load_model(folder / "model.json").tree
main = """
#include <stdio.h>
int main(void) {
    double x[4];
    while (scanf("%lf,%lf,%lf,%lf", x, x + 1, x + 2, x + 3) == 4) puts(is_spam_classes[is_spam(x)]);
    return 0;
}
"""
(folder / "filter.c").write_text(tree.to_c("is_spam") + main)
if shutil.which("gcc"):
    subprocess.run(["gcc", "-O2", "-o", folder / "filter", folder / "filter.c"], check=True)
    lines = "\n".join(",".join(map(repr, sample)) for sample in X.to_numpy().tolist())
    answers = subprocess.run(
        [folder / "filter"], input=lines, capture_output=True, text=True, check=True
    ).stdout.split()
    assert answers == clf.predict(X).tolist()
    print(f"the C filter agrees with the tree on all {len(X)} messages")
shutil.rmtree(folder)
