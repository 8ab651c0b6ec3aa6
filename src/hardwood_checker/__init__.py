"""Checks proofs of hardwood, and shares nothing with it: NumPy and the standard library only.

Everything here is written from docs/proof_format.md. What must be trusted is this package, NumPy and the data; the
program that searched for the tree and wrote the proof need not be.
"""

from hardwood_checker.checking import Verdict, check
from hardwood_checker.reading import Refused, Unusable

__all__ = ["Refused", "Unusable", "Verdict", "check"]
