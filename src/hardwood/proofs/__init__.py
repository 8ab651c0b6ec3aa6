"""Proofs that a stranger can check: the format (docs/proof_format.md) and its writers."""

from hardwood.proofs.writer import write_bound_proof, write_proof

__all__ = ["write_bound_proof", "write_proof"]
