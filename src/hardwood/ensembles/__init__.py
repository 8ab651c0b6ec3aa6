"""Many trees together: votes, and what an attacker can do to them."""
