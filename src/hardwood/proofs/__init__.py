"""Proofs that a stranger can check: the format (docs/proof_format.md), its writers, and searches that survive."""

from hardwood.proofs.checkpoint import Checkpoint
from hardwood.proofs.writer import write_bound_proof, write_proof

__all__ = ["Checkpoint", "write_bound_proof", "write_proof"]
