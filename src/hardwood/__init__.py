"""Decision trees an attacker cannot fool, with a proof of how good they are."""
