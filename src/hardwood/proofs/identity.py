"""Whether a checkpoint is about the search that is asked for."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from hardwood.errors import InvalidInputError
from hardwood.problem.problem import Problem

SAME = ("rows", "classes", "columns", "missing", "attack", "weights", "scale", "heavy")
"""Entries of the header that must be the same."""


def column_digests(problem: Problem) -> list[str]:
    """Return what tells each feature's boxes from others: so a permutation can be told from other data."""
    return [
        hashlib.sha256(problem.ends_on(j).astype("<f8").tobytes()).hexdigest()[:16] for j in range(problem.n_features)
    ]


def require_same(found: dict[str, Any], asked: dict[str, Any], path: Path) -> None:
    """Raise unless a checkpoint is about what is asked, naming everything that differs."""
    differences = []
    theirs, ours = found["checkpoint"], asked["checkpoint"]
    if theirs.get("version") != ours["version"]:
        differences.append(f"written by hardwood {str(theirs.get('version'))[:40]}, this is {ours['version']}")
    claim, wanted = found.get("claim"), asked["claim"]
    for name in ("depth", "leaf_penalty"):
        value = claim.get(name) if isinstance(claim, dict) else None
        if value != wanted[name]:
            differences.append(f"{name} {value} there, {wanted[name]} here")
    differences += [_shown(name, found.get(name), asked[name]) for name in SAME if found.get(name) != asked[name]]
    if theirs.get("digests") != ours["digests"]:
        if sorted(map(str, theirs.get("digests") or [])) == sorted(ours["digests"]):
            differences.append("the columns are in another order")
        else:
            there = theirs.get("digests") if isinstance(theirs.get("digests"), list) else []
            changed = [str(j) for j, (a, b) in enumerate(zip(there, ours["digests"], strict=False)) if a != b]
            differences.append(f"other values (or radii) in the columns {', '.join(changed[:20]) or '(all)'}")
    elif found.get("digest") != asked["digest"]:
        differences.append("other labels")
    if differences:
        raise InvalidInputError(
            f"{path} is a checkpoint of another search: " + "; ".join(differences) + ". Use another file for this one"
        )


def _shown(name: str, there: Any, here: Any) -> str:
    if name == "attack":
        return f"another attack ({str(there)[:80]}… there, {str(here)[:80]}… here)"
    if name in ("weights", "scale", "heavy"):
        return "other weights"
    return f"{name} {str(there)[:80]} there, {str(here)[:80]} here"
