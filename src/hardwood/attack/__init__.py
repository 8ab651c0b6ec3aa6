"""What an attacker can do: reach per feature and class, every way to write it, and rewriting rules."""
